//! What `sys.dm_exec_requests.command` calls statements.

use extentdb_tsql::syntax::{Dml, StatementKind};

/// The command of a statement, in the words of the product.
pub(crate) fn of(statement: &StatementKind) -> &'static str {
    match statement {
        StatementKind::Select(_) => "SELECT",
        StatementKind::Dml(Dml::Insert(_)) => "INSERT",
        StatementKind::Dml(Dml::Update(_)) => "UPDATE",
        StatementKind::Dml(Dml::Delete(_)) => "DELETE",
        StatementKind::Dml(Dml::Merge(_)) => "MERGE",
        StatementKind::Truncate(_) => "TRUNCATE TABLE",
        StatementKind::InsertBulk(_) | StatementKind::BulkInsert(_) => "BULK INSERT",
        StatementKind::If(_) | StatementKind::While(_) => "COND",
        StatementKind::WaitFor(_) => "WAITFOR",
        StatementKind::Throw(_) | StatementKind::RaiseError(_) => "RAISERROR",
        StatementKind::Print(_) => "PRINT",
        StatementKind::Declare(_) | StatementKind::Set(_) => "SET COMMAND",
        StatementKind::Execute(_) => "EXECUTE",
        StatementKind::BeginTransaction(_) => "BEGIN TRANSACTION",
        StatementKind::Commit(_) => "COMMIT TRANSACTION",
        StatementKind::Rollback(_) => "ROLLBACK TRANSACTION",
        StatementKind::SaveTransaction(_) => "SAVE TRANSACTION",
        StatementKind::Use(_) => "USE DATABASE",
        StatementKind::Kill(_) => "KILL",
        StatementKind::Dbcc(_) => "DBCC",
        StatementKind::Checkpoint(_) => "CHECKPOINT",
        StatementKind::CreateTable(_) => "CREATE TABLE",
        StatementKind::AlterTable(_) => "ALTER TABLE",
        StatementKind::CreateIndex(_) => "CREATE INDEX",
        StatementKind::AlterIndex(_) => "ALTER INDEX",
        StatementKind::DropIndex(_) => "DROP INDEX",
        StatementKind::CreateStatistics(_) => "CREATE STATISTICS",
        StatementKind::UpdateStatistics(_) => "UPDATE STATISTICS",
        StatementKind::DefineModule(_) => "CREATE MODULE",
        StatementKind::DropObjects(_) => "DROP OBJECT",
        StatementKind::DeclareCursor(_) => "DECLARE CURSOR",
        StatementKind::Open(_) => "OPEN CURSOR",
        StatementKind::Fetch(_) => "FETCH CURSOR",
        StatementKind::Close(_) => "CLOSE CURSOR",
        StatementKind::Deallocate(_) => "DEALLOCATE CURSOR",
        _ => "",
    }
}
