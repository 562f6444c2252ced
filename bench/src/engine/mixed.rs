//! Inserts, updates and deletes of rows of all lengths: does the heap stay dense?

use anyhow::Result;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_types::Datum;

use super::Lab;
use super::database::any_length;

/// Bytes of a page for records and slots.
const PAGE_ROOM: u64 = 8096;
const TEXT_BYTES_MAX: u64 = 1000;
const PER_COMMIT: usize = 100;

/// The density of the heap after the work.
#[derive(Clone, Copy, Debug)]
pub struct Mixed {
    /// Rows that are left.
    pub rows: u64,
    /// Pages of the heap.
    pub pages: u64,
    /// Pages if all bytes in use, slots included, were contiguous.
    pub ideal: u64,
}

/// Inserts `rows` rows of random length; then as many random inserts, updates and deletes in equal
/// parts.
///
/// # Errors
/// A statement failed.
pub fn mixed_work(lab: &Lab, rows: usize, seed: u64) -> Result<Mixed> {
    let table = lab.table_of_any_length("mixed")?;
    let mut rng = SplitMix64::new(seed);
    let mut session = lab.db.session();
    let mut addresses = Vec::new();
    for step in 0..2 * rows {
        if step % PER_COMMIT == 0 {
            session.commit()?;
            session.begin();
        }
        let row = [Datum::Int(step as i32), any_length(rng.below(TEXT_BYTES_MAX) as usize)?];
        let kind = if step < rows || addresses.is_empty() { 0 } else { rng.below(3) };
        let at = rng.below(addresses.len() as u64) as usize;
        match kind {
            0 => addresses.push(session.insert(&table, &row)?),
            1 => addresses[at] = session.update(&table, &addresses[at], &row)?,
            _ => session.delete(&table, &addresses.swap_remove(at))?,
        }
    }
    session.commit()?;
    let facts = lab.heap_facts(&table)?;
    let used = (facts.fill / 100.0 * (facts.pages * PAGE_ROOM) as f64) as u64;
    Ok(Mixed {
        rows: addresses.len() as u64,
        pages: facts.pages,
        ideal: used.div_ceil(PAGE_ROOM),
    })
}
