//! Payloads of checkpoints.
//!
//! A checkpoint is a row of records: COUNT_DELTA, BEGIN_CKPT, XACT_CKPT (always from 2012 on,
//! before only with active transactions), END_CKPT. BEGIN_CKPT's previous LSN is the BEGIN_CKPT
//! before it, END_CKPT's is its BEGIN_CKPT.
//!
//! XACT_CKPT has its active transactions as entries in elements, by format of the block:
//!
//! ```text
//! format  elements                       bytes of an entry
//!      3  one of 38 hex bytes            not decoded
//!      4  one per transaction            40
//!   5, 6  none, or one with all entries  50
//!
//! offset size field of an entry
//!     00    6 xact    transaction id
//!     08   10 begin   LSN of its begin record
//!     12    2 residue 0104, 010A, 010C seen
//!     14   10 last    LSN of its last record
//! ```
//!
//! Offsets are hexadecimal and counted from the record's start. Observed in real files of versions
//! 611 to 904.

use std::borrow::Cow;

use extentdb_base::{Lsn, XactId};
use smallvec::SmallVec;

use super::{Body, body_without_elements, xact::NoPart};
use crate::log::block::BlockFormat;
use crate::log::field::{FixedPart, ResidueBytes, fixed_part};
use crate::log::record::{ElementList, RecordRef, Slices, Tail};
use crate::log::time::LogTime;

fixed_part! {
    /// `LOP_BEGIN_CKPT`: pages dirtied before it are written before the checkpoint ends.
    pub struct BeginCheckpoint from 0x18 {
        /// When the checkpoint began.
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
    /// `LOP_END_CKPT`: the checkpoint is complete; the boot page names its beginning.
    pub struct EndCheckpoint from 0x18 {
        /// When the checkpoint ended.
        0x18 end_time: LogTime,
        /// Where recovery must start: the begin record of the oldest active transaction, else the
        /// BEGIN_CKPT.
        0x20 minimum: Lsn,
        /// Version of the database.
        0x2a db_version: u16,
        /// Pages that the checkpoint found dirty. Formats 3 and 4; zero in formats 5 and 6 wherever
        /// seen. What follows it is uninitialised memory: addresses, LSNs, the number 9.
        0x2c dirty_pages: u32,
    }
}
body_without_elements!(EndCheckpoint, None);

fixed_part! {
    /// A transaction that was active at the checkpoint: an entry of [`XactCheckpoint`].
    pub struct ActiveXact from 0x0 {
        /// An active transaction.
        0x0 xact: XactId,
        /// LSN of its begin record.
        0x8 begin: Lsn,
        /// LSN of its last record.
        0x14 last: Lsn,
    }
}

/// How the entries lie in the elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntryForm {
    /// An element for each, of 40 hex bytes.
    #[default]
    Single,
    /// One element with all, of 50 hex bytes each.
    Joined,
}

impl EntryForm {
    /// Bytes of an entry.
    const fn bytes(self) -> usize {
        match self {
            EntryForm::Single => 0x40,
            EntryForm::Joined => 0x50,
        }
    }

    /// The form in blocks of this format; `None` when it is not known.
    const fn of(format: BlockFormat) -> Option<Self> {
        match format {
            BlockFormat::V2 | BlockFormat::V3 => None,
            BlockFormat::V4 => Some(EntryForm::Single),
            BlockFormat::V5 | BlockFormat::V6 => Some(EntryForm::Joined),
        }
    }
}

/// `LOP_XACT_CKPT`: the active transactions. From 2012 on the record is always there, with context
/// `LCX_BOOT_PAGE_CKPT`, and mostly has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct XactCheckpoint<'a> {
    /// The fixed part.
    pub fixed: NoPart,
    /// How the entries lie in the elements.
    pub form: EntryForm,
    /// The active transactions.
    pub active: SmallVec<[ActiveXact; 1]>,
    /// All elements, where they do not have the form that their format was seen with; `active` is
    /// empty then.
    pub undecoded: Slices<'a>,
}

impl XactCheckpoint<'_> {
    /// The entries of all elements; `None` when one has another length.
    fn entries(form: EntryForm, elements: &Slices<'_>) -> Option<SmallVec<[ActiveXact; 1]>> {
        let is_whole = |element: &&[u8]| match form {
            EntryForm::Single => element.len() == form.bytes(),
            EntryForm::Joined => !element.is_empty() && element.len().is_multiple_of(form.bytes()),
        };
        let is_joined = form == EntryForm::Joined && elements.len() > 1;
        if is_joined || !elements.iter().all(is_whole) {
            return None;
        }
        elements
            .iter()
            .flat_map(|element| element.chunks_exact(form.bytes()))
            .map(ActiveXact::read)
            .collect()
    }
}

impl<'a> Body<'a> for XactCheckpoint<'a> {
    type Fixed = NoPart;

    fn join(fixed: NoPart, elements: Option<Slices<'a>>) -> Option<Self> {
        Some(XactCheckpoint { fixed, undecoded: elements?, ..XactCheckpoint::default() })
    }

    fn read(record: &RecordRef<'a>) -> Option<Self> {
        let Tail::Elements(elements) = record.tail() else { return None };
        let whole = XactCheckpoint::join(NoPart::read(record.fixed())?, Some(elements.clone()))?;
        let form = EntryForm::of(record.format());
        let decoded = form.and_then(|form| Some((form, XactCheckpoint::entries(form, elements)?)));
        Some(match decoded {
            Some((form, active)) => {
                XactCheckpoint { form, active, undecoded: Slices::new(), ..whole }
            }
            None => whole,
        })
    }

    fn fixed(&self) -> &NoPart {
        &self.fixed
    }

    fn elements(&self) -> Option<ElementList<'_>> {
        if !self.undecoded.is_empty() {
            return Some(self.undecoded.iter().map(|e| Cow::from(*e)).collect());
        }
        let written = self.active.iter().map(|xact| {
            let mut entry = vec![0; self.form.bytes()];
            xact.write(&mut entry);
            entry
        });
        match self.form {
            EntryForm::Single => Some(written.map(Cow::from).collect()),
            EntryForm::Joined if self.active.is_empty() => Some(ElementList::new()),
            EntryForm::Joined => {
                Some([Cow::from(written.collect::<Vec<_>>().concat())].into_iter().collect())
            }
        }
    }

    fn unknown_elements(&self) -> usize {
        let of_entries: usize =
            self.active.iter().map(|xact| ResidueBytes::len(&xact.residue)).sum();
        of_entries + self.undecoded.iter().map(|element| element.len()).sum::<usize>()
    }
}
