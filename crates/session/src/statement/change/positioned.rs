//! WHERE CURRENT OF: the row of a cursor, as a condition on the key of its table.

use extentdb_tsql::syntax::{
    Column, CursorName, Dml, DmlFilter, ObjectName, SetItem, Target, TargetKind,
};

use crate::statement::cursor::current_row_filter;
use extentdb_connection::frame::Frame;
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;

/// The statement with a condition in place of the cursor; `None` where it names none.
pub(super) fn with_key(run: &mut Run<'_>, frame: &Frame, dml: &Dml) -> Result<Option<Dml>, Stop> {
    let mut dml = match dml {
        Dml::Update(update) if cursor_of(update.filter.as_ref()).is_some() => dml.clone(),
        Dml::Delete(delete) if cursor_of(delete.filter.as_ref()).is_some() => dml.clone(),
        _ => return Ok(None),
    };
    let (target, changed, filter) = match &mut dml {
        Dml::Update(update) => (&update.target, changed(&update.sets), &mut update.filter),
        Dml::Delete(delete) => (&delete.target, Vec::new(), &mut delete.filter),
        Dml::Insert(_) | Dml::Merge(_) => return Ok(None),
    };
    let Some(cursor) = cursor_of(filter.as_ref()).cloned() else { return Ok(None) };
    let condition = current_row_filter(run, frame, &cursor, name_of(target), &changed)?;
    *filter = Some(DmlFilter::Condition(condition));
    Ok(Some(dml))
}

fn cursor_of(filter: Option<&DmlFilter>) -> Option<&CursorName> {
    match filter {
        Some(DmlFilter::CurrentOf(name)) => Some(name),
        _ => None,
    }
}

fn name_of(target: &Target) -> Option<&ObjectName> {
    match &target.kind {
        TargetKind::Object(name) => Some(name),
        TargetKind::Variable(_) | TargetKind::Rowset(_) => None,
    }
}

/// The columns that UPDATE gives values to.
fn changed(sets: &[SetItem]) -> Vec<String> {
    let columns = sets.iter().filter_map(|set| match set {
        SetItem::Column { column, .. } => match &column.column {
            Column::Named(name) => Some(name.text.to_string()),
            Column::Pseudo(_) => None,
        },
        SetItem::Variable(_) | SetItem::Method { .. } => None,
    });
    columns.collect()
}
