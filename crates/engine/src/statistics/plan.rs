//! What is read for statistics, and how much of it.
//!
//! ```text
//! of an index                 the index
//! of columns                  the smallest index that begins with them, ascending and in order;
//!                             its rows come sorted
//! of columns without such     the table; the keys are sorted in memory
//! ```
//!
//! Up to 8 MB, 1,024 pages, everything is read; from there on
//!
//! ```text
//! 1,024 + 8 × √(pages − 1,024)    pages, chosen by a hash of their numbers
//! ```
//!
//! SQL Server's threshold is the same by its documentation; its curve is not published.

use extentdb_base::sync::Arc;
use extentdb_catalog::model::IndexKind;

use super::target::{StatisticsScan, Target, key_columns};
use crate::catalog::{Index, Storage, Table};
use crate::error::Error;
use crate::scan::spec::Sample;

/// Pages up to which everything is read: 8 MB.
const WHOLE_PAGES: u64 = 1024;
/// Growth of the sample.
const PAGES_PER_ROOT: u64 = 8;

/// See the module.
#[derive(Debug)]
pub(super) struct Plan {
    /// The index that is read; `None` for the table.
    pub(super) index: Option<Arc<Index>>,
    /// Do rows come in the order of the first column, those with the same first columns together?
    pub(super) is_sorted: bool,
    pub(super) sample: Option<Sample>,
}

impl Plan {
    pub(super) fn of(
        table: &Table,
        storage: &Storage,
        target: &Target,
        scan: StatisticsScan,
    ) -> Result<Plan, Error> {
        let index = match &target.index {
            Some(index) => Some(index.clone()),
            None => ordered_index(storage, target)?,
        };
        let is_in_order = match (&index, storage.base.clustered()) {
            (Some(index), _) | (None, Some(index)) => index.disorder()?.is_none(),
            (None, None) => true,
        };
        let unit = index.as_ref().map_or(storage.base.unit(), |index| index.tree().unit());
        let pages = u64::try_from(unit.counts().0.used).unwrap_or(0);
        // An index out of order is read entry by entry.
        let percent = percent(scan, pages).filter(|_| is_in_order);
        let seed = table.id().0 as u64;
        let is_sorted = is_in_order && index.as_ref().is_some_and(|index| is_ascending(index));
        // The rows of a clustered index are those of the table.
        let index = index.filter(|index| !storage.is_base(index));
        let sample = percent.map(|percent| Sample { percent, seed });
        Ok(Plan { index, is_sorted, sample })
    }
}

/// Percent of the pages that are read; `None` for all.
fn percent(scan: StatisticsScan, pages: u64) -> Option<f64> {
    match scan {
        StatisticsScan::Full => None,
        StatisticsScan::Percent(percent) => (percent < 100.0).then_some(percent),
        StatisticsScan::Automatic => {
            let further = pages.checked_sub(WHOLE_PAGES).filter(|further| *further > 0)?;
            let read = WHOLE_PAGES + PAGES_PER_ROOT * further.isqrt();
            (read < pages).then_some(100.0 * read as f64 / pages as f64)
        }
    }
}

/// The smallest index that has the rows of the table in the order of the columns.
fn ordered_index(storage: &Storage, target: &Target) -> Result<Option<Arc<Index>>, Error> {
    let mut found: Option<&Arc<Index>> = None;
    for index in storage.all_indexes() {
        let begins =
            key_columns(index, storage).is_some_and(|columns| columns.starts_with(&target.columns));
        if !begins
            || index.filter().is_some()
            || !is_ascending(index)
            || index.disorder()?.is_some()
        {
            continue;
        }
        let pages = |index: &Index| index.tree().unit().counts().0.used;
        if found.is_none_or(|found| pages(index) < pages(found)) {
            found = Some(index);
        }
    }
    Ok(found.cloned())
}

/// Does its first column ascend? The order of the others does not count.
fn is_ascending(index: &Index) -> bool {
    let definition = index.definition();
    definition.kind != IndexKind::Heap && definition.keys.first().is_some_and(|key| !key.descending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_grows_slower_than_its_table() {
        let automatic = |pages| percent(StatisticsScan::Automatic, pages);
        assert_eq!(automatic(0), None);
        assert_eq!(automatic(WHOLE_PAGES), None);
        assert_eq!(automatic(WHOLE_PAGES + 50), None, "it would be all of it");
        let read = |pages: u64| automatic(pages).unwrap() * pages as f64 / 100.0;
        assert_eq!(read(11_024).round(), 1824.0);
        assert!(read(1_000_000) < 10_000.0);
        assert_eq!(percent(StatisticsScan::Full, 1 << 30), None);
        assert_eq!(percent(StatisticsScan::Percent(100.0), 1 << 30), None);
        assert_eq!(percent(StatisticsScan::Percent(5.0), 1), Some(5.0));
    }
}
