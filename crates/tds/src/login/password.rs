//! Passwords of LOGIN7: obfuscated on the wire, which is no protection.
//!
//! ```text
//! clear UTF-16LE byte ── swap nibbles, XOR 0xA5 ──▶ wire byte
//! ```

use std::fmt;

use crate::text::Utf16;

const MASK: u8 = 0xA5;

/// A byte of a password as LOGIN7 holds it.
#[must_use]
pub fn obfuscate(byte: u8) -> u8 {
    byte.rotate_left(4) ^ MASK
}

/// The byte behind one of LOGIN7.
#[must_use]
pub fn reveal(byte: u8) -> u8 {
    (byte ^ MASK).rotate_left(4)
}

/// A password in clear text. It is not printed.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Password {
    text: String,
}

impl Password {
    /// A password to send.
    #[must_use]
    pub fn new(text: &str) -> Password {
        Password { text: text.to_owned() }
    }

    pub(super) fn reveal(wire: &[u8]) -> Password {
        let clear: Vec<u8> = wire.iter().map(|byte| reveal(*byte)).collect();
        Password { text: Utf16::from_bytes(&clear).to_string() }
    }

    /// The clear text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// No password.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn to_wire(&self) -> Vec<u8> {
        self.text.encode_utf16().flat_map(u16::to_le_bytes).map(obfuscate).collect()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "(none)" } else { "(hidden)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_revealed_again() {
        for byte in 0..=255 {
            assert_eq!(reveal(obfuscate(byte)), byte);
        }
        // 'a' 0x61 → 0x16 → 0xB3; a zero byte → 0xA5.
        assert_eq!(Password::new("a").to_wire(), [0xB3, 0xA5]);
    }

    #[test]
    fn a_password_does_not_show_in_a_log() {
        assert_eq!(format!("{:?}", Password::new("secret")), "(hidden)");
        assert_eq!(format!("{:?}", Password::default()), "(none)");
    }
}
