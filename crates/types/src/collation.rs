//! Collations: what a collation id says about code page, order and equality.
//!
//! ```text
//! bits 0..7   language index          bit 14  ignore kana (clear = _KS)
//! bit  8      _SC                     bit 15  ignore width (clear = _WS)
//! bit  9      ignore variation selectors (only _140; clear = _VSS)
//! bit  11     BIN2                    bit 16  BIN
//! bit  12     ignore case (CI)        bits 17,18  version: 80, _90, _100, _140
//! bit  13     ignore accents (AI)     bits 24..31 SQL sort order id, 0 = Windows collation
//! bits 10, 19..23 are not known; an id that uses them has no name and no code page here
//! ```
//!
//! Sources: the bit layout is verified on real files for the fields in use; language indexes and
//! sort order ids are from public lists of collation names and their ids. How an id marks `_UTF8`
//! (SQL Server 2019) is not public: such an id must use one of the unknown bits, so it gets no name
//! and no code page rather than a guess.
//!
//! Order: [`Collation::compare_char`] and [`Collation::compare_nchar`] always give one, and say
//! whether it is certain; see the module `compare`. An id with unknown bits is compared by the bits
//! that are known, and nothing of that is certain.

use std::fmt;

use crate::text::CodePage;

mod ascii;
mod binary;
mod compare;
mod data;
mod elements;
mod language;
mod names;
mod sort_key;
mod sort_order;
mod sql_order;
mod units;

pub use compare::{Comparison, UncertainCharacter};
pub use sort_key::SortKey;

const SUPPLEMENTARY: u32 = 1 << 8;
const IGNORE_VARIATION: u32 = 1 << 9;
const BIN2: u32 = 1 << 11;
const IGNORE_CASE: u32 = 1 << 12;
const IGNORE_ACCENTS: u32 = 1 << 13;
const IGNORE_KANA: u32 = 1 << 14;
const IGNORE_WIDTH: u32 = 1 << 15;
const BIN: u32 = 1 << 16;
const UNKNOWN_BITS: u32 = 1 << 10 | 0x1F << 19;

/// A collation id as `sysrscols.cid` and `syscolpars.collationid` hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Collation(pub u32);

/// Version of a Windows collation, part of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CollationVersion {
    /// SQL Server 2000; not named.
    V80,
    /// `_90`, SQL Server 2005.
    V90,
    /// `_100`, SQL Server 2008.
    V100,
    /// `_140`, SQL Server 2017.
    V140,
}

impl CollationVersion {
    fn suffix(self) -> &'static str {
        match self {
            CollationVersion::V80 => "",
            CollationVersion::V90 => "_90",
            CollationVersion::V100 => "_100",
            CollationVersion::V140 => "_140",
        }
    }
}

impl Collation {
    /// `SQL_Latin1_General_CP1_CI_AS`, the most common default.
    pub const SQL_LATIN1_GENERAL_CP1_CI_AS: Collation = Collation(0x3400_D008);
    /// `Latin1_General_CI_AS_KS_WS`, used by `char` columns of the system base tables.
    pub const LATIN1_GENERAL_CI_AS_KS_WS: Collation = Collation(0x0000_1008);

    /// Language index, the lowest byte.
    #[must_use]
    pub fn language(self) -> u8 {
        self.0 as u8
    }

    /// SQL sort order id; 0 for a Windows collation.
    #[must_use]
    pub fn sort_order(self) -> u8 {
        (self.0 >> 24) as u8
    }

    /// Version of the Windows part.
    #[must_use]
    pub fn version(self) -> CollationVersion {
        match self.0 >> 17 & 3 {
            0 => CollationVersion::V80,
            1 => CollationVersion::V90,
            2 => CollationVersion::V100,
            _ => CollationVersion::V140,
        }
    }

    /// BIN or BIN2.
    #[must_use]
    pub fn is_binary(self) -> bool {
        self.0 & (BIN | BIN2) != 0
    }

    /// BIN2: compares code units.
    #[must_use]
    pub fn is_bin2(self) -> bool {
        self.0 & BIN2 != 0
    }

    /// CI. Binary collations ignore nothing.
    #[must_use]
    pub fn ignores_case(self) -> bool {
        self.0 & IGNORE_CASE != 0 && !self.is_binary()
    }

    /// AI.
    #[must_use]
    pub fn ignores_accents(self) -> bool {
        self.0 & IGNORE_ACCENTS != 0 && !self.is_binary()
    }

    /// Not KS.
    #[must_use]
    pub fn ignores_kana(self) -> bool {
        self.0 & IGNORE_KANA != 0 && !self.is_binary()
    }

    /// Not WS.
    #[must_use]
    pub fn ignores_width(self) -> bool {
        self.0 & IGNORE_WIDTH != 0 && !self.is_binary()
    }

    /// Not _VSS. True of all collations before version 140, too.
    #[must_use]
    pub fn ignores_variation_selectors(self) -> bool {
        self.version() != CollationVersion::V140 || self.0 & IGNORE_VARIATION != 0
    }

    /// Do case weights count? They do for case, width and kana.
    fn compares_case_weights(self) -> bool {
        !(self.ignores_case() && self.ignores_width() && self.ignores_kana())
    }

    /// _SC, or version 140: functions count code points, not code units.
    #[must_use]
    pub fn is_supplementary(self) -> bool {
        self.0 & SUPPLEMENTARY != 0
    }

    /// Does the id use bits of unknown meaning?
    #[must_use]
    pub fn has_unknown_bits(self) -> bool {
        self.0 & UNKNOWN_BITS != 0
    }

    /// Code page of char, varchar and text; `None` when the id does not say for certain, and for
    /// the collations that have only Unicode types.
    #[must_use]
    pub fn code_page(self) -> Option<CodePage> {
        if self.has_unknown_bits() {
            return None;
        }
        let number = match self.sort_order() {
            0 => names::by_index(self.language())?.code_page,
            id => sort_order::code_page(id)?,
        };
        CodePage::from_number(number)
    }

    /// Windows locale id of the language; `None` for an unknown language index.
    #[must_use]
    pub fn lcid(self) -> Option<u32> {
        names::by_index(self.language()).map(|language| language.lcid)
    }

    /// The name as `sys.fn_helpcollations` lists it; `None` for an id that is not certainly one of
    /// those.
    #[must_use]
    pub fn name(self) -> Option<String> {
        if self.sort_order() != 0 {
            return sort_order::name(self).map(str::to_owned);
        }
        if self.has_unknown_bits() {
            return None;
        }
        let designator = names::designator(self.language(), self.version())?;
        Some(format!("{designator}{}{}", self.version().suffix(), self.style()?))
    }

    /// The part of a Windows collation's name behind the version.
    fn style(self) -> Option<String> {
        let flags = self.0 & 0x0001_FF00;
        match flags {
            BIN => return Some("_BIN".to_owned()),
            BIN2 => return Some("_BIN2".to_owned()),
            _ if flags & (BIN | BIN2) != 0 => return None,
            _ => {}
        }
        let has = |bit: u32| flags & bit != 0;
        let (supplementary, variation) = match self.version() {
            CollationVersion::V80 => {
                (!has(SUPPLEMENTARY | IGNORE_VARIATION)).then_some(("", ""))?
            }
            CollationVersion::V90 | CollationVersion::V100 => {
                let suffix = if has(SUPPLEMENTARY) { "_SC" } else { "" };
                (!has(IGNORE_VARIATION)).then_some((suffix, ""))?
            }
            // Version 140 always knows supplementary characters, so its names do not say it.
            CollationVersion::V140 => {
                let suffix = if has(IGNORE_VARIATION) { "" } else { "_VSS" };
                has(SUPPLEMENTARY).then_some(("", suffix))?
            }
        };
        let case = if has(IGNORE_CASE) { "_CI" } else { "_CS" };
        let accents = if has(IGNORE_ACCENTS) { "_AI" } else { "_AS" };
        let kana = if has(IGNORE_KANA) { "" } else { "_KS" };
        let width = if has(IGNORE_WIDTH) { "" } else { "_WS" };
        Some(format!("{case}{accents}{kana}{width}{supplementary}{variation}"))
    }

    /// The collation of a name, in any case of letters.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Collation> {
        if let Some(collation) = sort_order::by_name(name) {
            return Some(collation);
        }
        names::candidates(name).find_map(|(language, version, style)| {
            let flags = parse_style(style, version)?;
            let id = u32::from(language) | flags | (version as u32) << 17;
            let collation = Collation(id);
            collation.name().filter(|found| found.eq_ignore_ascii_case(name)).map(|_| collation)
        })
    }
}

/// Flags of a style such as `_CI_AS_KS`; spelling and order are checked by the caller against the
/// full name.
fn parse_style(style: &str, version: CollationVersion) -> Option<u32> {
    let style = style.to_ascii_uppercase();
    match style.as_str() {
        "_BIN" => return Some(BIN),
        "_BIN2" => return Some(BIN2),
        _ => {}
    }
    let has = |part: &str| style.split('_').any(|found| found == part);
    let bit = |is_set: bool, bit: u32| if is_set { bit } else { 0 };
    let is_140 = version == CollationVersion::V140;
    Some(
        bit(has("CI"), IGNORE_CASE)
            | bit(has("AI"), IGNORE_ACCENTS)
            | bit(!has("KS"), IGNORE_KANA)
            | bit(!has("WS"), IGNORE_WIDTH)
            | bit(has("SC") || is_140, SUPPLEMENTARY)
            | bit(is_140 && !has("VSS"), IGNORE_VARIATION),
    )
}

impl fmt::Display for Collation {
    /// The name, or the id in hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(&name),
            None => write!(f, "0x{:08X}", self.0),
        }
    }
}

#[cfg(test)]
mod tests;
