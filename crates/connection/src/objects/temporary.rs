//! Temporary tables of a session.
//!
//! ```text
//! #t    in tempdb as #t, filled with _ up to 116 characters, and 12 hexadecimal digits
//! ##t   in tempdb as it is; it ends with the session that has created it
//! ```
//!
//! A table ends with the procedure or dynamic text that has created it, or with the session. So do
//! temporary procedures.
//! Entries are not removed with their table: a rollback may bring it back, and take it away.

use std::time::Duration;

use extentdb_base::ObjectId;
use extentdb_base::sync::Arc;
use extentdb_engine::{Database, Table, Timeout};

use super::{DEFAULT_SCHEMA, TEMPDB};
use crate::connection::Connection;
use crate::temporary_table::TemporaryTable;

/// Characters of a stored name before its digits.
const NAME_UNITS: usize = 116;

/// How long the end of a scope waits for a lock on a table.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// The temporary tables that a session has created.
#[derive(Debug, Default)]
pub struct TemporaryTables {
    pub(super) tables: Vec<TemporaryTable>,
}

/// The stored name of the temporary table with this number.
pub fn stored_name(name: &str, number: u64) -> String {
    let units = name.encode_utf16().count();
    let filler = "_".repeat(NAME_UNITS.saturating_sub(units));
    format!("{name}{filler}{number:012X}")
}

/// The name of a table without what a stored name adds.
pub(super) fn shown(stored: &str) -> &str {
    if !stored.starts_with('#') || stored.encode_utf16().count() != NAME_UNITS + 12 {
        return stored;
    }
    let end = stored.len().saturating_sub(12);
    stored.get(..end).map_or(stored, |name| name.trim_end_matches('_'))
}

impl TemporaryTables {
    /// Stored names of the tables of a name, that of the innermost scope first.
    pub fn stored_names(&self, name: &str) -> impl Iterator<Item = &str> {
        let has_name = move |table: &&TemporaryTable| {
            !table.is_hidden && table.name.eq_ignore_ascii_case(name)
        };
        self.tables.iter().rev().filter(has_name).map(|table| &*table.stored)
    }

    /// Stored names of the tables of a name that a scope has created.
    pub fn stored_at(&self, name: &str, nesting: u32) -> impl Iterator<Item = &str> {
        let has_name = move |table: &&TemporaryTable| table.is_at(name, nesting);
        self.tables.iter().rev().filter(has_name).map(|table| &*table.stored)
    }

    /// Stored names of table variables.
    pub fn table_variables(&self) -> impl Iterator<Item = &str> {
        let is_variable = |table: &&TemporaryTable| table.name.starts_with("#@");
        self.tables.iter().filter(is_variable).map(|table| &*table.stored)
    }

    /// A table was created by a scope.
    pub fn add(&mut self, name: &str, table: &Table, nesting: u32) {
        self.tables.push(TemporaryTable::new(name, table, nesting));
    }

    /// A procedure was created by a scope; `stored` is its name in tempdb.
    pub fn add_procedure(&mut self, name: &str, stored: &str, nesting: u32) {
        self.tables.push(TemporaryTable {
            name: name.to_owned(),
            stored: stored.to_owned(),
            id: ObjectId(0),
            nesting,
            is_hidden: false,
            is_borrowed: false,
            is_read_only: false,
            of_type: None,
            is_procedure: true,
        });
    }

    /// The last table of a name that a scope has created.
    pub(super) fn at(&self, name: &str, nesting: u32) -> Option<&TemporaryTable> {
        self.tables.iter().rev().find(|table| table.is_at(name, nesting))
    }

    pub(super) fn at_mut(&mut self, name: &str, nesting: u32) -> Option<&mut TemporaryTable> {
        self.tables.iter_mut().rev().find(|table| table.is_at(name, nesting))
    }
}

impl Connection {
    /// Drops the temporary tables of scopes that have ended: those from this nesting on.
    pub fn drop_temporary_from(&mut self, nesting: u32) {
        self.drop_temporary_tables(|table| table.nesting >= nesting);
    }

    /// Drops the table variables of a batch that has ended.
    pub fn drop_table_variables(&mut self) {
        self.drop_temporary_tables(|table| table.name.starts_with("#@"));
    }

    fn drop_temporary_tables(&mut self, has_ended: impl Fn(&TemporaryTable) -> bool) {
        let is_ended = |table: &mut TemporaryTable| has_ended(table) && !table.is_hidden;
        let mut ended: Vec<TemporaryTable> =
            self.temporary.tables.extract_if(.., is_ended).collect();
        ended.retain(|table| !table.is_borrowed);
        if ended.is_empty() {
            return;
        }
        let Ok(tempdb) = self.tempdb() else { return };
        // A global one may be locked by a transaction of another session: the end of this one does
        // not wait for that.
        self.session.set_lock_timeout(Timeout::After(LOCK_WAIT));
        for table in ended {
            // In a transaction that can only be rolled back it stays, and nobody sees it.
            if !self.drop_temporary(&tempdb, &table) {
                self.temporary.tables.push(TemporaryTable { nesting: 0, is_hidden: true, ..table });
            }
        }
        self.apply_options();
    }

    /// Drops a table, unless it is gone; false when it could not be dropped.
    fn drop_temporary(&mut self, tempdb: &Arc<Database>, table: &TemporaryTable) -> bool {
        if table.is_procedure {
            let stored = &table.stored;
            // Nobody else can name it: one that is gone was dropped by its session.
            let _ = self.in_database(tempdb, |connection| {
                connection.session.drop_module(DEFAULT_SCHEMA, stored)
            });
            return true;
        }
        let name = format!("{DEFAULT_SCHEMA}.{}", table.stored);
        let Ok(found) = self.session.table_in(tempdb, &name) else { return true };
        if found.id() != table.id {
            return true;
        }
        if self.is_killed() {
            // A killed session takes no statement: another one drops the table.
            let other = self.server.instance.session(TEMPDB);
            return other.is_ok_and(|mut other| other.drop_table(&found).is_ok());
        }
        let dropped = self.in_database(tempdb, |connection| connection.session.drop_table(&found));
        dropped.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{shown, stored_name};

    #[test]
    fn stored_names_have_128_characters_and_lead_back() {
        for name in ["#t", "#a_b", "#ärger"] {
            let stored = stored_name(name, 0x1F);
            assert_eq!(stored.encode_utf16().count(), 128, "{name}");
            assert!(stored.ends_with("00000000001F"), "{name}");
            assert_eq!(shown(&stored), name);
        }
        assert_eq!(shown("orders"), "orders");
        assert_eq!(shown("##t"), "##t");
    }
}
