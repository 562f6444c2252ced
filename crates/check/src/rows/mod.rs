//! Rows: records against the catalog, column values, and nonclustered indexes against their tables
//! (`docs/check.md` 4, 5, 9 and 19).
//!
//! ```text
//! rows of a table      8970, 7961, 2537, 2570, 5262 on the spot
//!                      one hash per column that some index holds, combined per index: plus side
//! entries of an index  the same hashes of what is stored there: minus side
//! rows of a partition  counted by how they relate to its boundaries: 8984
//! ```
//!
//! What healthy files contain
//! - Rows that were written before a column was added are shorter: the column is NULL, or the
//!   default it was added with.
//! - Dropped columns keep their bytes and their null bits, with any content.
//! - System base tables hold NULLs in variable columns that they call NOT NULL: sysrowsets does so
//!   in every row.
//! - Ghosts are on neither side. A forwarded row counts once, at its stub's address.
//! - Ciphertexts of Always Encrypted are longer than their columns, and no values of their types.
//! - Indexes without pages: hypothetical ones, and those that were disabled.

use extentdb_reader::PageSource;

use crate::partial::Partial;
use crate::plan::Plan;
use crate::sound::SoundPage;

mod boundary;
mod cells;
mod column;
mod comparison;
mod computed;
mod describe;
mod entries;
mod hasher;
mod misplaced;
mod page;
pub(crate) mod part;
mod plan;
mod recheck;
mod report;
mod shape;
mod value;
mod variant;
mod verify;

pub(crate) use cells::u16_at;
pub(crate) use column::stored_default;
use hasher::RowHasher;
pub(crate) use misplaced::verify_partitions;
use page::{PageRows, Row};
use plan::RowPlan;
pub(crate) use plan::RowPlans;
pub(crate) use recheck::{IndexesCompared, verify_crosses};
pub(crate) use shape::SYSFILES1;
pub(crate) use value::resembles_ciphertext;

/// What one worker needs to read rows.
pub(crate) struct RowCollector<'p> {
    plans: &'p RowPlans,
    hasher: RowHasher<'p>,
    is_physical: bool,
    memory: Vec<Row>,
}

impl<'p> RowCollector<'p> {
    pub(crate) fn new(
        plan: &'p Plan,
        plans: &'p RowPlans,
        source: &'p dyn PageSource,
        is_physical: bool,
    ) -> RowCollector<'p> {
        RowCollector {
            plans,
            hasher: RowHasher::new(plan, source),
            is_physical,
            memory: Vec::new(),
        }
    }

    /// The rows of a page.
    #[inline]
    pub(crate) fn page(&mut self, page: &SoundPage<'_>, partial: &mut Partial) {
        if self.is_physical || !page.is_leaf {
            return;
        }
        let boundary = self.plans.boundaries.get(page.index);
        let is_read =
            |rows: &&RowPlan| rows.is_base || !rows.targets.is_empty() || boundary.is_some();
        let Some(rows) = self.plans.get(page.index).filter(is_read) else { return };
        if boundary.is_none()
            && let Some((comparison, sum)) = self.hasher.sum_of_entries(page, rows)
        {
            return partial.rows.comparisons.add(comparison, sum);
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
                rows,
                self.plans.has_purity,
                batches,
                &mut partial.findings,
            );
        }
        let comparisons = &mut partial.rows.comparisons;
        let unread = &mut partial.rows.unread_crosses;
        let mut is_whole = true;
        self.hasher.sums(page, &of_page, rows, |comparison, sum| match sum {
            Some(sum) => comparisons.add(comparison, sum),
            None => {
                unread.insert(comparison);
                is_whole = false;
            }
        });
        if !is_whole && !rows.is_base {
            shape::report_short_entries(page, &of_page, &rows.columns, &mut partial.findings);
        }
    }
}
