//! Faults of whole files and of pages that went astray.

use extentdb_base::env::SplitMix64;
use extentdb_base::size::PAGE_BYTES;
use extentdb_format::PageBuf;

use super::Fault;
use super::target::Target;

/// Row 19: the last allocated extent of a file is gone, with all that lies behind it. Which of the messages about
/// pages that nobody can read a check gives depends on what they were: leaf or not, first or last.
pub(super) fn truncated(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let (extent, found) = target.last_extent(rng)?;
    let first = extent.first_page();
    let bytes = u64::from(first.page) * PAGE_BYTES as u64;
    Some(Fault {
        page: first,
        slot: None,
        object: found.object,
        images: Vec::new(),
        truncate: Some((first.file, bytes)),
        expected: vec![8928, 8939],
        permitted: vec![823, 2579, 8968, 8976, 8977, 8978, 8979, 8980, 8981, 2533, 2534, 8905],
    })
}

/// Row 17: a misdirected write. The foreign image is sound in itself, its checksum is right.
pub(super) fn foreign_page(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = target.leaf(rng).or_else(|| target.heap(rng))?;
    let foreign = (0..16).find_map(|_| target.row_page(rng).filter(|other| other.id != found.id))?;
    let mut page = PageBuf::zeroed();
    target.image.raw(foreign.id, &mut page).ok()?;
    let expected: &[u32] = if found.is_leaf() { &[8909, 8928, 8976, 8978] } else { &[8909, 8928] };
    Some(Fault::on_page(found.id, found.object, page, expected, &[]))
}
