//! Growth: more VLFs at the end of the file.
//!
//! ```text
//! 1 zeros up to the new length                  no bytes that could look like a block
//! 2 headers of all new VLFs but the first, sync
//! 3 header of the first one, durable            from here on the walk over the VLFs finds all of
//!                                               them
//! ```
//!
//! A power failure leaves either none of the new VLFs reachable, or all. What a failure before step
//! 3 leaves after the last VLF is recognised when the log is opened, and the growth is repeated.
//!
//! Invariant: new VLFs are unused, so the log is the same before and after.

use extentdb_base::Lsn;
use extentdb_base::sync::{MutexGuard, lock, wait};
use extentdb_format::log::{Vlf, VlfHeader};
use extentdb_io::{AlignedBuf, DiskFile, Durability, Fill};

use crate::error::Error;
use crate::log_manager::Log;
use crate::state::State;
use crate::vlf::{sizes_of_growth, unused};

/// Zeros are written in pieces of this size.
const PIECE_BYTES: u64 = 1 << 20;

/// Why a log did not grow.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// There is no room on the disk. Nothing has changed.
    NoSpace(extentdb_io::Error),
    /// What was written may not be durable.
    NotDurable(extentdb_io::Error),
}

impl Log {
    /// Grows the log for `wanted` bytes, or waits for a caller that does.
    pub(crate) fn grow<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        wanted: u64,
    ) -> Result<MutexGuard<'a, State>, Error> {
        if state.is_growing {
            return Ok(wait(&self.changed, state));
        }
        let end = state.vlfs.end();
        let Some(new_end) = self.growth.next_len(end) else { return Err(state.full(wanted, None)) };
        let create_lsn = state.last;
        state.is_growing = true;
        drop(state);
        let result = add_vlfs(&*self.file, end, new_end, create_lsn);
        let mut state = lock(&self.state);
        state.is_growing = false;
        self.changed.notify_all();
        match result {
            Ok(vlfs) => {
                state.vlfs.extend(vlfs);
                state.stats.growths += 1;
                Ok(state)
            }
            Err(Refusal::NoSpace(error)) => Err(state.full(wanted, Some(error))),
            Err(Refusal::NotDurable(error)) => {
                state.go_offline(&error);
                Err(error.into())
            }
        }
    }
}

/// Adds unused VLFs between the end of the last one and the new end of the file. They are durable
/// when the call returns.
pub(crate) fn add_vlfs(
    file: &dyn DiskFile,
    end: u64,
    new_end: u64,
    create_lsn: Lsn,
) -> Result<Vec<Vlf>, Refusal> {
    // Behind the last VLF there may be what an interrupted growth left.
    write_zeros(file, end, new_end.min(file.len())).map_err(Refusal::NoSpace)?;
    file.extend(new_end, Fill::Zeros).map_err(Refusal::NoSpace)?;
    let mut offset = end;
    let mut vlfs = Vec::new();
    for size in sizes_of_growth(new_end - end) {
        vlfs.push(Vlf {
            offset,
            header: VlfHeader { create_lsn, ..unused(offset, size) },
        });
        offset += size;
    }
    let write =
        |vlf: &Vlf, durability| file.write_at(vlf.offset, &[&vlf.header.to_area(0)], durability);
    if let [first, others @ ..] = vlfs.as_slice() {
        for vlf in others {
            write(vlf, Durability::Deferred).map_err(Refusal::NotDurable)?;
        }
        file.sync().map_err(Refusal::NotDurable)?;
        write(first, Durability::Through).map_err(Refusal::NotDurable)?;
    }
    Ok(vlfs)
}

/// Overwrites with zeros what is not zero. Durable after the next sync.
pub(crate) fn write_zeros(
    file: &dyn DiskFile,
    from: u64,
    to: u64,
) -> Result<(), extentdb_io::Error> {
    let zeros = AlignedBuf::zeroed(PIECE_BYTES as usize);
    let mut found = AlignedBuf::zeroed(PIECE_BYTES as usize);
    let mut at = from;
    while at < to {
        let bytes = (PIECE_BYTES - at % PIECE_BYTES).min(to - at) as usize;
        file.read_exact_at(at, &mut found[..bytes])?;
        if found[..bytes] != zeros[..bytes] {
            file.write_at(at, &[&zeros[..bytes]], Durability::Deferred)?;
        }
        at += bytes as u64;
    }
    Ok(())
}
