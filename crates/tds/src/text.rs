//! UTF-16LE text of the protocol: names and statements.
//!
//! ```text
//! B_VARCHAR   count of code units u8,  the code units
//! US_VARCHAR  count of code units u16, the code units
//! ```

use std::fmt;

use extentdb_types::NText;

use crate::error::EncodeError;

/// UTF-16LE text, borrowed from the message. Unpaired surrogates are kept; printed as U+FFFD.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Utf16<'a> {
    bytes: &'a [u8],
}

impl<'a> Utf16<'a> {
    /// The text of UTF-16LE bytes; a last odd byte is not part of it.
    #[must_use]
    pub fn from_bytes(bytes: &'a [u8]) -> Utf16<'a> {
        let even = bytes.len() & !1;
        Utf16 { bytes: bytes.get(..even).unwrap_or(bytes) }
    }

    /// The bytes as they came.
    #[must_use]
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Number of code units.
    #[must_use]
    pub fn len(self) -> usize {
        self.bytes.len() / 2
    }

    /// No text at all.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// The code units.
    pub fn units(self) -> impl Iterator<Item = u16> + 'a {
        self.bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair))
    }

    /// The characters; an unpaired surrogate is U+FFFD.
    pub fn chars(self) -> impl Iterator<Item = char> + 'a {
        char::decode_utf16(self.units()).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// The same text as a value.
    #[must_use]
    pub fn to_ntext(self) -> NText<'a> {
        NText { bytes: self.bytes.into() }
    }

    /// Compares with an ASCII name, letters in any case.
    #[must_use]
    pub fn eq_ignore_ascii_case(self, name: &str) -> bool {
        let same = |(unit, byte): (u16, u8)| {
            u8::try_from(unit).is_ok_and(|unit| unit.eq_ignore_ascii_case(&byte))
        };
        self.len() == name.len() && self.units().zip(name.bytes()).all(same)
    }
}

impl fmt::Display for Utf16<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chars().try_for_each(|character| fmt::Write::write_char(f, character))
    }
}

impl fmt::Debug for Utf16<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// Appends the code units of a text.
pub(crate) fn write_units(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() * 2);
    if text.is_ascii() {
        out.extend(text.bytes().flat_map(|byte| [byte, 0]));
    } else {
        out.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    }
}

/// Appends a B_VARCHAR.
pub(crate) fn write_b_varchar(
    field: &'static str,
    text: &str,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let found = text.encode_utf16().count();
    let too_long = EncodeError::Name { field, found, max: u8::MAX.into() };
    out.push(u8::try_from(found).map_err(|_| too_long)?);
    write_units(text, out);
    Ok(())
}

/// Appends a US_VARCHAR.
pub(crate) fn write_us_varchar(
    field: &'static str,
    text: &str,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let found = text.encode_utf16().count();
    let too_long = EncodeError::Name { field, found, max: u16::MAX.into() };
    out.extend(u16::try_from(found).map_err(|_| too_long)?.to_le_bytes());
    write_units(text, out);
    Ok(())
}

/// The longest beginning of `text` that has at most `units` code units.
pub(crate) fn shortened(text: &str, units: usize) -> &str {
    if text.len() <= units {
        return text;
    }
    let mut left = units;
    for (at, character) in text.char_indices() {
        let Some(rest) = left.checked_sub(character.len_utf16()) else {
            return text.get(..at).unwrap_or("");
        };
        left = rest;
    }
    text
}

/// Takes text as a formatter does and appends it as UTF-16LE.
pub(crate) struct UnitWriter<'o> {
    pub(crate) out: &'o mut Vec<u8>,
}

impl fmt::Write for UnitWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write_units(text, self.out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_compare_in_any_case_of_letters() {
        let bytes: Vec<u8> = "sp_Who".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let name = Utf16::from_bytes(&bytes);
        assert!(name.eq_ignore_ascii_case("SP_WHO"));
        assert!(!name.eq_ignore_ascii_case("sp_who2"));
        assert_eq!(format!("{name:?}"), "\"sp_Who\"");
        assert_eq!(Utf16::from_bytes(&[0, 0xD8]).to_string(), "\u{FFFD}");
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(shortened("abc", 2), "ab");
        assert_eq!(shortened("aé", 2), "aé");
        assert_eq!(shortened("😀😀", 3), "😀");
        assert_eq!(shortened("", 0), "");
    }

    #[test]
    fn a_name_that_its_length_byte_cannot_count_is_refused() {
        let mut out = Vec::new();
        let name = "n".repeat(256);
        let error = write_b_varchar("column name", &name, &mut out).unwrap_err();
        assert_eq!(error, EncodeError::Name { field: "column name", found: 256, max: 255 });
        assert!(out.is_empty());
    }
}
