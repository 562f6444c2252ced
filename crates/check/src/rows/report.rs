//! What is reported for single rows of a table.

use extentdb_format::record::Record;
use extentdb_messages::Arg;

use super::column::ColumnPlan;
use crate::finding::{Finding, Location, page_arg};
use crate::partial::Partial;
use crate::sound::{Entry, SoundPage};

/// A test of a row's shape that failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShapeFault {
    pub(super) text: &'static str,
    pub(super) values: (u16, u16),
}

fn place(page: &SoundPage<'_>, entry: &Entry<'_>) -> Location {
    Location::page(page.id).owned_by(page.unit.owner).slot(entry.slot)
}

fn push(
    page: &SoundPage<'_>,
    entry: &Entry<'_>,
    error: u32,
    state: u8,
    args: impl IntoIterator<Item = Arg<'static>>,
    partial: &mut Partial,
) {
    let args = args.into_iter();
    partial.findings.push(Finding::new(error, place(page, entry), args).state(state));
}

fn unit_page_slot(
    page: &SoundPage<'_>,
    entry: &Entry<'_>,
) -> impl Iterator<Item = Arg<'static>> + use<> {
    page.unit.args().into_iter().chain([page_arg(page.id), entry.slot.into()])
}

/// 8970: a column that must not be NULL is.
#[cold]
pub(super) fn null(
    page: &SoundPage<'_>,
    entry: &Entry<'_>,
    column: &ColumnPlan,
    partial: &mut Partial,
) {
    let args = unit_page_slot(page, entry).chain([column.name.to_string().into()]);
    push(page, entry, 8970, 1, args, partial);
}

/// 8970: a column that every row has is missing from its bitmap.
#[cold]
pub(super) fn missing(
    page: &SoundPage<'_>,
    entry: &Entry<'_>,
    column: &ColumnPlan,
    partial: &mut Partial,
) {
    let args = unit_page_slot(page, entry).chain([column.name.to_string().into()]);
    push(page, entry, 8970, 2, args, partial);
}

/// 2537: a row of no shape that its table ever had.
#[cold]
pub(super) fn shape_fault(
    page: &SoundPage<'_>,
    entry: &Entry<'_>,
    shape_fault: ShapeFault,
    partial: &mut Partial,
) {
    let (found, expected) = shape_fault.values;
    let values = [shape_fault.text.into(), i64::from(found).into(), i64::from(expected).into()];
    push(page, entry, 2537, 3, unit_page_slot(page, entry).chain(values), partial);
}

/// 7961: a variable column is NULL and holds bytes.
#[cold]
pub(super) fn filled_nulls(
    page: &SoundPage<'_>,
    columns: &[ColumnPlan],
    entry: &Entry<'_>,
    record: &Record<'_>,
    partial: &mut Partial,
) {
    for column in columns {
        let super::column::ColumnPosition::Variable { index } = column.place else { continue };
        let is_filled = || record.var(index).is_some_and(|var| !var.bytes.is_empty());
        let is_judged = !column.is_not_null && !column.keeps_bytes_when_null();
        if is_judged && record.is_null(column.null_bit) == Some(true) && is_filled() {
            let args = unit_page_slot(page, entry).chain([column.name.to_string().into()]);
            push(page, entry, 7961, 1, args, partial);
        }
    }
}

/// 2537: a value in the row is longer than its column allows.
#[cold]
pub(super) fn too_long(
    page: &SoundPage<'_>,
    entry: &Entry<'_>,
    column: &ColumnPlan,
    bytes: usize,
    partial: &mut Partial,
) {
    let test = format!("length of column {} <= its maximum", column.name);
    let values = [test.into(), (bytes as i64).into(), i64::from(column.bytes_max).into()];
    push(page, entry, 2537, 1, unit_page_slot(page, entry).chain(values), partial);
}

/// 2570.
#[cold]
pub(super) fn out_of_range(
    page: &SoundPage<'_>,
    entry: &Entry<'_>,
    column: &ColumnPlan,
    partial: &mut Partial,
) {
    let args = [page_arg(page.id), entry.slot.into()].into_iter().chain(page.unit.args());
    let args = args.chain([column.name.to_string().into(), type_name(column).into()]);
    push(page, entry, 2570, 1, args, partial);
}

/// The name of the type without its length, as DBCC prints it.
fn type_name(column: &ColumnPlan) -> String {
    let full = column.ty.to_string();
    full.split('(').next().unwrap_or_default().to_owned()
}

/// 2537: a stored computed column is not what its expression gives.
#[cold]
pub(super) fn computed(
    page: &SoundPage<'_>,
    entry: &Entry<'_>,
    column: &ColumnPlan,
    partial: &mut Partial,
) {
    let test = format!("computed column {} has the value of its expression", column.name);
    let values = [test.into(), 0i64.into(), 1i64.into()];
    push(page, entry, 2537, 2, unit_page_slot(page, entry).chain(values), partial);
}

/// 5262: a versioning tag without a sequence number that leads somewhere.
///
/// That the pointer comes first is public, but not verified. The other way round, the tag of a row
/// without older versions looks like a pointer into file 0, which there is not.
#[cold]
pub(super) fn version_tag(
    page: &SoundPage<'_>,
    entry: &Entry<'_>,
    record: &Record<'_>,
    partial: &mut Partial,
) {
    let Some(tag) = record.version_tag() else { return };
    let leads_somewhere = tag.previous.page.file.0 != 0 && tag.previous.page.page != 0;
    if tag.sequence.iter().all(|byte| *byte == 0) && leads_somewhere {
        let chain = [page_arg(tag.previous.page), tag.previous.slot.0.into()];
        push(page, entry, 5262, 1, unit_page_slot(page, entry).chain(chain), partial);
    }
}
