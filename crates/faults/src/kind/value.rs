//! Group 8: values outside the range of their type.
//!
//! A column without a copy in an index is preferred; where the column is included in indexes, its
//! copies change with it. Key columns are left alone: their order would change, too.

use extentdb_catalog::layout::PhysicalColumn;
use extentdb_catalog::table::Source;
use extentdb_format::record::RecordKind;
use extentdb_types::SqlType;

use crate::candidates::{CandidatePage, Candidates};
use crate::edit::Edit;
use crate::fault::Fault;
use crate::row::{key_text, replace, span, with_var};

/// One more than the last of each.
const TICKS_PER_DAY: u32 = 25_920_000;
const MINUTES_PER_DAY: u16 = 1_440;
const DAYS: u32 = 3_652_059;
const NANOSECONDS_PER_DAY: u128 = 86_400_000_000_000;
/// Minutes; the last legal offset is 840.
const OFFSET: i16 = 900;

/// Writes another value over the value of a fixed-length column.
fn set(
    db: &Candidates<'_>,
    wrong: impl Fn(&SqlType, &[u8]) -> Option<Vec<u8>>,
    expected: &[u32],
) -> Option<Fault> {
    let pick = |is_included: bool| {
        db.pick_row(&db.base_pages(), |found, slot, record| {
            if record.kind() != RecordKind::Primary {
                return None;
            }
            db.columns(&found.partition).find_map(|column| {
                let id = column.column_id;
                let suits = db.is_free(&found.partition, id)
                    && db.is_indexed(&found.partition, id) == is_included;
                let range =
                    span(&found.page, slot, column).filter(|_| suits && column.key_ordinal == 0)?;
                let old = found.page.get(range.clone())?;
                let new =
                    wrong(&column.ty?, old).filter(|new| new.len() == old.len() && new != old)?;
                Some((column, range, new))
            })
        })
    };
    let (found, slot, (column, range, new)) = pick(false).or_else(|| pick(true))?;
    let mut edit = Edit::new(db);
    edit.page(found.id)?.get_mut(range)?.copy_from_slice(&new);
    if db.is_indexed(&found.partition, column.column_id) {
        set_copies(db, &mut edit, &found, slot, column, &new)?;
    }
    let fault = edit.fault(&found, expected)?;
    Some(fault.of_key(key_text(db, &found, slot)).at_slot(slot))
}

/// The same in every entry of the row that has the column.
fn set_copies(
    db: &Candidates<'_>,
    edit: &mut Edit<'_>,
    found: &CandidatePage,
    slot: u16,
    column: &PhysicalColumn,
    new: &[u8],
) -> Option<()> {
    for (entry, at) in db.entries_of(found, slot)? {
        let copies = db.sources(&entry.partition);
        let Some((copy, _)) =
            copies.iter().find(|(_, source)| *source == Source::Column(column.column_id))
        else {
            continue;
        };
        let range = span(&entry.page, at, copy)?;
        edit.page(entry.id)?
            .get_mut(range)
            .filter(|old| old.len() == new.len())?
            .copy_from_slice(new);
    }
    Some(())
}

/// Replaces the bytes of a value from `at` on.
fn with(old: &[u8], at: usize, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut new = old.to_vec();
    new.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
    Some(new)
}

/// Row 141: a datetime has a time of day of 24 hours.
pub(crate) fn datetime_ticks(db: &Candidates<'_>) -> Option<Fault> {
    let wrong = |ty: &SqlType, old: &[u8]| {
        matches!(ty, SqlType::DateTime).then(|| with(old, 0, &TICKS_PER_DAY.to_le_bytes()))?
    };
    set(db, wrong, &[2570])
}

/// Row 142: a smalldatetime has a time of day of 24 hours.
pub(crate) fn smalldatetime_minutes(db: &Candidates<'_>) -> Option<Fault> {
    let wrong = |ty: &SqlType, old: &[u8]| {
        matches!(ty, SqlType::SmallDateTime)
            .then(|| with(old, 0, &MINUTES_PER_DAY.to_le_bytes()))?
    };
    set(db, wrong, &[2570])
}

/// Row 143: ten to the power of the precision.
pub(crate) fn decimal_magnitude(db: &Candidates<'_>) -> Option<Fault> {
    let wrong = |ty: &SqlType, old: &[u8]| {
        let (SqlType::Decimal { precision, .. } | SqlType::Numeric { precision, .. }) = ty else {
            return None;
        };
        let magnitude = 10u128.checked_pow(u32::from(*precision))?.to_le_bytes();
        with(old, 1, magnitude.get(..old.len().checked_sub(1)?)?)
    };
    set(db, wrong, &[2570])
}

/// Row 144: the sign of a decimal is 2.
pub(crate) fn decimal_sign(db: &Candidates<'_>) -> Option<Fault> {
    let wrong = |ty: &SqlType, old: &[u8]| {
        matches!(ty, SqlType::Decimal { .. } | SqlType::Numeric { .. })
            .then(|| with(old, 0, &[2]))?
    };
    set(db, wrong, &[2570])
}

/// Row 145: a float is not a number.
pub(crate) fn float_nan(db: &Candidates<'_>) -> Option<Fault> {
    let wrong = |ty: &SqlType, old: &[u8]| match ty {
        SqlType::Float => with(old, 0, &f64::NAN.to_le_bytes()),
        SqlType::Real => with(old, 0, &f32::NAN.to_le_bytes()),
        _ => None,
    };
    set(db, wrong, &[2570])
}

/// Row 146, dates.
pub(crate) fn date_range(db: &Candidates<'_>) -> Option<Fault> {
    let days = DAYS.to_le_bytes();
    let wrong = |ty: &SqlType, old: &[u8]| match ty {
        SqlType::Date => with(old, 0, days.get(..3)?),
        SqlType::DateTime2 { .. } => with(old, old.len().checked_sub(3)?, days.get(..3)?),
        SqlType::DateTimeOffset { .. } => with(old, old.len().checked_sub(5)?, days.get(..3)?),
        _ => None,
    };
    set(db, wrong, &[2570])
}

/// Row 146, times of day.
pub(crate) fn time_range(db: &Candidates<'_>) -> Option<Fault> {
    let wrong = |ty: &SqlType, old: &[u8]| {
        let (scale, behind) = match ty {
            SqlType::Time { scale } => (*scale, 0),
            SqlType::DateTime2 { scale } => (*scale, 3),
            SqlType::DateTimeOffset { scale } => (*scale, 5),
            _ => return None,
        };
        let ticks = NANOSECONDS_PER_DAY / 10u128.checked_pow(9u32.checked_sub(scale.into())?)?;
        with(old, 0, ticks.to_le_bytes().get(..old.len().checked_sub(behind)?)?)
    };
    set(db, wrong, &[2570])
}

/// Row 148: a datetimeoffset is 15 hours from UTC.
pub(crate) fn offset_range(db: &Candidates<'_>) -> Option<Fault> {
    let wrong = |ty: &SqlType, old: &[u8]| {
        matches!(ty, SqlType::DateTimeOffset { .. })
            .then(|| with(old, old.len().checked_sub(2)?, &OFFSET.to_le_bytes()))?
    };
    set(db, wrong, &[2570])
}

/// Row 149: a base type that does not exist. The message of a server is not known.
pub(crate) fn variant_type(db: &Candidates<'_>) -> Option<Fault> {
    let wrong = |ty: &SqlType, old: &[u8]| {
        matches!(ty, SqlType::SqlVariant).then(|| with(old, 0, &[0xff]))?
    };
    set(db, wrong, &[]).map(|fault| fault.any_of(&[2537, 2570]))
}

/// Row 149, the version that follows the type: only 1 exists.
pub(crate) fn variant_version(db: &Candidates<'_>) -> Option<Fault> {
    let wrong =
        |ty: &SqlType, old: &[u8]| matches!(ty, SqlType::SqlVariant).then(|| with(old, 1, &[9]))?;
    set(db, wrong, &[]).map(|fault| fault.any_of(&[2537, 2570]))
}

/// Row 147: half a character.
pub(crate) fn unicode_odd(db: &Candidates<'_>) -> Option<Fault> {
    let (found, slot, record) = db.pick_row(&db.base_pages(), |found, slot, record| {
        let is_text = |column: &&PhysicalColumn| {
            let partition = &found.partition;
            let id = column.column_id;
            let is_alone = db.is_free(partition, id) && !db.is_indexed(partition, id);
            matches!(column.ty, Some(SqlType::NVarChar { .. }))
                && column.leaf.offset < 0
                && is_alone
        };
        db.columns(&found.partition).filter(is_text).find_map(|column| {
            let old = found.page.get(span(&found.page, slot, column)?)?;
            let index = column.leaf.offset.unsigned_abs() - 1;
            with_var(record, index, old.get(..old.len().checked_sub(1)?)?, false)
        })
    })?;
    let mut edit = Edit::new(db);
    replace(edit.page(found.id)?, slot, &record)?;
    edit.sync_fullness(found.id)?;
    let fault = edit.fault(&found, &[2570])?;
    Some(fault.of_key(key_text(db, &found, slot)).at_slot(slot))
}

/// Row 150: in an index alone. Ranges are checked in the table; here the entry does not match its
/// row.
pub(crate) fn index_datetime(db: &Candidates<'_>) -> Option<Fault> {
    let (found, slot, range) = db.pick_row(db.entries(), |found, slot, _| {
        let sources = db.sources(&found.partition);
        let key = sources.iter().find(|(column, source)| {
            let is_key = column.key_ordinal > 0 && matches!(source, Source::Column(_));
            is_key && matches!(column.ty, Some(SqlType::DateTime))
        });
        span(&found.page, slot, key?.0)
    })?;
    let mut edit = Edit::new(db);
    edit.page(found.id)?
        .get_mut(range.start..range.start + 4)?
        .copy_from_slice(&TICKS_PER_DAY.to_le_bytes());
    let fault = edit.fault(&found, &[8951, 8952])?.permit(&[2511, 2512, 8933, 8934]);
    Some(fault.at_slot(slot))
}
