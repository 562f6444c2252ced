use super::*;
use TokenKind::*;

fn kinds(text: &str) -> Vec<TokenKind> {
    let mut kinds: Vec<TokenKind> = tokens(text).unwrap().iter().map(|token| token.kind).collect();
    assert_eq!(kinds.pop(), Some(End));
    kinds
}

fn texts(text: &str) -> Vec<&str> {
    let tokens = tokens(text).unwrap();
    tokens.iter().map(|token| token.span.of(text)).filter(|text| !text.is_empty()).collect()
}

#[test]
fn names_variables_and_keywords() {
    assert_eq!(
        kinds("select a [b]]c] \"d\" #t ##t @v @@rowcount $action N'x' n'x' _x é"),
        [
            Reserved,
            Word,
            Bracketed,
            DoubleQuoted,
            Word,
            Word,
            Variable,
            GlobalVariable,
            DollarWord,
            NationalString,
            NationalString,
            Word,
            Word
        ]
    );
    assert_eq!(texts("a.[b c].\"d\"\"e\""), ["a", ".", "[b c]", ".", "\"d\"\"e\""]);
    assert_eq!(texts("a$b#c@d"), ["a$b#c@d"]);
}

#[test]
fn numbers_are_told_apart_by_their_form() {
    assert_eq!(
        kinds("12 1.5 .5 1. 1e3 1e 1.e-3 $1.5 $ £2 0x0aF 0x"),
        [
            Integer, Decimal, Decimal, Decimal, Float, Float, Float, Money, Money, Money, Binary,
            Binary
        ]
    );
    assert_eq!(texts("12ab"), ["12", "ab"]);
    assert_eq!(texts("0x1G"), ["0x1", "G"]);
    assert_eq!(texts("1..2"), ["1.", ".2"]);
}

#[test]
fn values_lose_their_delimiters() {
    assert_eq!(delimited_value("N'it''s'"), "it's");
    assert_eq!(delimited_value("[a]]b]"), "a]b");
    assert_eq!(delimited_value("\"a\"\"b\""), "a\"b");
    assert_eq!(delimited_value("'a\\\nb'"), "ab");
    assert_eq!(binary_value("0xABC"), [0x0a, 0xbc]);
    assert_eq!(binary_value("0x"), []);
    assert_eq!(binary_value("0x12\\\n34"), [0x12, 0x34]);
}

#[test]
fn comments_nest_and_lines_are_counted() {
    let text = "a /* x /* y */\n z */ b -- c\nd";
    assert_eq!(texts(text), ["a", "b", "d"]);
    let lines: Vec<u32> = tokens(text).unwrap().iter().map(|token| token.span.line).collect();
    assert_eq!(lines, [1, 2, 3, 3]);
}

#[test]
fn what_has_no_end_is_a_token() {
    assert_eq!(kinds("a 'x"), [Word, UnclosedQuote]);
    assert_eq!(kinds("[x"), [UnclosedQuote]);
    assert_eq!(kinds("a /* /* */"), [Word, UnclosedComment]);
    assert_eq!(kinds("a ? \\"), [Word, Unknown, Unknown]);
}

#[test]
fn operators() {
    assert_eq!(
        kinds("<> != !< !> <= >= << >> += *= :: : = < > ~"),
        [
            NotEqual,
            NotEqual,
            NotLess,
            NotGreater,
            LessOrEqual,
            GreaterOrEqual,
            ShiftLeft,
            ShiftRight,
            PlusEqual,
            StarEqual,
            DoubleColon,
            Colon,
            Equal,
            Less,
            Greater,
            Tilde
        ]
    );
}
