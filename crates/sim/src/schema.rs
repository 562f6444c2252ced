//! Tables and rows from the seed: every fixed and variable type, rows of up to 8,060 bytes.

use extentdb_base::env::Rng;
use extentdb_engine::{ColumnSpec, IndexSpec, LobPart, Row, TableSpec};
use extentdb_types::{Collation, Datum, Guid, Money, SmallMoney, SqlType};

/// The longest value of a LOB type.
const LOB_BYTES_MAX: usize = 120_000;

const COLLATION: Collation = Collation(0x3400_d008);

/// A table of one of four characters. The first column is its id.
pub(crate) fn any_table(rng: &mut dyn Rng, name: &str, filegroup: Option<String>) -> TableSpec {
    let mut columns = vec![ColumnSpec::new("id", SqlType::Int).not_null()];
    let types = match rng.below(4) {
        0 => vec![varchar(60)],
        1 => vec![varchar(4000), SqlType::BigInt, varchar(2000)],
        // The longest row there is: 8,060 bytes.
        2 => vec![varchar(4000), SqlType::Char { len: 43, collation: COLLATION }, varchar(4000)],
        _ => (0..1 + rng.below(10)).map(|_| any_type(rng)).collect(),
    };
    for (number, ty) in types.into_iter().enumerate() {
        let column = ColumnSpec::new(&format!("c{number}"), ty);
        columns.push(if rng.below(3) == 0 { column.not_null() } else { column });
    }
    TableSpec { filegroup, ..TableSpec::heap(name, columns) }
}

/// A table with columns of LOB types, and others that are pushed off their rows.
pub(crate) fn lob_table(rng: &mut dyn Rng, name: &str, filegroup: Option<String>) -> TableSpec {
    let mut columns = vec![ColumnSpec::new("id", SqlType::Int).not_null()];
    for number in 0..2 + rng.below(4) {
        let ty = match rng.below(8) {
            0 => varchar(6000),
            1 => SqlType::VarBinary { len: Some(5000) },
            2 | 3 => SqlType::NVarChar { len: None, collation: COLLATION },
            4 => SqlType::VarBinary { len: None },
            5 => SqlType::Text { collation: COLLATION },
            6 => SqlType::Image,
            _ => any_type(rng),
        };
        columns.push(ColumnSpec::new(&format!("c{number}"), ty));
    }
    TableSpec { filegroup, ..TableSpec::heap(name, columns) }
}

/// May a part of a value of this type be replaced?
fn has_parts(ty: &SqlType) -> bool {
    ty.is_max() || ty.is_lob()
}

/// A part of a value of a row, and what replaces it.
#[derive(Debug)]
pub(crate) struct PartChange {
    pub(crate) column: String,
    pub(crate) part: LobPart,
    pub(crate) data: Vec<u8>,
}

/// A change of a part of a value, and the row after it; `None` when the row has no such value.
pub(crate) fn any_part(
    rng: &mut dyn Rng,
    table: &TableSpec,
    row: &Row,
) -> Option<(PartChange, Row)> {
    let has_value =
        |(column, value): &(&ColumnSpec, &Datum<'_>)| has_parts(&column.ty) && !value.is_null();
    let count = table.columns.iter().zip(row).filter(has_value).count() as u64;
    let chosen = rng.below(count.max(1)) as usize;
    let found = table.columns.iter().zip(row).enumerate();
    let (at, (column, value)) = found.filter(|(_, pair)| has_value(pair)).nth(chosen)?;
    let mut bytes = Vec::new();
    value.encode(&column.ty, &mut bytes).ok()?;
    let offset = rng.below(bytes.len() as u64 + 1) as usize & !1;
    let length = rng.below((bytes.len() - offset) as u64 + 1) as usize & !1;
    let bits = rng.next_u64();
    let data = letters(bits, any_length(rng, 40_000, bits % 8) & !1);
    let is_wide = matches!(column.ty, SqlType::NVarChar { .. });
    let data: Vec<u8> = if is_wide { widened(&data) } else { data };
    bytes.splice(offset..offset + length, data.iter().copied());
    let part = LobPart {
        offset: Some(offset as u64),
        length: Some(length as u64),
        data_len: bits.is_multiple_of(3).then_some(data.len() as u64),
    };
    let mut after = row.clone();
    after[at] = decoded(&column.ty, &bytes);
    Some((PartChange { column: column.name.clone(), part, data }, after))
}

/// Letters as UTF-16.
fn widened(letters: &[u8]) -> Vec<u8> {
    letters.iter().flat_map(|letter| [*letter, 0]).collect()
}

/// Filtered indexes have ids below this.
const FILTER_BELOW: i32 = 60;

/// True when an index has an entry for the row with this id.
pub(crate) fn is_in(index: &IndexSpec, id: i32) -> bool {
    index.filter.is_none() || id < FILTER_BELOW
}

/// The same index, with entries for some rows only now and then.
pub(crate) fn any_filter(rng: &mut dyn Rng, index: IndexSpec) -> IndexSpec {
    let filter = (rng.below(3) == 0).then(|| format!("([id]<({FILTER_BELOW}))"));
    IndexSpec { filter, ..index }
}

/// The type of longer texts of the same kind.
pub(crate) fn longer(ty: SqlType) -> Option<SqlType> {
    Some(match ty {
        SqlType::VarChar { len: Some(len @ ..=500), collation } => {
            SqlType::VarChar { len: Some(len + 7), collation }
        }
        SqlType::NVarChar { len: Some(len @ ..=500), collation } => {
            SqlType::NVarChar { len: Some(len + 6), collation }
        }
        SqlType::VarBinary { len: Some(len @ ..=500) } => SqlType::VarBinary { len: Some(len + 9) },
        _ => return None,
    })
}

/// A row as it is read: with what is computed.
pub(crate) fn with_computed(table: &TableSpec, id: i32, mut row: Row) -> Row {
    for (column, value) in
        table.columns.iter().zip(&mut row).filter(|(column, _)| column.computed.is_some())
    {
        debug_assert_eq!(column.ty, SqlType::Int);
        *value = Datum::Int(2 * id);
    }
    row
}

/// An index of a table, whose keys and entries are short enough for any value. Ids are
/// unique.
pub(crate) fn any_index(rng: &mut dyn Rng, table: &TableSpec, name: &str) -> IndexSpec {
    const KEY_BYTES: usize = 300;
    const INCLUDED_BYTES: usize = 2000;
    let id = ("id".to_owned(), rng.below(2) == 0);
    if rng.below(3) == 0 {
        return IndexSpec { keys: vec![id], ..IndexSpec::new(name, &[]) }.unique();
    }
    let bytes = |column: &ColumnSpec| match column.ty {
        ty if has_parts(&ty) => usize::MAX,
        ty => ty.max_bytes().unwrap_or(1),
    };
    let mut keys = Vec::new();
    let mut included = Vec::new();
    for column in table.columns.iter().skip(1) {
        match rng.below(3) {
            0 if bytes(column) <= KEY_BYTES && keys.len() < 3 => {
                keys.push((column.name.clone(), rng.below(2) == 0));
            }
            1 if bytes(column) <= INCLUDED_BYTES && included.len() < 2 => {
                included.push(column.name.clone())
            }
            _ => {}
        }
    }
    if keys.is_empty() {
        keys.push(id);
    }
    IndexSpec { keys, included, ..IndexSpec::new(name, &[]) }
}

fn varchar(len: u16) -> SqlType {
    SqlType::VarChar { len: Some(len), collation: COLLATION }
}

pub(crate) fn any_type(rng: &mut dyn Rng) -> SqlType {
    match rng.below(16) {
        0 => SqlType::Bit,
        1 => SqlType::TinyInt,
        2 => SqlType::SmallInt,
        3 => SqlType::Int,
        4 => SqlType::BigInt,
        5 => SqlType::Float,
        6 => SqlType::Real,
        7 => SqlType::Money,
        8 => SqlType::SmallMoney,
        9 => SqlType::UniqueIdentifier,
        10 => SqlType::Char { len: 1 + rng.below(300) as u16, collation: COLLATION },
        11 => SqlType::Binary { len: 1 + rng.below(300) as u16 },
        12 => SqlType::VarBinary { len: Some(1 + rng.below(500) as u16) },
        13 => SqlType::NVarChar {
            len: Some(2 + 2 * rng.below(250) as u16),
            collation: COLLATION,
        },
        _ => varchar(1 + rng.below(600) as u16),
    }
}

/// A row of the table, in one of `sizes` sizes.
pub(crate) fn any_row(rng: &mut dyn Rng, table: &TableSpec, id: i32, sizes: u64) -> Row {
    let size = rng.below(sizes);
    let is_null = |column: &ColumnSpec, rng: &mut dyn Rng| {
        column.computed.is_some() || (column.nullable && rng.below(8) == 0)
    };
    let rest = table.columns.iter().skip(1).map(|column| {
        if is_null(column, rng) { Datum::Null } else { any_value(rng, &column.ty, size) }
    });
    std::iter::once(Datum::Int(id)).chain(rest).collect()
}

/// A value; `size` says how long those of variable length are.
fn any_value(rng: &mut dyn Rng, ty: &SqlType, size: u64) -> Datum<'static> {
    let bits = rng.next_u64();
    match ty {
        SqlType::Bit => Datum::Bit(bits & 1 == 1),
        SqlType::TinyInt => Datum::TinyInt(bits as u8),
        SqlType::SmallInt => Datum::SmallInt(bits as i16),
        SqlType::Int => Datum::Int(bits as i32),
        SqlType::BigInt => Datum::BigInt(bits as i64),
        SqlType::Float => Datum::Float(f64::from(bits as i32)),
        SqlType::Real => Datum::Real(f32::from(bits as i16)),
        SqlType::Money => Datum::Money(Money(bits as i64)),
        SqlType::SmallMoney => Datum::SmallMoney(SmallMoney(bits as i32)),
        SqlType::UniqueIdentifier => {
            Datum::Guid(Guid(std::array::from_fn(|at| (bits >> (at % 8)) as u8)))
        }
        SqlType::Char { len, .. } => decoded(ty, &letters(bits, usize::from(*len))),
        SqlType::Binary { len } => decoded(ty, &letters(bits, usize::from(*len))),
        SqlType::VarBinary { len: Some(len) } | SqlType::VarChar { len: Some(len), .. } => {
            let len = any_length(rng, usize::from(*len), size);
            decoded(ty, &letters(bits, len))
        }
        SqlType::NVarChar { len: Some(len), .. } => {
            let len = any_length(rng, usize::from(*len) / 2, size);
            let text: Vec<u8> =
                letters(bits, len).into_iter().flat_map(|letter| [letter, 0]).collect();
            decoded(ty, &text)
        }
        SqlType::VarBinary { len: None } | SqlType::Text { .. } | SqlType::Image => {
            let len = any_length(rng, LOB_BYTES_MAX, size + bits % 2);
            decoded(ty, &letters(bits, len))
        }
        SqlType::NVarChar { len: None, .. } => {
            let len = any_length(rng, LOB_BYTES_MAX / 2, size + bits % 2);
            decoded(ty, &widened(&letters(bits, len)))
        }
        _ => Datum::Null,
    }
}

/// Short for the most part, now and then of full length.
fn any_length(rng: &mut dyn Rng, most: usize, size: u64) -> usize {
    match size {
        0 => most,
        1 => rng.below(most as u64 + 1) as usize,
        2..=4 => rng.below(most.min(800) as u64 + 1) as usize,
        _ => rng.below(most.min(60) as u64 + 1) as usize,
    }
}

fn letters(bits: u64, len: usize) -> Vec<u8> {
    (0..len).map(|at| b'a' + ((bits >> (at % 50)) % 26) as u8).collect()
}

fn decoded(ty: &SqlType, bytes: &[u8]) -> Datum<'static> {
    // The lengths are those of the type, and letters are letters in every code page.
    Datum::decode(ty, bytes).map_or(Datum::Null, Datum::into_owned)
}
