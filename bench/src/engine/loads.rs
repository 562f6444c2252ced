//! Rows loaded into empty tables: one by one, and by one statement.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use extentdb_engine::{IndexSpec, LoadLock, Table, TableSpec};
use extentdb_io::DurabilityMode;
use extentdb_types::Datum;

use super::scans::{columns, row};
use super::{DatabaseForm, Lab};
use crate::report::timed;

/// A database, and the rows that are loaded into its tables.
pub struct LoadLab {
    lab: Lab,
    rows: Vec<Vec<Datum<'static>>>,
    tables: u32,
}

/// What the rows are loaded into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadTarget {
    /// A heap.
    Heap,
    /// A clustered primary key.
    Clustered,
    /// The same and a nonclustered index.
    Indexed,
}

/// How they are loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadBy {
    /// One insert for each, in one transaction.
    Rows,
    /// One statement that locks rows.
    Set,
    /// One statement that locks the table: page by page.
    TableSet,
}

impl LoadLab {
    /// The rows in memory, and room for all tables.
    ///
    /// # Errors
    /// The database cannot be created.
    pub fn create(parent: &Path, rows: i32, loads: u32) -> Result<LoadLab> {
        let bytes = 300 * rows as u64 * u64::from(loads) + (64 << 20);
        let form = DatabaseForm {
            durability: DurabilityMode::DirectOnly,
            frames: (600 * rows as u64 / 8192) as usize + 8192,
            ..DatabaseForm::of([bytes])
        };
        let lab = Lab::create(parent, &form)?;
        let rows = (0..rows).map(row).collect::<Result<_>>()?;
        Ok(LoadLab { lab, rows, tables: 0 })
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The time of one load and its commit, into a new table.
    ///
    /// # Errors
    /// A statement failed.
    pub fn load(&mut self, target: LoadTarget, by: LoadBy) -> Result<Duration> {
        let table = self.table(target)?;
        let mut session = self.lab.db.session();
        let (time, done) = timed(|| -> Result<u64> {
            session.begin();
            let count = match by {
                LoadBy::Rows => {
                    for row in &self.rows {
                        session.insert(&table, row)?;
                    }
                    self.rows.len() as u64
                }
                LoadBy::Set => session.insert_set(&table, &mut self.rows.iter(), LoadLock::Rows)?,
                LoadBy::TableSet => {
                    session.insert_set(&table, &mut self.rows.iter(), LoadLock::Table)?
                }
            };
            session.commit()?;
            Ok(count)
        });
        ensure!(done? == self.rows.len() as u64, "some rows were not loaded");
        self.lab.db.checkpoint()?;
        session.drop_table(&table)?;
        Ok(time)
    }

    fn table(&mut self, target: LoadTarget) -> Result<Arc<Table>> {
        self.tables += 1;
        let name = format!("load_{}", self.tables);
        let mut session = self.lab.db.session();
        let table = session.create_table(&TableSpec::heap(&name, columns()))?;
        if target != LoadTarget::Heap {
            let key = IndexSpec::primary_key(&format!("pk_{name}"), &["id"]).clustered();
            session.create_index(&table, &key)?;
        }
        if target == LoadTarget::Indexed {
            session.create_index(&table, &IndexSpec::new("by_part", &["part", "sold"]))?;
        }
        Ok(table)
    }
}
