//! TPC-H tables, through the `tpchgen` crates.
//!
//! The standard fixes every value, so there is no seed.

use std::str::FromStr;

use arrow_array::{RecordBatch, RecordBatchReader};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

use crate::{Sample, SampleError, check_batch_rows, limits};

/// A table of TPC-H.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TpchTable {
    Customer,
    Lineitem,
    Nation,
    Orders,
    Part,
    Partsupp,
    Region,
    Supplier,
}

impl TpchTable {
    /// All tables, in the order of their names.
    pub const ALL: [Self; 8] = [
        Self::Customer,
        Self::Lineitem,
        Self::Nation,
        Self::Orders,
        Self::Part,
        Self::Partsupp,
        Self::Region,
        Self::Supplier,
    ];

    /// The names of [`ALL`](Self::ALL), as the standard spells them.
    pub const NAMES: [&str; 8] =
        ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"];

    /// Its name in the standard.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl FromStr for TpchTable {
    type Err = SampleError;

    fn from_str(name: &str) -> Result<Self, SampleError> {
        let position = Self::NAMES.iter().position(|known| *known == name);
        position
            .map(|index| Self::ALL[index])
            .ok_or_else(|| SampleError::Table { name: name.to_owned() })
    }
}

/// The whole of `table` at `scale` (1 is about a gigabyte of text over all tables; fractions are
/// allowed).
///
/// # Errors
/// When the scale or the batch length is out of its bound.
pub fn tpch(table: TpchTable, scale: f64, batch_rows: usize) -> Result<Sample, SampleError> {
    let (min, max) = (limits::SCALE_MIN, limits::SCALE_MAX);
    if !(min..=max).contains(&scale) {
        return Err(SampleError::Scale { scale, min, max });
    }
    check_batch_rows(batch_rows)?;
    Ok(match table {
        TpchTable::Customer => {
            let rows = CustomerGenerator::calculate_row_count(scale, 1, 1);
            let table = CustomerArrow::new(CustomerGenerator::new(scale, 1, 1));
            sample(table.with_batch_size(batch_rows), Some(rows))
        }
        // Orders have one to seven lines each; only generating them tells how many.
        TpchTable::Lineitem => {
            let table = LineItemArrow::new(LineItemGenerator::new(scale, 1, 1));
            sample(table.with_batch_size(batch_rows), None)
        }
        TpchTable::Nation => {
            let table = NationArrow::new(NationGenerator::new(scale, 1, 1));
            sample(table.with_batch_size(batch_rows), Some(25))
        }
        TpchTable::Orders => {
            let rows = OrderGenerator::calculate_row_count(scale, 1, 1);
            let table = OrderArrow::new(OrderGenerator::new(scale, 1, 1));
            sample(table.with_batch_size(batch_rows), Some(rows))
        }
        TpchTable::Part => {
            let rows = PartGenerator::calculate_row_count(scale, 1, 1);
            let table = PartArrow::new(PartGenerator::new(scale, 1, 1));
            sample(table.with_batch_size(batch_rows), Some(rows))
        }
        TpchTable::Partsupp => {
            let parts = PartGenerator::calculate_row_count(scale, 1, 1);
            let table = PartSuppArrow::new(PartSuppGenerator::new(scale, 1, 1));
            sample(table.with_batch_size(batch_rows), Some(parts * 4))
        }
        TpchTable::Region => {
            let table = RegionArrow::new(RegionGenerator::new(scale, 1, 1));
            sample(table.with_batch_size(batch_rows), Some(5))
        }
        TpchTable::Supplier => {
            let rows = SupplierGenerator::calculate_row_count(scale, 1, 1);
            let table = SupplierArrow::new(SupplierGenerator::new(scale, 1, 1));
            sample(table.with_batch_size(batch_rows), Some(rows))
        }
    })
}

fn sample(table: impl RecordBatchReader + Send + 'static, rows: Option<i64>) -> Sample {
    let rows = rows.map(|rows| u64::try_from(rows).expect("a table has no negative length"));
    let schema = table.schema();
    let batches = table.map(|batch| -> RecordBatch {
        batch.expect("the generator makes its batches for its own schema")
    });
    Sample { schema, rows, batches: Box::new(batches) }
}
