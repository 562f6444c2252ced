//! Functions of texts that need no loop of their own.

use extentdb_types::SqlType;

use crate::error::{EvalError, EvalResult};
use crate::operator::ascii::{Encoding, is_same};
use crate::operator::row::{Call, Cell, Outcome, first};
use crate::operator::{codec, number_form};

/// Turkish and Azeri: languages of the locale id whose i and I are no pair.
const DOTLESS_I: [u32; 2] = [0x1F, 0x2C];

/// Appends a text of the result's type.
fn text(call: &Call, value: &str, to: &mut Vec<u8>) -> EvalResult<Outcome> {
    codec::write(&call.result, value, to);
    Ok(Outcome::Bytes)
}

fn argument(call: &Call, cells: &[Cell<'_>], at: usize) -> String {
    let cell = cells.get(at).copied().unwrap_or(Cell::Null);
    codec::decode(call.ty(at), cell.bytes()).into_owned()
}

/// UPPER (where [`Call::number`] is 1) and LOWER: each character by itself.
pub fn change_case(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let is_upper = call.number == 1;
    let [value] = first::<1>(cells);
    let bytes = value.bytes();
    let ty = call.ty(0);
    let lcid = ty.collation().and_then(|it| it.lcid()).unwrap_or(0);
    let is_dotless = DOTLESS_I.contains(&(lcid & 0x3FF));
    if !codec::is_utf16(ty) && bytes.is_ascii() && !is_dotless {
        to.extend(bytes.iter().map(|byte| match is_upper {
            true => byte.to_ascii_uppercase(),
            false => byte.to_ascii_lowercase(),
        }));
        return Ok(Outcome::Bytes);
    }
    let is_ascii = |[low, high]: &[u8; 2]| *high == 0 && low.is_ascii();
    if codec::is_utf16(ty) && !is_dotless && bytes.as_chunks::<2>().0.iter().all(is_ascii) {
        let other = |byte: &u8| match is_upper {
            true => byte.to_ascii_uppercase(),
            false => byte.to_ascii_lowercase(),
        };
        // The high bytes are zero.
        to.extend(bytes.iter().map(other));
        return Ok(Outcome::Bytes);
    }
    if codec::is_utf16(ty) {
        let is_by_points = ty.collation().is_some_and(|it| it.is_supplementary());
        for unit in char::decode_utf16(codec::units(bytes)) {
            match unit {
                Ok(it) if is_by_points || it.len_utf16() == 1 => {
                    let other = other_case(it, is_upper, is_dotless);
                    codec::encode(ty, other.encode_utf8(&mut [0; 4]), to);
                }
                Ok(it) => codec::encode(ty, it.encode_utf8(&mut [0; 4]), to),
                Err(error) => to.extend(error.unpaired_surrogate().to_le_bytes()),
            }
        }
        return Ok(Outcome::Bytes);
    }
    let page = codec::code_page(ty);
    for it in codec::decode(ty, bytes).chars() {
        let bytes = |it: char| page.encode(it.encode_utf8(&mut [0; 4]));
        // A letter whose other case the code page lacks stays.
        let other = bytes(other_case(it, is_upper, is_dotless)).or_else(|| bytes(it));
        to.extend(other.unwrap_or_else(|| vec![b'?']));
    }
    Ok(Outcome::Bytes)
}

/// A character in its other case, where that is one character and not ASCII for another letter.
fn other_case(it: char, is_upper: bool, is_dotless: bool) -> char {
    if is_dotless {
        match (it, is_upper) {
            ('i', true) => return 'İ',
            ('ı', true) => return 'I',
            ('I', false) => return 'ı',
            ('İ', false) => return 'i',
            _ => {}
        }
    }
    let mut mapped = if is_upper {
        let mut upper = it.to_uppercase();
        upper.next().filter(|_| upper.next().is_none())
    } else {
        let mut lower = it.to_lowercase();
        lower.next().filter(|_| lower.next().is_none())
    };
    // ſ, ı and the Kelvin sign are letters of their own.
    if !it.is_ascii() {
        mapped = mapped.filter(|other| !other.is_ascii() && it != 'µ');
    }
    mapped.unwrap_or(it)
}

/// ASCII: the first byte, NULL of the empty text.
pub fn ascii(_: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [value] = first::<1>(cells);
    Ok(value.bytes().first().map_or(Outcome::Null, |byte| Outcome::Int((*byte).into())))
}

/// TRIM, LTRIM, RTRIM of given characters: the text, the characters; bits of [`Call::number`]: 1
/// left, 2 right.
pub fn trim(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [value, characters] = first::<2>(cells);
    let ty = call.ty(0);
    let encoding = Encoding::of_statement(ty);
    let unit = encoding.unit();
    let Some(collation) = ty.collation() else { return Err(EvalError::Row) };
    let has_plain_ascii = collation.has_plain_ascii(unit == 2);
    let is_trimmed = |it: &[u8]| {
        let mut all = characters.bytes().chunks(unit);
        all.any(|one| is_same(collation, encoding, has_plain_ascii, one, it))
    };
    let units: Vec<&[u8]> = value.bytes().chunks(unit).collect();
    let left =
        if call.number & 1 == 1 { units.iter().take_while(|it| is_trimmed(it)).count() } else { 0 };
    let rest = units.get(left..).unwrap_or_default();
    let right = if call.number & 2 == 2 {
        rest.iter().rev().take_while(|it| is_trimmed(it)).count()
    } else {
        0
    };
    let kept = rest.get(..rest.len() - right).unwrap_or_default();
    to.extend(kept.iter().flat_map(|it| it.iter()));
    Ok(Outcome::Bytes)
}

/// CONCAT_WS: the separator, then values of which NULL is passed over.
pub fn concat_ws(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let (separator, values) = cells.split_first().ok_or(EvalError::Row)?;
    let separator = match separator {
        Cell::Bytes(bytes) => bytes,
        _ => &[][..],
    };
    let mut is_first = true;
    for value in values.iter().filter(|value| **value != Cell::Null) {
        if !is_first {
            to.extend_from_slice(separator);
        }
        is_first = false;
        to.extend_from_slice(value.bytes());
    }
    if let Some(most) = call.result.max_bytes() {
        to.truncate(codec::whole_characters(&call.result, to, most));
    }
    Ok(Outcome::Bytes)
}

/// STR: the number, the length, the decimals.
pub fn str(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [value, length, decimals] = first::<3>(cells);
    let length = length.int();
    let decimals = decimals.int();
    if !(1..=8_000).contains(&length) || decimals < 0 {
        return Ok(Outcome::Null);
    }
    let length = length as usize;
    let decimals = decimals.min(16) as usize;
    let value = value.float();
    let exact = |decimals: usize| rounded(value, decimals);
    let whole = exact(0).len();
    if whole > length {
        return text(call, &"*".repeat(length), to);
    }
    // The point takes a place, too.
    let room = (length - whole).saturating_sub(1).min(decimals);
    let shown = exact(room);
    let shown = if shown.len() > length { exact(0) } else { shown };
    if shown.len() > length {
        return text(call, &"*".repeat(length), to);
    }
    text(call, &format!("{shown:>length$}"), to)
}

/// A float with some decimals, the half away from zero by its 17 digits.
fn rounded(value: f64, decimals: usize) -> String {
    match number_form::float_to_decimal(value, decimals as u8) {
        Ok(scaled) => {
            let mut bytes = Vec::new();
            crate::operator::number_text::write_decimal(scaled, decimals as u8, &mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        }
        Err(_) => format!("{value:.decimals$}"),
    }
}

/// QUOTENAME: the name, the quote.
pub fn quote_name(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let name = argument(call, cells, 0);
    let quote = match cells.get(1) {
        Some(_) => argument(call, cells, 1),
        None => "[".to_owned(),
    };
    let pair = match quote.chars().next().unwrap_or('[') {
        '[' | ']' => ('[', ']'),
        '(' | ')' => ('(', ')'),
        '<' | '>' => ('<', '>'),
        '{' | '}' => ('{', '}'),
        quote @ ('"' | '\'' | '`') => (quote, quote),
        _ => return Ok(Outcome::Null),
    };
    if name.encode_utf16().count() > 128 {
        return Ok(Outcome::Null);
    }
    let doubled = name.replace(pair.1, &format!("{0}{0}", pair.1));
    text(call, &format!("{}{doubled}{}", pair.0, pair.1), to)
}

/// TRANSLATE: the text, the characters, what they become.
pub fn translate(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [value, from, into] = first::<3>(cells);
    let ty = call.ty(0);
    let encoding = Encoding::of_statement(ty);
    let unit = encoding.unit();
    let Some(collation) = ty.collation() else { return Err(EvalError::Row) };
    let has_plain_ascii = collation.has_plain_ascii(unit == 2);
    if from.bytes().len() != into.bytes().len() {
        return Err(EvalError::Translate);
    }
    for it in value.bytes().chunks(unit) {
        let is_it = |one: &&[u8]| is_same(collation, encoding, has_plain_ascii, one, it);
        let place = from.bytes().chunks(unit).position(|one| is_it(&one));
        let other = place.and_then(|place| into.bytes().chunks(unit).nth(place));
        to.extend_from_slice(other.unwrap_or(it));
    }
    Ok(Outcome::Bytes)
}

/// The code of a text: its first letter and three digits.
fn soundex_of(text: &str) -> String {
    let digit = |letter: char| match letter {
        'B' | 'F' | 'P' | 'V' => Some('1'),
        'C' | 'G' | 'J' | 'K' | 'Q' | 'S' | 'X' | 'Z' => Some('2'),
        'D' | 'T' => Some('3'),
        'L' => Some('4'),
        'M' | 'N' => Some('5'),
        'R' => Some('6'),
        _ => None,
    };
    let upper = text.to_ascii_uppercase();
    let mut letters = upper.chars();
    let Some(first) = letters.next().filter(char::is_ascii_alphabetic) else {
        return "0000".to_owned();
    };
    let mut code = String::from(first);
    let mut last = digit(first);
    for letter in letters.take_while(char::is_ascii_alphabetic) {
        let own = digit(letter);
        if let Some(digit) = own
            && own != last
        {
            code.push(digit);
        }
        // H and W do not part two letters of one digit.
        if !matches!(letter, 'H' | 'W') {
            last = own;
        }
        if code.len() == 4 {
            break;
        }
    }
    format!("{code:0<4}")
}

/// SOUNDEX.
pub fn soundex(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    text(call, &soundex_of(&argument(call, cells, 0)), to)
}

/// DIFFERENCE: how many characters of two SOUNDEX codes are the same.
pub fn difference(call: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let a = soundex_of(&argument(call, cells, 0));
    let b = soundex_of(&argument(call, cells, 1));
    let same = a.chars().zip(b.chars()).filter(|(a, b)| a == b).count();
    Ok(Outcome::Int(same as i64))
}

/// STRING_ESCAPE for JSON: the text, the kind.
pub fn string_escape(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    if !argument(call, cells, 1).trim_end().eq_ignore_ascii_case("json") {
        return Err(EvalError::Value);
    }
    let escaped = super::json_text::escaped(&argument(call, cells, 0));
    text(call, &escaped, to)
}

/// PARSENAME: the name, the part from the right.
pub fn parse_name(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let name = argument(call, cells, 0);
    let [_, part] = first::<2>(cells);
    let Some(parts) = name_parts(&name) else { return Ok(Outcome::Null) };
    let place = usize::try_from(part.int() - 1).ok();
    match place.and_then(|place| parts.iter().rev().nth(place)) {
        Some(part) if !part.is_empty() => text(call, part, to),
        _ => Ok(Outcome::Null),
    }
}

/// Up to four parts of a name, each perhaps delimited; `None` where it is none.
fn name_parts(name: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = name;
    loop {
        let (part, after) = match rest.chars().next() {
            Some(open @ ('[' | '"')) => {
                let close = if open == '[' { ']' } else { '"' };
                delimited(rest.get(1..)?, close)?
            }
            _ => {
                let end = rest.find('.').unwrap_or(rest.len());
                (rest.get(..end)?.trim().to_owned(), rest.get(end..)?)
            }
        };
        parts.push(part);
        match after.strip_prefix('.') {
            Some(next) => rest = next,
            None if after.is_empty() => break,
            None => return None,
        }
    }
    (parts.len() <= 4 && parts.iter().all(|part| part.encode_utf16().count() <= 128))
        .then_some(parts)
}

fn delimited(text: &str, close: char) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut rest = text;
    loop {
        let end = rest.find(close)?;
        part.push_str(rest.get(..end)?);
        rest = rest.get(end + close.len_utf8()..)?;
        match rest.strip_prefix(close) {
            Some(after) => {
                part.push(close);
                rest = after;
            }
            None => return Some((part, rest)),
        }
    }
}

/// DATALENGTH of a value whose length is not that of its lane's bytes.
pub fn fixed_length(call: &Call, _: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let ty = call.ty(0);
    let len = if *ty == SqlType::Bit { 1 } else { ty.fixed_bytes().unwrap_or(0) };
    Ok(Outcome::Int(len as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soundex_follows_its_table() {
        let cases = [
            ("Smith", "S530"),
            ("Smythe", "S530"),
            ("Green", "G650"),
            ("Greene", "G650"),
            ("Robert", "R163"),
            ("Ashcraft", "A261"),
            ("", "0000"),
            ("1a", "0000"),
        ];
        for (text, expected) in cases {
            assert_eq!(soundex_of(text), expected, "{text}");
        }
    }

    #[test]
    fn letters_change_case_one_by_one() {
        for (lower, upper) in [('é', 'É'), ('ÿ', 'Ÿ'), ('ж', 'Ж'), ('ω', 'Ω')] {
            assert_eq!(other_case(lower, true, false), upper);
            assert_eq!(other_case(upper, false, false), lower);
        }
        for same in ['ß', 'µ', 'ı', '1'] {
            assert_eq!(other_case(same, true, false), same);
        }
        assert_eq!(other_case('i', true, true), 'İ');
        assert_eq!(other_case('I', false, true), 'ı');
    }

    #[test]
    fn names_have_up_to_four_parts() {
        let parts = |name| name_parts(name).map(|parts| parts.join("|"));
        assert_eq!(parts("a.b.c.d"), Some("a|b|c|d".to_owned()));
        assert_eq!(parts("[a.b].\"c\"\"d\""), Some("a.b|c\"d".to_owned()));
        assert_eq!(parts("a..c"), Some("a||c".to_owned()));
        assert_eq!(parts("a.b.c.d.e"), None);
        assert_eq!(parts("[a"), None);
    }
}
