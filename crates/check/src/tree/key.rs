//! Keys of a B-tree: which columns, in which order, and how two keys of any two records compare.
//!
//! ```text
//! KeyPlan   per unit, from its layout: the columns with a key ordinal, in that order
//! Lead      the first fixed columns, compared where they lie: most rows need no more
//! Key       a key taken out of its record, in one form for leaf and upper levels
//! Prefix    16 bytes that never fall when the key rises; equal prefixes prove nothing
//! ```
//!
//! Which columns there are: an entry of a unique nonclustered index has its key columns, one of a
//! non-unique index the locator after them, a row of a clustered index its key and, where that is
//! not unique, the uniquifier. The layout says so itself, by key ordinals.

use std::cmp::Ordering;

use extentdb_base::PageId;
use extentdb_catalog::layout::{RowLayout, column_status};
use extentdb_catalog::model::AddedDefault;
use extentdb_format::record::Record;

use super::column::{Column, Extent, Missing, Order, Value};
use super::lead::Lead;
use crate::hash::HashKey;
use crate::wire::wire_structs;

/// The first bytes of a key, which never fall when the key rises, as far as its types allow.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Prefix {
    pub bytes: [u8; 16],
    /// How many of them are certain.
    pub len: u8,
}

impl Prefix {
    /// True when the keys themselves are certainly in ascending order.
    pub(crate) fn is_before(&self, other: &Prefix) -> bool {
        let certain = usize::from(self.len.min(other.len));
        self.bytes.get(..certain) < other.bytes.get(..certain)
    }
}

/// The key of one allocation unit.
#[derive(Clone, Debug)]
pub(crate) struct KeyPlan {
    columns: Vec<Column>,
    lead: [Option<Lead>; 2],
    /// Where the fixed part of records above the leaves ends, child page included.
    upper_end: u16,
    /// Two rows may have equal keys, or it is not known whether they may.
    pub(crate) may_repeat: bool,
}

impl KeyPlan {
    /// The key of a layout. `None` without key columns. `has_rid`: it ends with the address of a
    /// row of a heap. `default` is what rows have that are older than a column.
    pub(crate) fn new<'d>(
        layout: &RowLayout,
        may_repeat: bool,
        has_rid: bool,
        default: impl Fn(i32) -> Option<&'d AddedDefault>,
    ) -> Option<KeyPlan> {
        let key = layout.key();
        let mut columns: Vec<Column> = key
            .iter()
            .map(|column| {
                Column::new(column, Missing::of(default(column.ordinal), column.ty.as_ref()))
            })
            .collect();
        let last = columns.last_mut()?;
        if has_rid && last.order == Order::Bytes {
            last.order = Order::Rid;
        }
        let ends = columns.iter().filter(|column| column.upper.offset > 0);
        let end = ends.map(|column| column.upper.offset.unsigned_abs() + column.width.max(1)).max();
        let is_being_built = |status: u32| status & column_status::ANTI_MATTER != 0;
        Some(KeyPlan {
            lead: [Lead::new(&columns, false), Lead::new(&columns, true)],
            upper_end: end.unwrap_or(1).saturating_add(PageId::BYTES as u16),
            may_repeat: may_repeat
                || layout.columns.iter().any(|column| is_being_built(column.status)),
            columns,
        })
    }

    /// False when not even the first column has an order that is known.
    pub(crate) fn is_known(&self) -> bool {
        self.columns.first().is_some_and(|column| column.order.is_known())
    }

    /// True when the fixed part of records above the leaves ends there: in others the columns lie
    /// elsewhere.
    pub(crate) fn has_upper_end(&self, end: usize) -> bool {
        usize::from(self.upper_end) == end
    }

    /// The first columns of records of a level.
    #[inline]
    pub(crate) fn lead(&self, is_leaf: bool) -> Option<&Lead> {
        self.lead.get(usize::from(is_leaf))?.as_ref()
    }

    /// The order of the keys of two records of one level; `None` when it is not known.
    pub(crate) fn compare_records(
        &self,
        a: &Record<'_>,
        b: &Record<'_>,
        is_leaf: bool,
    ) -> Option<Ordering> {
        for column in &self.columns {
            match column.compare(column.value(a, is_leaf), column.value(b, is_leaf))? {
                Ordering::Equal => {}
                decided => return Some(decided),
            }
        }
        Some(Ordering::Equal)
    }

    /// Takes the key out of a record.
    pub(crate) fn take(&self, record: &Record<'_>, is_leaf: bool, key: &mut Key) {
        key.clear();
        for column in &self.columns {
            key.push(column.value(record, is_leaf));
        }
    }

    /// The order of two keys; `None` when it is not known.
    pub(crate) fn compare(&self, a: &Key, b: &Key) -> Option<Ordering> {
        for (at, column) in self.columns.iter().enumerate() {
            match column.compare(a.value(at), b.value(at))? {
                Ordering::Equal => {}
                decided => return Some(decided),
            }
        }
        Some(Ordering::Equal)
    }

    /// The character, as a code point, that leaves the order of two records open; `None` when no
    /// text does.
    pub(super) fn doubt_of_records(
        &self,
        a: &Record<'_>,
        b: &Record<'_>,
        is_leaf: bool,
    ) -> Option<u32> {
        self.doubt(|_, column| (column.value(a, is_leaf), column.value(b, is_leaf)))
    }

    /// The same of two keys.
    pub(super) fn doubt_of(&self, a: &Key, b: &Key) -> Option<u32> {
        self.doubt(|at, _| (a.value(at), b.value(at)))
    }

    fn doubt<'v>(
        &'v self,
        values: impl Fn(usize, &'v Column) -> (Value<'v>, Value<'v>),
    ) -> Option<u32> {
        let pairs =
            self.columns.iter().enumerate().map(|(at, column)| (column, values(at, column)));
        let open = pairs
            .into_iter()
            .find(|(column, (a, b))| column.compare(*a, *b) != Some(Ordering::Equal));
        let (column, (a, b)) = open?;
        [a, b].into_iter().find_map(|value| match value {
            Value::Bytes(bytes) => column.order.uncertain_character(bytes),
            Value::Null | Value::Unknown => None,
        })
    }

    /// The first bytes of a key, in order as far as the types allow.
    pub(crate) fn prefix(&self, key: &Key) -> Prefix {
        let mut prefix = PrefixWriter::default();
        for (at, column) in self.columns.iter().enumerate() {
            prefix.flip = if column.is_descending { 0xff } else { 0 };
            let value = key.value(at);
            if !column.is_not_null {
                prefix.put(&[u8::from(value != Value::Null)]);
            }
            let extent = match value {
                // Of a NULL nothing follows that another key has, too.
                Value::Null => Extent::Last,
                Value::Bytes(value) => {
                    column.order.normalise(value, &mut |bytes| prefix.put(bytes))
                }
                Value::Unknown => Extent::Open,
            };
            match extent {
                Extent::Whole if prefix.used < prefix.bytes.len() => {}
                // A value that ends here sorts before a longer one, or after it when the column is
                // descending.
                Extent::Whole | Extent::Last => {
                    prefix.fill();
                    break;
                }
                Extent::Open => break,
            }
        }
        Prefix { bytes: prefix.bytes, len: prefix.used as u8 }
    }

    /// 62 bits of hash; equal for both forms of one key.
    pub(crate) fn hash(&self, hash: &HashKey, key: &Key) -> u64 {
        let mut sum = 0u64;
        for at in 0..self.columns.len() {
            let column = match key.value(at) {
                Value::Null => 1,
                Value::Bytes(bytes) => hash.bytes(bytes),
                Value::Unknown => 2,
            };
            sum = sum.wrapping_add(column.wrapping_mul(hash.multiplier(at)));
        }
        // Sums of a few facts with this word must not wrap: see the sketch.
        hash.word(sum) >> 2
    }
}

#[derive(Default)]
struct PrefixWriter {
    bytes: [u8; 16],
    used: usize,
    /// Turns the bytes of descending columns around.
    flip: u8,
}

impl PrefixWriter {
    fn put(&mut self, bytes: &[u8]) {
        let free = self.bytes.get_mut(self.used..).unwrap_or_default();
        for (to, byte) in free.iter_mut().zip(bytes) {
            *to = byte ^ self.flip;
            self.used += 1;
        }
    }

    fn fill(&mut self) {
        self.bytes.get_mut(self.used..).unwrap_or_default().fill(self.flip);
        self.used = self.bytes.len();
    }
}

/// The key of a record, apart from it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Key {
    bytes: Vec<u8>,
    /// For each column where it ends in `bytes`, or what it is instead of a value.
    ends: Vec<u16>,
}

const NULL: u16 = 0x8000;
const UNKNOWN: u16 = 0x4000;
const END: u16 = 0x3fff;

impl Key {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn push(&mut self, value: Value<'_>) {
        let mark = match value {
            Value::Null => NULL,
            Value::Unknown => UNKNOWN,
            Value::Bytes(bytes) => {
                // Records are shorter than a page, so is what is taken out of them.
                self.bytes.extend_from_slice(bytes);
                0
            }
        };
        self.ends.push(self.bytes.len().min(usize::from(END)) as u16 | mark);
    }

    fn value(&self, column: usize) -> Value<'_> {
        let end_of = |column: usize| self.ends.get(column).map(|end| usize::from(end & END));
        let start = column.checked_sub(1).and_then(end_of).unwrap_or(0);
        match self.ends.get(column) {
            Some(end) if end & NULL != 0 => Value::Null,
            Some(end) if end & UNKNOWN == 0 => {
                let bytes = self.bytes.get(start..usize::from(end & END));
                bytes.map_or(Value::Unknown, Value::Bytes)
            }
            _ => Value::Unknown,
        }
    }
}

wire_structs! { Prefix { bytes, len } }

#[cfg(test)]
mod tests;
