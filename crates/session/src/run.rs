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
use extentdb_tsql::{Options, parse};

use crate::bulk_load;
use crate::cause::{Cause, Effect};
use crate::connection::{Connection, Outcome};
use crate::flow::{self, Flow, Instruction, Placed, Test};
use crate::frame::{Frame, Variable};
use crate::message::{FATAL_SEVERITY, MAX_INFO_SEVERITY};
use crate::output::{Output, Scope, StatementCode};
use crate::procedure;
use crate::query::{self, Prepared};
use crate::request::{Request, TransactionRequest};
use crate::step::{RowCount, Run, Source, Text};
use crate::stop::{Raised, Stop, located};

/// Where to go on.
enum Next {
    Instruction(usize),
    End,
}

impl Connection {
    /// Runs a request. `descriptor` is the transaction that the client takes it for; `None` when
    /// it does not say.
    pub fn run(
        &mut self,
        request: &Request,
        descriptor: Option<u64>,
        output: &mut dyn Output,
    ) -> Outcome {
        self.note_begin();
        let ended = self::request(&mut Run::new(self, output, run_text), request, descriptor);
        self.note_end();
        match ended {
            Ok(()) => Outcome::Ready,
            Err(Stop::Interrupted) => {
                self.after_interrupt(output);
                Outcome::Interrupted
            }
            Err(_) => Outcome::Close,
        }
    }

    /// An attention ends the batch; the transaction stays, but under XACT_ABORT.
    fn after_interrupt(&mut self, output: &mut dyn Output) {
        self.nesting = 0;
        if self.options.xact_abort || self.transaction.is_doomed {
            // The client may be gone, and what cannot be rolled back is at the next opening.
            let _ = self.roll_back_all(output);
        }
    }
}

/// Runs a request of the client.
fn request(run: &mut Run<'_>, request: &Request, descriptor: Option<u64>) -> Result<(), Stop> {
    let own = run.connection.descriptor();
    let is_other = descriptor.is_some_and(|claimed| claimed != own && claimed != 0);
    let ended = match request {
        _ if is_other => Err(Cause::Descriptor.into()),
        Request::Batch(text) => run.batch(text),
        Request::Procedure(call) => procedure::call(run, call),
        Request::BulkLoad(rows) => bulk_load::load(run, rows),
        Request::Transaction(request) => run.transaction(request),
    };
    let ended = match ended {
        Err(Stop::Raised(raised)) => run.report(&raised, Scope::Batch),
        Err(Stop::Batch) => Ok(()),
        other => other,
    };
    run.connection.nesting = 0;
    run.connection.drop_table_variables();
    ended?;
    run.end_doomed()
}

/// Compiles and runs a text; its frame afterwards, for output parameters.
fn run_text(run: &mut Run<'_>, text: Text<'_>) -> Result<Frame, Stop> {
    let (flow, name) = match text.source {
        Source::Text(source) => (run.compiled(source, text.parameters)?, ""),
        Source::Procedure { script, body, name } => {
            let collation = run.connection.collation();
            let settings = run.connection.options.settings();
            let compiled = flow::compile_body(script, body, text.parameters, collation, settings);
            (compiled.map_err(|failure| located(failure.cause, failure.line))?, name)
        }
    };
    let mut frame = Frame::new(text.scope, flow.variables.clone());
    for (slot, value) in frame.values.iter_mut().zip(text.values) {
        *slot = value;
    }
    frame.procedure = name.into();
    frame.inherited = text.inherited;
    frame.has_outer_handler = text.has_outer_handler;
    run.flow(&flow, &mut frame)?;
    Ok(frame)
}

impl Run<'_> {
    fn batch(&mut self, text: &str) -> Result<(), Stop> {
        let text = Text {
            source: Source::Text(text),
            scope: Scope::Batch,
            parameters: Vec::new(),
            values: Vec::new(),
            inherited: None,
            has_outer_handler: false,
        };
        self.text(text).map(|_| ())
    }

    fn compiled(&self, text: &str, parameters: Vec<Variable>) -> Result<Flow, Stop> {
        let options = Options { quoted_identifier: self.connection.options.quoted_identifier };
        let script = parse(text, options)
            .map_err(|error| located(Cause::Syntax(error.cause), error.span.line))?;
        let settings = self.connection.options.settings();
        flow::compile(&script, parameters, self.connection.collation(), settings)
            .map_err(|failure| located(failure.cause, failure.line))
    }

    fn flow(&mut self, flow: &Flow, frame: &mut Frame) -> Result<(), Stop> {
        let mut at = 0;
        while let Some(placed) = flow.instructions.get(at) {
            self.verify_goes_on()?;
            frame.catch = placed.catch;
            frame.is_in_try = placed.handler.is_some();
            let next = match self.instruction(placed, frame, at) {
                Err(Stop::Raised(raised)) => self.after_error(*raised, placed, flow, frame)?,
                other => other?,
            };
            at = match next {
                Next::Instruction(usize::MAX) => at + 1,
                Next::Instruction(target) => target,
                Next::End => return Ok(()),
            };
        }
        Ok(())
    }

    fn instruction(&mut self, placed: &Placed, frame: &mut Frame, at: usize) -> Result<Next, Stop> {
        match &placed.instruction {
            Instruction::Step(step) if !step.is_run(&self.connection.options) => {
                Ok(Next::Instruction(at + 1))
            }
            Instruction::Step(step) => {
                let rows = step.run(self, frame)?;
                self.connection.error = 0;
                if let RowCount::Rows(rows) = rows {
                    self.connection.rowcount = rows;
                }
                Ok(Next::Instruction(at + 1))
            }
            Instruction::Jump(target) => Ok(Next::Instruction(*target)),
            Instruction::Unless { condition, target } => {
                let is_true = self.test(condition, frame)?;
                self.connection.error = 0;
                if is_true {
                    return Ok(Next::Instruction(at + 1));
                }
                self.connection.rowcount = 0;
                Ok(Next::Instruction(*target))
            }
            Instruction::Return(value) => {
                let status = value.as_ref().map(|value| value.integer(self.values(frame)));
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

    fn test(&mut self, test: &Test, frame: &Frame) -> Result<bool, Stop> {
        match test {
            Test::Compiled(condition) => Ok(condition.is_true(self.values(frame))?),
            Test::Query(condition) => {
                let (prepared, bound) =
                    Prepared::bind(self, frame, |binder| binder.truth(condition))?;
                query::has_row(self, frame, prepared, bound)
            }
        }
    }

    fn after_error(
        &mut self,
        mut raised: Raised,
        placed: &Placed,
        flow: &Flow,
        frame: &mut Frame,
    ) -> Result<Next, Stop> {
        if raised.message.line == 0 {
            raised.message.line = placed.line;
            raised.message.procedure = frame.procedure.to_string();
        }
        self.connection.error = raised.message.number;
        self.connection.rowcount = 0;
        if raised.message.severity >= FATAL_SEVERITY {
            self.report(&raised, frame.scope)?;
            return Err(Stop::Close);
        }
        let is_error = raised.message.severity > MAX_INFO_SEVERITY;
        // What this text itself lacks is not caught in it.
        let handler = placed.handler.filter(|_| is_error && raised.effect != Effect::Scope);
        if let Some(handler) = handler {
            self.doom(&raised);
            frame.caught.insert(handler, Arc::new(raised.message));
            let address = flow.handlers.get(handler).copied().unwrap_or(usize::MAX);
            return Ok(Next::Instruction(address));
        }
        if is_error && frame.has_outer_handler {
            return Err(Stop::Raised(Box::new(raised)));
        }
        self.report(&raised, frame.scope)?;
        self.end_by_effect(&raised)
    }

    /// In TRY: does the transaction survive what was caught?
    fn doom(&mut self, raised: &Raised) {
        let options = &self.connection.options;
        let dooms = raised.effect >= Effect::Rollback || options.xact_abort;
        if dooms && self.connection.transaction.count > 0 {
            self.connection.transaction.is_doomed = true;
        }
    }

    fn end_by_effect(&mut self, raised: &Raised) -> Result<Next, Stop> {
        let is_aborted = self.connection.options.xact_abort
            && !raised.is_raiserror
            && matches!(raised.effect, Effect::Statement | Effect::Batch);
        match raised.effect {
            _ if is_aborted => {
                self.connection.roll_back_all(self.output)?;
                Err(Stop::Batch)
            }
            Effect::Continue | Effect::Statement => Ok(Next::Instruction(usize::MAX)),
            Effect::Scope => Ok(Next::End),
            Effect::Batch => Err(Stop::Batch),
            Effect::Rollback => {
                self.connection.roll_back_all(self.output)?;
                Err(Stop::Batch)
            }
            Effect::Connection => Err(Stop::Close),
        }
    }

    fn verify_goes_on(&self) -> Result<(), Stop> {
        if self.connection.is_killed() {
            return Err(Stop::Close);
        }
        if self.connection.is_interrupted() { Err(Stop::Interrupted) } else { Ok(()) }
    }

    /// A doomed transaction does not outlive its batch.
    fn end_doomed(&mut self) -> Result<(), Stop> {
        if !self.connection.transaction.is_doomed {
            return Ok(());
        }
        self.connection.roll_back_all(self.output)?;
        let Stop::Raised(raised) = located(Cause::DoomedAtEnd, 1) else { return Ok(()) };
        self.report(&raised, Scope::Batch)
    }

    fn transaction(&mut self, request: &TransactionRequest) -> Result<(), Stop> {
        let code = match request {
            TransactionRequest::Begin { isolation, name } => {
                self.connection.set_isolation(*isolation)?;
                self.connection.begin(name, self.output)?;
                StatementCode::Begin
            }
            TransactionRequest::Commit { next } => {
                self.connection.commit(self.output)?;
                self.begin_next(next)?;
                StatementCode::Commit
            }
            TransactionRequest::Rollback { name, next } => {
                self.connection.roll_back(name, self.output)?;
                self.begin_next(next)?;
                StatementCode::Rollback
            }
            TransactionRequest::Save { name } => {
                self.connection.save(name)?;
                StatementCode::Save
            }
            TransactionRequest::Distributed(what) => return Err(Cause::not_supported(*what).into()),
        };
        self.done(Scope::Batch, code, None, false)
    }

    fn begin_next(
        &mut self,
        next: &Option<(crate::request::Isolation, String)>,
    ) -> Result<(), Stop> {
        let Some((isolation, name)) = next else { return Ok(()) };
        self.connection.set_isolation(*isolation)?;
        self.connection.begin(name, self.output)
    }
}
