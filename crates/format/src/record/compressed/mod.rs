//! Records of compressed tables and indexes (`DATA_COMPRESSION = ROW` and `PAGE`).
//!
//! [`row`] takes a record apart (the CD format: a column descriptor of four bits per column),
//! [`page`] undoes the column prefixes and the dictionary of a page-compressed page, [`value`]
//! gives a value the form that it has in an uncompressed row, and [`scsu`] is the compression of
//! Unicode text. Each of them has its writer beside it.
//!
//! Bit 0 of a record's first byte tells the formats apart: 1 = CD, 0 = the records of
//! [`row`](super::row). A compressed index may have both: judge every record by that bit.
//! `sysrowsets.cmprlevel` is 1 for ROW and 2 for PAGE.
//!
//! **Unverified.** No sample has a compressed table. Everything here is from public descriptions:
//! Microsoft's documentation of row, page and Unicode compression; the books "SQL Server 2008
//! Internals" and "Pro SQL Server Internals"; descriptions by others of what they saw in restored
//! backups; Unicode Technical Standard #6. What they leave open is an error here ("not decoded:
//! …"), never a guess.

pub mod fault;
pub mod page;
pub mod row;
pub mod scsu;
pub mod value;

pub use fault::{CdFault, CiFault};
pub use page::CiView;
pub use row::{CdColumn, CdKind, CdParts, CdRecord};
pub use value::{CompressedError, CompressedValue};
