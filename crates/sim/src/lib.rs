#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod clock;
mod disk;
pub mod fault;
mod life;
mod model;
mod property;
mod schema;
mod trace;
mod work;
mod world;

pub use disk::FaultDisk;
pub use fault::Fault;
pub use life::{Failure, Life, Story, live};
pub use property::sound::assert_sound;
