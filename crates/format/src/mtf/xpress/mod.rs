//! XPRESS with Huffman codes (MS_XPRESS): how the records of a compressed backup are packed.
//!
//! Public format of the open specification MS-XCA (LZ77 + Huffman); each record stands alone.
//!
//! ```text
//! 256 bytes 512 code lengths of 4 bits, symbol 2i in the low half of byte i; 0 unused
//! then      bits in u16 little-endian units, most significant first, with length bytes between the
//!           units
//!
//! symbol    0 … 255 a byte;  256 … 511 a match: length = (s - 256) & 15, b = (s - 256) >> 4
//! length 15 one byte x follows: 15 + x; x = 255: u16 follows; u16 = 0: u32 follows
//! match     length + 3 bytes from (2^b + the next b bits) back; source and target may overlap
//! ```
//!
//! Rules that must hold, or the record is damaged
//! - Codes are canonical (shorter first, then by symbol) and fill the code space completely.
//! - Two units are loaded at the start; after bits are taken, one more when fewer than 16 are left.
//!   The length bytes lie after the *last unit loaded*, so this rule is part of the format. Units
//!   past the end count as zero.
//! - A table serves 65,536 bytes of output; then the rest of the loaded bits is dropped and a new
//!   table begins.
//! - At the end of the output at most two bytes of the payload are not yet loaded (an end mark that
//!   nobody reads).

mod decode;
#[doc(hidden)]
pub mod encode;
mod table;

pub use decode::Decoder;

/// Output that one code table serves.
pub const CHUNK_BYTES: usize = 65_536;
/// Bytes of the packed code lengths.
pub const TABLE_BYTES: usize = 256;

/// Why a payload does not expand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant names its fields")]
pub enum Damage {
    #[error("{bytes} bytes are too few for a code table")]
    ShortTable { bytes: usize },
    #[error("the code table fills {filled} of 32768 codes")]
    CodeSpace { filled: u32 },
    #[error("at output byte {at}: a match reaches {distance} back")]
    Distance { at: usize, distance: usize },
    #[error("at output byte {at}: a match of {length} passes the end of the output")]
    Length { at: usize, length: usize },
    #[error("at output byte {at}: a match length of {stored} is stored in a long form")]
    LongForm { at: usize, stored: u32 },
    #[error("the payload ends at output byte {at}")]
    InputEnds { at: usize },
    #[error("{bytes} bytes of the payload are left over")]
    LeftOver { bytes: usize },
}

impl Damage {
    /// True when the payload was never XPRESS: its code table does not add up. Bytes packed by
    /// another algorithm, or encrypted, look so.
    pub fn is_other_algorithm(&self) -> bool {
        matches!(self, Damage::ShortTable { .. } | Damage::CodeSpace { .. })
    }
}
