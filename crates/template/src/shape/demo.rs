//! `demo`: a few customers, sales and heap rows.

use super::sales::SalesIndexes;
use super::size::Size;
use super::{heap, sales};
use crate::DatabaseBuilder;
use crate::Error;

/// Sales unless a number is given.
const SALES: u64 = 5_000;

pub(super) fn add(
    builder: DatabaseBuilder,
    seed: u64,
    size: Size,
) -> Result<DatabaseBuilder, Error> {
    let sales = match size {
        Size::Rows(rows) => rows,
        Size::Bytes(_) => SALES,
    };
    let builder = sales::add(builder, seed, Size::Rows(sales), SalesIndexes::Two)?;
    heap::add(builder, seed, Size::Rows(sales / 20 + 1))
}
