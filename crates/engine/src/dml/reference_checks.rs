//! Makes the checks of foreign keys that have waited for the end of their statement, in sets.
//!
//! ```text
//! by foreign key, in key order:  referenced   is a row of the parent there?
//!                                gone         is it referenced, and not back?
//! ```
//!
//! A statement inserts rows that reference each other, and deletes a tree of rows, in any order:
//! only its end counts. A child without an index over the referencing columns is scanned once for
//! all keys that are gone.

use extentdb_base::ObjectId;
use extentdb_base::sync::Arc;

use crate::catalog::{ForeignKey, Table};
use crate::error::Error;
use crate::session::StatementContext;
use crate::session::reference_checks::{CheckSet, ReferenceChecks, Side};

impl StatementContext<'_> {
    /// Makes the checks that have waited.
    ///
    /// # Errors
    /// [`Error::Constraint`]: the statement must be undone.
    pub(crate) fn verify_waiting(&mut self, checks: ReferenceChecks) -> Result<(), Error> {
        for set in checks.by_key() {
            let parent = self.table_of_key(&set.key, set.key.parent)?;
            match set.side {
                Side::Referenced => self.verify_referenced(&set, &parent)?,
                Side::Gone => self.verify_gone(set, &parent)?,
            }
        }
        Ok(())
    }

    /// Verifies that the parent has a row for each key.
    fn verify_referenced(&mut self, set: &CheckSet, parent: &Table) -> Result<(), Error> {
        let storage = parent.storage();
        let index = set.key.index_of(&storage)?;
        for (keys, _) in &set.keys {
            if !self.has_row(parent.with(&storage), index, keys.clone())? {
                let child = self.table_of_key(&set.key, set.key.child)?;
                return Err(set.key.refused(&child));
            }
        }
        Ok(())
    }

    /// Verifies that no row references a key that is gone, unless a row of the parent has it again.
    fn verify_gone(&mut self, set: CheckSet, parent: &Table) -> Result<(), Error> {
        let storage = parent.storage();
        let of = parent.with(&storage);
        let index = set.key.index_of(&storage)?;
        // Seldom, so that it is looked for first.
        if !self.is_any_referenced(&set.key, of, &set.keys)? {
            return Ok(());
        }
        let mut gone = Vec::new();
        for (keys, values) in set.keys {
            if !self.has_row(of, index, keys.clone())? {
                gone.push((keys, values));
            }
        }
        if self.is_any_referenced(&set.key, of, &gone)? {
            return Err(set.key.refused(parent));
        }
        Ok(())
    }

    /// A table that a foreign key names.
    fn table_of_key(&self, key: &ForeignKey, table: ObjectId) -> Result<Arc<Table>, Error> {
        self.db().catalog.table_by_id(table).ok_or_else(|| key.missing_index())
    }
}
