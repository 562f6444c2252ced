use super::*;

/// A document of tokens.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn new() -> Bytes {
        Bytes(vec![0xDF, 0xFF, 0x01, 0xB0, 0x04])
    }

    fn raw(mut self, bytes: &[u8]) -> Bytes {
        self.0.extend_from_slice(bytes);
        self
    }

    fn text(self, text: &str) -> Bytes {
        let units: Vec<u16> = text.encode_utf16().collect();
        assert!(units.len() < 128);
        let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        self.raw(&[units.len() as u8]).raw(&bytes)
    }

    fn name(self, text: &str) -> Bytes {
        self.raw(&[0xF0]).text(text)
    }
}

/// `<a>text</a>`.
pub(crate) fn element_with_text(text: &str) -> Vec<u8> {
    Bytes::new().name("a").raw(&[0xEF, 0, 0, 1, 0xF8, 1, 0x11]).text(text).raw(&[0xF7]).0
}

fn decoded(bytes: &[u8]) -> Result<String, XmlError> {
    let mut text = String::new();
    write_text(bytes, &mut text).map(|()| text)
}

#[test]
fn an_element_with_text_is_exactly_these_bytes() {
    let bytes = [
        0xDF, 0xFF, 0x01, 0xB0, 0x04, 0xF0, 0x01, 0x61, 0x00, 0xEF, 0x00, 0x00, 0x01, 0xF8, 0x01,
        0x11, 0x01, 0x62, 0x00, 0xF7,
    ];
    assert_eq!(decoded(&bytes).unwrap(), "<a>b</a>");
    assert_eq!(element_with_text("b"), bytes);
}

#[test]
fn names_attributes_and_nesting() {
    let document = Bytes::new()
        .name("urn:x") // 1
        .name("p") // 2
        .name("root") // 3
        .raw(&[0xEF, 1, 2, 3, 0xF8, 1]) // <p:root
        .name("xmlns") // 4
        .raw(&[0xEF, 0, 4, 2, 0xF6, 2, 0x11]) // xmlns:p=
        .text("urn:x")
        .name("id") // 5
        .raw(&[0xEF, 0, 0, 5, 0xF6, 3, 0x02, 42, 0, 0, 0]) // id="42"
        .raw(&[0xF6, 3, 0xF5]) // id="" again: the decoder does not judge
        .name("leaf") // 6
        .raw(&[0xEF, 0, 0, 6, 0xF8, 4, 0xF7]) // <leaf/>
        .raw(&[0xF8, 4, 0x11])
        .text("a<b & \"c\">\r\n")
        .raw(&[0xF7, 0xF7]);
    assert_eq!(
        decoded(&document.0).unwrap(),
        "<p:root xmlns:p=\"urn:x\" id=\"42\" id=\"\"><leaf/><leaf>a&lt;b &amp; \"c\"&gt;&#x0D;\n</leaf></p:root>"
    );
}

#[test]
fn comments_instructions_cdata_and_fragments() {
    let document = Bytes::new()
        .raw(&[0xFE])
        .text("1.0")
        .raw(&[0xFD])
        .text("utf-16")
        .raw(&[1])
        .raw(&[0xF3])
        .text(" hi ")
        .name("target")
        .raw(&[0xF4, 1])
        .text("do it")
        .raw(&[0xF2])
        .text("a<")
        .raw(&[0xF2])
        .text("b")
        .raw(&[0xF1])
        .raw(&[0xEA, 3, 1, 2, 3]) // extension
        .raw(&[0x11])
        .text("tail");
    assert_eq!(decoded(&document.0).unwrap(), "<!-- hi --><?target do it?><![CDATA[a<b]]>tail");
}

#[test]
fn values_are_written_where_their_text_is_certain() {
    let cases: [(&[u8], &str); 14] = [
        (&[0x01, 0xFE, 0xFF], "-2"),
        (&[0x07, 200], "200"),
        (&[0x08, 1, 0, 0, 0, 0, 0, 0, 0x80], "-9223372036854775807"),
        (&[0x06, 1], "1"),
        (&[0x86, 0], "false"),
        (&[0x88, 0x80], "-128"),
        (&[0x89, 0xFF, 0xFF], "65535"),
        (&[0x8B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], "18446744073709551615"),
        (&[0x0A, 7, 9, 2, 0, 0xE2, 0x04, 0, 0], "-12.50"),
        (&[0x0F, 4, b'M', b'a', b'n', b'y'], "TWFueQ=="),
        (&[0x84, 2, 0xAB, 0x01], "AB01"),
        (&[0x10, 6, 0xE4, 0x04, 0, 0, 0xE9, b'<'], "é&lt;"),
        (&[0x11, 2, b' ', 0, b' ', 0], " &#x20;"),
        (&[0x85, 0], ""),
    ];
    for (bytes, text) in cases {
        assert_eq!(decoded(&Bytes::new().raw(bytes).0).as_deref(), Ok(text), "{bytes:02X?}");
    }
}

#[test]
fn what_is_not_certain_is_an_error() {
    let cases: [(&[u8], XmlError); 13] = [
        (&[0x04, 0, 0, 0, 0, 0, 0, 0, 0], XmlError::Token { token: 0x04, at: 5 }),
        (&[0x12, 0, 0, 0, 0, 0, 0, 0, 0], XmlError::Token { token: 0x12, at: 5 }),
        (&[0x82], XmlError::Token { token: 0x82, at: 5 }),
        (&[0xEC], XmlError::Token { token: 0xEC, at: 5 }),
        (&[0x00], XmlError::Token { token: 0x00, at: 5 }),
        (&[0xF7], XmlError::Misplaced { token: 0xF7, at: 5 }),
        (&[0xF6, 1], XmlError::Misplaced { token: 0xF6, at: 5 }),
        (&[0xF8, 1], XmlError::Value { at: 7 }),
        (&[0x11, 5, b'a', 0], XmlError::Truncated { at: 9 }),
        (&[0x11, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], XmlError::Value { at: 11 }),
        (&[0x11, 1, 0, 0xD8], XmlError::Value { at: 9 }),
        (&[0xF0, 1, b'a', 0, 0xEF, 0, 0, 1, 0xF8, 1], XmlError::Truncated { at: 15 }),
        (&[0x06, 2], XmlError::Value { at: 7 }),
    ];
    for (bytes, error) in cases {
        assert_eq!(decoded(&Bytes::new().raw(bytes).0), Err(error), "{bytes:02X?}");
    }
    assert_eq!(decoded(b"<a/>"), Err(XmlError::Signature));
    assert_eq!(decoded(&[]), Err(XmlError::Signature));
}

#[test]
fn depth_and_length_are_bounded() {
    let mut deep = Bytes::new().name("a").raw(&[0xEF, 0, 0, 1]);
    for _ in 0..=MAX_DEPTH {
        deep = deep.raw(&[0xF8, 1]);
    }
    assert!(matches!(decoded(&deep.0), Err(XmlError::TooDeep { .. })));

    let name = "n".repeat(127);
    let mut long = Bytes::new().name(&name).raw(&[0xEF, 0, 0, 1]);
    for _ in 0..40_000 {
        long = long.raw(&[0xF8, 1, 0xF7]);
    }
    let bytes = long.0.len();
    assert!(decoded(&long.0).is_ok());
    let many = "m".repeat(127);
    let mut longer = Bytes::new();
    for _ in 0..20 {
        longer = longer.name(&many);
    }
    // A prefix and a local name of 127 characters each, two bytes per empty element and its end.
    longer = longer.raw(&[0xEF, 0, 1, 2]);
    for _ in 0..40_000 {
        longer = longer.raw(&[0xF8, 1, 0xF7]);
    }
    assert!(matches!(decoded(&longer.0), Err(XmlError::TooLong { .. })), "{bytes}");
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(token_or_any(), 0..60)) {
            let document = Bytes::new().raw(&bytes).0;
            prop_assert_eq!(verify(&document), decoded(&document).map(|_| ()));
        }

        #[test]
        fn text_survives_its_escapes(text in "[^\\p{C}]{0,30}") {
            let written = decoded(&element_with_text(&text)).unwrap();
            let escaped = written.strip_prefix("<a>").and_then(|rest| rest.strip_suffix("</a>")).unwrap();
            let unescaped = escaped.replace("&lt;", "<").replace("&gt;", ">").replace("&#x20;", " ")
                .replace("&amp;", "&");
            prop_assert_eq!(unescaped, text);
        }
    }

    fn token_or_any() -> impl Strategy<Value = u8> {
        prop_oneof![
            3 => proptest::sample::select(vec![0xF0u8, 0xEF, 0xF8, 0xF7, 0xF6, 0xF5, 0x11, 0xF3, 0xF2, 0xEA, 0, 1, 2]),
            1 => any::<u8>(),
        ]
    }
}
