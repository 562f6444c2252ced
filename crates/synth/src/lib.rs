#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod build;
pub mod corrupt;
pub mod crash;
mod error;
mod image;
pub mod shape;

pub use corrupt::{Kind, Truth, applicable, damage};
pub use error::Error;
pub use shape::{MakeOptions, MakeReport, SHAPES, Shape, Size, make};
