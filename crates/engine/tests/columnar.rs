//! Columnar scans return the rows that the row API returns: all types and layouts, NULLs, columns
//! that were added and dropped, heaps, clustered and nonclustered indexes, open transactions.

mod support;

use std::ops::{Bound, ControlFlow};

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::Arc;
use extentdb_engine::{
    Access, Address, ColumnBatch, ColumnComparison, ColumnSpec, CompareOp, Database, Error,
    IndexSpec, Isolation, Locators, Range, ReadHints, Row, Sample, ScanSpec, Session, Table,
    TableHint, TableSpec, Timeout, Values, Vector,
};
use extentdb_io::MemDisk;
use extentdb_types::{
    Collation, Date, DateTime, DateTime2, Datum, Decimal, Guid, Money, NText, SmallDateTime,
    SmallMoney, SqlType, Time,
};
use support::*;

const COLLATION: Collation = Collation(0x3400_d008);
const ROWS: i32 = 1200;

/// The columns after `id`, one or more of each type that is stored in its row.
fn types() -> Vec<SqlType> {
    vec![
        SqlType::Bit,
        varchar(200),
        SqlType::TinyInt,
        SqlType::SmallInt,
        SqlType::Int,
        SqlType::BigInt,
        SqlType::Bit,
        SqlType::Decimal { precision: 9, scale: 2 },
        SqlType::Numeric { precision: 19, scale: 0 },
        SqlType::Decimal { precision: 38, scale: 4 },
        SqlType::Money,
        SqlType::SmallMoney,
        SqlType::Float,
        SqlType::Real,
        SqlType::DateTime,
        SqlType::SmallDateTime,
        SqlType::Date,
        SqlType::Time { scale: 3 },
        SqlType::Time { scale: 7 },
        SqlType::DateTime2 { scale: 0 },
        SqlType::DateTime2 { scale: 7 },
        SqlType::Char { len: 5, collation: COLLATION },
        SqlType::NChar { len: 6, collation: COLLATION },
        SqlType::NVarChar { len: Some(60), collation: COLLATION },
        SqlType::Binary { len: 4 },
        SqlType::VarBinary { len: Some(30) },
        SqlType::UniqueIdentifier,
    ]
}

fn bytes(rng: &mut SplitMix64, len: usize) -> Vec<u8> {
    (0..len).map(|_| b'a' + rng.below(26) as u8).collect()
}

/// A value of a type.
fn value(rng: &mut SplitMix64, ty: &SqlType) -> Datum<'static> {
    let number = rng.next_u64() as i64 >> rng.below(60);
    let time = |rng: &mut SplitMix64, scale: u8| {
        Time::new(rng.below(86_400 * 10u64.pow(scale.into())), scale).unwrap()
    };
    match *ty {
        SqlType::Bit => Datum::Bit(number & 1 == 1),
        SqlType::TinyInt => Datum::TinyInt(number as u8),
        SqlType::SmallInt => Datum::SmallInt(number as i16),
        SqlType::Int => Datum::Int(number as i32),
        SqlType::BigInt => Datum::BigInt(number),
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            let most = 10u128.pow(u32::from(precision.min(30)));
            let magnitude = u128::from(rng.next_u64()) * u128::from(rng.below(1 << 40)) % most;
            Datum::Decimal(Decimal::new(number < 0 && magnitude > 0, magnitude, scale).unwrap())
        }
        SqlType::Money => Datum::Money(Money(number)),
        SqlType::SmallMoney => Datum::SmallMoney(SmallMoney(number as i32)),
        SqlType::Float => Datum::Float(number as f64 / 8.0),
        SqlType::Real => Datum::Real(number as i16 as f32 / 8.0),
        SqlType::DateTime => {
            let days = rng.below(80_000) as i32 - 20_000;
            Datum::DateTime(DateTime::new(days, rng.below(25_920_000) as u32).unwrap())
        }
        SqlType::SmallDateTime => Datum::SmallDateTime(
            SmallDateTime::new(rng.below(60_000) as u16, rng.below(1440) as u16).unwrap(),
        ),
        SqlType::Date => Datum::Date(Date::new(rng.below(3_000_000) as u32).unwrap()),
        SqlType::Time { scale } => Datum::Time(time(rng, scale)),
        SqlType::DateTime2 { scale } => {
            let date = Date::new(rng.below(3_000_000) as u32).unwrap();
            Datum::DateTime2(DateTime2 { date, time: time(rng, scale) })
        }
        SqlType::NVarChar { .. } => {
            let len = 2 * rng.below(20) as usize;
            Datum::NChar(NText { bytes: bytes(rng, len).into() })
        }
        SqlType::NChar { len, .. } => Datum::NChar(NText { bytes: bytes(rng, len.into()).into() }),
        SqlType::UniqueIdentifier => Datum::Guid(Guid(bytes(rng, 16).try_into().unwrap())),
        ty => {
            let len = ty.fixed_bytes().unwrap_or(rng.below(30) as usize);
            Datum::decode(&ty, &bytes(rng, len)).unwrap().into_owned()
        }
    }
}

fn row(rng: &mut SplitMix64, id: i32, columns: &[(String, SqlType)]) -> Row {
    let mut row = vec![Datum::Int(id)];
    for (_, ty) in &columns[1..] {
        let is_null = rng.below(4) == 0;
        row.push(if is_null { Datum::Null } else { value(rng, ty) });
    }
    row
}

/// A value as text, from the row API.
fn shown(value: &Datum<'_>) -> String {
    let instant = |date: &Date, time: &Time| {
        i64::from(date.days()) * 864_000_000_000 + time.ticks_100ns() as i64
    };
    match value {
        Datum::Null => "NULL".to_owned(),
        Datum::Bit(it) => it.to_string(),
        Datum::TinyInt(it) => it.to_string(),
        Datum::SmallInt(it) => it.to_string(),
        Datum::Int(it) => it.to_string(),
        Datum::BigInt(it) => it.to_string(),
        Datum::Decimal(it) => it.unscaled().to_string(),
        Datum::Money(it) => it.0.to_string(),
        Datum::SmallMoney(it) => it.0.to_string(),
        Datum::Float(it) => it.to_string(),
        Datum::Real(it) => it.to_string(),
        Datum::DateTime(it) => {
            (i64::from(it.days()) * 25_920_000 + i64::from(it.ticks())).to_string()
        }
        Datum::SmallDateTime(it) => {
            (i32::from(it.days()) * 1440 + i32::from(it.minutes())).to_string()
        }
        Datum::Date(it) => it.days().to_string(),
        Datum::Time(it) => it.ticks_100ns().to_string(),
        Datum::DateTime2(it) => instant(&it.date, &it.time).to_string(),
        Datum::Char(it) => format!("{:?}", it.bytes),
        Datum::NChar(it) => format!("{:?}", it.bytes),
        Datum::Binary(it) => format!("{it:?}"),
        Datum::Guid(it) => format!("{:?}", it.0),
        other => panic!("{other:?}"),
    }
}

/// The same from a vector.
fn seen(vector: &Vector, row: usize) -> String {
    if vector.is_null(row) {
        return "NULL".to_owned();
    }
    match &vector.values {
        Values::Bits(bits) => bits.get(row).to_string(),
        Values::U8(values) => values[row].to_string(),
        Values::I16(values) => values[row].to_string(),
        Values::I32(values) => values[row].to_string(),
        Values::I64(values) => values[row].to_string(),
        Values::I128(values) => values[row].to_string(),
        Values::F32(values) => values[row].to_string(),
        Values::F64(values) => values[row].to_string(),
        Values::Fixed { .. } | Values::Variable { .. } => format!("{:?}", vector.bytes(row)),
    }
}

type Shown = Vec<(Option<Address>, Vec<String>)>;

fn shown_rows(found: &[(Address, Row)], columns: &[usize]) -> Shown {
    let row = |(at, row): &(Address, Row)| {
        (Some(at.clone()), columns.iter().map(|column| shown(&row[*column])).collect())
    };
    found.iter().map(row).collect()
}

fn seen_rows(batches: &[ColumnBatch]) -> Shown {
    let mut rows = Vec::new();
    for batch in batches {
        assert!(batch.columns.iter().all(|column| column.len() == batch.rows));
        for row in 0..batch.rows {
            let values = batch.columns.iter().map(|column| seen(column, row)).collect();
            rows.push((batch.address(row), values));
        }
    }
    rows
}

fn scanned(
    session: &mut Session,
    table: &Arc<Table>,
    spec: &ScanSpec<'_>,
    rows: usize,
) -> Result<Vec<ColumnBatch>, Error> {
    let mut scan = session.open_scan(table, spec)?;
    let mut batches = Vec::new();
    while let Some(batch) = scan.next_batch(session, rows)? {
        batches.push(batch);
    }
    Ok(batches)
}

fn by_rows(session: &mut Session, table: &Table, access: &Access<'_>) -> Vec<(Address, Row)> {
    let mut found = Vec::new();
    let each = &mut |at: Address, row: Row| {
        found.push((at, row));
        ControlFlow::Continue(())
    };
    match access {
        Access::Table(hints) => session.scan_with(table, *hints, each).unwrap(),
        Access::Range(range) => session.range(table, range, each).unwrap(),
    }
    found
}

fn covering(index: IndexSpec, columns: &[&str]) -> IndexSpec {
    let included = columns.iter().map(|&name| name.to_owned()).collect();
    IndexSpec { included, ..index }
}

/// A heap and a clustered table of all types, filled, with holes, forwarded rows and indexes.
fn tables(db: &Arc<Database>, rng: &mut SplitMix64) -> Vec<Arc<Table>> {
    let mut session = db.session();
    let mut columns = vec![ColumnSpec::new("id", SqlType::Int).not_null()];
    columns.extend(types().iter().zip(0..).map(|(ty, n)| ColumnSpec::new(&format!("c{n}"), *ty)));
    let by_id = || IndexSpec::new("by_id", &["id"]).unique();
    let heap = session.create_table(&TableSpec::heap("heap", columns.clone())).unwrap();
    session.create_index(&heap, &covering(by_id(), &["c1", "c4", "c6"])).unwrap();
    let spec = TableSpec::heap("clustered", columns).clustered(by_id());
    let clustered = session.create_table(&spec).unwrap();
    let by_c4 = covering(IndexSpec::new("by_c4", &["c4"]), &["c7", "c1"]);
    session.create_index(&clustered, &by_c4).unwrap();
    for table in [&heap, &clustered] {
        fill(&mut session, table, rng, 0..ROWS);
    }
    vec![heap, clustered]
}

fn fill(
    session: &mut Session,
    table: &Arc<Table>,
    rng: &mut SplitMix64,
    ids: std::ops::Range<i32>,
) {
    let columns = table.columns();
    session.begin();
    let mut at = Vec::new();
    for id in ids {
        let row = row(rng, id, &columns);
        at.push((session.insert(table, &row).unwrap(), row));
    }
    for (number, (at, mut row)) in at.into_iter().enumerate() {
        match number % 10 {
            3 => session.delete(table, &at).unwrap(),
            // Some rows of the heap move.
            4 => {
                row[2] = text(&"long".repeat(45));
                drop(session.update(table, &at, &row).unwrap());
            }
            _ => {}
        }
    }
    session.commit().unwrap();
}

/// Both ways to the rows of a table agree, whatever is read.
fn compare(session: &mut Session, table: &Arc<Table>) {
    let width = table.columns().len();
    let all: Vec<usize> = (0..width).collect();
    let few = [2, 0, 5, 2];
    let lower = [Datum::Int(100)];
    let upper = [Datum::Int(ROWS - 100)];
    let part = Range {
        from: Bound::Excluded(&lower),
        to: Bound::Included(&upper),
        ..Range::all("by_id")
    };
    let mut accesses = vec![
        Access::Table(ReadHints::default()),
        Access::Range(part.clone()),
        Access::Range(part.backward()),
        Access::Range(Range::all("by_id")),
    ];
    if table.indexes().iter().any(|name| name == "by_c4") {
        accesses.push(Access::Range(Range::all("by_c4")));
        accesses.push(Access::Range(Range::all("by_c4").backward()));
    }
    for access in accesses {
        for columns in [&all[..], &few, &[0, 2], &[]] {
            for rows in [1, 100, 1 << 20] {
                let expected = by_rows(session, table, &access);
                let spec = ScanSpec {
                    access: access.clone(),
                    locators: Locators::Delivered,
                    ..ScanSpec::new(columns)
                };
                let mut found = seen_rows(&scanned(session, table, &spec, rows).unwrap());
                let mut expected = shown_rows(&expected, columns);
                if matches!(access, Access::Table(_)) {
                    found.sort();
                    expected.sort();
                }
                assert_eq!(found.len(), expected.len(), "{access:?} {columns:?}");
                let other = found.iter().zip(&expected).find(|(found, expected)| found != expected);
                assert_eq!(other, None, "{access:?} {columns:?}");
            }
        }
    }
}

#[test]
fn scans_equal_the_row_api_for_all_types_and_layouts() {
    let disk = MemDisk::new();
    let spec = spec("columnar");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let mut rng = SplitMix64::new(11);
    let tables = tables(&db, &mut rng);
    let mut session = db.session();
    for table in &tables {
        compare(&mut session, table);
        // Rows from before a column was added or dropped, and from after.
        session.drop_column(table, "c3").unwrap();
        session.drop_column(table, "c13").unwrap();
        session.add_column(table, &ColumnSpec::new("n1", SqlType::BigInt)).unwrap();
        session.add_column(table, &ColumnSpec::new("n2", varchar(50))).unwrap();
        session.add_column(table, &ColumnSpec::new("n3", SqlType::Bit)).unwrap();
        compare(&mut session, table);
        fill(&mut session, table, &mut rng, ROWS..ROWS + 300);
        compare(&mut session, table);
        for level in [Isolation::ReadUncommitted, Isolation::RepeatableRead] {
            session.set_isolation(level);
            compare(&mut session, table);
        }
        session.set_isolation(Isolation::Serializable);
        compare(&mut session, table);
        session.set_isolation(Isolation::ReadCommitted);
        // The session's own changes are among the rows.
        session.begin();
        fill_own(&mut session, table, &mut rng);
        compare(&mut session, table);
        session.rollback().unwrap();
        compare(&mut session, table);
    }
    drop((session, tables));
    close_and_check(db, &disk, &spec.paths());
}

/// Changes in the open transaction.
fn fill_own(session: &mut Session, table: &Arc<Table>, rng: &mut SplitMix64) {
    let columns = table.columns();
    let found = rows(session, table);
    for (at, old) in found.iter().step_by(97) {
        let id = id_of(old);
        session.update(table, at, &row(rng, id, &columns)).unwrap();
    }
    for (at, _) in found.iter().skip(1).step_by(89) {
        session.delete(table, at).unwrap();
    }
    for id in 5000..5050 {
        session.insert(table, &row(rng, id, &columns)).unwrap();
    }
}

#[test]
fn predicates_keep_the_rows_that_satisfy_them() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("columnar"), on(&disk)).unwrap();
    let mut rng = SplitMix64::new(12);
    for table in tables(&db, &mut rng) {
        let mut session = db.session();
        let expected = by_rows(&mut session, &table, &Access::Table(ReadHints::default()));
        let types = table.columns();
        // Each type that is compared, by values that are there.
        for (column, (_, ty)) in types.iter().enumerate() {
            let is_number = !matches!(shown(&value(&mut rng, ty)).as_bytes(), [b'[', ..]);
            let Some(sought) =
                expected.iter().map(|(_, row)| &row[column]).find(|it| !it.is_null())
            else {
                continue;
            };
            let comparison = |op| ColumnComparison { column, op, value: sought.clone() };
            if !is_number {
                let comparisons = [comparison(CompareOp::Equal)];
                let spec = ScanSpec { comparisons: &comparisons, ..ScanSpec::new(&[0]) };
                assert!(matches!(session.open_scan(&table, &spec), Err(Error::Value { .. })));
                continue;
            }
            for op in [CompareOp::Less, CompareOp::GreaterOrEqual, CompareOp::Equal] {
                let holds = |row: &Row| {
                    !row[column].is_null()
                        && op.holds(shown_number(&row[column]).total_cmp(&shown_number(sought)))
                };
                let mut ids: Vec<String> = expected
                    .iter()
                    .filter(|(_, row)| holds(row))
                    .map(|(_, row)| shown(&row[0]))
                    .collect();
                let comparisons = [comparison(op)];
                let spec = ScanSpec { comparisons: &comparisons, ..ScanSpec::new(&[0]) };
                let found = scanned(&mut session, &table, &spec, 500).unwrap();
                let mut found: Vec<String> =
                    seen_rows(&found).into_iter().map(|(_, row)| row[0].clone()).collect();
                ids.sort();
                found.sort();
                assert_eq!(found, ids, "{ty} {op:?}");
            }
        }
        filters(&mut session, &table, &expected);
    }
}

fn shown_number(value: &Datum<'_>) -> f64 {
    match value {
        Datum::Bit(bit) => f64::from(u8::from(*bit)),
        value => shown(value).parse().unwrap(),
    }
}

fn filters(session: &mut Session, table: &Arc<Table>, expected: &[(Address, Row)]) {
    let count = |session: &mut Session, spec: &ScanSpec<'_>| {
        let batches = scanned(session, table, spec, 64)?;
        Ok::<_, Error>(batches.iter().map(|batch| batch.rows).sum::<usize>())
    };
    let text = |row: &Row| match &row[2] {
        Datum::Char(text) => text.bytes.first().copied(),
        _ => None,
    };
    let likes = expected.iter().filter(|(_, row)| text(row) == Some(b'a')).count();
    let like = ScanSpec { filter: Some("([c1] like 'a%')"), ..ScanSpec::new(&[0]) };
    assert_eq!(count(session, &like).unwrap(), likes);
    let comparisons = [ColumnComparison { column: 0, op: CompareOp::Less, value: Datum::Int(500) }];
    let both = ScanSpec { comparisons: &comparisons, ..like.clone() };
    let expected_both =
        expected.iter().filter(|(_, row)| text(row) == Some(b'a') && id_of(row) < 500).count();
    assert_eq!(count(session, &both).unwrap(), expected_both);
    let limited = ScanSpec { limit: Some(7), ..like.clone() };
    assert_eq!(count(session, &limited).unwrap(), 7);
    let none = ScanSpec { limit: Some(0), ..like };
    assert_eq!(count(session, &none).unwrap(), 0);
    let failing = ScanSpec { filter: Some("([id]/([id]-(7))>(0))"), ..ScanSpec::new(&[0]) };
    assert!(matches!(count(session, &failing), Err(Error::Filter { .. })));
    let unknown = ScanSpec { filter: Some("([nothing]=(1))"), ..ScanSpec::new(&[0]) };
    assert!(matches!(count(session, &unknown), Err(Error::NotSupported(_))));
    let sample = |percent| ScanSpec {
        sample: Some(Sample { percent, seed: 3 }),
        ..ScanSpec::new(&[0])
    };
    assert_eq!(count(session, &sample(0.0)).unwrap(), 0);
    assert_eq!(count(session, &sample(100.0)).unwrap(), expected.len());
    let half = count(session, &sample(50.0)).unwrap();
    assert!((expected.len() / 5..expected.len() * 4 / 5).contains(&half), "{half}");
    assert_eq!(count(session, &sample(50.0)).unwrap(), half);
    assert!(matches!(session.open_scan(table, &sample(101.0)), Err(Error::SamplePercent)));
    let beyond = ScanSpec::new(&[99]);
    assert!(matches!(session.open_scan(table, &beyond), Err(Error::Columns { .. })));
}

#[test]
fn computed_columns_are_computed_in_batches() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("columnar"), on(&disk)).unwrap();
    let mut session = db.session();
    let table = session.create_table(&people("t")).unwrap();
    for (name, text, ty) in [
        ("twice", "([id]*(2))", SqlType::Int),
        ("loud", "(upper([name]))", varchar(4000)),
        ("rest", "((100)/[id])", SqlType::Int),
    ] {
        session.add_column(&table, &ColumnSpec::computed(name, ty, text)).unwrap();
    }
    session.begin();
    for id in 0..300 {
        let name = if id % 5 == 0 { Datum::Null } else { text(&format!("n{id}")) };
        let row = [("id", Datum::Int(id)), ("name", name)];
        session.insert_columns(&table, &row).unwrap();
    }
    session.commit().unwrap();
    let spec = ScanSpec { filter: Some("([id]>(250))"), ..ScanSpec::new(&[3, 2, 4, 0]) };
    let found = seen_rows(&scanned(&mut session, &table, &spec, 1000).unwrap());
    assert_eq!(found.len(), 49);
    let row = found.iter().find(|(_, row)| row[3] == "251").unwrap();
    assert_eq!(row.1, ["[78, 50, 53, 49]", "502", "0", "251"]);
    // A row whose column has no value is an error of those who ask for the column.
    assert!(scanned(&mut session, &table, &ScanSpec::new(&[4]), 1000).is_err());
    assert!(scanned(&mut session, &table, &ScanSpec::new(&[2, 3]), 1000).is_ok());
}

/// Rows that others are changing are waited for, left out or seen, as hints say; all others come
/// without locks.
#[test]
fn open_changes_are_waited_for_or_skipped() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("columnar"), on(&disk)).unwrap();
    let mut rng = SplitMix64::new(13);
    for table in tables(&db, &mut rng) {
        let mut writer = db.session();
        let mut reader = db.session();
        let before = rows(&mut writer, &table);
        writer.begin();
        let (changed, old) = &before[before.len() / 2];
        let mut new = old.clone();
        new[5] = Datum::Int(123_456);
        writer.update(&table, changed, &new).unwrap();
        writer.delete(&table, &before[7].0).unwrap();
        writer.insert(&table, &row(&mut rng, 9_000, &table.columns())).unwrap();
        let mut count = |hints: &[TableHint]| {
            let access = Access::Table(ReadHints::of(hints).unwrap());
            let spec = ScanSpec { access, ..ScanSpec::new(&[0, 5]) };
            let batches = scanned(&mut reader, &table, &spec, 100)?;
            Ok::<_, Error>(seen_rows(&batches))
        };
        let dirty = count(&[TableHint::NoLock]).unwrap();
        assert_eq!(dirty.len(), before.len());
        assert!(dirty.iter().any(|(_, row)| row[1] == "123456"));
        let past = count(&[TableHint::ReadPast]).unwrap();
        assert_eq!(past.len(), before.len() - 2);
        assert!(matches!(count(&[TableHint::NoWait]), Err(Error::Lock(_))));
        assert!(matches!(count(&[TableHint::TabLock, TableHint::NoWait]), Err(Error::Lock(_))));
        reader.set_lock_timeout(Timeout::NoWait);
        let spec = ScanSpec::new(&[0]);
        assert!(scanned(&mut reader, &table, &spec, 100).is_err());
        writer.rollback().unwrap();
        let after = scanned(&mut reader, &table, &spec, 100).unwrap();
        assert_eq!(seen_rows(&after).len(), before.len());
    }
}
