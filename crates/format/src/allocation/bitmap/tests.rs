use extentdb_base::env::{Rng, SplitMix64};

use super::*;

fn random_bitmap(seed: u64, density: u64) -> [u8; BITMAP_BYTES] {
    let mut rng = SplitMix64::new(seed);
    std::array::from_fn(|_| {
        (0..8).fold(0, |byte, bit| byte | u8::from(rng.below(100) < density) << bit)
    })
}

#[test]
fn word_iteration_agrees_with_bit_by_bit_reading() {
    for (seed, density) in [(1, 0), (2, 1), (3, 50), (4, 99), (5, 100)] {
        let bytes = random_bitmap(seed, density);
        let bitmap = AllocationBitmap::new(&bytes);
        let slow: Vec<u32> = (0..EXTENTS_PER_GAM).filter(|e| bitmap.get(*e)).collect();
        assert_eq!(bitmap.ones().collect::<Vec<_>>(), slow);
        assert_eq!(bitmap.count_ones() as usize, slow.len());
        let holes: Vec<u32> = (0..1000).filter(|e| !bitmap.get(*e)).collect();
        assert_eq!(bitmap.zeros(1000).collect::<Vec<_>>(), holes);
        assert_eq!(bitmap.zeros(u32::MAX).count() + slow.len(), EXTENTS_PER_GAM as usize);
    }
}

#[test]
fn runs_cover_the_limit_without_gaps_and_alternate() {
    for (seed, density) in [(6, 0), (7, 3), (8, 60), (9, 100)] {
        let bytes = random_bitmap(seed, density);
        let bitmap = AllocationBitmap::new(&bytes);
        for limit in [0, 1, 63, 64, 65, 4_000, EXTENTS_PER_GAM, u32::MAX] {
            let mut at = 0;
            let mut before = None;
            for (run, value) in bitmap.runs(limit) {
                assert_eq!(run.start, at);
                assert_ne!(before, Some(value), "two runs of the same value");
                assert!(run.clone().all(|extent| bitmap.get(extent) == value));
                (at, before) = (run.end, Some(value));
            }
            assert_eq!(at, limit.min(EXTENTS_PER_GAM));
        }
    }
}

#[test]
fn ranges_are_set_like_single_bits() {
    let mut rng = SplitMix64::new(10);
    for _ in 0..200 {
        let start = rng.below(1_000) as u32;
        let len = rng.below(300) as u32;
        let mut fast = [0xee; 8192];
        let mut slow = [0xee; 8192];
        let value = rng.below(2) == 1;
        AllocationBitmapMut::of(&mut fast).set_range(start..start + len, value);
        let mut bitmap = AllocationBitmapMut::of(&mut slow);
        (start..start + len).for_each(|extent| bitmap.set(extent, value));
        assert_eq!(fast, slow);
    }
    let mut page = [0; 8192];
    AllocationBitmapMut::of(&mut page).set_range(63_900..70_000, true);
    assert_eq!(AllocationBitmap::of(&page).count_ones(), 4, "a range ends with the interval");
    assert!(page[..BITMAP_OFFSET].iter().chain(&page[8182..]).all(|byte| *byte == 0));
}

#[test]
fn a_written_map_has_no_faults_and_defines_all_but_six_bytes() {
    for kind in MapKind::ALL {
        let mut page = [0xee; 8192];
        let id = kind.page_of(PageId::new(3, 600_000));
        let stamp = PageStamp {
            lsn: extentdb_base::Lsn::new(7, 8, 9),
            flag_bits: 0x200,
            type_flag_bits: 0,
        };
        write_map(&mut page, id, kind, &stamp).set(77, true);
        let view = MapView::new(&page, kind);
        assert_eq!(view.faults(), []);
        assert_eq!(view.interval(), PageId::new(3, 511_232));
        assert_eq!(view.bitmap().ones().collect::<Vec<_>>(), [77]);
        assert_eq!(view.header().alloc_unit(), AllocUnitId::SYSTEM_PAGES);
        assert_eq!(PageStamp::of(view.header()), stamp);
        let untouched: Vec<usize> = (0..8192).filter(|at| page[*at] == 0xee).collect();
        assert_eq!(untouched, view.undefined().collect::<Vec<_>>());
    }
}

#[test]
fn map_faults_name_the_field() {
    let mut page = [0; 8192];
    write_map(&mut page, PageId::new(1, 2), MapKind::Gam, &PageStamp::default());
    PageHeader::of_mut(&mut page).free_bytes.set(7);
    page[150] = 1;
    page[8190..].copy_from_slice(&100u16.to_le_bytes());
    let faults = MapView::new(&page, MapKind::Sgam).faults();
    assert_eq!(
        faults,
        [
            MapFault::PageType { expected: PageType::Sgam, found: PageType::Gam },
            MapFault::Header { field: "m_freeCnt", expected: 6, found: 7 },
            MapFault::Slot { slot: 0, expected: 96, found: 100 },
            MapFault::NotZero { offset: 150 },
        ]
    );
}

#[test]
fn fixed_map_pages_of_the_first_and_second_interval() {
    let cases = [
        (0, Some(PageType::FileHeader)),
        (1, Some(PageType::Pfs)),
        (2, Some(PageType::Gam)),
        (3, Some(PageType::Sgam)),
        (4, None),
        (6, Some(PageType::Diff)),
        (7, Some(PageType::Ml)),
        (8, None),
        (8_087, None),
        (8_088, Some(PageType::Pfs)),
        (511_232, Some(PageType::Gam)),
        (511_233, Some(PageType::Sgam)),
        (511_234, None),
        (511_238, Some(PageType::Diff)),
        (511_239, Some(PageType::Ml)),
        (u32::MAX, None),
    ];
    for (page, kind) in cases {
        assert_eq!(fixed_page_type(PageId::new(3, page)), kind, "page {page}");
    }
    assert_eq!(fixed_page_type(PageId::new(1, 9)), Some(PageType::Boot));
    assert_eq!(fixed_page_type(PageId::new(3, 9)), None);
    assert_eq!(MapKind::Gam.page_of(PageId::new(2, 5)), PageId::new(2, 2));
}
