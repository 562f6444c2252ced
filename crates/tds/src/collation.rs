//! The five bytes of a collation on the wire, from and to the id that the catalog has.
//!
//! ```text
//! u32 LE  bits  0..19  LCID
//!         bits 20..27  0x01 ignore case, 0x02 accents, 0x04 kana, 0x08 width,
//!                      0x10 BIN, 0x20 BIN2, 0x40 UTF-8
//!         bits 28..31  version: 0 80, 1 90, 2 100, 3 140
//! u8      SQL sort order id, 0 = Windows collation
//!
//! 09 04 D0 00 34       SQL_Latin1_General_CP1_CI_AS
//! 00 00 00 00 00       the database's default, as some clients send for parameters
//! ```
//!
//! Invariants
//! - The flags are bits 12..15 and 16, 11 of the id in another order; the LCID stands for the
//!   language index.
//! - `_SC` and `_VSS` have no public place on the wire and are lost there. Both matter to functions
//!   and comparison inside the server only; the code page does not depend on them.

use extentdb_types::{CodePage, Collation};

use crate::error::DecodeError;
use crate::reader::ByteReader;

const LCID: u32 = 0x000F_FFFF;
const COMPARISON_FLAGS: u32 = 0x0F << 20;
const BIN: u32 = 0x10 << 20;
const BIN2: u32 = 0x20 << 20;
const UTF8: u32 = 0x40 << 20;

/// Bits of a collation id, as `Collation` documents them.
const ID_COMPARISON_FLAGS: u32 = 0x0F << 12;
const ID_BIN: u32 = 1 << 16;
const ID_BIN2: u32 = 1 << 11;

/// A collation as TYPE_INFO and ENVCHANGE 7 hold it, with the code page of its char types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WireCollation {
    bits: u32,
    sort_order: u8,
    code_page: CodePage,
}

impl WireCollation {
    /// Five zero bytes: the database's default.
    pub const UNSPECIFIED: WireCollation =
        WireCollation { bits: 0, sort_order: 0, code_page: CodePage::Unknown };

    /// The wire form of a collation; [`WireCollation::UNSPECIFIED`] when the language of the id is
    /// not known.
    #[must_use]
    pub fn of(collation: Collation) -> WireCollation {
        let Some(lcid) = collation.lcid() else { return WireCollation::UNSPECIFIED };
        let id = collation.0;
        let mut bits = lcid & LCID | (id & ID_COMPARISON_FLAGS) << 8;
        bits |= if id & ID_BIN != 0 { BIN } else { 0 };
        bits |= if id & ID_BIN2 != 0 { BIN2 } else { 0 };
        bits |= (collation.version() as u32) << 28;
        WireCollation {
            bits,
            sort_order: collation.sort_order(),
            code_page: collation.code_page().unwrap_or(CodePage::Unknown),
        }
    }

    /// The wire form with the flag that char types are UTF-8.
    #[must_use]
    pub fn with_utf8(self) -> WireCollation {
        WireCollation { bits: self.bits | UTF8, code_page: CodePage::Utf8, ..self }
    }

    /// The collation behind five bytes; any bytes are accepted.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 5]) -> WireCollation {
        let [a, b, c, d, sort_order] = bytes;
        let bits = u32::from_le_bytes([a, b, c, d]);
        let mut collation = WireCollation { bits, sort_order, code_page: CodePage::Unknown };
        collation.code_page = if bits & UTF8 != 0 {
            CodePage::Utf8
        } else {
            collation.to_collation().and_then(Collation::code_page).unwrap_or(CodePage::Unknown)
        };
        collation
    }

    /// Reads the five bytes; five zero bytes give `default`.
    pub(crate) fn read(
        reader: &mut ByteReader<'_>,
        default: WireCollation,
    ) -> Result<WireCollation, DecodeError> {
        let bytes = reader.array::<5>()?;
        // Most parameters have the collation that the server announced at login.
        let is_default = bytes == default.to_bytes() || bytes == [0; 5];
        Ok(if is_default { default } else { WireCollation::from_bytes(bytes) })
    }

    /// The five bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 5] {
        let [a, b, c, d] = self.bits.to_le_bytes();
        [a, b, c, d, self.sort_order]
    }

    /// Five zero bytes?
    #[must_use]
    pub fn is_unspecified(self) -> bool {
        self.bits == 0 && self.sort_order == 0
    }

    /// Code page of char, varchar and text.
    #[must_use]
    pub fn code_page(self) -> CodePage {
        self.code_page
    }

    /// The id behind the bytes: the lowest language index that has this locale in this version;
    /// `None` when there is none. `_SC`, `_VSS` and UTF-8 are not in the id.
    #[must_use]
    pub fn to_collation(self) -> Option<Collation> {
        let mut id = (self.bits & COMPARISON_FLAGS) >> 8;
        id |= if self.bits & BIN != 0 { ID_BIN } else { 0 };
        id |= if self.bits & BIN2 != 0 { ID_BIN2 } else { 0 };
        id |= (self.bits >> 28 & 3) << 17 | u32::from(self.sort_order) << 24;
        let lcid = self.bits & LCID;
        let languages = (0..=0xFF).map(|language| Collation(id | language));
        let mut with_locale =
            languages.filter(|collation| collation.lcid().is_some_and(|own| own & LCID == lcid));
        let first = with_locale.clone().next();
        with_locale.find(|collation| collation.name().is_some()).or(first)
    }
}

impl From<Collation> for WireCollation {
    fn from(collation: Collation) -> WireCollation {
        WireCollation::of(collation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_default_has_its_known_bytes() {
        let wire = WireCollation::of(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
        assert_eq!(wire.to_bytes(), [0x09, 0x04, 0xD0, 0x00, 0x34]);
        assert_eq!(wire.code_page(), CodePage::Cp1252);
        assert_eq!(wire.to_collation(), Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS));
        assert_eq!(WireCollation::from_bytes(wire.to_bytes()), wire);
    }

    #[test]
    fn every_named_collation_keeps_its_code_page_and_flags_over_the_wire() {
        let mut named = 0;
        for version in 0..4u32 {
            for flags in [0xD0u32, 0xC0, 0xF0, 0x100, 0x08] {
                for language in 0..=0xFF {
                    let collation = Collation(version << 17 | flags << 8 | language);
                    if collation.name().is_none() {
                        continue;
                    }
                    named += 1;
                    let wire = WireCollation::of(collation);
                    let back = WireCollation::from_bytes(wire.to_bytes()).to_collation().unwrap();
                    assert_eq!(back.lcid(), collation.lcid());
                    assert_eq!(back.code_page(), collation.code_page(), "{collation:?}");
                    assert_eq!(back.0 & !0xFF, collation.0 & !0xFF);
                }
            }
        }
        assert!(named > 200, "{named}");
    }

    #[test]
    fn sql_sort_orders_keep_their_id() {
        for id in [0x3400_D008, 0x2A00_D008, 0x5A00_D014, 0x1E01_0008, 0x1E00_0808] {
            let wire = WireCollation::of(Collation(id));
            assert_eq!(wire.to_collation(), Some(Collation(id)), "{id:#x}");
        }
    }

    #[test]
    fn zero_bytes_are_the_default() {
        let default = WireCollation::of(Collation(0x2A00_D008));
        let mut reader = ByteReader::new(&[0; 5]);
        assert_eq!(WireCollation::read(&mut reader, default), Ok(default));
        assert!(WireCollation::UNSPECIFIED.is_unspecified());
    }

    #[test]
    fn utf8_is_a_flag_beside_the_language() {
        let wire = WireCollation::from_bytes([0x09, 0x04, 0xD0, 0x24, 0x00]);
        assert_eq!(wire.code_page(), CodePage::Utf8);
        assert_eq!(wire.to_collation().unwrap().name().unwrap(), "Latin1_General_100_CI_AS");
    }

    #[test]
    fn unknown_bytes_have_no_code_page() {
        let wire = WireCollation::from_bytes([0xFF; 5]);
        assert_eq!(wire.to_bytes(), [0xFF; 5]);
        assert_eq!(wire.to_collation(), None);
        assert_eq!(WireCollation::of(Collation(0xFF)), WireCollation::UNSPECIFIED);
    }
}
