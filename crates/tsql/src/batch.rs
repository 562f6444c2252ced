//! Batches: the text between lines that say `GO`.
//!
//! `GO` is a word of client programs; the server never sees it. It stands alone on its line, with
//! an optional count, an optional semicolon and an optional comment, and not inside a string, a
//! delimited name or a comment.

/// A batch of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch<'a> {
    /// Its text, without the `GO`.
    pub text: &'a str,
    /// Offset of its first byte in the script.
    pub offset: usize,
    /// Line of its first byte in the script, counted from 1.
    pub line: u32,
    /// How often it is sent: the number after `GO`, else 1.
    pub count: u32,
}

/// The batches of a script; those of blanks only are left out.
pub fn batches(script: &str) -> impl Iterator<Item = Batch<'_>> {
    let mut splitter = Splitter { script, at: 0, line: 1 };
    std::iter::from_fn(move || splitter.next())
        .filter(|batch| !batch.text.trim_start_matches('\u{feff}').trim().is_empty())
}

struct Splitter<'a> {
    script: &'a str,
    at: usize,
    line: u32,
}

/// What a line begins in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Code,
    /// A comment, with as many around it.
    Comment(u32),
    /// A string or name that ends with this byte.
    Delimited(u8),
}

impl<'a> Splitter<'a> {
    fn next(&mut self) -> Option<Batch<'a>> {
        let start = self.at;
        let line = self.line;
        let rest = self.script.get(start..).filter(|rest| !rest.is_empty())?;
        let mut inside = Inside::Code;
        for text in rest.split_inclusive('\n') {
            let before = self.at;
            self.at += text.len();
            self.line += 1;
            if inside == Inside::Code
                && let Some(count) = separator(text)
            {
                let text = self.script.get(start..before).unwrap_or_default();
                return Some(Batch { text, offset: start, line, count });
            }
            inside = after_line(inside, text.as_bytes());
        }
        Some(Batch { text: rest, offset: start, line, count: 1 })
    }
}

/// The count of a line that is a separator.
fn separator(line: &str) -> Option<u32> {
    let line = line.trim().trim_start_matches('\u{feff}');
    let rest = line.get(2..).filter(|_| line.is_char_boundary(2))?;
    let is_go = line.get(..2).is_some_and(|word| word.eq_ignore_ascii_case("go"));
    if !is_go || rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let rest = rest.split("--").next().unwrap_or_default().trim();
    let rest = rest.strip_suffix(';').unwrap_or(rest).trim_end();
    if rest.is_empty() { Some(1) } else { rest.parse().ok() }
}

/// What the next line begins in.
fn after_line(mut inside: Inside, line: &[u8]) -> Inside {
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        let next = line.get(at + 1).copied().unwrap_or_default();
        let (then, width) = step(inside, *byte, next);
        if inside == Inside::Code && *byte == b'-' && next == b'-' {
            return inside;
        }
        inside = then;
        at += width;
    }
    inside
}

/// What follows a byte is inside of, and how many bytes that took.
fn step(inside: Inside, byte: u8, next: u8) -> (Inside, usize) {
    match (inside, byte, next) {
        (Inside::Comment(1), b'*', b'/') => (Inside::Code, 2),
        (Inside::Comment(depth), b'*', b'/') => (Inside::Comment(depth - 1), 2),
        (Inside::Comment(depth), b'/', b'*') => (Inside::Comment(depth + 1), 2),
        (Inside::Code, b'/', b'*') => (Inside::Comment(1), 2),
        (Inside::Code, b'\'' | b'"', _) => (Inside::Delimited(byte), 1),
        (Inside::Code, b'[', _) => (Inside::Delimited(b']'), 1),
        (Inside::Delimited(end), _, _) if end == byte => (Inside::Code, 1),
        _ => (inside, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(script: &str) -> Vec<(&str, u32, u32)> {
        batches(script).map(|batch| (batch.text, batch.line, batch.count)).collect()
    }

    #[test]
    fn go_alone_on_a_line_ends_a_batch() {
        assert_eq!(
            split("select 1\nGO\nselect 2\n  go 5 -- again\nselect 3\n"),
            [("select 1\n", 1, 1), ("select 2\n", 3, 5), ("select 3\n", 5, 1)]
        );
        assert_eq!(split("GO\r\nGO;\r\n\nselect 1"), [("\nselect 1", 3, 1)]);
        assert_eq!(split("select 1 go\ngoto x\ngo away"), [("select 1 go\ngoto x\ngo away", 1, 1)]);
    }

    #[test]
    fn go_inside_a_string_or_comment_is_text() {
        for script in ["'a\nGO\n'", "/* /* */\nGO\n*/ x", "[a\nGO\n]", "\"\nGO\n\""] {
            assert_eq!(split(script).len(), 1, "{script}");
        }
        assert_eq!(split("x -- it's\nGO\ny").len(), 2);
        assert_eq!(split("'it''s'\nGO\ny").len(), 2);
    }
}
