//! Faults of the links between pages of one level.

use extentdb_base::PageId;
use extentdb_base::env::SplitMix64;
use extentdb_format::page::PageHeader;

use super::Fault;
use super::target::{Target, reseal};

/// Row 32: the page behind is missing its reference.
pub(super) fn next_none(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = target.leaf(rng)?;
    let mut page = found.page.clone();
    PageHeader::of_mut(&mut page).next_bytes = PageId::NONE.to_bytes();
    reseal(target.image, found.id, &mut page)?;
    Some(Fault::on_page(found.id, found.object, page, &[8978], &[8936, 8935]))
}

/// Row 30: the page before points here, and is not pointed back at.
pub(super) fn previous_none(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = target.leaf(rng)?;
    let mut page = found.page.clone();
    PageHeader::of_mut(&mut page).prev_bytes = PageId::NONE.to_bytes();
    reseal(target.image, found.id, &mut page)?;
    Some(Fault::on_page(found.id, found.object, page, &[8936, 8935], &[8978]))
}
