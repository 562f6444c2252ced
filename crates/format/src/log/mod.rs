//! The transaction log on disk.
//!
//! ```text
//! log file  file header page | VLF | VLF | …            one `.ldf`; the VLFs are used in any order
//! VLF       header, 8 KiB    | block | block | … | rest vlf.rs
//! block     header | record | record | … | slots        block/
//! record    header | fixed part | elements              record/, payload/
//! ```
//!
//! An LSN names a record by VLF sequence, block and slot. [`reader`] puts the VLFs in order and
//! walks the blocks to the end of the log; [`dblog`] shows records as `fn_dblog` does and
//! [`loginfo`] VLFs as `DBCC LOGINFO`. [`apply`] does to a page what a record says, [`replay`]
//! finds out whether it is still to be done, [`undo`] says what takes it back.
//!
//! The module reads formats 2 to 6 (SQL Server 2000 to 2019), payloads of formats 3 to 6, and
//! writes all of them. It opens no files: bytes come through [`source::LogBytes`]. Facts and their
//! origin: `docs/format/log.md`.
//!
//! Invariants
//! - No bytes make a view fail, panic, or work longer than their size asks for.
//! - What is read from typed values is written back to the same bytes; padding and free space are
//!   named as such.

pub mod apply;
pub mod block;
pub mod context;
pub mod dblog;
pub mod fault;
pub(crate) mod field;
pub mod loginfo;
pub mod map_change;
pub mod op;
pub mod payload;
pub mod reader;
pub mod record;
pub mod replay;
pub mod source;
pub mod time;
pub mod undo;
pub mod vlf;

pub use block::{
    BlockBuf, BlockBuilder, BlockChecksum, BlockFormat, BlockHeader, BlockView, Parity,
};
pub use context::Context;
pub use field::ResidueBytes;
pub use op::Op;
pub use payload::Payload;
pub use reader::{ChainItem, LogBlock, LogReader};
pub use record::{RecordHeader, RecordRef};
pub use source::{CarriedLog, LogBytes};
pub use time::LogTime;
pub use vlf::{Vlf, VlfDescription, VlfHeader, VlfMap};
