//! One column of a key: where its value lies in records of either level, and how two values
//! compare.
//!
//! ```text
//! numbers, dates, bit   a rank: an unsigned number in the same order: tinyint … decimal(38)
//! uniqueidentifier      a rank, too: stored bytes 10 - 15, 8 - 9, 6 - 7, 4 - 5, 0 - 3
//! binary, rowversion    byte by byte
//! locator of a heap row both byte by byte and by its parts, or not at all
//! char, nchar           by their collation, where no character of uncertain weight can matter
//! sql_variant, unknown  only whether they are the same bytes
//! ```
//!
//! NULL comes first. What is not known for certain is no order at all, never a guess.

use std::cmp::Ordering;

use extentdb_base::Rid;
use extentdb_catalog::layout::{ColumnOffset, PhysicalColumn};
use extentdb_catalog::model::AddedDefault;
use extentdb_format::record::Record;
use extentdb_types::collation::{Comparison, SortKey};
use extentdb_types::{Collation, SqlType};

use crate::rows::resembles_ciphertext;
use crate::rows::stored_default;

/// A value of a key column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Value<'a> {
    Null,
    Bytes(&'a [u8]),
    /// Not in the record, or in a form that is not understood.
    Unknown,
}

/// What a row has that was written before its column was added.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Missing {
    Null,
    Bytes(Box<[u8]>),
    Unknown,
}

impl Missing {
    /// The default of a column of type `ty`.
    pub(super) fn of(default: Option<&AddedDefault>, ty: Option<&SqlType>) -> Missing {
        match default {
            None => Missing::Null,
            Some(default) => stored_default(default, ty).map_or(Missing::Unknown, Missing::Bytes),
        }
    }
}

/// Types whose values are ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rank {
    /// Little-endian, with its number of bytes: tinyint, date, time.
    Unsigned(u8),
    /// Little-endian, in two's complement.
    Signed(u8),
    /// One byte, 0 or 1.
    Bit,
    /// Sign byte, then a magnitude with its number of bytes.
    Decimal(u8),
    Float,
    Real,
    /// Ticks u32, days i32.
    DateTime,
    /// Minutes u16, days u16.
    SmallDateTime,
    /// `datetimeoffset`: this many bytes of time, three of the day, and an offset that does not
    /// count.
    DateTime2(u8),
    Guid,
    /// int of no or four bytes; none is 0.
    Uniquifier,
}

/// How values are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    Rank(Rank),
    Bytes,
    /// Page u32, file u16, slot u16 of a row of a heap.
    Rid,
    Char(Collation),
    NChar(Collation),
    Unknown,
}

impl Order {
    pub(super) fn of(ty: Option<&SqlType>) -> Order {
        let Some(ty) = ty else { return Order::Unknown };
        let width = ty.fixed_bytes().and_then(|bytes| u8::try_from(bytes).ok()).unwrap_or(0);
        match *ty {
            SqlType::TinyInt | SqlType::Date | SqlType::Time { .. } => {
                Order::Rank(Rank::Unsigned(width))
            }
            SqlType::SmallInt
            | SqlType::Int
            | SqlType::BigInt
            | SqlType::Money
            | SqlType::SmallMoney => Order::Rank(Rank::Signed(width)),
            SqlType::Bit => Order::Rank(Rank::Bit),
            SqlType::Decimal { .. } | SqlType::Numeric { .. } => {
                Order::Rank(Rank::Decimal(width.saturating_sub(1)))
            }
            SqlType::Float => Order::Rank(Rank::Float),
            SqlType::Real => Order::Rank(Rank::Real),
            SqlType::DateTime => Order::Rank(Rank::DateTime),
            SqlType::SmallDateTime => Order::Rank(Rank::SmallDateTime),
            SqlType::DateTime2 { .. } => Order::Rank(Rank::DateTime2(width.saturating_sub(3))),
            SqlType::DateTimeOffset { .. } => Order::Rank(Rank::DateTime2(width.saturating_sub(5))),
            SqlType::UniqueIdentifier => Order::Rank(Rank::Guid),
            // Types of the CLR can be keys only when their serialised bytes are in order.
            SqlType::Binary { .. }
            | SqlType::VarBinary { len: Some(_) }
            | SqlType::RowVersion
            | SqlType::Udt { .. } => Order::Bytes,
            SqlType::Char { collation, .. } | SqlType::VarChar { collation, .. } => {
                Order::Char(collation)
            }
            SqlType::NChar { collation, .. } | SqlType::NVarChar { collation, .. } => {
                Order::NChar(collation)
            }
            _ => Order::Unknown,
        }
    }

    /// False when two different values can never be distinguished by their order.
    pub(super) fn is_known(self) -> bool {
        match self {
            Order::Rank(_) | Order::Bytes | Order::Rid => true,
            Order::Char(collation) => collation.compare_char(b"a", b"b").certain,
            Order::NChar(collation) => collation.compare_nchar(b"a\0", b"b\0").certain,
            Order::Unknown => false,
        }
    }

    /// Compares two values that are not NULL, ascending.
    #[inline]
    pub(super) fn compare(self, a: &[u8], b: &[u8]) -> Option<Ordering> {
        if let Order::Rank(rank) = self {
            return match rank.bits() {
                ..=64 => Some(rank.narrow(a)?.cmp(&rank.narrow(b)?)),
                _ => Some(rank.of(a)?.cmp(&rank.of(b)?)),
            };
        }
        if a == b {
            return Some(Ordering::Equal);
        }
        match self {
            Order::Bytes => compare_bytes(a, b),
            Order::Rid => compare_rids(a, b),
            // Deterministic encryption demands a BIN2 collation, and orders by the bytes that it
            // made.
            Order::Char(collation) | Order::NChar(collation)
                if collation.is_bin2() && resembles_ciphertext(a) && resembles_ciphertext(b) =>
            {
                None
            }
            Order::Char(collation) => certain_order(collation.compare_char(a, b)),
            Order::NChar(collation) => certain_order(collation.compare_nchar(a, b)),
            Order::Rank(_) | Order::Unknown => None,
        }
    }

    /// The first character of a value whose weight is not certain, as a code point.
    pub(super) fn uncertain_character(self, value: &[u8]) -> Option<u32> {
        let found = match self {
            Order::Char(collation) => collation.uncertain_char(value),
            Order::NChar(collation) => collation.uncertain_nchar(value),
            _ => None,
        };
        found.map(|character| character.code_point)
    }

    /// Puts out bytes in the order of the values.
    pub(super) fn normalise(self, value: &[u8], out: &mut impl FnMut(&[u8])) -> Extent {
        match self {
            Order::Rank(rank) => {
                let Some(number) = rank.of(value) else { return Extent::Open };
                let bytes = number.to_be_bytes();
                let significant = usize::from(rank.bits().div_ceil(8)).min(bytes.len());
                out(bytes.get(bytes.len() - significant..).unwrap_or_default());
                Extent::Whole
            }
            Order::Bytes => {
                out(value);
                Extent::Last
            }
            Order::Char(_) | Order::NChar(_) if self.uncertain_character(value).is_some() => {
                Extent::Open
            }
            Order::Char(collation) => of_text(&collation.sort_key_char(value), out),
            Order::NChar(collation) => of_text(&collation.sort_key_nchar(value), out),
            Order::Rid | Order::Unknown => Extent::Open,
        }
    }
}

/// What can follow the bytes of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extent {
    /// All values have as many bytes: those of the next column.
    Whole,
    /// A value may be longer: nothing but zeros.
    Last,
    /// What the value is like is not certain.
    Open,
}

fn certain_order(comparison: Comparison) -> Option<Ordering> {
    comparison.certain.then_some(comparison.ordering)
}

fn of_text(key: &SortKey, out: &mut impl FnMut(&[u8])) -> Extent {
    out(key.bytes());
    Extent::Last
}

/// Binary values. One that goes on with zeros only may be equal to the shorter one or come after
/// it: both are said of SQL Server, so nothing is.
fn compare_bytes(a: &[u8], b: &[u8]) -> Option<Ordering> {
    let common = a.len().min(b.len());
    let rest = if a.len() > b.len() { a.get(common..) } else { b.get(common..) };
    let is_padding =
        rest.is_some_and(|rest| !rest.is_empty() && rest.iter().all(|byte| *byte == 0));
    match a.get(..common).cmp(&b.get(..common)) {
        Ordering::Equal if is_padding => None,
        Ordering::Equal => Some(a.len().cmp(&b.len())),
        decided => Some(decided),
    }
}

/// Locators of rows of a heap. Their column is binary(8), but whether it is compared as such or by
/// file, page and slot no file has shown; where these differ, nothing is said.
fn compare_rids(a: &[u8], b: &[u8]) -> Option<Ordering> {
    let rid = |bytes: &[u8]| bytes.try_into().ok().map(Rid::from_bytes);
    let first = rid(a)?;
    let second = rid(b)?;
    let by_bytes = a.cmp(b);
    let by_place = (first.page, first.slot).cmp(&(second.page, second.slot));
    (by_bytes == by_place).then_some(by_bytes)
}

/// Up to 16 bytes, little-endian.
#[inline]
fn little(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |all, byte| all << 8 | u128::from(*byte))
}

impl Rank {
    /// Bits of the largest rank.
    #[inline]
    pub(super) fn bits(self) -> u16 {
        match self {
            Rank::Unsigned(bytes) | Rank::Signed(bytes) => 8 * u16::from(bytes),
            Rank::Bit => 8,
            Rank::Decimal(bytes) => (8 * u16::from(bytes) + 1).min(128),
            Rank::Float | Rank::DateTime => 64,
            Rank::Real | Rank::SmallDateTime | Rank::Uniquifier => 32,
            Rank::DateTime2(time) => 8 * u16::from(time) + 24,
            Rank::Guid => 128,
        }
    }

    /// The rank of a value; `None` for one that has no order, such as NaN.
    #[inline]
    pub(super) fn of(self, bytes: &[u8]) -> Option<u128> {
        match self {
            Rank::Decimal(width) => decimal_rank(bytes, width),
            Rank::Guid => guid_rank(bytes.first_chunk()?),
            _ => self.narrow(bytes).map(u128::from),
        }
    }

    /// The same, of types whose ranks have at most 64 bits.
    #[inline(always)]
    pub(super) fn narrow(self, bytes: &[u8]) -> Option<u64> {
        match self {
            Rank::Signed(4) => {
                Some(u64::from(signed_32(u32::from_le_bytes(*bytes.first_chunk()?))))
            }
            Rank::Signed(8) => Some(u64::from_le_bytes(*bytes.first_chunk()?) ^ 1 << 63),
            Rank::Signed(2) => Some(u64::from(u16::from_le_bytes(*bytes.first_chunk()?) ^ 1 << 15)),
            Rank::Unsigned(width) if bytes.len() == usize::from(width) => {
                Some(little(bytes) as u64)
            }
            Rank::Bit => bytes.first().map(|bit| u64::from(*bit)),
            Rank::Uniquifier if bytes.is_empty() => Some(u64::from(signed_32(0))),
            Rank::Uniquifier => {
                Some(u64::from(signed_32(u32::from_le_bytes(*bytes.first_chunk()?))))
            }
            Rank::DateTime => {
                let (ticks, days) = bytes.split_first_chunk::<4>()?;
                let days = signed_32(u32::from_le_bytes(*days.first_chunk()?));
                Some(u64::from(days) << 32 | u64::from(u32::from_le_bytes(*ticks)))
            }
            // Days are after the minutes: as one number, they count first already.
            Rank::SmallDateTime => Some(u64::from(u32::from_le_bytes(*bytes.first_chunk()?))),
            Rank::DateTime2(time) => {
                let (time_bytes, date) = bytes.split_at_checked(usize::from(time))?;
                let date = date.first_chunk::<3>()?;
                Some(((little(date) << (8 * u32::from(time))) | little(time_bytes)) as u64)
            }
            Rank::Decimal(_) => {
                decimal_rank(bytes, bytes.len().checked_sub(1)? as u8).map(|rank| rank as u64)
            }
            Rank::Float => float_rank(u64::from_le_bytes(*bytes.first_chunk()?), 64),
            Rank::Real => float_rank(u64::from(u32::from_le_bytes(*bytes.first_chunk()?)), 32),
            Rank::Signed(_) | Rank::Unsigned(_) | Rank::Guid => None,
        }
    }
}

#[inline]
fn signed_32(bits: u32) -> u32 {
    bits ^ 1 << 31
}

/// Around the middle of the range of `bits` bits: negative magnitudes below it, zero of either sign
/// on it.
fn decimal_rank(bytes: &[u8], width: u8) -> Option<u128> {
    let (sign, magnitude) = bytes.split_first()?;
    if magnitude.len() != usize::from(width) {
        return None;
    }
    let middle = 1u128 << (8 * u32::from(width)).min(127);
    let magnitude = little(magnitude).min(middle - 1);
    match sign {
        0 => Some(middle - magnitude),
        1 => Some(middle + magnitude),
        _ => None,
    }
}

/// IEEE 754: the bits of positive numbers ascend, those of negative ones descend. Both zeros are
/// one number.
fn float_rank(bits: u64, width: u32) -> Option<u64> {
    let sign = 1u64 << (width - 1);
    let magnitude = bits & (sign - 1);
    let (exponent_bits, fraction_bits) = if width == 64 { (11, 52) } else { (8, 23) };
    let is_finite = magnitude >> fraction_bits != (1 << exponent_bits) - 1;
    let rank = if bits & sign == 0 { sign + magnitude } else { sign - magnitude };
    is_finite.then_some(rank)
}

fn guid_rank(bytes: &[u8; 16]) -> Option<u128> {
    Some(u128::from_be_bytes(extentdb_types::Guid(*bytes).sort_key()))
}

/// A key column.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) order: Order,
    pub(super) is_descending: bool,
    pub(super) is_not_null: bool,
    pub(super) leaf: ColumnOffset,
    pub(super) upper: ColumnOffset,
    /// Bytes in the fixed part; 0 for a bit.
    pub(super) width: u16,
    pub(super) missing: Missing,
}

/// A uniquifier that is not stored.
const ZERO: &[u8] = &[0; 4];

impl Column {
    pub(super) fn new(column: &PhysicalColumn, missing: Missing) -> Column {
        let order = if column.is_uniquifier() {
            Order::Rank(Rank::Uniquifier)
        } else {
            Order::of(column.ty.as_ref())
        };
        let width =
            column.ty.and_then(|ty| ty.fixed_bytes()).and_then(|bytes| u16::try_from(bytes).ok());
        Column {
            order,
            is_descending: column.is_descending(),
            is_not_null: column.is_not_null() || column.is_uniquifier(),
            leaf: column.leaf,
            upper: column.interior,
            width: width.unwrap_or(0),
            missing,
        }
    }

    pub(super) fn place(&self, is_leaf: bool) -> ColumnOffset {
        if is_leaf { self.leaf } else { self.upper }
    }

    /// The value in a record of one level.
    #[inline]
    pub(super) fn value<'a>(&'a self, record: &Record<'a>, is_leaf: bool) -> Value<'a> {
        let place = self.place(is_leaf);
        if place.null_bit > 0 && record.has_null_bitmap() {
            match record.is_null(place.null_bit) {
                // A bit that cannot be set is for others to report.
                Some(true) if !self.is_not_null => return Value::Null,
                None if self.order != Order::Rank(Rank::Uniquifier) => return self.missing(),
                _ => {}
            }
        }
        match place.offset {
            0 => Value::Unknown,
            offset if offset < 0 => self.variable(record, offset.unsigned_abs() - 1),
            offset => self.fixed(record, usize::from(offset.unsigned_abs()), place.bit),
        }
    }

    fn variable<'a>(&'a self, record: &Record<'a>, at: u16) -> Value<'a> {
        let is_uniquifier = self.order == Order::Rank(Rank::Uniquifier);
        match record.var(at) {
            Some(var) if var.complex => Value::Unknown,
            Some(var) if is_uniquifier && var.bytes.is_empty() => Value::Bytes(ZERO),
            Some(var) => Value::Bytes(var.bytes),
            None if is_uniquifier => Value::Bytes(ZERO),
            // Trailing empty columns are not stored.
            None => Value::Bytes(&[]),
        }
    }

    #[inline]
    fn fixed<'a>(&'a self, record: &Record<'a>, offset: usize, bit: u8) -> Value<'a> {
        if offset >= record.fixed_end() {
            return self.missing();
        }
        if self.order == Order::Rank(Rank::Bit) {
            const BITS: [&[u8]; 2] = [&[0], &[1]];
            let byte = record.fixed(offset, 1).and_then(|byte| byte.first());
            return byte.map_or(Value::Unknown, |byte| {
                Value::Bytes(if byte >> (bit & 7) & 1 == 0 { BITS[0] } else { BITS[1] })
            });
        }
        match record.fixed(offset, usize::from(self.width)) {
            Some(bytes) if !bytes.is_empty() => Value::Bytes(bytes),
            _ => Value::Unknown,
        }
    }

    #[cold]
    fn missing(&self) -> Value<'_> {
        match &self.missing {
            Missing::Null => Value::Null,
            Missing::Bytes(bytes) => Value::Bytes(bytes),
            Missing::Unknown => Value::Unknown,
        }
    }

    /// The order of two values under this column; `None` when it is not known.
    #[inline]
    pub(super) fn compare(&self, a: Value<'_>, b: Value<'_>) -> Option<Ordering> {
        let ascending = match (a, b) {
            (Value::Unknown, _) | (_, Value::Unknown) => None,
            (Value::Null, Value::Null) => Some(Ordering::Equal),
            (Value::Null, Value::Bytes(_)) => Some(Ordering::Less),
            (Value::Bytes(_), Value::Null) => Some(Ordering::Greater),
            (Value::Bytes(a), Value::Bytes(b)) => self.order.compare(a, b),
        };
        if self.is_descending { ascending.map(Ordering::reverse) } else { ascending }
    }
}
