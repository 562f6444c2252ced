//! Records as `fn_dblog` shows them: named columns of text, those that are not NULL.
//!
//! Names and order of the columns are public documentation. What a column shows is taken from the
//! payload; bytes that SQL Server would show decoded and that are not understood here (lock
//! information) are shown in hexadecimal.

#[cfg(test)]
mod tests;

use std::fmt::Display;

use extentdb_base::{Lsn, PageId, XactId};

use super::block::BlockFormat;
use super::payload::checkpoint::{BeginCheckpoint, EndCheckpoint};
use super::payload::page::{BitsPart, DeleteSplit, FormatPage, PagePart, SetFreeSpace};
use super::payload::row::RowPart;
use super::payload::xact::{EndXact, LogText, PreparePart};
use super::payload::{Payload, xact::BeginPart, xact::BeginPart2005};
use super::record::{RecordRef, Tail};

macro_rules! columns {
    ($($variant:ident $name:literal,)*) => {
        /// A column of `fn_dblog` that this reader fills, in its order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "the names are SQL Server's own")]
        pub enum Column {
            $($variant,)*
        }

        impl Column {
            /// All columns in order.
            pub const ALL: &'static [Column] = &[$(Column::$variant,)*];

            /// The name as `fn_dblog` prints it, such as `LOP_INSERT_ROWS`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Column::$variant => $name,)*
                }
            }
        }
    };
}

columns! {
    CurrentLsn "Current LSN",
    Operation "Operation",
    Context "Context",
    TransactionId "Transaction ID",
    TagBits "Tag Bits",
    FixedLength "Log Record Fixed Length",
    RecordLength "Log Record Length",
    PreviousLsn "Previous LSN",
    FlagBits "Flag Bits",
    AllocUnitId "AllocUnitId",
    PageId "Page ID",
    SlotId "Slot ID",
    PreviousPageLsn "Previous Page LSN",
    PartitionId "PartitionId",
    RowFlags "RowFlags",
    NumElements "Num Elements",
    OffsetInRow "Offset in Row",
    ModifySize "Modify Size",
    CheckpointBegin "Checkpoint Begin",
    CheckpointBeginDbVersion "CHKPT Begin DB Version",
    MaxXdesId "Max XDESID",
    NumTransactions "Num Transactions",
    CheckpointEnd "Checkpoint End",
    CheckpointEndDbVersion "CHKPT End DB Version",
    MinimumLsn "Minimum LSN",
    DirtyPages "Dirty Pages",
    Spid "SPID",
    BeginlogStatus "Beginlog Status",
    XactType "Xact Type",
    BeginTime "Begin Time",
    TransactionName "Transaction Name",
    TransactionSid "Transaction SID",
    ParentTransactionId "Parent Transaction ID",
    XactId "Xact ID",
    EndTime "End Time",
    TransactionBegin "Transaction Begin",
    MasterXdesId "Master XDESID",
    MasterDbId "Master DBID",
    PreplogBeginLsn "Preplog Begin LSN",
    PrepareTime "Prepare Time",
    PreviousSavepoint "Previous Savepoint",
    SavepointName "Savepoint Name",
    RowbitsFirstBit "Rowbits First Bit",
    RowbitsBitCount "Rowbits Bit Count",
    RowbitsBitValue "Rowbits Bit Value",
    NumberOfLocks "Number of Locks",
    LockInformation "Lock Information",
    ByteOffset "Byte Offset",
    NewValue "New Value",
    OldValue "Old Value",
    NewSplitPage "New Split Page",
    RowsDeleted "Rows Deleted",
    BytesFreed "Bytes Freed",
    Description "Description",
    RowLogContents0 "RowLog Contents 0",
    RowLogContents1 "RowLog Contents 1",
    RowLogContents2 "RowLog Contents 2",
    RowLogContents3 "RowLog Contents 3",
    RowLogContents4 "RowLog Contents 4",
    RowLogContents5 "RowLog Contents 5",
    PageFormatPageType "PageFormat PageType",
    PageFormatPageFlags "PageFormat PageFlags",
    PageFormatPageLevel "PageFormat PageLevel",
    LogRecord "Log Record",
}

/// Bytes as SQL Server prints them: `0x30000800`.
fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit =
        |nibble: u8| DIGITS.get(usize::from(nibble)).map_or('0', |digit| char::from(*digit));
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("0x");
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

/// A page as `fn_dblog` prints it: `0001:0000013b`.
fn page_text(page: PageId) -> String {
    format!("{:04x}:{:08x}", page.file.0, page.page)
}

/// The columns of one record.
#[derive(Debug)]
struct Row(Vec<(Column, String)>);

impl Row {
    fn set(&mut self, column: Column, value: impl Display) {
        self.0.push((column, value.to_string()));
    }

    fn header(&mut self, lsn: Lsn, record: &RecordRef<'_>) {
        let header = record.header();
        self.set(Column::CurrentLsn, lsn);
        self.set(Column::Operation, header.op);
        self.set(Column::Context, header.context);
        self.set(Column::TransactionId, header.xact);
        self.set(Column::TagBits, hex(&header.tag_bits.to_le_bytes()));
        if record.format() != BlockFormat::V2 {
            self.set(Column::FixedLength, header.fixed_len);
        }
        self.set(Column::RecordLength, record.len() + record.rest().len());
        self.set(Column::PreviousLsn, header.previous);
        self.set(Column::FlagBits, header.flags);
        self.set(Column::LogRecord, hex(&[record.bytes(), record.rest()].concat()));
        if let Tail::Elements(elements) = record.tail() {
            self.set(Column::NumElements, elements.len());
        }
    }

    fn page(&mut self, part: &PagePart) {
        self.set(Column::AllocUnitId, part.alloc_unit());
        self.set(Column::PageId, page_text(part.page));
        self.set(Column::SlotId, part.slot);
        self.set(Column::PreviousPageLsn, part.previous_page_lsn);
    }

    fn row(&mut self, part: &RowPart, elements: &[&[u8]]) {
        self.set(Column::PartitionId, part.partition_id);
        self.set(Column::RowFlags, hex(&part.row_flags.to_le_bytes()));
        self.set(Column::OffsetInRow, part.offset_in_row);
        self.set(Column::ModifySize, part.modify_size);
        self.contents(elements);
    }

    fn contents(&mut self, elements: &[&[u8]]) {
        let contents = [
            Column::RowLogContents0,
            Column::RowLogContents1,
            Column::RowLogContents2,
            Column::RowLogContents3,
            Column::RowLogContents4,
            Column::RowLogContents5,
        ];
        for (column, element) in contents.into_iter().zip(elements) {
            self.set(column, hex(element));
        }
    }

    fn format_page(&mut self, payload: &FormatPage) {
        self.set(Column::PageFormatPageType, payload.page_type);
        self.set(Column::PageFormatPageFlags, payload.type_flag_bits);
        self.set(Column::PageFormatPageLevel, payload.level);
    }

    fn bits(&mut self, part: &BitsPart, elements: &[&[u8]]) {
        self.set(Column::RowbitsFirstBit, part.first_bit);
        self.set(Column::RowbitsBitCount, part.bit_count);
        self.set(Column::RowbitsBitValue, part.value);
        self.contents(elements);
    }

    fn free_space(&mut self, payload: &SetFreeSpace) {
        if let SetFreeSpace {
            byte_offset: Some(at),
            new_value: Some(new),
            old_value: Some(old),
            ..
        } = payload
        {
            self.set(Column::ByteOffset, at);
            self.set(Column::NewValue, new);
            self.set(Column::OldValue, old);
        }
    }

    fn split(&mut self, payload: &DeleteSplit) {
        self.set(Column::NewSplitPage, page_text(payload.new_page));
        self.set(Column::RowsDeleted, payload.rows_deleted);
        self.set(Column::BytesFreed, payload.bytes_freed);
    }

    fn begin(&mut self, part: &BeginPart, own: XactId) {
        self.set(Column::Spid, part.spid);
        self.set(Column::BeginlogStatus, part.status);
        self.set(Column::XactType, part.kind);
        self.set(Column::BeginTime, part.begin_time);
        self.set(Column::XactId, part.xact_id);
        if let Some(parent) = part.parent_of(own) {
            self.set(Column::ParentTransactionId, parent);
        }
    }

    fn begin_2005(&mut self, part: &BeginPart2005) {
        self.set(Column::Spid, part.spid);
        self.set(Column::BeginlogStatus, part.status);
        self.set(Column::XactType, part.kind);
        self.set(Column::BeginTime, part.begin_time);
    }

    fn name_and_sid(&mut self, name: LogText<'_>, sid: &[u8]) {
        self.set(Column::TransactionName, name.to_string_lossy());
        self.set(Column::TransactionSid, hex(sid));
    }

    fn end_xact(&mut self, payload: &EndXact) {
        self.set(Column::EndTime, payload.end_time);
        self.set(Column::TransactionBegin, payload.begin);
        if let Some(id) = payload.xact_id {
            self.set(Column::XactId, id);
        }
    }

    fn prepare(&mut self, part: &PreparePart) {
        self.set(Column::MasterXdesId, part.master_xact);
        self.set(Column::MasterDbId, part.master_database);
        self.set(Column::PreplogBeginLsn, part.begin);
        self.set(Column::PrepareTime, part.time);
    }

    fn begin_checkpoint(&mut self, payload: &BeginCheckpoint) {
        self.set(Column::CheckpointBegin, payload.begin_time);
        self.set(Column::CheckpointBeginDbVersion, payload.db_version);
        self.set(Column::MaxXdesId, payload.max_xact);
    }

    fn end_checkpoint(&mut self, payload: &EndCheckpoint) {
        self.set(Column::CheckpointEnd, payload.end_time);
        self.set(Column::CheckpointEndDbVersion, payload.db_version);
        self.set(Column::MinimumLsn, payload.minimum);
        self.set(Column::DirtyPages, payload.dirty_pages);
    }

    fn locks(&mut self, locks: &[&[u8]]) {
        self.set(Column::NumberOfLocks, locks.len());
        let texts: Vec<String> = locks.iter().map(|lock| hex(lock)).collect();
        self.set(Column::LockInformation, texts.join(";"));
    }

    fn payload(&mut self, record: &RecordRef<'_>) {
        let payload = record.payload();
        if let Some(part) = payload.page_part() {
            self.page(part);
        }
        if let Some(part) = payload.row_part() {
            self.row(part, record.elements());
        }
        match &payload {
            Payload::FormatPage(p) => self.format_page(p),
            Payload::FormatPageWith(p) => self.format_page(&p.fixed),
            Payload::SetBits(p) => self.bits(&p.fixed, record.elements()),
            Payload::SetFreeSpace(p) => self.free_space(p),
            Payload::DeleteSplit(p) => self.split(p),
            Payload::BeginXact(p) => {
                self.begin(&p.fixed, record.header().xact);
                self.name_and_sid(p.name, p.sid);
            }
            Payload::BeginXact2005(p) => {
                self.begin_2005(&p.fixed);
                self.name_and_sid(p.name, p.sid);
            }
            Payload::EndXact(p) => self.end_xact(p),
            Payload::PrepareXact(p) => self.prepare(&p.fixed),
            Payload::Savepoint(p) => {
                self.set(Column::PreviousSavepoint, p.fixed.previous_savepoint);
                self.set(Column::SavepointName, p.name.to_string_lossy());
            }
            Payload::LockXact(p) => self.locks(&p.more),
            Payload::HobtDelta(p) => self.set(Column::AllocUnitId, p.alloc_unit),
            Payload::BeginCheckpoint(p) => self.begin_checkpoint(p),
            Payload::EndCheckpoint(p) => self.end_checkpoint(p),
            // Without its form the number of entries is not known.
            Payload::XactCheckpoint(p) if p.undecoded.is_empty() => {
                self.set(Column::NumTransactions, p.active.len());
            }
            Payload::DurableMark(p) => {
                self.set(Column::Description, format_args!("durable up to {}", p.durable));
            }
            _ => {}
        }
    }
}

/// The columns of a record that are not NULL, in `fn_dblog`'s order.
pub fn columns(lsn: Lsn, record: &RecordRef<'_>) -> Vec<(Column, String)> {
    let mut row = Row(Vec::with_capacity(32));
    row.header(lsn, record);
    row.payload(record);
    row.0.sort_by_key(|(column, _)| *column);
    row.0
}
