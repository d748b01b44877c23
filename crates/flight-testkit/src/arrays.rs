//! A random array of any Arrow type, simple types here and nested ones in `arrays/nested.rs`.
//!
//! Values are legal for their type and otherwise unpleasant: extremes, NaN, text beyond ASCII,
//! garbage under nulls.

mod nested;

use std::sync::Arc;

use arrow_array::builder::{BinaryViewBuilder, StringViewBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, IntervalDayTimeType, IntervalMonthDayNanoType, IntervalYearMonthType,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, LargeBinaryArray, LargeStringArray,
    NullArray, PrimitiveArray, StringArray,
};
use arrow_buffer::{Buffer, NullBuffer, i256};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

const DAY_S: i64 = 86_400;

/// `rows` random values of `data_type`; nulls (none, few, half or all) only where `nullable`.
pub fn array(rng: &mut ChaCha8Rng, data_type: &DataType, nullable: bool, rows: usize) -> ArrayRef {
    match data_type {
        DataType::Null => Arc::new(NullArray::new(rows)),
        DataType::Boolean => {
            let values = (0..rows).map(|_| rng.random_bool(0.5)).collect::<Vec<_>>();
            Arc::new(BooleanArray::new(values.into(), nulls(rng, nullable, rows)))
        }
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => bytes_array(rng, data_type, nullable, rows),
        nested if nested.is_nested() => nested::array(rng, nested, nullable, rows),
        DataType::Dictionary(..) | DataType::RunEndEncoded(..) => {
            nested::array(rng, data_type, nullable, rows)
        }
        DataType::Timestamp(..)
        | DataType::Duration(_)
        | DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Interval(_) => time_array(rng, data_type, nullable, rows),
        _ => number_array(rng, data_type, nullable, rows),
    }
}

/// Validity for `rows` values.
pub(crate) fn nulls(rng: &mut ChaCha8Rng, nullable: bool, rows: usize) -> Option<NullBuffer> {
    let density = [0.0, 0.05, 0.5, 1.0][rng.random_range(0..4)];
    (nullable && density > 0.0)
        .then(|| (0..rows).map(|_| !rng.random_bool(density)).collect::<Vec<bool>>().into())
}

fn number_array(
    rng: &mut ChaCha8Rng,
    data_type: &DataType,
    nullable: bool,
    rows: usize,
) -> ArrayRef {
    let make = Maker { data_type, nulls: nulls(rng, nullable, rows), rows };
    match data_type {
        DataType::Int8 => make.primitive::<Int8Type>(|| rng.random()),
        DataType::Int16 => make.primitive::<Int16Type>(|| rng.random()),
        DataType::Int32 => make.primitive::<Int32Type>(|| rng.random()),
        DataType::Int64 => make.primitive::<Int64Type>(|| rng.random()),
        DataType::UInt8 => make.primitive::<UInt8Type>(|| rng.random()),
        DataType::UInt16 => make.primitive::<UInt16Type>(|| rng.random()),
        DataType::UInt32 => make.primitive::<UInt32Type>(|| rng.random()),
        DataType::UInt64 => make.primitive::<UInt64Type>(|| rng.random()),
        // Any bit pattern is a float: NaN, infinities and subnormals come by themselves.
        DataType::Float16 => make.primitive::<Float16Type>(|| {
            <Float16Type as ArrowPrimitiveType>::Native::from_bits(rng.random())
        }),
        DataType::Float32 => make.primitive::<Float32Type>(|| f32::from_bits(rng.random())),
        DataType::Float64 => make.primitive::<Float64Type>(|| f64::from_bits(rng.random())),
        DataType::Decimal32(precision, _) => {
            let bound = 10_i32.pow(u32::from(*precision)) - 1;
            make.primitive::<Decimal32Type>(|| rng.random_range(-bound..=bound))
        }
        DataType::Decimal64(precision, _) => {
            let bound = 10_i64.pow(u32::from(*precision)) - 1;
            make.primitive::<Decimal64Type>(|| rng.random_range(-bound..=bound))
        }
        DataType::Decimal128(precision, _) => {
            let bound = 10_i128.pow(u32::from(*precision)) - 1;
            make.primitive::<Decimal128Type>(|| rng.random_range(-bound..=bound))
        }
        DataType::Decimal256(precision, _) => {
            let bound = 10_i128.pow(u32::from(*precision).min(38)) - 1;
            make.primitive::<Decimal256Type>(|| i256::from_i128(rng.random_range(-bound..=bound)))
        }
        other => panic!("no random values for {other}; extend flight_testkit::arrays"),
    }
}

fn time_array(rng: &mut ChaCha8Rng, data_type: &DataType, nullable: bool, rows: usize) -> ArrayRef {
    let make = Maker { data_type, nulls: nulls(rng, nullable, rows), rows };
    let day_ms = DAY_S * 1_000;
    // Within 200 years of 1970, the range that nanoseconds in 64 bits allow.
    let span_s = 200 * 365 * DAY_S;
    let mut instant = |per_second: i64| rng.random_range(-span_s..span_s) * per_second;
    match data_type {
        DataType::Timestamp(TimeUnit::Second, _) => {
            make.primitive::<TimestampSecondType>(|| instant(1))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            make.primitive::<TimestampMillisecondType>(|| instant(1_000))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            make.primitive::<TimestampMicrosecondType>(|| instant(1_000_000) + 1)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            make.primitive::<TimestampNanosecondType>(|| instant(1_000_000_000) + 1)
        }
        DataType::Duration(TimeUnit::Second) => make.primitive::<DurationSecondType>(|| instant(1)),
        DataType::Duration(TimeUnit::Millisecond) => {
            make.primitive::<DurationMillisecondType>(|| instant(1_000))
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            make.primitive::<DurationMicrosecondType>(|| instant(1_000_000))
        }
        DataType::Duration(TimeUnit::Nanosecond) => {
            make.primitive::<DurationNanosecondType>(|| instant(1_000_000_000))
        }
        DataType::Date32 => make.primitive::<Date32Type>(|| rng.random_range(-80_000..80_000)),
        DataType::Date64 => {
            make.primitive::<Date64Type>(|| rng.random_range(-80_000..80_000) * day_ms)
        }
        DataType::Time32(TimeUnit::Second) => {
            make.primitive::<Time32SecondType>(|| rng.random_range(0..DAY_S as i32))
        }
        DataType::Time32(_) => {
            make.primitive::<Time32MillisecondType>(|| rng.random_range(0..day_ms as i32))
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            make.primitive::<Time64MicrosecondType>(|| rng.random_range(0..day_ms * 1_000))
        }
        DataType::Time64(_) => {
            make.primitive::<Time64NanosecondType>(|| rng.random_range(0..day_ms * 1_000_000))
        }
        DataType::Interval(IntervalUnit::YearMonth) => {
            make.primitive::<IntervalYearMonthType>(|| rng.random())
        }
        DataType::Interval(IntervalUnit::DayTime) => make.primitive::<IntervalDayTimeType>(|| {
            IntervalDayTimeType::make_value(rng.random(), rng.random())
        }),
        DataType::Interval(IntervalUnit::MonthDayNano) => make
            .primitive::<IntervalMonthDayNanoType>(|| {
                IntervalMonthDayNanoType::make_value(rng.random(), rng.random(), rng.random())
            }),
        other => panic!("{other} is not a type of time"),
    }
}

/// What every primitive array is made of besides its values.
struct Maker<'a> {
    data_type: &'a DataType,
    nulls: Option<NullBuffer>,
    rows: usize,
}

impl Maker<'_> {
    fn primitive<T: ArrowPrimitiveType>(self, mut value: impl FnMut() -> T::Native) -> ArrayRef {
        let values = (0..self.rows).map(|_| value()).collect::<Vec<_>>();
        let array = PrimitiveArray::<T>::new(values.into(), self.nulls);
        Arc::new(array.with_data_type(self.data_type.clone()))
    }
}

fn bytes_array(
    rng: &mut ChaCha8Rng,
    data_type: &DataType,
    nullable: bool,
    rows: usize,
) -> ArrayRef {
    // Views over several small buffers, as files have them.
    const VIEW_BLOCK_BYTES: u32 = 256;
    let nulls = nulls(rng, nullable, rows);
    let mut present =
        |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)).then(|| text(rng));
    match data_type {
        DataType::Utf8 => Arc::new((0..rows).map(present).collect::<StringArray>()),
        DataType::LargeUtf8 => Arc::new((0..rows).map(present).collect::<LargeStringArray>()),
        DataType::Binary => Arc::new((0..rows).map(present).collect::<BinaryArray>()),
        DataType::LargeBinary => Arc::new((0..rows).map(present).collect::<LargeBinaryArray>()),
        DataType::Utf8View => {
            let mut builder = StringViewBuilder::new().with_fixed_block_size(VIEW_BLOCK_BYTES);
            (0..rows).for_each(|row| builder.append_option(present(row)));
            Arc::new(builder.finish())
        }
        DataType::BinaryView => {
            let mut builder = BinaryViewBuilder::new().with_fixed_block_size(VIEW_BLOCK_BYTES);
            (0..rows).for_each(|row| builder.append_option(present(row)));
            Arc::new(builder.finish())
        }
        DataType::FixedSizeBinary(width) => {
            let width_bytes = usize::try_from(*width).expect("a width is not negative");
            let mut values = vec![0_u8; rows * width_bytes];
            rng.fill(&mut values[..]);
            Arc::new(FixedSizeBinaryArray::new(*width, Buffer::from(values), nulls))
        }
        other => panic!("{other} is not a type of bytes"),
    }
}

/// Mostly short text, some empty, some beyond ASCII, one in a hundred long.
fn text(rng: &mut ChaCha8Rng) -> String {
    const LETTERS: [char; 12] = ['a', 'b', 'Z', '0', ' ', '\0', '\n', '"', 'é', 'ß', '名', '🚀'];
    let length = if rng.random_bool(0.01) { 700 } else { rng.random_range(0..24) };
    (0..length).map(|_| LETTERS[rng.random_range(0..LETTERS.len())]).collect()
}
