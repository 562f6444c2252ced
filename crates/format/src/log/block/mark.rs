//! The durable mark of a block: how far the log was durable when the block was written.
//!
//! ```text
//! block offset   28   record header   fixed length 22, operation F1, context NULL, no transaction
//!                40   durable LSN     10 bytes
//!                4A   padding to 50   the next record
//! ```
//!
//! A log of SQL Server does not say where it ends: a block that is missing at the end was never
//! written, or was lost. A mark in a *later* block tells the two apart. It is record 1 of every
//! block that this engine writes, fillers included, and is set right before the block is written,
//! when all earlier writes are durable. It lies in the block's first sector, which is written as a
//! whole or not at all, so it can be read from a block whose other sectors are missing.
//!
//! Offsets are hexadecimal. Only blocks of format 4 have marks.
//!
//! Invariants
//! - The mark lies in the first sector, and no displaced byte overlies it.
//! - Setting a mark keeps the block's checksum valid.

use extentdb_base::Lsn;
use extentdb_base::size::SECTOR_BYTES;

use super::{BlockFormat, checksum};
use crate::log::context::Context;
use crate::log::field::{Field, write_chunk};
use crate::log::op::Op;
use crate::log::payload::Payload;
use crate::log::payload::mark::DurableMark;
use crate::log::record::{RECORD_HEADER_BYTES, RecordHeader};

/// Format of the blocks that have marks.
const FORMAT: BlockFormat = BlockFormat::V4;
/// Length of the fixed part of the record.
const FIXED_LEN: u16 = RECORD_HEADER_BYTES as u16 + 10;
/// Offset of the record in its block.
const RECORD_OFFSET: usize = FORMAT.header_bytes();
/// Offset of the LSN in the block.
const LSN_OFFSET: usize = RECORD_OFFSET + RECORD_HEADER_BYTES;
/// Bytes that a mark takes in a block, its slot included.
pub const DURABLE_MARK_BYTES: usize =
    (FIXED_LEN as usize).next_multiple_of(FORMAT.record_align()) + 2;

// The displaced bytes of a block of one sector lie at its end; the mark is far from them.
const _: () = assert!(RECORD_OFFSET + DURABLE_MARK_BYTES < SECTOR_BYTES - 1);

/// The record of a mark, to be pushed first into a block.
pub fn durable_mark(durable: Lsn) -> (RecordHeader, Payload<'static>) {
    let header = RecordHeader {
        op: Op::DURABLE_MARK,
        context: Context::NULL,
        fixed_len: FIXED_LEN,
        ..RecordHeader::default()
    };
    (header, Payload::DurableMark(DurableMark { durable, ..DurableMark::default() }))
}

/// The mark in the first sector of a block, in disk or logical form; `None` when the block does not
/// begin with one.
pub fn read(first_sector: &[u8]) -> Option<Lsn> {
    let header = RecordHeader::read(FORMAT, first_sector.get(RECORD_OFFSET..)?)?;
    let (expected, _) = durable_mark(Lsn::ZERO);
    if header != expected {
        return None;
    }
    Lsn::read(first_sector, LSN_OFFSET)
}

/// Sets the mark of a block in disk form, and corrects its checksum. A block without a mark stays
/// as it is.
pub fn set(disk: &mut [u8], durable: Lsn) {
    if read(disk).is_none() {
        return;
    }
    checksum::change_first_sector(disk, |sector| {
        let mut bytes = [0; 10];
        durable.write(&mut bytes, 0);
        write_chunk(sector, LSN_OFFSET, &bytes);
    });
}
