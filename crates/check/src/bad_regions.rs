//! Bad pages that lie side by side, whatever objects they belong to (59024): one cause is likely,
//! and it is no object's own.
//!
//! ```text
//! page      311 312 313     315     317         902
//! object     A   A   B       B       C           A
//!            └────────── one place ──┘            no other near it
//! ```

use std::collections::BTreeSet;

use extentdb_base::FileId;
use extentdb_base::size::PAGE_BYTES;

use crate::audit::part::BadPage;
use crate::finding::{Finding, Location, page_arg};
use crate::report::DataFile;

/// Pages no further apart than an extent are near each other.
const NEAR: u32 = 8;
/// Minimum number of bad pages of a damaged region, when they belong to several objects.
const PAGES_MIN: usize = 4;

/// A note for each place of several bad pages of several objects.
pub(crate) fn bad_regions(bad: &[BadPage], files: &[DataFile]) -> Vec<Finding> {
    let mut pages: Vec<&BadPage> = bad.iter().collect();
    pages.sort_unstable_by_key(|bad| bad.page);
    pages.dedup_by_key(|bad| bad.page);
    let is_near = |a: &&BadPage, b: &&BadPage| {
        a.page.file == b.page.file && b.page.page - a.page.page <= NEAR
    };
    pages.chunk_by(is_near).filter_map(|place| note(place, files)).collect()
}

fn note(place: &[&BadPage], files: &[DataFile]) -> Option<Finding> {
    let units: BTreeSet<_> = place.iter().map(|bad| bad.unit).collect();
    let first = place.first()?.page;
    let last = place.last()?.page;
    if place.len() < PAGES_MIN || units.len() < 2 {
        return None;
    }
    let bytes = |pages: u32| i64::from(pages) * PAGE_BYTES as i64;
    let path =
        |id: FileId| files.iter().find(|file| file.id == id).map_or("", |file| file.path.as_str());
    let args = [
        (place.len() as i32).into(),
        (units.len() as i32).into(),
        path(first.file).into(),
        page_arg(first),
        bytes(first.page).into(),
        bytes(last.page - first.page + 1).into(),
    ];
    Some(Finding::new(59024, Location::page(first), args))
}

#[cfg(test)]
mod tests {
    use extentdb_base::PageId;

    use super::*;

    fn bad(file: u16, page: u32, unit: u32) -> BadPage {
        BadPage { page: PageId::new(file, page), unit: Some(unit), error: 824 }
    }

    fn notes(bad: &[BadPage]) -> Vec<String> {
        let file = |id| DataFile { id: FileId(id), path: format!("f{id}.mdf"), is_plain: true };
        bad_regions(bad, &[file(1), file(3)]).into_iter().map(|note| note.message).collect()
    }

    #[test]
    fn pages_of_several_objects_side_by_side_have_one_cause() {
        let place = [
            bad(3, 317, 7),
            bad(3, 311, 5),
            bad(3, 312, 5),
            bad(3, 313, 6),
            bad(3, 902, 5),
            bad(1, 314, 5),
        ];
        let notes = notes(&place);
        assert_eq!(notes.len(), 1);
        assert!(
            notes[0].contains(
                "4 findings of 3 objects lie together in file 'f3.mdf', from page (3:311)"
            )
        );
        assert!(notes[0].contains("over 57344 bytes"), "{}", notes[0]);
    }

    #[test]
    fn damage_of_one_object_or_far_apart_is_no_region() {
        assert_eq!(notes(&[bad(1, 8, 5), bad(1, 9, 5), bad(1, 10, 5), bad(1, 11, 5)]), [""; 0]);
        assert_eq!(notes(&[bad(1, 8, 5), bad(1, 20, 6), bad(1, 40, 7), bad(1, 60, 8)]), [""; 0]);
        assert_eq!(notes(&[bad(1, 8, 5), bad(1, 9, 6), bad(1, 10, 6)]), [""; 0]);
    }
}
