//! Examining a log before it is opened: what an emergency cut would erase, and which records
//! remain.

use std::ops::ControlFlow;

use extentdb_base::Lsn;
use extentdb_format::log::reader::ChainItem;
use extentdb_format::log::{LogReader, RecordRef};
use extentdb_io::DiskFile;

use super::{Bytes, Lost, OpenOptions, end_of, lose, vlfs, walk};
use crate::error::Error;
use crate::log_manager::Log;
use crate::spec::read_header;

/// What a log holds, and what a cut would erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Examined {
    /// Where the walk along the log began.
    pub from: Lsn,
    /// Where the log ends, or would end after a cut: no record has this LSN or a later one.
    pub end: Lsn,
    /// What a cut would erase; `None` when the log is whole.
    pub lost: Option<Lost>,
    /// The highest sequence number of a VLF in the file, those that a cut would erase included.
    pub newest_vlf: u32,
}

impl Log {
    /// Examines a log as [`open_with`](Self::open_with) would, and hands the records before its end
    /// to `visit`, until that breaks. Nothing is changed, but that an interrupted growth of the
    /// file is repeated.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when not even a cut leaves a usable log.
    pub fn examine(
        file: &dyn DiskFile,
        options: &OpenOptions,
        visit: &mut dyn FnMut(Lsn, &RecordRef<'_>) -> ControlFlow<()>,
    ) -> Result<Examined, Error> {
        let facts = read_header(file)?;
        let reader = LogReader::with_map(Bytes(file), vlfs::read(file, &facts)?);
        let found = walk(&reader, options)?;
        let end = end_of(reader.map(), &found.tail);
        visit_records(&reader, found.from, end, visit)?;
        let used = reader.map().by_sequence().last().map_or(0, |vlf| vlf.header.sequence);
        let strays = vlfs::strays(&reader)?;
        let newest_vlf = strays.iter().map(|stray| stray.block.vlf).fold(used, u32::max);
        let lost = found.broken.map(|broken| lose(&reader, &found, broken)).transpose()?;
        Ok(Examined { from: found.from, end, lost, newest_vlf })
    }
}

/// Hands the records from the block of `from` up to `end` to `visit`.
fn visit_records(
    reader: &LogReader<Bytes<'_>>,
    from: Lsn,
    end: Lsn,
    visit: &mut dyn FnMut(Lsn, &RecordRef<'_>) -> ControlFlow<()>,
) -> Result<(), Error> {
    for item in reader.chain_from(from).into_iter().flatten() {
        let block = match item? {
            ChainItem::Block(block) if block.lsn < end => block,
            _ => return Ok(()),
        };
        for (lsn, record) in block.buf.view().records() {
            if visit(lsn, &record).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}
