//! The emergency cut: a damaged log ends before its damage; what followed is erased.
//!
//! ```text
//! 1  zeros from the cut to the end of its VLF, sync
//! 2  later VLFs, newest first:  zeros, sync; a header of a VLF that was never used, durable
//! ```
//!
//! Crash example: VLF 33 is damaged in its middle, 34 and 35 follow. Power failure after step 1:
//! VLF 34 implies that 33 was full, and the log is refused as before. After 35 is erased and 34 is
//! not: the same. After 34 is erased: the log ends in 33.
//!
//! Invariants
//! - No sector of the erased log is left that could be taken for one of the future log.
//! - Until the last step is done the log stays refused, if a later VLF contradicts its end.
//! - LSNs of the erased log are reused. The caller must ensure that no page has one of them.

use extentdb_base::Lsn;
use extentdb_format::log::reader::{LogEnd, StrayUse};
use extentdb_format::log::vlf::VLF_HEADER_AREA;
use extentdb_format::log::{LogReader, Vlf, VlfMap};
use extentdb_io::{DiskFile, Durability};

use super::Bytes;
use crate::error::Error;
use crate::grow::write_zeros;
use crate::state::Tail;
use crate::vlf::unused;

/// Erases what follows `tail`: the rest of its VLF, all later ones, and the strays.
pub(super) fn erase_after(
    file: &dyn DiskFile,
    map: &VlfMap,
    tail: &Tail,
    strays: &[StrayUse],
) -> Result<(), Error> {
    let last = &map.vlfs()[tail.vlf];
    write_zeros(file, last.offset + tail.at, last.end())?;
    file.sync()?;
    let is_stray = |vlf: &Vlf| strays.iter().any(|stray| stray.file_offset == vlf.offset);
    let is_later = |vlf: &Vlf| vlf.header.sequence > last.header.sequence;
    let mut erased: Vec<&Vlf> =
        map.vlfs().iter().filter(|vlf| is_later(vlf) || is_stray(vlf)).collect();
    erased.retain(|vlf| vlf.offset != last.offset);
    erased.sort_by_key(|vlf| std::cmp::Reverse(vlf.header.sequence));
    for vlf in erased {
        write_zeros(file, vlf.offset + VLF_HEADER_AREA, vlf.end())?;
        file.sync()?;
        let header = unused(vlf.offset, vlf.header.size);
        file.write_at(vlf.offset, &[&header.to_area(0)], Durability::Through)?;
    }
    Ok(())
}

/// How far the log past `end` was durable, as far as it says so itself.
pub(super) fn proven_past(
    reader: &LogReader<Bytes<'_>>,
    end: &LogEnd,
) -> Result<Option<Lsn>, Error> {
    let newest = reader.map().by_sequence().last().map_or(0, |vlf| vlf.header.sequence);
    if newest > end.lsn.vlf {
        // It was taken into use when all before it was durable.
        return Ok(Some(Lsn::new(newest, 0, 0)));
    }
    Ok(reader.tail(end)?.proof.map(|proof| proof.durable))
}
