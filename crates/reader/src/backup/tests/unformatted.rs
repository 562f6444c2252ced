//! Extents that do not name themselves: never formatted, or full of old disk content.

use super::builder::{MediaSpec, SetSpec, formatted, page};
use super::*;
use extentdb_base::PageId;
use extentdb_base::size::PAGE_BYTES;
use extentdb_format::allocation::bitmap::AllocationBitmapMut;
use extentdb_format::page::{PageHeader, checksum};

/// Extent 0 of a file, its GAM saying that exactly `allocated` are.
fn first_extent(file: u16, allocated: &[u32]) -> Vec<u8> {
    let mut extent = formatted(file, 0, 1);
    let mut gam = page(PageId::new(file, 2), 0);
    let mut bitmap = AllocationBitmapMut::of(&mut gam);
    bitmap.fill(true);
    allocated.iter().for_each(|index| bitmap.set(*index, false));
    PageHeader::of_mut(&mut gam).page_type = GAM_PAGE;
    checksum::seal(&mut gam);
    extent[2 * PAGE_BYTES..3 * PAGE_BYTES].copy_from_slice(&gam[..]);
    extent
}

const GAM_PAGE: u8 = 8;

fn zeros() -> Vec<u8> {
    vec![0; EXTENT_BYTES]
}

fn open(files: Vec<(u16, u32)>, extents: Vec<Vec<u8>>) -> [BackupSet; 2] {
    let spec = SetSpec { files, ..SetSpec::full(1, 0, extents) };
    let media = MediaSpec::of(vec![spec]);
    [media.build(), media.packed().build()].map(|bytes| only_set(bytes).unwrap())
}

#[test]
fn an_extent_without_a_header_is_placed_by_the_gam() {
    let first = first_extent(1, &[0, 1, 3, 4, 6, 7]);
    let rubbish = vec![0x65; EXTENT_BYTES];
    let extents =
        vec![first, zeros(), formatted(1, 3, 1), rubbish.clone(), formatted(1, 6, 1), zeros()];
    for set in open(vec![(1, 9)], extents) {
        assert!(set.findings().is_empty(), "{:?}", texts(set.findings()));
        assert_eq!(indexes(&set, 1), [0, 1, 3, 4, 6, 7]);
        assert!(read(&set, extent(1, 4)).unwrap() == rubbish);
        assert!(read(&set, extent(1, 1)).unwrap() == zeros());
    }
}

#[test]
fn a_run_of_unnamed_extents_may_cross_into_the_next_file() {
    let extents = vec![
        first_extent(1, &[0, 1, 5, 6]),
        formatted(1, 1, 1),
        vec![0x11; EXTENT_BYTES],
        vec![0x22; EXTENT_BYTES],
        first_extent(3, &[0, 2]),
        vec![0x33; EXTENT_BYTES],
    ];
    for set in open(vec![(1, 8), (3, 8)], extents) {
        assert!(set.findings().is_empty(), "{:?}", texts(set.findings()));
        assert_eq!((indexes(&set, 1), indexes(&set, 3)), (vec![0, 1, 5, 6], vec![0, 2]));
        assert_eq!(read(&set, extent(1, 6)).unwrap()[9], 0x22);
        assert_eq!(read(&set, extent(3, 2)).unwrap()[9], 0x33);
    }
}

#[test]
fn an_extent_with_two_possible_positions_is_left_out_and_reported() {
    let extents = vec![first_extent(1, &[0, 1, 2, 4]), zeros(), formatted(1, 4, 1)];
    for set in open(vec![(1, 9)], extents) {
        assert_eq!(indexes(&set, 1), [0, 4]);
        assert_eq!(
            texts(set.findings()),
            ["1 extents (from number 1 of the set) name no page and could not be placed"]
        );
    }
}

/// Eight empty work pages, as in a new buffer of BACKUP.
fn work_pages() -> Vec<u8> {
    let mut one = vec![0; PAGE_BYTES];
    one[..2].copy_from_slice(&[1, 0x65]);
    one[28..32].copy_from_slice(&[0xa0, 0x1f, 0x60, 0]);
    one.repeat(8)
}

#[test]
fn a_buffer_that_was_never_filled_is_no_extent_and_no_damage() {
    let first = || first_extent(1, &[0, 1, 4]);
    let cases = [
        vec![first(), formatted(1, 1, 1), formatted(1, 4, 1), work_pages()],
        vec![first(), work_pages(), formatted(1, 1, 1), formatted(1, 4, 1)],
        vec![first(), formatted(1, 1, 1), work_pages(), work_pages(), formatted(1, 4, 1)],
    ];
    for (extents, fillers) in cases.into_iter().zip([1, 1, 2]) {
        for set in open(vec![(1, 9)], extents.clone()) {
            assert!(set.findings().is_empty(), "{:?}", texts(set.findings()));
            assert_eq!(indexes(&set, 1), [0, 1, 4]);
            assert_eq!(set.filler_images(), fillers);
        }
    }
}

#[test]
fn an_allocated_extent_next_to_fillers_is_placed() {
    let rubbish = vec![0x17; EXTENT_BYTES];
    let extents =
        vec![first_extent(1, &[0, 2, 4]), work_pages(), rubbish.clone(), formatted(1, 4, 1)];
    for set in open(vec![(1, 9)], extents) {
        assert!(set.findings().is_empty(), "{:?}", texts(set.findings()));
        assert_eq!(indexes(&set, 1), [0, 2, 4]);
        assert!(read(&set, extent(1, 2)).unwrap() == rubbish);
    }
}

#[test]
fn zeros_without_an_allocated_extent_are_reported() {
    // They may be what is left of a later image of an extent.
    let extents = vec![first_extent(1, &[0, 4]), formatted(1, 4, 1), zeros()];
    for set in open(vec![(1, 9)], extents) {
        assert_eq!((indexes(&set, 1), set.filler_images()), (vec![0, 4], 0));
        assert_eq!(
            texts(set.findings()),
            ["1 extents (from number 2 of the set) name no page and could not be placed"]
        );
    }
}

#[test]
fn with_a_missing_stripe_the_gam_places_nothing() {
    // Extent 2 lies in the other stripe: the extent without a header may be 1 or 2, or filler.
    let rubbish = vec![0x17; EXTENT_BYTES];
    let extents = vec![first_extent(1, &[0, 2, 4]), rubbish, formatted(1, 4, 1)];
    let spec = SetSpec { files: vec![(1, 9)], ..SetSpec::full(1, 0, extents) };
    let bytes = MediaSpec { family: 1, families: 2, ..MediaSpec::of(vec![spec]) }.build();
    let options = SetOptions { allow_missing_stripes: true, ..SetOptions::default() };
    let set = media(vec![bytes]).unwrap().open_set(None, &options).unwrap();
    assert_eq!(indexes(&set, 1), [0, 4]);
    assert_eq!(texts(set.findings()), ["family 2 of 2 is not given"]);
}

#[test]
fn a_later_page_claims_the_extent_when_the_first_cannot() {
    let mut half = formatted(1, 5, 1);
    half[..3 * PAGE_BYTES].fill(0);
    // A header whose page number does not fit its slot is ignored.
    half[PAGE_BYTES..2 * PAGE_BYTES].copy_from_slice(&page(PageId::new(1, 71), 1)[..]);
    for set in open(vec![(1, 12)], vec![first_extent(1, &[0, 5]), half.clone()]) {
        assert_eq!(indexes(&set, 1), [0, 5]);
        assert!(read(&set, extent(1, 5)).unwrap() == half);
    }
}

#[test]
fn an_old_page_does_not_outvote_the_others() {
    // Extent 6: its first page was never formatted and holds a page of extent 2.
    let mut extent_6 = formatted(1, 6, 1);
    extent_6[..PAGE_BYTES].copy_from_slice(&page(PageId::new(1, 16), 1)[..]);
    // Extent 7: an old page of a file that is not in the backup, then its own.
    let mut extent_7 = formatted(1, 7, 1);
    extent_7[..PAGE_BYTES].copy_from_slice(&page(PageId::new(9, 800), 1)[..]);
    // Extent 8: only an old page from past the end of the file.
    let mut extent_8 = zeros();
    extent_8[..PAGE_BYTES].copy_from_slice(&page(PageId::new(1, 8000), 1)[..]);
    let first = first_extent(1, &[0, 2, 6, 7, 8]);
    let extents =
        vec![first, formatted(1, 2, 1), extent_6.clone(), extent_7.clone(), extent_8.clone()];
    for set in open(vec![(1, 12)], extents) {
        assert!(set.findings().is_empty(), "{:?}", texts(set.findings()));
        assert_eq!(indexes(&set, 1), [0, 2, 6, 7, 8]);
        assert!(read(&set, extent(1, 2)).unwrap() == formatted(1, 2, 1));
        for (index, bytes) in [(6, &extent_6), (7, &extent_7), (8, &extent_8)] {
            assert!(read(&set, extent(1, index)).unwrap() == *bytes, "extent {index}");
        }
    }
}
