//! Payloads of transactions: begin, end, prepare, savepoint, locks.
//!
//! Offsets are hexadecimal and counted from the record's start. Observed in real files of versions
//! 611 to 904.

use std::borrow::Cow;

use extentdb_base::{Lsn, XactId};

use super::{Body, Undecoded, body_without_elements, element_list, len_of};
use crate::log::field::{FixedPart, fixed_part};
use crate::log::record::{ElementList, Slices};
use crate::log::time::LogTime;

/// Text in UTF-16LE as it lies in a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogText<'a>(pub &'a [u8]);

impl LogText<'_> {
    /// The text; an unpaired surrogate becomes U+FFFD.
    pub fn to_string_lossy(&self) -> String {
        let units = self.0.chunks_exact(2).map(|pair| match pair {
            [low, high] => u16::from_le_bytes([*low, *high]),
            _ => 0,
        });
        char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    }
}

/// `Xact Type` of transactions that are not nested.
pub const XACT_TYPE_USER: u32 = 1;
/// `Xact Type` of nested system transactions.
pub const XACT_TYPE_SYSTEM: u32 = 3;

fixed_part! {
    /// The fixed part of `LOP_BEGIN_XACT`, formats 4 to 6.
    pub struct BeginPart from 0x18 {
        /// Session id, `SPID`.
        0x18 spid: u16,
        /// Beginlog Status; mostly 1.
        0x1c status: u32,
        /// Xact Type: [`XACT_TYPE_USER`], or [`XACT_TYPE_SYSTEM`] for a nested system transaction
        /// (SplitPage, FirstPage Alloc, AllocMixedExtent …).
        0x20 kind: u32,
        /// When the transaction began, local time of the server.
        0x28 begin_time: LogTime,
        /// Transaction id of the whole server.
        0x30 xact_id: u64,
        /// The outermost transaction around this one; its own id when it is not nested (from 2012
        /// on).
        0x40 outermost: Option<XactId>,
        /// The transaction directly around this one (from 2012 on); zero when it is not nested, and
        /// in nested ones with status 00100001.
        0x46 parent: Option<XactId>,
    }
}

impl BeginPart {
    /// The transaction directly around the transaction `own`, which this record begins.
    pub fn parent_of(&self, own: XactId) -> Option<XactId> {
        let named = |id: &XactId| *id != XactId::default() && *id != own;
        self.parent.filter(named).or(self.outermost.filter(named))
    }
}

/// `LOP_BEGIN_XACT`: a transaction begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BeginXact<'a, F = BeginPart> {
    /// The fixed part.
    pub fixed: F,
    /// Name, at most 32 characters.
    pub name: LogText<'a>,
    /// Security id of the user.
    pub sid: &'a [u8],
}

impl<'a, F: FixedPart> Body<'a> for BeginXact<'a, F> {
    type Fixed = F;

    fn join(fixed: F, elements: Option<Slices<'a>>) -> Option<Self> {
        let [name, sid] = elements?.as_slice().try_into().ok()?;
        Some(BeginXact { fixed, name: LogText(name), sid })
    }

    fn fixed(&self) -> &F {
        &self.fixed
    }

    fn elements(&self) -> Option<ElementList<'_>> {
        Some(element_list([self.name.0, self.sid]))
    }
}

fixed_part! {
    /// The fixed part of `LOP_BEGIN_XACT`, format 3.
    pub struct BeginPart2005 from 0x18 {
        /// Session id, `SPID`.
        0x1c spid: u16,
        /// `Beginlog Status` of `fn_dblog`.
        0x20 status: u32,
        /// `Xact Type` of `fn_dblog`: 1 of a user, 3 of the system.
        0x24 kind: u16,
        /// When the transaction began, local time of the server.
        0x28 begin_time: LogTime,
    }
}

/// `LOP_BEGIN_XACT` of format 3 (SQL Server 2005).
pub type BeginXact2005<'a> = BeginXact<'a, BeginPart2005>;

fixed_part! {
    /// `LOP_COMMIT_XACT`, `LOP_ABORT_XACT`: the last record of a transaction.
    pub struct EndXact from 0x18 {
        /// When the transaction ended, local time of the server.
        0x18 end_time: LogTime,
        /// LSN of the transaction's begin record.
        0x20 begin: Lsn,
        /// Transaction id of the whole server (from 2012 on).
        0x40 xact_id: Option<u64>,
    }
}
body_without_elements!(EndXact, Some(ElementList::new()));

fixed_part! {
    /// The fixed part of `LOP_PREP_XACT`.
    pub struct PreparePart from 0x18 {
        /// The transaction in the coordinating database.
        0x18 master_xact: XactId,
        /// That database; 1 is master.
        0x1e master_database: u16,
        /// LSN of its prepare record there.
        0x20 master_prepare: Lsn,
        /// LSN of this transaction's begin record.
        0x2c begin: Lsn,
        /// When the transaction was prepared, local time of the server.
        0x38 time: LogTime,
    }
}

/// `LOP_PREP_XACT`: a transaction over several databases is ready to commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrepareXact<'a> {
    /// The fixed part.
    pub fixed: PreparePart,
    /// One element, which is empty in the records that were seen. ExtentDB writes the binding id of
    /// the coordinating database there: ids of databases are given again.
    pub more: Slices<'a>,
}

impl PrepareXact<'_> {
    /// The binding id of the coordinating database, where the record has it.
    pub fn coordinator(&self) -> Option<[u8; 16]> {
        self.more.first().and_then(|element| (*element).try_into().ok())
    }

    /// Is it the record of the coordinator, the transaction `xact` itself? It is open until its own
    /// COMMIT_XACT, and without that it is rolled back. ExtentDB writes no LSN into such a record.
    pub fn decides_itself(&self, xact: XactId) -> bool {
        self.fixed.master_xact == xact && self.fixed.master_prepare.is_zero()
    }
}

impl<'a> Body<'a> for PrepareXact<'a> {
    type Fixed = PreparePart;

    fn join(fixed: PreparePart, elements: Option<Slices<'a>>) -> Option<Self> {
        Some(PrepareXact { fixed, more: elements? })
    }

    fn fixed(&self) -> &PreparePart {
        &self.fixed
    }

    fn elements(&self) -> Option<ElementList<'_>> {
        Some(self.more.iter().map(|e| Cow::from(*e)).collect())
    }

    fn unknown_elements(&self) -> usize {
        match self.coordinator() {
            Some(_) => self.more.iter().skip(1).map(|e| e.len()).sum(),
            None => self.more.iter().map(|e| e.len()).sum(),
        }
    }
}

fixed_part! {
    /// The fixed part of `LOP_MARK_SAVEPOINT`.
    pub struct SavepointPart from 0x18 {
        /// LSN of the savepoint before this one.
        0x18 previous_savepoint: Lsn,
    }
}

/// `LOP_MARK_SAVEPOINT`: where a partial rollback ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Savepoint<'a> {
    /// The fixed part.
    pub fixed: SavepointPart,
    /// Transaction name; `user_transaction` unless it was named.
    pub name: LogText<'a>,
    /// Elements of unknown meaning.
    pub more: Slices<'a>,
}

impl<'a> Body<'a> for Savepoint<'a> {
    type Fixed = SavepointPart;

    fn join(fixed: SavepointPart, elements: Option<Slices<'a>>) -> Option<Self> {
        let elements = elements?;
        let (name, more) = elements.split_first()?;
        Some(Savepoint { fixed, name: LogText(name), more: more.to_vec() })
    }

    fn fixed(&self) -> &SavepointPart {
        &self.fixed
    }

    fn elements(&self) -> Option<ElementList<'_>> {
        Some(element_list([self.name.0].into_iter().chain(self.more.iter().copied())))
    }

    fn unknown_elements(&self) -> usize {
        len_of(&self.more)
    }
}

fixed_part! {
    /// The fixed part of a record that has none beyond the header, as far as is known.
    pub struct NoPart from 0x18 {}
}

/// `LOP_LOCK_XACT`: locks that a transaction holds and recovery must take again. Each element
/// describes some of them; the bytes are not decoded.
pub type LockXact<'a> = Undecoded<'a, NoPart>;
