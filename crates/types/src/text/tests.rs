use super::*;

fn decoded(code_page: CodePage, bytes: &[u8]) -> (String, usize) {
    let text = CharText { bytes: Cow::Borrowed(bytes), code_page };
    let (text, replaced) = text.decode();
    (text.into_owned(), replaced)
}

#[test]
fn each_code_page_decodes_its_own_letters() {
    let cases: [(CodePage, &[u8], &str); 18] = [
        (CodePage::Cp437, b"\x81\xE1", "üß"),
        (CodePage::Cp850, b"\x9B\xD5", "øı"),
        (CodePage::Cp874, b"\xA1\xD2", "กา"),
        (CodePage::Cp932, b"\x93\xFA\x96\x7B\xB1", "日本ｱ"),
        (CodePage::Cp936, b"\xD6\xD0\x80", "中€"),
        (CodePage::Cp949, b"\xC7\xD1\x81\x41", "한갂"),
        (CodePage::Cp950, b"\xA4\xA4", "中"),
        (CodePage::Cp1250, b"\x8A\xB9", "Šą"),
        (CodePage::Cp1251, b"\xCF\xF0", "Пр"),
        (CodePage::Cp1252, b"\x80\x81\xE9", "€\u{81}é"),
        (CodePage::Cp1253, b"\xC1\xF9", "Αω"),
        (CodePage::Cp1254, b"\xDD\xFE", "İş"),
        (CodePage::Cp1255, b"\xE0", "א"),
        (CodePage::Cp1256, b"\xC7", "ا"),
        (CodePage::Cp1257, b"\xE0", "ą"),
        (CodePage::Cp1258, b"\xF5\xFE", "ơ₫"),
        (CodePage::Utf8, "aé漢😀".as_bytes(), "aé漢😀"),
        (CodePage::Unknown, b"plain", "plain"),
    ];
    for (code_page, bytes, text) in cases {
        assert_eq!(decoded(code_page, bytes), (text.to_owned(), 0), "{code_page:?}");
        assert_eq!(code_page.encode(text).as_deref(), Some(bytes), "{code_page:?}");
    }
}

#[test]
fn what_has_no_character_is_replaced_and_counted() {
    assert_eq!(decoded(CodePage::Unknown, b"a\xE9\xFFb"), ("a\u{FFFD}\u{FFFD}b".to_owned(), 2));
    assert_eq!(decoded(CodePage::Cp1253, b"\xAA\xC1"), ("\u{FFFD}Α".to_owned(), 1));
    assert_eq!(decoded(CodePage::Cp932, b"A\x93"), ("A\u{FFFD}".to_owned(), 1));
    assert_eq!(decoded(CodePage::Cp932, b"\x93 A"), ("\u{FFFD} A".to_owned(), 1));
    assert_eq!(decoded(CodePage::Cp936, b"\x8130"), ("\u{FFFD}30".to_owned(), 1));
    assert_eq!(decoded(CodePage::Utf8, b"\xC3A\xF0\x9F"), ("\u{FFFD}A\u{FFFD}".to_owned(), 2));
    assert_eq!(CodePage::Cp1252.encode("Ω"), None);
    assert_eq!(CodePage::Cp437.encode("Š"), None);
    assert_eq!(CodePage::Unknown.encode("é"), None);
}

#[test]
fn user_defined_characters_map_to_the_private_use_area() {
    let cases: [(CodePage, &[u8], u32); 12] = [
        (CodePage::Cp932, b"\xF0\x40", 0xE000),
        (CodePage::Cp932, b"\xA0", 0xF8F0),
        (CodePage::Cp932, b"\xFF", 0xF8F3),
        (CodePage::Cp936, b"\xAA\xA1", 0xE000),
        (CodePage::Cp949, b"\xC9\xA1", 0xE000),
        (CodePage::Cp949, b"\xFE\xA1", 0xE05E),
        (CodePage::Cp950, b"\xFA\x40", 0xE000),
        (CodePage::Cp950, b"\xFE\xFE", 0xE310),
        (CodePage::Cp950, b"\x8E\x40", 0xE311),
        (CodePage::Cp950, b"\x81\x40", 0xEEB8),
        (CodePage::Cp950, b"\xC6\xA1", 0xF6B1),
        (CodePage::Cp950, b"\xC8\xFE", 0xF848),
    ];
    for (code_page, bytes, code) in cases {
        assert_eq!(
            decoded(code_page, bytes).0.chars().map(u32::from).collect::<Vec<_>>(),
            [code],
            "{bytes:02X?}"
        );
    }
}

#[test]
fn numbers_of_code_pages_convert_there_and_back() {
    for number in [
        437, 850, 874, 932, 936, 949, 950, 1250, 1251, 1252, 1253, 1254, 1255, 1256, 1257, 1258,
        65001,
    ] {
        assert_eq!(CodePage::from_number(number).and_then(CodePage::number), Some(number));
    }
    assert_eq!(CodePage::from_number(1361), None);
    assert_eq!(CodePage::Unknown.number(), None);
}

#[test]
fn unpaired_surrogates_are_kept_apart_from_text() {
    let units: [u16; 6] = [0x41, 0xD83D, 0xDE00, 0xDC00, 0xD800, 0x42];
    let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let text = NText { bytes: Cow::Owned(bytes) };
    assert_eq!(text.decode(), ("A😀\u{FFFD}\u{FFFD}B".to_owned(), 2));
    let mut unpaired = Vec::new();
    text.for_each_piece(|piece| {
        if let TextPiece::Unpaired(unit) = piece {
            unpaired.push(unit);
        }
    });
    assert_eq!(unpaired, [0xDC00, 0xD800]);
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    const ALL: [CodePage; 18] = [
        CodePage::Unknown,
        CodePage::Cp437,
        CodePage::Cp850,
        CodePage::Cp874,
        CodePage::Cp932,
        CodePage::Cp936,
        CodePage::Cp949,
        CodePage::Cp950,
        CodePage::Cp1250,
        CodePage::Cp1251,
        CodePage::Cp1252,
        CodePage::Cp1253,
        CodePage::Cp1254,
        CodePage::Cp1255,
        CodePage::Cp1256,
        CodePage::Cp1257,
        CodePage::Cp1258,
        CodePage::Utf8,
    ];

    proptest! {
        #[test]
        fn cuts_between_chunks_do_not_matter(
            bytes in proptest::collection::vec(any::<u8>(), 0..80),
            cuts in proptest::collection::vec(0usize..80, 0..6),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).chain([0, bytes.len()]).collect();
            cuts.sort_unstable();
            for code_page in ALL {
                let mut decoder = CharDecoder::new(code_page);
                let mut text = String::new();
                for pair in cuts.windows(2) {
                    decoder.push(&bytes[pair[0]..pair[1]], &mut text);
                }
                let replaced = decoder.finish(&mut text);
                prop_assert_eq!((text, replaced), decoded(code_page, &bytes), "{:?}", code_page);
            }
            let mut pieces = Vec::new();
            let mut keep = |piece: TextPiece<'_>| match piece {
                TextPiece::Text(text) => pieces.extend(text.chars().map(u32::from)),
                TextPiece::Unpaired(unit) => pieces.push(u32::from(unit)),
            };
            let mut decoder = NCharDecoder::new();
            for pair in cuts.windows(2) {
                decoder.push(&bytes[pair[0]..pair[1]], &mut keep);
            }
            let odd = decoder.finish(&mut keep);
            let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
            let expected: Vec<u32> = char::decode_utf16(units)
                .map(|unit| unit.map_or_else(|error| u32::from(error.unpaired_surrogate()), u32::from))
                .collect();
            prop_assert_eq!(pieces, expected);
            prop_assert_eq!(odd.is_some(), bytes.len() % 2 == 1);
        }

        #[test]
        fn text_that_encodes_decodes_to_itself(text in "\\PC{0,20}") {
            for code_page in ALL {
                if let Some(bytes) = code_page.encode(&text) {
                    prop_assert_eq!(decoded(code_page, &bytes), (text.clone(), 0), "{:?}", code_page);
                }
            }
        }
    }
}
