#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod alter;
mod clock;
mod ddl;
mod disk;
pub mod fault;
mod keep;
mod kind;
mod life;
mod model;
mod ordeal;
mod property;
mod schema;
mod statement;
mod texts;
mod trace;
mod work;
mod world;

pub use disk::FaultDisk;
pub use fault::Fault;
pub use keep::Kept;
pub use kind::Kind;
pub use life::{Failure, Life, Story, live, live_and_keep};
pub use property::sound::assert_sound;
pub use texts::{TextStory, run_texts};
