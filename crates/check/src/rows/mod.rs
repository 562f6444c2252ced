//! Rows: records against the catalog, column values, and nonclustered indexes against their
//! tables (`checkdb.md` B.4, B.5, B.9 and D.7).
//!
//! ```text
//! rows of a table      8970, 7961, 2537, 2570, 5262 on the spot
//!                      one hash per column that some index holds, combined for each index: the expected side
//! entries of an index  the same hashes from what is stored there: the actual side
//! rows of a partition  counted by how they stand to its boundaries: 8984
//! ```
//!
//! What healthy files contain
//! - Rows that were written before a column was added are shorter: the column is NULL, or the
//!   default it was added with.
//! - Dropped columns keep their bytes and their null bits, whatever they say.
//! - System base tables hold NULLs in variable columns that they call NOT NULL: sysrowsets does so
//!   in every row.
//! - Ghosts are on neither side. A forwarded row counts once, at its stub's place.
//! - Ciphertexts of Always Encrypted are longer than their columns, and no values of their types.
//! - Indexes without pages: hypothetical ones, and those that were disabled.

use extentdb_reader::PageSource;

use crate::partial::Partial;
use crate::partial::wire::wire_structs;
use crate::plan::Plan;
use crate::relation::Acc;
use crate::sound::Sound;

mod boundary;
mod cells;
mod column;
mod computed;
mod cross;
mod describe;
mod entries;
mod hasher;
mod misplaced;
mod page;
mod plan;
mod recheck;
mod report;
mod shape;
mod value;
mod variant;
mod verify;

pub use boundary::Standings;
pub(crate) use cells::u16_at;
pub(crate) use cross::CrossNumber;
use hasher::RowHasher;
pub(crate) use misplaced::verify_partitions;
use page::{PageRows, Row};
use plan::RowPlan;
pub(crate) use plan::RowPlans;
pub(crate) use recheck::{Compared, verify_crosses};
pub(crate) use shape::SYSFILES1;
pub(crate) use value::resembles_ciphertext;

/// Sums of the two sides of each index, by its number.
#[derive(Clone, Default, Debug)]
pub struct CrossSums {
    sums: Vec<Acc>,
}

impl CrossSums {
    /// The sum of an index.
    pub fn get(&self, number: u32) -> Acc {
        self.sums.get(number as usize).copied().unwrap_or_default()
    }

    fn add(&mut self, number: CrossNumber, sum: Acc) {
        let at = number as usize;
        if self.sums.len() <= at {
            self.sums.resize(at + 1, Acc::default());
        }
        if let Some(acc) = self.sums.get_mut(at) {
            acc.merge(sum);
        }
    }

    /// Adds other sums.
    pub fn merge(&mut self, other: CrossSums) {
        if self.sums.len() < other.sums.len() {
            self.sums.resize(other.sums.len(), Acc::default());
        }
        for (own, other) in self.sums.iter_mut().zip(other.sums) {
            own.merge(other);
        }
    }
}

wire_structs! { CrossSums { sums } }

/// What one worker needs to look at rows.
pub(crate) struct RowFacts<'p> {
    plan: &'p Plan,
    hasher: RowHasher<'p>,
    is_physical: bool,
    memory: Vec<Row>,
}

impl<'p> RowFacts<'p> {
    pub(crate) fn new(
        plan: &'p Plan,
        source: &'p dyn PageSource,
        is_physical: bool,
    ) -> RowFacts<'p> {
        RowFacts {
            plan,
            hasher: RowHasher::new(plan, source),
            is_physical,
            memory: Vec::new(),
        }
    }

    /// The rows of a page.
    #[inline]
    pub(crate) fn page(&mut self, page: &Sound<'_>, partial: &mut Partial) {
        if self.is_physical || !page.is_leaf {
            return;
        }
        let boundary = self.plan.rows.boundaries.get(page.index);
        let is_read =
            |rows: &&RowPlan| rows.is_base || !rows.targets.is_empty() || boundary.is_some();
        let Some(rows) = self.plan.rows.get(page.index).filter(is_read) else { return };
        if boundary.is_none()
            && let Some((cross, sum)) = self.hasher.sum_of_entries(page, rows)
        {
            return partial.crosses.add(cross, sum);
        }
        let of_page = PageRows::read(page, &mut self.memory);
        if let Some(boundary) = boundary {
            boundary.count(page.index, &of_page, partial);
        }
        self.hasher.evaluate(page, &of_page, rows);
        if rows.is_base {
            let batches = &self.hasher.batches;
            verify::verify_rows(
                page,
                &of_page,
                (rows, self.plan.rows.has_purity),
                batches,
                partial,
            );
        }
        let crosses = &mut partial.crosses;
        let unread = &mut partial.unread_crosses;
        let mut is_whole = true;
        self.hasher.sums(page, &of_page, rows, |cross, sum| match sum {
            Some(sum) => crosses.add(cross, sum),
            None => {
                unread.insert(cross);
                is_whole = false;
            }
        });
        if !is_whole && !rows.is_base {
            shape::report_short_entries(page, &of_page, &rows.columns, partial);
        }
    }
}
