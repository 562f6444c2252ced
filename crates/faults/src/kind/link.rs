//! Group 2: the links between pages of one level.

use extentdb_base::PageId;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_format::PageBuf;
use extentdb_format::page::PageHeader;

use crate::edit::Edit;
use crate::fault::{Fault, Owner};
use crate::kind::header::{beyond, changed};
use crate::kind::raw::header_of;
use crate::target::{Found, Target, children_of};

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
fn far_pair(target: &Target<'_>, rng: &mut SplitMix64) -> Option<(Found, Found)> {
    target.pick(rng, target.leaves(), |found, rng| far_leaf(target, found, rng))
}

/// A leaf page of the same tree that is neither the page nor next to it, and has both neighbours
/// itself.
fn far_leaf(target: &Target<'_>, found: &Found, rng: &mut SplitMix64) -> Option<Found> {
    let (prev, next) = found.neighbours?;
    let own = found.part.unit.id;
    let suits = |other: &Found, _: &mut SplitMix64| {
        let is_far = ![prev, next, found.id].contains(&other.id) && other.has_links();
        (is_far && other.part.unit.id == own).then_some(())
    };
    target.pick(rng, target.leaves(), suits).map(|(other, ())| other)
}

/// Row 30: the page before points here, and is not pointed back at.
pub(crate) fn previous_none(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = target.leaf(rng)?;
    changed(target, &found, set_prev(PageId::NONE), &[8936, 8935])
        .map(|fault| fault.permit(&[8978]))
}

/// Row 31.
pub(crate) fn previous_wrong(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let (found, far) = far_pair(target, rng)?;
    changed(target, &found, set_prev(far.id), &[8935, 8936, 8978])
}

/// Row 32: the page behind is missing its reference.
pub(crate) fn next_none(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = target.leaf(rng)?;
    changed(target, &found, set_next(PageId::NONE), &[8978])
        .map(|fault| fault.permit(&[8936, 8935]))
}

/// Row 33.
pub(crate) fn next_wrong(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let (found, far) = far_pair(target, rng)?;
    changed(target, &found, set_next(far.id), &[8936, 8978])
}

/// Row 34. NOINDEX does not read the page that the link leads to, and says that it was not
/// encountered.
pub(crate) fn next_index(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = target.leaf(rng)?;
    let other = target.pick(rng, target.entries(), |_, _| Some(())).map(|(other, ())| other)?;
    let fault = changed(target, &found, set_next(other.id), &[8978])?;
    Some(fault.any_of(&[8982]).permit(&[8981]).unread_with_no_index(&[8982]))
}

/// Row 35.
pub(crate) fn next_free(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = target.leaf(rng)?;
    let free = target.free_extent(rng)?.first_page();
    changed(target, &found, set_next(free), &[8981, 8978])
}

/// Row 36.
pub(crate) fn next_beyond(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = target.leaf(rng)?;
    let fault = changed(target, &found, set_next(beyond(target, found.id)), &[8978])?;
    Some(fault.any_of(&[8981, 8968]))
}

/// Row 37: all children of one parent point at each other only, and their neighbours close the gap:
/// every link is answered, and the parents know better.
pub(crate) fn detached_cycle(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = target.upper(rng)?;
    let children = children_of(&found);
    let first = *children.first()?;
    let last = *children.last()?;
    let before = header_of(target, first)?.prev();
    let after = header_of(target, last)?.next();
    if before.is_none() || after.is_none() || first == last {
        return None;
    }
    let mut edit = Edit::new(target);
    edit.header(first, |header| header.prev_bytes = last.to_bytes())?;
    edit.header(last, |header| header.next_bytes = first.to_bytes())?;
    edit.header(before, |header| header.next_bytes = after.to_bytes())?;
    edit.header(after, |header| header.prev_bytes = before.to_bytes())?;
    let fault = Fault::new(first, Owner::of(&found.part), edit.images()?, &[8935]);
    Some(fault.permit(&[8978, 8936]))
}

/// A page that is nobody's, for pointers that lead nowhere.
pub(crate) fn free_page(target: &Target<'_>, rng: &mut SplitMix64) -> Option<PageId> {
    let first = target.free_extent(rng)?.first_page();
    Some(PageId { page: first.page + rng.below(8) as u32, ..first })
}
