//! Columns that are bound to a default or a rule: objects by themselves, in no table.

use extentdb_base::ObjectId;
use extentdb_base::sync::{Arc, lock};

use crate::catalog::system_table::{int, smallint};
use crate::catalog::{BoundRule, ColumnDefault, Storage, Table, body_of};
use crate::ddl::index::column;
use crate::error::{Error, Unsupported};
use crate::session::Session;

/// Column of `syscolpars`.
const COLUMN_RULE: usize = 14;

/// A default or rule that is an object by itself.
#[derive(Clone, Debug)]
pub struct BoundObject {
    /// Its object id.
    pub id: ObjectId,
    /// Its name.
    pub name: String,
    /// The statement that made it.
    pub text: String,
}

impl Session {
    /// Binds a column to a default, in the place of one that it was bound to before; `None` leaves
    /// it without any.
    ///
    /// # Errors
    /// The column is computed, an identity, or has a DEFAULT constraint.
    pub fn bind_default(
        &mut self,
        table: &Arc<Table>,
        column_name: &str,
        default: Option<&BoundObject>,
    ) -> Result<(), Error> {
        self.statement("sp_bindefault", |context| {
            let old = context.lock_for_ddl(table)?;
            let _ddl = lock(&context.db().ddl);
            let own = column(&old.columns, column_name)?;
            let is_identity = old.identity.as_ref().is_some_and(|it| it.column() == own.id);
            let has_constraint = own.default.as_ref().is_some_and(|default| default.is_own);
            if own.formula.is_some() || is_identity || has_constraint {
                let column = column_name.to_owned();
                return Err(Unsupported::DefaultOfComputed { column }.into());
            }
            let bound = default.map(|default| ColumnDefault {
                id: default.id,
                name: default.name.clone(),
                is_own: false,
                text: body_of(&default.text).unwrap_or_default().to_owned(),
            });
            let id = default.map_or(ObjectId(0), |default| default.id);
            context.name_default(table, own.id, id)?;
            let mut new = Storage::clone(&old);
            new.set_default(own.id, bound);
            context.store(table, new);
            Ok(())
        })
    }

    /// Binds a column to a rule, in the place of one that it was bound to before; `None` leaves it
    /// without any. Rows that are there are not verified.
    ///
    /// # Errors
    /// The column is computed; the rule cannot be evaluated.
    pub fn bind_rule(
        &mut self,
        table: &Arc<Table>,
        column_name: &str,
        rule: Option<&BoundObject>,
    ) -> Result<(), Error> {
        self.statement("sp_bindrule", |context| {
            let old = context.lock_for_ddl(table)?;
            let _ddl = lock(&context.db().ddl);
            let own = column(&old.columns, column_name)?.clone();
            let bound = rule.map(|rule| {
                BoundRule::compile(&rule.name, &rule.text, &own, &old.columns)
                    .map_err(|why| Unsupported::Check { constraint: rule.name.clone(), why })
            });
            let bound = bound.transpose()?;
            let id = rule.map_or(ObjectId(0), |rule| rule.id);
            let key = [int(table.id().0), smallint(0), int(own.id)];
            context.change_system_row("syscolpars", &key, &[(COLUMN_RULE, int(id.0))])?;
            let mut new = Storage::clone(&old);
            new.constraints.rules.retain(|rule| rule.column != own.id);
            new.constraints.rules.extend(bound.map(Arc::new));
            context.store(table, new);
            Ok(())
        })
    }
}
