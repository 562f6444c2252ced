#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod buf;
mod direct;
pub mod disk;
mod error;
mod file;
mod platform;
mod read_ahead;
mod read_at;

pub use buf::{AlignedBuf, BLOCK_BYTES};
pub use direct::DirectFile;
pub use disk::{
    Backend, BaseFile, Disk, DiskCounters, DiskFile, Durability, DurabilityMode, DurabilityReport,
    EphemeralDisk, Fill, MemDisk, OverlayDisk, RealDisk, StagedDisk,
};
pub use error::{Error, FileOp};
pub use file::{File, FileIdentity, FileStamp};
pub use platform::memory_bytes;
pub use read_ahead::{
    Chunk, ChunkPiece, ChunkPieces, ChunkReader, IoChoice, ReadMode, Throttle, plan,
};
pub use read_at::ReadAt;
