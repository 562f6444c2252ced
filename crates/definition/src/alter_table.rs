//! ALTER TABLE: columns, constraints and triggers of a table, and REBUILD.

mod alter_column;
mod dependents;
mod drop_item;

use extentdb_engine::model::TableModel;
use extentdb_engine::{ColumnSpec, Error, ExistingRows, Unsupported};
use extentdb_tsql::syntax::{
    AllOrNames, AlterTable, AlterTableAction, Clause, ColumnDefinition, ColumnKind, ConstraintKind,
    Name, Part, PartitionNumber, TableElement,
};

use super::column::{Columns, Standing};
use super::constraint::Target;
use super::create_table::inline_index;
use super::options::verify_table_options;
use super::problem::{Defined, Problem};
use super::{Ddl, Define};
use extentdb_connection::cause::{Cause, DefinitionCause};
use extentdb_connection::output::StatementCode;

impl Define for AlterTable {
    fn code(&self) -> StatementCode {
        StatementCode::AlterTable
    }

    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        let target = ddl.target(&self.name, |name| DefinitionCause::NoTableToAlter { name })?;
        ddl.in_scope(&target.database.clone(), |ddl| ddl.alter_table(&target, &self.action))
    }
}

impl Ddl<'_, '_> {
    fn alter_table(&mut self, target: &Target, action: &AlterTableAction) -> Defined {
        match action {
            AlterTableAction::Add { is_checked, elements } => {
                let rows = match is_checked {
                    Some(false) => ExistingRows::Unverified,
                    _ => ExistingRows::Verified,
                };
                self.add_elements(target, elements, rows)
            }
            AlterTableAction::Drop(items) => {
                items.iter().try_for_each(|item| self.drop_item(target, item))
            }
            AlterTableAction::AlterColumn(alter) => self.alter_column(target, alter),
            AlterTableAction::Constraints { is_checked, is_enabled, names } => {
                let rows = match is_checked {
                    Some(true) => ExistingRows::Verified,
                    _ => ExistingRows::Unverified,
                };
                let rows = is_enabled.then_some(rows);
                self.switch_constraints(target, names, rows)
            }
            AlterTableAction::Triggers { is_enabled, names } => {
                self.switch_triggers(target, names, *is_enabled)
            }
            AlterTableAction::Rebuild { partition, options } => {
                if matches!(partition, Some(PartitionNumber::Number(_))) {
                    return Err(Cause::not_supported("partitions").into());
                }
                super::options::verify_rebuild_options(options)?;
                Ok(self.session().rebuild_table(&target.table)?)
            }
            AlterTableAction::Switch(_) => Err(Cause::not_supported("ALTER TABLE SWITCH").into()),
            AlterTableAction::Other(clause) => Ok(verify_other(clause)?),
        }
    }

    fn add_elements(
        &mut self,
        target: &Target,
        elements: &[TableElement],
        rows: ExistingRows,
    ) -> Defined {
        for element in elements {
            if let TableElement::Column(column) = element {
                self.add_column(target, column, elements)?;
            }
        }
        for element in elements {
            match element {
                TableElement::Column(column) => {
                    for constraint in &column.constraints {
                        if !matches!(constraint.kind, ConstraintKind::Default { .. }) {
                            self.add_constraint(target, constraint, Some(&column.name), rows)?;
                        }
                    }
                    if let Some(index) = &column.index {
                        let spec = inline_index(index, Some(&column.name))?;
                        self.create_index(target, &spec)?;
                    }
                }
                TableElement::Constraint(constraint) => {
                    self.add_constraint(target, constraint, None, rows)?;
                }
                TableElement::Index(index) => {
                    let spec = inline_index(index, None)?;
                    self.create_index(target, &spec)?;
                }
                TableElement::Period { .. } => {
                    return Err(Cause::not_supported("PERIOD FOR SYSTEM_TIME").into());
                }
            }
        }
        Ok(())
    }

    fn add_column(
        &mut self,
        target: &Target,
        column: &ColumnDefinition,
        elements: &[TableElement],
    ) -> Defined {
        let model = self.model(&target.database)?;
        let own = target.of(&model)?;
        let table = target.qualified();
        let columns = Columns {
            model: &model,
            options: &self.connection().options.clone(),
            table: &table,
        };
        let name = column.name.text.to_string();
        if own.column(&name, model.collation()).is_some() {
            let table = table.clone();
            return Err(DefinitionCause::ColumnTwiceInTable { column: name, table }.into());
        }
        let is_in_primary_key = is_in_primary_key(elements, &column.name);
        let at = Standing { position: 1, is_in_primary_key };
        let spec = match column.kind {
            ColumnKind::Computed { .. } => columns.computed(column, at, &specs_of(own))?,
            _ => columns.stored(column, at, &mut target.namer(&model))?,
        };
        verify_second(own, &spec, &table)?;
        let added = self.session().add_column(&target.table, &spec);
        added.map_err(|error| match error {
            Error::NotSupported(Unsupported::NoDefaultForRows { column }) => {
                let table = target.shown.clone();
                DefinitionCause::NotNullWithoutValue { column, table }.into()
            }
            Error::Exists { name } => Problem::from(DefinitionCause::ObjectExists { name })
                .then(DefinitionCause::NotCreated),
            error => error.into(),
        })
    }

    /// Enables constraints, or disables them when `rows` says nothing.
    fn switch_constraints(
        &mut self,
        target: &Target,
        names: &AllOrNames,
        rows: Option<ExistingRows>,
    ) -> Defined {
        let model = self.model(&target.database)?;
        let own = target.of(&model)?;
        let checks = own.checks.iter().map(|check| check.object.name.clone());
        let keys = own.foreign_keys.iter().map(|key| key.object.name.clone());
        let all: Vec<String> = checks.chain(keys).collect();
        let named = match names {
            AllOrNames::All => all,
            AllOrNames::Names(names) => {
                for name in names {
                    if !all.iter().any(|own| own.eq_ignore_ascii_case(&name.text)) {
                        let name = name.text.to_string();
                        let cause = DefinitionCause::NoConstraint { name };
                        return Err(
                            Problem::from(cause).then(DefinitionCause::ConstraintNotSwitched)
                        );
                    }
                }
                names.iter().map(|name| name.text.to_string()).collect()
            }
        };
        named.iter().try_for_each(|name| self.switch_constraint(target, own, name, rows))
    }

    fn switch_constraint(
        &mut self,
        target: &Target,
        own: &TableModel,
        name: &str,
        rows: Option<ExistingRows>,
    ) -> Defined {
        let Some(rows) = rows else {
            return Ok(self.session().disable_constraint(&target.table, name)?);
        };
        let enabled = self.session().enable_constraint(&target.table, name, rows);
        enabled.map_err(|error| match error {
            Error::Constraint { .. } => {
                let is_check =
                    own.checks.iter().any(|check| check.object.name.eq_ignore_ascii_case(name));
                let kind = if is_check { "CHECK" } else { "FOREIGN KEY" };
                target.conflict(kind, name.to_owned(), &[]).into()
            }
            error => error.into(),
        })
    }

    pub(super) fn switch_triggers(
        &mut self,
        target: &Target,
        names: &AllOrNames,
        is_enabled: bool,
    ) -> Defined {
        let model = self.model(&target.database)?;
        let of_table = model.object_by_id(target.table.id());
        let children = of_table.iter().flat_map(|object| &object.children);
        let triggers = children.filter_map(|id| model.object_by_id(*id));
        let triggers = triggers.filter(|child| child.object.kind.code() == "TR");
        let all: Vec<String> = triggers.map(|child| child.object.name.clone()).collect();
        let named: Vec<String> = match names {
            AllOrNames::All => all,
            AllOrNames::Names(names) => {
                let is_there =
                    |name: &&Name| all.iter().any(|own| own.eq_ignore_ascii_case(&name.text));
                if let Some(missing) = names.iter().find(|name| !is_there(name)) {
                    return Err(DefinitionCause::NoTriggerOfTable {
                        name: missing.text.to_string(),
                        table: target.shown.clone(),
                    }
                    .into());
                }
                names.iter().map(|name| name.text.to_string()).collect()
            }
        };
        for name in named {
            self.session().switch_trigger(&target.table, &name, is_enabled)?;
        }
        Ok(())
    }
}

/// Is a column in the primary key that is added with it?
fn is_in_primary_key(elements: &[TableElement], column: &Name) -> bool {
    let is_it = |name: &Name| name.text.eq_ignore_ascii_case(&column.text);
    elements.iter().any(|element| match element {
        TableElement::Column(own) => is_it(&own.name)
            && own.constraints.iter().any(
                |constraint| matches!(&constraint.kind, ConstraintKind::Key(key) if key.is_primary),
            ),
        TableElement::Constraint(constraint) => match &constraint.kind {
            ConstraintKind::Key(key) => {
                key.is_primary && key.columns.iter().any(|own| is_it(&own.name))
            }
            _ => false,
        },
        _ => false,
    })
}

/// The columns that a table has, as a computed one names them.
fn specs_of(table: &TableModel) -> Vec<ColumnSpec> {
    let spec = |column: &extentdb_engine::model::Column| {
        let ty = column.ty?;
        Some(match &column.computed {
            Some(text) => ColumnSpec::computed(&column.name, ty, text),
            None => ColumnSpec::new(&column.name, ty),
        })
    };
    table.columns.iter().filter_map(spec).collect()
}

/// Refuses a second identity or rowversion.
fn verify_second(table: &TableModel, spec: &ColumnSpec, shown: &str) -> Defined {
    let table_name = shown.to_owned();
    if spec.identity.is_some() && table.columns.iter().any(|own| own.identity.is_some()) {
        return Err(DefinitionCause::SecondIdentity { table: table_name }.into());
    }
    let is_version = spec.ty == extentdb_types::SqlType::RowVersion;
    if is_version && table.columns.iter().any(|own| own.ty == Some(spec.ty)) {
        let column = spec.name.clone();
        return Err(DefinitionCause::SecondTimestamp { table: table_name, column }.into());
    }
    Ok(())
}

/// SET ( LOCK_ESCALATION = TABLE ) is what is done anyway; the rest is refused.
fn verify_other(clause: &Clause) -> Result<(), Cause> {
    let options: Vec<Clause> = clause.all("table_option").cloned().collect();
    if options.is_empty() {
        let words = clause.parts.iter().filter_map(|part| match part {
            Part::Word(word) => Some(*word),
            _ => None,
        });
        let words: Vec<&str> = words.collect();
        return Err(Cause::not_supported(format!("ALTER TABLE … {}", words.join(" "))));
    }
    verify_table_options(&options)
}
