//! Values on the wire, and as [`Datum`](extentdb_types::Datum).
//!
//! ```text
//! no length      types without NULL                          the bytes
//! length u8      INTN …, decimal, GUID, date and time        0 = NULL
//! length u16     char, binary and their n and var forms      FFFF = NULL
//! length u32     sql_variant                                 0 = NULL
//! length u32     text, ntext, image as a parameter           FFFFFFFF = NULL
//! text pointer   text, ntext, image in a row                 pointer length u8 (0 = NULL),
//!                                                            pointer, timestamp 8, length u32
//! PLP            (max), xml, CLR types                       see [`Plp`]
//!
//! money          high i32, low u32 of the value times 10,000
//! datetime       days i32 since 1900-01-01, ticks u32 of 1/300 s; smalldatetime days, minutes u16
//! decimal        sign (1 positive), magnitude LE of 4, 8, 12 or 16 bytes by precision
//! xml            UTF-16 text
//! ```
//!
//! All other values are the bytes that a row holds.
//!
//! Invariants
//! - [`RawValue::read`] takes exactly the bytes of the value or fails; it allocates nothing.
//! - A decoded value borrows from the message, except a PLP value of several chunks.
//! - [`write_value`] appends a whole value or leaves `out` as it was.

pub mod date_text;
mod decode;
mod encode;
mod large;
mod layout;
mod measure;
mod plp;
mod raw;
mod stored;
mod variant;

pub use decode::{decode, read_value};
pub use encode::write_value;
pub use large::{write_large_end, write_large_part, write_large_start};
pub(crate) use measure::{ColumnMeasure, RowMeasure};
pub use plp::{Plp, PlpChunks, write_plp_chunk, write_plp_end, write_plp_start};
pub use raw::RawValue;
pub use stored::write_stored;

#[cfg(test)]
mod tests;
