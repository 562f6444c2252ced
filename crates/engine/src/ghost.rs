//! Ghosts in trees: rows of system tables and entries of indexes that were deleted, kept until nobody can want them back.
//!
//! They go when the database is closed and no transaction is open. The last record of a page stays, as the real product has it.

use extentdb_base::sync::lock;
use extentdb_format::page::PageHeader;

use crate::database::Database;
use crate::error::Error;

impl Database {
    /// Takes the ghosts of all trees away.
    pub(crate) fn clean_ghosts(&self) -> Result<(), Error> {
        let _ddl = lock(&self.ddl);
        if self.transactions.with_active(|active| !active.is_empty()) {
            return Ok(());
        }
        for tree in self.catalogue.trees() {
            for id in self.space.pages_of(tree.unit())? {
                let page = self.pool.read(id)?;
                let header = PageHeader::of(&page);
                let has_ghosts = header.level == 0 && header.ghost_count.get() > 0;
                drop(page);
                if has_ghosts {
                    tree.expunge_ghosts(&self.transactions, id)?;
                }
            }
        }
        Ok(())
    }
}
