//! Windows collation designators by language index.
//!
//! From public lists of collation names and ids. An index, or an index with a version, that is not
//! here has no certain name. Code page 0: the collation has only Unicode types. Locale ids of 45
//! and 46 are the least certain.

use super::CollationVersion;

/// One language index.
pub(super) struct Language {
    pub(super) index: u8,
    pub(super) designator: &'static str,
    pub(super) versions: &'static [CollationVersion],
    pub(super) lcid: u32,
    pub(super) code_page: u16,
}

const V80: &[CollationVersion] = &[CollationVersion::V80];
const V90: &[CollationVersion] = &[CollationVersion::V90];
const V100: &[CollationVersion] = &[CollationVersion::V100];
const V80_100: &[CollationVersion] = &[CollationVersion::V80, CollationVersion::V100];
const V90_100: &[CollationVersion] = &[CollationVersion::V90, CollationVersion::V100];
const V100_140: &[CollationVersion] = &[CollationVersion::V100, CollationVersion::V140];

/// Ascending by index.
#[rustfmt::skip]
static LANGUAGES: &[Language] = &[
    language(0x01, "Arabic", V80_100, 0x0401, 1256),
    language(0x02, "Dari", V100, 0x048C, 1256),
    language(0x03, "Chinese_Taiwan_Stroke", V80, 0x0404, 950),
    language(0x04, "Czech", V80_100, 0x0405, 1250),
    language(0x05, "Danish_Norwegian", V80, 0x0406, 1252),
    language(0x06, "Yakut", V100, 0x0485, 1251),
    language(0x07, "Greek", V80_100, 0x0408, 1253),
    language(0x08, "Latin1_General", V80_100, 0x0409, 1252),
    language(0x09, "Traditional_Spanish", V80_100, 0x040A, 1252),
    language(0x0A, "Finnish_Swedish", V80_100, 0x040B, 1252),
    language(0x0B, "French", V80_100, 0x040C, 1252),
    language(0x0C, "Hebrew", V80_100, 0x040D, 1255),
    language(0x0D, "Hungarian", V80_100, 0x040E, 1250),
    language(0x0E, "Icelandic", V80_100, 0x040F, 1252),
    language(0x0F, "Corsican", V100, 0x0483, 1252),
    language(0x10, "Japanese", V80, 0x0411, 932),
    language(0x11, "Korean_Wansung", V80, 0x0412, 949),
    language(0x12, "Maori", V100, 0x0481, 0),
    language(0x13, "Polish", V80_100, 0x0415, 1250),
    language(0x14, "Romanian", V80_100, 0x0418, 1250),
    language(0x15, "Cyrillic_General", V80_100, 0x0419, 1251),
    language(0x16, "Croatian", V80_100, 0x041A, 1250),
    language(0x17, "Slovak", V80_100, 0x041B, 1250),
    language(0x18, "Albanian", V80_100, 0x041C, 1250),
    language(0x19, "Thai", V80_100, 0x041E, 874),
    language(0x1A, "Turkish", V80_100, 0x041F, 1254),
    language(0x1B, "Ukrainian", V80_100, 0x0422, 1251),
    language(0x1C, "Slovenian", V80_100, 0x0424, 1250),
    language(0x1D, "Estonian", V80_100, 0x0425, 1257),
    language(0x1E, "Latvian", V80_100, 0x0426, 1257),
    language(0x1F, "Lithuanian", V80_100, 0x0427, 1257),
    language(0x20, "Vietnamese", V80_100, 0x042A, 1258),
    language(0x24, "Chinese_PRC", V80, 0x0804, 936),
    language(0x25, "Uighur", V100, 0x0480, 1256),
    language(0x26, "Breton", V100, 0x047E, 1252),
    language(0x28, "Modern_Spanish", V80_100, 0x0C0A, 1252),
    language(0x29, "German_PhoneBook", V80_100, 0x10407, 1252),
    language(0x2A, "Hungarian_Technical", V80_100, 0x1040E, 1250),
    language(0x2B, "Japanese_Unicode", V80, 0x10411, 932),
    language(0x2D, "Georgian_Modern_Sort", V80_100, 0x10437, 1252),
    language(0x2E, "Chinese_PRC_Stroke", V80, 0x20804, 936),
    language(0x2F, "Chinese_Taiwan_Bopomofo", V80, 0x30404, 950),
    language(0x30, "Japanese", V90, 0x0411, 932),
    language(0x31, "Chinese_PRC", V90, 0x0804, 936),
    language(0x32, "Chinese_PRC_Stroke", V90, 0x20804, 936),
    language(0x33, "Chinese_Taiwan_Bopomofo", V90, 0x30404, 950),
    language(0x34, "Chinese_Taiwan_Stroke", V90, 0x0404, 950),
    language(0x35, "Indic_General", V90_100, 0x0439, 0),
    language(0x37, "Kazakh", V90_100, 0x043F, 1251),
    language(0x38, "Uzbek_Latin", V90_100, 0x0443, 1254),
    language(0x39, "Tatar", V90_100, 0x0444, 1251),
    language(0x3A, "Macedonian_FYROM", V90_100, 0x042F, 1251),
    language(0x3B, "Syriac", V90_100, 0x045A, 0),
    language(0x3C, "Divehi", V90_100, 0x0465, 0),
    language(0x3E, "Chinese_Hong_Kong_Stroke", V90, 0x0C04, 950),
    language(0x3F, "Mohawk", V100, 0x047C, 1252),
    language(0x40, "Korean", V90_100, 0x0412, 949),
    language(0x41, "Chinese_Traditional_Stroke_Count", V100, 0x0404, 950),
    language(0x42, "Chinese_Traditional_Bopomofo", V100, 0x30404, 950),
    language(0x43, "Chinese_Simplified_Pinyin", V100, 0x0804, 936),
    language(0x44, "Chinese_Simplified_Stroke_Order", V100, 0x20804, 936),
    language(0x45, "Chinese_Traditional_Pinyin", V100, 0x1404, 950),
    language(0x46, "Chinese_Traditional_Stroke_Order", V100, 0x21404, 950),
    language(0x47, "Danish_Greenlandic", V100, 0x0406, 1252),
    language(0x48, "Japanese_XJIS", V100_140, 0x0411, 932),
    language(0x49, "Japanese_Bushu_Kakusu", V100_140, 0x0411, 932),
    language(0x4A, "Norwegian", V100, 0x0414, 1252),
    language(0x4B, "Romansh", V100, 0x0417, 1252),
    language(0x4C, "Serbian_Latin", V100, 0x081A, 1250),
    language(0x4D, "Serbian_Cyrillic", V100, 0x0C1A, 1251),
    language(0x4E, "Bosnian_Latin", V100, 0x141A, 1250),
    language(0x4F, "Bosnian_Cyrillic", V100, 0x201A, 1251),
    language(0x50, "Urdu", V100, 0x0420, 1256),
    language(0x51, "Persian", V100, 0x0429, 1256),
    language(0x52, "Mapudungan", V100, 0x047A, 1252),
    language(0x53, "Upper_Sorbian", V100, 0x042E, 1252),
    language(0x54, "Bashkir", V100, 0x046D, 1251),
    language(0x55, "Maltese", V100, 0x043A, 0),
    language(0x56, "Sami_Norway", V100, 0x043B, 1252),
    language(0x57, "Sami_Sweden_Finland", V100, 0x083B, 1252),
    language(0x58, "Turkmen", V100, 0x0442, 1250),
    language(0x59, "Bengali", V100, 0x0445, 0),
    language(0x5A, "Assamese", V100, 0x044D, 0),
    language(0x5B, "Pashto", V100, 0x0463, 0),
    language(0x5C, "Tibetan", V100, 0x0451, 0),
    language(0x5D, "Welsh", V100, 0x0452, 1252),
    language(0x5E, "Khmer", V100, 0x0453, 0),
    language(0x5F, "Lao", V100, 0x0454, 0),
    language(0x60, "Frisian", V100, 0x0462, 1252),
    language(0x61, "Tamazight", V100, 0x085F, 1252),
    language(0x62, "Nepali", V100, 0x0461, 0),
    language(0x63, "Azeri_Latin", V100, 0x042C, 1254),
    language(0x64, "Azeri_Cyrillic", V100, 0x082C, 1251),
];

/// Every language index with every version that it has a name in.
pub(super) fn all() -> impl Iterator<Item = (u8, CollationVersion)> {
    LANGUAGES.iter().flat_map(|it| it.versions.iter().map(|version| (it.index, *version)))
}

const fn language(
    index: u8,
    designator: &'static str,
    versions: &'static [CollationVersion],
    lcid: u32,
    code_page: u16,
) -> Language {
    Language { index, designator, versions, lcid, code_page }
}

/// The language of an index.
pub(super) fn by_index(index: u8) -> Option<&'static Language> {
    LANGUAGES
        .binary_search_by_key(&index, |language| language.index)
        .ok()
        .and_then(|at| LANGUAGES.get(at))
}

/// The designator of an index, when it exists in that version.
pub(super) fn designator(index: u8, version: CollationVersion) -> Option<&'static str> {
    by_index(index)
        .filter(|language| language.versions.contains(&version))
        .map(|language| language.designator)
}

/// Every language and version whose designator begins `name`, and the rest of the name.
pub(super) fn candidates(name: &str) -> impl Iterator<Item = (u8, CollationVersion, &str)> {
    LANGUAGES.iter().flat_map(move |language| {
        language.versions.iter().filter_map(move |&version| {
            let rest = strip_prefix_ignoring_case(name, language.designator)?;
            let style = strip_prefix_ignoring_case(rest, version.suffix())?;
            Some((language.index, version, style))
        })
    })
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}
