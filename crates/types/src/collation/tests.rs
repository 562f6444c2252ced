use std::cmp::Ordering;

use super::*;

const SQL_LATIN1: Collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
const LATIN1: Collation = Collation(0x0000_D008);

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// What is certain of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Less,
    Equal,
    Greater,
    Undecided,
}

fn decision(comparison: Comparison) -> Decision {
    match comparison.ordering() {
        Some(Ordering::Less) => Decision::Less,
        Some(Ordering::Equal) => Decision::Equal,
        Some(Ordering::Greater) => Decision::Greater,
        None => Decision::Undecided,
    }
}

fn char_order(collation: Collation, a: &str, b: &str) -> Decision {
    let bytes = |text: &str| collation.code_page().unwrap().encode(text).unwrap();
    decision(collation.compare_char(&bytes(a), &bytes(b)))
}

fn nchar_order(collation: Collation, a: &str, b: &str) -> Decision {
    decision(collation.compare_nchar(&utf16(a), &utf16(b)))
}

#[test]
fn ids_have_the_names_of_the_public_list() {
    let cases = [
        (0x3400_D008, "SQL_Latin1_General_CP1_CI_AS"),
        (0x0000_D008, "Latin1_General_CI_AS"),
        (0x0000_F008, "Latin1_General_CI_AI"),
        (0x0000_D028, "Modern_Spanish_CI_AS"),
        (0x0000_F001, "Arabic_CI_AI"),
        (0x0000_1008, "Latin1_General_CI_AS_KS_WS"),
        (0x0001_0008, "Latin1_General_BIN"),
        (0x0000_0808, "Latin1_General_BIN2"),
        (0x0005_0018, "Albanian_100_BIN"),
        (0x0004_0818, "Albanian_100_BIN2"),
        (0x0004_1118, "Albanian_100_CI_AS_KS_WS_SC"),
        (0x0002_C130, "Japanese_90_CS_AS_SC"),
        (0x0006_F148, "Japanese_XJIS_140_CI_AI_VSS"),
        (0x0006_D349, "Japanese_Bushu_Kakusu_140_CI_AS"),
        (0x0007_0049, "Japanese_Bushu_Kakusu_140_BIN"),
        (0x1E00_0808, "SQL_Latin1_General_CP437_BIN2"),
        (0x8200_D01A, "SQL_Latin1_General_CP1254_CI_AS"),
        (0x0000_D010, "Japanese_CI_AS"),
    ];
    for (id, name) in cases {
        assert_eq!(Collation(id).name().as_deref(), Some(name));
        assert_eq!(Collation::from_name(name), Some(Collation(id)), "{name}");
        assert_eq!(Collation::from_name(&name.to_lowercase()), Some(Collation(id)));
        assert_eq!(Collation(id).to_string(), name);
    }
}

#[test]
fn uncertain_ids_have_no_name() {
    let unknown = [
        0x0000_D07F, // no such language
        0x0002_D008, // Latin1_General has no version 90
        0x0000_D108, // _SC in version 80
        0x0001_D008, // BIN with flags
        0x0004_D508, // bit 10
        0x0010_D008, // bit 20
        0xFF00_D008, // no such sort order
        0x3400_F008, // sort order 52 with other flags
        0x0006_D248, // version 140 without the bit all its collations have
    ];
    for id in unknown {
        assert_eq!(Collation(id).name(), None, "{id:08X}");
        assert_eq!(Collation(id).to_string(), format!("0x{id:08X}"));
    }
    for name in [
        "",
        "Latin1_General",
        "Latin1_General_CI_AS_",
        "Latin1_General_AS_CI",
        "Latin1_General_90_CI_AS",
        "é",
    ] {
        assert_eq!(Collation::from_name(name), None, "{name}");
    }
}

#[test]
fn code_pages_follow_sort_order_or_language() {
    let number = |id| Collation(id).code_page().and_then(CodePage::number);
    assert_eq!(number(0x3400_D008), Some(1252));
    assert_eq!(number(0x2900_C008), Some(850));
    assert_eq!(number(0x1F00_C008), Some(437));
    assert_eq!(number(0x6A00_D008), Some(1251));
    assert_eq!(number(0x0000_D010), Some(932));
    assert_eq!(number(0x0000_D019), Some(874));
    assert_eq!(number(0x0000_D020), Some(1258));
    assert_eq!(number(0x0004_D059), None, "Bengali has only Unicode types");
    assert_eq!(number(0x0000_D07F), None);
    assert_eq!(number(0x0004_D508), None);
    assert_eq!(number(0x0100_D008), None);
}

#[test]
fn every_windows_designator_round_trips_through_its_name() {
    let mut found = 0;
    for language in 0..=0xFFu32 {
        for version in 0..4u32 {
            let flags = if version == 3 { IGNORE_VARIATION | SUPPLEMENTARY } else { 0 };
            let id = language | version << 17 | flags | 0xD000;
            if let Some(name) = Collation(id).name() {
                assert_eq!(Collation::from_name(&name), Some(Collation(id)), "{name}");
                found += 1;
            }
        }
    }
    assert!(found > 100, "{found}");
}

#[test]
fn hyphens_are_skipped_in_a_word_sort_only() {
    // The example of the format specification, chapter 15.
    assert_eq!(char_order(SQL_LATIN1, "A-R89858F", "AMD15433F"), Decision::Less);
    assert_eq!(char_order(LATIN1, "A-R89858F", "AMD15433F"), Decision::Greater);
    assert_eq!(nchar_order(SQL_LATIN1, "A-R89858F", "AMD15433F"), Decision::Greater);
    assert_eq!(nchar_order(LATIN1, "co-op", "cook"), Decision::Greater);
    assert_eq!(nchar_order(LATIN1, "coop", "co-op"), Decision::Less);
    assert_eq!(nchar_order(LATIN1, "co-op", "coop's"), Decision::Less);
    assert_eq!(nchar_order(LATIN1, "co-op", "c-oop"), Decision::Undecided);
}

#[test]
fn blanks_come_before_symbols_digits_and_letters() {
    for (a, b) in [("a b", "a_b"), ("a_b", "a1"), ("a$", "a0"), ("a9", "aa"), ("Zz", "zzz"), ("a", "a b")] {
        for collation in [SQL_LATIN1, LATIN1, Collation(0x0004_D008)] {
            assert_eq!(char_order(collation, a, b), Decision::Less, "{collation} {a:?} {b:?}");
            assert_eq!(nchar_order(collation, a, b), Decision::Less, "{collation} {a:?} {b:?}");
            assert_eq!(nchar_order(collation, b, a), Decision::Greater, "{collation} {a:?} {b:?}");
        }
    }
}

#[test]
fn the_order_among_symbols_is_certain_from_version_100_on() {
    let v100 = Collation(0x0004_D008);
    let symbols = "_,;:!?.\"()[]{}@*/\\&#%`^+<=>|~$";
    for pair in symbols.as_bytes().windows(2) {
        let text = |byte: u8| (byte as char).to_string();
        assert_eq!(nchar_order(v100, &text(pair[0]), &text(pair[1])), Decision::Less);
        assert_eq!(nchar_order(LATIN1, &text(pair[0]), &text(pair[1])), Decision::Undecided);
        assert_eq!(char_order(SQL_LATIN1, &text(pair[0]), &text(pair[1])), Decision::Undecided);
    }
}

#[test]
fn trailing_blanks_never_matter() {
    for collation in [SQL_LATIN1, LATIN1, Collation(0x0001_0008), Collation(0x0000_0808)] {
        assert_eq!(char_order(collation, "ab", "ab   "), Decision::Equal);
        assert_eq!(nchar_order(collation, "ab   ", "ab"), Decision::Equal);
        assert_eq!(collation.sort_key_char(b"ab "), collation.sort_key_char(b"ab"));
        assert_eq!(collation.sort_key_nchar(&utf16("ab ")), collation.sort_key_nchar(&utf16("ab")));
    }
}

#[test]
fn case_and_accents_count_by_the_flags() {
    let cs_as = Collation(0x0000_C008);
    let ci_ai = Collation(0x0000_F008);
    let cs_ai = Collation(0x0000_E008);
    assert_eq!(nchar_order(LATIN1, "ABC", "abc"), Decision::Equal);
    assert_eq!(nchar_order(cs_as, "abc", "ABC"), Decision::Less);
    assert_eq!(nchar_order(cs_as, "ABC", "abd"), Decision::Less);
    assert_eq!(nchar_order(LATIN1, "resume", "résumé"), Decision::Less);
    assert_eq!(nchar_order(LATIN1, "résumé", "resumf"), Decision::Less);
    assert_eq!(nchar_order(LATIN1, "é", "è"), Decision::Undecided);
    assert_eq!(nchar_order(LATIN1, "É", "é"), Decision::Equal);
    assert_eq!(nchar_order(ci_ai, "Resume", "résumé"), Decision::Equal);
    assert_eq!(nchar_order(cs_ai, "resume", "Résumé"), Decision::Less);
    assert_eq!(nchar_order(LATIN1, "ox", "øx"), Decision::Less);
    assert_eq!(nchar_order(LATIN1, "øx", "oy"), Decision::Less);
    assert_eq!(nchar_order(ci_ai, "ox", "øx"), Decision::Undecided);
    assert_eq!(nchar_order(LATIN1, "straße", "strasze"), Decision::Less);
    assert_eq!(nchar_order(LATIN1, "straße", "strasse"), Decision::Undecided);
    assert_eq!(char_order(SQL_LATIN1, "München", "Munchet"), Decision::Undecided);
    assert_eq!(char_order(SQL_LATIN1, "Zürich", "Zwolle"), Decision::Less);
    assert_eq!(char_order(Collation(0x3300_C008), "Ab", "ab"), Decision::Undecided);
    assert_eq!(char_order(Collation(0x3500_D008), "Ab", "ab"), Decision::Undecided);
}

#[test]
fn letters_with_a_place_of_their_own_are_left_open() {
    let undecided = [
        (0x0000_D004, "chata", "cibule"),
        (0x0000_D005, "aalborg", "abe"),
        (0x0000_D00A, "wa", "vb"),
        (0x0000_D00A, "å", "z"),
        (0x0000_D028, "ñ", "nz"),
        (0x0000_D01A, "I", "j"),
        (0x0000_D00B, "cote", "coté"),
        (0x0000_D008, "я", "а"),
        (0x0000_D008, "a\u{1}", "a"),
        (0x0000_D05D, "a", "b"),
        (0x0000_D07F, "a", "b"),
        (0x0004_D508, "a", "b"),
    ];
    for (id, a, b) in undecided {
        assert_eq!(nchar_order(Collation(id), a, b), Decision::Undecided, "{id:08X} {a} {b}");
        assert_eq!(nchar_order(Collation(id), a, a), Decision::Equal, "{id:08X} {a}");
    }
    assert_eq!(nchar_order(Collation(0x0000_D004), "cata", "cibule"), Decision::Less);
    assert_eq!(nchar_order(Collation(0x0000_D008), "aя", "bа"), Decision::Less);
    assert!(!Collation(0xD200_C008).compare_char(b"a", b"b").certain, "EBCDIC order");
}

#[test]
fn binary_collations_compare_units() {
    let (bin, bin2) = (Collation(0x0001_0008), Collation(0x0000_0808));
    assert_eq!(char_order(bin, "B", "a"), Decision::Less);
    assert_eq!(char_order(bin2, "a-b", "ab"), Decision::Less);
    assert_eq!(nchar_order(bin2, "aĀ", "aB"), Decision::Greater);
    // BIN: the second unit U+0100 is the bytes 00 01, below B's 42 00.
    assert_eq!(nchar_order(bin, "aĀ", "aB"), Decision::Less);
    assert_eq!(nchar_order(bin, "Ā", "B"), Decision::Greater);
    assert_eq!(nchar_order(bin, "aĀ", "a"), Decision::Undecided);
    assert_eq!(nchar_order(bin2, "a", "a\t"), Decision::Undecided);
    assert_eq!(nchar_order(bin2, "\u{1F600}", "\u{FB01}"), Decision::Undecided);
    assert_eq!(nchar_order(bin2, "", "a"), Decision::Less);
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    const SOME: [u32; 12] = [
        0x3400_D008,
        0x0000_D008,
        0x0000_C008,
        0x0000_F008,
        0x0004_D008,
        0x0004_C108,
        0x0001_0008,
        0x0000_0808,
        0x0000_D004,
        0x3300_C008,
        0x3600_F008,
        0x0000_D00B,
    ];

    fn text() -> impl Strategy<Value = String> {
        proptest::collection::vec(
            prop_oneof![4 => "[a-cA-C]", 2 => "[ _'0-1-]", 1 => "[éèøßæñ]", 1 => "\\PC"],
            0..6,
        )
        .prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn decided_comparisons_form_an_order(a in text(), b in text(), c in text()) {
            for id in SOME {
                let collation = Collation(id);
                let order = |x: &str, y: &str| collation.compare_nchar(&utf16(x), &utf16(y)).ordering();
                prop_assert_eq!(order(&a, &b), order(&b, &a).map(std::cmp::Ordering::reverse));
                let is_le = |x: &str, y: &str| order(x, y).map(std::cmp::Ordering::is_le);
                if is_le(&a, &b) == Some(true) && is_le(&b, &c) == Some(true) {
                    prop_assert!(is_le(&a, &c) != Some(false), "{} {:?} {:?} {:?}", collation, a, b, c);
                }
            }
        }

        #[test]
        fn certain_keys_order_as_comparisons_do(a in text(), b in text()) {
            for id in SOME {
                let collation = Collation(id);
                let (a_text, b_text) = (utf16(&a), utf16(&b));
                let (a_key, b_key) = (collation.sort_key_nchar(&a_text), collation.sort_key_nchar(&b_text));
                let compared = decision(collation.compare_nchar(&a_text, &b_text));
                if a_key.is_order_certain() && b_key.is_order_certain() {
                    let expected = decision(a_key.bytes().cmp(b_key.bytes()).into());
                    prop_assert_eq!(compared, expected, "{} {:?} {:?}", collation, a, b);
                }
                if compared == Decision::Equal {
                    prop_assert_eq!(a_key.bytes(), b_key.bytes(), "{} {:?} {:?}", collation, a, b);
                }
            }
        }

        #[test]
        fn no_bytes_make_a_comparison_panic(
            a in proptest::collection::vec(any::<u8>(), 0..20),
            b in proptest::collection::vec(any::<u8>(), 0..20),
            id in any::<u32>(),
        ) {
            let collation = Collation(id);
            let _ = (collation.compare_char(&a, &b), collation.compare_nchar(&a, &b));
            let _ = (collation.sort_key_char(&a), collation.sort_key_nchar(&b), collation.name(), collation.lcid());
            prop_assert_eq!(collation.name().and_then(|name| Collation::from_name(&name)),
                collation.name().map(|_| collation));
        }
    }
}

#[test]
fn ascii_is_plain_where_no_letter_has_a_place_of_its_own() {
    let named = |name: &str| Collation::from_name(name).unwrap();
    assert!(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS.has_plain_ascii(false));
    assert!(named("Latin1_General_CI_AI").has_plain_ascii(true));
    assert!(named("Turkish_BIN").has_plain_ascii(true));
    for name in ["Turkish_CI_AS", "Hungarian_CI_AS", "Finnish_Swedish_CI_AS"] {
        assert!(!named(name).has_plain_ascii(true), "{name}");
    }
    assert!(!Collation(1 << 10).has_plain_ascii(true), "unknown bits");
    assert!(named("Latin1_General_100_CI_AS_SC").is_supplementary());
    assert!(!named("Latin1_General_100_CI_AS").is_supplementary());
}

#[test]
fn every_pair_has_an_order_and_uncertain_characters_have_names() {
    let czech = Collation(0x0000_D004);
    let compared = czech.compare_nchar(&utf16("č"), &utf16("ć"));
    assert!(!compared.certain);
    assert_eq!(czech.compare_nchar(&utf16("ć"), &utf16("č")).ordering, compared.ordering.reverse());
    let uncertain = LATIN1.uncertain_nchar(&utf16("ab一")).unwrap();
    assert_eq!(uncertain.code_point, 0x4E00);
    assert_eq!(uncertain.to_string(), "U+4E00 (一)");
    assert_eq!(LATIN1.uncertain_nchar(&utf16("ab")), None);
    assert_eq!(LATIN1.uncertain_char(b"ab"), None);
}
