//! The backup stream.
