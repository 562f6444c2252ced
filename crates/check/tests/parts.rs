//! A check in parts gives the report of one process, whatever the parts are and in whatever order
//! they are added.

mod support;

use extentdb_base::env::{Rng, SplitMix64, SystemClock};
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_check::HashKey;
use extentdb_check::{
    Control, Options, PartialError, Report, Verdict, check_part, merge_parts, part_of, resume,
};
use extentdb_report::{to_json, to_text};
use support::{Demo, Memory};

fn control<R>(work: impl FnOnce(&Control<'_>) -> R) -> R {
    let clock = SystemClock::new();
    let cancel = AtomicBool::new(false);
    work(&Control::new(&clock, &cancel))
}

fn part(memory: &Memory, options: &Options, number: u32, of: u32) -> Vec<u8> {
    control(|control| check_part(memory, options, control, &part_of(memory, number, of))).unwrap()
}

fn merged(memory: &Memory, parts: &[Vec<u8>]) -> Result<Report, PartialError> {
    control(|control| {
        merge_parts(memory, &Options::default(), control, parts.iter().map(Vec::as_slice))
    })
}

/// The report without what time makes of it.
fn content(report: &Report) -> String {
    let mut json = to_json(&report, &[]);
    for name in ["elapsed_s", "mb_per_s", "bytes"] {
        json[name] = serde_json::Value::Null;
    }
    json.to_string()
}

/// A database with faults of several kinds.
fn damaged() -> Demo {
    let mut demo = Demo::small();
    let leaf = *demo.path(demo.unit("sales", 2)).last().unwrap();
    let at = support::offset(&demo.memory.stored(leaf), 2);
    let end = usize::from(demo.header(leaf).fixed_len.get()) - 1;
    demo.memory.edit(leaf, |bytes| bytes[at + end] ^= 0x21);
    let heap = demo.heap_page();
    demo.memory.raw(heap, |bytes| bytes[5000] ^= 1);
    let row_page = demo.path(demo.unit("sales", 1))[1];
    demo.memory.header(row_page, |header| header.ghost_count = 1.into());
    demo
}

#[test]
fn parts_of_any_size_in_any_order_give_the_same_report() {
    for demo in [Demo::small(), damaged()] {
        let whole = demo.memory.check();
        for of in [1, 3, 17] {
            let mut parts: Vec<Vec<u8>> = (1..=of)
                .map(|number| part(&demo.memory, &Options::default(), number, of))
                .collect();
            let mut rng = SplitMix64::new(of.into());
            for i in (1..parts.len()).rev() {
                parts.swap(i, rng.below(i as u64 + 1) as usize);
            }
            assert_eq!(
                content(&merged(&demo.memory, &parts).unwrap()),
                content(&whole),
                "{of} parts"
            );
        }
    }
}

#[test]
fn a_part_that_is_added_twice_or_missing_is_noticed() {
    let demo = Demo::small();
    let mut parts: Vec<Vec<u8>> =
        (1..=3).map(|number| part(&demo.memory, &Options::default(), number, 3)).collect();
    let twice = [parts.clone(), vec![parts[1].clone()]].concat();
    assert!(matches!(merged(&demo.memory, &twice), Err(PartialError::Overlap(_))));
    parts.pop();
    let report = merged(&demo.memory, &parts).unwrap();
    assert_eq!(report.verdict, Verdict::Incomplete, "{}", to_text(&report));
    assert!(report.coverage.pages_checked < report.coverage.pages_planned);
}

#[test]
fn only_partials_of_the_same_database_and_options_are_added() {
    let demo = Demo::small();
    let good = part(&demo.memory, &Options::default(), 1, 1);
    assert!(merged(&demo.memory, std::slice::from_ref(&good)).is_ok());
    let physical = Options { physical_only: true, ..Options::default() };
    let other_key = Options { hash_key: Some(HashKey::new([1, 2])), ..Options::default() };
    for options in [physical, other_key] {
        let other = part(&demo.memory, &options, 1, 1);
        assert_eq!(merged(&demo.memory, &[other]).map(|_| ()), Err(PartialError::Digest));
    }
    let mut rng = SplitMix64::new(9);
    for _ in 0..200 {
        let mut bytes = good.clone();
        let at = rng.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << rng.below(8);
        assert!(merged(&demo.memory, &[bytes]).is_err(), "byte {at}");
    }
    assert_eq!(
        merged(&demo.memory, &[good[..good.len() / 2].to_vec()]).map(|_| ()),
        Err(PartialError::Checksum)
    );
    assert_eq!(
        merged(&demo.memory, &[b"something else".to_vec()]).map(|_| ()),
        Err(PartialError::Magic)
    );
}

#[test]
fn a_check_that_was_stopped_goes_on_where_it_was() {
    let demo = damaged();
    let whole = demo.memory.check();
    let stopped = Options {
        time_limit: Some(std::time::Duration::ZERO),
        chunk_pages: 8,
        jobs: std::num::NonZeroUsize::new(1),
        ..Options::default()
    };
    let (report, state) = control(|control| resume(&demo.memory, &stopped, control, None)).unwrap();
    assert!(report.coverage.pages_checked < report.coverage.pages_planned);
    let state = state.unwrap();
    let options = Options::default();
    let (report, state) =
        control(|control| resume(&demo.memory, &options, control, Some(&state))).unwrap();
    assert_eq!(state, None);
    assert_eq!(content(&report), content(&whole));
}
