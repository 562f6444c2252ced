//! What a first row writes to the log, in the order of real logs (`docs/format/log.md`, "A first
//! row in a new heap").

mod support;

use extentdb_base::sync::Arc;
use std::ops::ControlFlow;

use extentdb_base::Lsn;
use extentdb_engine::{Database, Options, Placement};
use extentdb_format::log::{Context, Op, Payload};
use extentdb_io::MemDisk;
use support::*;

/// Operations after an LSN.
fn behind(db: &Arc<Database>, from: Lsn) -> Vec<(Op, Context, bool)> {
    let mut seen = Vec::new();
    db.log().flush_all().unwrap();
    db.log()
        .scan(from, &mut |lsn, record| {
            if lsn > from {
                let is_page = record.payload().page_part().is_some();
                seen.push((record.header().op, record.header().context, is_page));
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    seen
}

#[test]
fn the_records_of_a_first_row_come_in_the_order_of_real_logs() {
    for placement in [Placement::Packed, Placement::ByPfs] {
        let disk = MemDisk::new();
        let db = Database::create(&spec("first"), Options { placement, ..on(&disk) }).unwrap();
        let mut session = db.session();
        // Whatever mixed extents there are have been begun by another table.
        let other = session.create_table(&people("other")).unwrap();
        session.insert(&other, &person(1, "other")).unwrap();
        let table = session.create_table(&people("people")).unwrap();
        let from = db.log().last();
        session.insert(&table, &person(1, &"a".repeat(500))).unwrap();
        let all = behind(&db, from);
        let pages: Vec<(Op, Context)> = all
            .iter()
            .filter(|(.., is_page)| *is_page)
            .map(|(op, context, _)| (*op, *context))
            .collect();
        let expected = [
            (Op::MODIFY_ROW, Context::PFS),
            (Op::MODIFY_ROW, Context::PFS),
            (Op::FORMAT_PAGE, Context::IAM),
            (Op::MODIFY_ROW, Context::IAM),
            (Op::ROOT_CHANGE, Context::CLUSTERED),
            (Op::ROOT_CHANGE, Context::CLUSTERED),
            (Op::FORMAT_PAGE, Context::HEAP),
            (Op::ROOT_CHANGE, Context::CLUSTERED),
            (Op::INSERT_ROWS, Context::HEAP),
            (Op::SET_FREE_SPACE, Context::PFS),
        ];
        assert_eq!(pages, expected, "{placement:?} {all:#?}");
        let ends: Vec<Op> = all.iter().map(|(op, ..)| *op).collect();
        assert_eq!(
            (ends.first(), ends.last()),
            (Some(&Op::BEGIN_XACT), Some(&Op::COMMIT_XACT)),
            "{ends:?}"
        );
        assert!(
            ends.contains(&Op::CREATE_ALLOCCHAIN) && ends.contains(&Op::HOBT_DELTA),
            "{ends:?}"
        );
        // The next row is nothing but itself.
        let from = db.log().last();
        session.insert(&table, &person(2, &"a".repeat(500))).unwrap();
        let next: Vec<Op> = behind(&db, from).into_iter().map(|(op, ..)| op).collect();
        assert_eq!(next, [Op::BEGIN_XACT, Op::INSERT_ROWS, Op::COMMIT_XACT], "{placement:?}");
    }
}

#[test]
fn the_root_changes_of_a_first_row_name_the_iam_page_and_then_twice_the_first_page() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("roots"), on(&disk)).unwrap();
    let mut session = db.session();
    let table = session.create_table(&people("people")).unwrap();
    let from = db.log().last();
    let at = session.insert(&table, &person(1, "one")).unwrap();
    let mut roots = Vec::new();
    db.log().flush_all().unwrap();
    let note = &mut |lsn: Lsn, record: &extentdb_format::log::RecordRef<'_>| {
        if let (true, Payload::RootChange(root)) = (lsn > from, record.payload()) {
            roots.push((root.pointer, root.new_page));
        }
        ControlFlow::Continue(())
    };
    db.log().scan(from, note).unwrap();
    let iam = table.unit().first_iam();
    assert_eq!(roots, [(2, iam), (1, at.rid().unwrap().page), (1, at.rid().unwrap().page)]);
}
