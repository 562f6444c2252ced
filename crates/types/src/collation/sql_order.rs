//! char and varchar under a SQL sort order: string sort over bytes, without regard to the order of
//! nchar.
//!
//! ```text
//! level 1  class of each byte      symbols in the order of their bytes, digits, letters
//! level 2  accent                  AS
//! level 3  case                    CS; upper before lower
//! level 4  ligatures               æ as ae, then after it; so they never equal their letters
//! ```
//!
//! * 51 to 54 follow one table of 256 classes. That accents count after the whole text and not byte
//!   by byte is not confirmed: where that would change the result, it is not certain.
//! * For the other orders no table is public. They are made here from what is near: symbols in the
//!   order of their bytes, then what the language of the collation has as letters in the table of
//!   2000, by its weights there; sharp s and the like as their two letters. Digits and ASCII
//!   letters of the common orders are certain, nothing else is.
//! * A byte below the blank, against the end of the shorter text: it comes after the end here,
//!   before it if texts are padded.

use std::cmp::Ordering;

use super::compare::{Comparison, UncertainCharacter, compare_lists};
use super::data::{self, Class, Doubt, Entry, Generation};
use super::elements::code_point;
use super::language::Language;
use super::sort_key::{SEPARATOR, SortKey, push_list, trim};
use super::units::{Half, Units};
use super::{Collation, sort_order};

/// The order of one collation.
#[derive(Clone, Copy)]
pub(super) struct SqlOrder {
    collation: Collation,
    table: Table,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Table {
    /// 51 to 54.
    Latin1,
    /// Digits and ASCII letters in common order.
    Common,
    /// Nothing is certain.
    Unknown,
}

/// What a byte, or half of a ligature, counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Item {
    class: u16,
    accent: u8,
    case: u8,
    /// 1 for the halves of a ligature.
    ligature: u8,
    doubt: Doubt,
    /// Position of the byte.
    start: usize,
}

const INFERRED: u8 = 1;
const LIGATURE: u8 = 2;
/// Classes of letters and digits of orders without a table: higher than all bytes.
const FIRST_LETTER: u16 = 0x800;
/// A weight that lists do not count at their end: see `compare_lists`.
const NONE: u8 = super::compare::PLAIN;

impl SqlOrder {
    /// `None` for Windows collations, and for code pages whose characters have several bytes: these
    /// are compared like nchar.
    pub(super) fn of(collation: Collation) -> Option<SqlOrder> {
        let id = collation.sort_order();
        if id == 0 || Half::of(collation.units_code_page()).is_none() {
            return None;
        }
        let table = match id {
            _ if collation.has_unknown_bits() => Table::Unknown,
            51..=54 => Table::Latin1,
            _ if sort_order::has_common_order(id) => Table::Common,
            _ => Table::Unknown,
        };
        Some(SqlOrder { collation, table })
    }

    /// Do digits and ASCII letters have their common order under the sort order of the collation?
    pub(super) fn has_plain_ascii(collation: Collation) -> bool {
        sort_order::has_common_order(collation.sort_order()) && !collation.has_unknown_bits()
    }

    pub(super) fn compare(self, a: &[u8], b: &[u8]) -> Comparison {
        let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
        if same == a.len() && same == b.len() {
            return Ordering::Equal.into();
        }
        let mut pass = Pass { order: self, same, met: Doubt::None, is_tied: false };
        if let Some(decided) = pass.compare_classes(a, b) {
            return decided;
        }
        let ties = [Level::Accent, Level::Case, Level::Ligature].map(|level| {
            let list = |text| self.items(text).map(move |item| self.value(item, level));
            compare_lists(list(a), list(b))
        });
        let differing = ties.iter().filter(|tie| tie.is_ne()).count();
        let ordering = ties.into_iter().find(|tie| tie.is_ne()).unwrap_or(Ordering::Equal);
        // Level by level or byte by byte: with one differing level that is the same.
        let is_unambiguous = differing < 2 && !(ordering.is_eq() && pass.is_preference(a, b));
        Comparison { ordering, certain: pass.met == Doubt::None && is_unambiguous }
    }

    pub(super) fn uncertain(self, text: &[u8]) -> Option<UncertainCharacter> {
        let uncertain = self.items(text).find(|item| item.doubt > Doubt::None)?;
        let units = Half::of(self.collation.units_code_page())?.text(text);
        Some(UncertainCharacter { code_point: code_point(units, uncertain.start) })
    }

    pub(super) fn sort_key(self, text: &[u8]) -> SortKey {
        if self.table == Table::Latin1 && text.is_ascii() {
            return self.plain_key(text);
        }
        let mut key = Vec::with_capacity(2 * text.len() + 4);
        for item in self.items(text) {
            self.push_class(item.class, &mut key);
        }
        for level in [Level::Accent, Level::Case, Level::Ligature] {
            key.push(SEPARATOR);
            push_list(self.items(text).map(|item| self.value(item, level)), &mut key);
        }
        trim(&mut key);
        SortKey::new(key)
    }

    /// The key of an ASCII text under the table: classes, and cases where they count.
    fn plain_key(self, text: &[u8]) -> SortKey {
        static CLASSES: [u8; 128] = classes();
        let mut key: Vec<u8> = Vec::with_capacity(2 * text.len() + 2);
        key.extend(text.iter().map(|&byte| CLASSES[usize::from(byte & 0x7f)]));
        if !self.collation.ignores_case() {
            key.extend([SEPARATOR, SEPARATOR]);
            push_list(text.iter().map(|byte| NONE + u8::from(byte.is_ascii_lowercase())), &mut key);
            trim(&mut key);
        }
        SortKey::new(key)
    }

    /// Classes of the table have one byte, others two; none is below 2.
    fn push_class(self, class: u16, key: &mut Vec<u8>) {
        if self.table == Table::Latin1 {
            key.push(class as u8 + 1);
        } else {
            key.extend([2 + (class / 254) as u8, 2 + (class % 254) as u8]);
        }
    }

    /// What an item counts at a level, so that nothing is `NONE`.
    fn value(self, item: Item, level: Level) -> u8 {
        let is_compared = match level {
            Level::Accent => !self.collation.ignores_accents(),
            Level::Case => !self.collation.ignores_case(),
            Level::Ligature => true,
        };
        let value = match level {
            _ if !is_compared => 0,
            Level::Accent => item.accent,
            Level::Case => item.case,
            Level::Ligature => item.ligature,
        };
        NONE.saturating_add(value)
    }

    fn items(self, text: &[u8]) -> impl Iterator<Item = Item> {
        let language = Language::of(self.collation, Generation::Win2000);
        let half = Half::of(self.collation.units_code_page());
        text.iter().enumerate().flat_map(move |(start, &byte)| {
            let pair = match self.table {
                Table::Latin1 => latin1_items(byte),
                _ => {
                    let unit =
                        half.as_ref().map_or(u16::from(byte), |half| half.text(&[byte]).unit(0));
                    self.other_items(&language, byte, unit)
                }
            };
            pair.into_iter().flatten().map(move |item| Item { start, ..item })
        })
    }

    fn other_items(self, language: &Language, byte: u8, unit: u16) -> [Option<Item>; 2] {
        let is_sure = self.table == Table::Common && byte.is_ascii_alphanumeric();
        let doubt = match byte {
            _ if is_sure => Doubt::None,
            b' ' if self.table == Table::Common => Doubt::None,
            _ => Doubt::Position,
        };
        let own = language.tailoring.and_then(|tailoring| tailoring.single(unit));
        let entry = own.unwrap_or_else(|| data::entry(Generation::Win2000, unit));
        let symbol = Item {
            class: u16::from(byte),
            accent: 0,
            case: 0,
            ligature: 0,
            doubt,
            start: 0,
        };
        if entry.class == Class::Expansion {
            let [first, second] = data::expansion(&entry);
            let part = |unit| {
                let part =
                    letter(&data::entry(Generation::Win2000, unit), symbol).unwrap_or(symbol);
                Some(Item { ligature: 1, ..part })
            };
            return [part(first), part(second)];
        }
        [Some(letter(&entry, symbol).unwrap_or(symbol)), None]
    }
}

/// Classes of ASCII characters as they stand in sort keys.
const fn classes() -> [u8; 128] {
    let mut classes = [0; 128];
    let mut byte = 0;
    while byte < classes.len() {
        let class = data::sql_order(byte as u8)[0];
        assert!(class > 0, "an ASCII character is no ligature");
        classes[byte] = class + 1;
        byte += 1;
    }
    classes
}

/// A letter or digit by its weights; `None` of a symbol.
fn letter(entry: &Entry, symbol: Item) -> Option<Item> {
    /// The weight of the digit 0: everything from it on is a digit or a letter.
    const ZERO: [u8; 2] = data::ASCII[0][b'0' as usize];
    const UPPER: u8 = 0x10;
    let is_letter = entry.class == Class::Letter && entry.weight >= ZERO;
    is_letter.then(|| Item {
        class: FIRST_LETTER
            + (u16::from_be_bytes(entry.weight) - u16::from_be_bytes(ZERO)).min(0xB000),
        accent: entry.dw.saturating_sub(2),
        case: u8::from(entry.cw & UPPER == 0),
        ..symbol
    })
}

/// One byte of the table of 51 to 54, or the two letters of a ligature.
fn latin1_items(byte: u8) -> [Option<Item>; 2] {
    let of = |byte: u8| {
        let [class, accent, case, mark] = data::sql_order(byte);
        let doubt = if mark == INFERRED { Doubt::Position } else { Doubt::None };
        Item {
            class: u16::from(class),
            accent,
            case,
            ligature: 0,
            doubt,
            start: 0,
        }
    };
    if data::sql_order(byte)[3] != LIGATURE {
        return [Some(of(byte)), None];
    }
    let letters = match byte {
        0xC6 => b"AE",
        0xE6 => b"ae",
        _ => b"ss",
    };
    letters.map(|letter| Some(Item { ligature: 1, ..of(letter) }))
}

#[derive(Clone, Copy)]
enum Level {
    Accent,
    Case,
    Ligature,
}

struct Pass {
    order: SqlOrder,
    /// Bytes that both texts begin with.
    same: usize,
    /// The greatest doubt met.
    met: Doubt,
    /// Items were met that differ in accent or case, as far as these count.
    is_tied: bool,
}

impl Pass {
    /// `None` when all classes are the same.
    fn compare_classes(&mut self, a: &[u8], b: &[u8]) -> Option<Comparison> {
        let mut a = self.order.items(a);
        let mut b = self.order.items(b);
        loop {
            let x = a.next();
            let y = b.next();
            let doubt = [x, y]
                .into_iter()
                .flatten()
                .map(|item| self.doubt(item))
                .max()
                .unwrap_or(Doubt::None);
            let ordering = match (x, y) {
                (None, None) => return None,
                (Some(x), Some(y)) if x.class == y.class => {
                    self.met = self.met.max(doubt);
                    self.is_tied |= self.is_difference(x, y);
                    continue;
                }
                (x, y) => x.map(|x| x.class).cmp(&y.map(|y| y.class)),
            };
            let is_padding_met = match (x, y) {
                (Some(_), Some(_)) => false,
                (x, y) => x.or(y).is_some_and(|item| item.class < self.order.blank()),
            };
            let is_known = self.met.max(doubt) == Doubt::None && !is_padding_met;
            return Some(Comparison { ordering, certain: is_known && !self.is_tied });
        }
    }

    /// Nothing is doubted of what both texts begin with.
    fn doubt(&self, item: Item) -> Doubt {
        if item.start < self.same { Doubt::None } else { item.doubt }
    }

    fn is_difference(&self, x: Item, y: Item) -> bool {
        let differ = |level| self.order.value(x, level) != self.order.value(y, level);
        differ(Level::Accent) || differ(Level::Case)
    }

    /// Do texts that are equal differ in case where upper case is preferred? Their order is that of
    /// ties, which is not known.
    fn is_preference(&self, a: &[u8], b: &[u8]) -> bool {
        sort_order::prefers_upper_case(self.order.collation.sort_order()) && a != b
    }
}

impl SqlOrder {
    /// The class of the blank.
    fn blank(self) -> u16 {
        match self.table {
            Table::Latin1 => u16::from(data::sql_order(b' ')[0]),
            _ => u16::from(b' '),
        }
    }
}
