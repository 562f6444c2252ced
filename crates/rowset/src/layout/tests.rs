use std::borrow::Cow;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_catalog::layout::{Cell, column_status};
use extentdb_catalog::model::IndexKind;
use extentdb_catalog::table::base_tables;
use extentdb_format::record::{Record, RecordKind};
use extentdb_types::{Collation, SqlType};

use super::*;

fn column(id: i32, ty: SqlType, key_ordinal: i16, offset: i32, null_bit: i32) -> PhysicalColumn {
    let (leaf, interior) = PhysicalColumn::unpack_offsets(offset, null_bit, 0);
    let (ti, collation_id) = ty.to_physical();
    PhysicalColumn {
        column_id: id,
        ordinal: id,
        ti,
        collation_id,
        ty: Some(ty),
        key_ordinal,
        status: 0,
        max_in_row: 0,
        leaf,
        interior,
    }
}

fn both(leaf: i16, interior: i16) -> i32 {
    i32::from(interior) << 16 | i32::from(leaf as u16)
}

fn text() -> SqlType {
    SqlType::NVarChar { len: Some(1000), collation: Collation(0x3400_d008) }
}

/// An int, a name and a binary; the key is name, then int.
fn shape(is_base: bool) -> RowShape {
    let start = if is_base { 4 } else { 1 };
    let columns = vec![
        column(1, SqlType::Int, 2, both(start, 1), both(1, 1)),
        column(2, text(), 1, both(-1, -1), both(2, 2)),
        column(3, SqlType::VarBinary { len: None }, 0, both(-2, 0), both(3, 0)),
    ];
    RowShape::new(RowLayout::new(columns, Compression::None), is_base, 0, 0).expect("a usual table")
}

fn bytes(bytes: &[u8]) -> Cell<'_> {
    Cell::Bytes(Cow::Borrowed(bytes))
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn values_come_back_and_lengths_follow_from_the_columns() {
    for is_base in [true, false] {
        let shape = shape(is_base);
        assert_eq!(shape.pminlen(Level::Leaf), if is_base { 8 } else { 5 });
        assert_eq!(shape.pminlen(Level::Interior), 11);
        let name = utf16("Müller");
        for cells in [
            [bytes(&[7, 0, 0, 0]), bytes(&name), bytes(&[1; 300])],
            [bytes(&[7, 0, 0, 0]), bytes(&name), Cell::Null],
            [Cell::Null, bytes(&[]), bytes(&[])],
        ] {
            let record = shape.leaf_record(&cells).unwrap();
            let decoded = shape.decode(&record).unwrap();
            // The bytes of a NULL column are none.
            assert_eq!(decoded, cells);
            let key = shape.key_of_cells(&cells).unwrap();
            let leaf = shape.leaf(&record);
            assert_eq!(shape.key(&leaf, Level::Leaf).unwrap(), key);
            let child = PageId::new(1, 77);
            let separator = shape.separator(&leaf, child).unwrap();
            let separator = Record::parse_index(&separator, shape.pminlen(Level::Interior));
            assert_eq!(separator.child(), Some(child));
            assert_eq!(shape.key(&separator, Level::Interior).unwrap(), key);
            assert_eq!(shape.key_of_image(&shape.key_image(&leaf).unwrap()).unwrap(), key);
            assert!(key.starts_with(&shape.prefix(&cells[1..2]).unwrap()));
        }
    }
}

/// A column was added, a row inserted, both rolled back: the row is a ghost that ends within a
/// longer column added since.
#[test]
fn a_ghost_has_its_key_and_need_not_have_the_columns_of_today() {
    let int = column(1, SqlType::Int, 1, both(4, 1), both(1, 1));
    let layout = |ty| RowLayout::new(vec![int.clone(), column(2, ty, 0, 8, 2)], Compression::None);
    let before = RowShape::new(layout(SqlType::Int), true, 0, 0).expect("a usual table");
    let now = RowShape::new(layout(SqlType::BigInt), true, 0, 0).expect("a usual table");
    let mut record = before.leaf_record(&[bytes(&[7, 0, 0, 0]), bytes(&[1, 0, 0, 0])]).unwrap();
    assert!(
        now.decode(&record).is_err()
            && now.separator(&now.leaf(&record), PageId::new(1, 77)).is_err()
    );
    record[0] = record[0] & !0x0e | RecordKind::GhostData.bits();
    assert_eq!(now.decode(&record).unwrap(), [bytes(&[7, 0, 0, 0]), Cell::Missing]);
    let separator = now.separator(&now.leaf(&record), PageId::new(1, 77)).unwrap();
    let separator = Record::parse_index(&separator, now.pminlen(Level::Interior));
    let key = now.key(&now.leaf(&record), Level::Leaf).unwrap();
    assert_eq!(now.key(&separator, Level::Interior).unwrap(), key);
}

#[test]
fn empty_columns_at_the_end_are_left_out() {
    let shape = shape(true);
    let name = utf16("ab");
    let short = shape.leaf_record(&[bytes(&[1, 0, 0, 0]), bytes(&name), bytes(&[])]).unwrap();
    assert_eq!(Record::parse_data(&short).var_count(), 1);
    let none = shape.leaf_record(&[bytes(&[1, 0, 0, 0]), Cell::Null, Cell::Null]).unwrap();
    assert_eq!(none, [0x10, 0, 8, 0, 1, 0, 0, 0, 3, 0, 0b110]);
}

#[test]
fn a_first_separator_has_its_child_and_nothing_else() {
    let separator = shape(false).first_separator(PageId::new(1, 77));
    assert_eq!(separator, [0x06, 0, 0, 0, 0, 77, 0, 0, 0, 1, 0]);
}

#[test]
fn what_is_too_long_or_no_value_of_its_column_is_refused_with_the_numbers() {
    let shape = shape(true);
    let int = bytes(&[1, 0, 0, 0]);
    let long = vec![0x41; 902];
    let row = |cells: [Cell<'_>; 3]| shape.leaf_record(&cells).map(|_| ());
    let refused = row([int.clone(), Cell::Null, bytes(&[0; 8060])]);
    assert!(matches!(refused, Err(Error::RowTooLong { bytes: 8077, most: 8060 })), "{refused:?}");
    let refused = shape.key_of_cells(&[int.clone(), bytes(&long), Cell::Null]).map(|_| ());
    assert!(matches!(refused, Err(Error::KeyTooLong { bytes: 906, most: 900 })), "{refused:?}");
    let declared = shape.clone().with_declared_keys(1);
    assert!(declared.key_of_cells(&[int.clone(), bytes(&long[..900]), Cell::Null]).is_ok());
    let refused = row([bytes(&[1, 0]), Cell::Null, Cell::Null]);
    assert!(matches!(refused, Err(Error::Value { column_id: 1, bytes: Some(2) })), "{refused:?}");
    let refused = row([int.clone(), bytes(&[0; 1002]), Cell::Null]);
    assert!(
        matches!(refused, Err(Error::Value { column_id: 2, bytes: Some(1002) })),
        "{refused:?}"
    );
    let refused = row([Cell::Bit(true), Cell::Null, Cell::Null]);
    assert!(matches!(refused, Err(Error::Value { column_id: 1, bytes: None })), "{refused:?}");
    let refused = shape.leaf_record(&[int]).map(|_| ());
    assert!(matches!(refused, Err(Error::Columns { expected: 3, found: 1 })), "{refused:?}");
}

#[test]
fn null_needs_a_null_bit() {
    let columns = vec![column(1, SqlType::Int, 1, both(1, 1), 0)];
    let shape = RowShape::new(RowLayout::new(columns, Compression::None), false, 0, 0).unwrap();
    let refused = shape.leaf_record(&[Cell::Null]).map(|_| ());
    assert!(matches!(refused, Err(Error::Value { column_id: 1, bytes: None })), "{refused:?}");
    assert_eq!(shape.leaf_record(&[bytes(&[5, 0, 0, 0])]).unwrap(), [0x06, 5, 0, 0, 0]);
}

#[test]
fn forms_that_are_not_written_are_named() {
    let compressed = RowLayout::new(Vec::new(), Compression::Row);
    assert!(matches!(
        RowShape::new(compressed, true, 0, 0),
        Err(Error::Form { what: "compressed", .. })
    ));
    let variant = vec![column(3, SqlType::SqlVariant, 1, both(-1, -1), both(1, 1))];
    let variant = RowShape::new(RowLayout::new(variant, Compression::None), true, 0, 0);
    assert!(matches!(variant, Err(Error::Form { column_id: 3, .. })));
    let gap = vec![column(1, text(), 1, both(-2, -1), both(1, 1))];
    assert!(RowShape::new(RowLayout::new(gap, Compression::None), true, 0, 0).is_err());
}

/// What the catalog says of a new table and what follows from its columns is the same.
#[test]
fn the_shapes_of_new_system_tables_follow_from_their_columns() {
    let mut seen = 0;
    for table in base_tables(0x3400_d008).expect("the table of tables") {
        for index in table.indexes.iter().filter(|index| index.kind != IndexKind::Heap) {
            let layout = table.layout(index);
            let given = RowShape::of_layout(&layout, index.is_base()).unwrap();
            let derived = RowShape::new(layout.row.clone(), index.is_base(), 0, 0).unwrap();
            for level in [Level::Leaf, Level::Interior] {
                assert_eq!(
                    given.pminlen(level),
                    derived.pminlen(level),
                    "{} {:?}",
                    table.name,
                    index.id
                );
            }
            assert_eq!(given.leaf.null_bits, layout.max_null_bit);
            assert_eq!(given.interior.null_bits > 0, layout.has_nullable_key);
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen} indexes");
}

#[test]
fn no_bytes_make_it_panic() {
    let mut rng = SplitMix64::new(3);
    let mut sound = 0;
    let name = utf16("a name");
    for round in 0..20_000 {
        let shape = shape(round % 2 == 0);
        let mut row =
            shape.leaf_record(&[bytes(&[7, 0, 0, 0]), bytes(&name), bytes(&[1; 30])]).unwrap();
        for _ in 0..rng.below(4) {
            let at = rng.below(row.len() as u64) as usize;
            row[at] = rng.next_u64() as u8;
        }
        row.truncate(rng.below(row.len() as u64 * 2) as usize);
        let decoded = shape.decode(&row);
        sound += u32::from(decoded.is_ok());
        let leaf = shape.leaf(&row);
        let made = [
            shape.separator(&leaf, PageId::NONE),
            shape.key_image(&leaf),
            shape.key_of_image(&row),
        ];
        drop((decoded, made, shape.key(&leaf, Level::Leaf)));
    }
    assert!((1000..19_000).contains(&sound), "{sound}");
}

/// A shape whose keys are read in place; the second column is descending, the third may be missing
/// in old rows.
fn shape_of_fixed(is_base: bool) -> RowShape {
    let start = if is_base { 4 } else { 1 };
    let mut columns = vec![
        column(1, SqlType::Int, 1, both(start, 1), both(1, 1)),
        column(2, SqlType::DateTime, 2, both(start + 4, 5), both(2, 2)),
        column(3, SqlType::Date, 3, both(start + 12, 13), both(10, 3)),
        column(4, SqlType::Binary { len: 3 }, 4, both(start + 15, 16), both(0, 0)),
        column(5, SqlType::VarBinary { len: Some(50) }, 0, both(-1, 0), both(3, 0)),
    ];
    columns[1].status |= column_status::DESCENDING;
    RowShape::new(RowLayout::new(columns, Compression::None), is_base, 0, 0).expect("a usual table")
}

fn random_cells(rng: &mut SplitMix64) -> Vec<Cell<'static>> {
    let mut cell = |len: usize, may_be_null: bool| match rng.below(12) {
        0 if may_be_null => Cell::Null,
        // Few values, so that keys have columns in common.
        _ => Cell::Bytes(Cow::Owned(
            (0..len).map(|_| [0, 1, 0x7f, 0x80, 0xff][rng.below(5) as usize]).collect(),
        )),
    };
    vec![cell(4, true), cell(8, true), cell(3, true), cell(3, false), cell(7, true)]
}

/// The key, not read in place.
fn key_of_record(shape: &RowShape, bytes: &[u8], level: Level) -> Result<Vec<u8>, Error> {
    let record = match (level, shape.is_base()) {
        (Level::Leaf, true) => Record::parse_data(bytes),
        _ => Record::parse_index(bytes, shape.pminlen(level)),
    };
    shape.key(&record, level)
}

#[test]
fn a_key_is_the_same_wherever_it_is_read() {
    let mut rng = SplitMix64::new(7);
    let mut seen = 0;
    let mut unseen = 0;
    for round in 0..20_000 {
        let shape = shape_of_fixed(round % 2 == 0);
        let cells = random_cells(&mut rng);
        let other = random_cells(&mut rng);
        let mut leaf = shape.leaf_record(&cells).unwrap();
        let separator = shape.separator(&shape.leaf(&leaf), PageId::new(1, 9)).unwrap();
        // Bytes after the record.
        leaf.extend([0xff; 20]);
        let key = shape.key_of_cells(&cells).unwrap();
        let mut sought = shape.prefix(&other[..rng.below(5) as usize]).unwrap();
        sought.truncate(if rng.below(4) == 0 { rng.below(25) as usize } else { sought.len() });
        for (bytes, level) in [(&leaf, Level::Leaf), (&separator, Level::Interior)] {
            let mut own = vec![9];
            if shape.fixed_key_into(bytes, level, &mut own) {
                assert_eq!(own, key);
                seen += 1;
            } else {
                assert!(own.is_empty() && cells[..4].contains(&Cell::Null));
                unseen += 1;
            }
            assert!(shape.compare_fixed(bytes, level, &key).is_none_or(|order| order.is_eq()));
            let order = shape.compare_fixed(bytes, level, &sought);
            assert!(
                order.is_none_or(|order| order == key.as_slice().cmp(&sought)),
                "{key:x?} {sought:x?}"
            );
        }
    }
    assert!(seen > 20_000 && unseen > 1000, "{seen} {unseen}");
}

#[test]
fn a_record_that_needs_a_closer_look_gets_it() {
    let mut rng = SplitMix64::new(8);
    for round in 0..50_000 {
        let shape = shape_of_fixed(round % 2 == 0);
        let mut bytes = shape.leaf_record(&random_cells(&mut rng)).unwrap();
        for _ in 0..=rng.below(2) {
            // Heads and the beginning of the null bitmap are what all else is found by.
            let at = [0, 1, 2, 3, 19, 20, 21, 22, 23, 24][rng.below(10) as usize];
            let at = at.min(bytes.len() - 1);
            bytes[at] ^= 1 << rng.below(8);
        }
        bytes.truncate(rng.below(2 * bytes.len() as u64) as usize);
        let mut own = Vec::new();
        if shape.fixed_key_into(&bytes, Level::Leaf, &mut own)
            && let Ok(key) = key_of_record(&shape, &bytes, Level::Leaf)
        {
            assert_eq!(own, key);
        }
        // Whatever it says, it says something.
        let _ = shape.compare_fixed(&bytes, Level::Leaf, &[1, 0x80, 0]);
    }
}
