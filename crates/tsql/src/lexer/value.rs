//! Values of tokens: names and strings without their delimiters, the bytes of binary literals.

/// The text of a string or delimited name: without prefix and delimiters, doubled delimiters once,
/// and in strings without backslashes that continue a line.
#[must_use]
pub fn delimited_value(text: &str) -> String {
    let text = text.strip_prefix(['N', 'n']).unwrap_or(text);
    let mut chars = text.chars();
    let (Some(open), Some(_)) = (chars.next(), chars.next_back()) else { return String::new() };
    let inner = chars.as_str();
    match open {
        '[' => inner.replace("]]", "]"),
        '"' => continued(inner).replace("\"\"", "\""),
        _ => continued(inner).replace("''", "'"),
    }
}

/// Joins lines that end with a backslash.
fn continued(text: &str) -> String {
    if text.contains('\\') {
        text.replace("\\\r\n", "").replace("\\\n", "")
    } else {
        text.to_owned()
    }
}

/// The bytes of a binary literal; an odd digit count has a leading zero.
#[must_use]
pub fn binary_value(text: &str) -> Vec<u8> {
    let is_digit = |byte: &u8| byte.is_ascii_hexdigit();
    let digits: Vec<u8> = text.bytes().skip(2).filter(is_digit).map(nibble).collect();
    let (first, pairs) = digits.split_at(digits.len() % 2);
    let mut bytes = first.to_vec();
    bytes.extend(pairs.as_chunks::<2>().0.iter().map(|[high, low]| high << 4 | low));
    bytes
}

fn nibble(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit.wrapping_sub(b'A').wrapping_add(10) & 0x0f,
    }
}
