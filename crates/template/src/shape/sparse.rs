//! `sparse`: sales and a heap whose extents lie in three GAM intervals at once.

use super::sales::SalesIndexes;
use super::size::{CATALOG_BYTES, Size};
use super::{heap, sales};
use crate::DatabaseBuilder;
use crate::Error;

const INTERVALS: u32 = 3;

pub(super) fn add(
    builder: DatabaseBuilder,
    seed: u64,
    size: Size,
) -> Result<DatabaseBuilder, Error> {
    let (sales, heap) = match size {
        Size::Rows(rows) => (Size::Rows(rows), Size::Rows(rows / 20 + 1)),
        Size::Bytes(bytes) => {
            // Both tables share one catalog.
            let half = (bytes + CATALOG_BYTES) / 2;
            (Size::Bytes(half), Size::Bytes(half))
        }
    };
    let builder = sales::add(builder.intervals(INTERVALS), seed, sales, SalesIndexes::Two)?;
    heap::add(builder, seed, heap)
}
