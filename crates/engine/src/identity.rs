//! Identity values: given out by a table, one after the other, never twice, not even when a transaction is rolled back.
//!
//! ```text
//! idtval   last value i32, increment i32, seed i32, 1 while there was none        a column of syscolpars
//! ```
//!
//! The catalogue is ahead of what was given out by up to [`AHEAD`] values, so that not every one is logged; a clean close brings it
//! back to the last one. After a crash values may be missing, as they may after a rollback.

use extentdb_base::ObjectId;
use extentdb_base::sync::{Mutex, lock};
use extentdb_catalog::layout::Cell;
use extentdb_types::SqlType;
use std::borrow::Cow;

use crate::database::Database;
use crate::error::Error;
use crate::session::Session;
use crate::system_table::{int, number};
use crate::table::Table;

/// Values that the catalogue is ahead of what was given out.
const AHEAD: i32 = 100;
/// Columns of `syscolpars`: the column's id, and its identity.
const COLUMN_ID: usize = 3 - 1;
const IDENTITY: usize = 16 - 1;
const VALUE_BYTES: usize = 13;

/// The identity of a table.
#[derive(Debug)]
pub(crate) struct Identity {
    column: i32,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    last: i32,
    increment: i32,
    seed: i32,
    is_fresh: bool,
    /// What the catalogue has as the last value.
    stored: i32,
}

impl Identity {
    /// From the bytes of `idtval`; `None` when they are no identity of an int.
    pub(crate) fn parse(column: i32, bytes: &[u8]) -> Option<Identity> {
        let bytes: &[u8; VALUE_BYTES] = bytes.try_into().ok()?;
        let part = |at: usize| i32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (last, increment, seed, is_fresh) = (part(0), part(4), part(8), bytes[12] != 0);
        Some(Identity { column, state: Mutex::new(State { last, increment, seed, is_fresh, stored: last }) })
    }

    /// As the model of the catalogue has it; `None` for a column of another type than int, or none.
    pub(crate) fn of(column: &extentdb_catalog::model::Column) -> Option<Identity> {
        let identity = column.identity.as_ref().filter(|_| column.ty == Some(SqlType::Int))?;
        let (seed, increment): (i32, i32) = (identity.seed.parse().ok()?, identity.increment.parse().ok()?);
        let last = identity.last.as_ref().map_or(Some(seed), |last| last.parse().ok())?;
        let is_fresh = identity.last.is_none();
        Some(Identity {
            column: column.id,
            state: Mutex::new(State { last, increment, seed, is_fresh, stored: last }),
        })
    }

    /// Id of its column.
    pub(crate) fn column(&self) -> i32 {
        self.column
    }

    /// The next value, and whether the catalogue must be told first.
    fn draw(&self) -> Option<(i32, Option<State>)> {
        let mut state = lock(&self.state);
        let value = if state.is_fresh { state.seed } else { state.last.checked_add(state.increment)? };
        let way = |value: i32| (i64::from(value) - i64::from(state.stored)).signum();
        let is_beyond = state.is_fresh || way(value) == i64::from(state.increment.signum());
        (state.last, state.is_fresh) = (value, false);
        if is_beyond {
            state.stored = value.saturating_add(state.increment.saturating_mul(AHEAD));
        }
        Some((value, is_beyond.then_some(*state)))
    }

    /// What the catalogue must have when nothing more is given out; `None` when it has that.
    fn exact(&self) -> Option<State> {
        let mut state = lock(&self.state);
        let differs = state.stored != state.last;
        state.stored = state.last;
        differs.then_some(*state)
    }
}

impl State {
    fn bytes(self) -> Vec<u8> {
        let mut bytes: Vec<u8> =
            [self.stored, self.increment, self.seed].iter().flat_map(|n| n.to_le_bytes()).collect();
        bytes.push(u8::from(self.is_fresh));
        bytes
    }
}

impl Session<'_> {
    /// The next value of the table's identity column. It is gone, whatever becomes of the transaction.
    ///
    /// # Errors
    /// [`Error::NotSupported`]: the table has no identity column of type int, or its values are used up.
    pub fn next_identity(&mut self, table: &Table) -> Result<i32, Error> {
        self.db.verify_online()?;
        let missing = || Error::NotSupported { what: format!("identity values of table {}", table.name()) };
        let storage = table.storage();
        let identity = storage.identity.as_ref().ok_or_else(missing)?;
        let (value, told) = identity.draw().ok_or_else(missing)?;
        if let Some(state) = told {
            self.db.store_identity(table.id(), identity.column, state)?;
        }
        Ok(value)
    }
}

impl Database {
    fn store_identity(&self, table: ObjectId, column: i32, state: State) -> Result<(), Error> {
        let _ddl = lock(&self.ddl);
        let columns = self.catalogue.system("syscolpars")?;
        for mut row in columns.rows(&[int(table.0)])? {
            if row.get(COLUMN_ID).and_then(number) == Some(column.into()) {
                row[IDENTITY] = Cell::Bytes(Cow::Owned(state.bytes()));
                self.space.in_own_system("Identity", |system| columns.replace(system, &row))?;
            }
        }
        Ok(())
    }

    /// Before a clean close: the catalogue has the values that were given out last.
    pub(crate) fn store_identities(&self) -> Result<(), Error> {
        for table in self.catalogue.all_tables() {
            if let Some(identity) = &table.storage().identity
                && let Some(state) = identity.exact()
            {
                self.store_identity(table.id(), identity.column, state)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(last: i32, increment: i32, fresh: bool) -> Identity {
        let mut bytes: Vec<u8> = [last, increment, last].iter().flat_map(|n| n.to_le_bytes()).collect();
        bytes.push(fresh.into());
        Identity::parse(1, &bytes).unwrap()
    }

    #[test]
    fn the_catalogue_is_told_before_its_value_is_passed() {
        for increment in [1, 5, -3] {
            let identity = identity(10, increment, true);
            let (mut told, mut stored) = (0, 10);
            for step in 0..1000 {
                let (value, state) = identity.draw().unwrap();
                assert_eq!(value, 10 + step * increment);
                if let Some(state) = state {
                    (told, stored) = (told + 1, state.stored);
                }
                // A restart goes on behind what the catalogue has: never at a value that was given out.
                assert!((stored - value) * increment.signum() >= 0, "{value} {stored}");
            }
            assert!((10..=11).contains(&told), "{told}");
        }
    }

    #[test]
    fn the_end_of_the_numbers_is_an_end() {
        let identity = identity(i32::MAX - 1, 1, false);
        assert_eq!(identity.draw().map(|(value, _)| value), Some(i32::MAX));
        assert!(identity.draw().is_none());
    }
}
