//! The tables of sorting weights, used as they lie in the binary:
//! `crates/types/data/collation.bin`.
//!
//! ```text
//!   0  8 bytes   "EDBCOLL1"
//!   8  9 x u32   offsets of the sections
//!      0 1 2     page indexes of the tables of 2000, 2008 and 10: 2048 x u16, a page being 32 code
//!                units:
//!                0 empty, 8000 + n linear page n, n full page n - 1
//!      3         full pages: 32 entries each      4  linear pages: the first entry, the next ones
//!                                                    weigh one more each
//!      5         expansions: 2 x u16 each   6 languages   7 ideographs   8 SQL sort orders
//! entry, 5 bytes: weight (2, big-endian), diacritic weight DW, case weight CW, flags
//!      flags     bits 0-2 class, bits 4-5 doubt (version 80, 100 or 140), bits 6-7 doubt of
//!                version 90
//! ```
//!
//! `docs/format/collation.md` describes the rest, and where the numbers are from. Written by
//! `cargo x gen collation`.

use super::{Collation, CollationVersion};

static DATA: &[u8] = include_bytes!("../../data/collation.bin");

const HEAD: [u32; 9] = head();
const UNITS_PER_PAGE: usize = 32;
const ENTRY_BYTES: usize = 5;
const NAME_BYTES: usize = 24;
const LANGUAGE_BYTES: usize = NAME_BYTES + 32;
const ORDER_BYTES: usize = NAME_BYTES + 8;
const LINEAR: u16 = 0x8000;

const fn head() -> [u32; 9] {
    let magic = b"EDBCOLL1";
    let mut at = 0;
    while at < magic.len() {
        assert!(DATA[at] == magic[at], "not a file of collations");
        at += 1;
    }
    let mut head = [0; 9];
    let mut section = 0;
    while section < head.len() {
        head[section] = word(8 + 4 * section);
        section += 1;
    }
    head
}

const fn word(at: usize) -> u32 {
    u32::from_le_bytes([DATA[at], DATA[at + 1], DATA[at + 2], DATA[at + 3]])
}

const fn half(at: usize) -> u16 {
    u16::from_le_bytes([DATA[at], DATA[at + 1]])
}

/// A generation of weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Generation {
    /// Windows NT 4 to 2000: versions 80 and 90.
    Win2000,
    /// Windows Server 2008: version 100.
    Win2008,
    /// Windows 10: version 140.
    Win10,
}

impl Generation {
    pub(super) fn of(collation: Collation) -> Generation {
        match collation.version() {
            CollationVersion::V80 | CollationVersion::V90 => Generation::Win2000,
            CollationVersion::V100 => Generation::Win2008,
            CollationVersion::V140 => Generation::Win10,
        }
    }
}

/// What a character is to the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Weightless,
    /// Adds its diacritic weight to that of the letter before.
    Mark,
    /// Has a primary weight.
    Letter,
    /// Counts last: `-`, `'` and others.
    Special,
    /// An ideograph of the default order: its primary weight has four bytes.
    Ideograph,
    /// Repeats the letter before.
    Repeat,
    /// A kana: a letter whose case weight tells its kind, size and width.
    Kana,
    /// Sorts as two characters.
    Expansion,
}

/// How much of an entry is not known for certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Doubt {
    /// All weights are certain.
    None,
    /// Weights other than the primary one.
    Ties,
    /// Its place; that it has a primary weight is certain.
    Position,
    /// No weight is certain.
    All,
}

/// The weights of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) class: Class,
    /// SM and AW; of a special the second byte alone; of an expansion its number.
    pub(super) weight: [u8; 2],
    pub(super) dw: u8,
    pub(super) cw: u8,
    /// Doubt of versions 80, 100 and 140, and doubt of version 90.
    doubts: [Doubt; 2],
}

impl Entry {
    const WEIGHTLESS: Entry = Entry {
        class: Class::Weightless,
        weight: [0; 2],
        dw: 0,
        cw: 0,
        doubts: [Doubt::None; 2],
    };

    fn read(at: usize) -> Entry {
        let flags = DATA[at + 4];
        Entry {
            class: class(flags & 7),
            weight: [DATA[at], DATA[at + 1]],
            dw: DATA[at + 2],
            cw: DATA[at + 3],
            doubts: [doubt(flags >> 4), doubt(flags >> 6)],
        }
    }

    pub(super) fn with_accent(self, dw: u8) -> Entry {
        Entry { dw, ..self }
    }

    pub(super) fn doubt(&self, is_version_90: bool) -> Doubt {
        self.doubts[usize::from(is_version_90)]
    }
}

fn class(number: u8) -> Class {
    match number {
        0 => Class::Weightless,
        1 => Class::Mark,
        2 => Class::Letter,
        3 => Class::Special,
        4 => Class::Ideograph,
        5 => Class::Repeat,
        6 => Class::Kana,
        _ => Class::Expansion,
    }
}

fn doubt(bits: u8) -> Doubt {
    match bits & 3 {
        0 => Doubt::None,
        1 => Doubt::Ties,
        2 => Doubt::Position,
        _ => Doubt::All,
    }
}

/// The entry of a code unit.
pub(super) fn entry(generation: Generation, unit: u16) -> Entry {
    let index = HEAD[generation as usize] as usize;
    let page = half(index + 2 * (usize::from(unit) / UNITS_PER_PAGE));
    let at = usize::from(unit) % UNITS_PER_PAGE;
    if page == 0 {
        return Entry::WEIGHTLESS;
    }
    if page & LINEAR == 0 {
        return Entry::read(
            HEAD[3] as usize + (usize::from(page - 1) * UNITS_PER_PAGE + at) * ENTRY_BYTES,
        );
    }
    let first = Entry::read(HEAD[4] as usize + usize::from(page & !LINEAR) * ENTRY_BYTES);
    let weight = u16::from_be_bytes(first.weight).wrapping_add(at as u16).to_be_bytes();
    Entry { weight, ..first }
}

/// The two characters of an expansion.
pub(super) fn expansion(entry: &Entry) -> [u16; 2] {
    let at = HEAD[5] as usize + 4 * usize::from(u16::from_be_bytes(entry.weight));
    [half(at), half(at + 2)]
}

/// The letters and sequences of a language.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tailoring {
    /// A bit per ASCII character that has an entry or begins a sequence of ASCII characters.
    pub(super) ascii: u128,
    /// A bit per row of 32 code units below U+07E0 with an entry or the beginning of a sequence;
    /// the highest bit for the rest.
    rows: u64,
    singles: usize,
    single_count: usize,
    sequences: usize,
    sequence_count: usize,
}

/// Bytes of a unit with its entry.
const SINGLE_BYTES: usize = 2 + ENTRY_BYTES;
/// Bytes of a sequence: four units, their number, the entry.
const SEQUENCE_BYTES: usize = 9 + ENTRY_BYTES;

impl Tailoring {
    /// The language of this number in the file.
    pub(super) fn read(number: usize, generation: Generation) -> Tailoring {
        let section = HEAD[6] as usize;
        let at = section + 4 + number * LANGUAGE_BYTES + NAME_BYTES;
        let is_new = usize::from(generation != Generation::Win2000);
        let entries = section + word(at + 24 + 4 * is_new) as usize;
        let single_count = usize::from(half(entries));
        Tailoring {
            ascii: (0..4)
                .fold(0, |mask, part| mask | u128::from(word(at + 4 * part)) << (32 * part)),
            rows: u64::from(word(at + 16)) | u64::from(word(at + 20)) << 32,
            singles: entries + 4,
            single_count,
            sequences: entries + 4 + single_count * SINGLE_BYTES,
            sequence_count: usize::from(half(entries + 2)),
        }
    }

    /// False for most units that the language says nothing of.
    pub(super) fn may_know(&self, unit: u16) -> bool {
        self.rows >> (unit / 32).min(63) & 1 != 0
    }

    /// The language's own entry of a unit.
    pub(super) fn single(&self, unit: u16) -> Option<Entry> {
        let at = partition(self.single_count, |at| half(self.singles + at * SINGLE_BYTES) < unit);
        let at = (at < self.single_count).then_some(self.singles + at * SINGLE_BYTES)?;
        (half(at) == unit).then(|| Entry::read(at + 2))
    }

    /// The longest sequence of the language that the text begins with, and its length.
    pub(super) fn sequence(&self, text: impl Fn(usize) -> Option<u16>) -> Option<(Entry, usize)> {
        let first = text(0)?;
        let from =
            partition(self.sequence_count, |at| half(self.sequences + at * SEQUENCE_BYTES) < first);
        for number in from..self.sequence_count {
            let at = self.sequences + number * SEQUENCE_BYTES;
            if half(at) != first {
                break;
            }
            let len = usize::from(DATA[at + 8]);
            if (1..len).all(|index| text(index) == Some(half(at + 2 * index))) {
                return Some((Entry::read(at + 9), len));
            }
        }
        None
    }
}

/// How many of the first things fulfil a condition that none does after one that does not.
fn partition(count: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let mut low = 0;
    let mut high = count;
    while low < high {
        let middle = (low + high) / 2;
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// An order of ideographs of a language.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ideographs {
    index: usize,
    /// Primary weights from C0 to F9 have three bytes.
    pub(super) has_three_bytes: bool,
}

impl Ideographs {
    pub(super) fn read(number: usize) -> Ideographs {
        let section = HEAD[7] as usize;
        let at = section + 4 + number * ORDER_BYTES + NAME_BYTES;
        Ideographs {
            index: section + word(at) as usize,
            has_three_bytes: word(at + 4) == 3,
        }
    }

    /// SM, AW and DW.
    pub(super) fn weight(&self, unit: u16) -> Option<[u8; 3]> {
        const PAGES: usize = 0x1_0000 / UNITS_PER_PAGE;
        let page = usize::from(half(self.index + 2 * (usize::from(unit) / UNITS_PER_PAGE)));
        let page = page.checked_sub(1)?;
        let at = self.index
            + 2 * PAGES
            + 3 * (page * UNITS_PER_PAGE + usize::from(unit) % UNITS_PER_PAGE);
        (DATA[at] != 0).then(|| [DATA[at], DATA[at + 1], DATA[at + 2]])
    }
}

/// Class, accent, case and mark of a byte under the SQL sort orders 51 to 54.
pub(super) const fn sql_order(byte: u8) -> [u8; 4] {
    let at = HEAD[8] as usize + 4 * byte as usize;
    [DATA[at], DATA[at + 1], DATA[at + 2], DATA[at + 3]]
}

/// Primary weights of the ASCII characters that have one and nothing else that counts but case;
/// zeros for the others.
pub(super) static ASCII: [[[u8; 2]; 128]; 3] = ascii();

const fn ascii() -> [[[u8; 2]; 128]; 3] {
    const PLAIN_LETTER: u8 = 2;
    let mut tables = [[[0; 2]; 128]; 3];
    let mut table = 0;
    while table < 3 {
        let mut unit = 0;
        while unit < 128 {
            let page = half(HEAD[table] as usize + 2 * (unit / UNITS_PER_PAGE));
            assert!(page != 0 && page & LINEAR == 0, "ASCII has full pages");
            let entry = (page as usize - 1) * UNITS_PER_PAGE + unit % UNITS_PER_PAGE;
            let at = HEAD[3] as usize + entry * ENTRY_BYTES;
            // No doubt, no accent.
            if DATA[at + 4] == PLAIN_LETTER && DATA[at + 2] == 2 {
                tables[table][unit] = [DATA[at], DATA[at + 1]];
            }
            unit += 1;
        }
        table += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collation::language::{IDEOGRAPHS, TAILORINGS};

    fn names(section: usize, bytes: usize) -> Vec<String> {
        let section = HEAD[section] as usize;
        let name = |number: usize| {
            let at = section + 4 + number * bytes;
            String::from_utf8_lossy(&DATA[at..at + NAME_BYTES]).trim_end_matches('\0').to_owned()
        };
        (0..word(section) as usize).map(name).collect()
    }

    #[test]
    fn the_file_names_the_languages_that_are_used_here() {
        assert_eq!(names(6, LANGUAGE_BYTES), TAILORINGS);
        assert_eq!(names(7, ORDER_BYTES), IDEOGRAPHS);
        assert!(DATA.len() < 1_000_000, "the tables have a limit: {}", DATA.len());
    }

    /// FNV-1a, 64 bits: changes of the file are meant.
    #[test]
    fn the_file_is_the_one_that_was_reviewed() {
        let hash = DATA.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        });
        assert_eq!(format!("{hash:016x}"), "5960506a64ee1978");
    }

    #[test]
    fn every_unit_of_every_table_can_be_read() {
        let mut letters = 0;
        for generation in [Generation::Win2000, Generation::Win2008, Generation::Win10] {
            for unit in 0..=u16::MAX {
                let entry = entry(generation, unit);
                if entry.class == Class::Expansion {
                    let [first, second] = expansion(&entry);
                    assert!(first != unit && second != unit);
                }
                letters += usize::from(entry.class == Class::Letter);
            }
        }
        assert!(letters > 100_000, "{letters}");
        for number in 0..IDEOGRAPHS.len() {
            let order = Ideographs::read(number);
            assert!((0..=u16::MAX).filter(|unit| order.weight(*unit).is_some()).count() > 7_000);
        }
    }
}
