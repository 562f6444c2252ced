//! Opening: where does the log end?
//!
//! ```text
//! VLFs      walk, refuse damage; do an interrupted growth once more
//! chain     from the block of the minimum LSN: every block sound, none missing     ──▶ end of the log
//! behind    the rest of the current VLF is filled with zeros; sync                 ──▶ ready for append
//! ```
//!
//! The end is stored nowhere: it is the first place in the newest VLF that is no valid next block. A torn block is no valid block,
//! and neither are blocks that reached the disk while one before them did not; none of them was ever acknowledged. They are
//! overwritten with zeros before the first append, or a later block could lead into them.
//!
//! Invariant: what is damaged anywhere else is refused, with its place. A log is never cut short in silence.

use extentdb_base::Lsn;
use extentdb_base::env::Clock;
use extentdb_base::sync::Arc;
use extentdb_format::log::block::{BlockBuf, BlockFormat};
use extentdb_format::log::fault::{BlockFault, NoBlock, RecordFault, VlfFault};
use extentdb_format::log::reader::{ChainItem, Gap, LogBlock, LogEnd};
use extentdb_format::log::vlf::VLF_HEADER_AREA;
use extentdb_format::log::{LogBytes, LogReader, VlfHeader, VlfMap};
use extentdb_io::DiskFile;

use crate::error::{Damage, Error};
use crate::grow::{Refusal, add_vlfs, write_zeros};
use crate::log_manager::Log;
use crate::spec::{HeaderFacts, read_header};
use crate::state::{State, Tail};
use crate::vlf::{MIN_VLF_BYTES, VLF_FORMAT, VlfTable};

/// Bytes of a sector, where a VLF header lies.
const SECTOR: usize = 512;

impl Log {
    /// Finds the end of the log, verifies the chain of blocks from `from` on, and makes it ready for appending behind it.
    ///
    /// `from` is the minimum LSN: where recovery will begin. Zero stands for the oldest block of the log.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when the file is no sound log from `from` on.
    pub fn open(file: Arc<dyn DiskFile>, from: Lsn, clock: Arc<dyn Clock>) -> Result<Log, Error> {
        let facts = read_header(&*file)?;
        let map = read_vlfs(&*file, &facts)?;
        let found = walk(&*file, &map, from)?;
        let from = found.from;
        let vlf = &map.vlfs()[found.tail.vlf];
        write_zeros(&*file, vlf.offset + found.tail.at, vlf.end())?;
        // Also for blocks that were found in the page cache: what is built upon must be durable.
        file.sync()?;
        let table = VlfTable::new(map.vlfs().to_vec(), from.vlf);
        let state = State::new(table, found.tail, facts.sector, found.last, from);
        Ok(Log::with_state(file, clock, facts.growth, state))
    }
}

/// The file as the log reader wants it.
struct Bytes<'a>(&'a dyn DiskFile);

impl LogBytes for Bytes<'_> {
    type Error = extentdb_io::Error;

    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), Self::Error> {
        self.0.read_exact_at(offset, buf)
    }
}

/// The VLFs of the file; an interrupted growth has been repeated.
fn read_vlfs(file: &dyn DiskFile, facts: &HeaderFacts) -> Result<VlfMap, Error> {
    let map = VlfMap::read(&Bytes(file))?;
    let map = match interrupted_growth(file, &map)? {
        None => map,
        Some(end) => {
            let least = file.len().next_multiple_of(0x1_0000).max(end + MIN_VLF_BYTES);
            let new_end = facts.growth.next_len(end).filter(|next| *next >= file.len()).unwrap_or(least);
            add_vlfs(file, end, new_end, Lsn::ZERO).map_err(|refusal| match refusal {
                Refusal::NoSpace(error) | Refusal::NotDurable(error) => Error::Disk(error),
            })?;
            VlfMap::read(&Bytes(file))?
        }
    };
    if let Some((offset, fault)) = map.faults().first() {
        return Err(Error::Corrupt { offset: *offset, what: Damage::Vlf(*fault) });
    }
    let foreign = map.vlfs().iter().find(|vlf| vlf.header.is_used() && vlf.header.format != VLF_FORMAT);
    if let Some(vlf) = foreign {
        return Err(Error::Corrupt { offset: vlf.offset, what: Damage::Format { found: vlf.header.format } });
    }
    Ok(map)
}

/// Where an interrupted growth began: behind the last VLF within reach there is more file, and nothing in it was ever used.
fn interrupted_growth(file: &dyn DiskFile, map: &VlfMap) -> Result<Option<u64>, Error> {
    let Some(end) = map.faults().iter().map(|(offset, _)| *offset).min() else { return Ok(None) };
    let is_unused = map.vlfs().iter().all(|vlf| vlf.offset < end || !vlf.header.is_used());
    if !is_unused || !map.vlfs().iter().any(|vlf| vlf.end() == end) {
        return Ok(None);
    }
    for (offset, fault) in map.faults() {
        if !is_unfinished(file, *offset, fault)? {
            return Ok(None);
        }
    }
    Ok(Some(end))
}

/// Can a growth that was cut short have left this? A VLF whose header was lost later would have a stamp where its first block
/// begins.
fn is_unfinished(file: &dyn DiskFile, offset: u64, fault: &VlfFault) -> Result<bool, Error> {
    let mut head = [0; SECTOR];
    file.read_at(offset, &mut head)?;
    let has_no_header = match fault {
        VlfFault::Signature { found: 0 } => head.iter().all(|byte| *byte == 0),
        // Stands beside one of the other two, or for the last bytes of the file.
        VlfFault::Unreachable { .. } => true,
        // The header is there and the file is shorter than it should be.
        VlfFault::Size { .. } => VlfHeader::parse(&head).is_some_and(|header| !header.is_used()),
        _ => false,
    };
    let mut stamp = [0];
    file.read_at(offset.saturating_add(VLF_HEADER_AREA), &mut stamp)?;
    Ok(has_no_header && stamp == [0])
}

/// LSN of the first block of the oldest VLF from which the sequence numbers lead to the newest one without a gap.
fn oldest(map: &VlfMap) -> Result<Lsn, Error> {
    let mut first: Option<u32> = None;
    for vlf in map.by_sequence().iter().rev() {
        match first {
            Some(next) if vlf.header.sequence.checked_add(1) != Some(next) => break,
            _ => first = Some(vlf.header.sequence),
        }
    }
    let lsn = |vlf| Lsn::new(vlf, (VLF_HEADER_AREA / SECTOR as u64) as u32, 1);
    let none = Error::Corrupt { offset: 0, what: Damage::NoVlf { lsn: Lsn::ZERO } };
    first.map(lsn).ok_or(none)
}

/// What the walk along the chain found.
struct Found {
    /// Where the walk began.
    from: Lsn,
    tail: Tail,
    /// The newest record; zero when the log is empty.
    last: Lsn,
}

/// Walks along the blocks from the one that holds `from` to the end of the log.
fn walk(file: &dyn DiskFile, map: &VlfMap, wanted: Lsn) -> Result<Found, Error> {
    let from = if wanted.is_zero() { oldest(map)? } else { wanted };
    let reader = LogReader::with_map(Bytes(file), map.clone());
    let chain = reader.chain_from(from);
    let mut previous: Option<(Lsn, u16)> = None;
    let mut last = Lsn::ZERO;
    for item in chain.into_iter().flatten() {
        match item? {
            ChainItem::Block(block) => {
                accept(&block, previous.is_none().then_some(from))?;
                let view = block.buf.view();
                let count = view.header().record_count;
                if count > 0 {
                    last = Lsn { slot: count, ..block.lsn };
                }
                previous = Some((block.lsn, view.header().size));
            }
            ChainItem::Gap(gap) => return Err(refuse_gap(gap)),
            ChainItem::End(end) => {
                if previous.is_none() && !is_new(&reader, wanted, &end)? {
                    let what = Damage::NoBlock { lsn: Lsn { slot: 1, ..from }, reason: end.reason };
                    return Err(Error::Corrupt { offset: end.file_offset, what });
                }
                let tail = tail_at(map, &end, previous.map_or(0, |(_, size)| size));
                return tail.map(|tail| Found { from, tail, last });
            }
        }
    }
    Err(Error::Corrupt { offset: 0, what: Damage::NoVlf { lsn: from } })
}

/// Was nothing ever acknowledged? The chain ends where it should begin. That is no damage when the log has had one VLF only, and
/// nothing whole behind its start; and if there is something torn, when nobody says that there was a record.
fn is_new(reader: &LogReader<Bytes<'_>>, wanted: Lsn, end: &LogEnd) -> Result<bool, Error> {
    let used = reader.map().by_sequence();
    let [vlf] = used.as_slice() else { return Ok(false) };
    let is_start = end.file_offset == vlf.offset + VLF_HEADER_AREA;
    let is_unwritten = wanted.is_zero() || end.reason == NoBlock::NeverWritten;
    Ok(is_start && is_unwritten && reader.leftovers(end)?.lost_blocks == 0)
}

/// The end of the log as the place of the next block.
fn tail_at(map: &VlfMap, end: &LogEnd, previous_size: u16) -> Result<Tail, Error> {
    let newest = map.by_sequence().last().map_or(0, |vlf| vlf.header.sequence);
    let vlf = map.vlfs().iter().position(|vlf| vlf.header.sequence == newest);
    let damage = Error::Corrupt { offset: end.file_offset, what: Damage::NoVlf { lsn: end.lsn } };
    let vlf = vlf.ok_or(damage)?;
    Ok(Tail { vlf, at: end.file_offset - map.vlfs()[vlf].offset, previous_size })
}

/// Refuses a block that is damaged; `from` is set for the first one, which must hold it.
fn accept(block: &LogBlock, from: Option<Lsn>) -> Result<(), Error> {
    let (lsn, view) = (block.lsn, block.buf.view());
    let refuse = |what| Err(Error::Corrupt { offset: block.file_offset, what });
    if let Some(from) = from {
        if from.block != lsn.block || from.vlf != lsn.vlf {
            return refuse(Damage::NoBlock {
                lsn: Lsn { slot: 1, ..from },
                reason: NoBlock::Lsn { found: lsn },
            });
        }
        if from.slot == 0 || from.slot > view.header().record_count.max(1) {
            return refuse(Damage::NoRecord { lsn: from });
        }
    }
    if let Some(fault) = damage_of(&block.buf) {
        return refuse(Damage::Block { lsn, fault });
    }
    if view.format() != Some(BlockFormat::V4) {
        return refuse(Damage::Format { found: view.header().format });
    }
    if let Some(expected) = block.previous_size_should_be {
        return refuse(Damage::PreviousSize { lsn, found: view.header().previous_size, expected });
    }
    Ok(())
}

/// The first fault of a block that makes its records doubtful. An operation nobody knows does not: it is for recovery to refuse.
pub(crate) fn damage_of(block: &BlockBuf) -> Option<BlockFault> {
    let is_meaning =
        |fault: &RecordFault| matches!(fault, RecordFault::Operation(_) | RecordFault::Payload(_));
    let is_harmless =
        |fault: &BlockFault| matches!(fault, BlockFault::Record { fault, .. } if is_meaning(fault));
    block.faults().into_iter().find(|fault| !is_harmless(fault))
}

fn refuse_gap(gap: Gap) -> Error {
    match gap {
        Gap::Vlfs { after, next } => Error::Corrupt { offset: 0, what: Damage::MissingVlfs { after, next } },
        Gap::Blocks { lsn, from, reason, .. } => {
            Error::Corrupt { offset: from, what: Damage::NoBlock { lsn, reason } }
        }
    }
}
