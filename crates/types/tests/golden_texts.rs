//! The order of texts that public documentation tells: alphabets of languages, and Microsoft's
//! descriptions of collations.

use std::cmp::Ordering;

use extentdb_types::Collation;
use extentdb_types::collation::Comparison;

fn named(name: &str) -> Collation {
    Collation::from_name(name).unwrap_or_else(|| panic!("no collation {name}"))
}

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn compare(collation: Collation, a: &str, b: &str) -> Comparison {
    let found = collation.compare_nchar(&wide(a), &wide(b));
    let by_keys = collation.sort_key_nchar(&wide(a)).cmp(&collation.sort_key_nchar(&wide(b)));
    assert_eq!(found.ordering, by_keys, "{collation}: the sort keys of {a:?} and {b:?}");
    found
}

/// `texts` are separated by `<` and `=`: every pair of them has the order that follows, for
/// certain.
fn check(names: &[&str], texts: &str) {
    for name in names {
        let collation = named(name);
        let mut ranked: Vec<(usize, &str)> = Vec::new();
        for (rank, equal) in texts.split(" < ").enumerate() {
            ranked.extend(equal.split(" = ").map(|text| (rank, text.trim())));
        }
        for (rank, a) in &ranked {
            for (other, b) in &ranked {
                let found = compare(collation, a, b);
                assert_eq!(found.ordering, rank.cmp(other), "{name}: {a:?} {b:?}");
                assert!(found.certain, "{name}: {a:?} {b:?} is not certain");
            }
        }
    }
}

fn check_uncertain(name: &str, a: &str, b: &str) {
    assert!(!compare(named(name), a, b).certain, "{name}: {a:?} {b:?} is certain");
}

const LATIN: [&str; 4] = [
    "Latin1_General_CI_AS",
    "Latin1_General_100_CI_AS",
    "SQL_Latin1_General_CP1_CI_AS",
    "Hebrew_100_CI_AS",
];

#[test]
fn hyphens_and_apostrophes_count_last() {
    check(&LATIN, "coop < co-op < cork");
    check(&LATIN, "AMD15433F < A-R89858F");
    check(&LATIN, "cannot < cant < can't < cant' < cantor < cart");
    check(&LATIN, "coop < co-op < coops < coop's");
    check(&LATIN, "ab < -ab < a'b < a-b < ab-");
}

#[test]
fn blanks_come_before_symbols_before_digits_before_letters() {
    check(&LATIN, "a < a b < a.b < a_b < a1 < a9 < aa < Zz < zzz");
    check(&LATIN, "a = A < b = B < z = Z");
}

#[test]
fn case_and_accents_count_by_the_flags() {
    check(&["Latin1_General_CS_AS", "Latin1_General_100_CS_AS"], "abc < ABC < abd");
    check(
        &["Latin1_General_100_CS_AI", "Latin1_General_CS_AI"],
        "resume = résumé < Resume = Résumé",
    );
    check(&["Latin1_General_100_CI_AI", "Latin1_General_CI_AI"], "Resume = résumé = RÉSUMÉ");
    check(
        &["Latin1_General_100_CI_AS", "Latin1_General_CI_AS"],
        "resume = RESUME < résumé < resumf",
    );
    check(&LATIN, "strase < strasse = straße < strasze");
    check(&LATIN, "ad < ae = æ < af");
    check(&LATIN, "oe = œ < of < p");
}

#[test]
fn french_accents_are_compared_from_the_end() {
    for name in ["French_CI_AS", "French_100_CI_AS"] {
        assert_eq!(compare(named(name), "côte", "coté").ordering, Ordering::Less, "{name}");
        check_uncertain(name, "côte", "coté");
        check(&[name], "cote < coté < côté < dote");
    }
    check(&["Latin1_General_100_CI_AS"], "cote < coté < côte < côté");
}

#[test]
fn spanish_has_an_own_n_and_traditionally_ch_and_ll() {
    let modern = ["Modern_Spanish_CI_AS", "Modern_Spanish_100_CI_AS"];
    check(&modern, "c < ch < ci < l < ll < lz < n < nz < ñ = n\u{303} < o");
    let traditional = ["Traditional_Spanish_CI_AS", "Traditional_Spanish_100_CI_AS"];
    check(&traditional, "cz < ch = CH < d < lz < ll < m < nz < ñ < o");
}

#[test]
fn german_phone_books_spell_umlauts_out() {
    let phone_books = ["German_PhoneBook_CI_AS", "German_PhoneBook_100_CI_AS"];
    check(&phone_books, "ad < ae = ä < af < oe = ö < of < ue = ü < uf");
    check(&["Latin1_General_CI_AS"], "a < ä < ad");
}

#[test]
fn nordic_letters_follow_z() {
    check(&["Danish_Norwegian_CI_AS"], "ab < az < zz < æ < ø < å < aa");
    check(
        &["Finnish_Swedish_CI_AS", "Finnish_Swedish_100_CI_AS"],
        "a < y < z < å < ä < ö = o\u{308}",
    );
    check(&["Finnish_Swedish_100_CI_AS"], "va < vb < wa");
    check_uncertain("Finnish_Swedish_CI_AS", "wa", "vb");
    assert_eq!(
        compare(named("Finnish_Swedish_CI_AS"), "wa", "vb").ordering,
        Ordering::Less,
        "w as v"
    );
    check(
        &["Icelandic_CI_AS", "Icelandic_100_CI_AS"],
        "a < á < b < d < ð < e < é < y < ý < z < þ < æ < ö",
    );
}

#[test]
fn slavic_alphabets_have_their_letters() {
    check(
        &["Czech_CI_AS", "Czech_100_CI_AS"],
        "c < cz < č < d < h < hz < ch = CH < i < r < ř < s < š < z < ž",
    );
    check(&["Slovak_CI_AS", "Slovak_100_CI_AS"], "a < ä < b < c < č < h < ch < i < o < ô < p");
    check(
        &["Polish_CI_AS", "Polish_100_CI_AS"],
        "a < ą < b < c < ć < d < e < ę < f < l < ł < m < n < ń < o < ó < p < z < ź < ż",
    );
    check(
        &["Croatian_CI_AS", "Croatian_100_CI_AS"],
        "c < č < ć < d < dž < đ < e < l < lj < m < n < nj < o < s < š < z < ž",
    );
    check(&["Slovenian_CI_AS", "Slovenian_100_CI_AS"], "c < č < ć < d < đ < s < š < z < ž");
    check(
        &["Cyrillic_General_CI_AS", "Cyrillic_General_100_CI_AS"],
        "а < б < в < г < д < е < ж < з < и < й < к < я",
    );
    check(&["Ukrainian_CI_AS", "Ukrainian_100_CI_AS"], "г < ґ < д < е < є < ж < и < і < ї < й < к");
}

#[test]
fn baltic_alphabets_have_their_letters() {
    check(
        &["Estonian_CI_AS", "Estonian_100_CI_AS"],
        "s < š < z < ž < t < u < v < õ < ä < ö < ü < x < y",
    );
    check(
        &["Latvian_CI_AS", "Latvian_100_CI_AS"],
        "c < č < d < g < ģ < h < k < ķ < l < ļ < n < ņ < s < š < z < ž",
    );
    check(&["Lithuanian_CI_AS", "Lithuanian_100_CI_AS"], "c < č < d < i < y < j < s < š < z < ž");
    check(&["Lithuanian_CI_AS"], "ia < yb < ic");
}

#[test]
fn other_alphabets_have_their_letters() {
    check(
        &["Hungarian_CI_AS", "Hungarian_100_CI_AS"],
        "c < cz < cs < d < dv < dz < dzs < e < g < gy < h < o < ö < p < s < sz < t < u < ü < z < zs",
    );
    check(&["Albanian_CI_AS", "Albanian_100_CI_AS"], "c < ç < d < dz < dh < e < ë < f");
    check(
        &["Turkish_CI_AS", "Turkish_100_CI_AS"],
        "c < ç < d < g < ğ < h < I = ı < i = İ < j < o < ö < p < s < ş < t < u < ü < v",
    );
    check(
        &["Romanian_CI_AS", "Romanian_100_CI_AS"],
        "a < ă < â < b < i < î < j < s < ş < t < ţ < u",
    );
    check(
        &["Vietnamese_CI_AS", "Vietnamese_100_CI_AS"],
        "a < ă < â < b < d < đ < e < ê < g < o < ô < ơ < p < u < ư < v",
    );
    check(&["Greek_CI_AS", "Greek_100_CI_AS"], "α < β < γ < δ < ω");
    check(&["Arabic_CI_AI", "Arabic_100_CI_AI"], "ب < ت < ث < ج < ح");
    check(&["Hebrew_CI_AS", "Hebrew_100_CI_AS"], "א < ב < ג < ת");
    check(&["Georgian_Modern_Sort_100_CI_AS"], "ა < ბ < გ");
}

#[test]
fn doubled_hungarian_sequences_count_as_two() {
    let hungarian = named("Hungarian_CI_AS");
    assert_eq!(compare(hungarian, "ccs", "cscs").ordering, Ordering::Equal);
    check_uncertain("Hungarian_CI_AS", "ccs", "cscz");
}

#[test]
fn kana_are_alike_unless_the_collation_tells_them_apart() {
    check(
        &["Japanese_CI_AS", "Japanese_XJIS_100_CI_AS"],
        "あ = ア = ｱ < い = イ < か < が < き < ん",
    );
    let sensitive = named("Japanese_CI_AS_KS");
    assert_ne!(compare(sensitive, "あ", "ア").ordering, Ordering::Equal);
    assert_eq!(compare(sensitive, "ア", "ｱ").ordering, Ordering::Equal);
    let sensitive = named("Japanese_CI_AS_WS");
    assert_ne!(compare(sensitive, "ア", "ｱ").ordering, Ordering::Equal);
    assert_eq!(compare(sensitive, "あ", "ア").ordering, Ordering::Equal);
    check(&["Latin1_General_CI_AS"], "a = ａ = A = Ａ < b");
    check(&["Latin1_General_CI_AS_WS"], "a = A < ａ = Ａ < b");
}

#[test]
fn ideographs_follow_their_language() {
    // Pinyin a, ba, ca, zhong; one, two, three strokes; bopomofo b, p, m; readings a, i, u; Hangul
    // readings.
    check(&["Chinese_Simplified_Pinyin_100_CI_AS"], "阿 < 八 < 擦 < 中");
    check(&["Chinese_Simplified_Stroke_Order_100_CI_AS"], "一 < 二 < 三");
    check(&["Chinese_Traditional_Bopomofo_100_CI_AS"], "八 < 怕 < 媽");
    check(&["Chinese_Traditional_Stroke_Count_100_CI_AS"], "一 < 二 < 三");
    check(&["Japanese_XJIS_100_CI_AS"], "亜 < 以 < 宇");
    check(&["Korean_100_CI_AS"], "가 < 伽 < 나 < 다");
    check_uncertain("Chinese_PRC_CI_AS", "阿", "八");
    check(&["Chinese_PRC_CI_AS"], "中 < 中国");
}

#[test]
fn characters_without_weight_are_skipped() {
    check(&["Latin1_General_CI_AS"], "a = a\u{0} = \u{0}a = a\u{1F600} < b");
    let found = compare(named("Latin1_General_100_CI_AS_SC"), "a", "a\u{1F600}");
    assert_eq!((found.ordering, found.certain), (Ordering::Less, false));
}

#[test]
fn uncertain_characters_are_named() {
    let uncertain = |name: &str, text: &str| {
        named(name).uncertain_nchar(&wide(text)).map(|character| character.to_string())
    };
    let latin = "Latin1_General_CI_AS";
    assert_eq!(uncertain(latin, "Zürich 'A'-ß, Ελλάς, Москва, שלום, سلام, łódź"), None);
    assert_eq!(uncertain(latin, "ab一").as_deref(), Some("U+4E00 (一)"));
    assert_eq!(uncertain("Chinese_Simplified_Pinyin_100_CI_AS", "ab一"), None);
    assert_eq!(
        uncertain("Latin1_General_100_CI_AS", "a\u{1F600}").as_deref(),
        Some("U+1F600 (😀)")
    );
    assert_eq!(uncertain("Welsh_100_CI_AS", "1a").as_deref(), Some("U+0061 (a)"));
    assert_eq!(uncertain("Latin1_General_BIN2", "a\t").as_deref(), Some("U+0009"));
    let sql = named("SQL_Latin1_General_CP1_CI_AS");
    assert_eq!(sql.uncertain_char(b"Z\xFCrich \xDF"), None);
    let uncertain = sql.uncertain_char(b"\xD8").map(|character| character.to_string());
    assert_eq!(uncertain.as_deref(), Some("U+00D8 (Ø)"));
}

#[test]
fn char_texts_of_sql_collations_have_an_order_of_their_own() {
    let order = |name: &str, a: &str, b: &str| {
        let collation = named(name);
        let [a, b] = [a, b].map(|text| collation.code_page().unwrap().encode(text).unwrap());
        let found = collation.compare_char(&a, &b);
        assert_eq!(found.ordering, collation.sort_key_char(&a).cmp(&collation.sort_key_char(&b)));
        (found.ordering, found.certain)
    };
    let sql = "SQL_Latin1_General_CP1_CI_AS";
    assert_eq!(order(sql, "A-R89858F", "AMD15433F"), (Ordering::Less, true));
    assert_eq!(order("Latin1_General_CI_AS", "A-R89858F", "AMD15433F"), (Ordering::Greater, true));
    assert_eq!(order(sql, "ABC", "abc"), (Ordering::Equal, true));
    assert_eq!(order(sql, "a b", "a!b"), (Ordering::Less, true));
    assert_eq!(order(sql, "a~", "a0"), (Ordering::Less, true));
    assert_eq!(order(sql, "€", "Š"), (Ordering::Less, true));
    assert_eq!(order(sql, "Š", "a"), (Ordering::Less, true));
    assert_eq!(order(sql, "e", "é"), (Ordering::Less, true));
    assert_eq!(order(sql, "Zürich", "Zwolle"), (Ordering::Less, true));
    let by_levels = order(sql, "résumé", "resumf");
    assert_eq!(by_levels, (Ordering::Less, false), "level by level, or byte by byte?");
    assert_eq!(order(sql, "ss", "ß"), (Ordering::Less, true));
    assert_eq!(order(sql, "ß", "st"), (Ordering::Less, true));
    assert_eq!(order("SQL_Latin1_General_CP1_CS_AS", "Ab", "ab"), (Ordering::Less, true));
    assert_eq!(order("SQL_Latin1_General_Pref_CP1_CI_AS", "Ab", "ab"), (Ordering::Equal, false));
    assert_eq!(order("SQL_Latin1_General_CP850_CI_AS", "a", "b"), (Ordering::Less, true));
    assert_eq!(order("SQL_Latin1_General_CP850_CI_AS", "é", "f"), (Ordering::Less, false));
    assert_eq!(order("SQL_EBCDIC037_CP1_CS_AS", "a", "b"), (Ordering::Less, false));
}

#[test]
fn binary_collations_compare_units() {
    let bin = named("Latin1_General_BIN");
    let bin2 = named("Latin1_General_BIN2");
    let order = |collation, a, b| {
        let found = compare(collation, a, b);
        (found.ordering, found.certain)
    };
    assert_eq!(bin.compare_char(b"B", b"a"), Ordering::Less.into());
    assert_eq!(bin2.compare_char(b"a-b", b"ab"), Ordering::Less.into());
    assert_eq!(order(bin2, "aĀ", "aB"), (Ordering::Greater, true));
    // BIN: the second unit U+0100 is the bytes 00 01, below B's 42 00.
    assert_eq!(order(bin, "aĀ", "aB"), (Ordering::Less, true));
    assert_eq!(order(bin, "Ā", "B"), (Ordering::Greater, true));
    assert_eq!(order(bin, "aĀ", "a"), (Ordering::Greater, false));
    assert_eq!(order(bin2, "a", "a\t"), (Ordering::Less, false));
    assert_eq!(order(bin2, "\u{1F600}", "\u{FB01}"), (Ordering::Less, false));
    assert_eq!(order(bin2, "", "a"), (Ordering::Less, true));
}

#[test]
fn trailing_blanks_never_matter() {
    let names = [
        "SQL_Latin1_General_CP1_CI_AS",
        "Latin1_General_CI_AS",
        "Latin1_General_BIN",
        "Latin1_General_BIN2",
    ];
    for name in names {
        let collation = named(name);
        assert_eq!(collation.compare_char(b"ab", b"ab   "), Ordering::Equal.into());
        assert_eq!(compare(collation, "ab   ", "ab"), Ordering::Equal.into());
        assert_eq!(collation.sort_key_char(b"ab "), collation.sort_key_char(b"ab"));
    }
}

/// The characters of a range that a collation is not certain of.
fn uncertain_in(collation: Collation, range: std::ops::RangeInclusive<char>) -> Vec<char> {
    range
        .filter(|character| collation.uncertain_nchar(&wide(&character.to_string())).is_some())
        .collect()
}

#[test]
fn what_all_tables_order_alike_is_certain_in_every_version() {
    let alike = [
        '\u{1}'..='~',
        'À'..='ÿ',
        'Ā'..='\u{130}',
        '\u{132}'..='\u{137}',
        '\u{139}'..='ſ',
        'א'..='ת',
        '！'..='～',
    ];
    for name in [
        "Latin1_General_CI_AS",
        "Latin1_General_100_CI_AS",
        "Chinese_PRC_90_CI_AS",
        "Japanese_XJIS_140_CI_AS",
    ] {
        for range in alike.clone() {
            assert_eq!(uncertain_in(named(name), range), [], "{name}");
        }
    }
    for name in
        ["Cyrillic_General_CI_AS", "Greek_100_CI_AS", "Arabic_CI_AS", "Latin1_General_100_CI_AS"]
    {
        for range in
            ['А'..='я', 'Α'..='ώ', 'ء'..='ي', '\u{a0}'..='¿', '\u{2010}'..='\u{2044}', '가'..='힣']
        {
            assert_eq!(uncertain_in(named(name), range), [], "{name}");
        }
    }
}
