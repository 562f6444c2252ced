//! JSON texts: where each value begins and ends, and texts with JSON's escapes.

/// Deepest nesting of arrays and objects.
const MAX_DEPTH: usize = 128;

/// A value of a JSON text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Value {
    /// Bytes of the text it takes.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Null,
    /// true, false, numbers: as they are written.
    Plain,
    /// Without quotes and escapes.
    Text(String),
    Array(Vec<Value>),
    Object(Vec<Member>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Member {
    pub(crate) key: String,
    /// Where the key's quote is.
    pub(crate) start: usize,
    pub(crate) value: Value,
}

impl Value {
    pub(crate) fn is_scalar(&self) -> bool {
        !matches!(self.kind, Kind::Array(_) | Kind::Object(_))
    }
}

/// The value that a text is; `None` where it is no JSON.
pub(crate) fn parse(text: &str) -> Option<Value> {
    let mut parser = Parser { text, at: 0 };
    parser.blanks();
    let value = parser.value(0)?;
    parser.blanks();
    (parser.at == text.len()).then_some(value)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn accept(&mut self, byte: u8) -> bool {
        let is_it = self.peek() == Some(byte);
        self.at += usize::from(is_it);
        is_it
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        let start = self.at;
        let kind = match self.peek()? {
            b'{' => self.object(depth)?,
            b'[' => self.array(depth)?,
            b'"' => Kind::Text(self.string()?),
            b'n' => self.word("null", Kind::Null)?,
            b't' => self.word("true", Kind::Plain)?,
            b'f' => self.word("false", Kind::Plain)?,
            _ => self.number()?,
        };
        Some(Value { start, end: self.at, kind })
    }

    fn word(&mut self, word: &str, kind: Kind) -> Option<Kind> {
        self.text.get(self.at..)?.starts_with(word).then(|| {
            self.at += word.len();
            kind
        })
    }

    fn digits(&mut self) -> usize {
        let from = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - from
    }

    fn number(&mut self) -> Option<Kind> {
        self.accept(b'-');
        let is_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        if whole == 0 || (is_zero && whole > 1) {
            return None;
        }
        if self.accept(b'.') && self.digits() == 0 {
            return None;
        }
        if self.accept(b'e') || self.accept(b'E') {
            let _ = self.accept(b'+') || self.accept(b'-');
            if self.digits() == 0 {
                return None;
            }
        }
        Some(Kind::Plain)
    }

    fn string(&mut self) -> Option<String> {
        self.accept(b'"').then_some(())?;
        let mut units: Vec<u16> = Vec::new();
        loop {
            let next = self.text.get(self.at..)?.chars().next()?;
            self.at += next.len_utf8();
            match next {
                '"' => return Some(String::from_utf16_lossy(&units)),
                '\\' => units.push(self.escape()?),
                control if (control as u32) < 0x20 => return None,
                other => units.extend_from_slice(other.encode_utf16(&mut [0; 2])),
            }
        }
    }

    fn escape(&mut self) -> Option<u16> {
        let byte = self.peek()?;
        self.at += 1;
        Some(match byte {
            b'"' | b'\\' | b'/' => byte.into(),
            b'b' => 8,
            b'f' => 12,
            b'n' => 10,
            b'r' => 13,
            b't' => 9,
            b'u' => {
                let digits = self.text.get(self.at..self.at + 4)?;
                self.at += 4;
                let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)?
            }
            _ => return None,
        })
    }

    fn array(&mut self, depth: usize) -> Option<Kind> {
        self.accept(b'[').then_some(())?;
        let mut values = Vec::new();
        self.blanks();
        if self.accept(b']') {
            return Some(Kind::Array(values));
        }
        loop {
            self.blanks();
            values.push(self.value(depth + 1)?);
            self.blanks();
            if self.accept(b']') {
                return Some(Kind::Array(values));
            }
            self.accept(b',').then_some(())?;
        }
    }

    fn object(&mut self, depth: usize) -> Option<Kind> {
        self.accept(b'{').then_some(())?;
        let mut members = Vec::new();
        self.blanks();
        if self.accept(b'}') {
            return Some(Kind::Object(members));
        }
        loop {
            self.blanks();
            let start = self.at;
            let key = self.string()?;
            self.blanks();
            self.accept(b':').then_some(())?;
            self.blanks();
            let value = self.value(depth + 1)?;
            members.push(Member { key, start, value });
            self.blanks();
            if self.accept(b'}') {
                return Some(Kind::Object(members));
            }
            self.accept(b',').then_some(())?;
        }
    }
}

/// A text with JSON's escapes, without quotes.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for it in text.chars() {
        match it {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '/' => escaped.push_str("\\/"),
            '\u{8}' => escaped.push_str("\\b"),
            '\u{c}' => escaped.push_str("\\f"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            control if (control as u32) < 0x20 => {
                escaped.push_str(&format!("\\u{:04x}", control as u32));
            }
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_is_read() {
        for text in ["{}", "[1, -2.5e+3, \"a\\u0041\\n\"]", " {\"a\":{\"b\":[null,true]}} ", "1"] {
            assert!(parse(text).is_some(), "{text}");
        }
        for text in ["", "{a:1}", "[1,]", "01", "\"\n\"", "{\"a\" 1}", "[1] 2", "nul", "\"\\x\""] {
            assert!(parse(text).is_none(), "{text}");
        }
        assert!(parse(&"[".repeat(MAX_DEPTH * 2)).is_none());
    }

    #[test]
    fn escapes_are_those_of_string_escape() {
        assert_eq!(escaped("a/\"\\\n\u{1}"), "a\\/\\\"\\\\\\n\\u0001");
    }
}
