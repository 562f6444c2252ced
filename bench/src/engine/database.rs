//! A database in a folder of its own, and threads that insert into it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use extentdb_engine::{
    ColumnSpec, DataFileSpec, Database, DatabaseSpec, Options, Placement, Table, TableSpec,
    TornPages,
};
use extentdb_io::{Backend, DiskCounters, DurabilityMode, RealDisk};
use extentdb_telemetry::WaitType;
use extentdb_types::{Collation, Datum, SqlType};
use tempfile::TempDir;

use super::together::{Start, together};
use crate::workload::InsertWork;

/// A log that never grows and is never full while something is measured.
const LOG_BYTES: u64 = 256 << 20;
/// Pages in memory: everything that is measured fits.
const FRAMES: usize = 24_576;
pub(super) const LATIN1: Collation = Collation(0x3400_d008);

/// The options of a database.
#[derive(Clone, Debug)]
pub struct DatabaseForm {
    /// Bytes of each data file.
    pub files: Vec<u64>,
    /// Placement of rows.
    pub placement: Placement,
    /// Durability of writes.
    pub durability: DurabilityMode,
    /// Backend of writes.
    pub backend: Backend,
    /// Protection against torn pages.
    pub torn_pages: TornPages,
    /// Pages in memory.
    pub frames: usize,
    /// Bytes of the log, which does not grow.
    pub log_bytes: u64,
}

/// A database that is deleted with its folder on drop.
pub struct Lab {
    /// The open database.
    pub db: Arc<Database>,
    options: Options,
    folder: TempDir,
}

/// Counters of a load.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// From the moment that all clients may begin to the end of the last one.
    pub time: Duration,
    /// Waits for page latches meanwhile, and the longest since the database was opened.
    pub latch_waits: (u64, Duration),
    /// Group commits: log writes by one session for all that waited.
    pub flushes: u64,
    /// Calls on the log file.
    pub log: DiskCounters,
}

impl DatabaseForm {
    /// Files of this many bytes.
    pub fn of(files: impl Into<Vec<u64>>) -> DatabaseForm {
        let durability = DurabilityMode::Auto;
        let backend = Backend::Auto;
        DatabaseForm {
            files: files.into(),
            placement: Placement::Packed,
            durability,
            backend,
            torn_pages: TornPages::default(),
            frames: FRAMES,
            log_bytes: LOG_BYTES,
        }
    }
}

impl Lab {
    /// Creates a database. Pages are of uniform extents; the only checkpoints are those asked
    /// for.
    ///
    /// # Errors
    /// The database cannot be created.
    pub fn create(parent: &Path, form: &DatabaseForm) -> Result<Lab> {
        let made = tempfile::Builder::new().prefix("extentdb-engine-").tempdir_in(parent);
        let folder = made.with_context(|| parent.display().to_string())?;
        let mut spec = DatabaseSpec::new("lab", folder.path(), 8 << 20);
        let file = |(at, bytes): (usize, &u64)| {
            DataFileSpec::new(folder.path().join(format!("lab{at}.mdf")), *bytes)
        };
        spec.files = form.files.iter().enumerate().map(file).collect();
        spec.log.bytes = form.log_bytes;
        let options = Options {
            frames: form.frames,
            torn_pages: form.torn_pages,
            mixed_pages: false,
            placement: form.placement,
            checkpoint_log_bytes: None,
            target_recovery: None,
            ..Options::on(Arc::new(RealDisk::new(form.durability).with_backend(form.backend)))
        };
        let db = Database::create(&spec, options.clone())?;
        Ok(Lab { db, options, folder })
    }

    /// The folder of its files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// An empty heap: `c1 int not null, c2 char(n) not null`.
    ///
    /// # Errors
    /// The name is taken.
    pub fn table(&self, name: &str, row_bytes: u16) -> Result<Arc<Table>> {
        let columns = vec![
            ColumnSpec::new("c1", SqlType::Int).not_null(),
            ColumnSpec::new("c2", char_of(row_bytes - 4)).not_null(),
        ];
        Ok(self.db.session().create_table(&TableSpec::heap(name, columns))?)
    }

    /// A heap whose rows are of any length: `c1 int not null, c2 varchar(4000)`.
    ///
    /// # Errors
    /// The name is taken.
    pub fn table_of_any_length(&self, name: &str) -> Result<Arc<Table>> {
        let text = SqlType::VarChar { len: Some(4000), collation: LATIN1 };
        let columns =
            vec![ColumnSpec::new("c1", SqlType::Int).not_null(), ColumnSpec::new("c2", text)];
        Ok(self.db.session().create_table(&TableSpec::heap(name, columns))?)
    }

    /// Every client a thread and a session, all beginning at the same moment.
    ///
    /// # Errors
    /// An insert failed.
    pub fn insert(&self, table: &Table, work: InsertWork) -> Result<Load> {
        let before = self.reading();
        let time =
            together(work.clients, |_, start| self.insert_as_one_client(table, work, start))?;
        let after = self.reading();
        Ok(Load {
            time,
            latch_waits: (after.latch_waits.0 - before.latch_waits.0, after.latch_waits.1),
            flushes: after.flushes - before.flushes,
            log: less(after.log, before.log),
        })
    }

    fn insert_as_one_client(
        &self,
        table: &Table,
        work: InsertWork,
        start: &Start<'_>,
    ) -> Result<()> {
        let mut session = self.db.session();
        let text = text_of(char_of(work.text_bytes()), &vec![b'x'; work.text_bytes().into()])?;
        let mut row = vec![Datum::Int(0), text];
        start.wait();
        for first in (0..work.rows).step_by(work.per_commit as usize) {
            if !work.is_autocommit() {
                session.begin();
            }
            for id in first..work.rows.min(first + work.per_commit) {
                row[0] = Datum::Int(id as i32);
                session.insert(table, &row)?;
            }
            session.commit()?;
        }
        Ok(())
    }

    /// The counters so far, as a load without time.
    pub fn reading(&self) -> Load {
        let latches = [WaitType::PageLatchSh, WaitType::PageLatchUp, WaitType::PageLatchEx];
        let totals = latches.map(|wait| self.options.waits.totals(wait));
        Load {
            time: Duration::ZERO,
            latch_waits: (
                totals.iter().map(|total| total.waiting_tasks_count).sum(),
                totals.iter().map(|total| total.max_wait_time).max().unwrap_or_default(),
            ),
            flushes: self.db.log().stats().flushes,
            log: self.db.log().disk_counters(),
        }
    }

    /// Calls on all data files so far.
    pub fn data_counters(&self) -> DiskCounters {
        let files = self.db.space().files();
        let files = files.iter().filter_map(|file| self.db.pool().file(file.id()));
        files.map(|file| file.counters()).fold(DiskCounters::default(), |sum, file| DiskCounters {
            writes: sum.writes + file.writes,
            bytes_written: sum.bytes_written + file.bytes_written,
            fua_writes: sum.fua_writes + file.fua_writes,
            syncs: sum.syncs + file.syncs,
            calls: sum.calls + file.calls,
            ..sum
        })
    }
}

/// The difference to `before`.
pub(super) fn less(after: DiskCounters, before: DiskCounters) -> DiskCounters {
    DiskCounters {
        reads: after.reads - before.reads,
        bytes_read: after.bytes_read - before.bytes_read,
        writes: after.writes - before.writes,
        bytes_written: after.bytes_written - before.bytes_written,
        fua_writes: after.fua_writes - before.fua_writes,
        syncs: after.syncs - before.syncs,
        calls: after.calls - before.calls,
    }
}

fn char_of(len: u16) -> SqlType {
    SqlType::Char { len, collation: LATIN1 }
}

/// A text as a value of this type.
pub(super) fn text_of(ty: SqlType, bytes: &[u8]) -> Result<Datum<'static>> {
    let value = Datum::decode(&ty, bytes).map_err(|error| anyhow!("{error}"))?;
    Ok(value.into_owned())
}

/// A value of the second column of a table of rows of any length.
pub(super) fn any_length(len: usize) -> Result<Datum<'static>> {
    text_of(SqlType::VarChar { len: Some(4000), collation: LATIN1 }, &vec![b'x'; len])
}
