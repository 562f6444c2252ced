//! Records: the rows, index entries and fragments on a page.
//!
//! [`status`] is the byte that opens each of them; [`row`] reads and [`builder`] writes those of
//! data and index pages, [`lob`] those of text pages; [`compressed`], [`sparse`] and [`vardecimal`]
//! are the forms of the same columns that save space.

pub mod builder;
pub mod compressed;
pub mod lob;
pub mod row;
pub mod sparse;
pub mod status;
pub mod uniform;
pub mod vardecimal;

pub use builder::RecordBuilder;
pub use row::{FixedPart, Record, RecordFault, VarColumn};
pub use status::RecordKind;
pub use uniform::RecordForm;
