//! From an operation to its payload type and back.

use super::checkpoint::{BeginCheckpoint, EndCheckpoint, XactCheckpoint};
use super::mark::DurableMark;
use super::page::{
    DeleteSplit, FormatPage, FormatPageWith, InSysXactRecord, RootChange, SetBits, SetFreeSpace,
};
use super::row::{
    DeleteRows, FileHeaderModify, InsertRows, ModifyColumns, ModifyHeader, ModifyRow, RowPart,
    RowTouch,
};
use super::space::{
    ColumnCountDelta, CountDelta, CreateAllocChain, DbVersionChange, HobtDdl, HobtDelta,
    IdentValueRecord,
};
use super::xact::{BeginXact, BeginXact2005, EndXact, LockXact, PrepareXact, Savepoint};
use super::{Body, Opaque, element_list, page::PagePart};
use crate::log::block::BlockFormat;
use crate::log::field::{FixedPart, ResidueBytes};
use crate::log::op::Op;
use crate::log::record::{ElementList, RECORD_HEADER_BYTES, RecordRef};

macro_rules! payloads {
    ($($(#[$doc:meta])* $variant:ident($ty:ty): $($op:ident)|+ $(if $condition:expr)?;)*) => {
        /// The payload of a record.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Payload<'a> {
            $($(#[$doc])* $variant($ty),)*
            /// Anything else, or a record without the shape of its operation.
            Opaque(Opaque<'a>),
        }

        impl<'a> Payload<'a> {
            /// Reads the payload by the record's operation.
            pub fn read(record: &RecordRef<'a>) -> Self {
                let op = record.header().op;
                let format = record.format();
                if record.has_fixed_part() && format != BlockFormat::V2 {
                    $(if matches!(op, $(Op::$op)|+) $(&& $condition(format))? {
                        if let Some(payload) = Body::read(record) {
                            return Payload::$variant(payload);
                        }
                    })*
                }
                Payload::Opaque(Opaque::read(record))
            }

            /// True when records of this operation have a payload type.
            pub fn is_decoded(format: BlockFormat, op: Op) -> bool {
                format != BlockFormat::V2 && (false $(|| matches!(op, $(Op::$op)|+))*)
            }

            /// The least length of the fixed part, header included, of every record of this
            /// operation; `None` when the operation has no payload type in this format.
            pub(crate) fn least_fixed_of(format: BlockFormat, op: Op) -> Option<usize> {
                if format == BlockFormat::V2 {
                    return None;
                }
                let mut least: Option<usize> = None;
                $(if matches!(op, $(Op::$op)|+) $(&& $condition(format))? {
                    let needed = <<$ty as Body<'a>>::Fixed as FixedPart>::least_bytes();
                    least = Some(least.map_or(needed, |least| least.min(needed)));
                })*
                least
            }

            /// The least length of the fixed part, header included, that holds this payload.
            pub fn least_fixed_len(&self) -> usize {
                match self {
                    $(Payload::$variant(payload) => least_bytes_of(payload),)*
                    Payload::Opaque(payload) => RECORD_HEADER_BYTES + payload.residue.len(),
                }
            }

            /// Bytes of unknown meaning in the fixed part.
            pub fn residue(&self) -> &ResidueBytes {
                match self {
                    $(Payload::$variant(payload) => payload.fixed().residue(),)*
                    Payload::Opaque(payload) => &payload.residue,
                }
            }

            /// How many bytes of the record are of unknown meaning.
            pub fn unknown_bytes(&self) -> usize {
                match self {
                    $(Payload::$variant(payload) => {
                        payload.fixed().residue().len() + payload.unknown_elements()
                    })*
                    Payload::Opaque(payload) => payload.unknown_bytes(),
                }
            }

            /// Writes the fixed part after the header over all of `fixed`.
            pub(crate) fn write_fixed(&self, fixed: &mut [u8]) {
                match self {
                    $(Payload::$variant(payload) => payload.fixed().write(fixed),)*
                    Payload::Opaque(payload) => {
                        payload.residue.spread(fixed, RECORD_HEADER_BYTES, &[]);
                    }
                }
            }

            /// The elements; `None` when the record has no variable part.
            pub(crate) fn elements(&self) -> Option<ElementList<'_>> {
                match self {
                    $(Payload::$variant(payload) => payload.elements(),)*
                    Payload::Opaque(payload) => {
                        let elements = payload.elements.as_ref();
                        elements.map(|all| element_list(all.iter().copied()))
                    }
                }
            }
        }
    };
}

fn least_bytes_of<'a, B: Body<'a>>(_: &B) -> usize {
    B::Fixed::least_bytes()
}

payloads! {
    /// `LOP_FORMAT_PAGE`: the header of a page that has no rows yet.
    FormatPage(FormatPage): FORMAT_PAGE;
    /// `LOP_FORMAT_PAGE` with elements
    FormatPageWith(FormatPageWith<'a>): FORMAT_PAGE;
    /// `LOP_INSERT_ROWS`: one row, or those that a split puts on a page.
    InsertRows(InsertRows<'a>): INSERT_ROWS;
    /// `LOP_DELETE_ROWS`: rows that are removed, or become ghosts.
    DeleteRows(DeleteRows<'a>): DELETE_ROWS;
    /// `LOP_MODIFY_ROW`: one run of bytes of a row.
    ModifyRow(ModifyRow<'a>): MODIFY_ROW;
    /// `LOP_MODIFY_HEADER`: bytes of a page header.
    ModifyHeader(ModifyHeader<'a>): MODIFY_HEADER;
    /// `LOP_MODIFY_COLUMNS`: several runs of bytes of a row.
    ModifyColumns(ModifyColumns<'a>): MODIFY_COLUMNS;
    /// `LOP_SET_BITS`: a run of bits of an allocation map.
    SetBits(SetBits<'a>): SET_BITS;
    /// `LOP_SET_FREE_SPACE`: a PFS byte, never undone.
    SetFreeSpace(SetFreeSpace): SET_FREE_SPACE;
    /// `LOP_DELETE_SPLIT`: rows that a split moved to another page.
    DeleteSplit(DeleteSplit): DELETE_SPLIT;
    /// `LOP_EXPUNGE_ROWS` (removal of a ghost), `LOP_CLEAR_GAM_BITS`
    RowTouch(RowTouch<'a>): EXPUNGE_ROWS | CLEAR_GAM_BITS;
    /// `LOP_FILE_HDR_MODIFY`: the file header record of page 0.
    FileHeaderModify(FileHeaderModify<'a>): FILE_HDR_MODIFY;
    /// `LOP_COUNT_DELTA` of an allocation unit or rowset
    CountDelta(CountDelta): COUNT_DELTA;
    /// `LOP_COUNT_DELTA` of a column
    ColumnCountDelta(ColumnCountDelta): COUNT_DELTA;
    /// `LOP_ROOT_CHANGE`: root, first page or first IAM page of a unit.
    RootChange(RootChange): ROOT_CHANGE;
    /// `LOP_INSYSXACT`: a page that a system transaction works on.
    InSysXact(InSysXactRecord<'a>): INSYSXACT;
    /// `LOP_BEGIN_XACT`, formats 4 to 6
    BeginXact(BeginXact<'a>): BEGIN_XACT if is_after_2005;
    /// `LOP_BEGIN_XACT` of format 3
    BeginXact2005(BeginXact2005<'a>): BEGIN_XACT if is_2005;
    /// `LOP_COMMIT_XACT`, `LOP_ABORT_XACT`: the last record of a transaction.
    EndXact(EndXact): COMMIT_XACT | ABORT_XACT;
    /// `LOP_PREP_XACT`: a transaction over several databases is ready to commit.
    PrepareXact(PrepareXact<'a>): PREP_XACT;
    /// `LOP_MARK_SAVEPOINT`: where a partial rollback ends.
    Savepoint(Savepoint<'a>): MARK_SAVEPOINT;
    /// `LOP_LOCK_XACT`: locks that recovery must acquire again.
    LockXact(LockXact<'a>): LOCK_XACT;
    /// `LOP_HOBT_DDL`: a heap or index is created or dropped.
    HobtDdl(HobtDdl): HOBT_DDL;
    /// `LOP_IDENT_NEWVAL`, `LOP_IDENT_SENTVAL`: values of an identity are used.
    IdentValue(IdentValueRecord<'a>): IDENT_NEWVAL | IDENT_SENTVAL;
    /// `LOP_HOBT_DELTA`: counters of an allocation unit.
    HobtDelta(HobtDelta): HOBT_DELTA;
    /// `LOP_BP_DBVER`: the version of the database.
    DbVersionChange(DbVersionChange): BP_DBVER;
    /// `LOP_BEGIN_CKPT`: a checkpoint begins.
    BeginCheckpoint(BeginCheckpoint): BEGIN_CKPT;
    /// `LOP_XACT_CKPT`: transactions that are active at a checkpoint.
    XactCheckpoint(XactCheckpoint<'a>): XACT_CKPT;
    /// `LOP_END_CKPT`: a checkpoint is complete.
    EndCheckpoint(EndCheckpoint): END_CKPT;
    /// `LOP_CREATE_ALLOCCHAIN`: the first IAM page of an allocation unit.
    CreateAllocChain(CreateAllocChain): CREATE_ALLOCCHAIN;
    /// `LOP_X_DURABLE`: how far the log was durable.
    DurableMark(DurableMark): DURABLE_MARK;
}

fn is_2005(format: BlockFormat) -> bool {
    format == BlockFormat::V3
}

fn is_after_2005(format: BlockFormat) -> bool {
    format > BlockFormat::V3
}

impl Payload<'_> {
    /// The page part of an operation on a page.
    pub fn page_part(&self) -> Option<&PagePart> {
        match self {
            Payload::FormatPage(p) => Some(&p.page),
            Payload::FormatPageWith(p) => Some(&p.fixed.page),
            Payload::SetBits(p) => Some(&p.fixed.page),
            Payload::SetFreeSpace(p) => Some(&p.page),
            Payload::DeleteSplit(p) => Some(&p.page),
            Payload::CountDelta(p) => Some(&p.fixed.page),
            Payload::ColumnCountDelta(p) => Some(&p.fixed.page),
            Payload::RootChange(p) => Some(&p.page),
            Payload::InSysXact(p) => Some(&p.fixed.page),
            _ => self.row_part().map(|row| &row.page),
        }
    }

    /// Bytes of elements that records of this operation do not have in the shape that is known.
    pub(crate) fn foreign_bytes(&self) -> usize {
        match self {
            Payload::FormatPageWith(p) => p.unknown_elements(),
            Payload::XactCheckpoint(p) => p.undecoded.iter().map(|element| element.len()).sum(),
            _ => 0,
        }
    }

    /// Bytes of the elements, padding left out.
    pub fn element_bytes(&self) -> usize {
        self.elements().map_or(0, |elements| elements.iter().map(|element| element.len()).sum())
    }

    /// The page part, to be filled in for the page that is about to be changed.
    pub fn page_part_mut(&mut self) -> Option<&mut PagePart> {
        match self {
            Payload::FormatPage(p) => Some(&mut p.page),
            Payload::SetBits(p) => Some(&mut p.fixed.page),
            Payload::SetFreeSpace(p) => Some(&mut p.page),
            Payload::DeleteSplit(p) => Some(&mut p.page),
            Payload::CountDelta(p) => Some(&mut p.fixed.page),
            Payload::ColumnCountDelta(p) => Some(&mut p.fixed.page),
            Payload::RootChange(p) => Some(&mut p.page),
            Payload::InSysXact(p) => Some(&mut p.fixed.page),
            Payload::InsertRows(p) => Some(&mut p.fixed.page),
            Payload::DeleteRows(p) => Some(&mut p.fixed.page),
            Payload::ModifyRow(p) => Some(&mut p.fixed.page),
            Payload::ModifyHeader(p) => Some(&mut p.fixed.page),
            Payload::ModifyColumns(p) => Some(&mut p.fixed.page),
            Payload::RowTouch(p) => Some(&mut p.fixed.page),
            Payload::FileHeaderModify(p) => Some(&mut p.fixed.page),
            _ => None,
        }
    }

    /// The fixed part of a row operation.
    pub fn row_part(&self) -> Option<&RowPart> {
        match self {
            Payload::InsertRows(p) => Some(&p.fixed),
            Payload::DeleteRows(p) => Some(&p.fixed),
            Payload::ModifyRow(p) => Some(&p.fixed),
            Payload::ModifyHeader(p) => Some(&p.fixed),
            Payload::ModifyColumns(p) => Some(&p.fixed),
            Payload::RowTouch(p) => Some(&p.fixed),
            Payload::FileHeaderModify(p) => Some(&p.fixed),
            _ => None,
        }
    }

    /// Bytes that follow the fixed part and are not elements.
    pub(crate) fn raw_tail(&self) -> &[u8] {
        match self {
            Payload::Opaque(opaque) => opaque.tail,
            _ => &[],
        }
    }
}
