//! Identity values: drawn from a table in order, never twice, not even when a transaction is rolled
//! back.
//!
//! ```text
//! idtval   last value, increment, seed, each as wide as the column; 1 while
//!          there was none
//!          decimal: 05, precision, scale, sign (0 = negative), 16 bytes of magnitude
//! ```
//!
//! The catalog is ahead of the values drawn by up to [`AHEAD`] values, so that not every one is
//! logged; a clean close brings it back to the last one. After a crash values may be missing, as
//! they may after a rollback.

use std::borrow::Cow;

use extentdb_base::ObjectId;
use extentdb_base::sync::{Mutex, lock};
use extentdb_catalog::layout::Cell;
use extentdb_types::{Datum, Decimal, SqlType};

use crate::catalog::system_table::{Cells, SystemTable, int, number};
use crate::error::Error;

/// Values that the catalog is ahead of what was given out.
const AHEAD: i128 = 100;
/// Columns of `syscolpars`: the column's id, and its identity.
const COLUMN_ID: usize = 3 - 1;
const IDENTITY: usize = 16 - 1;
/// The first byte of a decimal in `idtval`.
const DECIMAL_TAG: u8 = 5;

/// IDENTITY (seed, increment).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdentitySpec {
    /// The first value that is given out.
    pub seed: i128,
    /// From one value to the next; not 0.
    pub increment: i128,
}

/// An identity as it is now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdentityState {
    /// Type of its column.
    pub ty: SqlType,
    /// The first value.
    pub seed: i128,
    /// From one value to the next.
    pub increment: i128,
    /// The last value that was given out; `None` when there was none.
    pub last: Option<i128>,
}

/// The identity of a table.
#[derive(Debug)]
pub(crate) struct Identity {
    column: i32,
    ty: SqlType,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    last: i128,
    increment: i128,
    seed: i128,
    is_fresh: bool,
    /// Must the catalog store the next value, whatever it has?
    is_unstored: bool,
    /// What the catalog has as the last value.
    stored: i128,
}

/// The least and the greatest value of an identity column of this type; `None`: there is no such
/// identity.
fn range(ty: &SqlType) -> Option<(i128, i128)> {
    Some(match *ty {
        SqlType::TinyInt => (0, u8::MAX.into()),
        SqlType::SmallInt => (i16::MIN.into(), i16::MAX.into()),
        SqlType::Int => (i32::MIN.into(), i32::MAX.into()),
        SqlType::BigInt => (i64::MIN.into(), i64::MAX.into()),
        SqlType::Decimal { precision, scale: 0 } | SqlType::Numeric { precision, scale: 0 } => {
            let most = 10i128.checked_pow(precision.into())? - 1;
            (-most, most)
        }
        _ => return None,
    })
}

/// A number as `idtval` has it.
fn stored_number(ty: &SqlType, value: i128) -> Vec<u8> {
    match (*ty, ty.fixed_bytes()) {
        (SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale }, _) => {
            let mut bytes = vec![DECIMAL_TAG, precision, scale, u8::from(value >= 0)];
            bytes.extend(value.unsigned_abs().to_le_bytes());
            bytes
        }
        (_, width) => value.to_le_bytes()[..width.unwrap_or(0)].to_vec(),
    }
}

/// `idtval` of a new identity column of this type.
///
/// # Errors
/// There is none of this type, or with such values: why.
pub(crate) fn identity_value(
    ty: &SqlType,
    seed: i128,
    increment: i128,
) -> Result<Vec<u8>, &'static str> {
    let (least, most) = range(ty).ok_or("an identity of its type")?;
    if increment == 0 || !(least..=most).contains(&seed) || !(least..=most).contains(&increment) {
        return Err("an identity whose seed or increment is none of its type");
    }
    Ok(State::fresh(seed, increment).bytes(ty))
}

impl Identity {
    /// An identity of a column of this type that nothing was given out of; `None`: there is no such
    /// identity.
    pub(crate) fn new(
        column: i32,
        ty: SqlType,
        IdentitySpec { seed, increment }: IdentitySpec,
    ) -> Option<Identity> {
        range(&ty)?;
        Some(Identity { column, ty, state: Mutex::new(State::fresh(seed, increment)) })
    }

    /// As the model of the catalog has it; `None` for a column that has none.
    pub(crate) fn of(column: &extentdb_catalog::model::Column) -> Option<Identity> {
        let identity = column.identity.as_ref()?;
        let ty = column.ty?;
        range(&ty)?;
        let seed: i128 = identity.seed.parse().ok()?;
        let increment: i128 = identity.increment.parse().ok()?;
        let last = identity.last.as_ref().map_or(Some(seed), |last| last.parse().ok())?;
        let is_fresh = identity.last.is_none();
        let state = State {
            last,
            stored: last,
            is_fresh,
            ..State::fresh(seed, increment)
        };
        Some(Identity { column: column.id, ty, state: Mutex::new(state) })
    }

    /// Id of its column.
    pub(crate) fn column(&self) -> i32 {
        self.column
    }

    /// A value of it as one of its column.
    pub(crate) fn datum(&self, value: i128) -> Option<Datum<'static>> {
        Some(match self.ty {
            SqlType::TinyInt => Datum::TinyInt(value.try_into().ok()?),
            SqlType::SmallInt => Datum::SmallInt(value.try_into().ok()?),
            SqlType::Int => Datum::Int(value.try_into().ok()?),
            SqlType::BigInt => Datum::BigInt(value.try_into().ok()?),
            _ => Datum::Decimal(Decimal::new(value < 0, value.unsigned_abs(), 0)?),
        })
    }

    /// The next value, and the state that the catalog must store first.
    pub(crate) fn next(&self) -> Option<(i128, Option<State>)> {
        let (least, most) = range(&self.ty)?;
        let mut state = lock(&self.state);
        let value =
            if state.is_fresh { state.seed } else { state.last.checked_add(state.increment)? };
        if !(least..=most).contains(&value) {
            return None;
        }
        let is_beyond = state.is_fresh
            || state.is_unstored
            || (value - state.stored).signum() == state.increment.signum();
        Some((value, state.advance(value, is_beyond, (least, most))))
    }

    /// A value that a statement has given: those that follow come after it. The state that the
    /// catalog must store, if any.
    pub(crate) fn raise(&self, value: i128) -> Option<State> {
        let range = range(&self.ty)?;
        let mut state = lock(&self.state);
        let sign = state.increment.signum();
        let is_later = match (value - state.last).signum() {
            0 => state.is_fresh,
            step => step == sign,
        };
        if !is_later {
            return None;
        }
        let is_beyond =
            state.is_fresh || state.is_unstored || (value - state.stored).signum() == sign;
        state.advance(value, is_beyond, range)
    }

    /// The values go on after this one, or begin with it where none was given out. The state that
    /// the catalog must store; `None`: the type has no such value.
    pub(crate) fn reseed(&self, value: i128) -> Option<State> {
        let (least, most) = range(&self.ty)?;
        let is_inside = |value: &i128| (least..=most).contains(value);
        if !is_inside(&value) {
            return None;
        }
        let mut state = lock(&self.state);
        let before = value.checked_sub(state.increment).filter(is_inside);
        state.last = if state.is_fresh { before.unwrap_or(value) } else { value };
        state.stored = state.last;
        state.is_fresh = false;
        state.is_unstored = false;
        Some(*state)
    }

    /// Seed, increment and the last value.
    pub(crate) fn current(&self) -> IdentityState {
        let state = lock(&self.state);
        IdentityState {
            ty: self.ty,
            seed: state.seed,
            increment: state.increment,
            last: (!state.is_fresh).then_some(state.last),
        }
    }

    /// The same identity before its first value, and what the catalog must have of it.
    pub(crate) fn restarted(&self) -> (Identity, State) {
        let own = *lock(&self.state);
        let state = State::fresh(own.seed, own.increment);
        (Identity { column: self.column, ty: self.ty, state: Mutex::new(state) }, state)
    }

    /// What the catalog has may have been rolled back: it is stored again with the next value.
    pub(crate) fn invalidate_stored(&self) {
        lock(&self.state).is_unstored = true;
    }

    /// What the catalog must have when nothing more is given out; `None` when it has that.
    pub(crate) fn exact(&self) -> Option<State> {
        let mut state = lock(&self.state);
        let differs = state.stored != state.last || state.is_unstored;
        (state.stored, state.is_unstored) = (state.last, false);
        differs.then_some(*state)
    }
}

impl Identity {
    /// The row of its column, with this state.
    pub(crate) fn rows(
        &self,
        columns: &SystemTable,
        table: ObjectId,
        state: State,
    ) -> Result<Vec<Cells>, Error> {
        let mut rows = columns.rows(&[int(table.0)])?;
        rows.retain(|row| row.get(COLUMN_ID).and_then(number) == Some(self.column.into()));
        let bytes = || Cell::Bytes(Cow::Owned(state.bytes(&self.ty)));
        rows.iter_mut().for_each(|row| row[IDENTITY] = bytes());
        Ok(rows)
    }
}

impl State {
    /// Of a column that no value was drawn for.
    fn fresh(seed: i128, increment: i128) -> State {
        State {
            last: seed,
            increment,
            seed,
            is_fresh: true,
            is_unstored: false,
            stored: seed,
        }
    }

    /// A value is the last one. When it is beyond what the catalog has, the catalog gets ahead
    /// again: the state that it must store.
    fn advance(
        &mut self,
        value: i128,
        is_beyond: bool,
        (least, most): (i128, i128),
    ) -> Option<State> {
        (self.last, self.is_fresh) = (value, false);
        if is_beyond {
            self.is_unstored = false;
            let ahead = self.increment.saturating_mul(AHEAD);
            self.stored = value.saturating_add(ahead).clamp(least, most);
        }
        is_beyond.then_some(*self)
    }

    fn bytes(self, ty: &SqlType) -> Vec<u8> {
        let mut bytes: Vec<u8> = [self.stored, self.increment, self.seed]
            .iter()
            .flat_map(|n| stored_number(ty, *n))
            .collect();
        bytes.push(u8::from(self.is_fresh));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(ty: SqlType, seed: i128, increment: i128) -> Identity {
        Identity::new(1, ty, IdentitySpec { seed, increment }).unwrap()
    }

    #[test]
    fn identity_is_stored_before_its_value_is_passed() {
        for increment in [1, 5, -3] {
            let identity = identity(SqlType::Int, 10, increment);
            let mut told = 0;
            let mut stored = 10;
            for step in 0..1000 {
                let (value, state) = identity.next().unwrap();
                assert_eq!(value, 10 + step * increment);
                if let Some(state) = state {
                    (told, stored) = (told + 1, state.stored);
                }
                // A restart continues after the value in the catalog: never at a value that was
                // given out.
                assert!((stored - value) * increment.signum() >= 0, "{value} {stored}");
            }
            assert!((10..=11).contains(&told), "{told}");
        }
    }

    #[test]
    fn a_given_value_moves_the_next_one_only_forward() {
        let cases: [(i128, &[i128], i128); 5] =
            [(1, &[10], 11), (1, &[9], 10), (1, &[50, 20], 51), (-1, &[50], 10), (-1, &[-7], -8)];
        for (increment, given, next) in cases {
            let identity = identity(SqlType::Int, 10, increment);
            for value in given {
                identity.raise(*value);
            }
            assert_eq!(identity.next().unwrap().0, next, "{increment} {given:?}");
        }
        let identity = identity(SqlType::Int, 1, 1);
        assert_eq!(identity.current().last, None);
        assert_eq!(identity.raise(500).unwrap().stored, 600);
        assert_eq!(identity.raise(510).map(|state| state.stored), None);
        assert_eq!(identity.current().last, Some(510));
    }

    #[test]
    fn the_end_of_the_numbers_of_a_type_is_an_end() {
        let numeric = SqlType::Numeric { precision: 3, scale: 0 };
        let ends =
            [(SqlType::TinyInt, 255), (SqlType::SmallInt, 32767), (SqlType::Int, i32::MAX.into())];
        for (ty, last) in
            ends.into_iter().chain([(SqlType::BigInt, i64::MAX.into()), (numeric, 999)])
        {
            let identity = identity(ty, last - 1, 1);
            assert_eq!(identity.next().map(|(value, _)| value), Some(last - 1));
            let (value, state) = identity.next().unwrap();
            assert_eq!(value, last);
            assert!(state.is_none_or(|state| state.stored == last));
            assert!(identity.datum(value).is_some());
            assert!(identity.next().is_none());
        }
    }

    #[test]
    fn bytes_are_as_wide_as_the_column() {
        assert_eq!(identity_value(&SqlType::TinyInt, 1, 2), Ok(vec![1, 2, 1, 1]));
        assert_eq!(
            identity_value(&SqlType::SmallInt, -2, 1),
            Ok(vec![254, 255, 1, 0, 254, 255, 1])
        );
        let decimal = identity_value(&SqlType::Decimal { precision: 9, scale: 0 }, -7, 1).unwrap();
        assert_eq!((decimal.len(), &decimal[..5]), (61, &[5, 9, 0, 0, 7][..]));
        assert!(identity_value(&SqlType::TinyInt, 256, 1).is_err());
        assert!(identity_value(&SqlType::Int, 1, 0).is_err());
        assert!(identity_value(&SqlType::Money, 1, 1).is_err());
    }
}
