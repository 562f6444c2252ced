//! Payloads of checkpoints.
//!
//! A checkpoint is a row of records: COUNT_DELTA, BEGIN_CKPT, XACT_CKPT (always from 2012 on, before only with active
//! transactions), END_CKPT. BEGIN_CKPT's previous LSN is the BEGIN_CKPT before it, END_CKPT's is its BEGIN_CKPT.
//!
//! Offsets are hexadecimal and counted from the record's start. Observed in real files of versions 611 to 904.

use extentdb_base::{Lsn, XactId};
use smallvec::SmallVec;

use super::{Body, body_without_elements, xact::NoPart};
use crate::log::field::{FixedPart, Residue, fixed_part};
use crate::log::record::{ElementList, Slices};
use crate::log::time::LogTime;

fixed_part! {
    /// `LOP_BEGIN_CKPT`.
    pub struct BeginCheckpoint from 0x18 {
        /// Begin time.
        0x18 begin_time: LogTime,
        /// Zero in every file seen.
        0x20 lsn: Lsn,
        /// Version of the database.
        0x2a db_version: u16,
        /// Highest transaction id.
        0x2c max_xact: XactId,
    }
}
body_without_elements!(BeginCheckpoint, None);

fixed_part! {
    /// `LOP_END_CKPT`.
    pub struct EndCheckpoint from 0x18 {
        /// End time.
        0x18 end_time: LogTime,
        /// Where recovery must start: the begin record of the oldest active transaction, else the BEGIN_CKPT.
        0x20 minimum: Lsn,
        /// Version of the database.
        0x2a db_version: u16,
        /// Dirty pages, as far as is known.
        0x30 dirty_pages: u32,
    }
}
body_without_elements!(EndCheckpoint, None);

fixed_part! {
    /// A transaction that was active at the checkpoint; one element of 40 hex bytes of [`XactCheckpoint`].
    pub struct ActiveXact from 0x0 {
        /// The transaction.
        0x0 xact: XactId,
        /// LSN of its begin record.
        0x8 begin: Lsn,
        /// LSN of its last record.
        0x14 last: Lsn,
    }
}

/// Bytes of an element with an active transaction.
const ACTIVE_XACT_BYTES: usize = 0x40;

/// `LOP_XACT_CKPT`: the active transactions. From 2012 on the record has context `LCX_BOOT_PAGE_CKPT` and none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct XactCheckpoint {
    /// The fixed part.
    pub fixed: NoPart,
    /// The active transactions.
    pub active: SmallVec<[ActiveXact; 1]>,
}

impl<'a> Body<'a> for XactCheckpoint {
    type Fixed = NoPart;

    fn join(fixed: NoPart, elements: Option<Slices<'a>>) -> Option<Self> {
        let active = elements?
            .into_iter()
            .map(|element| (element.len() == ACTIVE_XACT_BYTES).then(|| ActiveXact::read(element)).flatten());
        Some(XactCheckpoint { fixed, active: active.collect::<Option<_>>()? })
    }

    fn fixed(&self) -> &NoPart {
        &self.fixed
    }

    fn elements(&self) -> Option<ElementList<'_>> {
        let written = self.active.iter().map(|xact| {
            let mut element = vec![0; ACTIVE_XACT_BYTES];
            xact.write(&mut element);
            element.into()
        });
        Some(written.collect())
    }

    fn unknown_elements(&self) -> usize {
        self.active.iter().map(|xact| Residue::len(&xact.residue)).sum()
    }
}
