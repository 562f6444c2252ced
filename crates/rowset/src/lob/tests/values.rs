//! Single values: forms, thresholds, log records, freed pages.

use extentdb_format::log::replay::page_of;
use extentdb_format::log::{Context, Op};
use extentdb_format::page::{PageHeader, PageType};
use extentdb_format::record::lob::{DATA_BYTES_MAX, LobContent};

use super::bench::{Bench, Setup, bytes, fresh, splice};
use super::walk::walk;
use crate::Error;
use crate::lob::{LobForm, LobRoot, LobSplice};

const NODE: usize = 501 * DATA_BYTES_MAX;

fn level_of(root: &LobRoot) -> (u16, usize) {
    let LobRoot::InRow(root) = root else { panic!("a text pointer") };
    (root.level, root.links.len())
}

fn kind_of(bench: &Bench, root: &LobRoot) -> u16 {
    let LobRoot::Text(text) = root else { panic!("a root in the row") };
    bench.lob.with_record(text.root, |record| Ok(record.kind())).unwrap()
}

#[test]
fn a_root_in_the_row_has_up_to_five_links() {
    let bench = Bench::new();
    let mut open = bench.begin();
    let five = 5 * DATA_BYTES_MAX;
    let cases = [
        (1, (0, 1)),
        (DATA_BYTES_MAX, (0, 1)),
        (DATA_BYTES_MAX + 1, (0, 2)),
        (five, (0, 5)),
        (five + 1, (1, 1)),
        (NODE, (1, 1)),
        (NODE + 1, (1, 2)),
    ];
    let mut roots = Vec::new();
    for (len, expected) in cases {
        let value = bytes(len as u64, len);
        let root = bench.create(&mut open, LobForm::InRow, &value, 64 << 10).unwrap();
        assert_eq!(level_of(&root), expected, "{len} bytes");
        assert!(bench.value(&root).unwrap() == value, "{len} bytes");
        assert_eq!(LobRoot::parse(&root.to_bytes(), false).unwrap(), root);
        roots.push(root);
    }
    walk(&bench, roots.iter());
    bench.commit(open).unwrap();
}

#[test]
fn a_text_value_is_null_small_or_a_tree_and_keeps_its_root() {
    let bench = Bench::new();
    let mut open = bench.begin();
    let mut model = Vec::new();
    let root = bench.create(&mut open, LobForm::Text, &model, 1).unwrap();
    assert_eq!(kind_of(&bench, &root), 8);
    for (len, kind) in [(10, 0), (64, 0), (65, 5), (9000, 5), (50_000, 5), (64, 0), (0, 8)] {
        let data = bytes(len as u64, len);
        let changed = bench.edit(&mut open, &root, splice(0, model.len(), &data), &data).unwrap();
        assert_eq!(changed, root, "the row keeps its pointer");
        model = data;
        assert_eq!(kind_of(&bench, &root), kind, "{len} bytes");
        assert!(bench.value(&root).unwrap() == model, "{len} bytes");
        walk(&bench, std::iter::once(&root));
    }
    bench.commit(open).unwrap();
}

#[test]
fn an_append_fills_the_last_fragment_and_logs_only_its_bytes() {
    let bench = Bench::new();
    let mut open = bench.begin();
    let mut model = bytes(1, 100);
    let mut root = bench.create(&mut open, LobForm::InRow, &model, 100).unwrap();
    for round in 0..200 {
        let from = bench.records().len();
        let data = bytes(round, 777);
        let append = splice(model.len(), 0, &data);
        root = bench.edit(&mut open, &root, append, &data).unwrap();
        model.extend_from_slice(&data);
        let logged: usize =
            bench.records()[from..].iter().map(|logged| logged.record().bytes().len()).sum();
        assert!(logged < 4 * 777 + 3000, "{logged} bytes of log in round {round}");
    }
    assert!(bench.value(&root).unwrap() == model);
    assert_eq!(walk(&bench, std::iter::once(&root)).data, model.len().div_ceil(DATA_BYTES_MAX));
    let LobRoot::InRow(in_row) = &root else { panic!("a text pointer") };
    assert_eq!(in_row.update_sequence, 201);
    bench.commit(open).unwrap();
}

#[test]
fn a_replacement_of_the_same_length_changes_fragments_in_place() {
    let bench = Bench::new();
    let mut open = bench.begin();
    let mut model = bytes(1, 100_000);
    let root = bench.create(&mut open, LobForm::InRow, &model, 9999).unwrap();
    let from = bench.records().len();
    let data = bytes(77, 20_000);
    let changed = bench.edit(&mut open, &root, splice(5000, 20_000, &data), &data).unwrap();
    model[5000..25_000].copy_from_slice(&data);
    assert!(bench.value(&changed).unwrap() == model);
    let ops: Vec<Op> = bench.records()[from..].iter().map(|it| it.record().header().op).collect();
    assert!(ops.iter().all(|op| *op == Op::MODIFY_ROW), "{ops:?}");
    bench.commit(open).unwrap();
}

#[test]
fn log_records_are_about_rows_of_text_pages() {
    let bench = Bench::new();
    let mut open = bench.begin();
    let root = bench.create(&mut open, LobForm::Text, &bytes(1, 60_000), 60_000).unwrap();
    bench.commit(open).unwrap();
    let mut open = bench.begin();
    bench.lob.free(open.change(), &root).unwrap();
    bench.commit(open).unwrap();
    let own: Vec<(Op, Context)> = bench
        .records()
        .iter()
        .map(|logged| (page_of(&logged.record()), *logged.record().header()))
        .filter(|(part, header)| {
            part.is_some_and(|part| part.alloc_unit() == bench.lob.unit().id())
                && header.context != Context::IAM
        })
        .map(|(_, header)| (header.op, header.context))
        .collect();
    let is_known = |(op, context): &(Op, Context)| {
        [Op::FORMAT_PAGE, Op::INSERT_ROWS, Op::DELETE_ROWS].contains(op)
            && [Context::TEXT_MIX, Context::TEXT_TREE].contains(context)
    };
    assert!(own.iter().all(is_known), "{own:?}");
    assert!(own.contains(&(Op::INSERT_ROWS, Context::TEXT_TREE)));
}

#[test]
fn small_values_share_pages() {
    let bench = Bench::new();
    let mut open = bench.begin();
    let roots: Vec<LobRoot> = (0..90)
        .map(|n| bench.create(&mut open, LobForm::Text, &bytes(n, 64), 64).unwrap())
        .collect();
    assert_eq!(bench.pages().len(), 1);
    walk(&bench, roots.iter());
    bench.commit(open).unwrap();
}

#[test]
fn a_freed_value_gives_its_pages_back_at_commit_and_not_before() {
    for mixed_pages in [true, false] {
        let bench = Bench::on(fresh(), &Setup { mixed_pages, ..Setup::default() });
        let mut open = bench.begin();
        let value = bytes(3, 3_000_000);
        let root = bench.create(&mut open, LobForm::InRow, &value, 70_000).unwrap();
        bench.commit(open).unwrap();
        let free = |bench: &Bench| bench.space.files()[0].free_extents();
        let (free_before, pages) = (free(&bench), bench.pages().len());

        let mut open = bench.begin();
        bench.lob.free(open.change(), &root).unwrap();
        assert_eq!(free(&bench), free_before);
        bench.roll_back(open).unwrap();
        assert!(bench.value(&root).unwrap() == value);
        assert_eq!(bench.pages().len(), pages);

        let mut open = bench.begin();
        let from = bench.records().len();
        bench.lob.free(open.change(), &root).unwrap();
        let records = bench.records();
        let logged: usize = records[from..].iter().map(|it| it.record().bytes().len()).sum();
        assert!(logged < 100_000, "{logged} bytes of log");
        bench.commit(open).unwrap();
        bench.lob.update_pfs().unwrap();
        walk(&bench, std::iter::empty());
        assert!(bench.pages().len() <= 8, "{} pages stay", bench.pages().len());
        assert!(free(&bench) >= free_before + 40);
        let (counts, _) = bench.lob.unit().counts();
        let owned = bench.space.owned_by(bench.lob.unit()).unwrap();
        let used = bench.pages().len() + owned.iams;
        let reserved = owned.iams + owned.singles.len() + 8 * owned.extents.len();
        assert_eq!((counts.data, counts.used), (0, used as i64));
        assert_eq!(counts.reserved, reserved as i64);

        let mut open = bench.begin();
        let root = bench.create(&mut open, LobForm::InRow, &value, 70_000).unwrap();
        assert!(bench.value(&root).unwrap() == value);
        bench.commit(open).unwrap();
        walk(&bench, std::iter::once(&root));
    }
}

#[test]
fn pages_of_small_values_are_freed_when_the_last_one_is_gone() {
    let bench = Bench::on(fresh(), &Setup { mixed_pages: false, ..Setup::default() });
    let mut open = bench.begin();
    let roots: Vec<LobRoot> = (0..500)
        .map(|n| bench.create(&mut open, LobForm::InRow, &bytes(n, 700), 700).unwrap())
        .collect();
    bench.commit(open).unwrap();
    assert!(bench.pages().len() > 40);
    for half in roots.chunks(250) {
        let mut open = bench.begin();
        half.iter().for_each(|root| bench.lob.free(open.change(), root).unwrap());
        bench.commit(open).unwrap();
    }
    bench.lob.update_pfs().unwrap();
    assert_eq!(bench.pages(), [bench.lob.unit().first()]);
}

#[test]
fn a_damaged_link_is_an_error_and_not_a_loop() {
    let bench = Bench::new();
    let mut open = bench.begin();
    let root = bench.create(&mut open, LobForm::InRow, &bytes(1, 100_000), 100_000).unwrap();
    let LobRoot::InRow(in_row) = &root else { panic!("a text pointer") };
    let mut bad = in_row.clone();
    bad.blob_id += 1 << 16;
    assert!(matches!(bench.value(&LobRoot::InRow(bad)), Err(Error::Corrupt { .. })));
    let mut bad = in_row.clone();
    bad.level += 1;
    assert!(matches!(bench.value(&LobRoot::InRow(bad)), Err(Error::Corrupt { .. })));
    let mut bad = in_row.clone();
    bad.links[0].end -= 1;
    assert!(matches!(bench.value(&LobRoot::InRow(bad)), Err(Error::Corrupt { .. })));
    bench.commit(open).unwrap();
}

#[test]
fn a_splice_past_the_end_is_refused() {
    let bench = Bench::new();
    let mut open = bench.begin();
    let root = bench.create(&mut open, LobForm::InRow, &bytes(1, 100), 100).unwrap();
    let past = LobSplice { offset: 101, length: 0, data_len: None };
    let refused = bench.lob.edit(open.change(), &root, past);
    assert!(matches!(refused, Err(Error::Offset { offset: 101, len: 100 })));
    bench.commit(open).unwrap();
}

#[test]
fn many_inserts_in_the_middle_leave_full_enough_records() {
    let bench = Bench::on(fresh(), &Setup { frames: 2000, ..Setup::default() });
    let mut open = bench.begin();
    let mut model = bytes(1, 60_000);
    let mut root = bench.create(&mut open, LobForm::InRow, &model, 60_000).unwrap();
    for round in 0..600 {
        let data = bytes(round, 1 + round as usize % 40);
        let at = 20_000 + round as usize % 7;
        root = bench.edit(&mut open, &root, splice(at, 0, &data), &data).unwrap();
        model.splice(at..at, data);
    }
    assert!(bench.value(&root).unwrap() == model);
    let seen = walk(&bench, std::iter::once(&root));
    assert!(seen.data <= 2 * model.len().div_ceil(DATA_BYTES_MAX), "{} fragments", seen.data);
    bench.commit(open).unwrap();
}

#[test]
fn a_small_root_record_is_84_bytes() {
    let bench = Bench::new();
    let mut open = bench.begin();
    let root = bench.create(&mut open, LobForm::Text, b"abc", 3).unwrap();
    let LobRoot::Text(text) = &root else { panic!("a root in the row") };
    let seen = bench.lob.with_record(text.root, |record| {
        Ok((record.len(), record.content() == LobContent::SmallRoot(b"abc")))
    });
    assert_eq!(seen.unwrap(), (84, true));
    bench.commit(open).unwrap();
}

#[test]
fn a_stream_that_breaks_off_is_undone_to_its_savepoint() {
    let bench = Bench::new();
    let mut open = bench.begin();
    let value = bytes(5, 300_000);
    let root = bench.create(&mut open, LobForm::InRow, &value, 300_000).unwrap();
    let lsn = open.tx.savepoint("before").unwrap();
    let mark = open.pending.freed.mark();

    let middle = LobSplice { offset: 100_000, length: 150_000, data_len: None };
    let mut writer = bench.lob.edit(open.change(), &root, middle).unwrap();
    writer.write(&bytes(6, 400_000)).unwrap();
    drop(writer);
    let mut writer = bench.lob.create(open.change(), LobForm::Text, 99 << 16);
    writer.write(&bytes(7, 50_000)).unwrap();
    drop(writer);

    bench.undo_to(&mut open.tx, lsn).unwrap();
    open.pending.freed.return_to(mark);
    assert!(bench.value(&root).unwrap() == value);
    walk(&bench, std::iter::once(&root));
    bench.commit(open).unwrap();
    walk(&bench, std::iter::once(&root));
}

#[test]
fn a_value_that_fills_the_filegroup_is_undone_without_a_page() {
    let pages = (fresh().0.len() / 8192) as u32;
    let setup = Setup {
        pages_max: Some(pages + 64),
        mixed_pages: false,
        ..Setup::default()
    };
    let bench = Bench::on(fresh(), &setup);
    let mut open = bench.begin();
    let value = bytes(5, 100_000);
    let root = bench.create(&mut open, LobForm::InRow, &value, 100_000).unwrap();
    let lsn = open.tx.savepoint("before").unwrap();
    let full = bench.create(&mut open, LobForm::InRow, &bytes(6, 40_000_000), 100_000);
    let is_full =
        |error: &Error| matches!(error, Error::Space(extentdb_space::Error::FilegroupFull { .. }));
    assert!(full.is_err_and(|error| is_full(&error)));
    bench.undo_to(&mut open.tx, lsn).unwrap();
    walk(&bench, std::iter::once(&root));
    bench.commit(open).unwrap();
    assert!(bench.value(&root).unwrap() == value);
    // Its pages are there for another value.
    let mut open = bench.begin();
    let more = bench.create(&mut open, LobForm::InRow, &bytes(7, 200_000), 100_000).unwrap();
    bench.commit(open).unwrap();
    walk(&bench, [&root, &more].into_iter());
}

#[test]
fn a_page_that_a_full_log_keeps_from_becoming_a_tree_page_stays_as_it_was() {
    let setup = Setup {
        log_bytes: 512 << 10,
        log_bytes_max: Some(512 << 10),
        mixed_pages: false,
        ..Setup::default()
    };
    let bench = Bench::on(fresh(), &setup);
    let mut open = bench.begin();
    let lease = bench.lob.runs.lease();
    drop(bench.lob.next_page(&mut open.tx, &lease, PageType::TextMix).unwrap());
    let formatted = bench.pages();
    assert_eq!(formatted.len(), 8, "a run");
    while open.tx.savepoint("until the log is full").is_ok() {}
    let refused = bench.lob.next_page(&mut open.tx, &lease, PageType::TextTree);
    assert!(refused.is_err(), "the log has room");
    drop(refused);
    drop(lease);
    for page in &formatted {
        let guard = bench.space.pool().read(*page).unwrap();
        let header = PageHeader::of(&guard);
        assert_eq!((header.page_id(), header.kind()), (*page, PageType::TextMix));
        assert_eq!(header.alloc_unit(), bench.lob.unit().id());
    }
    bench.roll_back(open).unwrap();
    // A checkpoint gives back what was allocated in advance.
    bench.lob.update_pfs().unwrap();
    assert_eq!(bench.pages(), formatted[..1]);
}
