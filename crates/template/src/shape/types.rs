//! The table `types`: a column of every type, with the values at the edges of each.

use extentdb_catalog::table::DEFAULT_COLLATION;
use extentdb_types::{Collation, Datum, SqlType, UdtKind, Variant};

use crate::{ColumnSpec, FnRows, IndexSpec, RowValues, TableSpec};

const COLLATION: Collation = Collation(DEFAULT_COLLATION);
/// Rowversion values must stay below the counter in the boot page.
pub(super) const ROWS_MAX: u64 = 1_500;
const DAYS_MAX: u32 = 3_652_058;
const SECONDS_PER_DAY: u64 = 86_400;

/// A type with values in their disk form.
struct Column {
    name: String,
    ty: SqlType,
    values: Vec<Vec<u8>>,
}

pub(super) fn table(count: u64) -> TableSpec {
    let columns = columns();
    let mut specs = vec![ColumnSpec::new("id", SqlType::Int)];
    specs.extend(columns.iter().map(|column| ColumnSpec::nullable(&column.name, column.ty)));
    specs.push(ColumnSpec::new("version", SqlType::RowVersion));
    let row = move |number: u64, row: &mut RowValues| {
        row.int(number as i32 + 1);
        for (at, column) in (0..).zip(&columns) {
            // One more than the number of values: NULL.
            match column.values.get(((number + at) % (column.values.len() as u64 + 1)) as usize) {
                Some(value) if column.ty.is_bit() => row.bit(value[0] == 1),
                Some(value) => row.raw(value),
                None => row.null(),
            };
        }
        row.raw(&(number + 1).to_be_bytes());
    };
    let index = |name: &str, columns: &[&str]| IndexSpec::new(&format!("IX_types_{name}"), columns);
    TableSpec::heap("types", specs, FnRows::new(count.min(ROWS_MAX), row).ordered(&[0]))
        .clustered(IndexSpec::primary_key("PK_types", &["id"]))
        .index(index("numbers", &["bigint", "float", "decimal_28_28"]).descending("float"))
        .index(index("times", &["datetime2_7", "datetimeoffset_3", "time_0", "smalldatetime"]))
        .index(index("texts", &["nvarchar", "char"]).include(&[
            "varchar",
            "sql_variant",
            "bit",
            "money",
        ]))
        .index(index("bytes", &["uniqueidentifier", "varbinary", "binary"]).descending("varbinary"))
}

fn columns() -> Vec<Column> {
    let mut out = Vec::new();
    numbers(&mut out);
    times(&mut out);
    texts(&mut out);
    others(&mut out);
    out
}

fn add(out: &mut Vec<Column>, name: &str, ty: SqlType, values: &[&[u8]]) {
    let values = values.iter().map(|value| value.to_vec()).collect();
    out.push(Column { name: name.to_owned(), ty, values });
}

fn numbers(out: &mut Vec<Column>) {
    add(out, "bit", SqlType::Bit, &[&[0], &[1]]);
    add(out, "tinyint", SqlType::TinyInt, &[&[0], &[1], &[255]]);
    let edges = |bits: u32| [0, 1, -1, i64::MAX >> (64 - bits), i64::MIN >> (64 - bits), 1_000];
    let types = [
        (SqlType::SmallInt, 16),
        (SqlType::Int, 32),
        (SqlType::BigInt, 64),
        (SqlType::Money, 64),
        (SqlType::SmallMoney, 32),
    ];
    for (ty, bits) in types {
        let values = edges(bits)
            .iter()
            .map(|value| value.to_le_bytes()[..bits as usize / 8].to_vec())
            .collect();
        out.push(Column { name: ty.base_name().to_owned(), ty, values });
    }
    for (precision, scale) in
        [(1, 0), (9, 2), (10, 10), (19, 4), (20, 0), (28, 28), (29, 1), (38, 0), (38, 38)]
    {
        let max = 10u128.pow(precision.into()) - 1;
        let value = |sign: u8, digits: u128| {
            let ty = SqlType::Decimal { precision, scale };
            let bytes = ty.fixed_bytes().unwrap_or(17);
            std::iter::once(sign).chain(digits.to_le_bytes()).take(bytes).collect()
        };
        let values =
            vec![value(1, 0), value(1, max), value(0, max), value(1, 1), value(0, max / 7 + 1)];
        let ty = SqlType::Decimal { precision, scale };
        out.push(Column { name: format!("decimal_{precision}_{scale}"), ty, values });
    }
    let ty = SqlType::Numeric { precision: 12, scale: 3 };
    add(out, "numeric", ty, &[&[1, 0, 0, 0, 0, 0, 0, 0, 0], &[0, 0xff, 1, 2, 3, 0, 0, 0, 0]]);
    let floats = [0.0, -0.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 1.5, -1e-3];
    let values = floats.iter().map(|value| value.to_le_bytes().to_vec()).collect();
    out.push(Column { name: "float".to_owned(), ty: SqlType::Float, values });
    let reals = [0.0, f32::MAX, f32::MIN, f32::MIN_POSITIVE, 0.1];
    let values = reals.iter().map(|value| value.to_le_bytes().to_vec()).collect();
    out.push(Column { name: "real".to_owned(), ty: SqlType::Real, values });
}

fn times(out: &mut Vec<Column>) {
    let datetime = |days: i32, ticks: u32| [ticks.to_le_bytes(), days.to_le_bytes()].concat();
    let values = vec![
        datetime(0, 0),
        datetime(-53_690, 0),
        datetime(2_958_463, 25_919_999),
        datetime(40_000, 1),
    ];
    out.push(Column { name: "datetime".to_owned(), ty: SqlType::DateTime, values });
    let values: [&[u8]; 3] = [&[0, 0, 0, 0], &[0x9f, 5, 0xff, 0xff], &[1, 0, 0x39, 0x9c]];
    add(out, "smalldatetime", SqlType::SmallDateTime, &values);
    let days = [0, 1, 693_595, DAYS_MAX];
    let values = days.iter().map(|days| date(*days)).collect();
    out.push(Column { name: "date".to_owned(), ty: SqlType::Date, values });
    for scale in 0..=7 {
        let last = SECONDS_PER_DAY * 10u64.pow(scale.into()) - 1;
        let ticks = [0, 1, last, last / 3];
        let values = ticks.iter().map(|ticks| time(scale, *ticks)).collect();
        out.push(Column {
            name: format!("time_{scale}"),
            ty: SqlType::Time { scale },
            values,
        });
        let pair = |ticks, days| [time(scale, ticks), date(days)].concat();
        let values = vec![pair(0, 0), pair(last, DAYS_MAX), pair(last / 2, 730_000)];
        out.push(Column {
            name: format!("datetime2_{scale}"),
            ty: SqlType::DateTime2 { scale },
            values,
        });
        let with = |ticks, days, minutes: i16| {
            [pair(ticks, days), minutes.to_le_bytes().to_vec()].concat()
        };
        let values = vec![
            with(0, 1, 0),
            with(last, DAYS_MAX - 1, 840),
            with(1, 730_000, -840),
            with(1, 730_000, 90),
        ];
        let ty = SqlType::DateTimeOffset { scale };
        out.push(Column { name: format!("datetimeoffset_{scale}"), ty, values });
    }
}

fn date(days: u32) -> Vec<u8> {
    days.to_le_bytes()[..3].to_vec()
}

fn time(scale: u8, ticks: u64) -> Vec<u8> {
    let bytes = SqlType::Time { scale }.fixed_bytes().unwrap_or(5);
    ticks.to_le_bytes()[..bytes].to_vec()
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn texts(out: &mut Vec<Column>) {
    let collation = COLLATION;
    add(
        out,
        "char",
        SqlType::Char { len: 10, collation },
        &[b"          ", b"Abc       ", b"~!@#$%^&*(", b"gr\xfc\xdf dich "],
    );
    let varchar: [&[u8]; 5] = [b"", b" ", b"Case", b"CASE  ", &[b'x'; 60]];
    add(out, "varchar", SqlType::VarChar { len: Some(60), collation }, &varchar);
    add(out, "varchar_max", SqlType::VarChar { len: None, collation }, &varchar);
    add(out, "text", SqlType::Text { collation }, &[b"", b"short", &[b't'; 65], &[b'u'; 9_000]]);
    let padded = |text: &str| utf16(&format!("{text:<10}"));
    let values =
        vec![padded(""), padded("Abc"), padded("Ünï"), padded("\u{5c71}\u{7530}\u{592a}\u{90ce}")];
    out.push(Column {
        name: "nchar".to_owned(),
        ty: SqlType::NChar { len: 20, collation },
        values,
    });
    // The last one begins with half a surrogate pair, as real columns may.
    let half = [vec![0x3d, 0xd8], utf16("x")].concat();
    let nvarchar =
        vec![utf16(""), utf16("word"), utf16("WORD "), utf16("Москва"), utf16("a\u{1f600}b"), half];
    let ty = SqlType::NVarChar { len: Some(60), collation };
    out.push(Column { name: "nvarchar".to_owned(), ty, values: nvarchar.clone() });
    let ty = SqlType::NVarChar { len: None, collation };
    out.push(Column {
        name: "nvarchar_max".to_owned(),
        ty,
        values: nvarchar.clone(),
    });
    let values = nvarchar.into_iter().chain([utf16(&"ñ".repeat(300))]).collect();
    out.push(Column {
        name: "ntext".to_owned(),
        ty: SqlType::NText { collation },
        values,
    });
    let values = vec![utf16("<a/>"), utf16("<list><item n=\"1\"/></list>")];
    out.push(Column { name: "xml".to_owned(), ty: SqlType::Xml, values });
}

fn others(out: &mut Vec<Column>) {
    let bytes: [&[u8]; 4] =
        [&[0; 8], &[0xff; 8], &[1, 0, 0, 0, 0, 0, 0, 0], &[0, 0, 0, 0, 0, 0, 0, 1]];
    add(out, "binary", SqlType::Binary { len: 8 }, &bytes);
    let bytes: [&[u8]; 4] = [&[], &[0], &[0, 0], &[0xab; 40]];
    add(out, "varbinary", SqlType::VarBinary { len: Some(40) }, &bytes);
    add(out, "varbinary_max", SqlType::VarBinary { len: None }, &bytes);
    add(out, "image", SqlType::Image, &[&[], &[1; 64], &[2; 500]]);
    let guids: [&[u8]; 3] =
        [&[0; 16], &[0xff; 16], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]];
    add(out, "uniqueidentifier", SqlType::UniqueIdentifier, &guids);
    // "/" and "/1/".
    let ty = SqlType::Udt { len: Some(892), kind: UdtKind::HierarchyId };
    add(out, "hierarchyid", ty, &[&[], &[0x58]]);
    // A point: SRID, version 1, properties 0x0c, two coordinates.
    let point = |srid: u32| {
        let mut bytes = srid.to_le_bytes().to_vec();
        bytes.extend([1, 0x0c]);
        bytes.extend([47.5f64.to_le_bytes(), 8.25f64.to_le_bytes()].concat());
        bytes
    };
    for (name, kind, srid) in
        [("geometry", UdtKind::Geometry, 0), ("geography", UdtKind::Geography, 4326)]
    {
        let values = vec![point(srid)];
        out.push(Column {
            name: name.to_owned(),
            ty: SqlType::Udt { len: None, kind },
            values,
        });
    }
    let values = out.iter().filter_map(variant_of_last).collect();
    out.push(Column {
        name: "sql_variant".to_owned(),
        ty: SqlType::SqlVariant,
        values,
    });
}

/// A sql_variant with the last value of a column; not every type can be in one.
fn variant_of_last(column: &Column) -> Option<Vec<u8>> {
    let value = Datum::decode(&column.ty, column.values.last()?).ok()?;
    let mut out = Vec::new();
    let variant = Datum::Variant(Box::new(Variant { ty: column.ty, value }));
    variant.encode(&SqlType::SqlVariant, &mut out).ok()?;
    Some(out)
}
