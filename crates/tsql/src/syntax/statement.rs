//! Statements.

use super::clause::AdminStatement;
use super::control::{
    Atomic, Goto, If, Print, RaiseError, Return, Throw, TryCatch, WaitFor, While,
};
use super::cursor::{DeclareCursor, Fetch};
use super::dml::{BulkInsert, Dml, InsertBulk, ReadText, Truncate, UpdateText, WriteText};
use super::execute::{Execute, ExecuteAs, Kill, Revert, SetUser, Use};
use super::hint::QueryHint;
use super::index::{AlterIndex, CreateIndex, CreateStatistics, DropIndex, UpdateStatistics};
use super::module::{DefineModule, SwitchTrigger};
use super::name::{CursorName, Name};
use super::object::{
    CreateDefault, CreateRule, CreateSchema, CreateSynonym, CreateType, DropObjects, Sequence,
};
use super::permission::{AlterAuthorization, Permission};
use super::query::Query;
use super::session::{Checkpoint, Dbcc, LineNo, Reconfigure, Shutdown};
use super::table::{AlterTable, CreateTable};
use super::transaction::{BeginTransaction, Commit, Rollback, SaveTransaction};
use super::variable::{Declare, Set};
use crate::span::Span;

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    pub kind: StatementKind,
    /// From its first to its last token, without the semicolon. Its line is the one that run-time
    /// errors of the statement report.
    pub span: Span,
}

/// `query [ OPTION ( … ) ]`
#[derive(Debug, Clone, PartialEq)]
pub struct SelectStatement {
    pub query: Query,
    pub option: Vec<QueryHint>,
}

/// Kinds of statements.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum StatementKind {
    Select(Box<SelectStatement>),
    Dml(Dml),
    Truncate(Truncate),
    BulkInsert(Box<BulkInsert>),
    InsertBulk(Box<InsertBulk>),
    ReadText(Box<ReadText>),
    WriteText(Box<WriteText>),
    UpdateText(Box<UpdateText>),

    Block(Vec<Statement>),
    Atomic(Atomic),
    If(If),
    While(Box<While>),
    Break,
    Continue,
    TryCatch(TryCatch),
    Goto(Goto),
    Label(Name),
    Return(Return),
    WaitFor(Box<WaitFor>),
    Throw(Box<Throw>),
    RaiseError(Box<RaiseError>),
    Print(Print),

    Declare(Declare),
    Set(Box<Set>),
    Execute(Box<Execute>),

    DeclareCursor(Box<DeclareCursor>),
    Open(CursorName),
    Fetch(Box<Fetch>),
    Close(CursorName),
    Deallocate(CursorName),

    BeginTransaction(Box<BeginTransaction>),
    Commit(Commit),
    Rollback(Rollback),
    SaveTransaction(SaveTransaction),

    Use(Use),
    Kill(Box<Kill>),
    ExecuteAs(Box<ExecuteAs>),
    Revert(Revert),
    SetUser(SetUser),
    Dbcc(Box<Dbcc>),
    Checkpoint(Checkpoint),
    Shutdown(Shutdown),
    Reconfigure(Reconfigure),
    LineNo(LineNo),

    CreateTable(Box<CreateTable>),
    AlterTable(Box<AlterTable>),
    CreateIndex(Box<CreateIndex>),
    AlterIndex(Box<AlterIndex>),
    DropIndex(DropIndex),
    CreateStatistics(Box<CreateStatistics>),
    UpdateStatistics(Box<UpdateStatistics>),
    DefineModule(Box<DefineModule>),
    SwitchTrigger(Box<SwitchTrigger>),
    CreateType(Box<CreateType>),
    CreateSchema(Box<CreateSchema>),
    Sequence(Box<Sequence>),
    CreateSynonym(Box<CreateSynonym>),
    CreateRule(Box<CreateRule>),
    CreateDefault(Box<CreateDefault>),
    DropObjects(Box<DropObjects>),
    Permission(Box<Permission>),
    AlterAuthorization(Box<AlterAuthorization>),

    /// Every other statement: databases, backups, security, event sessions, availability groups …
    Admin(Box<AdminStatement>),
}
