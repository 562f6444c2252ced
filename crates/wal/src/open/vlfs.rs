//! The VLFs of a log that is opened.
//!
//! Invariants
//! - An interrupted growth is repeated: the VLFs fill the file.
//! - A damaged header is refused. So is one that hides a part of the log: a size that covers the
//!   next VLF, a sequence number or parity that is not that of its blocks ([`strays`]).

use extentdb_base::Lsn;
use extentdb_base::size::SECTOR_BYTES;
use extentdb_format::log::fault::VlfFault;
use extentdb_format::log::reader::StrayUse;
use extentdb_format::log::vlf::{VLF_HEADER_AREA, VLF_HEADER_BYTES};
use extentdb_format::log::{LogReader, Vlf, VlfHeader, VlfMap};
use extentdb_io::DiskFile;

use super::Bytes;
use crate::error::{Damage, Error};
use crate::grow::{Refusal, add_vlfs};
use crate::spec::HeaderFacts;
use crate::vlf::{MIN_VLF_BYTES, VLF_FORMAT};

/// The VLFs of the file; an interrupted growth has been repeated.
pub(super) fn read(file: &dyn DiskFile, facts: &HeaderFacts) -> Result<VlfMap, Error> {
    let map = VlfMap::read(&Bytes(file))?;
    for vlf in map.vlfs() {
        refuse_hidden(file, vlf)?;
    }
    let map = match interrupted_growth(file, &map)? {
        None => map,
        Some(end) => {
            let least = file.len().next_multiple_of(0x1_0000).max(end + MIN_VLF_BYTES);
            let new_end =
                facts.growth.next_len(end).filter(|next| *next >= file.len()).unwrap_or(least);
            add_vlfs(file, end, new_end, Lsn::ZERO).map_err(|refusal| match refusal {
                Refusal::NoSpace(error) | Refusal::NotDurable(error) => Error::Disk(error),
            })?;
            VlfMap::read(&Bytes(file))?
        }
    };
    if let Some((offset, fault)) = map.faults().first() {
        return Err(Error::Corrupt { offset: *offset, what: Damage::Vlf(*fault) });
    }
    let foreign =
        map.vlfs().iter().find(|vlf| vlf.header.is_used() && vlf.header.format != VLF_FORMAT);
    if let Some(vlf) = foreign {
        return Err(Error::Corrupt {
            offset: vlf.offset,
            what: Damage::Format { found: vlf.header.format },
        });
    }
    Ok(map)
}

/// Refuses a VLF that contains the header of another one: a wrong bit in its size hides the VLFs
/// after it, and no other field reveals that. No block begins with the signature of a VLF.
fn refuse_hidden(file: &dyn DiskFile, vlf: &Vlf) -> Result<(), Error> {
    let size = vlf.header.size;
    let bits = (0..u64::BITS).map(|bit| 1u64 << bit).filter(|bit| size & bit != 0);
    for smaller in bits.map(|bit| size - bit).filter(|smaller| *smaller >= 2 * VLF_HEADER_AREA) {
        let at = vlf.offset + smaller;
        let mut bytes = [0; VLF_HEADER_BYTES];
        file.read_exact_at(at, &mut bytes)?;
        let is_header = VlfHeader::parse(&bytes)
            .is_some_and(|header| header.signature == VlfHeader::SIGNATURE && header.offset == at);
        if is_header {
            return Err(Error::Corrupt { offset: vlf.offset, what: Damage::HiddenVlf { at } });
        }
    }
    Ok(())
}

/// VLFs whose header is older than their blocks.
pub(super) fn strays(reader: &LogReader<Bytes<'_>>) -> Result<Vec<StrayUse>, Error> {
    Ok(reader.stray_uses()?)
}

/// Where an interrupted growth began: the file continues after the last reachable VLF, and nothing
/// there was ever used.
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

/// Can an interrupted growth have left this? A VLF whose header was lost later would have a stamp
/// where its first block begins.
fn is_unfinished(file: &dyn DiskFile, offset: u64, fault: &VlfFault) -> Result<bool, Error> {
    let mut head = [0; SECTOR_BYTES];
    file.read_at(offset, &mut head)?;
    let has_no_header = match fault {
        VlfFault::Signature { found: 0 } => head.iter().all(|byte| *byte == 0),
        // Occurs with one of the other two, or for the last bytes of the file.
        VlfFault::Unreachable { .. } => true,
        // The header is there and the file is shorter than it should be.
        VlfFault::Size { .. } => VlfHeader::parse(&head).is_some_and(|header| !header.is_used()),
        _ => false,
    };
    let mut stamp = [0];
    file.read_at(offset.saturating_add(VLF_HEADER_AREA), &mut stamp)?;
    Ok(has_no_header && stamp == [0])
}

/// LSN of the first block of the oldest VLF from which the sequence numbers reach the newest one
/// without a gap.
pub(super) fn oldest(map: &VlfMap) -> Result<Lsn, Error> {
    let mut first: Option<u32> = None;
    for vlf in map.by_sequence().iter().rev() {
        match first {
            Some(next) if vlf.header.sequence.checked_add(1) != Some(next) => break,
            _ => first = Some(vlf.header.sequence),
        }
    }
    let lsn = |vlf| Lsn::new(vlf, (VLF_HEADER_AREA / SECTOR_BYTES as u64) as u32, 1);
    let none = Error::Corrupt { offset: 0, what: Damage::NoVlf { lsn: Lsn::ZERO } };
    first.map(lsn).ok_or(none)
}
