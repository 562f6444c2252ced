#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod cancel;
pub mod env;
pub mod id;
pub mod lsn;
pub mod monitor;
pub mod outage;
pub mod size;
pub mod sync;

pub use id::{AllocUnitId, Extent, FileId, HobtId, IndexId, ObjectId, PageId, Rid, Slot, XactId};
pub use lsn::Lsn;
pub use outage::{OfflineCause, Outage};
