//! Log sequence numbers.
//!
//! ```text
//! offset size field
//!      0    4 vlf     sequence number of the virtual log file (FSeqNo)
//!      4    4 block   position of the log block in its VLF, in units of 512 bytes
//!      8    2 slot    record in the block, from 1
//! ```
//!
//! Order is the order of the fields. Text is `00000031:000000b4:0003`; backup metadata write one
//! decimal number, `vlf * 10^15 + block * 10^5 + slot`.

use std::fmt;
use std::str::FromStr;

/// Position of a log record. `Lsn::ZERO` means "none".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn {
    /// Sequence number of the virtual log file.
    pub vlf: u32,
    /// Log block, in units of 512 bytes from the start of the VLF.
    pub block: u32,
    /// Record in the block, from 1.
    pub slot: u16,
}

impl Lsn {
    /// All three parts 0: no LSN of a log; sorts before all of them.
    pub const ZERO: Lsn = Lsn { vlf: 0, block: 0, slot: 0 };
    /// Bytes on disk.
    pub const BYTES: usize = 10;
    /// After every LSN there is.
    pub const MAX: Lsn = Lsn { vlf: u32::MAX, block: u32::MAX, slot: u16::MAX };

    /// A position from its parts.
    pub const fn new(vlf: u32, block: u32, slot: u16) -> Self {
        Lsn { vlf, block, slot }
    }

    /// Reads the ten bytes of the disk form.
    pub fn from_bytes(b: [u8; 10]) -> Self {
        let [v0, v1, v2, v3, b0, b1, b2, b3, s0, s1] = b;
        Lsn {
            vlf: u32::from_le_bytes([v0, v1, v2, v3]),
            block: u32::from_le_bytes([b0, b1, b2, b3]),
            slot: u16::from_le_bytes([s0, s1]),
        }
    }

    /// The ten bytes of the disk form.
    pub fn to_bytes(self) -> [u8; 10] {
        let [v0, v1, v2, v3] = self.vlf.to_le_bytes();
        let [b0, b1, b2, b3] = self.block.to_le_bytes();
        let [s0, s1] = self.slot.to_le_bytes();
        [v0, v1, v2, v3, b0, b1, b2, b3, s0, s1]
    }

    /// True for the all-zero value, which means "none".
    pub fn is_zero(self) -> bool {
        self == Lsn::ZERO
    }

    /// The decimal form of backup metadata and `msdb`.
    pub fn to_decimal(self) -> u128 {
        u128::from(self.vlf) * 1_000_000_000_000_000
            + u128::from(self.block) * 100_000
            + u128::from(self.slot)
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}:{:08x}:{:04x}", self.vlf, self.block, self.slot)
    }
}

impl fmt::Debug for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The text was not three hexadecimal numbers with colons between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseLsnError;

impl fmt::Display for ParseLsnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an LSN is written as 00000031:000000b4:0003")
    }
}

impl std::error::Error for ParseLsnError {}

impl FromStr for Lsn {
    type Err = ParseLsnError;

    fn from_str(s: &str) -> Result<Self, ParseLsnError> {
        let mut parts = s.strip_prefix("0x").unwrap_or(s).split(':');
        let mut next =
            || u32::from_str_radix(parts.next().unwrap_or(""), 16).map_err(|_| ParseLsnError);
        let vlf = next()?;
        let block = next()?;
        let slot = next()?;
        if parts.next().is_some() {
            return Err(ParseLsnError);
        }
        Ok(Lsn {
            vlf,
            block,
            slot: u16::try_from(slot).map_err(|_| ParseLsnError)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_text_and_decimal_name_the_same_position() {
        let lsn = Lsn::new(0x31, 0xb4, 3);
        assert_eq!(lsn.to_string(), "00000031:000000b4:0003");
        assert_eq!("00000031:000000b4:0003".parse(), Ok(lsn));
        assert_eq!(Lsn::from_bytes(lsn.to_bytes()), lsn);
        assert_eq!(lsn.to_decimal(), 49_000_000_018_000_003);
        assert!("1:2".parse::<Lsn>().is_err());
        assert!("1:2:3:4".parse::<Lsn>().is_err());
        assert!("1:2:10000".parse::<Lsn>().is_err());
    }

    #[test]
    fn order_is_vlf_then_block_then_slot() {
        assert!(Lsn::new(1, 9, 9) < Lsn::new(2, 0, 0));
        assert!(Lsn::new(1, 1, 9) < Lsn::new(1, 2, 0));
        assert!(Lsn::new(1, 1, 1) < Lsn::new(1, 1, 2));
    }
}
