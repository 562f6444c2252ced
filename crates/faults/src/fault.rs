//! A fault before it is written: new images of pages, and what a check must and may say about them.
//!
//! What PHYSICAL_ONLY and NOINDEX leave out follows from the numbers and from
//! the owner of the page.

use extentdb_base::{AllocUnitId, FileId, IndexId, ObjectId, PageId};
use extentdb_format::PageBuf;

use crate::candidates::{CandidatePage, Partition};

/// The mildest repair that removes a fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Repair {
    /// DBCC cannot repair it.
    Nothing,
    /// An index is built again; nothing is lost.
    Rebuild,
    /// Rows or pages are thrown away.
    AllowDataLoss,
}

impl Repair {
    /// As in the report of a check.
    pub const fn name(self) -> &'static str {
        match self {
            Repair::Nothing => "none",
            Repair::Rebuild => "repair_rebuild",
            Repair::AllowDataLoss => "repair_allow_data_loss",
        }
    }
}

/// Numbers that PHYSICAL_ONLY does not report: records against the catalog, values, forwarding,
/// off-row data, the cross-check of nonclustered indexes, the catalog.
const LOGICAL: &[u32] = &[
    2537, 2570, 5228, 5229, 5260, 5262, 7961, 8907, 8908, 8927, 8929, 8951, 8952, 8955, 8956, 8960,
    8961, 8962, 8963, 8964, 8965, 8970, 8971, 8972, 8974, 8984, 8988, 8992, 8993, 8994, 8997,
];
/// What NOINDEX still reports of a nonclustered index of a user table: allocation, which is checked
/// for all objects.
const ALLOCATION: &[u32] = &[
    2508, 2575, 2576, 2577, 2579, 5250, 7965, 8903, 8904, 8905, 8906, 8910, 8913, 8946, 8947, 8948,
    8959, 8968, 8969, 8996, 8998,
];
/// The cross-check of nonclustered indexes.
const CROSS_CHECK: &[u32] = &[8951, 8952, 8955, 8956];

/// Lines that follow another message and describe the row.
const COMPANIONS: &[(u32, u32)] = &[(8951, 8955), (8952, 8956), (8984, 8988)];

/// Whose page a fault is in.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Owner {
    pub(crate) object: ObjectId,
    pub(crate) index: Option<IndexId>,
    pub(crate) unit: Option<AllocUnitId>,
    /// A nonclustered index of a user table: NOINDEX does not read it.
    pub(crate) is_skipped: bool,
    /// Of a table of the system: NOINDEX leaves out nothing.
    pub(crate) is_system: bool,
}

impl Owner {
    pub(crate) fn of(partition: &Partition) -> Owner {
        Owner {
            object: partition.object,
            index: Some(partition.index),
            unit: Some(partition.unit.id),
            is_skipped: partition.is_user && partition.index.0 >= 2,
            is_system: !partition.is_user,
        }
    }
}

/// A file that ends early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Truncation {
    pub(crate) file: FileId,
    /// The new length.
    pub(crate) bytes: u64,
}

/// A fault before it is written.
pub(crate) struct Fault {
    /// The page the fault is in.
    pub(crate) page: PageId,
    pub(crate) slot: Option<u16>,
    pub(crate) owner: Owner,
    pub(crate) key: Option<String>,
    /// New images of pages, as they will be on disk.
    pub(crate) images: Vec<(PageId, PageBuf)>,
    /// The file ends here.
    pub(crate) truncate: Option<Truncation>,
    pub(crate) expected: Vec<u32>,
    pub(crate) any_of: Vec<u32>,
    pub(crate) permitted: Vec<u32>,
    /// Numbers that take the page of an index that NOINDEX does not read.
    pub(crate) unread: Vec<u32>,
}

impl Fault {
    /// A fault with its images.
    pub(crate) fn new(
        page: PageId,
        owner: Owner,
        images: Vec<(PageId, PageBuf)>,
        expected: &[u32],
    ) -> Fault {
        Fault {
            page,
            slot: None,
            owner,
            key: None,
            images,
            truncate: None,
            expected: expected.to_vec(),
            any_of: Vec::new(),
            permitted: Vec::new(),
            unread: Vec::new(),
        }
    }

    /// A fault in one page of a table.
    pub(crate) fn on(found: &CandidatePage, image: PageBuf, expected: &[u32]) -> Fault {
        Fault::new(found.id, Owner::of(&found.partition), vec![(found.id, image)], expected)
    }

    /// About a row.
    pub(crate) fn at_slot(self, slot: u16) -> Fault {
        Fault { slot: Some(slot), ..self }
    }

    /// About the row with this key.
    pub(crate) fn of_key(self, key: Option<String>) -> Fault {
        Fault { key, ..self }
    }

    /// About another page than the one that changed.
    pub(crate) fn about(self, page: PageId) -> Fault {
        Fault { page, ..self }
    }

    /// These must be reported, too.
    pub(crate) fn and(mut self, expected: &[u32]) -> Fault {
        self.expected.extend(expected);
        self
    }

    /// At least one of these is reported.
    pub(crate) fn any_of(mut self, numbers: &[u32]) -> Fault {
        self.any_of.extend(numbers);
        self
    }

    /// These may be reported.
    pub(crate) fn permit(mut self, numbers: &[u32]) -> Fault {
        self.permitted.extend(numbers);
        self
    }

    /// NOINDEX cannot report these: they take the page of an index that it does not read.
    pub(crate) fn unread_with_no_index(mut self, numbers: &[u32]) -> Fault {
        self.unread.extend(numbers);
        self
    }

    /// What may be reported and need not be, each number once.
    pub(crate) fn only_permitted(&self) -> Vec<u32> {
        let mut numbers = without(&without(&self.permitted, &self.expected), &self.any_of);
        let all = [&self.expected[..], &self.any_of, &numbers].concat();
        let comes = COMPANIONS.iter().filter(|(number, _)| all.contains(number));
        numbers.extend(comes.map(|(_, companion)| companion));
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// What PHYSICAL_ONLY leaves of these numbers.
    pub(crate) fn with_physical_only(&self, numbers: &[u32]) -> Vec<u32> {
        without(numbers, LOGICAL)
    }

    /// What NOINDEX leaves of these numbers.
    pub(crate) fn with_no_index(&self, numbers: &[u32]) -> Vec<u32> {
        match self.owner {
            Owner { is_skipped: true, .. } => {
                numbers.iter().copied().filter(|number| ALLOCATION.contains(number)).collect()
            }
            Owner { is_system: true, .. } => numbers.to_vec(),
            _ => without(&without(numbers, CROSS_CHECK), &self.unread),
        }
    }
}

fn without(numbers: &[u32], left_out: &[u32]) -> Vec<u32> {
    numbers.iter().copied().filter(|number| !left_out.contains(number)).collect()
}
