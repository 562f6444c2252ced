//! Table hints: how one reading locks, whatever the session's level.
//!
//! ```text
//! level        NOLOCK = READUNCOMMITTED, READCOMMITTED, READCOMMITTEDLOCK, REPEATABLEREAD,
//!              HOLDLOCK = SERIALIZABLE
//! row locks    UPDLOCK: U, XLOCK: X, both to the end of the transaction
//! granularity  ROWLOCK, PAGLOCK, TABLOCK; TABLOCKX is TABLOCK and XLOCK
//! conflicts    READPAST: locked rows are left out; NOWAIT: the first one is an error
//! ```
//!
//! Where we differ: pages are not locked. PAGLOCK locks the rows of a page one by one, which holds
//! what was read and nothing beside it. Table locks are held to the end of the transaction at every
//! level.

use crate::error::Error;
use crate::session::Isolation;

/// Which lock rows get that are read.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RowLock {
    /// As the isolation level says.
    #[default]
    ByIsolation,
    /// UPDLOCK: they are to be changed.
    Update,
    /// XLOCK: nobody else locks them.
    Exclusive,
}

/// What is locked.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Granularity {
    /// Rows, until there are so many that their table is locked instead.
    #[default]
    Automatic,
    /// ROWLOCK.
    Row,
    /// PAGLOCK; see the module.
    Page,
    /// TABLOCK: the table once, no row.
    Table,
}

/// What happens at a row that another transaction has locked.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum OnConflict {
    /// It is waited for, as long as the session's lock timeout allows.
    #[default]
    Wait,
    /// READPAST: the row is left out. Table locks are waited for.
    Skip,
    /// NOWAIT: [`LockError::Timeout`](extentdb_txn::lock::LockError::Timeout) at once, of a table,
    /// too.
    Fail,
}

/// May a reading see versions of rows instead of waiting for locks?
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum UseVersions {
    /// As the isolation level and the database say.
    #[default]
    ByIsolation,
    /// Of rows that are to be changed: SNAPSHOT reads them as it sees them, without locks, and
    /// their change verifies that they are still so ([`Error::UpdateConflict`]). Otherwise they are
    /// read under locks.
    BeforeChange,
    /// READCOMMITTEDLOCK; checks of constraints.
    Never,
}

/// How one reading locks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ReadHints {
    /// Its isolation level; `None` for that of the session.
    pub isolation: Option<Isolation>,
    /// Which lock rows get.
    pub row_lock: RowLock,
    /// What is locked.
    pub granularity: Granularity,
    /// What happens at a row that another transaction has locked.
    pub on_conflict: OnConflict,
    /// Are versions read?
    pub versions: UseVersions,
}

/// A table hint of T-SQL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each variant is the hint it names")]
pub enum TableHint {
    NoLock,
    ReadUncommitted,
    ReadCommitted,
    ReadCommittedLock,
    RepeatableRead,
    HoldLock,
    Serializable,
    UpdLock,
    XLock,
    RowLock,
    PagLock,
    TabLock,
    TabLockX,
    ReadPast,
    NoWait,
}

/// Hints by their names.
const NAMES: [(&str, TableHint); 15] = [
    ("NOLOCK", TableHint::NoLock),
    ("READUNCOMMITTED", TableHint::ReadUncommitted),
    ("READCOMMITTED", TableHint::ReadCommitted),
    ("READCOMMITTEDLOCK", TableHint::ReadCommittedLock),
    ("REPEATABLEREAD", TableHint::RepeatableRead),
    ("HOLDLOCK", TableHint::HoldLock),
    ("SERIALIZABLE", TableHint::Serializable),
    ("UPDLOCK", TableHint::UpdLock),
    ("XLOCK", TableHint::XLock),
    ("ROWLOCK", TableHint::RowLock),
    ("PAGLOCK", TableHint::PagLock),
    ("TABLOCK", TableHint::TabLock),
    ("TABLOCKX", TableHint::TabLockX),
    ("READPAST", TableHint::ReadPast),
    ("NOWAIT", TableHint::NoWait),
];

impl TableHint {
    /// A hint by its name, whatever its case.
    pub fn by_name(name: &str) -> Option<TableHint> {
        let found = NAMES.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, hint)| *hint)
    }
}

impl ReadHints {
    /// Those of a list.
    ///
    /// # Errors
    /// [`Error::ConflictingHints`].
    pub fn of(hints: &[TableHint]) -> Result<ReadHints, Error> {
        hints.iter().try_fold(ReadHints::default(), |all, hint| all.with(*hint))
    }

    /// Rows as they are now, whatever versions there are: what a constraint is checked with.
    pub(crate) fn current() -> ReadHints {
        ReadHints { versions: UseVersions::Never, ..ReadHints::default() }
    }

    /// Rows are to be changed: UPDLOCK.
    pub fn for_update() -> ReadHints {
        ReadHints { row_lock: RowLock::Update, ..ReadHints::default() }
    }

    /// The same with another hint.
    ///
    /// # Errors
    /// [`Error::ConflictingHints`]: two levels, two granularities, or NOLOCK beside a lock.
    pub fn with(mut self, hint: TableHint) -> Result<ReadHints, Error> {
        match hint {
            TableHint::NoLock | TableHint::ReadUncommitted => {
                self.set_isolation(Isolation::ReadUncommitted)?;
            }
            TableHint::ReadCommitted => self.set_isolation(Isolation::ReadCommitted)?,
            TableHint::ReadCommittedLock => {
                self.set_isolation(Isolation::ReadCommitted)?;
                self.versions = UseVersions::Never;
            }
            TableHint::RepeatableRead => self.set_isolation(Isolation::RepeatableRead)?,
            TableHint::HoldLock | TableHint::Serializable => {
                self.set_isolation(Isolation::Serializable)?;
            }
            // XLOCK is the stronger of the two.
            TableHint::UpdLock if self.row_lock == RowLock::Exclusive => {}
            TableHint::UpdLock => self.row_lock = RowLock::Update,
            TableHint::XLock => self.row_lock = RowLock::Exclusive,
            TableHint::RowLock => self.set_granularity(Granularity::Row)?,
            TableHint::PagLock => self.set_granularity(Granularity::Page)?,
            TableHint::TabLock => self.set_granularity(Granularity::Table)?,
            TableHint::TabLockX => {
                self.set_granularity(Granularity::Table)?;
                self.row_lock = RowLock::Exclusive;
            }
            TableHint::ReadPast => self.set_on_conflict(OnConflict::Skip)?,
            TableHint::NoWait => self.set_on_conflict(OnConflict::Fail)?,
        }
        self.verify_dirty_read()?;
        Ok(self)
    }

    fn set_isolation(&mut self, isolation: Isolation) -> Result<(), Error> {
        if self.isolation.is_some_and(|own| own != isolation) {
            return Err(Error::ConflictingHints);
        }
        self.isolation = Some(isolation);
        Ok(())
    }

    fn set_granularity(&mut self, granularity: Granularity) -> Result<(), Error> {
        if self.granularity != Granularity::Automatic && self.granularity != granularity {
            return Err(Error::ConflictingHints);
        }
        self.granularity = granularity;
        Ok(())
    }

    fn set_on_conflict(&mut self, on_conflict: OnConflict) -> Result<(), Error> {
        if self.on_conflict != OnConflict::Wait && self.on_conflict != on_conflict {
            return Err(Error::ConflictingHints);
        }
        self.on_conflict = on_conflict;
        Ok(())
    }

    /// NOLOCK goes with no hint that asks for a lock.
    fn verify_dirty_read(&self) -> Result<(), Error> {
        let is_dirty = self.isolation == Some(Isolation::ReadUncommitted);
        let asks_for_locks = self.row_lock != RowLock::ByIsolation
            || self.granularity != Granularity::Automatic
            || self.on_conflict == OnConflict::Skip;
        if is_dirty && asks_for_locks { Err(Error::ConflictingHints) } else { Ok(()) }
    }

    /// READPAST needs row locks, and leaves out what a serializable transaction must wait for.
    pub(crate) fn verify_level(&self, level: Isolation) -> Result<(), Error> {
        let is_possible = matches!(level, Isolation::ReadCommitted | Isolation::RepeatableRead);
        if self.on_conflict == OnConflict::Skip && !is_possible {
            return Err(Error::ReadPastLevel);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &str) -> Result<ReadHints, Error> {
        let hints: Vec<TableHint> =
            names.split(' ').map(|name| TableHint::by_name(name).unwrap()).collect();
        ReadHints::of(&hints)
    }

    #[test]
    fn hints_that_contradict_each_other_are_refused() {
        for names in [
            "nolock updlock",
            "tablock nolock",
            "nolock readpast",
            "nolock holdlock",
            "rowlock tablock",
            "paglock rowlock",
            "readpast nowait",
            "readcommitted repeatableread",
        ] {
            assert!(matches!(of(names), Err(Error::ConflictingHints)), "{names}");
        }
    }

    #[test]
    fn hints_add_up() {
        let queue = of("UPDLOCK readpast RowLock").unwrap();
        let expected = ReadHints {
            row_lock: RowLock::Update,
            granularity: Granularity::Row,
            on_conflict: OnConflict::Skip,
            ..ReadHints::default()
        };
        assert_eq!(queue, expected);
        assert_eq!(of("xlock updlock").unwrap().row_lock, RowLock::Exclusive);
        assert_eq!(of("tablockx").unwrap(), of("tablock xlock").unwrap());
        assert_eq!(of("serializable holdlock").unwrap(), of("holdlock").unwrap());
    }

    #[test]
    fn readpast_is_for_levels_with_row_locks() {
        let hints = of("readpast").unwrap();
        assert!(hints.verify_level(Isolation::ReadCommitted).is_ok());
        assert!(hints.verify_level(Isolation::RepeatableRead).is_ok());
        assert!(hints.verify_level(Isolation::ReadUncommitted).is_err());
        assert!(hints.verify_level(Isolation::Serializable).is_err());
    }
}
