//! The bits of a collation id.
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

pub(super) const SUPPLEMENTARY: u32 = 1 << 8;
pub(super) const IGNORE_VARIATION: u32 = 1 << 9;
pub(super) const BIN2: u32 = 1 << 11;
pub(super) const IGNORE_CASE: u32 = 1 << 12;
pub(super) const IGNORE_ACCENTS: u32 = 1 << 13;
pub(super) const IGNORE_KANA: u32 = 1 << 14;
pub(super) const IGNORE_WIDTH: u32 = 1 << 15;
pub(super) const BIN: u32 = 1 << 16;
pub(super) const UNKNOWN_BITS: u32 = 1 << 10 | 0x1F << 19;

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

impl Collation {
    /// `SQL_Latin1_General_CP1_CI_AS`, the most common default.
    pub const SQL_LATIN1_GENERAL_CP1_CI_AS: Collation = Collation(0x3400_D008);

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

    /// Accent-insensitive (`AI`); a binary collation is not.
    #[must_use]
    pub fn ignores_accents(self) -> bool {
        self.0 & IGNORE_ACCENTS != 0 && !self.is_binary()
    }

    /// Not kanatype-sensitive (no `KS`).
    #[must_use]
    pub fn ignores_kana(self) -> bool {
        self.0 & IGNORE_KANA != 0 && !self.is_binary()
    }

    /// Not width-sensitive (no `WS`).
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
    pub(super) fn compares_case_weights(self) -> bool {
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
}
