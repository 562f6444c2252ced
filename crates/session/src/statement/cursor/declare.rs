//! DECLARE CURSOR and SET @c = CURSOR: what a cursor is.

use extentdb_base::sync::Arc;
use extentdb_bind::Binder;
use extentdb_tsql::syntax::{
    CursorAccess, CursorDefinition, CursorOption, DeclareCursor, Query, VariableName,
};

use super::row_key::{ByValues, KeyedQuery, keyed};
use super::{failed, shared};
use crate::statement::Compiled;
use extentdb_connection::cursor::{Cursor, CursorModel, CursorPlan};
use extentdb_connection::frame::Frame;
use extentdb_connection::output::StatementCode;
use extentdb_connection::query::Prepared;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

struct Declare {
    name: String,
    definition: Definition,
}

struct SetVariable {
    name: String,
    definition: Definition,
}

/// A variable that has no cursor yet.
struct DeclareVariable(String);

/// A definition whose query is shared by all runs of the statement.
struct Definition {
    query: Arc<Query>,
    options: Vec<CursorOption>,
    is_insensitive: bool,
    access: Option<CursorAccess>,
}

impl Definition {
    fn of(definition: &CursorDefinition) -> Definition {
        Definition {
            query: Arc::new(definition.query.clone()),
            options: definition.options.clone(),
            is_insensitive: definition.is_insensitive,
            access: definition.access.clone(),
        }
    }

    fn has(&self, option: CursorOption) -> bool {
        self.options.contains(&option)
    }

    /// The kind that was asked for: one that is not said is dynamic.
    fn model(&self) -> CursorModel {
        let is_static = self.is_insensitive
            || self.has(CursorOption::Static)
            || self.has(CursorOption::FastForward);
        match () {
            () if is_static => CursorModel::Static,
            () if self.has(CursorOption::Keyset) => CursorModel::Keyset,
            () => CursorModel::Dynamic,
        }
    }

    fn is_scrollable(&self) -> bool {
        let kinds = [CursorOption::Static, CursorOption::Keyset, CursorOption::Dynamic];
        let is_forward = self.has(CursorOption::ForwardOnly) || self.has(CursorOption::FastForward);
        self.has(CursorOption::Scroll)
            || (!is_forward && kinds.into_iter().any(|kind| self.has(kind)))
    }

    fn is_read_only(&self) -> bool {
        self.has(CursorOption::ReadOnly) || self.access == Some(CursorAccess::ReadOnly)
    }

    /// The cursor, with the values that variables have now. Its query is bound once, so that what
    /// is wrong with it is an error of this statement.
    fn cursor(&self, run: &mut Run<'_>, frame: &Frame) -> Result<Cursor, Stop> {
        let updatable = match &self.access {
            Some(CursorAccess::Update(names)) => {
                names.iter().map(|name| name.text.to_string()).collect()
            }
            _ => Vec::new(),
        };
        let model = if self.is_read_only() { CursorModel::Static } else { self.model() };
        let kind = CursorKind {
            model,
            is_scrollable: self.is_scrollable(),
            is_read_only: false,
            updatable,
            by_values: ByValues::Refused,
        };
        cursor_of(run, frame, &self.query, kind)
    }
}

/// What a cursor is asked to be.
pub(crate) struct CursorKind {
    /// How it sees changes; one whose rows cannot be found again is static.
    pub(crate) model: CursorModel,
    pub(crate) is_scrollable: bool,
    /// Rows are not changed through it; those of a static one never are.
    pub(crate) is_read_only: bool,
    /// The columns of FOR UPDATE OF.
    pub(crate) updatable: Vec<String>,
    pub(crate) by_values: ByValues,
}

/// A cursor over a query, with the values that variables have now. The query is bound once, so that
/// what is wrong with it is an error here.
pub(crate) fn cursor_of(
    run: &mut Run<'_>,
    frame: &Frame,
    query: &Arc<Query>,
    kind: CursorKind,
) -> Result<Cursor, Stop> {
    Prepared::bind(run, frame, |binder: &mut Binder<'_>| binder.statement(query))?;
    let is_keyed = kind.model != CursorModel::Static;
    let found = if is_keyed { keyed(run, frame, query, kind.by_values)? } else { None };
    let (keyed, table) = match found {
        Some(KeyedQuery { query, table }) => (Arc::new(query), Some(table)),
        None => (query.clone(), None),
    };
    let plan = CursorPlan {
        query: query.clone(),
        keyed,
        model: if table.is_some() { kind.model } else { CursorModel::Static },
        is_scrollable: kind.is_scrollable,
        is_read_only: kind.is_read_only || table.is_none(),
        table,
        updatable: kind.updatable,
    };
    Ok(Cursor {
        plan,
        variables: frame.variables.clone(),
        values: frame.values.clone(),
        open: None,
    })
}

/// DECLARE name CURSOR.
pub(in crate::statement) fn declare(declare: &DeclareCursor) -> Compiled {
    Ok(Box::new(Declare {
        name: declare.name.text.to_string(),
        definition: Definition::of(&declare.definition),
    }))
}

/// SET @c = CURSOR.
pub(in crate::statement) fn set_variable(
    variable: &VariableName,
    definition: &CursorDefinition,
) -> Compiled {
    let definition = Definition::of(definition);
    Ok(Box::new(SetVariable { name: variable.text.to_string(), definition }))
}

/// DECLARE @c CURSOR.
pub(crate) fn variable(name: &str) -> Box<dyn Step> {
    Box::new(DeclareVariable(name.to_lowercase()))
}

/// Is it a variable of a cursor?
fn declares_variable(frame: &Frame, name: &str) -> bool {
    frame.cursors.contains_key(&name.to_lowercase())
}

impl Step for DeclareVariable {
    fn run(&self, _: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        frame.cursors.entry(self.0.clone()).or_insert(None);
        Ok(RowCount::Unchanged)
    }
}

impl Step for Declare {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        let key = self.name.to_lowercase();
        let is_local = self.definition.has(CursorOption::Local);
        let is_there = match is_local {
            true => frame.cursors.contains_key(&key),
            false => run.connection.cursors.global.contains_key(&key),
        };
        if is_there {
            let text = format!("A cursor with the name '{}' already exists.", self.name);
            return Err(failed(16_915, text).into());
        }
        let cursor = Some(shared(self.definition.cursor(run, frame)?));
        match is_local {
            true => frame.cursors.insert(key, cursor),
            false => run.connection.cursors.global.insert(key, cursor),
        };
        run.done(frame.scope, StatementCode::Other, None, false)?;
        Ok(RowCount::Rows(0))
    }
}

impl Step for SetVariable {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        if !declares_variable(frame, &self.name) {
            let text = format!("Must declare the scalar variable \"{}\".", self.name);
            return Err(failed(137, text).into());
        }
        let cursor = shared(self.definition.cursor(run, frame)?);
        frame.cursors.insert(self.name.to_lowercase(), Some(cursor));
        Ok(RowCount::Unchanged)
    }
}
