//! A sequence: its definition as the catalog keeps it, and the values that memory hands out.
//!
//! ```text
//! sysschobjs   the object, type SO
//! sysxprops    ExtentDB_sequence        bigint start=1 increment=1 minimum=1 … cache=50
//!              ExtentDB_sequence_next   the first value that no memory has: a restart goes on
//!                                       there; `end` when there is none
//! ```
//!
//! Both properties are texts of one length for one sequence, so that the second is overwritten in
//! its place. [Decision 29](../../../docs/decisions/0029-sequences-are-properties.md).

use std::collections::BTreeMap;

use extentdb_base::ObjectId;
use extentdb_base::sync::{Mutex, lock};
use extentdb_types::{Collation, Datum, Decimal, NText, SqlType, Variant};

/// Name of the property with the definition.
pub(crate) const DEFINITION: &str = "ExtentDB_sequence";
/// Name of the property with the next value.
pub(crate) const NEXT: &str = "ExtentDB_sequence_next";
/// Characters of the next value; a decimal of 38 digits has 39.
const NEXT_WIDTH: usize = 40;
const END: &str = "end";

/// What a sequence is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SequenceDefinition {
    /// tinyint to bigint, or decimal or numeric without scale.
    pub ty: SqlType,
    /// The first value.
    pub start: i128,
    /// From one value to the next; not 0.
    pub increment: i128,
    /// The least value.
    pub minimum: i128,
    /// The greatest value.
    pub maximum: i128,
    /// After the last value it goes on at the other end.
    pub is_cycling: bool,
    /// How many values a restart may lose, at most; 0 for NO CACHE.
    pub cache: u32,
}

/// Where a sequence is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequenceState {
    /// The last value that was given out; `None` when there was none.
    pub last: Option<i128>,
    /// It has no more.
    pub is_exhausted: bool,
}

impl SequenceDefinition {
    /// Values that are reserved at once when a sequence does not say how many.
    pub const DEFAULT_CACHE: u32 = 50;

    /// The range of a type; `None` of a type that sequences have not.
    pub fn range(ty: &SqlType) -> Option<(i128, i128)> {
        Some(match ty {
            SqlType::TinyInt => (0, u8::MAX.into()),
            SqlType::SmallInt => (i16::MIN.into(), i16::MAX.into()),
            SqlType::Int => (i32::MIN.into(), i32::MAX.into()),
            SqlType::BigInt => (i64::MIN.into(), i64::MAX.into()),
            SqlType::Decimal { precision, scale: 0 } | SqlType::Numeric { precision, scale: 0 } => {
                let most = 10_i128.checked_pow((*precision).into())? - 1;
                (-most, most)
            }
            _ => return None,
        })
    }

    /// A value of it as one of its type.
    pub fn datum(&self, value: i128) -> Option<Datum<'static>> {
        Some(match self.ty {
            SqlType::TinyInt => Datum::TinyInt(value.try_into().ok()?),
            SqlType::SmallInt => Datum::SmallInt(value.try_into().ok()?),
            SqlType::Int => Datum::Int(value.try_into().ok()?),
            SqlType::BigInt => Datum::BigInt(value.try_into().ok()?),
            _ => Datum::Decimal(Decimal::new(value < 0, value.unsigned_abs(), 0)?),
        })
    }

    /// The value after another one; `None` at the end.
    pub(crate) fn after(&self, value: i128) -> Option<i128> {
        let next = value.checked_add(self.increment);
        match next.filter(|next| (self.minimum..=self.maximum).contains(next)) {
            Some(next) => Some(next),
            None if !self.is_cycling => None,
            None if self.increment > 0 => Some(self.minimum),
            None => Some(self.maximum),
        }
    }

    /// The value that was given out before the next one; `None` when there was none.
    fn before(&self, next: Option<i128>) -> Option<i128> {
        if next == Some(self.start) && !self.is_cycling {
            return None;
        }
        let previous = next.and_then(|next| next.checked_sub(self.increment));
        let is_inside = |value: &i128| (self.minimum..=self.maximum).contains(value);
        previous.filter(is_inside).or_else(|| self.last())
    }

    /// The value before the end.
    fn last(&self) -> Option<i128> {
        let limit = if self.increment > 0 { self.maximum } else { self.minimum };
        let steps = limit.checked_sub(self.start)?.checked_div(self.increment)?;
        self.start.checked_add(steps.checked_mul(self.increment)?)
    }

    /// Where a sequence is that gives this value next; `None`: it has no more.
    pub(crate) fn state(&self, next: Option<i128>) -> SequenceState {
        SequenceState { last: self.before(next), is_exhausted: next.is_none() }
    }

    /// How many values are reserved at once.
    fn batch(&self) -> u32 {
        self.cache.max(1)
    }

    /// As the catalog keeps it.
    pub(crate) fn to_text(&self) -> String {
        let SequenceDefinition { ty, start, increment, minimum, maximum, is_cycling, cache } = self;
        format!(
            "{ty} start={start} increment={increment} minimum={minimum} maximum={maximum} \
             cycle={} cache={cache}",
            u8::from(*is_cycling)
        )
    }

    /// From the text of the catalog; `None` of any other.
    pub(crate) fn of_text(text: &str) -> Option<SequenceDefinition> {
        let mut words = text.split(' ');
        let ty = type_named(words.next()?)?;
        let facts: BTreeMap<&str, i128> = words
            .map(|word| {
                let (name, value) = word.split_once('=')?;
                Some((name, value.parse().ok()?))
            })
            .collect::<Option<_>>()?;
        let fact = |name: &str| facts.get(name).copied();
        Some(SequenceDefinition {
            ty,
            start: fact("start")?,
            increment: fact("increment").filter(|step| *step != 0)?,
            minimum: fact("minimum")?,
            maximum: fact("maximum")?,
            is_cycling: fact("cycle")? != 0,
            cache: fact("cache")?.try_into().ok()?,
        })
    }
}

fn type_named(name: &str) -> Option<SqlType> {
    let sized = |name: &str| {
        let inner = name.strip_suffix(",0)")?;
        inner.parse::<u8>().ok().filter(|precision| (1..=38).contains(precision))
    };
    Some(match name {
        "tinyint" => SqlType::TinyInt,
        "smallint" => SqlType::SmallInt,
        "int" => SqlType::Int,
        "bigint" => SqlType::BigInt,
        _ => match name.split_once('(')? {
            ("decimal", rest) => SqlType::Decimal { precision: sized(rest)?, scale: 0 },
            ("numeric", rest) => SqlType::Numeric { precision: sized(rest)?, scale: 0 },
            _ => return None,
        },
    })
}

/// The next value as a text of the catalog.
pub(crate) fn next_to_text(next: Option<i128>) -> String {
    let text = next.map_or_else(|| END.to_owned(), |next| next.to_string());
    format!("{text:>NEXT_WIDTH$}")
}

/// From the text of the catalog: a value, or the end; `None` of any other text.
pub(crate) fn next_of_text(text: &str) -> Option<Option<i128>> {
    match text.trim() {
        END => Some(None),
        number => number.parse().ok().map(Some),
    }
}

/// A text as the catalog keeps the value of an extended property.
pub(crate) fn property_bytes(text: &str, collation: Collation) -> Option<Vec<u8>> {
    let len = u16::try_from(text.len() * 2).ok()?;
    let ty = SqlType::NVarChar { len: Some(len), collation };
    let value = Datum::NChar(NText::from_text(text));
    let mut bytes = Vec::new();
    let variant = Datum::Variant(Box::new(Variant { ty, value }));
    variant.encode(&SqlType::SqlVariant, &mut bytes).ok()?;
    Some(bytes)
}

/// The text of the value of an extended property.
pub(crate) fn property_text(bytes: &[u8]) -> Option<String> {
    match Datum::decode(&SqlType::SqlVariant, bytes).ok()? {
        Datum::Variant(variant) => match variant.value {
            Datum::NChar(text) => Some(text.decode().0),
            _ => None,
        },
        _ => None,
    }
}

/// Values that memory has reserved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Reserved {
    next: i128,
    left: u32,
}

/// A reservation: where it begins, how many values it has, and what the catalog has after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reservation {
    first: i128,
    count: u32,
    /// What the catalog is to have.
    pub(crate) next: Option<i128>,
}

impl Reservation {
    /// The values from `first` on that are reserved at once.
    pub(crate) fn of(definition: &SequenceDefinition, first: i128) -> Reservation {
        let mut next = Some(first);
        let mut count = 0;
        while let (Some(value), true) = (next, count < definition.batch()) {
            next = definition.after(value);
            count += 1;
        }
        Reservation { first, count, next }
    }
}

/// The reserved values of a database's sequences.
#[derive(Default, Debug)]
pub(crate) struct Sequences {
    reserved: Mutex<BTreeMap<ObjectId, Reserved>>,
}

impl Sequences {
    /// The next value that is reserved.
    pub(crate) fn take(&self, id: ObjectId, definition: &SequenceDefinition) -> Option<i128> {
        let mut all = lock(&self.reserved);
        let own = all.get_mut(&id).filter(|own| own.left > 0)?;
        let value = own.next;
        own.left -= 1;
        match definition.after(value) {
            Some(next) => own.next = next,
            None => own.left = 0,
        }
        Some(value)
    }

    /// The value that [`take`](Self::take) would give.
    pub(crate) fn peek(&self, id: ObjectId) -> Option<i128> {
        let all = lock(&self.reserved);
        all.get(&id).filter(|own| own.left > 0).map(|own| own.next)
    }

    /// Values were reserved in the catalog.
    pub(crate) fn add(&self, id: ObjectId, reservation: Reservation) {
        let Reservation { first, count, .. } = reservation;
        lock(&self.reserved).insert(id, Reserved { next: first, left: count });
    }

    /// The catalog decides again: a sequence was changed, or its change rolled back.
    pub(crate) fn forget(&self, id: ObjectId) {
        lock(&self.reserved).remove(&id);
    }

    /// What was reserved and not handed out, and forgets it.
    pub(crate) fn take_all(&self) -> Vec<(ObjectId, i128)> {
        let all = std::mem::take(&mut *lock(&self.reserved));
        all.into_iter().filter(|(_, own)| own.left > 0).map(|(id, own)| (id, own.next)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(start: i128, increment: i128, range: (i128, i128)) -> SequenceDefinition {
        SequenceDefinition {
            ty: SqlType::BigInt,
            start,
            increment,
            minimum: range.0,
            maximum: range.1,
            is_cycling: false,
            cache: 3,
        }
    }

    #[test]
    fn texts_lead_back_to_what_they_tell() {
        let types = [
            SqlType::TinyInt,
            SqlType::Int,
            SqlType::Decimal { precision: 38, scale: 0 },
            SqlType::Numeric { precision: 9, scale: 0 },
        ];
        for ty in types {
            let own = SequenceDefinition { ty, ..sequence(-5, -2, (-100, 7)) };
            assert_eq!(SequenceDefinition::of_text(&own.to_text()), Some(own));
        }
        for next in [None, Some(0), Some(-170), Some(10_i128.pow(38) - 1)] {
            let text = next_to_text(next);
            assert_eq!((next_of_text(&text), text.len()), (Some(next), NEXT_WIDTH));
            let bytes = property_bytes(&text, Collation::SQL_LATIN1_GENERAL_CP1_CI_AS).unwrap();
            assert_eq!(property_text(&bytes), Some(text));
        }
        for text in ["", "float start=1", "int start=x", "int start=1 increment=0"] {
            assert_eq!(SequenceDefinition::of_text(text), None, "{text}");
        }
    }

    /// All values until there are none, and how often the catalog was asked.
    #[test]
    fn a_state_tells_of_the_last_value() {
        let plain = sequence(5, 2, (1, 10));
        for (next, last) in [(Some(5), None), (Some(7), Some(5)), (None, Some(9))] {
            assert_eq!(plain.state(next).last, last, "{next:?}");
            assert_eq!(plain.state(next).is_exhausted, next.is_none());
        }
    }

    fn all(definition: &SequenceDefinition, most: usize) -> (Vec<i128>, usize) {
        let sequences = Sequences::default();
        let id = ObjectId(1);
        let mut stored = Some(definition.start);
        let mut values = Vec::new();
        let mut asked = 0;
        while values.len() < most {
            if let Some(value) = sequences.take(id, definition) {
                values.push(value);
                continue;
            }
            let Some(first) = stored else { break };
            let reservation = Reservation::of(definition, first);
            stored = reservation.next;
            asked += 1;
            sequences.add(id, reservation);
        }
        (values, asked)
    }

    #[test]
    fn values_go_up_or_down_to_the_end() {
        assert_eq!(all(&sequence(1, 2, (0, 10)), 100), (vec![1, 3, 5, 7, 9], 2));
        assert_eq!(all(&sequence(5, -3, (-2, 5)), 100), (vec![5, 2, -1], 1));
        let last = SequenceDefinition { cache: 0, ..sequence(9, 1, (0, 10)) };
        assert_eq!(all(&last, 100), (vec![9, 10], 2));
    }

    #[test]
    fn a_cycle_goes_on_at_the_other_end() {
        let up = SequenceDefinition { is_cycling: true, ..sequence(2, 1, (1, 3)) };
        assert_eq!(all(&up, 6).0, [2, 3, 1, 2, 3, 1]);
        let down = SequenceDefinition { is_cycling: true, ..sequence(2, -1, (1, 3)) };
        assert_eq!(all(&down, 5).0, [2, 1, 3, 2, 1]);
    }
}
