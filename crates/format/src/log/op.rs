//! Operations of log records: the byte at +16 hex of a record header (format 2: +0E), `LOP_…` in
//! `fn_dblog`.
//!
//! The names are public documentation. Those marked *seen* were observed in real files of versions
//! 539 to 904 with a payload that fits the name; the others are known by name only. F1 to FE hex
//! are not used by SQL Server in any file seen: this engine's own operations lie there, named
//! `LOP_X_…`.
//!
//! Invariants
//! - The table is sorted by number and holds each number once.

use std::fmt;

use super::block::BlockFormat;

/// What follows the fixed part of a record of formats 3 to 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariablePart {
    /// A count, the lengths and the elements.
    Elements,
    /// The operation has no variable part.
    Absent,
    /// Not observed; a reader tries elements and takes them when they fit exactly.
    Unknown,
}

/// Operation of a log record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Op(pub u8);

macro_rules! operations {
    ($($number:literal $name:ident $variable:ident $(as $constant:ident)?;)*) => {
        #[allow(missing_docs, reason = "the names say it")]
        impl Op {
            $(operations!(@constant $number $name $($constant)?);)*
        }

        /// Number, name and variable part of every known operation, ascending.
        const OPERATIONS: &[(u8, &str, VariablePart)] =
            &[$(($number, concat!("LOP_", stringify!($name)), VariablePart::$variable),)*];
    };
    (@constant $number:literal $name:ident) => { pub const $name: Op = Op($number); };
    (@constant $number:literal $name:ident $constant:ident) => {
        pub const $constant: Op = Op($number);
    };
}

operations! {
    // Operations on a page.
    0x01 FORMAT_PAGE Elements;
    0x02 INSERT_ROWS Elements;
    0x03 DELETE_ROWS Elements;
    0x04 MODIFY_ROW Elements;
    0x05 MODIFY_HEADER Elements;
    0x06 MODIFY_COLUMNS Elements;
    0x07 SET_BITS Elements;
    0x09 DELTA_SYSIND Unknown;
    0x0a SET_FREE_SPACE Absent;
    0x0b DELETE_SPLIT Absent;
    0x0c UNDO_DELETE_SPLIT Unknown;
    0x0d EXPUNGE_ROWS Elements;
    0x10 FILE_HDR_MODIFY Elements;
    0x11 CLEAR_GAM_BITS Elements;
    0x12 COUNT_DELTA Absent;
    0x13 ROOT_CHANGE Absent;
    0x14 COMPRESSION_INFO Unknown;
    0x15 ENCRYPT_PAGE Unknown;
    0x16 INSYSXACT Unknown;
    0x7e REMOVE_VERSION_INFO Unknown;
    // Transactions and what accompanies them.
    0x80 BEGIN_XACT Elements;
    0x81 COMMIT_XACT Elements;
    0x82 ABORT_XACT Elements;
    0x83 PREP_XACT Elements;
    0x84 MARK_SAVEPOINT Elements;
    0x85 FORGET_XACT Unknown;
    0x86 CREATE_FILE Unknown;
    0x87 DROP_FILE Unknown;
    0x88 MARK_DDL Unknown;
    0x89 HOBT_DDL Absent;
    0x8a IDENT_NEWVAL Unknown;
    0x8b IDENT_SENTVAL Unknown;
    0x8c HOBT_DELTA Absent;
    0x8d LOCK_XACT Elements;
    0x8e CREATE_STREAMFILE Unknown;
    0x8f MIGRATE_LOCKS Unknown;
    0x90 DROP_STREAMFILE Unknown;
    0x91 FS_DOWNLEVEL_OP Unknown;
    0x92 MODIFY_STREAMFILE_HDR Unknown;
    0x94 BP_DBVER Absent;
    0x95 COPY_VERSION_INFO Unknown;
    0x96 BEGIN_CKPT Absent;
    0x98 XACT_CKPT Elements;
    0x99 END_CKPT Absent;
    0x9a BUF_WRITE Unknown;
    0x9b IDENT_SENTVAL Unknown as IDENT_SENTVAL_2000;
    0xa0 BEGIN_RECOVERY Unknown;
    0xa1 END_RECOVERY Unknown;
    0xa2 TENANT_LOG Unknown;
    0xa6 FEDTM_INFO Unknown;
    // Objects, bulk work, replication, other engines.
    0xad CREATE_INDEX Unknown;
    0xae DROP_INDEX Unknown;
    0xb0 CREATE_ALLOCCHAIN Absent;
    0xb4 CREATE_FTCAT Unknown;
    0xb5 DROP_FTCAT Unknown;
    0xc8 REPL_COMMAND Unknown;
    0xc9 BEGIN_UPDATE Unknown;
    0xca END_UPDATE Unknown;
    0xcb TEXT_POINTER Unknown;
    0xcc TEXT_INFO_BEGIN Unknown;
    0xcd TEXT_INFO_END Unknown;
    0xce REPL_NOOP Unknown;
    0xcf TEXT_VALUE Unknown;
    0xd3 SHRINK_NOOP Elements;
    0xd4 FILESTREAM_INFO_BEGIN Unknown;
    0xd5 FILESTREAM_INFO_END Unknown;
    0xd6 BULK_EXT_ALLOCATION Unknown;
    0xd7 SECURITY_OP Unknown;
    0xd8 PAGE_REENCRYPT Unknown;
    0xd9 CREATE_PHYSICAL_FILE Unknown;
    0xdc RANGE_INSERT Unknown;
    0xdd INVALIDATE_CACHE Unknown;
    0xdf CSI_ROWGROUP Unknown;
    0xe6 HK Unknown;
    0xe7 HK_CHECKPOINT Unknown;
    0xe8 HK_CHAINED Unknown;
    0xf0 SEREPL_MSG Unknown;
    // Of this engine.
    0xf1 X_DURABLE Absent as DURABLE_MARK;
}

impl Op {
    fn entry(self) -> Option<&'static (u8, &'static str, VariablePart)> {
        OPERATIONS
            .binary_search_by_key(&self.0, |entry| entry.0)
            .ok()
            .and_then(|i| OPERATIONS.get(i))
    }

    /// The name with its prefix, `LOP_INSERT_ROWS`; `None` for a number without one.
    pub fn name(self) -> Option<&'static str> {
        self.entry().map(|entry| entry.1)
    }

    /// The operation of a name, with or without `LOP_`, in any case. `IDENT_SENTVAL` gives the
    /// newer number.
    pub fn from_name(name: &str) -> Option<Op> {
        let matches = |full: &str| {
            full.eq_ignore_ascii_case(name)
                || full.strip_prefix("LOP_").is_some_and(|short| short.eq_ignore_ascii_case(name))
        };
        OPERATIONS.iter().find(|entry| matches(entry.1)).map(|entry| Op(entry.0))
    }

    /// What follows the fixed part of a record with this operation.
    pub fn variable_part(self) -> VariablePart {
        self.entry().map_or(VariablePart::Unknown, |entry| entry.2)
    }

    /// Length of the fixed part of a record, header included, as observed in real files of the
    /// format; `None` where no such record was seen, and for format 2, whose records have no such
    /// length.
    pub fn fixed_len(self, format: BlockFormat) -> Option<u16> {
        let by_age = |v3, v4, later| match format {
            BlockFormat::V2 => None,
            BlockFormat::V3 => Some(v3),
            BlockFormat::V4 => Some(v4),
            BlockFormat::V5 | BlockFormat::V6 => Some(later),
        };
        let always = |len| by_age(len, len, len);
        match self {
            Op::LOCK_XACT | Op::XACT_CKPT | Op::SHRINK_NOOP => always(0x18),
            Op::INVALIDATE_CACHE => always(0x1a),
            Op::BP_DBVER => always(0x1c),
            Op::MIGRATE_LOCKS => always(0x1e),
            Op::IDENT_NEWVAL | Op::IDENT_SENTVAL => always(0x20),
            Op::MARK_SAVEPOINT | Op::DURABLE_MARK => always(0x22),
            Op::HOBT_DDL => always(0x24),
            Op::CREATE_ALLOCCHAIN => always(0x28),
            Op::SET_FREE_SPACE => by_age(0x30, 0x34, 0x34),
            Op::COMMIT_XACT | Op::ABORT_XACT => by_age(0x30, 0x30, 0x50),
            Op::BEGIN_XACT => by_age(0x30, 0x40, 0x4c),
            Op::INSYSXACT => always(0x32),
            Op::SET_BITS => always(0x36),
            Op::DELETE_SPLIT => always(0x3c),
            Op::INSERT_ROWS
            | Op::DELETE_ROWS
            | Op::MODIFY_ROW
            | Op::MODIFY_HEADER
            | Op::MODIFY_COLUMNS => always(0x3e),
            Op::EXPUNGE_ROWS | Op::FILE_HDR_MODIFY | Op::CLEAR_GAM_BITS => always(0x3e),
            Op::PREP_XACT | Op::HOBT_DELTA => always(0x40),
            Op::FORMAT_PAGE => always(0x50),
            Op::ROOT_CHANGE | Op::BEGIN_CKPT => always(0x60),
            Op::END_CKPT => always(0x88),
            Op::COUNT_DELTA => always(0xd0),
            _ => None,
        }
    }

    /// True for operations on a page: their records begin with the page part. The numbers below 80
    /// hex are theirs.
    pub fn is_on_page(self) -> bool {
        self.0 < 0x80 && self.entry().is_some()
    }

    /// All operations that have a name.
    pub fn all() -> impl Iterator<Item = Op> {
        OPERATIONS.iter().map(|entry| Op(entry.0))
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "LOP_{:02X}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_every_name_finds_its_number() {
        assert!(OPERATIONS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for op in Op::all().filter(|op| *op != Op::IDENT_SENTVAL_2000) {
            assert_eq!(Op::from_name(op.name().unwrap()), Some(op));
        }
    }

    #[test]
    fn fixed_parts_grew_over_the_formats() {
        let lens = |op: Op| BlockFormat::ALL.map(|format| op.fixed_len(format));
        assert_eq!(lens(Op::BEGIN_XACT), [None, Some(0x30), Some(0x40), Some(0x4c), Some(0x4c)]);
        assert_eq!(
            lens(Op::SET_FREE_SPACE),
            [None, Some(0x30), Some(0x34), Some(0x34), Some(0x34)]
        );
        assert_eq!(lens(Op::HK), [None; 5]);
    }

    #[test]
    fn names_are_those_of_fn_dblog() {
        assert_eq!(Op::INSERT_ROWS.to_string(), "LOP_INSERT_ROWS");
        assert_eq!(Op(0x17).to_string(), "LOP_17");
        assert_eq!(Op::from_name("begin_xact"), Some(Op(0x80)));
        assert_eq!(Op::from_name("ghost"), None);
        assert_eq!(Op::IDENT_SENTVAL_2000.name(), Op::IDENT_SENTVAL.name());
    }
}
