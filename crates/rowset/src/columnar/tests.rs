use extentdb_catalog::layout::{ColumnOffset, Compression, PhysicalColumn, RowLayout};
use extentdb_catalog::table::RowsetLayout;
use extentdb_format::record::{RecordBuilder, RecordKind};
use extentdb_types::{Collation, SqlType};

use super::*;
use crate::layout::RowShape;

const FIXED_END: usize = 14;

fn column(id: i32, ty: SqlType, offset: i16, bit: u8) -> PhysicalColumn {
    let (ti, collation_id) = ty.to_physical();
    PhysicalColumn {
        column_id: id,
        ordinal: id,
        ti,
        collation_id,
        ty: Some(ty),
        key_ordinal: 0,
        status: 0,
        max_in_row: 0,
        leaf: ColumnOffset { offset, null_bit: id as u16, bit },
        interior: ColumnOffset::default(),
    }
}

fn text() -> SqlType {
    SqlType::VarChar { len: Some(100), collation: Collation(0x3400_d008) }
}

/// `a int, b bit, c bit, d char(5), e varchar, f varchar`, and `g int`, which was added later.
fn shape() -> RowShape {
    let columns = vec![
        column(1, SqlType::Int, 4, 0),
        column(2, SqlType::Bit, 8, 0),
        column(3, SqlType::Bit, 8, 1),
        column(4, SqlType::Binary { len: 5 }, 9, 0),
        column(5, text(), -1, 0),
        column(6, text(), -2, 0),
        column(7, SqlType::Int, FIXED_END as i16, 0),
    ];
    shape_of(columns)
}

fn shape_of(columns: Vec<PhysicalColumn>) -> RowShape {
    let layout = RowsetLayout {
        row: RowLayout::new(columns, Compression::None),
        sources: Vec::new(),
        min_leaf: 0,
        min_interior: 0,
        max_leaf: 0,
        max_interior: 0,
        max_null_bit: 7,
        has_nullable_key: false,
    };
    RowShape::of_layout(&layout, true).unwrap()
}

fn projected(shape: &RowShape, at: &[usize]) -> Vec<Projected> {
    let column = |(to, at): (usize, &usize)| {
        let ty = shape.layout().columns[*at].ty.unwrap();
        Projected { at: *at, ty, to }
    };
    at.iter().enumerate().map(column).collect()
}

/// A row before `g` was added, or after.
fn record(number: i32, has_g: bool, nulls: &[u16], off_row: bool) -> Vec<u8> {
    let end = if has_g { FIXED_END + 4 } else { FIXED_END };
    let mut builder = RecordBuilder::data(RecordKind::Primary, end);
    builder.columns(if has_g { 7 } else { 6 });
    builder.fixed(4, &number.to_le_bytes());
    builder.fixed(8, &[number as u8 & 3]);
    builder.fixed(9, &[number as u8; 5]);
    if has_g {
        builder.fixed(FIXED_END, &(-number).to_le_bytes());
    }
    nulls.iter().for_each(|bit| {
        builder.null(*bit);
    });
    let e = if nulls.contains(&5) { Vec::new() } else { vec![b'e'; number as usize % 7] };
    builder.var(&e, false).var(format!("f{number}").as_bytes(), off_row);
    builder.to_vec()
}

/// Records one after the other, as on a page.
fn page(records: &[Vec<u8>]) -> (Vec<u8>, Vec<Located>) {
    let mut bytes = vec![0xee; 96];
    let mut rows = Vec::new();
    for (slot, record) in (0..).zip(records) {
        rows.push(Located { start: bytes.len() as u16, slot });
        bytes.extend_from_slice(record);
    }
    (bytes, rows)
}

fn records() -> Vec<Vec<u8>> {
    let nulls: [&[u16]; 4] = [&[], &[1], &[2, 5], &[4, 5, 6]];
    let record =
        |number: i32| record(number, number % 9 > 4, nulls[number as usize % 4], number % 11 == 10);
    (0..100).map(record).collect()
}

#[test]
fn runs_and_single_records_make_the_same_vectors() {
    let shape = shape();
    let decoder = Decoder::new(&shape, &projected(&shape, &[0, 1, 2, 3, 4, 5, 6])).unwrap();
    let records = records();
    let (bytes, rows) = page(&records);
    let mut together = ColumnBuilder::new(decoder.vectors());
    decoder.decode(Rows { bytes: &bytes, rows: &rows }, &mut together).unwrap();
    assert_eq!(together.rows(), 100);
    let together = together.finish();
    for (number, record) in records.iter().enumerate() {
        let mut alone = ColumnBuilder::new(decoder.vectors());
        decoder.decode_record(record, &mut alone).unwrap();
        for (vector, own) in together.iter().zip(alone.finish()) {
            assert_eq!(vector.is_null(number), own.is_null(0), "{number}");
            assert_eq!(vector.is_off_row(number), own.is_off_row(0), "{number}");
            assert_eq!(vector.bytes(number), own.bytes(0), "{number}");
        }
    }
    let numbers: Vec<i32> = (0..100).collect();
    let Values::I32(a) = &together[0].values else { panic!() };
    assert!(
        numbers
            .iter()
            .all(|n| n % 4 == 1 && together[0].is_null(*n as usize) || a[*n as usize] == *n)
    );
    let Values::I32(g) = &together[6].values else { panic!() };
    for number in numbers {
        let row = number as usize;
        assert_eq!(together[6].is_null(row), number % 9 <= 4, "{number}: g was added later");
        assert!(together[6].is_null(row) || g[row] == -number);
    }
    assert_eq!(together[5].off_row.as_ref().map(Bits::len), Some(100));
}

#[test]
fn comparisons_keep_what_a_loop_would_keep() {
    let shape = shape();
    let records = records();
    let (bytes, rows) = page(&records);
    let all = [
        CompareOp::Equal,
        CompareOp::NotEqual,
        CompareOp::Less,
        CompareOp::LessOrEqual,
        CompareOp::Greater,
        CompareOp::GreaterOrEqual,
    ];
    for op in all {
        for constant in [-1, 0, 42, 99, 1000] {
            for run in [1, 3, 100] {
                let kept: Vec<Located> = rows
                    .chunks(run)
                    .flat_map(|rows| {
                        let mut rows = rows.to_vec();
                        let column = projected(&shape, &[0])[0];
                        let stored = i32::to_le_bytes(constant);
                        let comparison = Comparison::new(&shape, column, op, &stored).unwrap();
                        let alike = comparison.alike(&bytes, &rows);
                        comparison.retain(&bytes, alike.as_ref(), &mut rows).unwrap();
                        rows
                    })
                    .collect();
                let holds = |number: &i32| number % 4 != 1 && op.holds(number.cmp(&constant));
                let expected: Vec<u16> = (0..100).filter(holds).map(|n| n as u16).collect();
                assert_eq!(kept.iter().map(|row| row.slot).collect::<Vec<_>>(), expected, "{op:?}");
            }
        }
    }
    let bit = projected(&shape, &[2])[0];
    let comparison = Comparison::new(&shape, bit, CompareOp::Equal, &[1]).unwrap();
    let mut kept = rows.clone();
    comparison.retain(&bytes, comparison.alike(&bytes, &kept).as_ref(), &mut kept).unwrap();
    assert!(kept.iter().map(|row| row.slot).eq((0..100).filter(|n| n & 2 != 0)));
    let text = projected(&shape, &[4])[0];
    assert!(Comparison::new(&shape, text, CompareOp::Equal, b"e").is_err());
}

#[test]
fn damaged_records_are_errors_or_values_and_never_panic() {
    let shape = shape();
    let decoder = Decoder::new(&shape, &projected(&shape, &[0, 1, 2, 3, 4, 5, 6])).unwrap();
    let records = records();
    let (sound, rows) = page(&records);
    let mut seed = 1u64;
    for _ in 0..2000 {
        let mut bytes = sound.clone();
        for _ in 0..3 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (seed >> 33) as usize % bytes.len();
            bytes[at] = (seed >> 24) as u8;
        }
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        bytes.truncate((seed >> 33) as usize % (2 * sound.len()));
        let mut builder = ColumnBuilder::new(decoder.vectors());
        if decoder.decode(Rows { bytes: &bytes, rows: &rows }, &mut builder).is_ok() {
            assert!(builder.finish().iter().all(|vector| vector.len() == 100));
        }
    }
}

#[test]
fn a_column_that_cannot_be_read_is_an_error_of_its_projection_only() {
    let mut columns = shape().layout().columns.clone();
    columns[4].ty = None;
    let shape = shape_of(columns);
    let off_row = vec![record(8, false, &[], true)];
    let (bytes, rows) = page(&off_row);
    let rows = Rows { bytes: &bytes, rows: &rows };
    let decoder = Decoder::new(&shape, &projected(&shape, &[0, 5])).unwrap();
    let mut builder = ColumnBuilder::new(decoder.vectors());
    decoder.decode(rows, &mut builder).unwrap();
    let vectors = builder.finish();
    assert!(vectors[1].is_off_row(0) && !vectors[1].is_null(0));
    // Its bytes are what an expression needs: a value off the row is an error.
    assert!(decoder.stored(1, rows, &mut Vec::new()).is_err());
    assert!(decoder.stored(0, rows, &mut Vec::new()).is_ok());
}
