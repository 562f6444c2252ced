//! Benches of the house; see `README.md`.
#![forbid(unsafe_code)]
