//! sp_cursoropen: a cursor over a query, or the text run without one.

use extentdb_base::sync::{Arc, lock};
use extentdb_tsql::syntax::{ForClause, Query, QueryBody, SelectItem, StatementKind};
use extentdb_tsql::{Options, parse};

use super::fetch::{self, Walk};
use super::option::Asked;
use super::origin::origins;
use super::{Caller, Finished, Given, invalid, returned, row_count, row_status};
use crate::procedure::execute_sql::{self, Call, text_argument};
use crate::procedure::parameters::{self, Callee};
use crate::statement::cursor::{ByValues, CursorKind, cursor_of, failed, open_rows, shared};
use extentdb_connection::api_cursor::{ApiConcurrency, ApiCursor, ApiKind, FetchBuffer};
use extentdb_connection::cause::Cause;
use extentdb_connection::cursor::{Cursor, CursorModel};
use extentdb_connection::frame::{Frame, Variable};
use extentdb_connection::message::Message;
use extentdb_connection::output::{Scope, StatementCode};
use extentdb_connection::request::Argument;
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;
use extentdb_connection::variant;

/// The message of a text that is run without a cursor.
const NO_CURSOR: i32 = 16_954;
/// Rows that are fetched where the client does not say.
pub(super) const ROWS: i64 = 20;
/// Status of a call whose cursor was closed at its end.
pub(super) const CLOSED: i32 = 16;

/// Places of the arguments that a cursor is opened with.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub(super) cursor: usize,
    pub(super) scroll: usize,
    pub(super) concurrency: usize,
    pub(super) rows: usize,
    pub(super) values: usize,
}

/// A text to open a cursor over.
pub(super) struct Opening<'o> {
    pub(super) given: Given<'o>,
    pub(super) places: Places,
    pub(super) text: &'o str,
    pub(super) declarations: &'o str,
    pub(super) asked: Asked,
}

pub(super) fn open(
    run: &mut Run<'_>,
    arguments: &[Argument],
    caller: &Caller,
) -> Result<Finished, Stop> {
    let given = Given { procedure: "sp_cursoropen", arguments };
    let place = |place, name| given.place(place, name).unwrap_or(place);
    let text = text_argument(arguments, place(1, "@stmt"), "@stmt")?;
    let asked = Asked::of(given.number(2, "@scrollopt"), given.number(3, "@ccopt"));
    let declared = arguments.get(5).filter(|_| asked.has_parameters());
    let declarations = declared.and_then(|it| variant::text(&it.value)).unwrap_or_default();
    let places = Places {
        cursor: place(0, "@cursor"),
        scroll: place(2, "@scrollopt"),
        concurrency: place(3, "@ccopt"),
        rows: place(4, "@rows"),
        values: 6,
    };
    let opening = Opening {
        given,
        places,
        text: &text,
        declarations: &declarations,
        asked,
    };
    opening.run(run, caller)
}

/// The query of a text that a cursor can be opened over.
pub(super) fn query_of(run: &Run<'_>, text: &str) -> Result<Option<Query>, Stop> {
    let quoted_identifier = run.connection.options.quoted_identifier;
    let options = Options { quoted_identifier };
    // FOR UPDATE and FOR READ ONLY are clauses of cursors.
    if let Ok(script) = parse(&format!("DECLARE c CURSOR FOR {text}"), options)
        && let [statement] = script.statements.as_slice()
        && let StatementKind::DeclareCursor(declare) = &statement.kind
        && declare.definition.access.is_some()
    {
        return Ok(Some(declare.definition.query.clone()));
    }
    let script = parse(text, options).map_err(|error| {
        extentdb_connection::stop::located(Cause::Syntax(error.cause), error.span.line)
    })?;
    let [statement] = script.statements.as_slice() else { return Ok(None) };
    let StatementKind::Select(select) = &statement.kind else { return Ok(None) };
    let query = &select.query;
    let is_assigned = match &query.body {
        QueryBody::Select(select) => {
            select.into.is_some()
                || select.items.iter().any(|item| matches!(item, SelectItem::Assign(_)))
        }
        _ => false,
    };
    let is_browsed = matches!(query.for_clause.as_deref(), Some(ForClause::Browse));
    Ok((!is_assigned && !is_browsed).then(|| query.clone()))
}

impl Opening<'_> {
    pub(super) fn run(&self, run: &mut Run<'_>, caller: &Caller) -> Result<Finished, Stop> {
        match query_of(run, self.text)? {
            Some(query) => self.open(run, &Arc::new(query)),
            None if self.asked.allows_direct() => self.direct(run, caller),
            None => {
                let text = "sp_cursoropen/sp_cursorprepare: The statement parameter can only be a \
                            batch or a stored procedure with a single select, without FOR BROWSE, \
                            COMPUTE BY, or variable assignments.";
                Err(failed(16_937, text).into())
            }
        }
    }

    /// Runs the text as a batch, which the client is told first.
    fn direct(&self, run: &mut Run<'_>, caller: &Caller) -> Result<Finished, Stop> {
        let text = "Executing SQL directly; no cursor.".to_owned();
        run.output.message(&Message::info(NO_CURSOR, 0, 1, text), false)?;
        let call = Call {
            text: self.text,
            declarations: self.declarations,
            arguments: self.given.arguments,
            first: self.places.values,
        };
        let mut finished = execute_sql::execute(run, &call, caller)?;
        let Places { cursor, scroll, concurrency, rows, .. } = self.places;
        let nothing = [cursor, scroll, concurrency, rows].map(|place| (place, returned(0)));
        finished.outputs.splice(0..0, nothing);
        Ok(finished)
    }

    /// Variables of the text, with the values that the client gives.
    fn frame(&self, run: &mut Run<'_>) -> Result<Frame, Stop> {
        let collation = run.connection.collation();
        let parameters = parameters::declared(self.declarations, collation)?;
        let callee = Callee::Query { declarations: self.declarations, text: self.text };
        let arguments = if parameters.is_empty() { &[] } else { self.given.arguments };
        let first = self.places.values;
        let bound = parameters::bind(run, &parameters, arguments, first, callee)?;
        if parameters.iter().any(|parameter| parameter.table.is_some()) {
            return Err(Cause::not_supported("a table as a parameter of a cursor").into());
        }
        let variables: Vec<Variable> = parameters.into_iter().map(|it| it.variable).collect();
        let mut frame = Frame::new(Scope::Procedure, variables.into());
        frame.values = bound.into_iter().map(|bound| bound.value).collect();
        Ok(frame)
    }

    fn cursor(
        &self,
        run: &mut Run<'_>,
        frame: &Frame,
        query: &Arc<Query>,
    ) -> Result<ApiCursor, Stop> {
        let given = self.given;
        let kind = self.asked.kind().ok_or_else(|| invalid(given, "scrollopt"))?;
        let concurrency = self.asked.concurrency().ok_or_else(|| invalid(given, "ccopt"))?;
        let is_read_only = concurrency == ApiConcurrency::ReadOnly;
        let model = match kind {
            ApiKind::Keyset => CursorModel::Keyset,
            ApiKind::Dynamic => CursorModel::Dynamic,
            ApiKind::ForwardOnly if !is_read_only => CursorModel::Dynamic,
            ApiKind::ForwardOnly | ApiKind::Static | ApiKind::FastForward => CursorModel::Static,
        };
        let wanted = CursorKind {
            model,
            is_scrollable: !matches!(kind, ApiKind::ForwardOnly | ApiKind::FastForward),
            is_read_only,
            updatable: Vec::new(),
            by_values: ByValues::Allowed,
        };
        let cursor = cursor_of(run, frame, query, wanted)?;
        let (kind, concurrency) = granted(&cursor, kind, concurrency);
        self.asked.verify(kind, concurrency)?;
        Ok(ApiCursor {
            cursor: shared(cursor),
            kind,
            concurrency,
            updates_in_place: self.asked.updates_in_place(),
            closes_at_end: self.asked.closes_at_end() && kind == ApiKind::FastForward,
            name: None,
            buffer: FetchBuffer::default(),
        })
    }

    fn open(&self, run: &mut Run<'_>, query: &Arc<Query>) -> Result<Finished, Stop> {
        let frame = self.frame(run)?;
        let api = self.cursor(run, &frame, query)?;
        open_rows(run, &frame, &api.cursor)?;
        let (kind, concurrency) = (api.kind, api.concurrency);
        let mut rows = row_count(&api);
        let own = api.cursor.clone();
        let handle = run.connection.cursors.api.add(api);
        describe(run, &lock(&own))?;
        let mut status = 0;
        let mut fetched = 0;
        if self.asked.fetches() {
            let wanted = self.given.arguments.get(self.places.rows);
            let wanted = wanted.and_then(|it| variant::integer(&it.value)).filter(|it| *it > 0);
            let walk = Walk::Next { count: wanted.unwrap_or(ROWS) };
            let done = fetch::fetch_rows(run, handle.into(), walk)?;
            fetched = done.rows;
            rows = i32::try_from(fetched).unwrap_or(i32::MAX);
            status = if done.is_closed { CLOSED } else { 0 };
        }
        run.done(Scope::Procedure, StatementCode::Select, Some(fetched), false)?;
        let Places { cursor, scroll, concurrency: guard, rows: count, .. } = self.places;
        let outputs = vec![
            (cursor, returned(handle)),
            (scroll, returned(kind as i32)),
            (guard, returned(concurrency as i32)),
            (count, returned(rows)),
        ];
        Ok(Finished { status, outputs })
    }
}

/// What a cursor is, of what was asked for.
fn granted(
    cursor: &Cursor,
    kind: ApiKind,
    concurrency: ApiConcurrency,
) -> (ApiKind, ApiConcurrency) {
    let is_static = cursor.plan.table.is_none();
    let kind = match kind {
        ApiKind::Keyset | ApiKind::Dynamic if is_static => ApiKind::Static,
        kind => kind,
    };
    let concurrency = if cursor.plan.is_read_only { ApiConcurrency::ReadOnly } else { concurrency };
    (kind, concurrency)
}

/// The columns of an open cursor, and where they come from.
pub(super) fn describe(run: &mut Run<'_>, cursor: &Cursor) -> Result<(), Stop> {
    let mut columns = cursor.open.as_ref().map(|open| open.columns.clone()).unwrap_or_default();
    let origins = origins(&cursor.plan, &columns);
    columns.push(row_status());
    run.output.columns(&columns)?;
    run.output.origins(&origins)?;
    Ok(())
}
