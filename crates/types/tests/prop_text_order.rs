//! The order of texts is total, and the same for comparisons and sort keys: all collations,
//! characters of all planes.

use std::cmp::Ordering;

use extentdb_types::Collation;
use proptest::prelude::*;

/// Every Windows collation with every style, and the SQL collations.
fn collations() -> Vec<Collation> {
    let styles: Vec<u32> = (0..16u32).map(|bits| bits << 12).chain([1 << 16, 1 << 11]).collect();
    let ids = (0..=0xFFu32).flat_map(|language| {
        let versions =
            (0..4u32).map(|version| version << 17 | if version == 3 { 0x300 } else { 0 });
        versions.map(move |version| language | version)
    });
    let with_styles = |id: u32| styles.iter().map(move |style| Collation(id | style));
    let mut all: Vec<Collation> = ids.flat_map(with_styles).collect();
    for order in 1..=255u32 {
        for language in 0..=0x30u32 {
            let styles = [0xD000, 0xC000, 0xF000, 0x0800, 0x10000];
            all.extend(styles.map(|style: u32| Collation(order << 24 | style | language)));
        }
    }
    all.retain(|collation| collation.name().is_some());
    all
}

/// Some of them, so that every test case is quick and all cases together see most.
fn some_collations() -> impl Strategy<Value = Vec<Collation>> {
    prop::sample::subsequence(collations(), 40)
}

fn character() -> impl Strategy<Value = String> {
    const MARKS: [&str; 7] =
        ["\u{300}", "\u{301}", "\u{308}", "\u{303}", "\u{327}", "\u{30C}", "\u{e4c}"];
    prop_oneof![
        6 => "[a-dA-D]",
        2 => "[ _'0-2.-]",
        2 => "[cdghjlnstxyzCSZ]",
        2 => "[éèøßæñåäöüçčžłđŵ]",
        1 => prop::sample::select(MARKS.to_vec()).prop_map(str::to_owned),
        1 => "[а-яёіїґΑ-ω]",
        1 => "[あアｱぁァがカｶーゝ々가각一二三丁亜ｶﾞ]",
        1 => "[א-ת\u{5F0}ا-يกเแา\u{93C}क]",
        1 => "[\u{0}-\u{1f}\u{ad}\u{200d}\u{fe0f}\u{e000}\u{ffff}\u{fffe}]",
        1 => "\\PC",
        1 => "[😀🎉𠀀𝔸]",
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(character(), 0..6).prop_map(|parts| parts.concat())
}

/// Three texts that often begin alike.
fn texts() -> impl Strategy<Value = [String; 3]> {
    (prop::array::uniform3(text()), text(), 0..8u8).prop_map(|(mut texts, head, which)| {
        for (at, text) in texts.iter_mut().enumerate() {
            if which >> at & 1 == 0 {
                text.insert_str(0, &head);
            }
        }
        texts
    })
}

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// An order that is that of byte strings is total.
fn check_order(
    collation: Collation,
    texts: &[Vec<u8>; 3],
    compare: impl Fn(&[u8], &[u8]) -> Ordering,
    key: impl Fn(&[u8]) -> Vec<u8>,
) -> Result<(), TestCaseError> {
    let keys = texts.each_ref().map(|text| key(text));
    for (a, of_a) in texts.iter().zip(&keys) {
        for (b, of_b) in texts.iter().zip(&keys) {
            prop_assert_eq!(compare(a, b), of_a.cmp(of_b), "{}: {:?} {:?}", collation, a, b);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn texts_compare_as_their_sort_keys_under_every_collation(
        texts in texts(),
        collations in some_collations(),
    ) {
        let wide = texts.each_ref().map(|text| wide(text));
        for collation in collations {
            let compare = |a: &[u8], b: &[u8]| collation.compare_nchar(a, b).ordering;
            let key = |text: &[u8]| collation.sort_key_nchar(text).bytes().to_vec();
            check_order(collation, &wide, compare, key)?;
        }
    }

    #[test]
    fn bytes_compare_as_their_sort_keys_under_every_collation(
        texts in prop::array::uniform3(prop::collection::vec(
            prop_oneof![any::<u8>(), b' '..b'z', 0xC0u8..0xFF, prop::sample::select(b"aeAEs\xE6\xC6\xDF".to_vec())],
            0..7,
        )),
        collations in some_collations(),
    ) {
        for collation in collations.into_iter().chain([Collation::SQL_LATIN1_GENERAL_CP1_CI_AS]) {
            let compare = |a: &[u8], b: &[u8]| collation.compare_char(a, b).ordering;
            let key = |text: &[u8]| collation.sort_key_char(text).bytes().to_vec();
            check_order(collation, &texts, compare, key)?;
        }
    }

    #[test]
    fn only_uncertain_characters_make_a_comparison_uncertain(
        texts in texts(),
        collations in some_collations(),
    ) {
        let [a, b, _] = texts.each_ref().map(|text| wide(text));
        for collation in collations {
            let has_doubt = |text: &[u8]| collation.uncertain_nchar(text).is_some();
            // Accents from the end are doubted as such, not by their characters.
            let is_french = collation.language() == 0x0B && !collation.ignores_accents();
            if !has_doubt(&a) && !has_doubt(&b) && !is_french && !collation.is_binary() {
                prop_assert!(collation.compare_nchar(&a, &b).certain, "{}: {:?}", collation, texts);
            }
        }
    }

    #[test]
    fn no_bytes_make_a_comparison_panic(
        a in prop::collection::vec(any::<u8>(), 0..20),
        b in prop::collection::vec(any::<u8>(), 0..20),
        ids in prop::collection::vec(any::<u32>(), 10),
    ) {
        for collation in ids.into_iter().map(Collation) {
            let order = collation.compare_char(&a, &b);
            prop_assert_eq!(order.ordering, collation.sort_key_char(&a).cmp(&collation.sort_key_char(&b)));
            let order = collation.compare_nchar(&a, &b);
            prop_assert_eq!(order.ordering, collation.sort_key_nchar(&a).cmp(&collation.sort_key_nchar(&b)));
            let _ = (collation.uncertain_char(&a), collation.uncertain_nchar(&b));
            let _ = (collation.name(), collation.lcid());
        }
    }
}

#[test]
fn there_are_collations_of_all_versions() {
    let all = collations();
    assert!(all.len() > 2_000, "{}", all.len());
    for part in ["_90_", "_100_", "_140_", "SQL_"] {
        let has_part =
            |collation: &Collation| collation.name().is_some_and(|name| name.contains(part));
        assert!(all.iter().any(has_part), "{part}");
    }
}
