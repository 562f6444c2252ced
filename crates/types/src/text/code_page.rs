//! The code pages a char column can have.
//!
//! | code pages | decoder |
//! | --- | --- |
//! | 437, 850 | own tables |
//! | 874, 1250–1258 | encoding_rs; bytes without a character in 125x map to the control of the same number where Windows does so |
//! | 932, 936, 949, 950 | encoding_rs for the pairs, cut by our own ranges; user-defined characters as Windows maps them |
//! | 65001 | UTF-8 |
//! | unknown | ASCII; every other byte is replaced and counted |

use super::oem;

/// A code page by its Windows number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "variants are the numbers of the code pages")]
pub enum CodePage {
    /// The collation id does not say. Only ASCII is certain.
    Unknown,
    Cp437,
    Cp850,
    Cp874,
    Cp932,
    Cp936,
    Cp949,
    Cp950,
    Cp1250,
    Cp1251,
    Cp1252,
    Cp1253,
    Cp1254,
    Cp1255,
    Cp1256,
    Cp1257,
    Cp1258,
    Utf8,
}

/// How a code page is decoded.
pub(super) enum Scheme {
    Ascii,
    Table(&'static [char; 128]),
    SingleByte(&'static encoding_rs::Encoding),
    DoubleByte(&'static encoding_rs::Encoding),
    Utf8,
}

const NUMBERS: [(u16, CodePage); 17] = [
    (437, CodePage::Cp437),
    (850, CodePage::Cp850),
    (874, CodePage::Cp874),
    (932, CodePage::Cp932),
    (936, CodePage::Cp936),
    (949, CodePage::Cp949),
    (950, CodePage::Cp950),
    (1250, CodePage::Cp1250),
    (1251, CodePage::Cp1251),
    (1252, CodePage::Cp1252),
    (1253, CodePage::Cp1253),
    (1254, CodePage::Cp1254),
    (1255, CodePage::Cp1255),
    (1256, CodePage::Cp1256),
    (1257, CodePage::Cp1257),
    (1258, CodePage::Cp1258),
    (65001, CodePage::Utf8),
];

impl CodePage {
    /// The code page of a Windows number.
    #[must_use]
    pub fn from_number(number: u16) -> Option<CodePage> {
        NUMBERS.iter().find(|(known, _)| *known == number).map(|(_, code_page)| *code_page)
    }

    /// The Windows number; `None` for [`CodePage::Unknown`].
    #[must_use]
    pub fn number(self) -> Option<u16> {
        NUMBERS.iter().find(|(_, known)| *known == self).map(|(number, _)| *number)
    }

    /// Does a character take one or two bytes here, with lead bytes?
    #[must_use]
    pub fn is_double_byte(self) -> bool {
        matches!(self, CodePage::Cp932 | CodePage::Cp936 | CodePage::Cp949 | CodePage::Cp950)
    }

    pub(super) fn scheme(self) -> Scheme {
        match self {
            CodePage::Unknown => Scheme::Ascii,
            CodePage::Cp437 => Scheme::Table(&oem::CP437),
            CodePage::Cp850 => Scheme::Table(&oem::CP850),
            CodePage::Cp874 => Scheme::SingleByte(encoding_rs::WINDOWS_874),
            CodePage::Cp932 => Scheme::DoubleByte(encoding_rs::SHIFT_JIS),
            CodePage::Cp936 => Scheme::DoubleByte(encoding_rs::GBK),
            CodePage::Cp949 => Scheme::DoubleByte(encoding_rs::EUC_KR),
            CodePage::Cp950 => Scheme::DoubleByte(encoding_rs::BIG5),
            CodePage::Cp1250 => Scheme::SingleByte(encoding_rs::WINDOWS_1250),
            CodePage::Cp1251 => Scheme::SingleByte(encoding_rs::WINDOWS_1251),
            CodePage::Cp1252 => Scheme::SingleByte(encoding_rs::WINDOWS_1252),
            CodePage::Cp1253 => Scheme::SingleByte(encoding_rs::WINDOWS_1253),
            CodePage::Cp1254 => Scheme::SingleByte(encoding_rs::WINDOWS_1254),
            CodePage::Cp1255 => Scheme::SingleByte(encoding_rs::WINDOWS_1255),
            CodePage::Cp1256 => Scheme::SingleByte(encoding_rs::WINDOWS_1256),
            CodePage::Cp1257 => Scheme::SingleByte(encoding_rs::WINDOWS_1257),
            CodePage::Cp1258 => Scheme::SingleByte(encoding_rs::WINDOWS_1258),
            CodePage::Utf8 => Scheme::Utf8,
        }
    }

    fn is_lead(self, byte: u8) -> bool {
        match self {
            CodePage::Cp932 => matches!(byte, 0x81..=0x9F | 0xE0..=0xFC),
            CodePage::Cp936 | CodePage::Cp949 | CodePage::Cp950 => matches!(byte, 0x81..=0xFE),
            _ => false,
        }
    }

    /// Do these two bytes form one character?
    pub(super) fn takes_trail(self, lead: u8, trail: u8) -> bool {
        let is_trail = match self {
            CodePage::Cp932 => matches!(trail, 0x40..=0x7E | 0x80..=0xFC),
            CodePage::Cp936 => matches!(trail, 0x40..=0x7E | 0x80..=0xFE),
            CodePage::Cp949 => matches!(trail, 0x41..=0x5A | 0x61..=0x7A | 0x81..=0xFE),
            CodePage::Cp950 => matches!(trail, 0x40..=0x7E | 0xA1..=0xFE),
            _ => false,
        };
        is_trail && self.is_lead(lead)
    }

    /// Bytes of the first character: 1 or 2 (0 for no bytes).
    pub(super) fn character_len(self, bytes: &[u8]) -> usize {
        match bytes {
            [] => 0,
            [lead, trail, ..] if self.takes_trail(*lead, *trail) => 2,
            _ => 1,
        }
    }

    /// How many of the bytes are whole characters: all, or all but a lead byte at the end.
    pub(super) fn whole_characters(self, bytes: &[u8]) -> usize {
        // A byte below 0x40 is never part of a pair: characters start over after the last one.
        let mut at = bytes.iter().rposition(|byte| *byte < 0x40).unwrap_or(0);
        while at < bytes.len() {
            let len = self.character_len(&bytes[at..]);
            if at + 1 == bytes.len() && self.is_lead(bytes[at]) {
                return at;
            }
            at += len;
        }
        bytes.len()
    }

    /// A character (one or two bytes) that Windows maps in its own way, U+FFFD for a lead byte
    /// without trail.
    pub(super) fn special(self, character: &[u8]) -> Option<char> {
        match *character {
            [lead] if self.is_lead(lead) => Some(char::REPLACEMENT_CHARACTER),
            [byte @ (0xA0 | 0xFD..=0xFF)] if self == CodePage::Cp932 => cp932_reserved(byte),
            [lead, trail] => user_defined(self, lead, trail),
            _ => None,
        }
    }

    /// The text in this code page, or `None` when a character has no bytes here.
    #[must_use]
    pub fn encode(self, text: &str) -> Option<Vec<u8>> {
        match self.scheme() {
            _ if text.is_ascii() => Some(text.as_bytes().to_vec()),
            Scheme::Ascii => None,
            Scheme::Utf8 => Some(text.as_bytes().to_vec()),
            Scheme::Table(high) => {
                text.chars().map(|character| table_byte(high, character)).collect()
            }
            Scheme::SingleByte(encoding) | Scheme::DoubleByte(encoding) => {
                self.encode_checked(encoding, text)
            }
        }
    }

    /// Encodes with encoding_rs and accepts only what decodes to the same text.
    fn encode_checked(
        self,
        encoding: &'static encoding_rs::Encoding,
        text: &str,
    ) -> Option<Vec<u8>> {
        let (bytes, _, had_errors) = encoding.encode(text);
        if had_errors {
            return None;
        }
        let bytes = bytes.into_owned();
        let mut decoder = super::CharDecoder::new(self);
        let mut back = String::with_capacity(text.len());
        decoder.push(&bytes, &mut back);
        (decoder.finish(&mut back) == 0 && back == text).then_some(bytes)
    }
}

fn table_byte(high: &[char; 128], character: char) -> Option<u8> {
    if character.is_ascii() {
        return Some(character as u8);
    }
    high.iter().position(|&known| known == character).map(|at| at as u8 + 128)
}

/// Four bytes without a character that Windows maps to the private use area.
fn cp932_reserved(byte: u8) -> Option<char> {
    let private_use = if byte == 0xA0 { 0 } else { u32::from(byte - 0xFC) };
    char::from_u32(0xF8F0 + private_use)
}

/// User-defined characters: Windows maps their ranges to the private use area, one after the other.
fn user_defined(code_page: CodePage, lead: u8, trail: u8) -> Option<char> {
    let lead = u32::from(lead);
    let trail = u32::from(trail);
    // Place of the trail byte among the trails of its page, and how many there are.
    let private_use = |first_row: u32, first: u32, per_row: u32, trail_index: u32| {
        char::from_u32(first + (lead - first_row) * per_row + trail_index)
    };
    match code_page {
        CodePage::Cp949 if matches!(lead, 0xC9 | 0xFE) && trail >= 0xA1 => {
            private_use(lead, if lead == 0xC9 { 0xE000 } else { 0xE05E }, 94, trail - 0xA1)
        }
        CodePage::Cp950 => {
            let trail_index = if trail >= 0xA1 { trail - 0xA1 + 63 } else { trail - 0x40 };
            match lead {
                0xFA..=0xFE => private_use(0xFA, 0xE000, 157, trail_index),
                0x8E..=0xA0 => private_use(0x8E, 0xE311, 157, trail_index),
                0x81..=0x8D => private_use(0x81, 0xEEB8, 157, trail_index),
                // Row C6 is half user-defined: it starts at its 64th trail byte.
                0xC6 if trail >= 0xA1 => private_use(0xC6, 0xF6B1, 157, trail_index - 63),
                0xC7..=0xC8 => private_use(0xC7, 0xF6B1 + 94, 157, trail_index),
                _ => None,
            }
        }
        _ => None,
    }
}
