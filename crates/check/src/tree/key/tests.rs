use extentdb_base::Rid;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_catalog::layout::{ColumnOffset, Compression, PhysicalColumn};
use extentdb_format::record::{RecordBuilder, RecordKind};
use extentdb_types::{Collation, SqlType};

use super::*;
use crate::spans::Span;
use crate::tree::lead::Pairs;

const CI: Collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;

/// A key column at the first place of its kind, in leaf and upper records.
fn column(ordinal: i32, ty: SqlType, leaf: i16, upper: i16, status: u32) -> PhysicalColumn {
    let (ti, collation_id) = ty.to_physical();
    let place = |offset| ColumnOffset { offset, null_bit: ordinal as u16, bit: 3 };
    PhysicalColumn {
        column_id: ordinal,
        ordinal,
        ti,
        collation_id,
        ty: Some(ty),
        key_ordinal: ordinal as i16,
        status,
        max_in_row: 0,
        leaf: place(leaf),
        interior: place(upper),
    }
}

fn plan(columns: Vec<PhysicalColumn>) -> KeyPlan {
    KeyPlan::new(&RowLayout::new(columns, Compression::None), false, false, |_| None).unwrap()
}

/// The order of two values of a type, as rows of a table with that key.
fn compare(ty: SqlType, status: u32, a: Option<&[u8]>, b: Option<&[u8]>) -> Option<Ordering> {
    let is_fixed = ty.fixed_bytes().is_some() || ty.is_bit();
    let offset = if is_fixed { 4 } else { -1 };
    let width = if ty.is_bit() { 1 } else { ty.fixed_bytes().unwrap_or(0) };
    let plan = plan(vec![column(1, ty, offset, offset, status)]);
    let [a, b] = [a, b].map(|value| {
        let mut builder = RecordBuilder::data(RecordKind::Primary, 4 + width);
        builder.columns(1);
        match value {
            None => {
                builder.null(1);
            }
            Some(value) if ty.is_bit() => {
                builder.fixed_bit(4, 3, value[0] == 1);
            }
            Some(value) if is_fixed => {
                builder.fixed(4, value);
            }
            Some(value) => {
                builder.var(value, false);
            }
        }
        builder.to_vec()
    });
    let a = Record::parse_data(&a);
    let b = Record::parse_data(&b);
    let order = plan.compare_records(&a, &b, true);
    let mut first = Key::default();
    let mut second = Key::default();
    plan.take(&a, true, &mut first);
    plan.take(&b, true, &mut second);
    assert_eq!(plan.compare(&first, &second), order, "{ty:?}: a key compares as its record does");
    if plan.prefix(&first).is_before(&plan.prefix(&second)) {
        assert_eq!(order, Some(Ordering::Less), "{ty:?}: a smaller prefix proves the order");
    }
    if plan.lead(true).is_some_and(|lead| is_ascending(lead, &a, &b)) {
        assert_eq!(order, Some(Ordering::Less), "{ty:?}: a smaller lead proves the order");
    }
    order
}

/// Values in ascending order, each against each, both ways and both directions.
#[track_caller]
fn ascending(ty: SqlType, values: &[&[u8]]) {
    for (i, a) in values.iter().enumerate() {
        for (j, b) in values.iter().enumerate() {
            assert_eq!(
                compare(ty, 0, Some(a), Some(b)),
                Some(i.cmp(&j)),
                "{ty:?} {a:02x?} {b:02x?}"
            );
            let descending = column_status::DESCENDING;
            assert_eq!(
                compare(ty, descending, Some(a), Some(b)),
                Some(j.cmp(&i)),
                "{ty:?} descending"
            );
            let not_null = column_status::NOT_NULL;
            assert_eq!(compare(ty, not_null, Some(a), Some(b)), Some(i.cmp(&j)), "{ty:?} not null");
        }
        assert_eq!(compare(ty, 0, None, Some(a)), Some(Ordering::Less), "{ty:?}: NULL comes first");
        assert_eq!(compare(ty, column_status::DESCENDING, None, Some(a)), Some(Ordering::Greater));
        assert_eq!(compare(ty, 0, None, None), Some(Ordering::Equal));
    }
}

fn le<const N: usize>(value: i128) -> [u8; N] {
    value.to_le_bytes()[..N].try_into().unwrap()
}

#[test]
fn numbers_are_ordered_by_their_value() {
    ascending(SqlType::TinyInt, &[&[0], &[1], &[200]]);
    ascending(SqlType::SmallInt, &[&le::<2>(-300), &le::<2>(-1), &le::<2>(0), &le::<2>(300)]);
    ascending(
        SqlType::Int,
        &[&le::<4>(i32::MIN.into()), &le::<4>(-1), &le::<4>(0), &le::<4>(70_000)],
    );
    ascending(SqlType::BigInt, &[&le::<8>(i64::MIN.into()), &le::<8>(-1), &le::<8>(1 << 40)]);
    ascending(SqlType::Money, &[&le::<8>(-10_000), &le::<8>(0), &le::<8>(1 << 50)]);
    ascending(SqlType::SmallMoney, &[&le::<4>(-10_000), &le::<4>(0), &le::<4>(1 << 20)]);
    ascending(SqlType::Bit, &[&[0], &[1]]);
    let [minus, zero, one] = [[0, 5, 0, 0, 0], [1, 0, 0, 0, 0], [1, 0, 1, 0, 0]];
    ascending(SqlType::Decimal { precision: 9, scale: 2 }, &[&minus, &zero, &one]);
    let wide = |sign: u8, value: u128| [&[sign][..], &value.to_le_bytes()].concat();
    let values =
        [wide(0, 10u128.pow(37)), wide(0, 9), wide(1, 0), wide(1, 7), wide(1, 10u128.pow(37))];
    let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
    ascending(SqlType::Numeric { precision: 38, scale: 0 }, &values);
    let floats = [-1e300f64, -1.0, -1e-300, 0.0, 1e-300, 2.5, 1e300].map(f64::to_le_bytes);
    ascending(SqlType::Float, &floats.each_ref().map(|bytes| &bytes[..]));
    let reals = [-2.5f32, -1e-30, 0.0, 1e-30, 3.0].map(f32::to_le_bytes);
    ascending(SqlType::Real, &reals.each_ref().map(|bytes| &bytes[..]));
}

#[test]
fn both_zeros_are_equal_and_nan_has_no_order() {
    let compare = |ty, a: &[u8], b: &[u8]| compare(ty, 0, Some(a), Some(b));
    let float = SqlType::Float;
    assert_eq!(compare(float, &0f64.to_le_bytes(), &(-0f64).to_le_bytes()), Some(Ordering::Equal));
    assert_eq!(compare(float, &f64::NAN.to_le_bytes(), &1f64.to_le_bytes()), None);
    let decimal = SqlType::Decimal { precision: 5, scale: 0 };
    assert_eq!(compare(decimal, &[0, 0, 0, 0, 0], &[1, 0, 0, 0, 0]), Some(Ordering::Equal));
    assert_eq!(compare(decimal, &[7, 0, 0, 0, 0], &[1, 0, 0, 0, 0]), None);
    assert_eq!(compare(SqlType::SqlVariant, &[56, 1, 0], &[56, 1, 1]), None);
    assert_eq!(compare(SqlType::SqlVariant, &[56, 1, 0], &[56, 1, 0]), Some(Ordering::Equal));
}

#[test]
fn dates_and_times_are_ordered_by_day_then_time() {
    let datetime = |days: i32, ticks: u32| [ticks.to_le_bytes(), days.to_le_bytes()].concat();
    let values = [datetime(-5, 9), datetime(-5, 10), datetime(0, 0), datetime(3, 0)];
    ascending(SqlType::DateTime, &values.each_ref().map(Vec::as_slice));
    let small = |days: u16, minutes: u16| [minutes.to_le_bytes(), days.to_le_bytes()].concat();
    let values = [small(0, 7), small(0, 900), small(1, 0), small(40_000, 1)];
    ascending(SqlType::SmallDateTime, &values.each_ref().map(Vec::as_slice));
    ascending(SqlType::Date, &[&[9, 0, 0], &[0, 1, 0], &[0, 0, 9]]);
    ascending(SqlType::Time { scale: 7 }, &[&[9, 0, 0, 0, 0], &[0, 1, 0, 0, 0], &[0, 0, 0, 0, 9]]);
    ascending(
        SqlType::DateTime2 { scale: 0 },
        &[&[9, 9, 9, 1, 0, 0], &[0, 0, 0, 2, 0, 0], &[1, 0, 0, 2, 0, 0]],
    );
    let offset = SqlType::DateTimeOffset { scale: 0 };
    ascending(
        offset,
        &[&[9, 9, 9, 1, 0, 0, 0, 0], &[0, 0, 0, 2, 0, 0, 0, 0], &[1, 0, 0, 2, 0, 0, 0, 0]],
    );
    let a = [1, 0, 0, 2, 0, 0, 0, 0];
    let b = [1, 0, 0, 2, 0, 0, 60, 0];
    assert_eq!(
        compare(offset, 0, Some(&a), Some(&b)),
        Some(Ordering::Equal),
        "one instant in two zones"
    );
}

#[test]
fn guids_are_ordered_by_their_last_group_first() {
    let guid = |at: usize| {
        let mut bytes = [0u8; 16];
        bytes[at] = 1;
        bytes
    };
    let places = [3, 2, 1, 0, 5, 4, 7, 6, 9, 8, 15, 14, 13, 12, 11, 10].map(guid);
    ascending(SqlType::UniqueIdentifier, &places.each_ref().map(|bytes| &bytes[..]));
}

#[test]
fn binary_values_are_ordered_by_bytes_and_zeros_at_the_end_decide_nothing() {
    ascending(SqlType::Binary { len: 3 }, &[&[0, 0, 9], &[0, 1, 0], &[200, 0, 0]]);
    ascending(SqlType::RowVersion, &[&[0, 0, 0, 0, 0, 0, 0, 9], &[0, 0, 0, 0, 0, 0, 1, 0]]);
    let ty = SqlType::VarBinary { len: Some(30) };
    ascending(ty, &[&[], &[1, 2], &[1, 2, 0, 1], &[1, 3], &[7]]);
    assert_eq!(compare(ty, 0, Some(&[1, 2]), Some(&[1, 2, 0])), None);
    assert_eq!(compare(ty, 0, Some(&[]), Some(&[0, 0])), None);
}

#[test]
fn texts_are_ordered_by_their_collation() {
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let ty = SqlType::NVarChar { len: Some(40), collation: CI };
    let values = [wide(""), wide("Able"), wide("baker"), wide("Bakers"), wide("zoo")];
    ascending(ty, &values.each_ref().map(Vec::as_slice));
    let equal = |a: &str, b: &str| compare(ty, 0, Some(&wide(a)), Some(&wide(b)));
    assert_eq!(equal("Able  ", "ABLE"), Some(Ordering::Equal));
    let ty = SqlType::VarChar { len: Some(20), collation: CI };
    ascending(ty, &[b"", b"able", b"Baker", b"zoo"]);
    let unknown = SqlType::VarChar { len: Some(20), collation: Collation(CI.0 | 1 << 10) };
    assert_eq!(compare(unknown, 0, Some(b"a"), Some(b"b")), None, "never a guess");
    assert!(!plan(vec![column(1, unknown, -1, -1, 0)]).is_known());
}

#[test]
fn a_row_locator_is_ordered_only_where_every_reading_agrees() {
    let layout =
        RowLayout::new(vec![column(1, SqlType::Binary { len: 8 }, 1, 1, 0)], Compression::None);
    let plan = KeyPlan::new(&layout, false, true, |_| None).unwrap();
    let order = |a: Rid, b: Rid| {
        let [a, b] = [a, b].map(|rid| {
            RecordBuilder::index(RecordKind::Index, 9).fixed(1, &rid.to_bytes()).to_vec()
        });
        plan.compare_records(&Record::parse_index(&a, 9), &Record::parse_index(&b, 9), true)
    };
    let rid = |page, slot| Rid::new(PageId::new(1, page), slot);
    assert_eq!(order(rid(5, 1), rid(5, 2)), Some(Ordering::Less));
    assert_eq!(order(rid(9, 1), rid(5, 2)), Some(Ordering::Greater));
    assert_eq!(order(rid(255, 1), rid(256, 1)), None);
}

#[test]
fn both_forms_of_a_key_have_one_hash_and_an_absent_uniquifier_is_zero() {
    let text = SqlType::VarChar { len: Some(20), collation: CI };
    let unique = column_status::UNIQUIFIER | column_status::NOT_NULL;
    let plan = plan(vec![
        column(1, SqlType::Int, 4, 1, column_status::NOT_NULL),
        column(2, text, -3, -1, 0),
        column(3, SqlType::Int, -1, -2, unique),
    ]);
    assert!(plan.has_upper_end(11), "an int and a child page");
    let hash = HashKey::random();
    let hash_of = |record: &Record<'_>, is_leaf| {
        let mut key = Key::default();
        plan.take(record, is_leaf, &mut key);
        (plan.hash(&hash, &key), key)
    };
    let row = RecordBuilder::data(RecordKind::Primary, 8)
        .columns(5)
        .fixed(4, &7u32.to_le_bytes())
        .var(&[], false)
        .var(b"other", false)
        .var(b"Name", false)
        .to_vec();
    let entry = RecordBuilder::index(RecordKind::Index, 11)
        .columns(3)
        .fixed(1, &7u32.to_le_bytes())
        .var(b"Name", false)
        .child(PageId::new(1, 80))
        .to_vec();
    let (row_hash, row_key) = hash_of(&Record::parse_data(&row), true);
    let (entry_hash, entry_key) = hash_of(&Record::parse_index(&entry, 11), false);
    assert_eq!((row_hash, &row_key), (entry_hash, &entry_key));
    assert!(row_hash < 1 << 62);
    let second = RecordBuilder::index(RecordKind::Index, 11)
        .columns(3)
        .fixed(1, &7u32.to_le_bytes())
        .var(b"Name", false)
        .var(&1u32.to_le_bytes(), false)
        .to_vec();
    let (second_hash, second_key) = hash_of(&Record::parse_index(&second, 11), false);
    assert_ne!(second_hash, entry_hash);
    assert_eq!(plan.compare(&row_key, &second_key), Some(Ordering::Less));
}

#[test]
fn a_column_that_is_younger_than_its_row_has_its_default() {
    let layout = RowLayout::new(vec![column(2, SqlType::Int, 8, 1, 0)], Compression::None);
    let row = RecordBuilder::data(RecordKind::Primary, 8).columns(1).to_vec();
    let later = RecordBuilder::data(RecordKind::Primary, 12)
        .columns(2)
        .fixed(8, &6u32.to_le_bytes())
        .to_vec();
    let order = |default: Option<&AddedDefault>| {
        let plan = KeyPlan::new(&layout, false, false, |_| default).unwrap();
        plan.compare_records(&Record::parse_data(&row), &Record::parse_data(&later), true)
    };
    assert_eq!(order(None), Some(Ordering::Less), "NULL");
    assert_eq!(order(Some(&AddedDefault::Bytes(le::<4>(9).to_vec()))), Some(Ordering::Greater));
    let variant = [&[56, 1][..], &6u32.to_le_bytes()].concat();
    assert_eq!(order(Some(&AddedDefault::Variant(variant))), Some(Ordering::Equal));
    assert_eq!(order(Some(&AddedDefault::Variant(vec![0xee, 1]))), None);
}

/// True when the lead alone proves that the first of two records has the lower key.
fn is_ascending(lead: &Lead, a: &Record<'_>, b: &Record<'_>) -> bool {
    let bytes = [a.bytes(), b.bytes()].concat();
    let middle = a.bytes().len() as u16;
    let end = bytes.len() as u16;
    let spans = [Span { slot: 0, start: 0, end: middle }, Span { slot: 1, start: middle, end }];
    let reaches = |record: &Record<'_>| record.fixed_end() >= lead.end();
    reaches(a)
        && reaches(b)
        && lead.holds(&bytes, spans.as_slice(), None)
        && lead.doubtful(&bytes, spans.as_slice(), &mut Pairs::default()).is_empty()
}

/// Keys of several columns at random: leads and prefixes never say what the whole keys do not.
#[test]
fn leading_columns_and_prefixes_never_contradict_the_whole_keys() {
    let mut rng = SplitMix64::new(9);
    let not_null = column_status::NOT_NULL;
    let down = column_status::DESCENDING;
    let text = SqlType::VarChar { len: Some(20), collation: CI };
    let plans = [
        plan(vec![
            column(1, SqlType::SmallInt, 4, 1, not_null | down),
            column(2, SqlType::Int, 6, 3, not_null),
            column(3, SqlType::UniqueIdentifier, 10, 7, not_null | down),
        ]),
        plan(vec![
            column(1, SqlType::Int, 6, 3, down),
            column(2, SqlType::SmallInt, 4, 1, 0),
            column(3, text, -1, -1, down),
        ]),
        plan(vec![column(1, text, -1, -1, 0), column(2, SqlType::Int, 6, 3, not_null)]),
    ];
    let mut proven = 0;
    let mut by_lead = 0;
    for trial in 0..60_000 {
        let plan = &plans[trial % plans.len()];
        let [a, b] = [(), ()].map(|()| {
            let mut builder = RecordBuilder::data(RecordKind::Primary, 26);
            builder.columns(3);
            builder
                .fixed(4, &[rng.below(3) as u8, 0])
                .fixed(6, &le::<4>(i128::from(rng.below(3)) - 1));
            builder.fixed(10, &[rng.below(2) as u8; 16]);
            (1..=3).filter(|_| rng.below(6) == 0).for_each(|bit| {
                builder.null(bit);
            });
            builder.var(
                ["", "a", "A", "ab", "a b", "longer than sixteen"][rng.below(6) as usize]
                    .as_bytes(),
                false,
            );
            builder.to_vec()
        });
        let a = Record::parse_data(&a);
        let b = Record::parse_data(&b);
        let order = plan.compare_records(&a, &b, true);
        let mut first = Key::default();
        let mut second = Key::default();
        plan.take(&a, true, &mut first);
        plan.take(&b, true, &mut second);
        assert_eq!(plan.compare(&first, &second), order);
        if plan.prefix(&first).is_before(&plan.prefix(&second)) {
            assert_eq!(order, Some(Ordering::Less), "{first:?} {second:?}");
            proven += 1;
        }
        if plan.lead(true).is_some_and(|lead| is_ascending(lead, &a, &b)) {
            assert_eq!(order, Some(Ordering::Less), "{first:?} {second:?}");
            by_lead += 1;
        }
    }
    assert!(proven > 10_000 && by_lead > 5_000, "{proven} {by_lead}");
}
