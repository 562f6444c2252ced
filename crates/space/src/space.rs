//! The space of a database: its files and filegroups, and what is free in them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use extentdb_base::size::{EXTENTS_PER_GAM, PAGES_PER_EXTENT, PAGES_PER_GAM, PAGES_PER_PFS};
use extentdb_base::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock, lock, read, write};
use extentdb_base::{Extent, FileId, PageId, XactId};
use extentdb_buffer::Pool;
use extentdb_format::allocation::bitmap::{MapKind, MapView};
use extentdb_format::log::Context;
use extentdb_txn::{Manager, PageChanges, RecordOwner};

use crate::error::Error;
use crate::file::{DataFile, FileDescription, FileSettings};
use crate::filegroup::{Filegroup, FillEvents};
use crate::unit::UnitRows;

const PRIMARY_FILE: FileId = FileId(1);

/// How space is handed out.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of the database, for the lines of trace flag 1165.
    pub database: String,
    /// The first eight pages of a unit come from mixed extents.
    pub mixed_pages: bool,
    /// Consecutive extents per file and turn: 1, or 64 as with the start-up option `-E`.
    pub extents_per_turn: u32,
    /// Each file keeps as many extents back, in memory, as SQL Server has taken of a new one: skip
    /// targets are those of SQL Server then. Its system objects fill 36 extents of the primary
    /// file; ours are smaller.
    pub compatible: bool,
}

/// Extents of a new primary file that SQL Server's system objects take.
const SYSTEM_EXTENTS: u32 = 36;

/// The space of a database.
pub struct Space {
    pool: Arc<Pool>,
    transactions: Arc<Manager>,
    options: Options,
    groups: RwLock<BTreeMap<i16, Arc<Filegroup>>>,
    /// Filegroups whose files all grow when one does.
    grow_all: RwLock<BTreeSet<i16>>,
    changed: Arc<Changed>,
    rows: OnceLock<Arc<dyn UnitRows>>,
    /// Pages of uniform extents that transactions have freed in PFS, until they are released or an
    /// undo allocates them again; and those that are about to be allocated there. No chain has them
    /// as its rest, and their extents are not given back by others.
    pending_pages: Mutex<HashMap<PageId, XactId>>,
    events: Arc<dyn FillEvents>,
}

impl Space {
    /// The space of these files, in the order of their filegroups' lists: the primary file first,
    /// then from the newest to the oldest. What is free is read from their maps. The event of the
    /// first skip targets is the caller's to ask for, by [`recalculate`](Self::recalculate), when
    /// the files are as large as they are to be.
    ///
    /// # Errors
    /// A map page cannot be read.
    pub fn open(
        pool: Arc<Pool>,
        transactions: Arc<Manager>,
        options: Options,
        files: &[FileDescription],
        events: Arc<dyn FillEvents>,
    ) -> Result<Space, Error> {
        let space = Space {
            pool,
            transactions,
            options,
            groups: RwLock::default(),
            grow_all: RwLock::default(),
            changed: Arc::default(),
            rows: OnceLock::new(),
            pending_pages: Mutex::default(),
            events,
        };
        for description in files {
            let file = Arc::new(DataFile::new(description.clone()));
            space.read_maps(&file)?;
            write(&space.changed.files).insert(description.id, file);
        }
        space.regroup(files.iter().map(|file| file.id), &|_| false);
        space.transactions.set_page_changes(space.changed.clone());
        Ok(space)
    }

    /// Sorts the files into their groups, in this order, with new skip targets; `hears` selects the
    /// groups whose observer is called.
    fn regroup(&self, order: impl Iterator<Item = FileId>, hears: &dyn Fn(i16) -> bool) {
        let mut groups: BTreeMap<i16, Vec<Arc<DataFile>>> = BTreeMap::new();
        for id in order {
            if let Some(file) = read(&self.changed.files).get(&id) {
                groups.entry(file.group()).or_default().push(file.clone());
            }
        }
        let groups = groups.into_iter().map(|(id, files)| {
            let group = Filegroup::new(id, files);
            let events: &dyn FillEvents = if hears(id) { &*self.events } else { &() };
            group.recalculate(&self.options, events);
            (id, Arc::new(group))
        });
        *write(&self.groups) = groups.collect();
    }

    /// New skip targets for all filegroups: files have been opened, or made larger.
    pub fn recalculate(&self) {
        read(&self.changed.files).values().for_each(|file| self.claim_as_sql_server(file));
        for group in read(&self.groups).values() {
            group.recalculate(&self.options, &*self.events);
        }
    }

    /// With compatible space: claims extents, in memory only, until as many are allocated as SQL
    /// Server would have.
    fn claim_as_sql_server(&self, file: &DataFile) {
        if !self.options.compatible {
            return;
        }
        let later_pfs = file.pages().saturating_sub(1) / PAGES_PER_PFS;
        let taken = match file.id() {
            // The files of today begin with the catalog, whatever was added since.
            PRIMARY_FILE => SYSTEM_EXTENTS + later_pfs,
            // One more when there are several PFS pages: observed, not explained.
            _ => 1 + later_pfs + u32::from(later_pfs > 0),
        };
        while file.extents() - file.free_extents().min(file.extents()) < taken {
            if file.claim().is_none() {
                return;
            }
        }
    }

    /// A file joins its filegroup; its maps are on disk already, and its pages in the pool.
    pub fn add_file(&self, description: FileDescription) -> Result<(), Error> {
        let file = Arc::new(DataFile::new(description.clone()));
        self.read_maps(&file)?;
        self.claim_as_sql_server(&file);
        file.set_first_unwritten(0);
        let mut order: Vec<FileId> = Vec::new();
        for group in read(&self.groups).values() {
            let mut ids: Vec<FileId> = group.files().iter().map(|file| file.id()).collect();
            if group.id() == description.group {
                // A new file is inserted after the head of the list.
                ids.insert(ids.len().min(1), description.id);
            }
            order.extend(ids);
        }
        if !order.contains(&description.id) {
            order.push(description.id);
        }
        write(&self.changed.files).insert(description.id, file);
        self.regroup(order.into_iter(), &|group| group == description.group);
        Ok(())
    }

    /// Takes an empty file out of its filegroup: nothing is allocated in it from now on. False, and
    /// nothing has changed, when more than its maps is in use, which what an open transaction has
    /// freed is.
    ///
    /// # Errors
    /// There is no such file.
    pub fn withdraw_file(&self, id: FileId) -> Result<bool, Error> {
        let file = self.file(id)?;
        if !file.withdraw() {
            return Ok(false);
        }
        let order = self.order_of_files();
        self.regroup(order.into_iter().filter(|own| *own != id), &|group| group == file.group());
        Ok(true)
    }

    /// Takes a file out of its filegroup that no catalog lists, whatever its maps say.
    ///
    /// # Errors
    /// There is no such file.
    pub fn discard_file(&self, id: FileId) -> Result<(), Error> {
        self.file(id)?.discard();
        let order = self.order_of_files();
        self.regroup(order.into_iter().filter(|own| *own != id), &|_| false);
        Ok(())
    }

    /// A file that was withdrawn stays in its filegroup.
    ///
    /// # Errors
    /// There is no such file.
    pub fn keep_file(&self, id: FileId) -> Result<(), Error> {
        let file = self.file(id)?;
        file.stay();
        let order = self.order_of_files();
        self.regroup(order.into_iter().chain([id]), &|group| group == file.group());
        Ok(())
    }

    /// Forgets a file that was withdrawn.
    pub fn forget_file(&self, id: FileId) {
        write(&self.changed.files).remove(&id);
        lock(&self.changed.pending).retain(|page| page.file != id);
    }

    fn order_of_files(&self) -> Vec<FileId> {
        let groups = read(&self.groups);
        groups.values().flat_map(|group| group.files().iter().map(|file| file.id())).collect()
    }

    /// Other settings of a file, which its header has already.
    ///
    /// # Errors
    /// There is no such file.
    pub fn set_file_settings(&self, id: FileId, settings: FileSettings) -> Result<(), Error> {
        self.file(id)?.set_settings(settings);
        Ok(())
    }

    /// Do all files of the group grow when one does: AUTOGROW_ALL_FILES?
    pub fn set_grows_all_files(&self, group: i16, is_on: bool) {
        let mut groups = write(&self.grow_all);
        if is_on {
            groups.insert(group)
        } else {
            groups.remove(&group)
        };
    }

    pub(crate) fn grows_all_files(&self, group: i16) -> bool {
        read(&self.grow_all).contains(&group)
    }

    /// Reads which extents are free, and which pages of mixed extents.
    fn read_maps(&self, file: &DataFile) -> Result<(), Error> {
        let extents = file.extents();
        for first in (0..extents).step_by(EXTENTS_PER_GAM as usize) {
            let interval = PageId { file: file.id(), page: first * PAGES_PER_EXTENT };
            let limit = (extents - first).min(EXTENTS_PER_GAM);
            let free: Vec<u32> = self.map_bits(MapKind::Gam, interval, limit)?;
            free.iter().for_each(|bit| file.release(first + bit));
            for bit in self.map_bits(MapKind::Sgam, interval, limit)? {
                self.read_mixed(file, first + bit)?;
            }
            for bit in self.map_bits(MapKind::Diff, interval, limit)? {
                file.mark(first + bit);
            }
        }
        Ok(())
    }

    /// The bits that are set. None of a map that cannot be read: nothing is free there, nothing was
    /// changed.
    fn map_bits(&self, kind: MapKind, interval: PageId, limit: u32) -> Result<Vec<u32>, Error> {
        let page = match self.pool.read(kind.page_of(interval)) {
            Err(extentdb_buffer::Error::BadPage { .. }) => return Ok(Vec::new()),
            page => page?,
        };
        let bitmap = MapView::new(&page, kind).bitmap();
        Ok(bitmap.ones().take_while(|bit| *bit < limit).collect())
    }

    /// Sets the finder of the catalog rows of allocation units. To be called once, before the first
    /// allocation.
    pub fn set_unit_rows(&self, rows: Arc<dyn UnitRows>) {
        // A second call would change nothing; there is one engine above.
        let _ = self.rows.set(rows);
    }

    pub(crate) fn pending_pages(&self) -> MutexGuard<'_, HashMap<PageId, XactId>> {
        lock(&self.pending_pages)
    }

    pub(crate) fn unit_rows(&self) -> Option<&Arc<dyn UnitRows>> {
        self.rows.get()
    }

    /// The pool that pages come from.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// The transactions that changes belong to.
    pub fn transactions(&self) -> &Arc<Manager> {
        &self.transactions
    }

    /// How space is handed out.
    pub fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn events(&self) -> &dyn FillEvents {
        &*self.events
    }

    /// A data file.
    pub fn file(&self, id: FileId) -> Result<Arc<DataFile>, Error> {
        read(&self.changed.files).get(&id).cloned().ok_or(Error::NoFile { file: id })
    }

    /// All data files, by id.
    pub fn files(&self) -> Vec<Arc<DataFile>> {
        read(&self.changed.files).values().cloned().collect()
    }

    pub(crate) fn groups(&self) -> Vec<Arc<Filegroup>> {
        read(&self.groups).values().cloned().collect()
    }

    pub(crate) fn group(&self, id: i16) -> Result<Arc<Filegroup>, Error> {
        read(&self.groups).get(&id).cloned().ok_or(Error::NoFilegroup { group: id })
    }

    /// Extents that were changed and are not marked in DIFF yet: logged, so that a backup of
    /// differences has them. Belongs to no transaction: a mark too many does no harm.
    pub fn mark_changed(&self) -> Result<(), Error> {
        let mut pending = std::mem::take(&mut *lock(&self.changed.pending));
        pending.sort_unstable();
        let marked = pending
            .chunk_by(|page, next| MapKind::Diff.page_of(*page) == MapKind::Diff.page_of(*next))
            .try_for_each(|pages| self.mark_on_map(pages));
        if marked.is_err() {
            // Those that are marked already will be passed over.
            lock(&self.changed.pending).extend(pending);
        }
        marked
    }

    /// How many extents [`mark_changed`](Self::mark_changed) has to mark.
    pub fn unmarked_extents(&self) -> usize {
        lock(&self.changed.pending).len()
    }

    /// Marks the extents of these pages, in their order, on the one map that they share: neighbours
    /// with one record.
    fn mark_on_map(&self, pages: &[PageId]) -> Result<(), Error> {
        let Some(first) = pages.first() else { return Ok(()) };
        let mut map = match self.pool.write(MapKind::Diff.page_of(*first)) {
            // No backup of differences can be made of a file whose map cannot be read.
            Err(extentdb_buffer::Error::BadPage { .. }) => return Ok(()),
            map => map?,
        };
        let bits = pages.iter().map(|page| page.page % PAGES_PER_GAM / PAGES_PER_EXTENT);
        let bitmap = MapView::new(&map, MapKind::Diff).bitmap();
        let mut unmarked: Vec<u32> = bits.filter(|bit| !bitmap.get(*bit)).collect();
        unmarked.dedup();
        for run in unmarked.chunk_by(|bit, next| bit + 1 == *next) {
            let link = RecordOwner::Alone(&self.transactions);
            let count = run.len() as u32;
            self.set_map_bits(link, &mut map, Context::DIFF_MAP, run[0], count, true)?;
        }
        Ok(())
    }

    /// The same for extents that a restart found changed in the log.
    pub fn note_changed(&self, extents: impl IntoIterator<Item = Extent>) {
        extents.into_iter().for_each(|extent| self.changed.changes(extent.first_page()));
    }
}

/// Which extents have changed since the last full backup.
#[derive(Default)]
struct Changed {
    files: RwLock<BTreeMap<FileId, Arc<DataFile>>>,
    /// A page of each extent that has been marked in memory and not in DIFF.
    pending: Mutex<Vec<PageId>>,
}

impl PageChanges for Changed {
    fn changes(&self, page: PageId) {
        let is_new =
            read(&self.files).get(&page.file).is_some_and(|file| file.mark(page.extent().index));
        if is_new {
            lock(&self.pending).push(page);
        }
    }
}

impl std::fmt::Debug for Space {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Space({:?})", self.files())
    }
}
