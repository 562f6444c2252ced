//! Batches as instructions: control flow becomes jumps, every other statement a [`Step`].
//!
//! ```text
//! IF c a ELSE b     unless c → 3; a; jump → 4; 3: b; 4:
//! WHILE c a         1: unless c → 4; a; jump → 1; 4:        BREAK, CONTINUE: jumps
//! TRY a CATCH b     a (handler n); jump → end; handler n: b (catch n); end:
//! label, GOTO       a jump; into a TRY or CATCH block it is refused
//! ```
//!
//! Invariants
//! - Everything is compiled before anything runs: what is wrong with a batch as a text stops all of
//!   it. What is only not supported is refused when it is reached.
//! - Which handler catches, and which CATCH block a statement stands in, is known from its place.
//!   Nothing is kept on a stack.

use std::collections::BTreeMap;

use extentdb_base::sync::Arc;
use extentdb_expr::Settings;
use extentdb_tsql::Span;
use extentdb_tsql::syntax::{
    AssignOperator, Assignment, DeclarationKind, If, ObjectName, Return, Script, Set, Statement,
    StatementKind, TryCatch, VariableName, While,
};
use extentdb_types::Collation;

use crate::command;
use crate::statement;
use crate::statement::table_variable::{DeclareOfType, DeclareTable};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Variable;
use extentdb_connection::scalar::{Compiler, Condition, Scalar};
use extentdb_connection::step::Step;

pub(crate) enum Instruction {
    Step(Box<dyn Step>),
    /// Jumps where the condition is not true.
    Unless {
        condition: Test,
        target: usize,
    },
    Jump(usize),
    Return(Option<Scalar>),
    /// THROW without arguments.
    Rethrow,
    /// Is not supported: fails when it is reached.
    Refuse(Cause),
}

/// A condition of control flow.
pub(crate) enum Test {
    Compiled(Condition),
    /// One with a query in it.
    Query(Box<extentdb_tsql::syntax::Condition>),
}

/// An instruction and where it stands.
pub(crate) struct Placed {
    pub(crate) instruction: Instruction,
    pub(crate) line: u32,
    /// What views call its statement.
    pub(crate) command: &'static str,
    /// The TRY block that it stands in.
    pub(crate) handler: Option<usize>,
    /// The CATCH block that it stands in.
    pub(crate) catch: Option<usize>,
}

/// A compiled batch.
pub(crate) struct Flow {
    pub(crate) instructions: Vec<Placed>,
    pub(crate) variables: Arc<[Variable]>,
    /// First instruction of each CATCH block.
    pub(crate) handlers: Vec<usize>,
}

/// What a batch cannot be compiled for.
#[derive(Debug, PartialEq)]
pub(crate) struct Failure {
    pub(crate) cause: Cause,
    pub(crate) line: u32,
}

/// Does a name stand for a table type?
pub(crate) type IsTableType<'s> = &'s dyn Fn(&ObjectName) -> bool;

type Built<T = ()> = Result<T, Failure>;

/// Compiles the statements of a batch; `variables` are its parameters.
pub(crate) fn compile(
    script: &Script,
    variables: Vec<Variable>,
    collation: Collation,
    settings: Settings,
    is_table_type: IsTableType<'_>,
) -> Built<Flow> {
    compile_body(script, &script.statements, variables, collation, settings, None, is_table_type)
}

/// Compiles the body of a procedure, which is a part of its script; `variables` are its parameters.
/// The value of RETURN goes to the variable `returns`, where it is a function.
pub(crate) fn compile_body(
    script: &Script,
    statements: &[Statement],
    variables: Vec<Variable>,
    collation: Collation,
    settings: Settings,
    returns: Option<&str>,
    is_table_type: IsTableType<'_>,
) -> Built<Flow> {
    let mut builder = Builder {
        script,
        collation,
        settings,
        returns,
        is_table_type,
        command: "",
        flow: Vec::new(),
        variables,
        handlers: Vec::new(),
        labels: BTreeMap::new(),
        gotos: Vec::new(),
        loops: Vec::new(),
        handler: None,
        catch: None,
    };
    builder.statements(statements)?;
    builder.finish()
}

struct Loop {
    start: usize,
    breaks: Vec<usize>,
}

/// Where a jump by name leads to, with the blocks around it.
struct Label {
    address: usize,
    handler: Option<usize>,
    catch: Option<usize>,
}

struct Builder<'s> {
    script: &'s Script,
    collation: Collation,
    settings: Settings,
    /// The variable that takes what RETURN says.
    returns: Option<&'s str>,
    is_table_type: IsTableType<'s>,
    /// Of the statement at hand.
    command: &'static str,
    flow: Vec<Placed>,
    variables: Vec<Variable>,
    handlers: Vec<usize>,
    labels: BTreeMap<String, Label>,
    gotos: Vec<(usize, String)>,
    loops: Vec<Loop>,
    handler: Option<usize>,
    catch: Option<usize>,
}

impl Builder<'_> {
    fn statements(&mut self, statements: &[Statement]) -> Built {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Built {
        let line = statement.span.line;
        self.command = command::of(&statement.kind);
        match &statement.kind {
            StatementKind::Block(statements) => return self.statements(statements),
            StatementKind::If(choice) => return self.choice(choice, line),
            StatementKind::While(turn) => return self.turn(turn, line),
            StatementKind::TryCatch(blocks) => return self.blocks(blocks, line),
            StatementKind::Declare(declare) => return self.declare(declare, line),
            StatementKind::Label(name) => self.label(&name.text),
            StatementKind::Goto(goto) => {
                self.gotos.push((self.flow.len(), goto.label.text.to_lowercase()));
                self.push(Instruction::Jump(0), line);
            }
            StatementKind::Break => {
                let at = self.flow.len();
                self.push(Instruction::Jump(0), line);
                if let Some(turn) = self.loops.last_mut() {
                    turn.breaks.push(at);
                }
            }
            StatementKind::Continue => {
                let start = self.loops.last().map_or(0, |turn| turn.start);
                self.push(Instruction::Jump(start), line);
            }
            StatementKind::Return(end) if self.returns.is_some() && end.value.is_some() => {
                self.return_value(end, statement.span)?;
            }
            StatementKind::Return(end) => {
                let value = end.value.as_ref().map(|value| self.compiler().value(value));
                let value = value.transpose().map_err(|cause| Failure { cause, line })?;
                self.push(Instruction::Return(value), line);
            }
            StatementKind::Throw(throw) if throw.error.is_none() => {
                self.push(Instruction::Rethrow, line);
            }
            _ => return self.step(statement),
        }
        Ok(())
    }

    /// RETURN of a function: its value is assigned to a variable.
    fn return_value(&mut self, end: &Return, span: Span) -> Built {
        if let (Some(name), Some(value)) = (self.returns, &end.value) {
            let set = Set::Variable(Assignment {
                variable: VariableName { text: name.into(), span },
                operator: AssignOperator::Set,
                value: value.clone(),
            });
            self.step(&Statement { kind: StatementKind::Set(Box::new(set)), span })?;
        }
        self.push(Instruction::Return(None), span.line);
        Ok(())
    }

    fn step(&mut self, statement: &Statement) -> Built {
        let context =
            statement::Context { compiler: self.compiler(), script: self.script, statement };
        let step = statement::compile(&context);
        self.push_or_refuse(step.map(Instruction::Step), statement.span.line)
    }

    /// What is not supported becomes an instruction that fails; other errors stop the batch.
    fn push_or_refuse(&mut self, built: Result<Instruction, Cause>, line: u32) -> Built {
        let instruction = match built {
            Ok(instruction) => instruction,
            Err(cause @ (Cause::NotSupported { .. } | Cause::StatementNotSupported { .. })) => {
                Instruction::Refuse(cause)
            }
            Err(cause) => return Err(Failure { cause, line }),
        };
        self.push(instruction, line);
        Ok(())
    }

    fn compiler(&self) -> Compiler<'_> {
        Compiler {
            variables: &self.variables,
            collation: self.collation,
            settings: self.settings,
        }
    }

    fn push(&mut self, instruction: Instruction, line: u32) {
        let handler = self.handler;
        let catch = self.catch;
        self.flow.push(Placed { instruction, line, command: self.command, handler, catch });
    }

    /// An instruction that jumps unless the condition is true; its address.
    fn unless(&mut self, condition: &extentdb_tsql::syntax::Condition, line: u32) -> Built<usize> {
        let at = self.flow.len();
        let compiled = match extentdb_bind::condition_has_query(condition) {
            true => Ok(Test::Query(Box::new(condition.clone()))),
            false => self.compiler().condition(condition).map(Test::Compiled),
        };
        let built = compiled.map(|condition| Instruction::Unless { condition, target: 0 });
        self.push_or_refuse(built, line)?;
        Ok(at)
    }

    /// Sets where the jump at an address leads to.
    fn lead(&mut self, at: usize, to: usize) {
        let placed = self.flow.get_mut(at).map(|placed| &mut placed.instruction);
        if let Some(Instruction::Jump(target) | Instruction::Unless { target, .. }) = placed {
            *target = to;
        }
    }

    fn choice(&mut self, choice: &If, line: u32) -> Built {
        let mut ends = Vec::new();
        for branch in &choice.branches {
            let at = self.unless(&branch.condition, branch.span.line)?;
            self.statement(&branch.statement)?;
            ends.push(self.flow.len());
            self.push(Instruction::Jump(0), line);
            self.lead(at, self.flow.len());
        }
        if let Some(otherwise) = &choice.otherwise {
            self.statement(otherwise)?;
        }
        let end = self.flow.len();
        ends.into_iter().for_each(|at| self.lead(at, end));
        Ok(())
    }

    fn turn(&mut self, turn: &While, line: u32) -> Built {
        let start = self.unless(&turn.condition, line)?;
        self.loops.push(Loop { start, breaks: Vec::new() });
        self.statement(&turn.statement)?;
        self.push(Instruction::Jump(start), line);
        let end = self.flow.len();
        self.lead(start, end);
        let breaks = self.loops.pop().map(|turn| turn.breaks).unwrap_or_default();
        breaks.into_iter().for_each(|at| self.lead(at, end));
        Ok(())
    }

    fn blocks(&mut self, blocks: &TryCatch, line: u32) -> Built {
        let id = self.handlers.len();
        self.handlers.push(0);
        let outer_handler = self.handler.replace(id);
        self.statements(&blocks.body)?;
        self.handler = outer_handler;
        let leave = self.flow.len();
        self.push(Instruction::Jump(0), line);
        if let Some(address) = self.handlers.get_mut(id) {
            *address = leave + 1;
        }
        let outer_catch = self.catch.replace(id);
        self.statements(&blocks.handler)?;
        self.catch = outer_catch;
        self.lead(leave, self.flow.len());
        Ok(())
    }

    fn declare(&mut self, declare: &extentdb_tsql::syntax::Declare, line: u32) -> Built {
        for declaration in &declare.declarations {
            if let DeclarationKind::Table(elements) = &declaration.kind {
                let step = DeclareTable {
                    name: declaration.name.text.clone(),
                    elements: elements.clone(),
                    span: declaration.span,
                };
                self.push(Instruction::Step(Box::new(step)), line);
                continue;
            }
            if declaration.kind == DeclarationKind::Cursor {
                let step = statement::cursor::variable(&declaration.name.text);
                self.push(Instruction::Step(step), line);
                continue;
            }
            let position = self.variables.len() + 1;
            if let DeclarationKind::Scalar { data_type, value: None, .. } = &declaration.kind
                && (self.is_table_type)(&data_type.name)
            {
                let name = declaration.name.text.clone();
                let step = DeclareOfType { name, ty: data_type.name.clone(), position };
                self.push(Instruction::Step(Box::new(step)), line);
                continue;
            }
            let variable = statement::variable::declared(declaration, position, self.collation);
            let variable = match variable {
                Err(cause @ Cause::NotSupported { .. }) => {
                    self.push(Instruction::Refuse(cause), line);
                    continue;
                }
                other => other.map_err(|cause| Failure { cause, line })?,
            };
            if extentdb_connection::frame::variable_named(&self.variables, &variable.name).is_some()
            {
                let cause = Cause::DuplicateVariable { name: variable.name.to_string() };
                return Err(Failure { cause, line });
            }
            self.variables.push(variable);
            let compiler = self.compiler();
            if let Some(step) = statement::variable::initial(&compiler, declaration) {
                self.push_or_refuse(step.map(Instruction::Step), line)?;
            }
        }
        Ok(())
    }

    fn label(&mut self, name: &str) {
        let label = Label {
            address: self.flow.len(),
            handler: self.handler,
            catch: self.catch,
        };
        self.labels.insert(name.to_lowercase(), label);
    }

    fn finish(mut self) -> Built<Flow> {
        for (at, name) in std::mem::take(&mut self.gotos) {
            let Some(label) = self.labels.get(&name) else { continue };
            let address = label.address;
            let is_inside =
                |block: Option<usize>, own: Option<usize>| block.is_none() || block == own;
            let jump = self.flow.get(at);
            let enters = jump.is_some_and(|jump| {
                !is_inside(label.handler, jump.handler) || !is_inside(label.catch, jump.catch)
            });
            if enters {
                let line = jump.map_or(1, |jump| jump.line);
                let what = "GOTO into a TRY or CATCH block";
                return Err(Failure { cause: Cause::not_supported(what), line });
            }
            self.lead(at, address);
        }
        Ok(Flow {
            instructions: self.flow,
            variables: self.variables.into(),
            handlers: self.handlers,
        })
    }
}
