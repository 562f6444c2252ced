//! Rows that follow the rows they name: CASCADE, SET NULL and SET DEFAULT, over several tables,
//! rolled back, kept over a restart.

mod support;

use extentdb_base::sync::Arc;
use extentdb_engine::ReferentialAction::{Cascade, NoAction, SetDefault, SetNull};
use extentdb_engine::{
    ColumnSpec, Database, Error, IndexSpec, ReferentialAction, Row, Session, Table, TableSpec,
};
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};
use support::*;

fn naming(name: &str) -> TableSpec {
    let default = Some((format!("df_{name}"), "((1))".to_owned()));
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec { default, ..ColumnSpec::new("named", SqlType::Int) },
    ];
    TableSpec::heap(name, columns)
}

fn row(id: i32, named: Option<i32>) -> Row {
    vec![Datum::Int(id), named.map_or(Datum::Null, Datum::Int)]
}

/// Rows by id.
fn sorted(session: &mut Session<'_>, table: &Table) -> Vec<Row> {
    let mut rows: Vec<Row> = rows(session, table).into_iter().map(|(_, row)| row).collect();
    rows.sort_by_key(|row| if let Datum::Int(id) = row[0] { id } else { -1 });
    rows
}

fn delete(session: &mut Session<'_>, table: &Table, id: i32) -> Result<(), Error> {
    let (at, _) =
        rows(session, table).into_iter().find(|(_, row)| row[0] == Datum::Int(id)).unwrap();
    session.delete(table, &at)
}

fn rename(session: &mut Session<'_>, table: &Table, id: i32, to: Row) -> Result<(), Error> {
    let (at, _) =
        rows(session, table).into_iter().find(|(_, row)| row[0] == Datum::Int(id)).unwrap();
    session.update(table, &at, &to).map(drop)
}

/// Parents 1 to 9, each named by three children, each child named by two grandchildren.
fn family(
    session: &mut Session<'_>,
    actions: (ReferentialAction, ReferentialAction),
    form: usize,
) -> [Arc<Table>; 3] {
    let form = |spec: TableSpec| match form % 3 {
        0 => spec,
        1 => spec.clustered(IndexSpec::new("c", &["id"]).unique()),
        _ => spec.clustered(IndexSpec::new("c", &["named"])),
    };
    let parent = session
        .create_table(&people("parent").clustered(IndexSpec::primary_key("pk", &["id"])))
        .unwrap();
    let child = session.create_table(&form(naming("child"))).unwrap();
    session.create_index(&child, &IndexSpec::primary_key("pk_child", &["id"])).unwrap();
    let grandchild = session.create_table(&form(naming("grandchild"))).unwrap();
    session.create_index(&grandchild, &IndexSpec::new("by_named", &["named"])).unwrap();
    for id in 1..10 {
        session.insert(&parent, &person(id, "parent")).unwrap();
        for own in 10 * id..10 * id + 3 {
            session.insert(&child, &row(own, Some(id))).unwrap();
            session.insert(&grandchild, &row(10 * own, Some(own))).unwrap();
            session.insert(&grandchild, &row(10 * own + 1, Some(own))).unwrap();
        }
    }
    session.add_foreign_key_with(&child, "fk", &parent, &[("named", "id")], actions).unwrap();
    session
        .add_foreign_key_with(&grandchild, "fk2", &child, &[("named", "id")], (Cascade, Cascade))
        .unwrap();
    [parent, child, grandchild]
}

fn assert_named(session: &mut Session<'_>, table: &Table, id: i32, expected: Option<i32>) {
    let rows = sorted(session, table);
    let found = rows.iter().find(|own| own[0] == Datum::Int(id)).map(|own| own[1].clone());
    assert_eq!(found, Some(expected.map_or(Datum::Null, Datum::Int)), "{id}");
}

#[test]
fn rows_follow_those_they_name() {
    for form in 0..3 {
        for actions in
            [(Cascade, Cascade), (SetNull, SetDefault), (SetDefault, SetNull), (NoAction, Cascade)]
        {
            let disk = MemDisk::new();
            let spec = spec("actions");
            let db = Database::create(&spec, on(&disk)).unwrap();
            let mut session = db.session();
            let [parent, child, grandchild] = family(&mut session, actions, form);
            let before = [&parent, &child, &grandchild].map(|table| sorted(&mut session, table));
            session.begin();
            let deleted = delete(&mut session, &parent, 3);
            assert_eq!(deleted.is_err(), actions.0 == NoAction, "{deleted:?}");
            rename(&mut session, &parent, 4, person(400, "renamed")).unwrap();
            session.rollback().unwrap();
            for (table, before) in [&parent, &child, &grandchild].into_iter().zip(&before) {
                assert_eq!(sorted(&mut session, table), *before);
            }
            rename(&mut session, &parent, 4, person(4, "another name only")).unwrap();
            assert_named(&mut session, &child, 41, Some(4));
            rename(&mut session, &parent, 4, person(400, "renamed")).unwrap();
            let named = match actions.1 {
                Cascade => Some(400),
                SetDefault => Some(1),
                _ => None,
            };
            assert_named(&mut session, &child, 41, named);
            assert_named(&mut session, &grandchild, 411, Some(41));
            let child_rows = child.row_count();
            let grandchild_rows = grandchild.row_count();
            match (delete(&mut session, &parent, 3), actions.0) {
                (Err(Error::Constraint { .. }), NoAction) => {}
                (Ok(()), Cascade) => {
                    assert_eq!(child.row_count(), child_rows - 3);
                    assert_eq!(grandchild.row_count(), grandchild_rows - 6);
                }
                (Ok(()), action) => {
                    assert_named(&mut session, &child, 32, (action == SetDefault).then_some(1));
                    assert_eq!(
                        (child.row_count(), grandchild.row_count()),
                        (child_rows, grandchild_rows)
                    );
                }
                other => panic!("{other:?}"),
            }
            // A default that names no row is an error, and nothing of the statement stays.
            if actions.0 == SetDefault {
                assert!(matches!(delete(&mut session, &parent, 1), Err(Error::Constraint { .. })));
                assert_named(&mut session, &child, 12, Some(1));
            }
            let found = [&parent, &child, &grandchild].map(|table| sorted(&mut session, table));
            drop((session, parent, child, grandchild));
            db.close().unwrap();
            assert_sound_on(&disk, &spec.paths());
            let db = reopen(&disk, &spec.paths());
            let mut session = db.session();
            let [parent, child, grandchild] =
                ["parent", "child", "grandchild"].map(|it| session.table(it).unwrap());
            assert_eq!(
                [&parent, &child, &grandchild].map(|table| sorted(&mut session, table)),
                found
            );
            // What happens to them is known over a restart.
            delete(&mut session, &child, 82).unwrap();
            assert_eq!(grandchild.row_count() as usize, found[2].len() - 2);
            session.drop_constraint(&child, "fk").unwrap();
            session.drop_constraint(&grandchild, "fk2").unwrap();
            delete(&mut session, &parent, 9).unwrap();
            assert_named(&mut session, &child, 91, Some(9));
            drop((session, parent, child, grandchild));
            db.close().unwrap();
            assert_sound_on(&disk, &spec.paths());
        }
    }
}

#[test]
fn no_circle_and_no_second_way_is_made() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("circles"), on(&disk)).unwrap();
    let mut session = db.session();
    let [parent, child, grandchild] = family(&mut session, (Cascade, NoAction), 0);
    session.create_index(&grandchild, &IndexSpec::primary_key("pk3", &["id"])).unwrap();
    let key = |session: &mut Session<'_>, from: &Arc<Table>, to: &Arc<Table>, action| {
        let column = if from.name() == "parent" { "id" } else { "named" };
        session.add_foreign_key_with(from, "x", to, &[(column, "id")], (action, NoAction))
    };
    for (from, to) in
        [(&parent, &grandchild), (&grandchild, &parent), (&child, &child), (&child, &parent)]
    {
        let refused = key(&mut session, from, to, Cascade);
        assert!(matches!(refused, Err(Error::NotSupported { .. })), "{refused:?}");
    }
    // Its column takes no NULL.
    assert!(matches!(
        key(&mut session, &parent, &parent, SetNull),
        Err(Error::NotSupported { .. })
    ));
    key(&mut session, &parent, &parent, NoAction).unwrap();
}

#[test]
fn what_no_action_forbids_is_looked_at_when_all_others_have_followed() {
    for order in [["a", "b"], ["b", "a"]] {
        let disk = MemDisk::new();
        let of_db = spec("late");
        let db = Database::create(&of_db, on(&disk)).unwrap();
        let mut session = db.session();
        let key = || IndexSpec::primary_key("pk", &["id"]);
        let parent = session.create_table(&people("p").clustered(key())).unwrap();
        let a = session
            .create_table(&naming("a").clustered(IndexSpec { name: "pk_a".into(), ..key() }))
            .unwrap();
        let b = session.create_table(&naming("b")).unwrap();
        for table in order {
            let table = session.table(table).unwrap();
            let name = format!("{}_p", table.name());
            session
                .add_foreign_key_with(
                    &table,
                    &name,
                    &parent,
                    &[("named", "id")],
                    (Cascade, NoAction),
                )
                .unwrap();
        }
        session.add_column(&b, &ColumnSpec::new("also", SqlType::Int)).unwrap();
        session.add_foreign_key(&b, "b_a", &a, &[("also", "id")]).unwrap();
        for id in 1..4 {
            session.insert(&parent, &person(id, "p")).unwrap();
            session.insert(&a, &row(10 * id, Some(id))).unwrap();
            session
                .insert(&b, &[row(100 * id, Some(id)), vec![Datum::Int(10 * id)]].concat())
                .unwrap();
        }
        delete(&mut session, &parent, 2).unwrap();
        assert_eq!([&parent, &a, &b].map(|table| table.row_count()), [2, 2, 2]);
        // One that does not follow is named still.
        session.insert(&b, &[row(999, None), vec![Datum::Int(10)]].concat()).unwrap();
        assert!(
            matches!(delete(&mut session, &parent, 1), Err(Error::Constraint { name, .. }) if name == "b_a")
        );
        assert_eq!([&parent, &a, &b].map(|table| table.row_count()), [2, 2, 3]);
        drop((session, parent, a, b));
        db.close().unwrap();
        assert_sound_on(&disk, &of_db.paths());
    }
}
