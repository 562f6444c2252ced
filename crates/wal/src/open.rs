//! Opening: where does the log end?
//!
//! ```text
//! VLFs     walk, refuse damage; repeat an interrupted growth                          vlfs.rs
//! chain    from the block of the minimum LSN: every block sound, none missing     ──▶ end of the log
//! tail     what a power failure can leave of one write, or a proof that the log continued
//! after it the rest of the current VLF is filled with zeros; sync                 ──▶ ready for append
//! ```
//!
//! The end is stored nowhere: it is the first position in the newest VLF without a valid next
//! block. When what follows can be the rest of one write, it is treated as such: the write was
//! never acknowledged, and is overwritten with zeros before the first append, or a later block
//! could be followed by its remains. Anything else is damage ([`LogReader::tail`]).
//!
//! Invariant: damage is refused, with its position. A log is never truncated silently; in an
//! emergency, and on request, it is cut with a report of what is lost (`cut.rs`).

mod cut;
mod examine;
mod vlfs;

pub use examine::Examined;

use extentdb_base::Lsn;
use extentdb_base::env::Clock;
use extentdb_base::size::SECTOR_BYTES;
use extentdb_base::sync::Arc;
use extentdb_format::log::block::{BlockFormat, BlockView};
use extentdb_format::log::fault::NoBlock;
use extentdb_format::log::reader::{ChainItem, Gap, LogBlock, LogEnd};
use extentdb_format::log::vlf::VLF_HEADER_AREA;
use extentdb_format::log::{LogBytes, LogReader, Op, VlfMap};
use extentdb_io::DiskFile;

use crate::error::{Damage, Error};
use crate::grow::write_zeros;
use crate::log_manager::Log;
use crate::read_cache::damage_of;
use crate::spec::read_header;
use crate::state::{State, Tail};
use crate::vlf::VlfTable;

/// How a log is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// The minimum LSN: where recovery will begin. Zero stands for the oldest block of the log.
    pub from: Lsn,
    /// A record that is known to have been durable, because something that was written later names
    /// it: a checkpoint, a page. A log that ends before it is damaged. Zero when nothing is known.
    pub durable_at_least: Lsn,
    /// What to do with a damaged log.
    pub on_damage: OnDamage,
}

/// What to do with a log that is damaged past its first block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDamage {
    /// Refuse it, and change nothing.
    #[default]
    Refuse,
    /// Emergency: let it end before the damage, and erase what follows. Committed transactions are
    /// lost, and pages may be newer than the log.
    CutHere,
}

/// An opened log.
#[derive(Debug)]
pub struct OpenedLog {
    /// The log, ready to append.
    pub log: Log,
    /// What was lost by an emergency cut.
    pub lost: Option<Lost>,
}

/// What an emergency cut has erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Where the log ends now; the next record will have this LSN or a later one.
    pub from: Lsn,
    /// The log is known to have been durable up to here. `None` when nothing says that anything
    /// durable is lost.
    pub proven_to: Option<Lsn>,
    /// Offset in the file of the damage.
    pub offset: u64,
    /// What was wrong there.
    pub what: Damage,
}

impl Log {
    /// Finds the end of the log, verifies the chain of blocks from `from` on, and makes it ready
    /// for appending after it.
    ///
    /// `from` is the minimum LSN: where recovery will begin. Zero stands for the oldest block of
    /// the log.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when the file is no sound log from `from` on.
    pub fn open(file: Arc<dyn DiskFile>, from: Lsn, clock: Arc<dyn Clock>) -> Result<Log, Error> {
        let options = OpenOptions { from, ..OpenOptions::default() };
        Log::open_with(file, &options, clock).map(|opened| opened.log)
    }

    /// As [`open`](Self::open), with what else is known about the log, or in an emergency.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when the file is no sound log. In an emergency only when the log cannot
    /// be used at all: its header page, a VLF's position or size, or the block of `from` is
    /// damaged.
    pub fn open_with(
        file: Arc<dyn DiskFile>,
        options: &OpenOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<OpenedLog, Error> {
        let facts = read_header(&*file)?;
        let map = vlfs::read(&*file, &facts)?;
        let reader = LogReader::with_map(Bytes(&*file), map.clone());
        let found = walk(&reader, options)?;
        let lost = match (found.broken, options.on_damage) {
            (None, _) => None,
            (Some(broken), OnDamage::Refuse) => return Err(broken.into()),
            (Some(broken), OnDamage::CutHere) => Some(lose(&reader, &found, broken)?),
        };
        let map = match lost {
            None => map,
            Some(_) => {
                cut::erase_after(&*file, &map, &found.tail, &vlfs::strays(&reader)?)?;
                VlfMap::read(&Bytes(&*file))?
            }
        };
        let vlf = &map.vlfs()[found.tail.vlf];
        write_zeros(&*file, vlf.offset + found.tail.at, vlf.end())?;
        // Also for blocks that were found in the page cache: what is built upon must be durable.
        file.sync()?;
        let from = found.from;
        let table = VlfTable::new(map.vlfs().to_vec(), from.vlf);
        let state = State::new(table, found.tail, facts.sector, found.last, from);
        let log = Log::with_state(file.clone(), clock, facts.growth, state);
        Ok(OpenedLog { log, lost })
    }
}

/// The file as `LogBytes`.
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

/// Damage at an offset of the file.
#[derive(Clone, Copy, Debug)]
struct Broken {
    offset: u64,
    what: Damage,
}

impl From<Broken> for Error {
    fn from(broken: Broken) -> Error {
        Error::Corrupt { offset: broken.offset, what: broken.what }
    }
}

/// What the walk along the chain found.
struct ChainEnd {
    /// Where the walk began.
    from: Lsn,
    /// Past the last block that can be relied upon.
    tail: Tail,
    /// The newest record; zero when the log is empty.
    last: Lsn,
    /// Why the log cannot end there.
    broken: Option<Broken>,
}

/// A walk along the chain, and its position.
struct ChainWalk<'r> {
    reader: &'r LogReader<Bytes<'r>>,
    from: Lsn,
    last: Lsn,
    /// LSN and size of the last block.
    previous: Option<(Lsn, u16)>,
}

/// Walks along the blocks from the one that holds `from` to the end of the log.
fn walk<'r>(reader: &'r LogReader<Bytes<'r>>, options: &OpenOptions) -> Result<ChainEnd, Error> {
    let wanted = options.from;
    let from = if wanted.is_zero() { vlfs::oldest(reader.map())? } else { wanted };
    let mut walk = ChainWalk { reader, from, last: Lsn::ZERO, previous: None };
    for item in reader.chain_from(from).into_iter().flatten() {
        match item? {
            ChainItem::Block(block) => {
                if let Err(broken) = walk.accept(&block) {
                    return walk.stop(broken);
                }
            }
            ChainItem::Gap(gap) => return walk.stop(broken_by(gap)),
            ChainItem::End(end) => return walk.end(&end, options),
        }
    }
    Err(Error::Corrupt { offset: 0, what: Damage::NoVlf { lsn: from } })
}

impl ChainWalk<'_> {
    /// Takes a block that is sound, and refuses one that is not.
    fn accept(&mut self, block: &LogBlock) -> Result<(), Broken> {
        let first = self.previous.is_none().then_some(self.from);
        accept(block, first).map_err(|what| Broken { offset: block.file_offset, what })?;
        let view = block.buf.view();
        if let Some(slot) = last_slot(&view) {
            self.last = Lsn { slot, ..block.lsn };
        }
        self.previous = Some((block.lsn, view.header().size));
        Ok(())
    }

    /// The log is broken after the last block. Without any block it cannot be used.
    fn stop(self, broken: Broken) -> Result<ChainEnd, Error> {
        let Some((lsn, size)) = self.previous else { return Err(broken.into()) };
        let vlfs = self.reader.map().vlfs();
        let Some(vlf) = vlfs.iter().position(|vlf| vlf.header.sequence == lsn.vlf) else {
            return Err(broken.into());
        };
        let at = vlfs[vlf].block_offset(lsn) + u64::from(size) - vlfs[vlf].offset;
        let tail = Tail { vlf, at, previous_size: size };
        Ok(ChainEnd { from: self.from, tail, last: self.last, broken: Some(broken) })
    }

    /// The chain ends. Can the log end there?
    fn end(self, end: &LogEnd, options: &OpenOptions) -> Result<ChainEnd, Error> {
        if self.previous.is_none() && !is_new(self.reader, options.from, end)? {
            let what = Damage::NoBlock { lsn: Lsn { slot: 1, ..self.from }, reason: end.reason };
            return Err(Error::Corrupt { offset: end.file_offset, what });
        }
        let broken = refute(self.reader, end, options.durable_at_least)?;
        let tail = tail_at(self.reader.map(), end, self.previous.map_or(0, |(_, size)| size))?;
        Ok(ChainEnd { from: self.from, tail, last: self.last, broken })
    }
}

/// Slot of the last record of a block, its durable mark apart.
fn last_slot(view: &BlockView<'_>) -> Option<u16> {
    let count = view.header().record_count;
    let is_mark =
        |slot| view.record(slot).is_some_and(|record| record.header().op == Op::DURABLE_MARK);
    (count > 0 && !is_mark(count)).then_some(count)
}

/// What says that the log cannot end where its chain ends.
fn refute(
    reader: &LogReader<Bytes<'_>>,
    end: &LogEnd,
    durable_at_least: Lsn,
) -> Result<Option<Broken>, Error> {
    let LogEnd { lsn, file_offset, reason } = *end;
    let tail = reader.tail(end)?;
    if let Some(proof) = tail.proof {
        let what = Damage::EndsEarly { lsn, reason, by: proof.by, durable: proof.durable };
        return Ok(Some(Broken { offset: file_offset, what }));
    }
    if let Some(damage) = tail.damage {
        let what = Damage::Tail { lsn: damage.lsn, fault: damage.fault };
        return Ok(Some(Broken { offset: damage.file_offset, what }));
    }
    if let Some(stray) = vlfs::strays(reader)?.first() {
        let what = Damage::VlfHeader { sequence: stray.header, block: stray.block };
        return Ok(Some(Broken { offset: stray.file_offset, what }));
    }
    let is_short = !durable_at_least.is_zero() && durable_at_least >= lsn;
    let what = Damage::EndsBefore { durable: durable_at_least, end: lsn };
    Ok(is_short.then_some(Broken { offset: file_offset, what }))
}

/// What is lost when the log is cut where the walk has ended.
fn lose(reader: &LogReader<Bytes<'_>>, found: &ChainEnd, broken: Broken) -> Result<Lost, Error> {
    let Broken { offset, what } = broken;
    let vlf = &reader.map().vlfs()[found.tail.vlf];
    let from = end_of(reader.map(), &found.tail);
    let file_offset = vlf.offset + found.tail.at;
    let reason = if file_offset == vlf.end() { NoBlock::VlfFull } else { NoBlock::NeverWritten };
    let proven_to = match what {
        Damage::EndsBefore { durable, .. } => Some(durable),
        _ => cut::proven_past(reader, &LogEnd { lsn: from, file_offset, reason })?,
    };
    Ok(Lost { from, proven_to, offset, what })
}

/// The LSN of a block at this offset.
fn end_of(map: &VlfMap, tail: &Tail) -> Lsn {
    let sequence = map.vlfs()[tail.vlf].header.sequence;
    Lsn::new(sequence, (tail.at / SECTOR_BYTES as u64) as u32, 1)
}

/// Was no write ever acknowledged? The chain ends where it should begin. That is no damage when the
/// log has had one VLF only, without a whole block after its start; and with a torn one, when the
/// caller knows of no record.
fn is_new(reader: &LogReader<Bytes<'_>>, wanted: Lsn, end: &LogEnd) -> Result<bool, Error> {
    let used = reader.map().by_sequence();
    let [vlf] = used.as_slice() else { return Ok(false) };
    let is_start = end.file_offset == vlf.offset + VLF_HEADER_AREA;
    // Slot 1 is that of the durable mark: it stands for the start of the log, not for a record.
    let is_unwritten =
        wanted.is_zero() || (wanted.slot <= 1 && end.reason == NoBlock::NeverWritten);
    Ok(is_start && is_unwritten && reader.leftovers(end)?.lost_blocks == 0)
}

/// The end of the log as the position of the next block.
fn tail_at(map: &VlfMap, end: &LogEnd, previous_size: u16) -> Result<Tail, Error> {
    let newest = map.by_sequence().last().map_or(0, |vlf| vlf.header.sequence);
    let vlf = map.vlfs().iter().position(|vlf| vlf.header.sequence == newest);
    let damage = Error::Corrupt {
        offset: end.file_offset,
        what: Damage::NoVlf { lsn: end.lsn },
    };
    let vlf = vlf.ok_or(damage)?;
    Ok(Tail {
        vlf,
        at: end.file_offset - map.vlfs()[vlf].offset,
        previous_size,
    })
}

/// Refuses a block that is damaged; `from` is set for the first one, which must hold it.
fn accept(block: &LogBlock, from: Option<Lsn>) -> Result<(), Damage> {
    let lsn = block.lsn;
    let view = block.buf.view();
    if let Some(from) = from {
        if from.block != lsn.block || from.vlf != lsn.vlf {
            let reason = NoBlock::Lsn { found: lsn };
            return Err(Damage::NoBlock { lsn: Lsn { slot: 1, ..from }, reason });
        }
        if from.slot == 0 || from.slot > view.header().record_count.max(1) {
            return Err(Damage::NoRecord { lsn: from });
        }
    }
    if let Some(fault) = damage_of(&block.buf) {
        return Err(Damage::Block { lsn, fault });
    }
    if view.format() != Some(BlockFormat::V4) {
        return Err(Damage::Format { found: view.header().format });
    }
    if let Some(expected) = block.previous_size_should_be {
        return Err(Damage::PreviousSize { lsn, found: view.header().previous_size, expected });
    }
    Ok(())
}

fn broken_by(gap: Gap) -> Broken {
    match gap {
        Gap::Vlfs { after, next } => {
            Broken { offset: 0, what: Damage::MissingVlfs { after, next } }
        }
        Gap::Blocks { lsn, from, reason, .. } => {
            Broken { offset: from, what: Damage::NoBlock { lsn, reason } }
        }
    }
}
