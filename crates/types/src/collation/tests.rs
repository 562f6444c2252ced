use super::id::{IGNORE_VARIATION, SUPPLEMENTARY};
use super::*;
use crate::text::CodePage;

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
fn ascii_is_plain_where_no_letter_has_a_place_of_its_own() {
    let named = |name: &str| Collation::from_name(name).unwrap();
    assert!(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS.has_plain_ascii(false));
    assert!(named("Latin1_General_CI_AI").has_plain_ascii(true));
    assert!(named("Turkish_BIN").has_plain_ascii(true));
    for name in ["Turkish_CI_AS", "Hungarian_CI_AS", "Finnish_Swedish_CI_AS", "Welsh_100_CI_AS"] {
        assert!(!named(name).has_plain_ascii(true), "{name}");
    }
    assert!(!Collation(1 << 10).has_plain_ascii(true), "unknown bits");
    assert!(named("Latin1_General_100_CI_AS_SC").is_supplementary());
    assert!(!named("Latin1_General_100_CI_AS").is_supplementary());
}

#[test]
fn every_named_collation_is_found_by_its_name() {
    let all: Vec<Collation> = Collation::named().collect();
    let names: std::collections::BTreeSet<String> =
        all.iter().filter_map(|collation| collation.name()).collect();
    assert_eq!(names.len(), all.len(), "no name twice");
    for collation in &all {
        assert_eq!(Collation::from_name(&collation.name().unwrap()), Some(*collation));
    }
    // As many as version 2017 lists, the last one before `_UTF8`.
    assert_eq!(all.len(), 3955);
}
