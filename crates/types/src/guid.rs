//! uniqueidentifier: 16 bytes, stored as u32, u16, u16 (little-endian) and 8 plain bytes.
//!
//! ```text
//! stored   33 22 11 00 55 44 77 66 88 99 AA BB CC DD EE FF
//! text     00112233-4455-6677-8899-AABBCCDDEEFF
//! order    10..15, 8..9, 6..7, 4..5, 0..3 of the stored bytes
//! ```
//!
//! SQL Server compares the *stored* bytes group by group, the last group first (public: the byte
//! order table of `System.Data.SqlTypes.SqlGuid`; `NEWSEQUENTIALID` only ascends this way).

use std::cmp::Ordering;
use std::fmt;

/// Stored bytes from the most to the least significant.
const ORDER: [usize; 16] = [10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3];

/// A uniqueidentifier by its stored bytes. Prints in upper case, compares as SQL Server does.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Guid(pub [u8; 16]);

impl Guid {
    /// The bytes rearranged so that their plain byte order is SQL Server's order.
    #[must_use]
    pub fn sort_key(&self) -> [u8; 16] {
        ORDER.map(|at| self.0[at])
    }

    /// The value of a text of 32 hexadecimal digits with hyphens at their usual places.
    #[must_use]
    pub fn parse(text: &str) -> Option<Guid> {
        let text = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
        let mut shown = [0u8; 16];
        let groups: Vec<&str> = text.split('-').collect();
        if groups.iter().map(|group| group.len()).ne([8, 4, 4, 4, 12]) {
            return None;
        }
        let digits: Vec<u8> = groups
            .concat()
            .chars()
            .map(|c| c.to_digit(16).map(|digit| digit as u8))
            .collect::<Option<_>>()?;
        for (byte, pair) in shown.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair[0] << 4 | pair[1];
        }
        Some(Guid(swapped(shown)))
    }
}

/// Between stored and shown order: the first three groups are reversed. Its own inverse.
fn swapped(b: [u8; 16]) -> [u8; 16] {
    [
        b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6], b[8], b[9], b[10], b[11], b[12], b[13],
        b[14], b[15],
    ]
}

impl Ord for Guid {
    fn cmp(&self, other: &Guid) -> Ordering {
        self.sort_key().cmp(&other.sort_key())
    }
}

impl PartialOrd for Guid {
    fn partial_cmp(&self, other: &Guid) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in swapped(self.0).into_iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02X}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_stored_bytes_agree() {
        let guid = Guid([
            0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD,
            0xEE, 0xFF,
        ]);
        let text = "00112233-4455-6677-8899-AABBCCDDEEFF";
        assert_eq!(guid.to_string(), text);
        assert_eq!(Guid::parse(text), Some(guid));
        assert_eq!(Guid::parse(&format!("{{{}}}", text.to_lowercase())), Some(guid));
        assert_eq!(Guid::parse("00112233-4455-6677-8899-AABBCCDDEEF"), None);
        assert_eq!(Guid::parse("0011223g-4455-6677-8899-AABBCCDDEEFF"), None);
        assert_eq!(Guid::parse("é112233-4455-6677-8899-AABBCCDDEEFF"), None);
    }

    #[test]
    fn the_last_group_decides_first_and_the_first_group_last() {
        let ascending = [
            "FFFFFFFF-0000-0000-0000-000000000000",
            "00000000-FFFF-0000-0000-000000000000",
            "00000000-0000-FFFF-0000-000000000000",
            "00000000-0000-0000-FFFF-000000000000",
            "00000000-0000-0000-0000-000000000001",
            "00000000-0000-0000-0000-010000000000",
        ];
        let guids: Vec<Guid> = ascending.iter().map(|text| Guid::parse(text).unwrap()).collect();
        assert!(guids.is_sorted());
    }

    #[test]
    fn sequential_ids_ascend_across_a_carry() {
        // NEWSEQUENTIALID counts in the first shown byte: its stored place is the least
        // significant.
        let before = Guid::parse("FF2A6C5B-3B4D-E811-9C2A-000D3A000000").unwrap();
        let after = Guid::parse("002B6C5B-3B4D-E811-9C2A-000D3A000000").unwrap();
        assert!(before < after);
    }
}
