//! Group 11: changes that leave a database sound. A check must report nothing.

use extentdb_base::PageId;
use extentdb_catalog::layout::PhysicalColumn;
use extentdb_catalog::table::Source;
use extentdb_format::page::{PageHeader, PageRef};
use extentdb_format::record::RecordKind;
use extentdb_types::SqlType;

use crate::candidates::{CandidatePage, Candidates};
use crate::edit::Edit;
use crate::row::{has_pointers, make_ghost, span};
use extentdb_format::PageBuf;

/// Pages that one control changes.
const PAGES: usize = 8;

/// A change that is no fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Harmless {
    /// Garbage in free extents and in the free space of pages.
    Garbage,
    /// The first rows of some leaf pages are deleted: their separators are lower than any row.
    FirstRowsDeleted,
    /// Letters change their case, in the rows and in the indexes, under a collation that ignores
    /// it.
    CaseChanged,
    /// All rows of a page are ghosts, and so are their entries.
    Ghosts,
}

impl Harmless {
    /// All of them.
    pub const ALL: [Harmless; 4] =
        [Harmless::Garbage, Harmless::FirstRowsDeleted, Harmless::CaseChanged, Harmless::Ghosts];

    /// The name in test output.
    pub const fn name(self) -> &'static str {
        match self {
            Harmless::Garbage => "garbage",
            Harmless::FirstRowsDeleted => "first-rows-deleted",
            Harmless::CaseChanged => "case-changed",
            Harmless::Ghosts => "ghosts",
        }
    }

    /// New images of pages; `None` when there is nothing to change.
    pub(crate) fn make(self, db: &Candidates<'_>) -> Option<Vec<(PageId, PageBuf)>> {
        match self {
            Harmless::Garbage => garbage(db),
            Harmless::FirstRowsDeleted => first_rows_deleted(db),
            Harmless::CaseChanged => case_changed(db),
            Harmless::Ghosts => ghosts(db),
        }
    }
}

/// N1: random bytes in the free space of pages, and in pages that are free.
fn garbage(db: &Candidates<'_>) -> Option<Vec<(PageId, PageBuf)>> {
    let mut edit = Edit::new(db);
    for _ in 0..PAGES {
        let Some(found) = db.row_page().or_else(|| db.entry_page()) else {
            break;
        };
        let free = usize::from(found.header().free_offset.get())..found.view().slot_array_start();
        edit.page(found.id)?.get_mut(free)?.iter_mut().for_each(|byte| *byte = db.next_u64() as u8);
    }
    let mut images = edit.images()?;
    if let Some(extent) = db.free_extent() {
        // Nobody's pages carry no protection that could be right.
        images.extend(extent.pages().filter(|page| db.stored(*page).is_some()).map(|page| {
            let mut image = PageBuf::zeroed();
            image.iter_mut().for_each(|byte| *byte = db.next_u64() as u8);
            (page, image)
        }));
    }
    (!images.is_empty()).then_some(images)
}

/// N2: the first row of leaf pages is deleted; the separators above keep its key.
fn first_rows_deleted(db: &Candidates<'_>) -> Option<Vec<(PageId, PageBuf)>> {
    let mut edit = Edit::new(db);
    let mut deleted = 0;
    for _ in 0..4 * PAGES {
        let Some(found) = db.leaf() else { break };
        let is_row = found.record(0).is_some_and(|record| record.kind() == RecordKind::Primary);
        if !is_row || edit.has(found.id) || deleted == PAGES {
            continue;
        }
        let entries = db.entries_of(&found, 0);
        // On a page that changed already the slots are others.
        let is_clear =
            entries.is_some_and(|entries| entries.iter().all(|(entry, _)| !edit.has(entry.id)));
        if is_clear && db.remove_row(&mut edit, &found, 0).is_some() {
            deleted += 1;
        }
    }
    (deleted > 0).then(|| edit.images())?
}

/// N6: letters of a text change their case, under a collation that ignores it.
fn case_changed(db: &Candidates<'_>) -> Option<Vec<(PageId, PageBuf)>> {
    let ignores_case = |column: &PhysicalColumn| {
        let collation = column.ty.and_then(|ty| match ty {
            SqlType::Char { collation, .. } | SqlType::VarChar { len: Some(_), collation } => {
                Some(collation)
            }
            _ => None,
        });
        collation.is_some_and(|collation| !collation.is_binary() && collation.ignores_case())
    };
    let pages = db.base_pages();
    let pick = |indexed: bool| {
        db.pick_row(&pages, |found, slot, _| {
            let table = db.table(&found.partition)?;
            if table.columns.iter().any(|column| column.computed.is_some())
                || table.indexes.iter().any(|index| index.filter.is_some())
            {
                return None;
            }
            db.columns(&found.partition).filter(|column| ignores_case(column)).find_map(|column| {
                let is_it = db.is_indexed(&found.partition, column.column_id) == indexed;
                let offset = span(&found.page, slot, column).filter(|_| is_it)?;
                let at =
                    found.page.get(offset.clone())?.iter().position(u8::is_ascii_alphabetic)?;
                Some((column.column_id, offset.start + at, at))
            })
        })
    };
    let (found, slot, (id, offset, at)) = pick(true).or_else(|| pick(false))?;
    let mut edit = Edit::new(db);
    *edit.page(found.id)?.get_mut(offset)? ^= 0x20;
    for (entry, slot) in db.entries_of(&found, slot)? {
        let copies = db.sources(&entry.partition);
        if let Some((copy, _)) = copies.iter().find(|(_, source)| *source == Source::Column(id)) {
            let offset = span(&entry.page, slot, copy)?.start + at;
            *edit.page(entry.id)?.get_mut(offset)? ^= 0x20;
        }
    }
    edit.images()
}

/// N7: a page of only ghosts.
fn ghosts(db: &Candidates<'_>) -> Option<Vec<(PageId, PageBuf)>> {
    let is_plain = |found: &CandidatePage| {
        let records = || (0..found.slots()).filter_map(|slot| found.record(slot));
        let table = db.table(&found.partition);
        let has_filter =
            table.is_some_and(|table| table.indexes.iter().any(|index| index.filter.is_some()));
        !has_filter
            && records()
                .all(|record| record.kind() == RecordKind::Primary && !has_pointers(&record))
    };
    let (found, ()) =
        db.pick(db.leaves(), |found| (found.has_links() && is_plain(found)).then_some(()))?;
    let mut edit = Edit::new(db);
    for slot in 0..found.slots() {
        let entries = db.entries_of(&found, slot)?;
        let all = entries.iter().map(|(entry, slot)| (entry.id, *slot)).chain([(found.id, slot)]);
        for (id, slot) in all.collect::<Vec<_>>() {
            let page = edit.page(id)?;
            PageRef::new(page).slot_offset(slot)?;
            make_ghost(page, slot)?;
            let ghosts = &mut PageHeader::of_mut(page).ghost_count;
            ghosts.set(ghosts.get() + 1);
        }
    }
    edit.images()
}
