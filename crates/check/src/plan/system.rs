//! Boot page, file headers, and the primitive checks of the critical system tables (`docs/check.md`
//! 1).
//!
//! ```text
//! 5250        file header, boot page
//! 7984 - 7988 leaf chains of sysallocunits (7), sysrowsets (5), sysrscols (3); in 2005 also 4, 13
//!      and 15
//! 8930        what they hold cannot be used
//! ```
//!
//! The tables that say where everything is are walked along their leaf links. A finding here is
//! fatal for everything that needs the catalog; pages are audited all the same.

use std::collections::HashSet;

use extentdb_base::{AllocUnitId, ObjectId, PageId};
use extentdb_catalog::bootstrap::{Bootstrap, SYSALLOCUNITS};
use extentdb_catalog::system::{SystemTables, object};
use extentdb_catalog::{Catalog, Fault};
use extentdb_format::PageBuf;
use extentdb_format::allocation::boot::{BootFault, BootRecord, BootView};
use extentdb_format::allocation::file_header::FileHeaderView;
use extentdb_format::page::header::HEADER_VERSION;
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_format::record::Record;
use extentdb_reader::CheckedPages;

use super::Prelude;
use super::pages::load;
use crate::finding::{Location, page_arg};

/// The latch DBCC asks for, as 7985 names it.
const LATCH: &str = "SH";
/// Deeper than any tree.
const LEVELS_MAX: usize = 40;
/// Tables that describe the others, besides sysallocunits; the last three exist up to 2005.
const CRITICAL: [ObjectId; 5] = [
    object::SYSROWSETS,
    object::SYSRSCOLS,
    object::SYSROWSETCOLUMNS,
    object::SYSHOBTCOLUMNS,
    object::SYSHOBTS,
];

/// The first version with pages of 8 KiB (SQL Server 7.0): no boot page can say less.
const OLDEST_VERSION: u16 = 515;

/// All pages since SQL Server 7.0 have one form of header.
fn has_known_version(page: &PageBuf) -> bool {
    PageHeader::of(page).header_version == HEADER_VERSION
}

impl Prelude<'_> {
    /// Audits the boot page; its record when it can be used.
    pub(super) fn read_boot(&mut self) -> Option<BootRecord> {
        let mut page = PageBuf::zeroed();
        if self.source.page_count(PageId::BOOT.file) == 0 {
            self.leave_out("catalog and ownership of pages", "the primary data file was not given");
            return None;
        }
        if self.is_missing(PageId::BOOT) {
            return None;
        }
        let state = load(self.source, PageId::BOOT, &mut page);
        let view = BootView::new(&page);
        let is_possible = |boot: &BootRecord| boot.version >= OLDEST_VERSION;
        // A time that is none says nothing about the rest.
        let is_usable = view.faults().iter().all(|fault| matches!(fault, BootFault::Time { .. }));
        let is_sound = state.is_sound() && has_known_version(&page);
        let record = view.record().filter(|_| is_sound && is_usable).filter(is_possible);
        if record.is_none() {
            self.report_header_page("boot", PageId::BOOT);
        }
        record
    }

    /// Audits the header page of every file.
    pub(super) fn read_file_headers(&mut self) {
        let mut page = PageBuf::zeroed();
        for file in self.source.files() {
            let id = PageId { file: file.id, page: 0 };
            if self.is_missing(id) {
                continue;
            }
            let state = load(self.source, id, &mut page);
            let view = FileHeaderView::new(&page);
            if !state.is_sound() || !has_known_version(&page) || !view.faults().is_empty() {
                self.report_header_page("file header", id);
                continue;
            }
            let header = view.header();
            if header.is_encrypted() {
                let args = [
                    file.path.display().to_string().into(),
                    "its header holds an encryption key".into(),
                ];
                self.note(59011, Location::page(id), args);
                self.encrypted.push(file.id);
            }
            self.header_lsns.push((file.id, header.diff_base_lsn.unwrap_or_default()));
        }
    }

    pub(super) fn report_header_page(&mut self, what: &'static str, id: PageId) {
        let args =
            [what.into(), page_arg(id), self.database.clone().into(), self.database_id.into()];
        self.report(5250, Location::page(id), args);
        self.mark_bad(id, 5250);
    }

    /// The catalog, when it can be read. Sets `is_fatal` when it cannot be trusted.
    pub(super) fn read_catalog(&mut self, boot: &BootRecord) -> (Bootstrap, Option<Catalog>) {
        self.walk_chain(object::SYSALLOCUNITS, SYSALLOCUNITS, boot.first_sys_indexes, PageId::BOOT);
        let pages = CheckedPages::new(self.source);
        let bootstrap = Bootstrap::load(&pages, boot.first_sys_indexes);
        for object in CRITICAL {
            let unit = AllocUnitId(i64::from(object.0) << 16);
            if let Some(known) = bootstrap.units.get(&unit) {
                self.walk_leaf_level(object, unit, known.root);
            }
        }
        self.judge_bootstrap(&bootstrap);
        let catalog = match Catalog::load(&pages) {
            Ok(catalog) => Some(catalog),
            Err(error) => {
                self.leave_out("names of objects", &format!("the catalog cannot be read: {error}"));
                self.judge_objects(&SystemTables::new(&pages, &bootstrap));
                None
            }
        };
        (bootstrap, catalog)
    }

    /// 8930: the table of all objects is empty, and nothing else says why.
    fn judge_objects(&mut self, tables: &SystemTables<'_>) {
        let mut faults = Vec::new();
        tables.each(object::SYSSCHOBJS, &mut faults, |_| {});
        if !self.is_fatal && faults.iter().all(Fault::is_damage) {
            self.report(8930, Location::page(PageId::BOOT), [self.database_id.into()]);
        }
    }

    /// What the header's encryption columns hold in a file that is not encrypted is not known for
    /// every version: a catalog that can be read says that nothing is, for encryption is a matter
    /// of the whole database.
    pub(super) fn settle_encryption(&mut self, has_catalog: bool) {
        const ENCRYPTED: u32 = 59011;
        if has_catalog && !self.is_fatal {
            self.notes.retain(|note| note.error != ENCRYPTED);
            return;
        }
        for file in std::mem::take(&mut self.encrypted) {
            self.leave_out(&format!("content of file {file}"), "the file is encrypted");
        }
    }

    /// Whatever else kept the bootstrap tables from being read in full.
    fn judge_bootstrap(&mut self, bootstrap: &Bootstrap) {
        let is_serious = |fault: &&Fault| !matches!(fault, Fault::Catalog(_));
        let has_columns =
            bootstrap.rowsets.values().any(|rowset| !rowset.layout.columns.is_empty());
        let lacks = bootstrap.units.is_empty() || !has_columns;
        if !self.is_fatal && (lacks || bootstrap.faults.iter().any(|fault| is_serious(&fault))) {
            let why =
                bootstrap.faults.first().map_or_else(|| "no rows".to_owned(), ToString::to_string);
            self.report(8930, Location::page(PageId::BOOT), [self.database_id.into()]);
            self.leave_out("ownership of pages", &format!("the catalog contradicts itself: {why}"));
            self.is_fatal = true;
        }
    }

    /// Walks the leaf level of a tree from its leftmost page.
    fn walk_leaf_level(&mut self, object: ObjectId, unit: AllocUnitId, root: PageId) {
        if root.is_none() {
            return;
        }
        match self.leftmost_leaf(root) {
            Ok((leaf, parent)) => self.walk_chain(object, unit, leaf, parent),
            Err(page) => self.report_unreadable(object, page),
        }
    }

    /// Descends along the first child; fails with the page that cannot be read.
    fn leftmost_leaf(&mut self, root: PageId) -> Result<(PageId, PageId), PageId> {
        let mut page = PageBuf::zeroed();
        let mut id = root;
        let mut parent = PageId::BOOT;
        for _ in 0..LEVELS_MAX {
            if !load(self.source, id, &mut page).is_sound() {
                return Err(id);
            }
            let view = PageRef::new(&page);
            if view.header().kind() != PageType::Index {
                return Ok((id, parent));
            }
            let pminlen = view.header().fixed_len.get();
            let child =
                view.record_bytes(0).and_then(|bytes| Record::parse_index(bytes, pminlen).child());
            (parent, id) = (id, child.ok_or(id)?);
        }
        Err(id)
    }

    /// Follows the next pointers of leaf pages: 7984 to 7988.
    fn walk_chain(&mut self, object: ObjectId, unit: AllocUnitId, first: PageId, from: PageId) {
        let mut page = PageBuf::zeroed();
        let mut seen = HashSet::new();
        let mut previous = from;
        let mut id = first;
        while !id.is_none() {
            if !seen.insert(id) {
                return self.report_chain(object, 7988, id, &[page_arg(id)]);
            }
            if !load(self.source, id, &mut page).is_sound() {
                return self.report_unreadable(object, id);
            }
            let header = PageHeader::of(&page);
            if header.kind() != PageType::Data {
                let args = [page_arg(id), header.page_type.into()];
                return self.report_chain(object, 7984, id, &args);
            }
            if !header.belongs_to(unit) {
                let args =
                    [page_arg(previous), page_arg(id), header.alloc_unit().0.into(), unit.0.into()];
                return self.report_chain(object, 7986, id, &args);
            }
            if id != first && header.prev() != previous {
                let args =
                    [page_arg(previous), page_arg(id), page_arg(id), page_arg(header.prev())];
                return self.report_chain(object, 7987, id, &args);
            }
            (previous, id) = (id, header.next());
        }
    }

    fn report_unreadable(&mut self, object: ObjectId, page: PageId) {
        self.report_chain(object, 7985, page, &[page_arg(page), LATCH.into()]);
    }

    fn report_chain(
        &mut self,
        object: ObjectId,
        error: u32,
        page: PageId,
        args: &[extentdb_messages::Arg<'static>],
    ) {
        let args = std::iter::once(object.0.into()).chain(args.iter().cloned());
        self.report(error, Location::page(page), args);
        self.is_fatal = true;
        // A page with a wrong link is still worth its audit.
        if !matches!(error, 7987 | 7988) {
            self.mark_bad(page, error);
        }
    }
}
