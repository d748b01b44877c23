//! Instants of 96 bits, which Arrow holds as nanoseconds of 64: some are out of reach.
//!
//! The parquet crate wraps those around, which is wrong data. An INT96 is the nanoseconds of a day,
//! eight bytes, and the Julian day, four bytes, both little-endian.

use parquet::basic::Type;

use super::measure::Column;
use crate::error::FileError;

/// Julian day of 1970-01-01.
const EPOCH_DAY: i64 = 2_440_588;
const DAY_NS: i64 = 86_400_000_000_000;
const BYTES: usize = 12;

/// Checks plainly encoded values of `column`; those of other types are none of its business.
pub(super) fn check(column: &Column, values: &[u8]) -> Result<(), FileError> {
    if column.physical != Type::INT96 {
        return Ok(());
    }
    let (instants, _) = values.as_chunks::<BYTES>();
    if instants.iter().any(|instant| nanoseconds(*instant).is_none()) {
        return Err(FileError::column_not_supported(
            &column.name,
            "it holds instants (INT96) before 1678 or after 2261, which nanoseconds of 64 bits \
             cannot tell; write the column as TIMESTAMP in microseconds",
        ));
    }
    Ok(())
}

/// Since 1970; `None` where 64 bits do not reach.
fn nanoseconds(instant: [u8; BYTES]) -> Option<i64> {
    let (of_day, day) = instant.split_first_chunk::<8>().expect("twelve bytes are over eight");
    let day = day.first_chunk::<4>().expect("twelve bytes are eight and four");
    let days = i64::from(u32::from_le_bytes(*day)) - EPOCH_DAY;
    days.checked_mul(DAY_NS)?.checked_add(i64::from_le_bytes(*of_day))
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

    #[test]
    fn the_time_of_day_counts() {
        let instant = |of_day: i64, day: i64| {
            let day = u32::try_from(EPOCH_DAY + day).unwrap();
            let bytes = [of_day.to_le_bytes().as_slice(), &day.to_le_bytes()].concat();
            nanoseconds(bytes.try_into().unwrap())
        };
        assert_eq!(instant(5, 1), Some(DAY_NS + 5));
        assert_eq!(instant(-5, 0), Some(-5));
        assert_eq!(instant(i64::MAX, 1), None);
        assert_eq!(instant(i64::MAX % DAY_NS, i64::MAX / DAY_NS), Some(i64::MAX));
        assert_eq!(instant(i64::MAX % DAY_NS + 1, i64::MAX / DAY_NS), None);
    }
}
