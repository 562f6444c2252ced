//! The kinds of faults: one line each, in the order of the catalog of faults,
//! whose row numbers they carry. `docs/faults.md` is that catalog: the same table with what a check
//! reports, and the rows that have no kind.

mod compressed;
mod harmless;
mod header;
mod heap;
mod iam;
mod index;
mod key;
mod link;
mod lob;
mod map;
mod raw;
mod record;
mod system;
mod value;

use std::fmt;

use crate::Error;
use crate::candidates::Candidates;
use crate::fault::{Fault, Repair};
pub use harmless::Harmless;

macro_rules! kinds {
    ($(
        $(#[doc = $doc:literal])*
        $kind:ident $name:literal rows $rows:tt $repair:ident needs $needs:tt by $function:path,
    )*) => {
        /// A kind of fault.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Kind {
            $($(#[doc = $doc])* $kind,)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &'static [Kind] = &[$(Kind::$kind,)*];

            /// The name used on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)*
                }
            }

            /// What the fault is, in a sentence.
            pub fn what(self) -> &'static str {
                match self {
                    $(Kind::$kind => concat!($($doc),*).trim(),)*
                }
            }

            /// Its rows in the catalog of faults.
            pub const fn rows(self) -> &'static [u16] {
                match self {
                    $(Kind::$kind => &$rows,)*
                }
            }

            /// The mildest repair, by the catalog.
            pub const fn repair(self) -> Repair {
                match self {
                    $(Kind::$kind => Repair::$repair,)*
                }
            }

            /// What a database must have for this fault.
            pub const fn needs(self) -> &'static str {
                match self {
                    $(Kind::$kind => $needs,)*
                }
            }

            /// Makes the fault in memory; `None` when there is nothing to make it in.
            pub(crate) fn make(self, db: &Candidates<'_>) -> Option<Fault> {
                match self {
                    $(Kind::$kind => $function(db),)*
                }
            }
        }
    };
}

const ROWS: &str =
    "a user table's heap page with two rows, or leaf page with two rows between two others";
const ROWS_WITH_CHECKSUM: &str = "a checksummed heap page of a user table with two rows, or leaf \
     page with two rows between two others";
const LEAF: &str = "a clustered index of three leaf pages";
const ENTRIES: &str = "a nonclustered index of three leaf pages";
const UPPER: &str = "a clustered index of two levels above its leaves, three pages wide";
const SEPARATORS: &str = "a clustered index with a page above its leaves";
const VARIABLE: &str = "a row with variable columns";
const LOB: &str = "a user table with values off their rows";
const STUB: &str = "a heap with a moved row";
const EXTENT: &str = "a user table with an extent of its own";
const CHAIN: &str = "a user table with two IAM pages";
const CHECKSUM: &str = "a page with a checksum";
const INCLUDED: &str = "a nonclustered index with an included column";
const CRITICAL: &str = "two leaf pages of sysallocunits";
const PAGE_COMPRESSED: &str = "a page with compression information";

kinds! {
    /// A bit of a row flips; the checksum is wrong from then on.
    FlippedByte "flipped-byte" rows [1, 2] AllowDataLoss needs ROWS_WITH_CHECKSUM by raw::flipped_byte,
    /// A bit of an index entry flips; the checksum is wrong from then on.
    IndexFlippedByte "index-flipped-byte" rows [3] Rebuild needs ENTRIES by raw::index_flipped_byte,
    /// A bit of a page above the leaves flips; the checksum is wrong from then on.
    UpperFlippedByte "upper-flipped-byte" rows [4] Rebuild needs UPPER by raw::upper_flipped_byte,
    /// A bit of the root of a clustered index flips; the checksum is wrong from then on.
    RootFlippedByte "root-flipped-byte" rows [5] Rebuild needs SEPARATORS by raw::root_flipped_byte,
    /// A bit of a tree page of off-row values flips; the checksum is wrong from then on.
    LobTreeFlippedByte "lob-tree-flipped-byte" rows [6] AllowDataLoss needs LOB by raw::lob_tree_flipped_byte,
    /// A bit of a mix page of off-row values flips; the checksum is wrong from then on.
    LobMixFlippedByte "lob-mix-flipped-byte" rows [7] AllowDataLoss needs LOB by raw::lob_mix_flipped_byte,
    /// A bit of the first IAM page of a table flips; the checksum is wrong from then on.
    IamFlippedByte "iam-flipped-byte" rows [8] AllowDataLoss needs EXTENT by raw::iam_flipped_byte,
    /// A bit of a PFS page flips; the checksum is wrong from then on.
    PfsFlippedByte "pfs-flipped-byte" rows [9] Nothing needs CHECKSUM by raw::pfs_flipped_byte,
    /// A bit of a GAM page flips; the checksum is wrong from then on.
    GamFlippedByte "gam-flipped-byte" rows [10] AllowDataLoss needs CHECKSUM by raw::gam_flipped_byte,
    /// A bit of an SGAM page flips; the checksum is wrong from then on.
    SgamFlippedByte "sgam-flipped-byte" rows [11] AllowDataLoss needs CHECKSUM by raw::sgam_flipped_byte,
    /// A bit of the boot page flips; the checksum is wrong from then on.
    BootFlippedByte "boot-flipped-byte" rows [12] Nothing needs CHECKSUM by raw::boot_flipped_byte,
    /// A bit of a file header page flips; the checksum is wrong from then on.
    FileHeaderFlippedByte "file-header-flipped-byte" rows [13] Nothing needs CHECKSUM by raw::file_header_flipped_byte,
    /// The file id in a file header is that of another file.
    FileHeaderFileId "file-header-file-id" rows [13] Nothing needs "a file header" by raw::file_header_file_id,
    /// A bit of the first leaf page of sysallocunits flips; the checksum is wrong from then on.
    CatalogFlippedByte "catalog-flipped-byte" rows [14] Nothing needs CHECKSUM by raw::catalog_flipped_byte,
    /// A page of a table is zero.
    ZeroPage "zero-page" rows [15] AllowDataLoss needs ROWS by raw::zero_page,
    /// A page of off-row values is zero.
    LobZeroPage "lob-zero-page" rows [16] AllowDataLoss needs LOB by raw::lob_zero_page,
    /// A page was written over another one.
    ForeignPage "foreign-page" rows [17] AllowDataLoss needs "a user table of two pages" by raw::foreign_page,
    /// The last sector of a page is that of another page of its table; the checksum is wrong.
    TornSector "torn-sector" rows [18] AllowDataLoss needs "two protected pages of user tables" by raw::torn_sector,
    /// The file ends before its last allocated extent.
    TruncatedFile "truncated-file" rows [19] AllowDataLoss
        needs "a user table whose extent is the last of its file" by raw::truncated,
    /// Two bits flip that cancel in the checksum, in columns that an index has, too.
    CancellingFlips "cancelling-flips" rows [20] Rebuild
        needs "a checksummed page with rows whose indexed columns lie alike" by raw::cancelling_flips,

    /// A leaf page of a clustered index says that it is an index page.
    PageTypeIndex "page-type-index" rows [21] AllowDataLoss needs LEAF by header::page_type_index,
    /// The type of a page is none.
    PageTypeUnknown "page-type-unknown" rows [22] AllowDataLoss needs ROWS by header::page_type_unknown,
    /// The version of a page header is 2.
    HeaderVersion "header-version" rows [23] AllowDataLoss needs ROWS by header::header_version,
    /// A leaf page says that it is one level higher.
    LeafLevel "leaf-level" rows [24] Rebuild needs LEAF by header::leaf_level,
    /// A page above the leaves says that it is one level higher.
    UpperLevel "upper-level" rows [25] Rebuild needs UPPER by header::upper_level,
    /// The page header names another table's allocation unit.
    OwnerWrong "owner" rows [27, 29] AllowDataLoss needs ROWS by header::owner,
    /// The page header names an allocation unit that does not exist.
    OwnerUnknown "owner-unknown" rows [28] AllowDataLoss needs ROWS by header::owner_unknown,
    /// A leaf page has no previous page, although it is not the first.
    PreviousLink "previous-link" rows [30] Rebuild needs LEAF by link::previous_none,
    /// The previous link of a leaf page leads to a page far away.
    PreviousLinkWrong "previous-link-wrong" rows [31] Rebuild needs "a clustered index of six leaf pages" by link::previous_wrong,
    /// A leaf page has no next page, although it is not the last.
    SiblingLink "sibling-link" rows [32] Rebuild needs LEAF by link::next_none,
    /// The next link of a leaf page leads to a page far away.
    NextLinkWrong "next-link-wrong" rows [33] Rebuild needs "a clustered index of six leaf pages" by link::next_wrong,
    /// The next link of a leaf page leads into another index.
    NextLinkIndex "next-link-index" rows [34] Rebuild
        needs "a clustered index of three leaf pages, and a nonclustered one" by link::next_index,
    /// The next link of a leaf page leads to a free page.
    NextLinkFree "next-link-free" rows [35] Rebuild
        needs "a clustered index of three leaf pages, and a free extent" by link::next_free,
    /// The next link of a leaf page leads past the end of the file.
    NextLinkBeyond "next-link-beyond" rows [36] Rebuild needs LEAF by link::next_beyond,
    /// The children of one page point at each other only, and their neighbours past them.
    DetachedCycle "detached-cycle" rows [37] Rebuild needs UPPER by link::detached_cycle,
    /// The header counts one slot less.
    SlotCountLess "slot-count-less" rows [38] AllowDataLoss needs ROWS by header::slot_count_less,
    /// The header counts one slot more.
    SlotCountMore "slot-count-more" rows [39] AllowDataLoss needs ROWS by header::slot_count_more,
    /// The header says that two bytes more are free.
    FreeCount "free-count" rows [40] AllowDataLoss needs ROWS by header::free_count,
    /// Free space begins in the page header.
    FreeOffsetLow "free-offset-low" rows [41] AllowDataLoss needs ROWS by header::free_offset_low,
    /// Free space begins in the last row.
    FreeOffsetShort "free-offset-short" rows [42] AllowDataLoss needs ROWS by header::free_offset_short,
    /// The header counts one ghost more.
    GhostCount "ghost-count" rows [43] Rebuild needs ROWS by header::ghost_count,
    /// The header counts more ghosts than slots.
    GhostCountHigh "ghost-count-high" rows [44] AllowDataLoss needs ROWS by header::ghost_count_high,
    /// The page header names the next page.
    PageIdWrong "page-id" rows [45] AllowDataLoss needs ROWS by header::page_id,
    /// A page is newer than the log: worth a note, no finding.
    LsnHigh "lsn-high" rows [46] Nothing needs ROWS by header::lsn_high,
    /// A page that changed since the full backup is not marked as changed.
    DiffBit "diff-bit" rows [47] AllowDataLoss
        needs "a database that was backed up, closed cleanly and changed since" by header::diff_bit,
    /// The header states a longer fixed part than the rows have.
    FixedLength "fixed-length" rows [48] AllowDataLoss needs ROWS by header::fixed_length,
    /// A slot points into the page header.
    SlotOffset "slot-offset" rows [49] AllowDataLoss needs ROWS by header::slot_offset,
    /// Two slots point to one record.
    SlotSame "slot-same" rows [50] AllowDataLoss needs ROWS by header::slot_same,
    /// A slot points into the middle of its record.
    SlotMiddle "slot-middle" rows [51] AllowDataLoss needs ROWS by header::slot_middle,
    /// Two slots of a leaf page are exchanged.
    SlotsExchanged "slots-exchanged" rows [52] Rebuild needs LEAF by header::slots_exchanged,
    /// A heap page has links: real ones have, too.
    HeapLinks "heap-links" rows [53] Nothing needs "a heap of two pages" by header::heap_links,
    /// Two slots of a leaf page of a nonclustered index are exchanged.
    IndexSlotsExchanged "index-slots-exchanged" rows [54] Rebuild needs ENTRIES by header::index_slots_exchanged,

    /// A row of a clustered index says that it is a forwarding stub.
    RecordStub "record-stub" rows [55] AllowDataLoss needs LEAF by record::kind_stub,
    /// A row says that it is a ghost; counts and indexes do not.
    RecordGhost "record-ghost" rows [56] AllowDataLoss needs ROWS by record::ghost,
    /// A reserved bit of a row's status is set.
    RecordReservedBit "record-reserved-bit" rows [57] AllowDataLoss needs ROWS by record::reserved_bit,
    /// A row says that its fixed part ends past the end of the page.
    RecordLength "record-length" rows [58] AllowDataLoss needs ROWS by record::record_length,
    /// A row says that it has one column more than the table.
    ColumnCount "column-count" rows [59] AllowDataLoss needs VARIABLE by record::column_count,
    /// The null bit of a NOT NULL column is set.
    NullNotNull "null-not-null" rows [60] AllowDataLoss
        needs "a NOT NULL column of fixed length outside the clustered key" by record::null_not_null,
    /// The null bit of a variable column with data is set.
    NullWithData "null-with-data" rows [61] AllowDataLoss
        needs "a nullable variable column without a copy in an index" by record::null_with_data,
    /// The first variable column ends past the end of the record.
    EndOffsetBeyond "end-offset-beyond" rows [62] AllowDataLoss needs VARIABLE by record::end_offset_beyond,
    /// The first variable column ends before it begins.
    EndOffsetsDescending "end-offsets-descending" rows [63] AllowDataLoss needs VARIABLE by record::end_offsets_descending,
    /// A row says that it has one variable column more.
    VariableCount "variable-count" rows [64] AllowDataLoss needs VARIABLE by record::variable_count,
    /// Text in a row is marked as a pointer to a value off the row.
    ComplexBit "complex-bit" rows [65] AllowDataLoss needs "a variable column without a copy in an index" by record::complex_bit,
    /// A versioning tag has a chain and no time.
    VersionTimestamp "version-timestamp" rows [67] AllowDataLoss needs "a row with an older version" by record::version_timestamp,
    /// A row in the middle of a page gets a key above that of the next one.
    KeyRaised "key-raised" rows [68] AllowDataLoss needs LEAF by key::raised,
    /// The last row of a page gets a key above the first one of the next page.
    KeyRaisedLast "key-raised-last" rows [69] AllowDataLoss needs LEAF by key::raised_last,
    /// The first row of a page gets a key below its separator.
    KeyLoweredFirst "key-lowered-first" rows [70] AllowDataLoss
        needs "a clustered index of integers with gaps" by key::lowered_first,
    /// An entry of a unique index gets the key of the one before it.
    IndexKeyDoubled "index-key-doubled" rows [71] Rebuild needs "a unique nonclustered index" by key::index_doubled,
    /// Two rows with the same clustered key get the same uniquifier.
    UniquifierDoubled "uniquifier-doubled" rows [72] AllowDataLoss
        needs "a clustered index that is not unique, with three rows of one key" by key::uniquifier_doubled,
    /// The last row of a page gets the key of the first one of the next page.
    KeyDoubledAcross "key-doubled-across" rows [73] AllowDataLoss needs LEAF by key::doubled_across,
    /// A separator is higher than the first key of its child.
    SeparatorRaised "separator-raised" rows [74] Rebuild needs SEPARATORS by key::separator_raised,
    /// A separator is lower than the last key of the child before.
    SeparatorLowered "separator-lowered" rows [75] Rebuild needs SEPARATORS by key::separator_lowered,
    /// The key in the leftmost slot above the leaves changes, which no reader compares.
    SeparatorIgnored "separator-ignored" rows [76] Nothing needs SEPARATORS by key::separator_ignored,
    /// A child pointer leads to the child of the next slot.
    ChildDoubled "child-doubled" rows [77] Rebuild needs SEPARATORS by key::child_doubled,
    /// A child pointer leads to a page of a heap.
    ChildForeign "child-foreign" rows [78] Rebuild
        needs "a clustered index with a page above its leaves, and a heap" by key::child_foreign,
    /// A child pointer leads to a free page.
    ChildFree "child-free" rows [79] Rebuild
        needs "a clustered index with a page above its leaves, and a free extent" by key::child_free,
    /// Two child pointers are exchanged.
    ChildrenExchanged "children-exchanged" rows [80] Rebuild needs SEPARATORS by key::children_exchanged,
    /// A page above the leaves is empty.
    UpperEmptied "upper-emptied" rows [81] Rebuild needs SEPARATORS by key::upper_emptied,
    /// The catalog names a leaf page as the root of an index.
    RootLeaf "root-leaf" rows [82] Rebuild needs LEAF by system::root_leaf,
    /// The catalog names no IAM page for a table that has one.
    FirstIamNone "first-iam-none" rows [83] AllowDataLoss needs EXTENT by system::first_iam_none,
    /// Text in a row is longer than its column allows.
    InRowTooLong "in-row-too-long" rows [84] AllowDataLoss
        needs "a variable column without a copy in an index, and room on the page" by record::in_row_too_long,
    /// A sparse vector says that it has more values.
    SparseCount "sparse-count" rows [85] AllowDataLoss needs "a row with sparse columns" by record::sparse_count,

    /// A forwarding stub refers to a slot that does not exist.
    StubTarget "stub-target" rows [86] AllowDataLoss needs STUB by heap::stub_target,
    /// Two forwarding stubs refer to one row.
    StubShared "stub-shared" rows [87] AllowDataLoss needs "a heap with two moved rows" by heap::stub_shared,
    /// A forwarded row refers back to another slot.
    BackPointer "back-pointer" rows [88] AllowDataLoss needs STUB by heap::back_pointer,
    /// A forwarding stub became a ghost.
    StubGhost "stub-ghost" rows [89] AllowDataLoss needs STUB by heap::stub_ghost,
    /// A forwarded row says that it is an ordinary row.
    ForwardedPrimary "forwarded-primary" rows [90] AllowDataLoss needs STUB by heap::forwarded_primary,
    /// PFS says that a page of a heap is empty.
    PfsFullness "pfs-fullness" rows [91] Rebuild needs "a heap" by map::pfs_fullness,

    /// A pointer in a row refers to a slot that does not exist.
    LobSlot "lob-slot" rows [92] AllowDataLoss needs LOB by lob::slot_unused,
    /// A pointer in a row has another value's id.
    LobTextId "lob-text-id" rows [93] AllowDataLoss needs LOB by lob::text_id,
    /// A node of a value has another value's id.
    LobNodeTextId "lob-node-text-id" rows [94] AllowDataLoss needs LOB by lob::node_text_id,
    /// A node of a value has a type that does not exist.
    LobNodeType "lob-node-type" rows [95] AllowDataLoss needs LOB by lob::node_type,
    /// Two pointers of one node refer to the same child.
    LobChildrenEqual "lob-children-equal" rows [97] AllowDataLoss needs "a value off its row of two parts" by lob::children_equal,
    /// The recorded size of a part of a value is one byte too high.
    LobChildSize "lob-child-size" rows [98] AllowDataLoss needs LOB by lob::child_size,
    /// The row says NULL; the value is still there.
    LobNull "lob-null" rows [99] AllowDataLoss needs "a nullable column with a value off its row" by lob::value_null,
    /// A row-overflow pointer leads to a free page.
    OverflowFreePage "overflow-free-page" rows [100] AllowDataLoss
        needs "a column pushed off its row, and a free extent" by lob::overflow_free_page,
    /// A node of a value became a ghost.
    LobNodeGhost "lob-node-ghost" rows [101] AllowDataLoss needs LOB by lob::node_ghost,
    /// A byte of a value changes, which no check can detect.
    LobPayload "lob-payload" rows [102] Nothing needs "a value of bytes or of one-byte characters off its row" by lob::payload,

    /// An IAM page claims a free extent.
    IamBit "iam-bit" rows [103] AllowDataLoss needs "a free extent, and a user table" by iam::claims,
    /// An IAM page no longer lists an extent of its table.
    IamLostExtent "iam-lost-extent" rows [104] AllowDataLoss needs EXTENT by iam::loses,
    /// An IAM page claims an extent of another table.
    IamBitShared "iam-bit-shared" rows [105] AllowDataLoss needs "two user tables, one with an extent of its own" by iam::shares,
    /// GAM says that an extent of a table is free.
    GamBit "gam-bit" rows [106] AllowDataLoss needs EXTENT by map::gam_free,
    /// GAM says that a free extent is allocated.
    GamLostExtent "gam-lost-extent" rows [107] AllowDataLoss needs "a free extent" by map::gam_lost,
    /// SGAM says that a free extent is mixed.
    SgamFreeExtent "sgam-free-extent" rows [108] AllowDataLoss needs "a free extent" by map::sgam_free,
    /// SGAM says that an extent of a table is mixed.
    SgamBit "sgam-bit" rows [109] AllowDataLoss needs EXTENT by map::sgam_owned,
    /// An IAM page no longer names a page of a mixed extent.
    IamSinglePage "iam-single-page" rows [110] AllowDataLoss needs "a user table with a page in a mixed extent" by iam::single_page,
    /// PFS says that a leaf page is not allocated.
    PfsBit "pfs-bit" rows [111] AllowDataLoss needs LEAF by map::pfs_allocated,
    /// PFS says that a page of a heap is not allocated.
    PfsHeapPage "pfs-heap-page" rows [112] Rebuild needs "a heap" by map::pfs_heap_page,
    /// PFS says that an unused page of a table is allocated.
    PfsUnusedPage "pfs-unused-page" rows [113] AllowDataLoss
        needs "a user table with an unused page in an extent" by map::pfs_unused_page,
    /// PFS says that a page of a uniform extent is in a mixed one.
    PfsMixedBit "pfs-mixed-bit" rows [114] AllowDataLoss needs EXTENT by map::pfs_mixed,
    /// PFS says that a page of a mixed extent is not allocated.
    PfsSinglePage "pfs-single-page" rows [112] AllowDataLoss
        needs "a user table with a page in a mixed extent" by map::pfs_single_page,
    /// PFS says that an IAM page is none.
    PfsIamBit "pfs-iam-bit" rows [115] AllowDataLoss needs EXTENT by map::pfs_iam,
    /// An IAM chain continues at a page of rows.
    IamNext "iam-next" rows [116] AllowDataLoss needs EXTENT by iam::next_data_page,
    /// The previous link of an IAM page leads into another chain.
    IamPrevious "iam-previous" rows [117] AllowDataLoss needs "two user tables with extents" by iam::previous_wrong,
    /// The second page of an IAM chain has the number of the third.
    IamSequence "iam-sequence" rows [118] AllowDataLoss needs CHAIN by iam::sequence,
    /// Two IAM pages of a chain describe the same interval.
    IamIntervalDoubled "iam-interval-doubled" rows [119] AllowDataLoss needs CHAIN by iam::interval_doubled,
    /// An IAM page describes a file of another filegroup.
    IamFilegroup "iam-filegroup" rows [120] Nothing needs "two filegroups" by iam::interval_filegroup,
    /// An IAM page lists an extent past the end of the file.
    IamBeyondFile "iam-beyond-file" rows [121] AllowDataLoss needs EXTENT by iam::beyond_file,
    /// An IAM chain continues in that of another table.
    IamNextForeign "iam-next-foreign" rows [122] AllowDataLoss needs "two user tables with extents" by iam::next_foreign,
    /// An IAM page says that it is a data page.
    IamPageType "iam-page-type" rows [123] AllowDataLoss needs EXTENT by iam::page_type,
    /// The catalog counts minus one rows.
    RowCountNegative "row-count-negative" rows [124] Nothing needs "a user table" by system::row_count,

    /// A byte of an included column of an index changes.
    NcIncludedByte "nc-included-byte" rows [125] Rebuild needs INCLUDED by index::included_byte,
    /// An entry of an index refers to another row.
    NcLocator "nc-locator" rows [126] Rebuild needs "a nonclustered index" by index::locator,
    /// An entry of an index is missing.
    NcRowRemoved "nc-row-removed" rows [127] Rebuild needs "a nonclustered index" by index::entry_removed,
    /// A row of a heap is deleted, and still in the indexes.
    HeapRowRemoved "heap-row-removed" rows [128] Rebuild needs "a heap with a nonclustered index" by heap::row_removed,
    /// A column of a row that an index has, too, changes in the table alone.
    BaseColumn "base-column" rows [129] Rebuild
        needs "a nonclustered index on a column outside the clustered key" by index::base_column,
    /// An entry of an index exists three times, and two others not at all.
    NcRowDoubled "nc-row-doubled" rows [130] Rebuild
        needs "a nonclustered index with entries of one length" by index::entry_doubled,
    /// Two entries of an index exchange their included values.
    NcExchanged "nc-exchanged" rows [131] Rebuild needs INCLUDED by index::entries_exchanged,
    /// A filtered index has the entry of a row that its predicate leaves out.
    FilteredRow "filtered-row" rows [132] Rebuild needs "a filtered index on an integer" by index::filtered_row,
    /// The stored value of a computed column changes, and its copy in an index does not.
    ComputedValue "computed-value" rows [133] Rebuild needs "an index on a stored computed column" by index::computed_value,
    /// A row of one partition has a key of another one, in the table and in its indexes.
    WrongPartition "wrong-partition" rows [134] AllowDataLoss
        needs "a clustered table partitioned by its first key column, an integer" by index::wrong_partition,
    /// A byte of an included column of an index of a partitioned table changes.
    PartitionIndexByte "partition-index-byte" rows [135] Rebuild
        needs "a partitioned table, and an index with an included column" by index::partition_index_byte,

    /// A datetime has a time of day of 24 hours.
    DatetimeTicks "datetime-ticks" rows [141] Nothing needs "a datetime column outside all keys" by value::datetime_ticks,
    /// A smalldatetime has a time of day of 24 hours.
    SmalldatetimeMinutes "smalldatetime-minutes" rows [142] Nothing
        needs "a smalldatetime column outside all keys" by value::smalldatetime_minutes,
    /// A decimal has one digit more than its precision.
    DecimalMagnitude "decimal-magnitude" rows [143] Nothing needs "a decimal column outside all keys" by value::decimal_magnitude,
    /// The sign of a decimal is 2.
    DecimalSign "decimal-sign" rows [144] Nothing needs "a decimal column outside all keys" by value::decimal_sign,
    /// A float is not a number.
    FloatNan "float-nan" rows [145] Nothing needs "a float or real column outside all keys" by value::float_nan,
    /// A date lies after the year 9999.
    DateRange "date-range" rows [146] Nothing
        needs "a date, datetime2 or datetimeoffset column outside all keys" by value::date_range,
    /// A time of day is 24 hours.
    TimeRange "time-range" rows [146] Nothing
        needs "a time, datetime2 or datetimeoffset column outside all keys" by value::time_range,
    /// Unicode text ends with half a character.
    UnicodeOdd "unicode-odd" rows [147] Nothing needs "an nvarchar column outside all indexes" by value::unicode_odd,
    /// A datetimeoffset is 15 hours from UTC.
    OffsetRange "offset-range" rows [148] Nothing needs "a datetimeoffset column outside all keys" by value::offset_range,
    /// A sql_variant has a type that does not exist.
    VariantType "variant-type" rows [149] Nothing needs "a sql_variant column outside all keys" by value::variant_type,
    /// A sql_variant has a version that does not exist.
    VariantVersion "variant-version" rows [149] Nothing
        needs "a sql_variant column outside all keys" by value::variant_version,
    /// A datetime in the key of an index has a time of day of 24 hours; the row has not.
    IndexDatetime "index-datetime" rows [150] Rebuild needs "a nonclustered index on a datetime column" by value::index_datetime,

    /// The compression information of a page ends past the end of the page.
    CompressionSize "compression-size" rows [151] AllowDataLoss needs PAGE_COMPRESSED by compressed::information_size,
    /// An entry of a page's dictionary ends past the end of the page.
    DictionaryEntry "dictionary-entry" rows [152] AllowDataLoss needs "a page with a dictionary" by compressed::dictionary_entry,
    /// A column descriptor of a compressed row is 15.
    ColumnDescriptor "column-descriptor" rows [153] AllowDataLoss needs "a compressed row" by compressed::descriptor,
    /// A compressed value takes a longer prefix of its anchor than the anchor has.
    AnchorPrefix "anchor-prefix" rows [154] AllowDataLoss needs PAGE_COMPRESSED by compressed::anchor_prefix,

    /// The first leaf page of sysallocunits says that it is an index page.
    CriticalType "critical-type" rows [155] Nothing needs "a database" by system::critical_type,
    /// A leaf page of sysallocunits names another table.
    CriticalOwner "critical-owner" rows [156] Nothing needs CRITICAL by system::critical_owner,
    /// A leaf page of sysallocunits has a wrong previous page.
    CriticalPrevious "critical-previous" rows [157] Nothing needs CRITICAL by system::critical_previous,
    /// The leaf pages of sysallocunits form a cycle.
    CriticalLoop "critical-loop" rows [158] Nothing needs CRITICAL by system::critical_loop,
    /// Two rows of sysrscols are exchanged.
    ColumnsDisorder "columns-disorder" rows [159] Nothing needs "a database" by system::columns_disorder,
    /// An object is deleted from sysschobjs; its columns stay.
    ObjectRemoved "object-removed" rows [160] Nothing needs "a user table" by system::object_removed,
    /// syscolpars has a column of an object that does not exist.
    ColumnOrphan "column-orphan" rows [161] Nothing needs "room on the last pages of syscolpars" by system::column_orphan,
    /// An index is deleted from sysidxstats; its pages stay.
    IndexRemoved "index-removed" rows [162] Nothing needs "a user table with a nonclustered index" by system::index_removed,
    /// An entry of an index of sysschobjs refers to another object.
    CatalogEntryByte "catalog-entry-byte" rows [164] Rebuild needs "a unique index of sysschobjs" by system::entry_byte,
}

/// First rows of the groups of the catalog.
const GROUPS: [u16; 10] = [1, 21, 55, 86, 92, 103, 125, 141, 151, 155];

impl Kind {
    /// The kind of a name.
    ///
    /// # Errors
    /// There is none; the error lists all.
    pub fn from_name(name: &str) -> Result<Kind, Error> {
        let known = || Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
        let kind = Kind::ALL.iter().find(|kind| kind.name() == name).copied();
        kind.ok_or_else(|| Error::UnknownKind { name: name.to_owned(), known: known() })
    }

    /// The group of the catalog, from 1: raw damage, page headers, records, heaps, off-row
    /// values, allocation, indexes, values, compression, system tables.
    pub fn group(self) -> u16 {
        let row = self.rows().first().copied().unwrap_or_default();
        GROUPS.iter().filter(|first| **first <= row).count() as u16
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
