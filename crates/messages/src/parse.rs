//! Cutting text at compile time: the few steps that both data files need.
//!
//! Everything here is `const fn`, so a malformed file stops the build and nothing is parsed when
//! the program runs. `str::split_once` and friends are not `const` yet; hence the loops over bytes.

/// Cuts at the first `separator`, which belongs to neither half; without one the second half is
/// empty.
pub(crate) const fn split_once(text: &'static str, separator: u8) -> (&'static str, &'static str) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == separator {
            return (text.split_at(at).0, text.split_at(at + 1).1);
        }
        at += 1;
    }
    (text, "")
}

/// What follows `prefix`, when the text begins with it.
pub(crate) const fn strip_prefix(text: &'static str, prefix: &str) -> Option<&'static str> {
    let bytes = text.as_bytes();
    let wanted = prefix.as_bytes();
    if bytes.len() < wanted.len() {
        return None;
    }
    let mut at = 0;
    while at < wanted.len() {
        if bytes[at] != wanted[at] {
            return None;
        }
        at += 1;
    }
    Some(text.split_at(wanted.len()).1)
}

/// A decimal number that fills the whole text.
pub(crate) const fn number(text: &str) -> u32 {
    match u32::from_str_radix(text, 10) {
        Ok(number) => number,
        Err(_) => panic!("a number was expected"),
    }
}

/// Number of lines that begin with `prefix`; with an empty prefix, of lines that are neither empty
/// nor comments.
pub(crate) const fn count_lines(mut text: &'static str, prefix: &str) -> usize {
    let mut count = 0;
    while !text.is_empty() {
        let (line, rest) = split_once(text, b'\n');
        let counted = if prefix.is_empty() {
            !is_comment(line)
        } else {
            strip_prefix(line, prefix).is_some()
        };
        if counted {
            count += 1;
        }
        text = rest;
    }
    count
}

/// True for empty lines and for those that begin with `#`.
pub(crate) const fn is_comment(line: &str) -> bool {
    line.is_empty() || line.as_bytes()[0] == b'#'
}
