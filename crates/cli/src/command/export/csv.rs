//! Fields of CSV, by RFC 4180.

use super::style::CsvStyle;

/// A field that is not NULL. An empty text, and one that reads as NULL, is quoted.
pub(super) fn push_field(text: &str, style: &CsvStyle, out: &mut String) {
    let is_special = |c: char| c == style.delimiter || matches!(c, '"' | '\r' | '\n');
    let is_plain = !text.is_empty() && text != style.null && !text.contains(is_special);
    if is_plain {
        out.push_str(text);
        return;
    }
    out.push('"');
    push_quoted(text, out);
    out.push('"');
}

/// A part of a field between its quotes.
pub(super) fn push_quoted(text: &str, out: &mut String) {
    let mut parts = text.split('"');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        out.push_str("\"\"");
        out.push_str(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(null: &str, delimiter: char, cases: &[(&str, &str)]) {
        let style = CsvStyle { delimiter, null: null.to_owned() };
        for (text, field) in cases {
            let mut out = String::new();
            push_field(text, &style, &mut out);
            assert_eq!(out, *field);
        }
    }

    #[test]
    fn fields_are_quoted_only_where_they_must_be() {
        let cases = [
            ("plain text", "plain text"),
            ("", "\"\""),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("a\nb", "\"a\nb\""),
        ];
        check("", ',', &cases);
    }

    #[test]
    fn a_text_that_reads_as_null_is_quoted() {
        let cases = [("a,b", "a,b"), ("a\tb", "\"a\tb\""), ("\\N", "\"\\N\""), ("", "\"\"")];
        check("\\N", '\t', &cases);
    }
}
