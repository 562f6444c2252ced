//! The plan: what the allocation maps and the catalog say, checked among themselves, and who owns
//! which extent.
//!
//! ```text
//! boot page, file headers      5250                        system.rs
//! critical system tables       7984 - 7988, 8930           system.rs
//! GAM SGAM DIFF ML PFS pages   8946, 8998                  maps.rs
//! IAM chains                   2575 - 2579, 8947, 8959 …   iam.rs
//! extents and their owners     8903 - 8905, 8910, 8913     ownership.rs
//! ```
//!
//! Exact and done by one thread: well under one percent of the pages. The result is read-only and
//! shared by all who scan.
//!
//! When the catalog cannot be trusted (`owners_are_known` is false), nothing is said about
//! ownership; pages are then audited as what their own header says.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use extentdb_base::{FileId, HobtId, IndexId, Lsn, ObjectId, PageId};
use extentdb_catalog::Catalog;
use extentdb_catalog::bootstrap::Bootstrap;
use extentdb_catalog::layout::{Compression, RowLayout};
use extentdb_catalog::model::Rowset;
use extentdb_format::allocation::boot::{BootRecord, DatabaseVersion};
use extentdb_messages::Arg;
use extentdb_reader::PageSource;

use crate::coverage::NotChecked;
use crate::finding::{Cause, Finding, Findings, Location};
use crate::hash::HashKey;
use crate::options::Options;
use crate::unit::{Unit, UnitIndex, Units};

mod chosen;
mod iam;
pub(crate) mod maps;
mod metadata;
pub(crate) mod ownership;
pub(crate) mod pages;
mod system;

pub(crate) use chosen::Chosen;
pub(crate) use chosen::leaves_out;
pub(crate) use maps::FileMaps;
pub(crate) use ownership::{ExtentOwner, OwnerMap, PageOwner};

/// The first version whose rows can carry older versions of themselves after their versioning tag,
/// and whose PFS bytes have a meaning for bit 7: SQL Server 2019, with accelerated database
/// recovery.
const VERSIONS_IN_ROWS_SINCE: u16 = 895;

/// What is known before the first page is scanned.
pub(crate) struct Plan {
    /// Name of the database.
    pub database: String,
    /// Its id when it was last open.
    pub database_id: i32,
    /// The allocation units.
    pub units: Units,
    /// The maps of the files, by file id.
    pub maps: Vec<FileMaps>,
    /// Who owns what.
    pub owners: OwnerMap,
    /// False when catalog or boot page cannot be trusted.
    pub owners_are_known: bool,
    /// Files that the catalog lists and that were not given: nothing is known of their pages.
    pub missing_files: Vec<FileId>,
    /// Some IAM chain leads into such a file: what it lists after that is not known.
    pub has_cut_chains: bool,
    /// Units whose chain of IAM pages could not be followed to its end: they may own more pages
    /// than is known.
    pub cut_units: BTreeSet<UnitIndex>,
    /// The database was closed cleanly: no transaction was under way.
    pub was_closed_cleanly: bool,
    /// Pages that were found bad already, and are not reported again.
    pub bad: HashMap<PageId, u32>,
    /// A page changed after this must have its DIFF bit set; `None` = not to be checked.
    pub diff_base: HashMap<FileId, Lsn>,
    /// The last checkpoint by the boot page.
    pub checkpoint: Option<Lsn>,
    /// Names of tables.
    pub names: BTreeMap<ObjectId, String>,
    /// The part of the database that is checked.
    pub chosen: Chosen,
    /// Its name, when it is not all.
    pub target: Option<String>,
    /// The catalog, when it could be read.
    pub catalog: Option<Catalog>,
    /// Key of all hashes of this run.
    pub key: HashKey,
}

/// What the plan found on its way.
pub(crate) struct PlanOutcome {
    pub(crate) plan: Plan,
    pub(crate) findings: Findings,
    pub(crate) notes: Vec<Finding>,
    pub(crate) not_checked: Vec<NotChecked>,
    /// Why nothing can be checked: what was asked for is not there.
    pub(crate) refused: Option<Finding>,
}

impl Plan {
    /// The maps of a file.
    #[inline]
    pub(crate) fn maps_of(&self, file: FileId) -> Option<&FileMaps> {
        self.maps.iter().find(|maps| maps.file == file)
    }

    /// The layout in which records of sound pages of a unit are to be read.
    pub(crate) fn layout(&self, unit: UnitIndex) -> Option<&RowLayout> {
        let unit = self.units.get(unit)?;
        let rowset = || self.catalog.as_ref()?.rowsets.get(&unit.owner.partition);
        match unit.compression {
            Compression::None => rowset().map(|rowset| &rowset.layout),
            _ => unit.expanded.as_deref(),
        }
    }

    /// The unit that a page belongs to by the maps.
    #[inline]
    pub(crate) fn owner_of(&self, page: PageId) -> Option<UnitIndex> {
        match (self.owners.extent(page.extent()), self.owners.page(page)) {
            (ExtentOwner::Unit(unit), _) | (_, Some(PageOwner::Unit(unit))) => Some(unit),
            _ => None,
        }
    }

    /// Rows may carry older versions of themselves, and PFS bytes a bit for them.
    pub(crate) fn has_versions_in_rows(&self) -> bool {
        self.catalog.as_ref().is_some_and(|catalog| catalog.boot.version >= VERSIONS_IN_ROWS_SINCE)
    }

    /// True for a page that changed after the last checkpoint of a database that was not closed:
    /// what it says and what other pages say may belong to different moments.
    pub(crate) fn may_be_in_flight(&self, lsn: Lsn) -> bool {
        !self.was_closed_cleanly && self.checkpoint.is_none_or(|checkpoint| lsn > checkpoint)
    }

    /// The database id as an argument.
    pub(crate) fn database_arg(&self) -> Arg<'static> {
        self.database_id.into()
    }
}

/// The plan while it is made.
struct Prelude<'s> {
    source: &'s dyn PageSource,
    findings: Findings,
    notes: Vec<Finding>,
    not_checked: Vec<NotChecked>,
    bad: HashMap<PageId, u32>,
    database: String,
    database_id: i32,
    is_fatal: bool,
    header_lsns: Vec<(FileId, Lsn)>,
    /// Files whose header says that they are encrypted.
    encrypted: Vec<FileId>,
    /// Units whose IAM chain cannot be used.
    dropped: Vec<Cause>,
    /// Files that the catalog lists and that were not given.
    missing_files: Vec<FileId>,
    has_cut_chains: bool,
    chosen: Chosen,
    target: Option<String>,
    refused: Option<Finding>,
    cut_units: BTreeSet<UnitIndex>,
    /// Mixed extents noted as 59031.
    unreachable_extents: usize,
    /// Why a part of the pages is not there.
    missing_part: Option<String>,
}

impl<'s> Prelude<'s> {
    fn new(source: &'s dyn PageSource, options: &Options) -> Self {
        let first = source.files().first();
        let by_file = || {
            let stem = first.and_then(|file| file.path.file_stem()).unwrap_or_default();
            stem.to_string_lossy().into_owned()
        };
        Prelude {
            source,
            findings: Findings::new(options.max_errors),
            notes: Vec::new(),
            not_checked: Vec::new(),
            bad: HashMap::new(),
            database: options.database.clone().unwrap_or_else(by_file),
            database_id: 0,
            is_fatal: false,
            header_lsns: Vec::new(),
            encrypted: Vec::new(),
            dropped: Vec::new(),
            missing_files: Vec::new(),
            has_cut_chains: false,
            cut_units: BTreeSet::new(),
            unreachable_extents: 0,
            missing_part: options.missing_part.clone(),
            chosen: Chosen::Database,
            target: None,
            refused: None,
        }
    }

    /// Finds the table or filegroup that the run is limited to.
    fn choose(&mut self, options: &Options, catalog: Option<&Catalog>, units: &mut Units) {
        let usable = catalog.filter(|_| !self.is_fatal);
        match chosen::choose(&options.scope, usable, self.source, units) {
            Ok(choice) => {
                if choice.chosen == Chosen::Unknown {
                    self.leave_out(
                        "what was asked for",
                        "without the catalog nobody knows what belongs to it",
                    );
                }
                self.notes.extend(choice.notes);
                self.chosen = choice.chosen;
                self.target = choice.target;
            }
            Err(refused) => self.refused = Some(*refused),
        }
    }

    /// Drops what was found outside of what was asked for.
    fn narrow(&mut self, units: &Units, owners: &OwnerMap) {
        if self.chosen.is_limited() {
            let all = std::mem::replace(&mut self.findings, Findings::new(0));
            let (inside, is_exact) =
                all.narrow(|finding| self.chosen.keeps(finding, units, owners));
            self.findings = inside;
            if !is_exact {
                self.leave_out(
                    "some allocation findings",
                    "there are more in the database than a run keeps",
                );
            }
        }
    }

    fn report<'a>(&mut self, error: u32, at: Location, args: impl IntoIterator<Item = Arg<'a>>) {
        self.findings.push(Finding::new(error, at, args));
    }

    fn note<'a>(&mut self, error: u32, at: Location, args: impl IntoIterator<Item = Arg<'a>>) {
        self.notes.push(Finding::new(error, at, args));
    }

    fn mark_bad(&mut self, page: PageId, error: u32) {
        self.bad.entry(page).or_insert(error);
    }

    /// True for a page of the part that is known to be missing.
    fn is_missing(&self, page: PageId) -> bool {
        self.missing_part.is_some() && !self.source.is_stored(page.extent())
    }

    /// Something that was asked for and is not checked.
    fn leave_out(&mut self, what: &str, why: &str) {
        self.not_checked.push(NotChecked::asked(what, why));
    }

    fn file_name(&self, id: FileId) -> String {
        let file = self.source.files().iter().find(|file| file.id == id);
        file.map_or_else(|| format!("file {id}"), |file| file.path.display().to_string())
    }
}

/// Makes the plan.
pub(crate) fn make(source: &dyn PageSource, options: &Options) -> PlanOutcome {
    let mut prelude = Prelude::new(source, options);
    let boot = prelude.read_boot();
    prelude.is_fatal = boot.is_none() || prelude.missing_part.is_some();
    if let Some(boot) = &boot {
        prelude.take_boot(boot);
    }
    prelude.read_file_headers();
    let (mut bootstrap, catalog) = match &boot {
        Some(boot) if prelude.missing_part.is_none() => prelude.read_catalog(boot),
        _ => (Bootstrap::default(), None),
    };
    prelude.settle_encryption(catalog.is_some());
    let mut units = prelude.units(&mut bootstrap, catalog.as_ref(), options);
    prelude.choose(options, catalog.as_ref(), &mut units);
    let maps = prelude.all_maps(catalog.as_ref());
    let mut owners = OwnerMap::new(&maps);
    if !prelude.is_fatal {
        prelude.claim_all(&units, &maps, catalog.as_ref(), &mut owners);
        prelude.claim_configuration(&mut owners);
        prelude.verify_single_pages(&units, &maps, &owners);
        let chosen = prelude.chosen.clone();
        prelude.verify_extents(&chosen, &units, &maps, &owners);
        prelude.verify_filegroups(&units, catalog.as_ref());
    }
    prelude.finish(boot, units, maps, owners, catalog, options)
}

impl Prelude<'_> {
    fn take_boot(&mut self, boot: &BootRecord) {
        // Some files fill the name with blanks instead.
        self.database = boot.name.to_string().trim_end().to_owned();
        self.database_id = boot.database_id.into();
        let version = DatabaseVersion(boot.version);
        if version > DatabaseVersion::NEWEST_NAMED {
            let args = [boot.version.into(), DatabaseVersion::NEWEST_NAMED.0.into()];
            self.note(59010, Location::page(PageId::BOOT), args);
            let what = format!("what is new in database version {}", boot.version);
            self.leave_out(&what, "it is newer than the newest version this program knows");
        }
        if !boot.status.is_clean() {
            let args = [
                self.database.clone().into(),
                "the boot page lacks the mark of a clean shutdown".into(),
            ];
            self.note(59009, Location::page(PageId::BOOT), args);
        }
    }

    /// Numbers the units. A unit without a rowset stays known, so that its pages are not taken for
    /// leaked ones.
    fn units(
        &mut self,
        bootstrap: &mut Bootstrap,
        catalog: Option<&Catalog>,
        options: &Options,
    ) -> Units {
        let nobody = Rowset {
            id: HobtId(0),
            owner_type: 0,
            object: ObjectId(0),
            index: IndexId(-1),
            partition: 0,
            status: 0,
            rows: 0,
            compression: extentdb_catalog::layout::Compression::Other(u8::MAX),
            fill_factor: 0,
            min_leaf: 0,
            min_interior: 0,
            layout: extentdb_catalog::RowLayout::default(),
            units: Vec::new(),
        };
        let rowsets = &bootstrap.rowsets;
        let owned = bootstrap
            .units
            .values()
            .map(|unit| (unit, rowsets.get(&unit.owner).unwrap_or(&nobody)));
        let units = Units::new(owned, catalog, options.no_index);
        if !self.is_fatal {
            self.verify_counts(bootstrap, catalog);
        }
        units
    }

    fn all_maps(&mut self, catalog: Option<&Catalog>) -> Vec<FileMaps> {
        let files: Vec<(FileId, u32, u32)> = self
            .source
            .files()
            .iter()
            .map(|file| (file.id, file.pages, file.trailing_bytes))
            .collect();
        let mut all = Vec::with_capacity(files.len());
        for (file, pages, trailing) in files {
            let listed =
                catalog.and_then(|catalog| catalog.files.iter().find(|listed| listed.id == file));
            let declared =
                listed.and_then(|listed| u32::try_from(listed.size).ok()).filter(|size| *size > 0);
            all.push(maps::read_maps(self, file, pages, declared));
            if trailing > 0 {
                let cut = PageId { file, page: pages };
                let args =
                    [self.file_name(file).into(), crate::finding::page_arg(cut), trailing.into()];
                self.note(59012, Location::page(cut), args);
            }
        }
        self.name_missing_files(catalog);
        all
    }

    fn name_missing_files(&mut self, catalog: Option<&Catalog>) {
        const ROWS: u8 = 0;
        let listed = catalog.map_or(&[][..], |catalog| &catalog.files);
        for file in listed.iter().filter(|file| file.file_type == ROWS && !file.dropped) {
            if self.source.page_count(file.id) == 0 {
                let what = format!("file {} ({})", file.id, file.name);
                self.leave_out(&what, "it was not given");
                self.missing_files.push(file.id);
            }
        }
    }

    /// What a changed page of each file must be newer than to need its DIFF bit.
    ///
    /// Only files that were closed cleanly are judged: a backup carries the map as the backup has
    /// just reset it, with a boot page that still names the backup before. Without a base there was
    /// no full backup yet, or the log was rebuilt: what file headers say then may be older than the
    /// map.
    fn diff_base(&self, boot: Option<&BootRecord>) -> HashMap<FileId, Lsn> {
        let is_judged = |boot: &&BootRecord| boot.status.is_clean() && !boot.backup_lsn.is_zero();
        let Some(boot) = boot.filter(is_judged) else { return HashMap::new() };
        let bases = self.header_lsns.iter().map(|(file, own)| (*file, boot.backup_lsn.max(*own)));
        bases
            .filter(|(file, lsn)| !lsn.is_zero() && self.source.plain_file(*file).is_some())
            .collect()
    }

    /// What is not checked where owners of pages are not known.
    fn note_unowned(&mut self) {
        if self.has_cut_chains {
            self.not_checked.push(NotChecked::asked(
                "extents without an owner, links between pages and keys across them",
                "IAM chains lead into a file that was not given",
            ));
        }
        if self.is_fatal {
            let cause = self.missing_part.as_deref().unwrap_or("the catalog cannot be trusted");
            self.not_checked.push(NotChecked::asked(
                "ownership of pages and links between them",
                format!("{cause}; pages were audited as what their own header says"),
            ));
        }
    }

    fn finish(
        mut self,
        boot: Option<BootRecord>,
        units: Units,
        maps: Vec<FileMaps>,
        owners: OwnerMap,
        catalog: Option<Catalog>,
        options: &Options,
    ) -> PlanOutcome {
        let key = options.hash_key.unwrap_or_else(HashKey::random);
        let diff_base = self.diff_base(boot.as_ref());
        self.narrow(&units, &owners);
        self.note_unowned();
        let plan = Plan {
            diff_base,
            missing_files: self.missing_files,
            has_cut_chains: self.has_cut_chains,
            cut_units: self.cut_units,
            was_closed_cleanly: boot.as_ref().is_some_and(|boot| boot.status.is_clean()),
            database: self.database,
            database_id: self.database_id,
            owners,
            owners_are_known: !self.is_fatal,
            bad: self.bad,
            checkpoint: boot.map(|boot| boot.checkpoint_lsn),
            names: names(&units, catalog.as_ref()),
            chosen: self.chosen,
            target: self.target,
            units,
            maps,
            catalog,
            key,
        };
        PlanOutcome {
            plan,
            findings: self.findings,
            notes: self.notes,
            not_checked: self.not_checked,
            refused: self.refused,
        }
    }
}

/// The names of all objects that own units, as DBCC prints them.
fn names(units: &Units, catalog: Option<&Catalog>) -> BTreeMap<ObjectId, String> {
    let name = |unit: &Unit| {
        let object = unit.owner.object;
        let name = match catalog.and_then(|catalog| catalog.tables.get(&object)) {
            Some(table) if unit.owner.is_user => table.name.clone(),
            Some(table) => table.full_name(),
            None => format!("object ID {object}"),
        };
        (object, name)
    };
    units.iter().map(|(_, unit)| name(unit)).collect()
}
