//! Running requests: instructions one after the other, and what an error does to them.
//!
//! ```text
//! error ─▶ TRY around it?       yes: the CATCH block runs; the transaction may be doomed
//!       ─▶ a caller has one?    yes: it goes up
//!       ─▶ told to the client; then by its effect (cause.rs): next statement, end of the text,
//!          end of the batch, rollback, end of the connection
//! ```
//!
//! Invariants
//! - An error is told once, where nobody catches it.
//! - Between two statements the request looks whether it was interrupted or killed.

use extentdb_base::sync::Arc;
use extentdb_tsql::syntax::ObjectName;
use extentdb_tsql::{Options, parse};

use crate::bulk_load;
use crate::flow::{self, Flow, Instruction, Placed, Test};
use crate::procedure;
use crate::user_type;
use extentdb_connection::cause::{Cause, Effect};
use extentdb_connection::compiled_texts::Compilation;
use extentdb_connection::connection::{Connection, Outcome};
use extentdb_connection::frame::{Frame, Variable};
use extentdb_connection::message::{FATAL_SEVERITY, MAX_INFO_SEVERITY};
use extentdb_connection::output::{Output, Scope, StatementCode};
use extentdb_connection::query::{self, Prepared};
use extentdb_connection::request::{Request, TransactionRequest};
use extentdb_connection::step::{RowCount, Run, Source, Text};
use extentdb_connection::stop::{Raised, Stop, located};

/// Where to go on.
enum Next {
    Instruction(usize),
    End,
}

/// Runs a request of a connection. `descriptor` is the transaction that the client takes it for;
/// `None` when it does not say.
pub fn run(
    connection: &mut Connection,
    request: &Request,
    descriptor: Option<u64>,
    output: &mut dyn Output,
) -> Outcome {
    connection.note_begin();
    let ended = self::request(&mut Run::new(connection, output, run_text), request, descriptor);
    connection.note_end();
    match ended {
        Ok(()) => Outcome::Ready,
        Err(Stop::Interrupted) => {
            after_interrupt(connection, output);
            Outcome::Interrupted
        }
        Err(_) => Outcome::Close,
    }
}

/// An attention ends the batch; the transaction stays, but under XACT_ABORT.
fn after_interrupt(connection: &mut Connection, output: &mut dyn Output) {
    connection.nesting = 0;
    if connection.options.xact_abort || connection.transaction.is_doomed {
        // The client may be gone, and what cannot be rolled back is at the next opening.
        let _ = connection.roll_back_all(output);
    }
}

/// Runs a request of the client.
fn request(run: &mut Run<'_>, request: &Request, descriptor: Option<u64>) -> Result<(), Stop> {
    let own = run.connection.descriptor();
    let is_other = descriptor.is_some_and(|claimed| claimed != own && claimed != 0);
    let ended = match request {
        _ if is_other => Err(Cause::Descriptor.into()),
        Request::Batch(text) => batch(run, text),
        Request::Procedure(call) => procedure::call(run, call),
        Request::BulkLoad(rows) => bulk_load::load(run, rows),
        Request::Transaction(request) => transaction(run, request),
    };
    let ended = match ended {
        Err(Stop::Raised(raised)) => run.report(&raised, Scope::Batch),
        Err(Stop::Batch) => Ok(()),
        other => other,
    };
    run.connection.nesting = 0;
    run.connection.drop_table_variables();
    ended?;
    end_doomed(run)
}

/// Compiles and runs a text; its frame afterwards, for output parameters.
fn run_text(run: &mut Run<'_>, text: Text<'_>) -> Result<Frame, Stop> {
    let compile = |run: &Run<'_>| match text.source {
        Source::Text(source) => compiled_text(run, source, text.parameters.clone()),
        Source::Procedure { script, body, returns, .. } => {
            let parameters = text.parameters.clone();
            let collation = run.connection.collation();
            let settings = run.connection.options.settings();
            let is_table = is_table_type(run.connection);
            flow::compile_body(script, body, parameters, collation, settings, returns, &is_table)
                .map(Arc::new)
                .map_err(|failure| located(failure.cause, failure.line))
        }
    };
    if matches!(text.source, Source::Text(_)) {
        // Text is nobody's, wherever it runs.
        run.connection.security.chain = None;
    }
    let name = match text.source {
        Source::Text(_) => "",
        Source::Procedure { name, .. } => name,
    };
    let flow = compile(run)?;
    let mut frame = Frame::new(text.scope, flow.variables.clone());
    for (slot, value) in frame.values.iter_mut().zip(text.values) {
        *slot = value;
    }
    frame.procedure = name.into();
    frame.inherited = text.inherited;
    frame.has_outer_handler = text.has_outer_handler;
    frame.trigger = text.trigger;
    run_flow(run, flow, &compile, &mut frame)?;
    Ok(frame)
}

fn batch(run: &mut Run<'_>, text: &str) -> Result<(), Stop> {
    let text = Text {
        source: Source::Text(text),
        scope: Scope::Batch,
        parameters: Vec::new(),
        values: Vec::new(),
        inherited: None,
        has_outer_handler: false,
        trigger: None,
    };
    run.text(text).map(|_| ())
}

/// The text compiled, now or when it came before.
fn compiled_text(run: &Run<'_>, text: &str, parameters: Vec<Variable>) -> Result<Arc<Flow>, Stop> {
    let compilation = Compilation {
        parameters,
        collation: run.connection.collation(),
        settings: run.connection.options.settings(),
        quoted_identifier: run.connection.options.quoted_identifier,
    };
    let found = run.connection.texts.find(text, &compilation);
    if let Some(Ok(flow)) = found.map(|found| found.downcast::<Flow>()) {
        return Ok(flow);
    }
    let (flow, is_kept) = compile_text(run, text, compilation.parameters.clone())?;
    let flow = Arc::new(flow);
    if is_kept {
        run.connection.texts.keep(text, compilation, flow.clone());
    }
    Ok(flow)
}

fn is_table_type(connection: &Connection) -> impl Fn(&ObjectName) -> bool {
    |name| connection.table_type(name).is_some()
}

/// Compiles a text; whether it means the same in every database, too.
fn compile_text(
    run: &Run<'_>,
    text: &str,
    parameters: Vec<Variable>,
) -> Result<(Flow, bool), Stop> {
    let options = Options { quoted_identifier: run.connection.options.quoted_identifier };
    let mut script = parse(text, options)
        .map_err(|error| located(Cause::Syntax(error.cause), error.span.line))?;
    let has_alias_types = user_type::resolve(run.connection, &mut script.statements);
    let settings = run.connection.options.settings();
    let is_table = is_table_type(run.connection);
    let collation = run.connection.collation();
    let flow = flow::compile(&script, parameters, collation, settings, &is_table)
        .map_err(|failure| located(failure.cause, failure.line))?;
    Ok((flow, !has_alias_types))
}

/// Runs instructions. When SET has changed what expressions mean, those that follow are compiled
/// again: the same instructions at the same places.
fn run_flow(
    run: &mut Run<'_>,
    mut flow: Arc<Flow>,
    compile: &dyn Fn(&Run<'_>) -> Result<Arc<Flow>, Stop>,
    frame: &mut Frame,
) -> Result<(), Stop> {
    let mut settings = run.connection.options.settings();
    let mut at = 0;
    loop {
        let now = run.connection.options.settings();
        if now != settings {
            settings = now;
            flow = compile(run)?;
        }
        let Some(placed) = flow.instructions.get(at) else { return Ok(()) };
        verify_goes_on(run)?;
        frame.catch = placed.catch;
        frame.is_in_try = placed.handler.is_some();
        let next = match instruction(run, placed, frame, at) {
            Err(Stop::Raised(raised)) => after_error(run, *raised, placed, &flow, frame)?,
            other => other?,
        };
        at = match next {
            Next::Instruction(usize::MAX) => at + 1,
            Next::Instruction(target) => target,
            Next::End => return Ok(()),
        };
    }
}

fn instruction(
    run: &mut Run<'_>,
    placed: &Placed,
    frame: &mut Frame,
    at: usize,
) -> Result<Next, Stop> {
    match &placed.instruction {
        Instruction::Step(step) if !step.is_run(&run.connection.options) => {
            Ok(Next::Instruction(at + 1))
        }
        Instruction::Step(step) => {
            run.connection.note_statement(placed.command);
            run.connection.line = placed.line;
            run.connection.notices.take();
            let rows = step.run(run, frame)?;
            run.tell_notices()?;
            run.connection.error = 0;
            if let RowCount::Rows(rows) = rows {
                run.connection.rowcount = rows;
            }
            Ok(Next::Instruction(at + 1))
        }
        Instruction::Jump(target) => Ok(Next::Instruction(*target)),
        Instruction::Unless { condition, target } => {
            let is_true = test(run, condition, frame)?;
            run.connection.error = 0;
            if is_true {
                return Ok(Next::Instruction(at + 1));
            }
            run.connection.rowcount = 0;
            Ok(Next::Instruction(*target))
        }
        Instruction::Return(value) => {
            let status = value.as_ref().map(|value| value.integer(run.values(frame)));
            let status = status.transpose()?.flatten();
            frame.return_status = status.and_then(|it| i32::try_from(it).ok()).unwrap_or(0);
            Ok(Next::End)
        }
        Instruction::Rethrow => match frame.error_at_hand() {
            Some(message) => Err(Stop::Raised(Box::new(Raised {
                message: (**message).clone(),
                effect: Effect::Batch,
                is_raiserror: false,
            }))),
            None => Err(Cause::Syntax(extentdb_tsql::Cause::ThrowOutsideCatch).into()),
        },
        Instruction::Refuse(cause) => Err(cause.clone().into()),
    }
}

fn test(run: &mut Run<'_>, test: &Test, frame: &Frame) -> Result<bool, Stop> {
    match test {
        Test::Compiled(condition) => Ok(condition.is_true(run.values(frame))?),
        Test::Query(condition) => {
            let (prepared, bound) = Prepared::bind(run, frame, |binder| binder.truth(condition))?;
            query::has_row(run, frame, prepared, bound)
        }
    }
}

fn after_error(
    run: &mut Run<'_>,
    mut raised: Raised,
    placed: &Placed,
    flow: &Flow,
    frame: &mut Frame,
) -> Result<Next, Stop> {
    if raised.message.line == 0 {
        raised.message.line = placed.line;
        raised.message.procedure = frame.procedure.to_string();
    }
    run.connection.error = raised.message.number;
    run.connection.rowcount = 0;
    if raised.message.severity >= FATAL_SEVERITY {
        run.report(&raised, frame.scope)?;
        return Err(Stop::Close);
    }
    let is_error = raised.message.severity > MAX_INFO_SEVERITY;
    // What this text itself lacks is not caught in it.
    let handler = placed.handler.filter(|_| is_error && raised.effect != Effect::Scope);
    if let Some(handler) = handler {
        doom(run, &raised);
        frame.caught.insert(handler, Arc::new(raised.message));
        let address = flow.handlers.get(handler).copied().unwrap_or(usize::MAX);
        return Ok(Next::Instruction(address));
    }
    if is_error && frame.has_outer_handler {
        return Err(Stop::Raised(Box::new(raised)));
    }
    run.report(&raised, frame.scope)?;
    end_by_effect(run, &raised)
}

/// In TRY: does the transaction survive what was caught?
fn doom(run: &mut Run<'_>, raised: &Raised) {
    let options = &run.connection.options;
    let dooms = raised.effect >= Effect::Rollback || options.xact_abort;
    if dooms && run.connection.transaction.count > 0 {
        run.connection.transaction.is_doomed = true;
    }
}

fn end_by_effect(run: &mut Run<'_>, raised: &Raised) -> Result<Next, Stop> {
    let is_aborted = run.connection.options.xact_abort
        && !raised.is_raiserror
        && matches!(raised.effect, Effect::Statement | Effect::Batch);
    match raised.effect {
        _ if is_aborted => {
            run.connection.roll_back_all(run.output)?;
            Err(Stop::Batch)
        }
        Effect::Continue | Effect::Statement => Ok(Next::Instruction(usize::MAX)),
        Effect::Scope => Ok(Next::End),
        Effect::Batch => Err(Stop::Batch),
        Effect::Rollback => {
            run.connection.roll_back_all(run.output)?;
            Err(Stop::Batch)
        }
        Effect::Connection => Err(Stop::Close),
    }
}

fn verify_goes_on(run: &Run<'_>) -> Result<(), Stop> {
    if run.connection.is_killed() {
        return Err(Stop::Close);
    }
    if run.connection.is_interrupted() { Err(Stop::Interrupted) } else { Ok(()) }
}

/// A doomed transaction does not outlive its batch.
fn end_doomed(run: &mut Run<'_>) -> Result<(), Stop> {
    if !run.connection.transaction.is_doomed {
        return Ok(());
    }
    run.connection.roll_back_all(run.output)?;
    let Stop::Raised(raised) = located(Cause::DoomedAtEnd, 1) else { return Ok(()) };
    run.report(&raised, Scope::Batch)
}

fn transaction(run: &mut Run<'_>, request: &TransactionRequest) -> Result<(), Stop> {
    let code = match request {
        TransactionRequest::Begin { isolation, name } => {
            run.connection.set_isolation(*isolation)?;
            run.connection.begin(name, run.output)?;
            StatementCode::Begin
        }
        TransactionRequest::Commit { next } => {
            run.connection.commit(run.output)?;
            begin_next(run, next)?;
            StatementCode::Commit
        }
        TransactionRequest::Rollback { name, next } => {
            run.connection.roll_back(name, run.output)?;
            begin_next(run, next)?;
            StatementCode::Rollback
        }
        TransactionRequest::Save { name } => {
            run.connection.save(name)?;
            StatementCode::Save
        }
        TransactionRequest::Distributed(what) => return Err(Cause::not_supported(*what).into()),
    };
    run.done(Scope::Batch, code, None, false)
}

fn begin_next(
    run: &mut Run<'_>,
    next: &Option<(extentdb_connection::request::Isolation, String)>,
) -> Result<(), Stop> {
    let Some((isolation, name)) = next else { return Ok(()) };
    run.connection.set_isolation(*isolation)?;
    run.connection.begin(name, run.output)
}
