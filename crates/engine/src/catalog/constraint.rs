//! Constraints of a table: CHECK constraints, and foreign keys in both directions.
//!
//! ```text
//! INSERT, UPDATE   every CHECK of the table, before the change: false is refused, NULL passes
//!                  every foreign key of the table, after it: the referenced row must exist, unless
//!                  a column of the key is NULL
//! DELETE, UPDATE   every foreign key that references the table, after the change
//!                  (`dml::foreign_key`)
//! ```
//!
//! A CHECK that cannot be evaluated with certainty makes its table read only; one that leaves a row
//! open refuses the row.
//!
//! Source of the bit for disabled constraints: public texts of system views.

use extentdb_base::ObjectId;
use extentdb_base::sync::Arc;
use extentdb_catalog::layout::Cell;
use extentdb_catalog::model::{self, Catalog};

use crate::catalog::bound::{BoundRule, rules_of};
use crate::catalog::foreign_key::DISABLED;
use crate::catalog::formula::ContextValues;
use crate::catalog::{Condition, ForeignKey, TableColumn};
use crate::error::{Error, Unsupported};

/// A CHECK constraint.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) id: ObjectId,
    pub(crate) name: String,
    condition: Condition,
}

impl Check {
    /// Compiles a condition over the columns of a table.
    ///
    /// # Errors
    /// Why it cannot be evaluated.
    pub(crate) fn compile(
        id: ObjectId,
        name: String,
        text: &str,
        columns: &[TableColumn],
    ) -> Result<Check, String> {
        Ok(Check {
            id,
            name,
            condition: Condition::compile_check(text, columns)?,
        })
    }

    /// The same under another name.
    pub(crate) fn renamed(&self, name: String) -> Check {
        Check { id: self.id, name, condition: self.condition.clone() }
    }

    /// Ids of the columns that it is about.
    pub(crate) fn columns(&self) -> &[i32] {
        self.condition.columns()
    }

    /// Refuses a row that it is false for.
    pub(crate) fn verify(
        &self,
        table: &str,
        columns: &[TableColumn],
        row: &[Cell<'_>],
        context: &dyn ContextValues,
    ) -> Result<(), Error> {
        match self.condition.truth(columns, row, Some(context)) {
            Ok(Some(false)) => Err(self.refused(table)),
            Ok(_) => Ok(()),
            Err(error) if error.is_undecided() => {
                Err(Unsupported::UndecidedCheck { constraint: self.name.clone(), why: error }
                    .into())
            }
            Err(error) => Err(Error::Value { column: self.name.clone(), what: error.to_string() }),
        }
    }

    fn refused(&self, table: &str) -> Error {
        Error::Constraint {
            table: table.to_owned(),
            name: self.name.clone(),
            kind: "CHECK",
        }
    }
}

/// The constraints of a table, and the foreign keys that lead to it. The second is why the table is
/// only read here.
pub(crate) fn constraints_of(
    table: &model::Table,
    columns: &[TableColumn],
    catalog: &Catalog,
) -> (Constraints, Option<String>) {
    let mut found = Constraints::default();
    let mut read_only = not_written(columns, catalog);
    let (rules, unread_rule) = rules_of(table, columns, catalog);
    found.rules = rules;
    read_only = read_only.or(unread_rule);
    let is_on = |object: &&model::Object| object.status & DISABLED == 0;
    for check in &catalog.checks {
        if check.object.parent != table.id || !is_on(&&check.object) {
            continue;
        }
        let text = check.definition.as_deref().ok_or_else(|| "its text cannot be read".to_owned());
        let compile =
            |text| Check::compile(check.object.id, check.object.name.clone(), text, columns);
        match text.and_then(compile) {
            Ok(check) => found.checks.push(Arc::new(check)),
            Err(why) => read_only = Some(format!("check constraint {}: {why}", check.object.name)),
        }
    }
    for key in &catalog.foreign_keys {
        let own = Arc::new(ForeignKey::of(key));
        if own.child == table.id {
            found.foreign_keys.push(own.clone());
        }
        if own.parent == table.id {
            found.referencing_keys.push(own);
        }
    }
    (found, read_only)
}

/// What rows of a table have, or depends on them, that is not written here.
fn not_written(columns: &[TableColumn], catalog: &Catalog) -> Option<String> {
    let column = columns.iter().find_map(|column| match &column.formula {
        Some(formula) if formula.computed.persisted => {
            formula.unknown().map(|why| format!("persisted computed column {}: {why}", column.name))
        }
        _ => None,
    });
    let view =
        catalog.tables.values().find(|view| view.kind.code() == "V" && !view.indexes.is_empty());
    let view = view.map(|view| format!("perhaps rows in the indexed view {}", view.name));
    column.or(view)
}

/// A constraint without an index.
pub(crate) enum Rule {
    Check(Arc<Check>),
    /// One that is in the catalog alone.
    DisabledCheck(ObjectId),
    ForeignKey(Arc<ForeignKey>),
    /// The column, by id, and the object.
    Default(i32, ObjectId),
}

/// The constraints of a table.
#[derive(Clone, Default, Debug)]
pub(crate) struct Constraints {
    pub(crate) checks: Vec<Arc<Check>>,
    /// Rules that its columns are bound to.
    pub(crate) rules: Vec<Arc<BoundRule>>,
    /// Its foreign keys.
    pub(crate) foreign_keys: Vec<Arc<ForeignKey>>,
    /// Those of other tables, and of itself, that name its rows.
    pub(crate) referencing_keys: Vec<Arc<ForeignKey>>,
}

impl Constraints {
    /// A check, foreign key or default of a column by its name.
    pub(crate) fn rule(&self, name: &str, columns: &[TableColumn]) -> Option<Rule> {
        let default = columns.iter().find_map(|column| {
            let own = column
                .default
                .as_ref()
                .filter(|own| own.is_own && own.name.eq_ignore_ascii_case(name))?;
            Some(Rule::Default(column.id, own.id))
        });
        let check = self.checks.iter().find(|check| check.name.eq_ignore_ascii_case(name));
        let key = self.foreign_keys.iter().find(|key| key.name.eq_ignore_ascii_case(name));
        check.cloned().map(Rule::Check).or_else(|| key.cloned().map(Rule::ForeignKey)).or(default)
    }

    /// Does anything depend on what a row was before?
    pub(crate) fn needs_old_rows(&self) -> bool {
        !self.referencing_keys.is_empty() || !self.foreign_keys.is_empty()
    }

    /// Verifies a row against its checks, and the values that it did not have before against the
    /// rules of their columns.
    pub(crate) fn verify(
        &self,
        table: &str,
        columns: &[TableColumn],
        (old, row): (&[Cell<'_>], &[Cell<'_>]),
        context: &dyn ContextValues,
    ) -> Result<(), Error> {
        for rule in self.rules.iter().filter(|rule| rule.is_changed(columns, old, row)) {
            rule.verify(table, columns, row, context)?;
        }
        self.checks.iter().try_for_each(|check| check.verify(table, columns, row, context))
    }
}
