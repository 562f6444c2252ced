#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

mod bulk_load;
mod command;
mod flow;
pub mod offline;
mod principal;
mod procedure;
mod run;
mod statement;
mod user_type;

pub use extentdb_bind::provider::{RequestedColumn, RowBatch, RowProvider, RowStream, push_value};
pub use extentdb_connection::login;
pub use extentdb_connection::{
    Argument, BulkRows, Cause, ColumnInfo, ColumnOrigin, Connection, DefinitionCause, Discard,
    Done, Effect, Environment, Gone, Hooks, IdentityInsert, Interrupt, Isolation, MemoryLimits,
    Message, NoHooks, Origins, Outcome, Output, OutputValue, PasswordHash, PasswordWeakness,
    ProcedureCall, ProcedureName, Product, Request, Scope, Server, SetOptions, ShutdownMode,
    StatementCode, TableArgument, TableRows, TransactionRequest, verify_strength,
};
pub use run::run;
