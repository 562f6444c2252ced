#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod cancel;
pub mod env;
pub mod id;
pub mod lsn;
pub mod monitor;
pub mod outage;
pub mod resource;
pub mod size;
pub mod sync;

pub use id::{
    AllocUnitId, DatabaseId, Extent, FileId, HobtId, IndexId, ObjectId, OwnerId, PageId, Rid,
    SessionId, Slot, XactId,
};
pub use lsn::Lsn;
pub use outage::{OfflineCause, Outage};
pub use resource::Resource;
