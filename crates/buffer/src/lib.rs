#![doc = include_str!("../README.md")]

mod buffer_memory;
mod clock;
mod double_write;
mod error;
mod file;
mod frame;
mod guard;
mod latch;
mod lazy_writer;
mod load;
mod memory;
mod page_key;
mod page_table;
mod pool;
mod read_ahead;
mod registry;
mod stats;
mod suspect;
mod under_way;
mod write_ahead;
mod write_back;

pub use buffer_memory::BufferMemory;
pub use double_write::{Area, DoubleWrite, Repaired};
pub use error::{Error, PageFault};
pub use guard::{PageReadGuard, PageWriteGuard};
pub use latch::{Latch, LatchMode, WaitAccounts};
pub use pool::{Pool, PoolOptions};
pub use stats::{MemoryStats, PoolStats, SweepStats, WriteStats};
pub use suspect::SuspectPage;
pub use write_ahead::{Durability, WriteAhead, WriteAheadError};
