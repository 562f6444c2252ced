//! Striped sets: files in any order, missing ones, wrong ones.

use super::builder::{LogSpec, MediaSpec, SetSpec, formatted};
use super::sets::log;
use super::*;

/// Two stripes of file 1 with twelve extents, dealt out with slips in the order; the log is in the
/// first.
fn two_stripes(number: u8) -> [MediaSpec; 2] {
    let deal: [&[u32]; 2] = [&[0, 2, 5, 6, 8, 11], &[1, 3, 4, 7, 10, 9]];
    [0, 1].map(|n| {
        let extents = deal[n].iter().map(|index| formatted(1, *index, number.into())).collect();
        let mut set = SetSpec::full(number, 12, extents);
        set.logs = vec![LogSpec { is_here: n == 0, ..log(41, 0x2000, 0x4000, 0x1000) }];
        MediaSpec {
            family: n as u16 + 1,
            families: 2,
            media_set: [number; 16],
            ..MediaSpec::of(vec![set])
        }
    })
}

#[test]
fn stripes_come_in_any_order() {
    let [first, second] = two_stripes(1);
    for (files, packed) in
        [([&first, &second], false), ([&second, &first], false), ([&second, &first], true)]
    {
        let files =
            files.map(|spec| if packed { spec.clone().packed().build() } else { spec.build() });
        let media = media(files.to_vec()).unwrap();
        assert_eq!((media.family().given, media.family().missing), (vec![1, 2], vec![]));
        let set = media.open_set(None, &SetOptions::default()).unwrap();
        assert!(set.findings().is_empty(), "{:?}", texts(set.findings()));
        assert_eq!(indexes(&set, 1), (0..12).collect::<Vec<_>>());
        for index in 0..12 {
            assert!(
                read(&set, extent(1, index)).unwrap() == formatted(1, index, 1),
                "extent {index}"
            );
        }
        let mut all = vec![0; 12 * EXTENT_BYTES];
        set.read_pages(extent(1, 0).first_page(), &mut all).unwrap();
        assert!(all == (0..12).flat_map(|index| formatted(1, index, 1)).collect::<Vec<_>>());
        let [part] = set.log() else { panic!("one VLF, listed twice") };
        assert_eq!(part.stored_bytes(), 0x1000);
    }
}

#[test]
fn each_missing_stripe_is_named() {
    let [first, second] = two_stripes(1);
    for (given, missing) in [(&first, 2), (&second, 1)] {
        let media = media(vec![given.build()]).unwrap();
        let error = media.open_set(None, &SetOptions::default()).map(|_| ()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the backup is striped over 2 files: family {missing} of media set 01010101-0101-0101-0101-010101010101 is missing"
            )
        );
        let set = media
            .open_set(None, &SetOptions { allow_missing_stripes: true, ..SetOptions::default() })
            .unwrap();
        assert_eq!(indexes(&set, 1).len(), 6);
    }
    let wide = MediaSpec { family: 3, families: 5, ..first };
    let error = only_set(wide.build()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("striped over 5 files: families 1, 2, 4, 5 of media set"), "{error}");
}

#[test]
fn stripes_of_different_sets_are_both_named() {
    let [first, _] = two_stripes(1);
    let [_, foreign] = two_stripes(2);
    let error = media(vec![first.build(), foreign.build()]).map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a.bak (media set 01010101-0101-0101-0101-010101010101) and \
         b.bak (media set 02020202-0202-0202-0202-020202020202) belong to different backups"
    );
}

#[test]
fn the_same_stripe_twice_is_an_error() {
    let [first, _] = two_stripes(1);
    let error = media(vec![first.build(), first.build()]).map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a.bak and b.bak are both family 1 of media set 01010101-0101-0101-0101-010101010101"
    );
}

#[test]
fn a_set_missing_on_one_stripe_is_named() {
    let [mut first, second] = two_stripes(1);
    first.sets.push(SetSpec::full(9, 12, vec![formatted(1, 0, 9)]));
    let media = media(vec![first.build(), second.build()]).unwrap();
    let error = media.open_set(Some(2), &SetOptions::default()).map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "b.bak: backup set 2 (09090909-0909-0909-0909-090909090909) is not on this stripe"
    );
    assert!(media.open_set(Some(1), &SetOptions::default()).is_ok());
}
