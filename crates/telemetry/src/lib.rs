#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod event;
mod task;
mod wait;
mod wait_type;

pub use event::{Event, EventSink, NoEvents, Recorder, RecoveryPhase};
pub use task::{AtWork, CurrentWait, TaskEntry, TaskId, Tasks, WaitResource, WaitingTask};
pub use wait::{Wait, WaitTotals, Waits};
pub use wait_type::WaitType;
