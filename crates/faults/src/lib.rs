#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod candidates;
pub mod crash;
mod damage;
mod edit;
mod error;
mod fault;
mod image;
mod kind;
mod row;
#[cfg(test)]
mod tests;
mod truth;

pub use damage::{Copied, applicable, damage, damage_with_progress, harmless};
pub use error::Error;
pub use fault::Repair;
pub use kind::{Harmless, Kind};
pub use truth::{Change, Truth};
