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

use crate::cause::{Cause, Effect};
use crate::connection::Connection;
use crate::flow::{self, Flow, Instruction, Placed, RowCount};
use crate::frame::{Frame, Values, Variable};
use crate::message::{FATAL_SEVERITY, MAX_INFO_SEVERITY, Message};
use crate::output::{Done, Gone, Output, Scope, StatementCode};
use crate::procedure;
use crate::request::{Request, TransactionRequest};

/// An error that was not told yet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Raised {
    pub(crate) message: Message,
    pub(crate) effect: Effect,
    /// XACT_ABORT does not look at RAISERROR.
    pub(crate) is_raiserror: bool,
}

/// Why a statement does not end as it should.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Stop {
    Raised(Box<Raised>),
    /// All batches end; the client was told why.
    Batch,
    /// The client does not want it any more.
    Interrupted,
    /// Nobody reads.
    Gone,
    /// The connection is to be closed.
    Close,
}

impl From<Gone> for Stop {
    fn from(_: Gone) -> Stop {
        Stop::Gone
    }
}

impl From<Cause> for Stop {
    fn from(cause: Cause) -> Stop {
        let message = Message::of(&cause, 0);
        Stop::Raised(Box::new(Raised { message, effect: cause.effect(), is_raiserror: false }))
    }
}

/// A request that runs.
pub(crate) struct Run<'r> {
    pub(crate) connection: &'r mut Connection,
    pub(crate) output: &'r mut dyn Output,
}

/// A text to be run, and what it is run in.
pub(crate) struct Text<'t> {
    pub(crate) text: &'t str,
    pub(crate) scope: Scope,
    pub(crate) parameters: Vec<Variable>,
    pub(crate) values: Vec<extentdb_types::Datum<'static>>,
    /// What the caller has caught.
    pub(crate) inherited: Option<Arc<Message>>,
    pub(crate) has_outer_handler: bool,
}

/// Where to go on.
enum Next {
    Instruction(usize),
    End,
}

/// Runs a request of the client.
pub(crate) fn request(
    run: &mut Run<'_>,
    request: &Request,
    descriptor: Option<u64>,
) -> Result<(), Stop> {
    let own = run.connection.descriptor();
    let is_other = descriptor.is_some_and(|claimed| claimed != own && claimed != 0);
    let ended = match request {
        _ if is_other => Err(Cause::Descriptor.into()),
        Request::Batch(text) => run.batch(text),
        Request::Procedure(call) => procedure::call(run, call),
        Request::Transaction(request) => run.transaction(request),
    };
    let ended = match ended {
        Err(Stop::Raised(raised)) => run.report(&raised, Scope::Batch),
        Err(Stop::Batch) => Ok(()),
        other => other,
    };
    run.connection.nesting = 0;
    ended?;
    run.end_doomed()
}

impl<'r> Run<'r> {
    pub(crate) fn new(connection: &'r mut Connection, output: &'r mut dyn Output) -> Run<'r> {
        Run { connection, output }
    }

    fn batch(&mut self, text: &str) -> Result<(), Stop> {
        let text = Text {
            text,
            scope: Scope::Batch,
            parameters: Vec::new(),
            values: Vec::new(),
            inherited: None,
            has_outer_handler: false,
        };
        self.text(text).map(|_| ())
    }

    /// Runs a text; its frame afterwards, for output parameters.
    pub(crate) fn text(&mut self, text: Text<'_>) -> Result<Frame, Stop> {
        let flow = self.compiled(text.text, text.parameters)?;
        let mut frame = Frame::new(text.scope, flow.variables.clone());
        for (slot, value) in frame.values.iter_mut().zip(text.values) {
            *slot = value;
        }
        frame.inherited = text.inherited;
        frame.has_outer_handler = text.has_outer_handler;
        self.flow(&flow, &mut frame)?;
        Ok(frame)
    }

    fn compiled(&self, text: &str, parameters: Vec<Variable>) -> Result<Flow, Stop> {
        let options = Options { quoted_identifier: self.connection.options.quoted_identifier };
        let script = parse(text, options)
            .map_err(|error| located(Cause::Syntax(error.cause), error.span.line))?;
        flow::compile(&script, parameters, self.connection.collation())
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
                let is_true = condition.is_true(self.values(frame))?;
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

    fn after_error(
        &mut self,
        mut raised: Raised,
        placed: &Placed,
        flow: &Flow,
        frame: &mut Frame,
    ) -> Result<Next, Stop> {
        if raised.message.line == 0 {
            raised.message.line = placed.line;
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

    /// Tells the client of an error.
    pub(crate) fn report(&mut self, raised: &Raised, scope: Scope) -> Result<(), Stop> {
        self.connection.error = raised.message.number;
        self.output.message(&raised.message, false)?;
        if raised.message.is_error() {
            self.done(scope, StatementCode::Other, None, true)?;
        }
        Ok(())
    }

    /// The end of a statement or procedure.
    pub(crate) fn done(
        &mut self,
        scope: Scope,
        code: StatementCode,
        count: Option<u64>,
        is_error: bool,
    ) -> Result<(), Stop> {
        let in_transaction = self.connection.is_in_transaction();
        let count = count.filter(|_| !self.connection.options.nocount);
        Ok(self.output.done(Done { scope, code, count, is_error, in_transaction })?)
    }

    /// What expressions of a frame see.
    pub(crate) fn values<'v>(&'v self, frame: &'v Frame) -> Values<'v> {
        Values { connection: self.connection, frame }
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

/// A cause at a line.
pub(crate) fn located(cause: Cause, line: u32) -> Stop {
    let message = Message::of(&cause, line);
    Stop::Raised(Box::new(Raised { message, effect: cause.effect(), is_raiserror: false }))
}
