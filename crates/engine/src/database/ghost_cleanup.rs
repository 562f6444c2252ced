//! Ghosts in trees, and with row versions in heaps: rows and entries of indexes that were deleted,
//! kept until nobody can want them back, or read them.
//!
//! While the database runs with threads of its own, every 100 ms, they are removed from some leaves
//! of each tree: leaves that got ghosts since the opening, and that were last changed before the
//! oldest open transaction began, whatever it does. All others are removed when the database is
//! closed and no transaction is open. A leaf without rows is removed from its tree and freed; where
//! that is not possible (the last leaf of a tree, a page of a mixed extent, a system table), its
//! last ghost stays.

use extentdb_base::sync::lock;
use extentdb_format::page::PageHeader;
use extentdb_rowset::{Heap, Tree};

use crate::database::Database;
use crate::database::suspect::skip_suspect;
use crate::error::{Cause, Error};

/// Pages of one tree or heap that are cleaned in one turn: DDL waits for no more than that.
const PAGES_PER_TURN: usize = 64;

impl Database {
    /// Removes ghosts that no rollback can need any more: one turn of the ghost cleanup. Nothing
    /// with [`ghost_cleanup`](crate::Options::ghost_cleanup) off.
    ///
    /// # Errors
    /// The database is offline, or a page cannot be read.
    pub fn clean_some_ghosts(&self) -> Result<(), Error> {
        self.verify_online()?;
        self.clean_versions()?;
        if !self.options.ghost_cleanup {
            return Ok(());
        }
        let trees = self.catalog.trees().into_iter().filter(|tree| tree.ghost_leaf_count() > 0);
        for tree in trees {
            // Nobody drops it meanwhile.
            let _ddl = lock(&self.ddl);
            let unit = tree.unit().id();
            if self.catalog.units.get(unit).is_some() && !self.catalog.is_dropped(unit) {
                let seen = &|writer| self.is_seen_by_all(writer);
                match tree.clean(&self.transactions, PAGES_PER_TURN, seen).map_err(Error::from) {
                    // There will be room in the log when other transactions have ended.
                    Err(error) if error.cause() == Cause::LogFull => return Ok(()),
                    done => skip_suspect(done.map(drop))?,
                };
            }
        }
        self.clean_some_heaps()
    }

    fn clean_some_heaps(&self) -> Result<(), Error> {
        let tables = self.catalog.all_tables().into_iter();
        for heap in tables.filter_map(|table| table.heap()) {
            if heap.ghost_page_count() == 0 {
                continue;
            }
            // Nobody drops it meanwhile.
            let _ddl = lock(&self.ddl);
            let unit = heap.unit().id();
            if self.catalog.units.get(unit).is_some() && !self.catalog.is_dropped(unit) {
                let seen = &|writer| self.is_seen_by_all(writer);
                match heap.clean(&self.transactions, PAGES_PER_TURN, seen).map_err(Error::from) {
                    Err(error) if error.cause() == Cause::LogFull => return Ok(()),
                    done => skip_suspect(done.map(drop))?,
                };
            }
        }
        Ok(())
    }

    /// Removes versions that no snapshot can need: those of all databases are in tempdb.
    fn clean_versions(&self) -> Result<(), Error> {
        let versions = &self.services.versions;
        if self.is_ephemeral() {
            versions.clean()?;
        }
        self.row_versions.clean(versions.commits.horizon());
        Ok(())
    }

    /// Removes the ghosts of all trees and heaps, or as many as the log has room for: the others
    /// are harmless, and a database whose log is full must close.
    pub(crate) fn clean_ghosts(&self) -> Result<(), Error> {
        match self.clean_all_ghosts() {
            Err(error) if error.cause() == Cause::LogFull => Ok(()),
            cleaned => cleaned,
        }
    }

    fn clean_all_ghosts(&self) -> Result<(), Error> {
        let _ddl = lock(&self.ddl);
        if self.transactions.with_active(|active| !active.is_empty()) {
            return Ok(());
        }
        self.catalog
            .trees()
            .iter()
            .try_for_each(|tree| skip_suspect(self.clean_ghosts_of(tree)))?;
        let tables = self.catalog.all_tables().into_iter();
        let mut heaps = tables.filter_map(|table| table.heap());
        heaps.try_for_each(|heap| skip_suspect(self.clean_ghosts_of_heap(&heap)))
    }

    /// Only pages that may have some by their byte in PFS are read: heaps without row versions have
    /// none.
    fn clean_ghosts_of_heap(&self, heap: &Heap) -> Result<(), Error> {
        if heap.unit().first_iam().is_none() {
            return Ok(());
        }
        for id in heap.formatted_pages()? {
            let state = self.space.pfs_bytes(id.file, id.page..id.page + 1)?;
            if state.first().is_some_and(|state| state.has_ghosts()) {
                let seen = &|writer| self.is_seen_by_all(writer);
                heap.expunge_ghosts(&self.transactions, id, seen)?;
            }
        }
        Ok(())
    }

    fn clean_ghosts_of(&self, tree: &Tree) -> Result<(), Error> {
        for id in self.space.pages_of(tree.unit())? {
            let page = self.pool.read(id)?;
            let header = PageHeader::of(&page);
            let has_ghosts = header.level == 0 && header.ghost_count.get() > 0;
            drop(page);
            if has_ghosts {
                let seen = &|writer| self.is_seen_by_all(writer);
                tree.expunge_ghosts(&self.transactions, id, seen)?;
            }
        }
        Ok(())
    }
}
