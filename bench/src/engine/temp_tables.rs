//! Temporary tables: created in tempdb, filled and dropped by sessions side by side.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use extentdb_engine::{ColumnSpec, Instance, InstanceOptions, Options, TableSpec, Termination};
use extentdb_io::RealDisk;
use extentdb_types::{Datum, SqlType};
use tempfile::TempDir;

use super::database::LATIN1;
use super::together::together;

/// A server whose folder is deleted with it.
pub struct TempTableLab {
    instance: Arc<Instance>,
    _folder: TempDir,
}

impl TempTableLab {
    /// Starts a server.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(parent: &Path) -> Result<TempTableLab> {
        let made = tempfile::Builder::new().prefix("extentdb-engine-").tempdir_in(parent);
        let folder = made.with_context(|| parent.display().to_string())?;
        let options = Options::on(Arc::new(RealDisk::new(extentdb_io::DurabilityMode::Auto)));
        let instance = Instance::start(InstanceOptions::new(folder.path(), options))?;
        Ok(TempTableLab { instance, _folder: folder })
    }

    /// The time in which each session makes so many temporary tables, inserts a row into each and
    /// drops it.
    ///
    /// # Errors
    /// A statement failed.
    pub fn cycles(&self, sessions: u32, cycles: u32) -> Result<Duration> {
        together(sessions, |number, start| {
            let mut session = self.instance.session("tempdb")?;
            start.wait();
            for cycle in 0..cycles {
                let table = session.create_table(&spec(&format!("#t_{number}_{cycle}")))?;
                session.insert(&table, &[Datum::Int(1), Datum::Null])?;
                session.drop_table(&table)?;
            }
            Ok(())
        })
    }
}

impl Drop for TempTableLab {
    fn drop(&mut self) {
        let _ = self.instance.shutdown(Termination::NoWait);
    }
}

/// `id int not null, name varchar(40)`.
fn spec(name: &str) -> TableSpec {
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("name", SqlType::VarChar { len: Some(40), collation: LATIN1 }),
    ];
    TableSpec::heap(name, columns)
}
