//! Names of collations, and what follows from the language or the SQL sort order of an id: locale
//! and code page.

use std::fmt;

use super::id::{
    BIN, BIN2, IGNORE_ACCENTS, IGNORE_CASE, IGNORE_KANA, IGNORE_VARIATION, IGNORE_WIDTH,
    SUPPLEMENTARY,
};
use super::{Collation, CollationVersion, designators, sort_order};
use crate::text::CodePage;

/// The bits of an id between language and version.
const STYLE_BITS: u32 = 0x0001_FF00;
const STYLE_SHIFT: u32 = STYLE_BITS.trailing_zeros();

impl CollationVersion {
    pub(super) fn suffix(self) -> &'static str {
        match self {
            CollationVersion::V80 => "",
            CollationVersion::V90 => "_90",
            CollationVersion::V100 => "_100",
            CollationVersion::V140 => "_140",
        }
    }
}

impl Collation {
    /// Code page of char, varchar and text; `None` when the id does not say for certain, and for
    /// the collations that have only Unicode types.
    #[must_use]
    pub fn code_page(self) -> Option<CodePage> {
        if self.has_unknown_bits() {
            return None;
        }
        let number = match self.sort_order() {
            0 => designators::by_index(self.language())?.code_page,
            id => sort_order::code_page(id)?,
        };
        CodePage::from_number(number)
    }

    /// Windows locale id of the language; `None` for an unknown language index.
    #[must_use]
    pub fn lcid(self) -> Option<u32> {
        designators::by_index(self.language()).map(|language| language.lcid)
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
        let designator = designators::designator(self.language(), self.version())?;
        Some(format!("{designator}{}{}", self.version().suffix(), self.style()?))
    }

    /// The part of a Windows collation's name after the version.
    fn style(self) -> Option<String> {
        let flags = self.0 & STYLE_BITS;
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

    /// All collations that have a name.
    pub fn named() -> impl Iterator<Item = Collation> {
        let styles = || (0..=(STYLE_BITS >> STYLE_SHIFT)).map(|bits| bits << STYLE_SHIFT);
        let windows = designators::all().flat_map(move |(language, version)| {
            let of_version = u32::from(language) | (version as u32) << 17;
            styles().map(move |style| Collation(of_version | style))
        });
        windows.filter(|collation| collation.name().is_some()).chain(sort_order::all())
    }

    /// The collation of a name, in any case of letters.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Collation> {
        if let Some(collation) = sort_order::by_name(name) {
            return Some(collation);
        }
        designators::candidates(name).find_map(|(language, version, style)| {
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
