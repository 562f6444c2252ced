//! SQL sort orders: the `SQL_*` collations, their ids, code pages and how far their order is known.

use super::Collation;

/// Every `SQL_*` collation, ascending by sort order id.
#[rustfmt::skip]
static SORT_ORDERS: &[(u32, &str)] = &[
    (0x1E000808, "SQL_Latin1_General_CP437_BIN2"),
    (0x1E010008, "SQL_Latin1_General_CP437_BIN"),
    (0x1F00C008, "SQL_Latin1_General_CP437_CS_AS"),
    (0x2000D008, "SQL_Latin1_General_CP437_CI_AS"),
    (0x2100D008, "SQL_Latin1_General_Pref_CP437_CI_AS"),
    (0x2200F008, "SQL_Latin1_General_CP437_CI_AI"),
    (0x28000808, "SQL_Latin1_General_CP850_BIN2"),
    (0x28010008, "SQL_Latin1_General_CP850_BIN"),
    (0x2900C008, "SQL_Latin1_General_CP850_CS_AS"),
    (0x2A00D008, "SQL_Latin1_General_CP850_CI_AS"),
    (0x2B00D008, "SQL_Latin1_General_Pref_CP850_CI_AS"),
    (0x2C00F008, "SQL_Latin1_General_CP850_CI_AI"),
    (0x3100D008, "SQL_1xCompat_CP850_CI_AS"),
    (0x3300C008, "SQL_Latin1_General_CP1_CS_AS"),
    (0x3400D008, "SQL_Latin1_General_CP1_CI_AS"),
    (0x3500D008, "SQL_Latin1_General_Pref_CP1_CI_AS"),
    (0x3600F008, "SQL_Latin1_General_CP1_CI_AI"),
    (0x3700C008, "SQL_AltDiction_CP850_CS_AS"),
    (0x3800D008, "SQL_AltDiction_Pref_CP850_CI_AS"),
    (0x3900F008, "SQL_AltDiction_CP850_CI_AI"),
    (0x3A00D00A, "SQL_Scandinavian_Pref_CP850_CI_AS"),
    (0x3B00C00A, "SQL_Scandinavian_CP850_CS_AS"),
    (0x3C00D00A, "SQL_Scandinavian_CP850_CI_AS"),
    (0x3D00D008, "SQL_AltDiction_CP850_CI_AS"),
    (0x5100C008, "SQL_Latin1_General_CP1250_CS_AS"),
    (0x5200D008, "SQL_Latin1_General_CP1250_CI_AS"),
    (0x5300C004, "SQL_Czech_CP1250_CS_AS"),
    (0x5400D004, "SQL_Czech_CP1250_CI_AS"),
    (0x5500C00D, "SQL_Hungarian_CP1250_CS_AS"),
    (0x5600D00D, "SQL_Hungarian_CP1250_CI_AS"),
    (0x5700C013, "SQL_Polish_CP1250_CS_AS"),
    (0x5800D013, "SQL_Polish_CP1250_CI_AS"),
    (0x5900C014, "SQL_Romanian_CP1250_CS_AS"),
    (0x5A00D014, "SQL_Romanian_CP1250_CI_AS"),
    (0x5B00C016, "SQL_Croatian_CP1250_CS_AS"),
    (0x5C00D016, "SQL_Croatian_CP1250_CI_AS"),
    (0x5D00C017, "SQL_Slovak_CP1250_CS_AS"),
    (0x5E00D017, "SQL_Slovak_CP1250_CI_AS"),
    (0x5F00C01C, "SQL_Slovenian_CP1250_CS_AS"),
    (0x6000D01C, "SQL_Slovenian_CP1250_CI_AS"),
    (0x6900C008, "SQL_Latin1_General_CP1251_CS_AS"),
    (0x6A00D008, "SQL_Latin1_General_CP1251_CI_AS"),
    (0x6B00C01B, "SQL_Ukrainian_CP1251_CS_AS"),
    (0x6C00D01B, "SQL_Ukrainian_CP1251_CI_AS"),
    (0x7100C008, "SQL_Latin1_General_CP1253_CS_AS"),
    (0x7200D008, "SQL_Latin1_General_CP1253_CI_AS"),
    (0x7800C008, "SQL_MixDiction_CP1253_CS_AS"),
    (0x7A00C008, "SQL_AltDiction2_CP1253_CS_AS"),
    (0x7C00F008, "SQL_Latin1_General_CP1253_CI_AI"),
    (0x8100C01A, "SQL_Latin1_General_CP1254_CS_AS"),
    (0x8200D01A, "SQL_Latin1_General_CP1254_CI_AS"),
    (0x8900C008, "SQL_Latin1_General_CP1255_CS_AS"),
    (0x8A00D008, "SQL_Latin1_General_CP1255_CI_AS"),
    (0x9100C008, "SQL_Latin1_General_CP1256_CS_AS"),
    (0x9200D008, "SQL_Latin1_General_CP1256_CI_AS"),
    (0x9900C008, "SQL_Latin1_General_CP1257_CS_AS"),
    (0x9A00D008, "SQL_Latin1_General_CP1257_CI_AS"),
    (0x9B00C01D, "SQL_Estonian_CP1257_CS_AS"),
    (0x9C00D01D, "SQL_Estonian_CP1257_CI_AS"),
    (0x9D00C01E, "SQL_Latvian_CP1257_CS_AS"),
    (0x9E00D01E, "SQL_Latvian_CP1257_CI_AS"),
    (0x9F00C01F, "SQL_Lithuanian_CP1257_CS_AS"),
    (0xA000D01F, "SQL_Lithuanian_CP1257_CI_AS"),
    (0xB700D005, "SQL_Danish_Pref_CP1_CI_AS"),
    (0xB800D00A, "SQL_SwedishPhone_Pref_CP1_CI_AS"),
    (0xB900D00A, "SQL_SwedishStd_Pref_CP1_CI_AS"),
    (0xBA00D00E, "SQL_Icelandic_Pref_CP1_CI_AS"),
    (0xD200C008, "SQL_EBCDIC037_CP1_CS_AS"),
    (0xD300C029, "SQL_EBCDIC273_CP1_CS_AS"),
    (0xD400C005, "SQL_EBCDIC277_CP1_CS_AS"),
    (0xD500C00A, "SQL_EBCDIC278_CP1_CS_AS"),
    (0xD600C008, "SQL_EBCDIC280_CP1_CS_AS"),
    (0xD700C028, "SQL_EBCDIC284_CP1_CS_AS"),
    (0xD800C008, "SQL_EBCDIC285_CP1_CS_AS"),
    (0xD900C00B, "SQL_EBCDIC297_CP1_CS_AS"),
    (0xDA00C005, "SQL_EBCDIC277_2_CP1_CS_AS"),
    (0xDB00C029, "SQL_EBCDIC1141_CP1_CS_AS"),
];

/// All of them.
pub(super) fn all() -> impl Iterator<Item = Collation> {
    SORT_ORDERS.iter().map(|(id, _)| Collation(*id))
}

/// The name, when the whole id is that of the sort order.
pub(super) fn name(collation: Collation) -> Option<&'static str> {
    SORT_ORDERS.iter().find(|(id, _)| *id == collation.0).map(|(_, name)| *name)
}

/// The collation of a name, in any case of letters.
pub(super) fn by_name(name: &str) -> Option<Collation> {
    SORT_ORDERS
        .iter()
        .find(|(_, known)| known.eq_ignore_ascii_case(name))
        .map(|(id, _)| Collation(*id))
}

/// The code page; `None` for an id that is no sort order of SQL Server.
pub(super) fn code_page(id: u8) -> Option<u16> {
    Some(match id {
        30..=34 => 437,
        40..=44 | 49 | 55..=61 => 850,
        50..=54 | 71..=75 | 183..=186 | 210..=219 => 1252,
        80..=96 => 1250,
        104..=108 => 1251,
        112..=124 => 1253,
        128..=130 => 1254,
        136..=138 => 1255,
        144..=146 => 1256,
        152..=160 => 1257,
        192 | 193 | 200 => 932,
        194 | 195 | 201 => 949,
        196 | 197 | 202 => 950,
        198 | 199 | 203 => 936,
        204..=206 => 874,
        _ => return None,
    })
}

/// Does the sort order prefer upper case among otherwise equal strings? Then its order of such ties
/// is its own.
pub(super) fn prefers_upper_case(id: u8) -> bool {
    matches!(id, 33 | 43 | 53 | 56 | 58 | 183..=186)
}

/// Do digits, Latin letters and classes of symbols follow the common order for char types?
/// Language-specific, "AltDiction" and EBCDIC orders have tables of their own.
pub(super) fn has_common_order(id: u8) -> bool {
    matches!(id, 31..=34 | 41..=44 | 51..=54 | 81 | 82 | 105 | 106 | 113 | 114 | 124)
        || matches!(id, 137 | 138 | 145 | 146 | 153 | 154)
}
