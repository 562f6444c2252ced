//! A database from its specification to its files.

use std::collections::BTreeMap;
use std::path::Path;

use extentdb_base::env::SplitMix64;
use extentdb_base::size::{EXTENT_BYTES, PAGE_BYTES, PAGES_PER_EXTENT};
use extentdb_base::{AllocUnitId, FileId, HobtId, ObjectId};
use extentdb_catalog::table::{DEFAULT_COLLATION, TableDefinition, base_tables};

use super::catalogue::{add_child, add_files, add_rowsets, add_table, file_sizes, unit_rows};
use super::fixed::{Counters, FileIdentity, Identity, guid, write_fixed};
use super::plan::{PlannedTable, plan};
use super::sink::{DataFiles, NoSink, PageSink, with_sink};
use super::space::Space;
use super::spec::TableSpec;
use super::system::{SystemRows, template};
use super::table::{TableBuild, build_table};
use super::unit::UnitResult;
use crate::Error;

/// File id of the log; further data files come behind it.
const LOG_FILE: FileId = FileId(2);
const FILES_MAX: usize = 32_766;
/// `dbi_maxDbTimestamp` of a new database, and the steps it goes up by.
const TIMESTAMPS_AT_A_TIME: u64 = 2000;

/// Says how far the work is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Entries of heaps and indexes written.
    pub entries: u64,
    /// Entries of all heaps and indexes of user tables.
    pub entries_total: u64,
}

/// What was built.
#[derive(Clone, Debug)]
pub struct Built {
    /// User tables.
    pub tables: Vec<BuiltTable>,
    /// Bytes of each data file.
    pub file_bytes: Vec<u64>,
}

/// A user table that was built.
#[derive(Clone, Debug)]
pub struct BuiltTable {
    /// Name.
    pub name: String,
    /// Object id.
    pub object: ObjectId,
    /// Rows.
    pub rows: u64,
    /// Pages of heap or clustered index and of all its indexes, IAM pages included.
    pub pages: u64,
}

/// Collects what a database is made of.
///
/// ```no_run
/// use extentdb_synth::build::{ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, TableSpec};
/// use extentdb_types::SqlType;
///
/// let rows = FnRows::new(1000, |number, row| {
///     row.int(number as i32 + 1).money(number as i64 * 100);
/// });
/// let columns = vec![ColumnSpec::new("id", SqlType::Int), ColumnSpec::new("price", SqlType::Money)];
/// let table = TableSpec::heap("item", columns, rows).clustered(IndexSpec::primary_key("PK_item", &["id"]));
/// DatabaseBuilder::new("shop").seed(7).table(table).build(&["shop.mdf".as_ref()], &mut |_| {})?;
/// # Ok::<(), extentdb_synth::Error>(())
/// ```
pub struct DatabaseBuilder {
    name: String,
    seed: u64,
    collation: u32,
    stride: u32,
    bytes: u64,
    tables: Vec<TableSpec>,
}

impl DatabaseBuilder {
    /// A database without tables.
    pub fn new(name: &str) -> Self {
        DatabaseBuilder {
            name: name.to_owned(),
            seed: 0,
            collation: DEFAULT_COLLATION,
            stride: 1,
            bytes: 0,
            tables: Vec::new(),
        }
    }

    /// The seed of everything random: GUIDs and the SID of role public.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Total size of the data files; they get larger when the tables need it.
    #[must_use]
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = bytes;
        self
    }

    /// Takes only every `stride`-th extent of a file, so that a small sparse file spans many intervals.
    #[must_use]
    pub fn stride(mut self, stride: u32) -> Self {
        self.stride = stride;
        self
    }

    /// Adds a table.
    #[must_use]
    pub fn table(mut self, table: TableSpec) -> Self {
        self.tables.push(table);
        self
    }

    /// Collation of the names, which must be a Latin one that ignores case: others sort otherwise than this program.
    pub fn collation(&self) -> u32 {
        self.collation
    }

    /// Makes the files: one path for each data file, none of which may exist.
    ///
    /// # Errors
    /// See [`Error`]. Files that were begun stay as they are.
    pub fn build(&self, paths: &[&Path], progress: &mut dyn FnMut(Progress)) -> Result<Built, Error> {
        if !(1..=FILES_MAX).contains(&paths.len()) {
            return Err(Error::FileCount { files: paths.len() });
        }
        let mut rng = SplitMix64::new(self.seed);
        let identity = self.identity(paths.len(), &mut rng)?;
        let base = base_tables(self.collation)?;
        let planned = plan(&self.tables)?;
        let rows = template(&base, self.collation, &mut rng)?;
        let files: Vec<(FileId, extentdb_io::File)> = identity
            .files
            .iter()
            .zip(paths)
            .map(|(file, path)| Ok((file.id, extentdb_io::File::create_new(path)?)))
            .collect::<Result<_, Error>>()?;
        let work = Work { builder: self, identity, base, planned, rows };
        let built = with_sink(&DataFiles(&files), |sink| work.run(sink, progress))?;
        for ((_, file), bytes) in files.iter().zip(&built.file_bytes) {
            if file.len() < *bytes {
                file.set_len(*bytes)?;
            }
        }
        Ok(built)
    }

    fn identity(&self, files: usize, rng: &mut SplitMix64) -> Result<Identity, Error> {
        let name = &self.name;
        if name.encode_utf16().count() > 100 {
            return Err(Error::NameTooLong { name: name.clone() });
        }
        let file = |id: u16, suffix: &str, extension: &str, rng: &mut SplitMix64| FileIdentity {
            id: FileId(id),
            name: format!("{name}{suffix}"),
            path: format!("C:\\extentdb\\{name}{suffix}.{extension}"),
            guid: guid(rng),
        };
        let data = |at: usize, rng: &mut SplitMix64| match at {
            0 => file(1, "", "mdf", rng),
            _ => file(at as u16 + LOG_FILE.0, &format!("_{}", at + 1), "ndf", rng),
        };
        Ok(Identity {
            collation: self.collation,
            binding: guid(rng),
            family: guid(rng),
            broker: guid(rng),
            files: (0..files).map(|at| data(at, rng)).collect(),
            log: file(LOG_FILE.0, "_log", "ldf", rng),
            name: name.clone(),
        })
    }
}

/// Everything that is known before the first page is written.
struct Work<'a> {
    builder: &'a DatabaseBuilder,
    identity: Identity,
    base: Vec<TableDefinition>,
    planned: super::plan::Plan<'a>,
    rows: SystemRows,
}

/// What the catalogue keeps of finished rowsets.
#[derive(Clone)]
pub(super) struct Results {
    pub(super) units: BTreeMap<AllocUnitId, UnitResult>,
    pub(super) rows: BTreeMap<HobtId, u64>,
    /// The next value of the counter that rowversion values and blob ids come from.
    pub(super) next_blob: u64,
}

impl Default for Results {
    fn default() -> Self {
        Results { units: BTreeMap::new(), rows: BTreeMap::new(), next_blob: TIMESTAMPS_AT_A_TIME + 1 }
    }
}

impl Work<'_> {
    fn run(mut self, sink: &mut dyn PageSink, progress: &mut dyn FnMut(Progress)) -> Result<Built, Error> {
        let ids: Vec<FileId> = self.identity.files.iter().map(|file| file.id).collect();
        let mut space = Space::new(&ids, self.builder.stride);
        let mut results = Results::default();
        let mut done = Progress { entries: 0, entries_total: self.planned.entries() };
        progress(done);
        for table in &self.planned.tables {
            let mut tick = |entries| {
                done.entries += entries;
                progress(done);
            };
            TableBuild::new(&table.definition, &*table.spec.rows, &mut space, sink, &mut results, &mut tick)
                .run()?;
        }
        progress(Progress { entries: done.entries_total, ..done });
        let tables = self.built_tables(&results);
        self.write_catalogue(&mut space, sink, &mut results)?;
        let counters = Counters {
            next_object_id: self.planned.next_object_id,
            next_unit: self.planned.next_unit,
            // The boot page keeps an upper bound, so that the counter need not be stored at every step.
            max_timestamp: (results.next_blob - 1).next_multiple_of(TIMESTAMPS_AT_A_TIME),
        };
        write_fixed(&self.identity, &counters, &space, sink)?;
        let bytes = |pages: u32| u64::from(pages) * PAGE_BYTES as u64;
        let file_bytes = space.files.iter().map(|file| bytes(file.pages())).collect();
        Ok(Built { tables, file_bytes })
    }

    fn built_tables(&self, results: &Results) -> Vec<BuiltTable> {
        let built = |table: &PlannedTable<'_>| {
            let units = table.definition.indexes.iter().flat_map(|index| &index.units);
            let pages =
                units.filter_map(|unit| results.units.get(&unit.id)).map(|unit| unit.used as u64).sum();
            BuiltTable {
                name: table.definition.name.clone(),
                object: table.definition.id,
                rows: table.spec.rows.count(),
                pages,
            }
        };
        self.planned.tables.iter().map(built).collect()
    }

    /// Builds the base tables, `sysallocunits` last: it says where all others are.
    fn write_catalogue(
        &mut self,
        space: &mut Space,
        sink: &mut dyn PageSink,
        results: &mut Results,
    ) -> Result<(), Error> {
        let mut all = std::mem::take(&mut self.base);
        let base_count = all.len();
        all.extend(self.planned.tables.iter().map(|table| table.definition.clone()));
        all.iter().for_each(|table| add_table(table, &mut self.rows));
        self.planned.children.iter().for_each(|child| add_child(child, &mut self.rows));
        self.rows.insert("sysallocunits".to_owned(), unit_rows(&all, &results.units));
        self.count_rows(&all[..base_count], &mut results.rows);
        // sysrowsets and sysrscols describe themselves, too: their counts are those of the rows about to be made.
        let mut described = SystemRows::new();
        add_rowsets(&all, &results.rows, &mut described);
        self.rows.extend(described);
        self.count_rows(&all[..base_count], &mut results.rows);
        let mut described = SystemRows::new();
        add_rowsets(&all, &results.rows, &mut described);
        self.rows.extend(described);
        self.settle_file_sizes(&all[..base_count], space, results)?;
        self.write_base_tables(&all, base_count, space, sink, results)
    }

    /// Notes the number of rows of every base table that has rows by now.
    fn count_rows(&mut self, base: &[TableDefinition], counts: &mut BTreeMap<HobtId, u64>) {
        // Files are named last; how many there are is known.
        let files = self.identity.files.len() as u64 + 1;
        for table in base {
            let count = match table.name.as_str() {
                "sysfiles1" | "sysprufiles" => files,
                name => self.rows.get(name).map_or(0, |rows| rows.len() as u64),
            };
            table.indexes.iter().for_each(|index| {
                counts.insert(index.rowset, count);
            });
        }
    }

    /// Builds the catalogue on trial, to learn how long the files get: their sizes are part of it.
    fn settle_file_sizes(
        &mut self,
        base: &[TableDefinition],
        space: &mut Space,
        results: &Results,
    ) -> Result<(), Error> {
        add_files(&self.identity, &BTreeMap::new(), &mut self.rows);
        let mut trial = space.clone();
        for table in base {
            self.write_base_table(table, &mut trial, &mut NoSink, &mut results.clone())?;
        }
        trial.grow_to(self.pages_asked_for()?);
        let sizes = file_sizes(&trial);
        self.rows.remove("sysfiles1");
        self.rows.remove("sysprufiles");
        add_files(&self.identity, &sizes, &mut self.rows);
        Ok(())
    }

    fn write_base_tables(
        &mut self,
        all: &[TableDefinition],
        base_count: usize,
        space: &mut Space,
        sink: &mut dyn PageSink,
        results: &mut Results,
    ) -> Result<(), Error> {
        let (last, others): (Vec<_>, Vec<_>) =
            all[..base_count].iter().partition(|table| table.name == "sysallocunits");
        for table in others {
            self.write_base_table(table, space, sink, results)?;
        }
        for table in last {
            // Where its own pages will be does not depend on what its rows say.
            let mut trial = results.clone();
            self.write_base_table(table, &mut space.clone(), &mut NoSink, &mut trial)?;
            self.rows.insert(table.name.clone(), unit_rows(all, &trial.units));
            self.write_base_table(table, space, sink, results)?;
            debug_assert_eq!(results.units, trial.units);
        }
        space.grow_to(self.pages_asked_for()?);
        Ok(())
    }

    /// Pages that each file has at least.
    fn pages_asked_for(&self) -> Result<u32, Error> {
        let each = self.builder.bytes / self.identity.files.len() as u64;
        let extents = u32::try_from(each.div_ceil(EXTENT_BYTES as u64)).ok();
        let pages = extents.and_then(|extents| extents.checked_mul(PAGES_PER_EXTENT));
        pages.ok_or(Error::FileFull { file: FileId(1) })
    }

    fn write_base_table(
        &self,
        table: &TableDefinition,
        space: &mut Space,
        sink: &mut dyn PageSink,
        results: &mut Results,
    ) -> Result<(), Error> {
        match self.rows.get(&table.name).filter(|rows| !rows.is_empty()) {
            Some(rows) => build_table(table, rows, space, sink, results),
            None => Ok(()),
        }
    }
}
