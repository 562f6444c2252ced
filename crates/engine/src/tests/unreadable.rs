//! Tables of other makers with columns that are not read: the others are, and nothing is written.
//!
//! The files are made here and then described in another way: what the product would write in them
//! is not known, that the description is not understood is what counts.

use std::ops::ControlFlow;

use extentdb_base::sync::Arc;
use extentdb_catalog::layout::{Cell, ColumnOffset, PhysicalColumn, column_status};
use extentdb_io::MemDisk;
use extentdb_reader::rows::{TableScan, Value};
use extentdb_types::{Collation, Datum, SqlType};

use crate::catalog::system_table::{byte, int, number, smallint};
use crate::{
    Access, ColumnSpec, Database, DatabaseSpec, Error, IndexSpec, Options, Paths, Range, ReadHints,
    Row, ScanSpec, Session, Table, TableSpec, Unreadable, Unsupported,
};

/// Columns of `syscolpars`.
const XTYPE: usize = 4;
const STATUS: usize = 10;
/// A type code of a later version.
const UNKNOWN: u8 = 244;
/// Bits of `syscolpars.status`, by public documentation.
const FILESTREAM: i64 = 0x20;
const SPARSE: i64 = 0x100_0000;
const COLUMN_SET: i64 = 0x200_0000;

fn varchar() -> SqlType {
    SqlType::VarChar { len: Some(100), collation: Collation(0x3400_d008) }
}

fn text(text: &str) -> Datum<'static> {
    Datum::decode(&varchar(), text.as_bytes()).unwrap().into_owned()
}

struct Fixture {
    disk: MemDisk,
    db: Arc<Database>,
}

impl Fixture {
    fn new() -> Fixture {
        let disk = MemDisk::new();
        let options = Options::on(Arc::new(disk.clone()));
        let db = Database::create(&spec(), options).unwrap();
        Fixture { disk, db }
    }

    /// `id int, odd int, long varchar, name varchar, twice AS odd * 2, next AS id + 1`, 40 rows.
    fn with_table(name: &str, is_clustered: bool) -> Fixture {
        let fixture = Fixture::new();
        let mut session = fixture.db.session();
        let computed = |name: &str, text: &str| {
            let text = text.to_owned();
            let computed = Some(crate::Computed { text, persisted: false });
            ColumnSpec { computed, ..ColumnSpec::new(name, SqlType::Int) }
        };
        let columns = vec![
            ColumnSpec::new("id", SqlType::Int).not_null(),
            ColumnSpec::new("odd", SqlType::Int),
            ColumnSpec::new("long", varchar()),
            ColumnSpec::new("name", varchar()),
            computed("twice", "([odd]*(2))"),
            computed("next", "([id]+(1))"),
        ];
        let table = session.create_table(&TableSpec::heap(name, columns)).unwrap();
        if is_clustered {
            session.create_index(&table, &IndexSpec::new("pk", &["id"]).clustered()).unwrap();
        }
        session.create_index(&table, &IndexSpec::new("by_name", &["name"])).unwrap();
        for id in 0..40 {
            session.insert(&table, &row_to_insert(id)).unwrap();
        }
        fixture
    }

    fn describe(&self, table: &str, column: &str, change: impl Fn(&mut Described)) {
        let mut session = self.db.session();
        let table = session.table(table).unwrap();
        describe(&mut session, &table, column, change);
    }

    fn reopen(self) -> Fixture {
        self.db.close().unwrap();
        let options = Options::on(Arc::new(self.disk.clone()));
        let db = Database::open(&paths(), options).unwrap();
        Fixture { db, ..self }
    }

    /// Values of some columns by the offline reader.
    fn by_reader(self, table: &str, columns: &[&str]) -> Vec<Row> {
        self.db.close().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("odd.mdf");
        std::fs::write(&file, self.disk.contents(&paths().data[0]).unwrap()).unwrap();
        let reader = extentdb_reader::Database::open(&[file], &Default::default()).unwrap();
        let tables = reader.catalog().user_tables();
        let table = tables.into_iter().find(|own| own.name == table).unwrap();
        let pages = reader.pages();
        let mut scan = TableScan::new(&pages, reader.catalog(), table).unwrap();
        let at = |name: &&str| scan.columns().iter().position(|own| own.name == **name).unwrap();
        let at: Vec<usize> = columns.iter().map(at).collect();
        let mut rows = Vec::new();
        while let Some(row) = scan.next_row() {
            let row = row.unwrap();
            let value = |at: &usize| match row.value(*at).unwrap() {
                Value::Datum(datum) => datum.into_owned(),
                Value::Lob(_) => panic!("a value off its row"),
            };
            rows.push(at.iter().map(value).collect());
        }
        rows
    }
}

fn spec() -> DatabaseSpec {
    DatabaseSpec::new("odd", "", 4 << 20)
}

fn paths() -> Paths {
    spec().paths()
}

fn row_to_insert(id: i32) -> Row {
    let name = text(&format!("n{id:03}"));
    vec![Datum::Int(id), Datum::Int(-id), text("long"), name, Datum::Null, Datum::Null]
}

/// Another description of a column.
type Change = fn(&mut Described);

/// How the catalog describes a column, of a table and of its rows.
struct Described {
    xtype: u8,
    status: i64,
    physical: PhysicalColumn,
}

fn describe(
    session: &mut Session,
    table: &Arc<Table>,
    name: &str,
    change: impl Fn(&mut Described),
) {
    session
        .statement("TEST", |context| {
            let storage = table.storage();
            let id = storage.columns.iter().find(|own| own.name == name).unwrap().id;
            let key = [int(table.id().0), smallint(0), int(id)];
            let was = context.db().catalog.system("syscolpars")?.rows(&key)?.remove(0);
            let column = |own: &&PhysicalColumn| own.column_id == id;
            let physical = storage.shape.layout().columns.iter().find(column).unwrap();
            let mut own = Described {
                xtype: number(&was[XTYPE]).unwrap() as u8,
                status: number(&was[STATUS]).unwrap(),
                physical: physical.clone(),
            };
            change(&mut own);
            let changes = [(XTYPE, byte(own.xtype)), (STATUS, int(own.status as i32))];
            let _ddl = extentdb_base::sync::lock(&context.db().ddl);
            context.change_system_row("syscolpars", &key, &changes)?;
            context.change_layout_column(storage.base.hobt(), physical, &own.physical)
        })
        .unwrap();
}

fn all(session: &mut Session, table: &Table) -> Vec<Row> {
    let mut rows = Vec::new();
    session
        .scan(table, &mut |_, row| {
            rows.push(row);
            ControlFlow::Continue(())
        })
        .unwrap();
    rows
}

fn names(table: &Table) -> Vec<String> {
    table.columns().into_iter().map(|(name, _)| name).collect()
}

/// Rows by a scan, an index, a cursor and a columnar scan are these.
fn assert_rows(session: &mut Session, table: &Arc<Table>, expected: &[Row], index: &str) {
    assert_eq!(all(session, table), expected);
    let mut by_index = Vec::new();
    session
        .range(table, &Range::all(index), &mut |_, row| {
            by_index.push(row);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(by_index, expected);
    let access = Access::Table(ReadHints::default());
    let mut cursor = session.open_cursor(table, &access).unwrap();
    let batch = cursor.next_batch(session, 1000).unwrap().unwrap();
    let by_cursor: Vec<Row> = batch.iter().map(|row| row.unwrap().values().unwrap()).collect();
    assert_eq!(by_cursor, expected);
    let columns: Vec<usize> = (0..table.columns().len()).collect();
    let mut scan = session.open_scan(table, &ScanSpec::new(&columns)).unwrap();
    let batch = scan.next_batch(session, 1000).unwrap().unwrap();
    assert_eq!(batch.rows, expected.len());
    for (at, vector) in batch.columns.iter().enumerate() {
        let nulls = expected.iter().filter(|row| row[at].is_null()).count();
        assert_eq!((0..batch.rows).filter(|row| vector.is_null(*row)).count(), nulls);
    }
}

/// Every statement that would change the table is refused and says this.
fn assert_closed(session: &mut Session, table: &Arc<Table>, why: &str) {
    let columns = table.columns().len();
    let statements = [
        session.insert(table, &vec![Datum::Null; columns]).map(drop),
        session.truncate_table(table),
        session.drop_column(table, "name"),
        session.create_index(table, &IndexSpec::new("new", &["name"])),
        session.drop_table(table),
    ];
    for refused in statements {
        let Err(Error::NotSupported(error)) = refused else { panic!("{refused:?}") };
        assert!(matches!(error, Unsupported::ReadOnlyTable { .. }), "{error:?}");
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn columns_of_an_unknown_type_leave_the_others_readable() {
    for is_clustered in [false, true] {
        let fixture = Fixture::with_table("t", is_clustered);
        for column in ["odd", "long"] {
            fixture.describe("t", column, |own| {
                own.xtype = UNKNOWN;
                own.physical.ti = own.physical.ti & !0xff | u32::from(UNKNOWN);
            });
        }
        let fixture = fixture.reopen();
        let mut session = fixture.db.session();
        let table = session.table("t").unwrap();
        assert_eq!(names(&table), ["id", "name", "next"]);
        let why = Unreadable::UnknownType { xtype: UNKNOWN };
        let hidden = table.unreadable_columns();
        let hidden: Vec<_> = hidden.iter().map(|own| (own.name.as_str(), own.why)).collect();
        assert_eq!(hidden, [("odd", why), ("long", why), ("twice", Unreadable::Computed)]);
        let expected: Vec<Row> = (0..40)
            .map(|id| vec![Datum::Int(id), text(&format!("n{id:03}")), Datum::Int(id + 1)])
            .collect();
        assert_rows(&mut session, &table, &expected, "by_name");
        assert_closed(&mut session, &table, "odd: its type 244 is not known");
        let model = fixture.db.model().unwrap();
        let model = model.object("dbo", "t").unwrap().table().unwrap();
        let why_not: Vec<_> = model.columns.iter().map(|own| own.unreadable()).collect();
        assert_eq!(why_not, [None, Some(why), Some(why), None, None, None]);
        drop((session, table));
        let by_reader = fixture.by_reader("t", &["id", "name"]);
        let of_both: Vec<Row> = expected.iter().map(|row| row[..2].to_vec()).collect();
        assert_eq!(by_reader, of_both);
    }
}

#[test]
fn a_column_says_why_it_is_not_read() {
    let cases: [(&str, Change, Unreadable); 4] = [
        ("files", |own| own.status |= FILESTREAM, Unreadable::FileStream),
        ("set", |own| own.status |= COLUMN_SET, Unreadable::ColumnSet),
        ("sparse", |own| own.status |= SPARSE, Unreadable::NotInRows),
        (
            "default",
            |own| own.physical.status |= column_status::STORED_DEFAULT,
            Unreadable::StoredDefault,
        ),
    ];
    for (what, change, why) in cases {
        let fixture = Fixture::with_table("t", true);
        fixture.describe("t", "long", change);
        let fixture = fixture.reopen();
        let mut session = fixture.db.session();
        let table = session.table("t").unwrap();
        let hidden = table.unreadable_columns();
        assert_eq!((hidden.len(), hidden[0].name.as_str(), hidden[0].why), (1, "long", why));
        assert_eq!(names(&table), ["id", "odd", "name", "twice", "next"], "{what}");
        let rows = all(&mut session, &table);
        assert_eq!(rows[7][..3], [Datum::Int(7), Datum::Int(-7), text("n007")], "{what}");
        let reason = match what {
            "sparse" => "sparse column long".to_owned(),
            _ => format!("column long: {why}"),
        };
        assert_closed(&mut session, &table, &reason);
        let mut address = None;
        session
            .scan(&table, &mut |at, _| {
                address = Some(at);
                ControlFlow::Break(())
            })
            .unwrap();
        let refused = session.read_lob(&table, &address.unwrap(), "long", |_| Ok(()));
        assert!(matches!(refused, Err(Error::UnreadableColumn { .. })), "{refused:?}");
    }
}

/// A sparse vector.
fn vector(values: &[(u16, &[u8])]) -> Vec<u8> {
    let head = 4 + 4 * values.len();
    let mut bytes = vec![5, 0];
    bytes.extend((values.len() as u16).to_le_bytes());
    values.iter().for_each(|(id, _)| bytes.extend(id.to_le_bytes()));
    let mut end = head;
    for (_, value) in values {
        end += value.len();
        bytes.extend((end as u16).to_le_bytes());
    }
    values.iter().for_each(|(_, value)| bytes.extend(*value));
    bytes
}

#[test]
fn sparse_columns_are_read_and_not_written() {
    let fixture = Fixture::new();
    let mut session = fixture.db.session();
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("number", SqlType::Int),
        ColumnSpec::new("name", varchar()),
        ColumnSpec::new("flag", SqlType::Bit),
        ColumnSpec::new("all", SqlType::VarBinary { len: Some(500) }),
    ];
    let table = session.create_table(&TableSpec::heap("t", columns)).unwrap();
    for id in 0..30i32 {
        let number = (3 * id).to_le_bytes();
        let mut values: Vec<(u16, &[u8])> = Vec::new();
        values.extend((id % 2 == 0).then_some((2, &number[..])));
        values.extend((id % 3 == 0).then_some((3, &b"three"[..])));
        values.extend((id % 5 == 0).then_some((4, &[1u8][..])));
        let vector = vector(&values);
        let set = if values.is_empty() { Cell::Null } else { Cell::Complex(vector.into()) };
        session
            .statement("TEST", |context| {
                let storage = table.storage();
                let mut cells = vec![Cell::Null; 5];
                cells[0] = Cell::Bytes(id.to_le_bytes().to_vec().into());
                cells[4] = set.clone();
                context.insert_row(table.with(&storage), &mut cells)
            })
            .unwrap();
    }
    for column in ["number", "name", "flag"] {
        describe(&mut session, &table, column, |own| {
            own.status |= SPARSE;
            own.physical.status |= column_status::SPARSE;
            own.physical.leaf = ColumnOffset::default();
        });
    }
    describe(&mut session, &table, "all", |own| own.status |= COLUMN_SET);
    drop((session, table));
    let fixture = fixture.reopen();
    let mut session = fixture.db.session();
    let table = session.table("t").unwrap();
    assert_eq!(names(&table), ["id", "number", "name", "flag"]);
    let value = |is_there: bool, value: Datum<'static>| {
        if is_there { value } else { Datum::Null }
    };
    let expected: Vec<Row> = (0..30)
        .map(|id| {
            vec![
                Datum::Int(id),
                value(id % 2 == 0, Datum::Int(3 * id)),
                value(id % 3 == 0, text("three")),
                value(id % 5 == 0, Datum::Bit(true)),
            ]
        })
        .collect();
    assert_eq!(all(&mut session, &table), expected);
    let mut scan = session.open_scan(&table, &ScanSpec::new(&[1, 3])).unwrap();
    let batch = scan.next_batch(&mut session, 100).unwrap().unwrap();
    let crate::Values::I32(numbers) = &batch.columns[0].values else { panic!("no numbers") };
    for (id, number) in numbers.iter().enumerate() {
        assert_eq!(batch.columns[0].is_null(id), id % 2 == 1);
        assert!(id % 2 == 1 || *number == 3 * id as i32);
    }
    let filter = Some("[number] > 50 AND [flag] = 1");
    let mut scan = session.open_scan(&table, &ScanSpec { filter, ..ScanSpec::new(&[0]) }).unwrap();
    assert_eq!(scan.next_batch(&mut session, 100).unwrap().unwrap().rows, 1);
    assert_closed(&mut session, &table, "sparse column number");
    drop((session, table, scan));
    assert_eq!(fixture.by_reader("t", &["id", "number", "name", "flag"]), expected);
}
