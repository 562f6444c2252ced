//! ALTER TABLE and ALTER INDEX: columns are added, dropped and changed; indexes disabled and
//! rebuilt.

use extentdb_base::sync::Arc;
use extentdb_engine::{ColumnSpec, DefaultSpec, Error, IndexSpec, Nullability, TableSpec};
use extentdb_types::{Datum, SqlType};

use crate::model::{Change, Reshape, TableModel};
use crate::schema::{any_type, longer};
use crate::workload::{CLUSTERED, RunStop, Workload};

/// Columns of a table at one time.
const COLUMNS_MAX: usize = 14;

impl Workload<'_, '_> {
    /// A random statement of these.
    pub(crate) fn alter(&mut self, at: usize) -> Result<(), RunStop> {
        let Some((name, model)) = self.any_table(at) else { return Ok(()) };
        match self.below(8) {
            0..=2 => self.add_column(at, &name, &model),
            3..=4 => self.drop_column(at, &name, &model),
            5 => self.alter_column(at, &name, &model),
            6 => self.switch_index(at, &name, &model),
            _ => self.rebuild_index(at, &name, &model),
        }
    }

    fn add_column(&mut self, at: usize, name: &str, model: &TableModel) -> Result<(), RunStop> {
        if model.spec.columns.len() >= COLUMNS_MAX {
            return Ok(());
        }
        let own = format!("a{}", self.state.next_table);
        self.state.next_table += 1;
        let (column, how) = match self.below(5) {
            0 => {
                let default = Some(DefaultSpec::new(&format!("df_{name}_{own}"), "((7))"));
                let column =
                    ColumnSpec { default, ..ColumnSpec::new(&own, SqlType::Int).not_null() };
                (column, Reshape::Add(Datum::Int(7)))
            }
            1 => {
                let twice = ColumnSpec::computed(&own, SqlType::Int, "([id]*(2))");
                let twice = if self.below(2) == 0 { twice.persisted() } else { twice };
                (twice, Reshape::AddTwice)
            }
            _ => (ColumnSpec::new(&own, any_type(&mut self.state.rng)), Reshape::Add(Datum::Null)),
        };
        let mut spec = TableSpec::clone(&model.spec);
        spec.columns.push(column.clone());
        let table = self.open_table(at, name)?;
        let added = self.workers[at].session.add_column(&table, &column);
        self.reshaped(
            at,
            &format!("add column {own} {} to {name}", column.ty),
            added,
            reshape(name, spec, how),
        )
    }

    fn drop_column(&mut self, at: usize, name: &str, model: &TableModel) -> Result<(), RunStop> {
        let Some(chosen) = self.free_column(model, |_| true) else { return Ok(()) };
        let own = model.spec.columns[chosen].clone();
        let mut spec = TableSpec::clone(&model.spec);
        spec.columns.remove(chosen);
        let table = self.open_table(at, name)?;
        let session = &mut self.workers[at].session;
        let default = own
            .default
            .as_ref()
            .map_or(Ok(()), |default| session.drop_constraint(&table, &default.name));
        if own.default.is_some() {
            // A separate statement that rows do not show: afterwards the column has no default.
            let mut bare = TableSpec::clone(&model.spec);
            bare.columns[chosen].default = None;
            let what = format!("drop the default of {}", own.name);
            return self.reshaped(at, &what, default, reshape(name, bare, Reshape::Keep));
        }
        let dropped = session.drop_column(&table, &own.name);
        self.reshaped(
            at,
            &format!("drop column {} of {name}", own.name),
            dropped,
            reshape(name, spec, Reshape::Drop(chosen)),
        )
    }

    fn alter_column(&mut self, at: usize, name: &str, model: &TableModel) -> Result<(), RunStop> {
        let is_plain = |column: &ColumnSpec| column.default.is_none() && column.computed.is_none();
        let Some(chosen) = self.free_column(model, is_plain) else { return Ok(()) };
        let own = model.spec.columns[chosen].clone();
        let (ty, how) = match own.ty {
            SqlType::Int => (SqlType::BigInt, Reshape::Widen(chosen)),
            ty => match longer(ty) {
                Some(ty) => (ty, Reshape::Keep),
                None => return Ok(()),
            },
        };
        let mut spec = TableSpec::clone(&model.spec);
        spec.columns[chosen].ty = ty;
        spec.columns[chosen].nullable = true;
        let table = self.open_table(at, name)?;
        let session = &mut self.workers[at].session;
        let altered = session.alter_column(&table, &own.name, ty, Nullability::Nullable);
        self.reshaped(
            at,
            &format!("alter column {} of {name} to {ty}", own.name),
            altered,
            reshape(name, spec, how),
        )
    }

    /// A column, not the first, that is in no index.
    fn free_column(
        &mut self,
        model: &TableModel,
        is_meant: impl Fn(&ColumnSpec) -> bool,
    ) -> Option<usize> {
        let indexes = || model.indexes.values().chain(model.disabled.values());
        let uses = |index: &Arc<IndexSpec>, name: &String| {
            index.keys.iter().any(|(key, _)| key == name) || index.included.contains(name)
        };
        let columns = model.spec.columns.iter().enumerate().skip(1);
        let is_free = |column: &ColumnSpec| {
            indexes().all(|index| !uses(index, &column.name)) && is_meant(column)
        };
        let free: Vec<usize> =
            columns.filter(|(_, column)| is_free(column)).map(|(at, _)| at).collect();
        let chosen = self.below(free.len() as u64) as usize;
        free.get(chosen).copied()
    }

    fn switch_index(&mut self, at: usize, name: &str, model: &TableModel) -> Result<(), RunStop> {
        let chosen = self.below(model.indexes.len() as u64) as usize;
        let index = model.indexes.keys().nth(chosen).filter(|index| *index != CLUSTERED).cloned();
        let Some(index) = index else { return Ok(()) };
        let table = self.open_table(at, name)?;
        let done = self.workers[at].session.disable_index(&table, &index);
        let change = Change::Switch { table: name.to_owned(), name: index.clone(), is_on: false };
        self.judge(at, &format!("disable index {index} of {name}"), done, |_| Some(change))
            .map(|_| ())
    }

    pub(crate) fn rebuild_index(
        &mut self,
        at: usize,
        name: &str,
        model: &TableModel,
    ) -> Result<(), RunStop> {
        let names: Vec<&String> = model.disabled.keys().chain(model.indexes.keys()).collect();
        let chosen = self.below(names.len() as u64) as usize;
        let Some(index) = names.get(chosen).map(|index| (*index).clone()) else { return Ok(()) };
        let table = self.open_table(at, name)?;
        let done = self.workers[at].session.rebuild_index(&table, &index);
        let change = Change::Switch { table: name.to_owned(), name: index.clone(), is_on: true };
        self.judge(at, &format!("rebuild index {index} of {name}"), done, |_| Some(change))
            .map(|_| ())
    }

    /// A refusal because rows are too long for another column has changed nothing.
    fn reshaped(
        &mut self,
        at: usize,
        what: &str,
        done: Result<(), Error>,
        change: Change,
    ) -> Result<(), RunStop> {
        // Rows do not show whether a default was dropped: while it is in doubt, both answers are
        // right.
        let is_refused = |error: &Error| match error {
            Error::NotSupported { .. } | Error::NoIndex { .. } => true,
            Error::Dependent { object, .. } => object.starts_with("df_"),
            _ => false,
        };
        if let Err(error) = &done
            && is_refused(error)
        {
            self.state.trace.note(format!("{at}: {what}: {error}"));
            return Ok(());
        }
        self.judge(at, what, done, |_| Some(change)).map(|_| ())
    }
}

fn reshape(table: &str, spec: TableSpec, how: Reshape) -> Change {
    Change::Reshape { table: table.to_owned(), spec: Arc::new(spec), how }
}
