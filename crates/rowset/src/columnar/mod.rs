//! Rows as columns: records of a page, or of a copy of one, become plain vectors.
//!
//! ```text
//! page  ─ slots ─▶ rows: where each record begins ─ comparisons ─▶ those that are left
//!                    │ runs of one record form
//!                    ▼
//!               decoder: one loop for each column and run ─▶ vectors
//!                                                            numbers, or offsets and bytes; bits
//! ```
//!
//! Known algorithm: late materialization over a row store: selection first, column by column, then
//! only what is projected and left is copied. The vectors have the layout of Arrow (validity bits,
//! `i32` offsets), so that they are adopted without a copy; nothing here depends on it.
//!
//! Invariants
//! - All vectors of a builder have the same number of rows after each call that succeeds. After an
//!   error the builder is dropped.
//! - The vector of a column has the same form whatever its records look like.
//! - Texts are bytes as stored; values are not verified: see [`extentdb_types::native`].
//!
//! `compare engine --only scans` of `bench` measures it.

mod bits;
mod compare;
mod compute;
mod decode;
mod image;
mod plan;
mod push;
#[cfg(test)]
mod tests;
mod vector;

pub use bits::Bits;
pub use compare::{Alike, CompareOp, Comparison};
pub use decode::ColumnBuilder;
pub use plan::{Decoder, Projected};
pub use vector::{Form, Values, Vector};

use extentdb_base::{Lsn, PageId};
use extentdb_format::page::PageHeader;

use crate::version::Versions;

/// A record among bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Located {
    /// Offset of its first byte.
    pub start: u16,
    /// Its slot on the page.
    pub slot: u16,
}

/// Records that are read together: those of a page that is latched, or of a copy.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'b> {
    /// What they are in.
    pub bytes: &'b [u8],
    /// Where they are, in the order of the reading.
    pub rows: &'b [Located],
}

/// The live records of a page, under its latch.
#[derive(Debug)]
pub struct PageRun<'p> {
    /// The page.
    pub page: PageId,
    /// Its bytes, up to the slot array; older versions of rows may follow.
    pub bytes: &'p [u8],
    /// Its rows, in the order of the reading; to be thinned out by the visitor.
    pub rows: &'p mut Vec<Located>,
}

impl PageRun<'_> {
    /// The records as they are now.
    pub fn rows(&self) -> Rows<'_> {
        Rows { bytes: self.bytes, rows: self.rows }
    }
}

/// Which pages a reader takes as they are.
#[derive(Clone, Copy)]
pub enum Visibility<'v> {
    /// All of them: dirty reads, and tables that are locked.
    All,
    /// Those without a change of a transaction that is open: the begin of the oldest one, asked for
    /// while the page is latched. `None` when none is open.
    Settled(&'v dyn Fn() -> Option<Lsn>),
    /// All of them, and of each row the version that a snapshot sees.
    Snapshot(Versions<'v>),
}

impl Visibility<'_> {
    /// Is a page with this LSN taken as it is?
    pub(crate) fn takes(&self, page: Lsn) -> bool {
        match self {
            Visibility::All | Visibility::Snapshot(_) => true,
            Visibility::Settled(oldest_open) => oldest_open().is_none_or(|open| page < open),
        }
    }

    /// The versions that a reader of this page has to look for; `None` where the rows of the page
    /// are all that there is.
    pub(crate) fn versions_on(&self, page: &PageHeader) -> Option<Versions<'_>> {
        match self {
            Visibility::Snapshot(versions) if page.has_version_info() => Some(*versions),
            _ => None,
        }
    }
}

/// Receives the rows of a page: once, but of a page with row versions as often as it needs.
pub type Visit<'v> = &'v mut dyn FnMut(PageRun<'_>);
