#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod build;
pub mod corrupt;
pub mod crash;
mod error;
mod image;
pub mod shape;

pub use corrupt::{Harmless, Kind, Repair, Truth, applicable, damage, harmless};
pub use error::Error;
pub use shape::{MakeOptions, MakeReport, SHAPES, Shape, Size, make};
