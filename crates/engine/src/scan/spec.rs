//! What a columnar scan reads.

use extentdb_base::PageId;
use extentdb_rowset::columnar::CompareOp;
use extentdb_types::Datum;

use crate::error::Error;
use crate::scan::cursor::Access;
use crate::scan::hints::ReadHints;

/// What a columnar scan reads.
#[derive(Clone, Debug)]
pub struct ScanSpec<'s> {
    /// Which rows, and how they are locked.
    pub access: Access<'s>,
    /// The columns of a batch, by their numbers in the table. A column that is not named here need
    /// not be readable.
    pub columns: &'s [usize],
    /// Rows that do not satisfy all of them are left out before anything of them is copied.
    pub comparisons: &'s [ColumnComparison<'s>],
    /// The same by a T-SQL condition over the columns of the table, as crate `expr` has them. A row
    /// whose condition has no value ends the scan.
    pub filter: Option<&'s str>,
    /// Only rows of some pages: TABLESAMPLE SYSTEM.
    pub sample: Option<Sample>,
    /// At most so many rows.
    pub limit: Option<u64>,
    /// Does a batch say what leads to its rows?
    pub locators: Locators,
}

/// A comparison of a column with a constant.
#[derive(Clone, Debug)]
pub struct ColumnComparison<'s> {
    /// Its number in the table.
    pub column: usize,
    /// The operator.
    pub op: CompareOp,
    /// A value of the column's type that is not NULL. Numbers, dates and times and bits only.
    pub value: Datum<'s>,
}

/// A share of the pages, chosen by their numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// From 0 to 100.
    pub percent: f64,
    /// The same seed chooses the same pages: REPEATABLE.
    pub seed: u64,
}

/// Does a batch say what leads to its rows?
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Locators {
    /// No.
    #[default]
    Omitted,
    /// Yes.
    Delivered,
}

impl<'s> ScanSpec<'s> {
    /// All rows of a table.
    pub fn new(columns: &'s [usize]) -> ScanSpec<'s> {
        ScanSpec {
            access: Access::Table(ReadHints::default()),
            columns,
            comparisons: &[],
            filter: None,
            sample: None,
            limit: None,
            locators: Locators::Omitted,
        }
    }
}

impl Sample {
    pub(crate) fn verify(&self) -> Result<(), Error> {
        if (0.0..=100.0).contains(&self.percent) { Ok(()) } else { Err(Error::SamplePercent) }
    }

    /// Is a page one of the sample?
    pub(crate) fn takes(&self, page: PageId) -> bool {
        // The finalizer of SplitMix64, over the page and the seed.
        let number = u64::from(page.file.0) << 32 | u64::from(page.page);
        let mut hash = (number ^ self.seed).wrapping_add(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
        // The upper 53 bits as a share of 1.
        let share = (hash >> 11) as f64 / (1u64 << 53) as f64;
        share * 100.0 < self.percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_its_share_of_the_pages() {
        let taken = |percent: f64, seed: u64| {
            let sample = Sample { percent, seed };
            (0..10_000).filter(|page| sample.takes(PageId::new(1, *page))).count()
        };
        assert_eq!(taken(0.0, 1), 0);
        assert_eq!(taken(100.0, 1), 10_000);
        for seed in 0..5 {
            assert!((2_300..2_700).contains(&taken(25.0, seed)), "{}", taken(25.0, seed));
            assert_eq!(taken(25.0, seed), taken(25.0, seed));
        }
        assert!(Sample { percent: 101.0, seed: 0 }.verify().is_err());
        assert!(Sample { percent: f64::NAN, seed: 0 }.verify().is_err());
    }
}
