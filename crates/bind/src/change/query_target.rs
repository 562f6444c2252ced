//! Targets that are queries: common table expressions and views.
//!
//! Their rows are changed where these are rows of one table: through filters, computed values,
//! windows and TOP, but not through joins, groups and set operations. A column of the target is one
//! of the table, under another name maybe, or a computed value, which takes no other one.

use extentdb_tsql::syntax::{Target, TargetKind};

use super::target::{TargetRows, lock_for_update};
use crate::binder::{Binder, shown};
use crate::error::{Cause, Result, not_supported};
use crate::from::Named;
use crate::logical::{Column, JoinKind, Relation};
use crate::scope::Source;
use crate::surroundings::{Object, StoredTable};
use crate::table::BoundTable;

/// The columns of a target by the names that the statement uses.
#[derive(Clone, Debug, Default)]
pub(crate) struct TargetNames {
    /// What the target is called.
    name: String,
    /// Name, and number in the table; `None` of a computed value.
    columns: Vec<(String, Option<usize>)>,
}

impl TargetNames {
    /// Are the columns those of the table itself?
    pub(super) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Names and numbers of the columns.
    pub(super) fn columns(&self) -> &[(String, Option<usize>)] {
        &self.columns
    }

    /// The error of a column that is computed by the query.
    pub(super) fn derived(&self) -> Cause {
        let text = format!(
            "Update or insert of view or function '{}' failed because it contains a derived or \
             constant field.",
            self.name
        );
        Cause::Other { number: 4406, text }
    }

    /// The columns of a source over a table.
    pub(super) fn of(source: &Source, table: &BoundTable) -> TargetNames {
        let ordinal = |id| table.columns.iter().find(|it| it.column.id == id);
        let columns = source.columns.iter();
        let columns = columns.map(|own| {
            let found = ordinal(own.column.id).map(|column| column.ordinal);
            (own.name.clone(), found)
        });
        TargetNames { name: source.name.clone(), columns: columns.collect() }
    }

    /// The same columns of `inserted` or `deleted`, by the names of the target.
    pub(super) fn named(&self, row: &[(String, Column)]) -> Vec<(String, Column)> {
        if self.columns.is_empty() {
            return row.to_vec();
        }
        let columns = self.columns.iter().filter_map(|(name, ordinal)| {
            let (_, column) = row.get((*ordinal)?)?;
            Some((name.clone(), column.clone()))
        });
        columns.collect()
    }
}

impl Binder<'_> {
    /// The number of a column of a target in its table.
    pub(super) fn target_ordinal(
        &self,
        stored: &StoredTable,
        names: &TargetNames,
        name: &extentdb_tsql::syntax::Name,
    ) -> Result<usize> {
        let found = names.columns.iter().find(|(own, _)| self.is_named(name, own));
        match found {
            Some((_, Some(ordinal))) => Ok(*ordinal),
            Some((_, None)) => Err(names.derived().at(name.span)),
            None if names.columns.is_empty() => self.ordinal(stored, &name.text, name.span),
            None => Err(Cause::InvalidColumn { name: name.text.to_string() }.at(name.span)),
        }
    }

    /// The rows of a target that is a query.
    pub(super) fn query_target(&mut self, target: &Target) -> Result<Option<TargetRows>> {
        let TargetKind::Object(name) = &target.kind else { return Ok(None) };
        let mut check = None;
        let found = match self.common_table(name, None, target.span)? {
            Some(found) => Some(found),
            None => match self.surroundings.object(name, None)? {
                Some(Object::View(view)) => {
                    check = view.has_check_option.then(|| view.query.clone());
                    Some(self.view(&view, None, target.span)?)
                }
                _ => None,
            },
        };
        let Some(found) = found else { return Ok(None) };
        let rows = self.rows_of_query(found, target)?;
        Ok(Some(TargetRows { check, ..rows }))
    }

    fn rows_of_query(
        &mut self,
        (mut relation, sources): Named,
        target: &Target,
    ) -> Result<TargetRows> {
        let locator = self.new_id();
        let name = match &target.kind {
            TargetKind::Object(name) => shown(name),
            TargetKind::Variable(_) | TargetKind::Rowset(_) => String::new(),
        };
        let Some(table) = base_table(&mut relation) else {
            if is_joined(&relation) {
                let text = format!(
                    "View or function '{name}' is not updatable because the modification affects \
                     multiple base tables."
                );
                return Err(Cause::Other { number: 4405, text }.at(target.span));
            }
            return not_supported(format!("changes of rows through {name}"), target.span);
        };
        table.locator = Some(locator);
        lock_for_update(table);
        let names = sources.first().map(|source| TargetNames::of(source, table));
        let stored = StoredTable {
            database: table.database.clone(),
            table: table.table.clone(),
            object: table.object.clone(),
            accesses: table.accesses.clone(),
        };
        Ok(TargetRows {
            stored,
            relation,
            sources,
            locator,
            names: names.unwrap_or_default(),
            check: None,
        })
    }
}

/// Has it rows of several tables?
fn is_joined(relation: &Relation) -> bool {
    match relation {
        Relation::Filter { input, .. }
        | Relation::Compute { input, .. }
        | Relation::Window { input, .. }
        | Relation::Sort { input, .. }
        | Relation::Limit { input, .. } => is_joined(input),
        Relation::Join { .. } => true,
        _ => false,
    }
}

/// The one table whose rows a relation gives.
fn base_table(relation: &mut Relation) -> Option<&mut BoundTable> {
    match relation {
        Relation::Table(table) => Some(table),
        Relation::Filter { input, .. }
        | Relation::Compute { input, .. }
        | Relation::Call { input, .. }
        | Relation::Window { input, .. }
        | Relation::Sort { input, .. }
        | Relation::Limit { input, .. } => base_table(input),
        Relation::Join { kind, left, .. } => match kind {
            JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) | JoinKind::Single => {
                base_table(left)
            }
            JoinKind::Inner | JoinKind::Left | JoinKind::Full => None,
        },
        _ => None,
    }
}
