//! The Standard Compression Scheme for Unicode (Unicode Technical Standard #6), for reading and
//! writing.
//!
//! ```text
//! single-byte mode                               Unicode mode (UTF-16, big-endian)
//! 00 09 0a 0d 20..7f itself                      e0..e7  UCn: single-byte mode, window n
//! 80..ff             character of the window     e8..ef  UDn + offset: define window n, single-
//!                                                        byte mode
//! 01..08  SQn + byte one character of window n   f0      UQU + 2 bytes: that unit
//! 0b      SDX + 2    define window beyond U+FFFF f1      UDX + 2 bytes: define window beyond
//!                                                        U+FFFF
//! 0e      SQU + 2    that UTF-16 unit            f2      reserved
//! 0f      SCU        Unicode mode                else    first byte of a unit
//! 10..17  SCn        window n
//! 18..1f  SDn + byte define window n
//! 0c      reserved
//! ```
//!
//! SQL Server stores compressed text in an odd number of bytes, so that it can be told from UTF-16.
//! Where the scheme gives an even number, 0x10 is appended: SC0 in single-byte mode, half a unit in
//! Unicode mode.

/// Why bytes are no compressed text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ScsuError {
    /// The text ends inside a sequence.
    #[error("compressed text ends inside a sequence at byte {at}")]
    Truncated {
        /// Where the sequence begins.
        at: usize,
    },
    /// A tag or window that the standard reserves.
    #[error("compressed text has the reserved byte {byte:#04x} at {at}")]
    Reserved {
        /// Where it is.
        at: usize,
        /// Byte of the SCSU stream.
        byte: u8,
    },
}

/// What SQL Server appends to make the number of bytes odd.
const FILLER: u8 = 0x10;
const STATIC_WINDOWS: [u32; 8] = [0x0000, 0x0080, 0x0100, 0x0300, 0x2000, 0x2080, 0x2100, 0x3000];
const FIRST_DYNAMIC_WINDOWS: [u32; 8] =
    [0x0080, 0x00c0, 0x0400, 0x0600, 0x0900, 0x3040, 0x30a0, 0xff00];

/// Appends the text as UTF-16, little-endian. At most four bytes per byte read.
pub fn decode_scsu(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), ScsuError> {
    let mut decoder = Decoder {
        bytes,
        at: 0,
        windows: FIRST_DYNAMIC_WINDOWS,
        active: 0,
        is_unicode: false,
    };
    while let Some(byte) = decoder.next() {
        let start = decoder.at - 1;
        let is_last = decoder.at == bytes.len();
        if decoder.is_unicode {
            if is_last && byte == FILLER {
                break;
            }
            decoder.unicode(start, byte, out)?;
        } else {
            decoder.single_byte(start, byte, out)?;
        }
    }
    Ok(())
}

struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Start of each dynamic window.
    windows: [u32; 8],
    active: u8,
    is_unicode: bool,
}

impl Decoder<'_> {
    fn next(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied()?;
        self.at += 1;
        Some(byte)
    }

    /// The next byte of the sequence that begins at `start`.
    fn argument(&mut self, start: usize) -> Result<u8, ScsuError> {
        self.next().ok_or(ScsuError::Truncated { at: start })
    }

    fn argument_pair(&mut self, start: usize) -> Result<u16, ScsuError> {
        Ok(u16::from_be_bytes([self.argument(start)?, self.argument(start)?]))
    }

    fn single_byte(&mut self, start: usize, byte: u8, out: &mut Vec<u8>) -> Result<(), ScsuError> {
        match byte {
            0x80.. => push_character(self.window(self.active) + u32::from(byte - 0x80), out),
            0x00 | 0x09 | 0x0a | 0x0d | 0x20..=0x7f => push_character(u32::from(byte), out),
            0x01..=0x08 => {
                let quoted = self.argument(start)?;
                push_character(self.quote(byte - 1, quoted), out);
            }
            0x0b => self.define_extended(start)?,
            0x0e => push_unit(self.argument_pair(start)?, out),
            0x0f => self.is_unicode = true,
            0x10..=0x17 => self.active = byte - 0x10,
            0x18..=0x1f => self.define(start, byte - 0x18)?,
            0x0c => return Err(ScsuError::Reserved { at: start, byte }),
        }
        Ok(())
    }

    fn unicode(&mut self, start: usize, byte: u8, out: &mut Vec<u8>) -> Result<(), ScsuError> {
        match byte {
            0xe0..=0xe7 => (self.active, self.is_unicode) = (byte - 0xe0, false),
            0xe8..=0xef => {
                self.define(start, byte - 0xe8)?;
                self.is_unicode = false;
            }
            0xf0 => push_unit(self.argument_pair(start)?, out),
            0xf1 => {
                self.define_extended(start)?;
                self.is_unicode = false;
            }
            0xf2 => return Err(ScsuError::Reserved { at: start, byte }),
            high => push_unit(u16::from_be_bytes([high, self.argument(start)?]), out),
        }
        Ok(())
    }

    fn window(&self, number: u8) -> u32 {
        self.windows.get(usize::from(number & 7)).copied().unwrap_or(0)
    }

    /// A quoted character: below 0x80 of the static window, else of the dynamic one.
    fn quote(&self, number: u8, byte: u8) -> u32 {
        match byte.checked_sub(0x80) {
            Some(offset) => self.window(number) + u32::from(offset),
            None => {
                STATIC_WINDOWS.get(usize::from(number & 7)).copied().unwrap_or(0) + u32::from(byte)
            }
        }
    }

    fn define(&mut self, start: usize, number: u8) -> Result<(), ScsuError> {
        let byte = self.argument(start)?;
        let offset = u32::from(byte) << 7;
        let window = match byte {
            0x01..=0x67 => offset,
            0x68..=0xa7 => offset + 0xac00,
            0xf9 => 0x00c0,
            0xfa => 0x0250,
            0xfb => 0x0370,
            0xfc => 0x0530,
            0xfd => 0x3040,
            0xfe => 0x30a0,
            0xff => 0xff60,
            _ => return Err(ScsuError::Reserved { at: self.at - 1, byte }),
        };
        self.select(number, window);
        Ok(())
    }

    fn define_extended(&mut self, start: usize) -> Result<(), ScsuError> {
        let pair = self.argument_pair(start)?;
        self.select((pair >> 13) as u8, 0x1_0000 + (u32::from(pair & 0x1fff) << 7));
        Ok(())
    }

    fn select(&mut self, number: u8, window: u32) {
        if let Some(target) = self.windows.get_mut(usize::from(number & 7)) {
            *target = window;
        }
        self.active = number & 7;
    }
}

fn push_unit(unit: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(&unit.to_le_bytes());
}

/// Appends a character, beyond U+FFFF as a surrogate pair.
fn push_character(character: u32, out: &mut Vec<u8>) {
    match character.checked_sub(0x1_0000) {
        None => push_unit(character as u16, out),
        // A window reaches at most U+10FFFF: 13 bits of 128 characters each after U+FFFF.
        Some(offset) => {
            push_unit(0xd800 + (offset >> 10) as u16, out);
            push_unit(0xdc00 + (offset & 0x3ff) as u16, out);
        }
    }
}

/// Appends UTF-16, little-endian, as compressed text in an odd number of bytes: in single-byte mode
/// with one of the windows there are at the start, or else in Unicode mode. (Which windows SQL
/// Server defines is not published; any are read.)
pub fn encode_scsu(utf16: &[u8], out: &mut Vec<u8>) {
    let units: Vec<u16> =
        utf16.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
    let start = out.len();
    if !(0..8).any(|window| encode_in_window(&units, window, out)) {
        out.push(0x0f);
        for unit in units {
            let [high, low] = unit.to_be_bytes();
            if (0xe0..=0xf2).contains(&high) {
                out.push(0xf0);
            }
            out.extend_from_slice(&[high, low]);
        }
    }
    if (out.len() - start).is_multiple_of(2) {
        out.push(FILLER);
    }
}

/// Single-byte mode with one window; false, and nothing appended, when a character is not in it.
fn encode_in_window(units: &[u16], number: u8, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let window = FIRST_DYNAMIC_WINDOWS.get(usize::from(number)).copied().unwrap_or(0);
    if number > 0 {
        out.push(0x10 + number);
    }
    for unit in units {
        match (*unit, u32::from(*unit).wrapping_sub(window)) {
            (plain @ (0x00 | 0x09 | 0x0a | 0x0d | 0x20..=0x7f), _) => out.push(plain as u8),
            (_, offset @ 0..0x80) => out.push(0x80 + offset as u8),
            _ => {
                out.truncate(start);
                return false;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use extentdb_base::env::{Rng, SplitMix64};

    use super::*;

    fn text(bytes: &[u8]) -> Result<String, ScsuError> {
        let mut out = Vec::new();
        decode_scsu(bytes, &mut out)?;
        let units: Vec<u16> =
            out.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        Ok(String::from_utf16(&units).unwrap())
    }

    #[test]
    fn the_examples_of_the_standard() {
        let german = [0xd6, 0x6c, 0x20, 0x66, 0x6c, 0x69, 0x65, 0xdf, 0x74];
        assert_eq!(text(&german).as_deref(), Ok("Öl fließt"));
        let russian = [0x12, 0x9c, 0xbe, 0xc1, 0xba, 0xb2, 0xb0];
        assert_eq!(text(&russian).as_deref(), Ok("Москва"));
        let all_features = [
            0x41, 0xdf, 0x12, 0x81, 0x03, 0x5f, 0x10, 0xdf, 0x1b, 0x03, 0xdf, 0x1c, 0x88, 0x80,
            0x0b, 0xbf, 0xff, 0xff, 0x0d, 0x0a, 0x41, 0x10, 0xdf, 0x12, 0x81, 0x03, 0x5f, 0x10,
            0xdf, 0x13, 0xdf, 0x14, 0x80, 0x15, 0xff,
        ];
        let line = "A\u{df}\u{401}\u{15f}\u{df}\u{1df}\u{f000}\u{10ffff}";
        assert_eq!(text(&all_features), Ok(format!("{line}\r\n{line}")));
    }

    #[test]
    fn the_filler_of_sql_server_is_no_character() {
        assert_eq!(text(b"Gray\x10").as_deref(), Ok("Gray"));
        // Unicode mode: an even number of bytes with the tag, so a filler follows.
        assert_eq!(text(&[0x0f, 0x5c, 0x71, 0x75, 0x30]).as_deref(), Ok("山田"));
        assert_eq!(text(&[b'a', 0x0f, 0x5c, 0x71, 0x10]).as_deref(), Ok("a山"));
    }

    #[test]
    fn quoting_and_windows_in_both_modes() {
        assert_eq!(
            text(&[0x01, 0x01, 0x05, 0x14, 0x06, 0xa1]).as_deref(),
            Ok("\u{1}\u{2014}\u{3061}")
        );
        assert_eq!(text(&[0x0e, 0x4e, 0x2d, b'x']).as_deref(), Ok("中x"));
        assert_eq!(text(&[0x0f, 0xf0, 0xe0, 0x00, 0xe2, 0xb0]).as_deref(), Ok("\u{e000}а"));
        assert_eq!(
            text(&[0x0f, 0xe9, 0xfb, 0xa1, 0x0f, 0xf1, 0x00, 0x00, 0x80]).as_deref(),
            Ok("Α\u{10000}")
        );
        assert_eq!(text(&[0x18, 0xa7, 0x80]).as_deref(), Ok("\u{ff80}"));
    }

    #[test]
    fn reserved_and_truncated_sequences_are_named() {
        assert_eq!(text(&[0x41, 0x0c]), Err(ScsuError::Reserved { at: 1, byte: 0x0c }));
        assert_eq!(text(&[0x18, 0x00]), Err(ScsuError::Reserved { at: 1, byte: 0x00 }));
        assert_eq!(text(&[0x18, 0xa8]), Err(ScsuError::Reserved { at: 1, byte: 0xa8 }));
        assert_eq!(text(&[0x0f, 0xf2]), Err(ScsuError::Reserved { at: 1, byte: 0xf2 }));
        assert_eq!(text(&[0x41, 0x0e, 0x4e]), Err(ScsuError::Truncated { at: 1 }));
        assert_eq!(text(&[0x0f, 0x4e]), Err(ScsuError::Truncated { at: 1 }));
    }

    #[test]
    fn what_is_compressed_is_read() {
        let texts = [
            "",
            "a",
            "Gray",
            "\u{d6}l flie\u{df}t",
            "\u{41c}\u{43e}\u{441}\u{43a}\u{432}\u{430}",
            "\u{5c71}\u{7530}",
            "a\u{e000}",
            "\u{3042}\u{3044} x",
            "\u{1}b",
            "\u{10330}",
        ];
        for text in texts {
            let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let mut packed = Vec::new();
            let mut back = Vec::new();
            encode_scsu(&utf16, &mut packed);
            assert!(packed.len() % 2 == 1, "{text}: {packed:02x?}");
            decode_scsu(&packed, &mut back).unwrap();
            assert_eq!(back, utf16, "{text}");
        }
        let mut russian = Vec::new();
        encode_scsu(&[0x1c, 4, 0x3e, 4, 0x41, 4, 0x3a, 4, 0x32, 4, 0x30, 4], &mut russian);
        assert_eq!(russian, [0x12, 0x9c, 0xbe, 0xc1, 0xba, 0xb2, 0xb0]);
    }

    #[test]
    fn random_bytes_never_panic_and_stay_small() {
        let mut rng = SplitMix64::new(5);
        for _ in 0..50_000 {
            let bytes: Vec<u8> = (0..rng.below(40)).map(|_| rng.next_u64() as u8).collect();
            let mut out = Vec::new();
            let _ = decode_scsu(&bytes, &mut out);
            assert!(out.len() <= 4 * bytes.len() && out.len() % 2 == 0);
        }
    }
}
