//! Texts between their bytes and Unicode, for statements: every byte and every character has a
//! counterpart.
//!
//! A character that a code page lacks becomes its best fit (a letter without its accent, a narrow
//! form of a wide one) or `?`, as a conversion of the product does.

use std::borrow::Cow;

use extentdb_types::text::CharDecoder;
use extentdb_types::{CodePage, SqlType};

use crate::type_facts;

/// Code page of a char type.
pub fn code_page(ty: &SqlType) -> CodePage {
    ty.collation().and_then(|collation| collation.code_page()).unwrap_or(CodePage::Unknown)
}

/// nchar, nvarchar, ntext.
pub(crate) fn is_utf16(ty: &SqlType) -> bool {
    type_facts::is_wide_text(ty) || matches!(ty, SqlType::NText { .. })
}

/// The text of stored bytes; what is no character becomes U+FFFD.
pub fn decode<'a>(ty: &SqlType, bytes: &'a [u8]) -> Cow<'a, str> {
    if is_utf16(ty) {
        return Cow::Owned(String::from_utf16_lossy(&units(bytes)));
    }
    if bytes.is_ascii() {
        return String::from_utf8_lossy(bytes);
    }
    let mut decoder = CharDecoder::new(code_page(ty));
    let mut text = String::with_capacity(bytes.len());
    decoder.push(bytes, &mut text);
    decoder.finish(&mut text);
    Cow::Owned(text)
}

/// The code units of UTF-16LE bytes.
pub(crate) fn units(bytes: &[u8]) -> Vec<u16> {
    bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect()
}

/// Appends a text as a type stores it, of any length.
pub fn encode(ty: &SqlType, text: &str, to: &mut Vec<u8>) {
    if is_utf16(ty) {
        to.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    } else {
        narrow(code_page(ty), text, to);
    }
}

fn narrow(page: CodePage, text: &str, to: &mut Vec<u8>) {
    if let Some(bytes) = page.encode(text) {
        to.extend(bytes);
        return;
    }
    let mut small = [0; 4];
    for character in text.chars() {
        let mut bytes = |character: char| page.encode(character.encode_utf8(&mut small));
        match bytes(character).or_else(|| best_fit(character).and_then(bytes)) {
            Some(bytes) => to.extend(bytes),
            // A question mark for each code unit.
            None => to.extend(std::iter::repeat_n(b'?', character.len_utf16())),
        }
    }
}

/// Appends the bytes of code units in a code page.
pub(crate) fn narrow_units(page: CodePage, bytes: &[u8], to: &mut Vec<u8>) {
    let is_ascii = |[low, high]: &[u8; 2]| *high == 0 && low.is_ascii();
    let (pairs, _) = bytes.as_chunks::<2>();
    if pairs.iter().all(is_ascii) {
        to.extend(pairs.iter().map(|[low, _]| *low));
    } else {
        narrow(page, &String::from_utf16_lossy(&units(bytes)), to);
    }
}

/// Latin letters of U+0100 to U+017F without their accents.
const PLAIN_LETTERS: &[u8; 128] =
    b"AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIi??JjKk?LlLlLl?\
?LlNnNnNn???OoOoOo??RrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZz?";

/// The nearest character for code pages that lack one.
fn best_fit(character: char) -> Option<char> {
    let code = u32::from(character);
    let letter = |at: u32| PLAIN_LETTERS.get(at as usize).map(|byte| char::from(*byte));
    match code {
        0x0C0..=0x0FF => latin1_letter(character),
        0x100..=0x17F => letter(code - 0x100).filter(|it| *it != '?'),
        0x2000..=0x200A | 0x3000 => Some(' '),
        0x2010..=0x2015 | 0x2212 => Some('-'),
        0x2018..=0x201B | 0x2032 | 0x02B9 | 0x02BC | 0x02C8 => Some('\''),
        0x201C..=0x201F | 0x2033 | 0x02BA => Some('"'),
        0x2035 | 0x02CB => Some('`'),
        0x2044 | 0x2215 => Some('/'),
        0x2236 => Some(':'),
        0x221E => Some('8'),
        0x2303 | 0x02C4 => Some('^'),
        0x223C | 0x02DC => Some('~'),
        // Wide forms of ASCII.
        0xFF01..=0xFF5E => char::from_u32(code - 0xFEE0),
        _ => None,
    }
}

/// Letters of Latin-1, for code pages that have not all of them.
fn latin1_letter(character: char) -> Option<char> {
    Some(match character {
        'À'..='Å' => 'A',
        'Ç' => 'C',
        'È'..='Ë' => 'E',
        'Ì'..='Ï' => 'I',
        'Ñ' => 'N',
        'Ò'..='Ö' | 'Ø' => 'O',
        'Ù'..='Ü' => 'U',
        'Ý' => 'Y',
        'à'..='å' => 'a',
        'ç' => 'c',
        'è'..='ë' => 'e',
        'ì'..='ï' => 'i',
        'ñ' => 'n',
        'ò'..='ö' | 'ø' => 'o',
        'ù'..='ü' => 'u',
        'ý' | 'ÿ' => 'y',
        _ => return None,
    })
}

/// Bytes of a whole number of characters, at most `most`.
pub(crate) fn whole_characters(ty: &SqlType, bytes: &[u8], most: usize) -> usize {
    if bytes.len() <= most {
        return bytes.len();
    }
    if is_utf16(ty) {
        let is_split = ty.collation().is_some_and(|collation| collation.is_supplementary())
            && matches!(bytes.get(most - most % 2 + 1), Some(0xDC..=0xDF))
            && matches!(bytes.get((most - most % 2).wrapping_sub(1)), Some(0xD8..=0xDB));
        return most - most % 2 - if is_split { 2 } else { 0 };
    }
    match code_page(ty) {
        CodePage::Utf8 => {
            let is_inner = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0xC0 == 0x80);
            (0..=most).rev().find(|at| !is_inner(at)).unwrap_or(0)
        }
        page if page.is_double_byte() => {
            // The part is cut before a lead byte without its trail.
            let part = bytes.get(..most).unwrap_or_default();
            let mut decoder = CharDecoder::new(page);
            decoder.push(part, &mut String::new());
            most - usize::from(decoder.finish(&mut String::new()) > 0 && ends_in_lead(part))
        }
        _ => most,
    }
}

fn ends_in_lead(part: &[u8]) -> bool {
    part.last().is_some_and(|byte| *byte >= 0x81)
}

/// Appends a text as a value of a text type: cut to its length, padded for char and nchar.
pub fn write(ty: &SqlType, text: &str, to: &mut Vec<u8>) {
    let start = to.len();
    encode(ty, text, to);
    let Some(most) = ty.max_bytes() else { return };
    let written = to.get(start..).unwrap_or_default();
    let kept = whole_characters(ty, written, most);
    to.truncate(start + kept);
    pad(ty, start, to);
}

/// Pads char, nchar and binary values that begin at `start`.
pub(crate) fn pad(ty: &SqlType, start: usize, to: &mut Vec<u8>) {
    let Some(most) = ty.max_bytes().filter(|_| type_facts::is_padded(ty)) else { return };
    let pad: &[u8] = match ty {
        SqlType::NChar { .. } => b" \0",
        SqlType::Char { .. } => b" ",
        _ => &[0],
    };
    let missing = (start + most).saturating_sub(to.len());
    to.extend(pad.iter().cycle().take(missing));
}

#[cfg(test)]
mod tests {
    use extentdb_types::Collation;

    use super::*;

    fn varchar(collation: &str) -> SqlType {
        SqlType::VarChar {
            len: Some(20),
            collation: Collation::from_name(collation).unwrap(),
        }
    }

    #[test]
    fn a_missing_character_becomes_its_best_fit() {
        let ty = varchar("SQL_Latin1_General_CP1_CI_AS");
        let cases: [(&str, &[u8]); 5] =
            [("é", b"\xE9"), ("ā–ł", b"a\x96l"), ("ＡＢ", b"AB"), ("日", b"?"), ("😀", b"??")];
        for (text, expected) in cases {
            let mut bytes = Vec::new();
            encode(&ty, text, &mut bytes);
            assert_eq!(bytes, expected, "{text}");
        }
        assert_eq!(PLAIN_LETTERS[0x42], b'l', "U+0142");
        assert_eq!(PLAIN_LETTERS[0x7E], b'z', "U+017E");
    }

    #[test]
    fn a_cut_never_parts_a_character() {
        let japanese = varchar("Japanese_CI_AS");
        let text = b"a\x93\xFA\x96\x7B";
        for (most, expected) in [(5, 5), (4, 3), (3, 3), (2, 1), (1, 1), (0, 0)] {
            assert_eq!(whole_characters(&japanese, text, most), expected, "{most}");
        }
        let collation = Collation::from_name("Latin1_General_100_CI_AS_SC").unwrap();
        let wide = SqlType::NVarChar { len: Some(20), collation };
        let text: Vec<u8> = "a😀b".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (most, expected) in [(8, 8), (6, 6), (4, 2), (2, 2)] {
            assert_eq!(whole_characters(&wide, &text, most), expected, "{most}");
        }
    }
}
