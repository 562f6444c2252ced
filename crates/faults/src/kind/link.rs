//! Group 2: the links between pages of one level.

use extentdb_base::PageId;
use extentdb_format::PageBuf;
use extentdb_format::page::PageHeader;

use crate::candidates::{CandidatePage, Candidates, children_of};
use crate::edit::Edit;
use crate::fault::{Fault, Owner};
use crate::kind::header::{beyond, changed};
use crate::kind::raw::header_of;

fn set_prev(page: PageId) -> impl FnOnce(&mut PageBuf) -> Option<()> {
    move |image| {
        PageHeader::of_mut(image).prev_bytes = page.to_bytes();
        Some(())
    }
}

fn set_next(page: PageId) -> impl FnOnce(&mut PageBuf) -> Option<()> {
    move |image| {
        PageHeader::of_mut(image).next_bytes = page.to_bytes();
        Some(())
    }
}

/// A leaf page, and another one of its tree.
fn far_pair(db: &Candidates<'_>) -> Option<(CandidatePage, CandidatePage)> {
    db.pick(db.leaves(), |found| far_leaf(db, found))
}

/// A leaf page of the same tree that is neither the page nor next to it, and has both neighbours
/// itself.
fn far_leaf(db: &Candidates<'_>, found: &CandidatePage) -> Option<CandidatePage> {
    let (prev, next) = found.neighbours?;
    let own = found.partition.unit.id;
    let suits = |other: &CandidatePage| {
        let is_far = ![prev, next, found.id].contains(&other.id) && other.has_links();
        (is_far && other.partition.unit.id == own).then_some(())
    };
    db.pick(db.leaves(), suits).map(|(other, ())| other)
}

/// Row 30: the page before points here, and is not pointed back at.
pub(crate) fn previous_none(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.leaf()?;
    changed(db, &found, set_prev(PageId::NONE), &[8936, 8935]).map(|fault| fault.permit(&[8978]))
}

/// Row 31: the previous link of a leaf page leads to a page far away.
pub(crate) fn previous_wrong(db: &Candidates<'_>) -> Option<Fault> {
    let (found, far) = far_pair(db)?;
    changed(db, &found, set_prev(far.id), &[8935, 8936, 8978])
}

/// Row 32: the next page lacks a reference.
pub(crate) fn next_none(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.leaf()?;
    changed(db, &found, set_next(PageId::NONE), &[8978]).map(|fault| fault.permit(&[8936, 8935]))
}

/// Row 33: the next link of a leaf page leads to a page far away.
pub(crate) fn next_wrong(db: &Candidates<'_>) -> Option<Fault> {
    let (found, far) = far_pair(db)?;
    changed(db, &found, set_next(far.id), &[8936, 8978])
}

/// Row 34. NOINDEX does not read the page that the link refers to, and reports that it was not
/// encountered.
pub(crate) fn next_index(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.leaf()?;
    let other = db.pick(db.entries(), |_| Some(())).map(|(other, ())| other)?;
    let fault = changed(db, &found, set_next(other.id), &[8978])?;
    Some(fault.any_of(&[8982]).permit(&[8981]).unread_with_no_index(&[8982]))
}

/// Row 35: the next link of a leaf page leads to a free page.
pub(crate) fn next_free(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.leaf()?;
    let free = db.free_extent()?.first_page();
    changed(db, &found, set_next(free), &[8981, 8978])
}

/// Row 36: the next link of a leaf page leads past the end of the file.
pub(crate) fn next_beyond(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.leaf()?;
    let fault = changed(db, &found, set_next(beyond(db, found.id)), &[8978])?;
    Some(fault.any_of(&[8981, 8968]))
}

/// Row 37: all children of one parent point at each other only, and their neighbours close the gap:
/// every link is answered, and the parents know better.
pub(crate) fn detached_cycle(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.upper()?;
    let children = children_of(&found);
    let first = *children.first()?;
    let last = *children.last()?;
    let before = header_of(db, first)?.prev();
    let after = header_of(db, last)?.next();
    if before.is_none() || after.is_none() || first == last {
        return None;
    }
    let mut edit = Edit::new(db);
    edit.header(first, |header| header.prev_bytes = last.to_bytes())?;
    edit.header(last, |header| header.next_bytes = first.to_bytes())?;
    edit.header(before, |header| header.next_bytes = after.to_bytes())?;
    edit.header(after, |header| header.prev_bytes = before.to_bytes())?;
    let fault = Fault::new(first, Owner::of(&found.partition), edit.images()?, &[8935]);
    Some(fault.permit(&[8978, 8936]))
}

/// A page without an owner, for dangling pointers.
pub(crate) fn free_page(db: &Candidates<'_>) -> Option<PageId> {
    let first = db.free_extent()?.first_page();
    Some(PageId { page: first.page + db.below(8) as u32, ..first })
}
