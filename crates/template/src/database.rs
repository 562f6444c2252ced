//! Builds the files of a database from its specification.

use std::collections::BTreeMap;
use std::path::Path;

use extentdb_base::env::SplitMix64;
use extentdb_base::size::{EXTENT_BYTES, PAGE_BYTES, PAGES_PER_EXTENT};
use extentdb_base::{AllocUnitId, FileId, HobtId, Lsn, ObjectId};
use extentdb_catalog::table::describe::{SystemRows, add_child, add_rowsets, add_table, unit_rows};
use extentdb_catalog::table::{
    DEFAULT_COLLATION, IndexDefinition, TableDefinition, base_tables, later_tables, master_tables,
};

use crate::catalog::files::{add_files, add_stored_defaults, file_sizes};
use crate::catalog::template;
use crate::file::allocation::{PRIMARY, Space, Spread};
use crate::file::fixed_pages::{
    CREATED, Counters, FileGrowth, FileIdentity, Identity, guid, write_configuration, write_fixed,
};
use crate::file::sink::{DataFiles, NoSink, OutputFile, PageSink, with_sink};
use crate::plan::{PlannedTable, plan};
use crate::spec::TableSpec;
use crate::spec::data_space::{
    DataSpaces, FilegroupSpec, PartitionFunctionSpec, PartitionSchemeSpec,
};
use crate::table::{TableBuild, build_table};
use crate::unit::UnitResult;
use extentdb_format::allocation::field::StoredTime;
use extentdb_io::Disk;

use crate::Error;

/// File id of the log; further data files have higher ids.
const LOG_FILE: FileId = FileId(2);
const FILES_MAX: usize = 32_766;
/// A file has 2^32 pages.
const INTERVALS_MAX: u32 = 8_000;
/// `dbi_maxDbTimestamp` of a new database, and the steps it goes up by.
const TIMESTAMPS_AT_A_TIME: u64 = 2000;

/// Progress of a build.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Entries of heaps and indexes written.
    pub entries: u64,
    /// Entries of all heaps and indexes of user tables.
    pub entries_total: u64,
}

/// The result of a build.
#[derive(Clone, Debug)]
pub struct Built {
    /// User tables, in the order they were added.
    pub tables: Vec<BuiltTable>,
    /// Bytes of each data file.
    pub file_bytes: Vec<u64>,
}

/// A user table that was built.
#[derive(Clone, Debug)]
pub struct BuiltTable {
    /// Name of the table, without its schema.
    pub name: String,
    /// Object id in the catalog.
    pub object: ObjectId,
    /// Rows of the table, without deleted ones.
    pub rows: u64,
    /// Pages of heap or clustered index and of all its indexes, IAM pages included.
    pub pages: u64,
}

/// The name and path of a file in the catalog.
#[derive(Clone, Debug, Default)]
pub struct FileName {
    /// Logical name, up to 128 characters.
    pub name: Option<String>,
    /// Path, up to 260 characters.
    pub path: Option<String>,
}

/// Collects the specification of a database and builds it.
///
/// ```no_run
/// use extentdb_template::{ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, TableSpec};
/// use extentdb_types::SqlType;
///
/// let rows = FnRows::new(1000, |number, row| {
///     row.int(number as i32 + 1).money(number as i64 * 100);
/// });
/// let columns =
///     vec![ColumnSpec::new("id", SqlType::Int), ColumnSpec::new("price", SqlType::Money)];
/// let key = IndexSpec::primary_key("PK_item", &["id"]);
/// let table = TableSpec::heap("item", columns, rows).clustered(key);
/// DatabaseBuilder::new("shop").seed(7).table(table).build(&["shop.mdf".as_ref()], &mut |_| {})?;
/// # Ok::<(), extentdb_template::Error>(())
/// ```
pub struct DatabaseBuilder {
    name: String,
    seed: u64,
    growth: Vec<FileGrowth>,
    log_growth: FileGrowth,
    names: Vec<FileName>,
    collation: u32,
    created: StoredTime,
    spread: Spread,
    bytes: u64,
    filegroups: Vec<FilegroupSpec>,
    functions: Vec<PartitionFunctionSpec>,
    schemes: Vec<PartitionSchemeSpec>,
    tables: Vec<TableSpec>,
    is_master: bool,
}

impl DatabaseBuilder {
    /// A database without tables.
    pub fn new(name: &str) -> Self {
        DatabaseBuilder {
            name: name.to_owned(),
            seed: 0,
            growth: Vec::new(),
            log_growth: FileGrowth::LOG,
            names: Vec::new(),
            collation: DEFAULT_COLLATION,
            created: CREATED,
            spread: Spread { stride: 1, intervals: 1 },
            bytes: 0,
            filegroups: Vec::new(),
            functions: Vec::new(),
            schemes: Vec::new(),
            tables: Vec::new(),
            is_master: false,
        }
    }

    /// With a page of server configuration at (1:10), which only `master` has.
    #[must_use]
    pub fn master(mut self) -> Self {
        self.is_master = true;
        self
    }

    /// The seed of everything random: GUIDs and the SID of role public.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The growth of each data file, in the order of the paths; the default is 1 MB without a
    /// limit.
    #[must_use]
    pub fn growth(mut self, growth: Vec<FileGrowth>) -> Self {
        self.growth = growth;
        self
    }

    /// The growth of the log as the catalog names it; the default is [`FileGrowth::LOG`].
    #[must_use]
    pub fn log_growth(mut self, growth: FileGrowth) -> Self {
        self.log_growth = growth;
        self
    }

    /// The catalog names of the data files, in the order of the paths, then of the log file. The
    /// default is the name of the database with a suffix.
    #[must_use]
    pub fn file_names(mut self, names: Vec<FileName>) -> Self {
        self.names = names;
        self
    }

    /// The creation time in the boot page. Any time but the default makes the database look like
    /// one of another product.
    #[must_use]
    pub fn created(mut self, created: StoredTime) -> Self {
        self.created = created;
        self
    }

    /// Total size of the data files; they get larger when the tables need it.
    #[must_use]
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = bytes;
        self
    }

    /// Takes only every `stride`-th extent of a file, so that a small sparse file spans many
    /// intervals.
    #[must_use]
    pub fn stride(mut self, stride: u32) -> Self {
        self.spread.stride = stride;
        self
    }

    /// Fills `intervals` GAM intervals of each file at the same time, so that every unit of a few
    /// extents spans all of them: a sparse file, nearly all holes.
    #[must_use]
    pub fn intervals(mut self, intervals: u32) -> Self {
        self.spread.intervals = intervals.clamp(1, INTERVALS_MAX);
        self
    }

    /// Adds a filegroup with `files` files. The paths given to [`build`](Self::build) are those of
    /// PRIMARY first, then those of each filegroup.
    #[must_use]
    pub fn filegroup(mut self, name: &str, files: usize) -> Self {
        self.filegroups.push(FilegroupSpec { name: name.to_owned(), files: files.max(1) });
        self
    }

    /// Adds a partition function.
    #[must_use]
    pub fn partition_function(mut self, function: PartitionFunctionSpec) -> Self {
        self.functions.push(function);
        self
    }

    /// Adds a partition scheme: a filegroup for each partition of the function.
    #[must_use]
    pub fn partition_scheme(mut self, name: &str, function: &str, filegroups: &[&str]) -> Self {
        let [name, function] = [name, function].map(str::to_owned);
        let filegroups = filegroups.iter().map(|group| (*group).to_owned()).collect();
        self.schemes.push(PartitionSchemeSpec { name, function, filegroups });
        self
    }

    fn spaces(&self) -> DataSpaces<'_> {
        DataSpaces {
            filegroups: &self.filegroups,
            functions: &self.functions,
            schemes: &self.schemes,
        }
    }

    /// Adds a table.
    #[must_use]
    pub fn table(mut self, table: TableSpec) -> Self {
        self.tables.push(table);
        self
    }

    /// The tables added so far.
    pub fn tables(&self) -> &[TableSpec] {
        &self.tables
    }

    /// Collation of the names, which must be a Latin one that ignores case: others sort otherwise
    /// than this program.
    pub fn collation(&self) -> u32 {
        self.collation
    }

    /// Builds the files: one path for each data file, none of which may exist.
    ///
    /// # Errors
    /// See [`Error`]. Files that were begun stay as they are.
    pub fn build(
        &self,
        paths: &[&Path],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Built, Error> {
        self.build_with(
            paths,
            &|path| Ok(OutputFile::File(extentdb_io::File::create_new(path)?)),
            progress,
        )
    }

    /// The same on a disk of any kind. When this returns the files are durable.
    ///
    /// # Errors
    /// As for [`build`](Self::build).
    pub fn build_on(&self, disk: &dyn Disk, paths: &[&Path]) -> Result<Built, Error> {
        self.build_with(paths, &|path| Ok(OutputFile::Disk(disk.create(path)?)), &mut |_| {})
    }

    fn build_with(
        &self,
        paths: &[&Path],
        create: &dyn Fn(&Path) -> Result<OutputFile, Error>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Built, Error> {
        if !(1..=FILES_MAX).contains(&paths.len()) {
            return Err(Error::FileCount { files: paths.len() });
        }
        let mut rng = SplitMix64::new(self.seed);
        let groups = self.spaces().groups_of_files(paths.len())?;
        let identity = self.identity(&groups, &mut rng)?;
        let mut base = base_tables(self.collation)?;
        let planned = plan(&self.tables, &self.spaces(), self.seed)?;
        if planned.tables.iter().any(|table| table.history.stored_defaults().next().is_some()) {
            base.extend(later_tables(self.collation)?);
        }
        if self.is_master {
            base.extend(master_tables(self.collation)?);
        }
        let mut rows = template(&base, self.collation, &mut rng)?;
        let guids: Vec<_> = self.filegroups.iter().map(|_| guid(&mut rng)).collect();
        self.spaces().add_rows(&guids, &mut rows);
        let files: Vec<(FileId, OutputFile)> = identity
            .files
            .iter()
            .zip(paths)
            .map(|(file, path)| Ok((file.id, create(path)?)))
            .collect::<Result<_, Error>>()?;
        let work = BuildState { builder: self, identity, base, planned, rows };
        let built = with_sink(&DataFiles(&files), |sink| work.run(sink, progress))?;
        for ((_, file), bytes) in files.iter().zip(&built.file_bytes) {
            file.finish(*bytes)?;
        }
        Ok(built)
    }

    fn identity(&self, groups: &[i16], rng: &mut SplitMix64) -> Result<Identity, Error> {
        let name = &self.name;
        if name.encode_utf16().count() > 100 {
            return Err(Error::NameTooLong { name: name.clone() });
        }
        let file = |id: u16, group: i16, suffix: &str, extension: &str, rng: &mut SplitMix64| {
            FileIdentity {
                id: FileId(id),
                group,
                name: format!("{name}{suffix}"),
                path: format!("C:\\extentdb\\{name}{suffix}.{extension}"),
                guid: guid(rng),
                growth: self.log_growth,
                first_update_lsn: Lsn::ZERO,
            }
        };
        let data = |(at, group): (usize, &i16), rng: &mut SplitMix64| {
            let own = match at {
                0 => file(1, PRIMARY, "", "mdf", rng),
                _ => file(at as u16 + LOG_FILE.0, *group, &format!("_{}", at + 1), "ndf", rng),
            };
            let own = FileIdentity {
                growth: self.growth.get(at).copied().unwrap_or_default(),
                ..own
            };
            self.named(at, own)
        };
        Ok(Identity {
            collation: self.collation,
            created: self.created,
            binding: guid(rng),
            family: guid(rng),
            broker: guid(rng),
            files: groups.iter().enumerate().map(|file| data(file, rng)).collect(),
            log: self.named(groups.len(), file(LOG_FILE.0, 0, "_log", "ldf", rng)),
            name: name.clone(),
        })
    }

    fn named(&self, at: usize, own: FileIdentity) -> FileIdentity {
        let Some(given) = self.names.get(at).cloned() else { return own };
        FileIdentity {
            name: given.name.unwrap_or(own.name),
            path: given.path.unwrap_or(own.path),
            ..own
        }
    }
}

/// The state of a build.
struct BuildState<'a> {
    builder: &'a DatabaseBuilder,
    identity: Identity,
    base: Vec<TableDefinition>,
    planned: crate::plan::Plan<'a>,
    rows: SystemRows,
}

/// The finished rowsets, as the catalog stores them.
#[derive(Clone)]
pub(crate) struct Results {
    pub(crate) units: BTreeMap<AllocUnitId, UnitResult>,
    pub(crate) rows: BTreeMap<HobtId, u64>,
    /// The next value of the counter that rowversion values and blob ids come from.
    pub(crate) next_blob: u64,
}

impl Default for Results {
    fn default() -> Self {
        Results {
            units: BTreeMap::new(),
            rows: BTreeMap::new(),
            next_blob: TIMESTAMPS_AT_A_TIME + 1,
        }
    }
}

impl BuildState<'_> {
    fn run(
        mut self,
        sink: &mut dyn PageSink,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Built, Error> {
        let files: Vec<(FileId, i16)> =
            self.identity.files.iter().map(|file| (file.id, file.group)).collect();
        let mut space = Space::new(&files, self.builder.spread);
        if self.builder.is_master {
            space.reserve_configuration();
        }
        let mut results = Results::default();
        let mut done = Progress { entries: 0, entries_total: self.planned.entries() };
        progress(done);
        for table in &self.planned.tables {
            let mut tick = |entries| {
                done.entries += entries;
                progress(done);
            };
            let rows = &*table.spec.rows;
            let definition = &table.definition;
            let history = &table.history;
            TableBuild::new(definition, rows, history, &mut space, sink, &mut results, &mut tick)
                .with_plans(&table.indexes)
                .run()?;
        }
        progress(Progress { entries: done.entries_total, ..done });
        let tables = self.built_tables(&results);
        self.write_catalog(&mut space, sink, &mut results)?;
        let counters = Counters {
            next_object_id: self.planned.next_object_id,
            next_unit: self.planned.next_unit,
            // The boot page keeps an upper bound, so that the counter need not be stored at every
            // step.
            max_timestamp: (results.next_blob - 1).next_multiple_of(TIMESTAMPS_AT_A_TIME),
        };
        write_fixed(&self.identity, &counters, &space, sink)?;
        if self.builder.is_master {
            write_configuration(sink)?;
        }
        let bytes = |pages: u32| u64::from(pages) * PAGE_BYTES as u64;
        let file_bytes = space.files.iter().map(|file| bytes(file.pages())).collect();
        Ok(Built { tables, file_bytes })
    }

    fn built_tables(&self, results: &Results) -> Vec<BuiltTable> {
        let built = |table: &PlannedTable<'_>| {
            let parts: Vec<_> =
                table.definition.indexes.iter().flat_map(IndexDefinition::partitions).collect();
            let units = parts.iter().flat_map(|part| &part.units);
            let pages = units
                .filter_map(|unit| results.units.get(&unit.id))
                .map(|unit| unit.used as u64)
                .sum();
            let base = parts.iter().filter(|part| part.is_base());
            let rows = base.filter_map(|part| results.rows.get(&part.rowset)).sum();
            BuiltTable {
                name: table.definition.name.clone(),
                object: table.definition.id,
                rows,
                pages,
            }
        };
        self.planned.tables.iter().map(built).collect()
    }

    /// Builds the base tables, `sysallocunits` last: it refers to all others.
    fn write_catalog(
        &mut self,
        space: &mut Space,
        sink: &mut dyn PageSink,
        results: &mut Results,
    ) -> Result<(), Error> {
        let mut all = std::mem::take(&mut self.base);
        let base_count = all.len();
        all.extend(self.planned.tables.iter().map(|table| table.definition.clone()));
        all.iter().for_each(|table| add_table(table, CREATED, &mut self.rows));
        self.planned.children.iter().for_each(|child| add_child(child, CREATED, &mut self.rows));
        for table in &self.planned.tables {
            add_stored_defaults(&table.definition, &table.history, &mut self.rows);
        }
        self.rows.insert("sysallocunits".to_owned(), unit_rows(&all, &results.units));
        self.count_rows(&all[..base_count], &mut results.rows);
        // sysrowsets and sysrscols describe themselves, too: their counts are those of the rows
        // about to be made.
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

    /// Records the number of rows of every base table built so far.
    fn count_rows(&mut self, base: &[TableDefinition], counts: &mut BTreeMap<HobtId, u64>) {
        // The rows of files are written last; their number is known.
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

    /// Builds the catalog on trial, to compute the file sizes, which are part of it.
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
        trial.grow_to(self.pages_asked_for())?;
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
            // The addresses of its pages do not depend on the values of its rows.
            let mut trial = results.clone();
            self.write_base_table(table, &mut space.clone(), &mut NoSink, &mut trial)?;
            self.rows.insert(table.name.clone(), unit_rows(all, &trial.units));
            self.write_base_table(table, space, sink, results)?;
            debug_assert_eq!(results.units, trial.units);
        }
        space.grow_to(self.pages_asked_for())
    }

    /// Pages that the files have together, at least: as many whole extents for each.
    fn pages_asked_for(&self) -> u64 {
        let files = self.identity.files.len() as u64;
        let each = (self.builder.bytes / files).div_ceil(EXTENT_BYTES as u64);
        each * files * u64::from(PAGES_PER_EXTENT)
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
