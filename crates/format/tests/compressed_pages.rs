//! Compressed records and pages: what is built after the published descriptions reads back; damage
//! never panics.

mod compressed_build;

use compressed_build::{Cell, Shared, compression_information, page, record, share};
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_format::page::PageRef;
use extentdb_format::record::compressed::{
    CdColumn, CdFault, CdRecord, CiFault, CiView, CompressedError, CompressedValue,
};
use proptest::prelude::*;

fn cells() -> impl Strategy<Value = Cell> {
    prop_oneof![
        1 => Just(Cell::Null),
        1 => Just(Cell::BitTrue),
        5 => prop::collection::vec(any::<u8>(), 0..9).prop_map(Cell::Bytes),
        2 => prop::collection::vec(any::<u8>(), 9..60).prop_map(Cell::Bytes),
        1 => prop::collection::vec(any::<u8>(), 16..25).prop_map(Cell::Pointer),
        1 => any::<u8>().prop_map(Cell::Symbol),
    ]
}

fn read(column: CdColumn<'_>) -> Cell {
    match column {
        CdColumn::Null => Cell::Null,
        CdColumn::BitTrue => Cell::BitTrue,
        CdColumn::Empty => Cell::Bytes(Vec::new()),
        CdColumn::Short(bytes) | CdColumn::Long { bytes, complex: false } => {
            Cell::Bytes(bytes.to_vec())
        }
        CdColumn::Long { bytes, complex: true } => Cell::Pointer(bytes.to_vec()),
        CdColumn::Symbol(symbol) => Cell::Symbol(symbol),
        CdColumn::Unreadable => panic!("a column of a sound record is unreadable"),
    }
}

fn value(resolved: Result<CompressedValue<'_>, CompressedError>) -> Cell {
    match resolved.unwrap() {
        CompressedValue::Null => Cell::Null,
        CompressedValue::BitTrue => Cell::BitTrue,
        CompressedValue::Bytes(bytes) => Cell::Bytes(bytes.into_owned()),
        CompressedValue::Pointer(bytes) => Cell::Pointer(bytes.to_vec()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn built_records_read_back(cells in prop::collection::vec(cells(), 0..200), kind in 0u8..8, tail in any::<[u8; 5]>()) {
        prop_assume!(kind != 2);
        let bytes = record(kind << 2, &cells);
        let on_page = [&bytes[..], &tail].concat();
        let parsed = CdRecord::parse(&on_page);
        prop_assert_eq!((parsed.fault(), parsed.len()), (None, bytes.len()));
        prop_assert_eq!(parsed.columns().map(read).collect::<Vec<_>>(), cells.clone());
        let last = cells.len() as u16;
        prop_assert_eq!(parsed.column(last), None);
        for (index, cell) in cells.iter().enumerate().step_by(7) {
            prop_assert_eq!(parsed.column(index as u16).map(read), Some(cell.clone()));
        }
    }

    #[test]
    fn damaged_records_never_panic(
        cells in prop::collection::vec(cells(), 0..70),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = record(0, &cells);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        let parsed = CdRecord::parse(&bytes);
        prop_assert!(parsed.len() <= bytes.len());
        prop_assert_eq!(parsed.columns().count(), usize::from(parsed.column_count()));
    }
}

/// Rows of a few columns whose values often begin alike or are equal.
fn rows(rng: &mut SplitMix64) -> Vec<Vec<Cell>> {
    let columns = 1 + rng.below(40) as usize;
    let stems: Vec<Vec<u8>> =
        (0..columns).map(|_| (0..rng.below(20)).map(|_| rng.next_u64() as u8).collect()).collect();
    let row = |rng: &mut SplitMix64| {
        stems
            .iter()
            .map(|stem| match rng.below(12) {
                0 => Cell::Null,
                1 => Cell::BitTrue,
                2 => Cell::Pointer(vec![9; 16]),
                3 => Cell::Bytes(Vec::new()),
                _ => {
                    let keep = rng.below(stem.len() as u64 + 1) as usize;
                    let tail = (0..rng.below(4)).map(|_| rng.below(3) as u8);
                    Cell::Bytes(stem[..keep].iter().copied().chain(tail).collect())
                }
            })
            .collect()
    };
    (0..1 + rng.below(30)).map(|_| row(rng)).collect()
}

#[test]
fn rows_of_a_compressed_page_resolve_to_what_was_shared() {
    let mut rng = SplitMix64::new(11);
    let mut pages = 0;
    let mut symbols = 0;
    let mut prefixes = 0;
    while pages < 300 {
        let rows = rows(&mut rng);
        let shared = share(&rows, rng.below(3) > 0);
        let Some(bytes) = page(&shared) else { continue };
        let ci = CiView::of(&bytes).expect("the header announces it");
        assert_eq!(ci.fault(), None);
        assert_eq!(usize::from(ci.dictionary().len()), shared.dictionary.len());
        let anchors = ci.anchors();
        for ((_, record), expected) in PageRef::new(&bytes).records().zip(&rows) {
            let record = CdRecord::parse(record);
            assert_eq!(record.fault(), None);
            for (index, (column, expected)) in record.columns().zip(expected).enumerate() {
                symbols += usize::from(matches!(column, CdColumn::Symbol(_)));
                prefixes += usize::from(anchors[index] != CdColumn::Null);
                assert_eq!(
                    value(ci.resolve_with(anchors[index], column)),
                    *expected,
                    "column {index}"
                );
                assert_eq!(value(ci.resolve(index as u16, column)), *expected, "column {index}");
            }
        }
        pages += 1;
    }
    assert!(symbols > 1_000 && prefixes > 10_000, "{symbols} symbols, {prefixes} anchored values");
}

#[test]
fn damaged_pages_never_panic() {
    let mut rng = SplitMix64::new(12);
    let mut sound = None;
    for _ in 0..3_000 {
        if sound.is_none() || rng.below(50) == 0 {
            sound = page(&share(&rows(&mut rng), true)).or(sound);
        }
        let Some(sound) = &sound else { continue };
        let mut bytes = sound.clone();
        for _ in 0..1 + rng.below(8) {
            let at = if rng.below(2) == 0 { 96 + rng.below(64) } else { rng.below(8192) };
            bytes[at as usize] = rng.next_u64() as u8;
        }
        let ci = CiView::of(&bytes);
        for (_, record) in PageRef::new(&bytes).records() {
            for (index, column) in (0u16..).zip(CdRecord::parse(record).columns()) {
                let _ = ci.as_ref().map(|ci| ci.resolve(index, column));
                let _ = column.plain();
            }
        }
    }
}

/// The example of a published page: prefixes of an anchor, compared as bytes.
#[test]
fn the_anchor_example_of_pro_sql_server_internals() {
    let anchors = ["PALETTE", "CAN", "", "TIGER"].map(|text| Cell::Bytes(text.into()));
    let anchors = [anchors[0].clone(), anchors[1].clone(), Cell::Null, anchors[3].clone()];
    let dictionary = vec![b"\x01ILL".to_vec(), b"\x01OX".to_vec()];
    let ci = compression_information(&anchors, &dictionary);
    let ci = CiView::parse(&ci);
    assert_eq!(ci.fault(), None);
    let text = |column, stored| value(ci.resolve(column, stored));
    assert_eq!(text(0, CdColumn::Empty), Cell::Bytes(b"PALETTE".into()));
    assert_eq!(text(0, CdColumn::Short(&[3])), Cell::Bytes(b"PAL".into()));
    assert_eq!(text(0, CdColumn::Symbol(0)), Cell::Bytes(b"PILL".into()));
    assert_eq!(text(0, CdColumn::Symbol(1)), Cell::Bytes(b"POX".into()));
    assert_eq!(text(1, CdColumn::Short(b"\0MAN")), Cell::Bytes(b"MAN".into()));
    assert_eq!(text(2, CdColumn::Short(b"MILL")), Cell::Bytes(b"MILL".into()), "not anchored");
    assert_eq!(text(2, CdColumn::Empty), Cell::Bytes(Vec::new()));
    assert_eq!(text(0, CdColumn::Null), Cell::Null);
    assert_eq!(
        text(9, CdColumn::Short(b"x")),
        Cell::Bytes(b"x".into()),
        "a column that came later"
    );
    let error = |column, stored| ci.resolve(column, stored).unwrap_err();
    assert_eq!(error(0, CdColumn::Symbol(2)), CompressedError::Symbol { symbol: 2, entries: 2 });
    assert_eq!(error(0, CdColumn::Short(&[8])), CompressedError::Prefix { found: 8, anchor: 7 });
}

#[test]
fn an_empty_anchor_still_takes_a_prefix_length() {
    let ci = compression_information(&[Cell::Bytes(Vec::new())], &[]);
    let ci = CiView::parse(&ci);
    assert_eq!(value(ci.resolve(0, CdColumn::Short(&[0, 0x81]))), Cell::Bytes(vec![0x81]));
    assert_eq!(value(ci.resolve(0, CdColumn::Empty)), Cell::Bytes(Vec::new()));
}

#[test]
fn long_prefixes_are_refused_not_guessed() {
    let ci = compression_information(&[Cell::Bytes(vec![7; 200])], &[]);
    let ci = CiView::parse(&ci);
    assert_eq!(ci.resolve(0, CdColumn::Short(&[0x80, 1])), Err(CompressedError::LongPrefix));
    assert_eq!(value(ci.resolve(0, CdColumn::Short(&[0x7f]))), Cell::Bytes(vec![7; 127]));
}

#[test]
fn faults_of_compression_information() {
    let fault = |bytes: &[u8]| CiView::parse(bytes).fault();
    assert_eq!(fault(&[]), Some(CiFault::Flags { found: 0 }));
    assert_eq!(fault(&[0x0e, 0, 0]), Some(CiFault::Flags { found: 0x0e }));
    assert_eq!(fault(&[2, 0, 0, 90, 0]), Some(CiFault::Size { found: 90, start: 5, limit: 5 }));
    let not_cd = CdFault::NotCompressed { header: 0x30 };
    assert_eq!(fault(&[2, 0, 0, 7, 0, 0x30, 0]), Some(CiFault::Anchor(not_cd)));
    assert_eq!(
        fault(&[2, 0, 0, 9, 0, 1, 1, 0, 7]),
        Some(CiFault::AnchorLength { found: 3, expected: 4 })
    );
    let mut bytes = compression_information(&[Cell::Null], &[vec![1, 2], vec![3]]);
    assert_eq!(CiView::parse(&bytes).size(), bytes.len());
    let dictionary = bytes.len() - 9;
    bytes[dictionary + 4] = 5;
    assert_eq!(
        fault(&bytes),
        Some(CiFault::DictionaryEntry { entry: 1, end: 5, start: 8, limit: 9 })
    );
    assert_eq!(CiView::parse(&bytes).dictionary().entry(0), Some(&[1u8, 2][..]));
    bytes[dictionary] = 200;
    assert_eq!(fault(&bytes), Some(CiFault::DictionaryArray { count: 200, limit: 9 }));
}

#[test]
fn pages_without_compression_information_have_none() {
    let rows = vec![vec![Cell::Bytes(vec![1, 2, 3]), Cell::Null]; 3];
    let shared = Shared {
        anchors: vec![Cell::Bytes(vec![1]), Cell::Null],
        dictionary: Vec::new(),
        rows,
    };
    let mut bytes = page(&shared).unwrap();
    bytes[2] = 0;
    assert!(CiView::of(&bytes).is_some(), "sound information counts without its header bit");
    bytes[96 + 3] = 0xff;
    assert!(CiView::of(&bytes).is_none(), "but not broken one");
    bytes[2] = 0x80;
    assert!(CiView::of(&bytes).is_some_and(|ci| ci.fault().is_some()));
    assert!(CiView::of(&[0; 8192]).is_none());
}
