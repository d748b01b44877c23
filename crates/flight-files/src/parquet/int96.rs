//! Instants of 96 bits, which Arrow holds as nanoseconds of 64: some are out of reach.
//!
//! The parquet crate wraps those around, which is wrong data. An INT96 is the nanoseconds of a day,
//! eight bytes, and the Julian day, four bytes, both little-endian.

use parquet::basic::Type;

use super::measure::Column;
use crate::error::FileError;

/// Julian day of 1970-01-01.
const EPOCH_DAY: i64 = 2_440_588;
/// Whole days on either side of 1970 that 64 bits of nanoseconds reach.
const DAYS_MAX: i64 = i64::MAX / 86_400_000_000_000 - 1;
const BYTES: usize = 12;

/// Checks plainly encoded values of `column`; those of other types are none of its business.
pub(super) fn check(column: &Column, values: &[u8]) -> Result<(), FileError> {
    if column.physical != Type::INT96 {
        return Ok(());
    }
    let (instants, _) = values.as_chunks::<BYTES>();
    let day = |instant: &[u8; BYTES]| {
        let day = instant.last_chunk::<4>().expect("twelve bytes end in four");
        i64::from(u32::from_le_bytes(*day)) - EPOCH_DAY
    };
    if instants.iter().any(|instant| day(instant).abs() > DAYS_MAX) {
        return Err(FileError::column_not_supported(
            &column.name,
            "it holds instants (INT96) before 1678 or after 2261, which nanoseconds of 64 bits \
             cannot tell; write the column as TIMESTAMP in microseconds",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(physical: Type, days: &[u32]) -> bool {
        let column = Column {
            name: "at".into(),
            physical,
            type_length: 0,
            definition_max: 0,
            repetition_max: 0,
        };
        let values: Vec<u8> =
            days.iter().flat_map(|day| [[0; 8].as_slice(), &day.to_le_bytes()].concat()).collect();
        check(&column, &values).is_ok()
    }

    #[test]
    fn instants_within_reach_pass_and_others_do_not() {
        let epoch = EPOCH_DAY as u32;
        assert!(outcome(Type::INT96, &[epoch, epoch - 106_000, epoch + 106_000]));
        assert!(!outcome(Type::INT96, &[epoch, epoch + 107_000]));
        assert!(!outcome(Type::INT96, &[epoch - 107_000]));
        assert!(!outcome(Type::INT96, &[u32::MAX]));
        assert!(outcome(Type::INT64, &[u32::MAX]));
    }
}
