//! The tasks of `cargo x`, as functions, so that tests can call them, too.
#![forbid(unsafe_code)]

pub mod check;
pub mod collation;
pub mod deps;
pub mod generate;
pub mod hooks;
pub mod house;
pub mod shuttle;
pub mod sim;
pub mod tidy;
pub mod views;
