//! Bytes in hex, sixteen on a line, with their characters.

use std::fmt::Write;

/// Bytes of a line.
const LINE: usize = 16;

/// A dump whose offsets begin at `start`.
pub(super) fn dump(bytes: &[u8], start: usize) -> String {
    let mut out = String::with_capacity(bytes.len() * 5);
    for (line, chunk) in bytes.chunks(LINE).enumerate() {
        let mut words = String::new();
        for word in chunk.chunks(4) {
            word.iter().for_each(|byte| push_hex(&mut words, *byte));
            words.push(' ');
        }
        let characters: String = chunk.iter().map(|byte| character(*byte)).collect();
        // Writing to a string does not fail.
        let _ = writeln!(out, "{:04x}:   {words:37}{characters}", start + line * LINE);
    }
    out
}

/// Bytes as one word: `0x30000800`.
pub(super) fn word(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 + 2 * bytes.len());
    out.push_str("0x");
    bytes.iter().for_each(|byte| push_hex(&mut out, *byte));
    out
}

fn push_hex(out: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(char::from(DIGITS[usize::from(byte >> 4)]));
    out.push(char::from(DIGITS[usize::from(byte & 15)]));
}

fn character(byte: u8) -> char {
    if matches!(byte, 0x20..=0x7e) { char::from(byte) } else { '.' }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_has_offsets_words_and_characters() {
        let text = dump(b"0\0\x08\0Speedy Express!", 0x60);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "0060:   30000800 53706565 64792045 78707265  0...Speedy Expre");
        assert_eq!(lines[1], "0070:   737321                               ss!");
        assert_eq!(word(&[0x30, 0, 0xab]), "0x3000ab");
    }
}
