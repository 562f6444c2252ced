//! Scripts that people publish, as they print them: the statements of articles on file growth,
//! checks and checkpoints.

use extentdb_tsql::{Options, batches, parse};

/// Every batch of a script parses; the number of statements.
fn parsed(script: &str) -> usize {
    let count = |batch: extentdb_tsql::Batch<'_>| {
        let parsed = parse(batch.text, Options::default());
        parsed.unwrap_or_else(|error| panic!("{error}: {}", batch.text)).statements.len()
    };
    batches(script).map(count).sum()
}

#[test]
fn proportional_fill() {
    let script = "\
DBCC TRACEON (1165, 3605);
GO

EXEC sp_cycle_errorlog;
GO

USE [master];
GO

IF DATABASEPROPERTYEX (N'Company', N'Version') > 0
BEGIN
	ALTER DATABASE [Company] SET SINGLE_USER
		WITH ROLLBACK IMMEDIATE;
	DROP DATABASE [Company];
END
GO

CREATE DATABASE [Company] ON PRIMARY (
	NAME = N'Company_data',
	FILENAME = N'D:\\SQLskills\\Company_data.mdf',
	SIZE = 5MB,
	FILEGROWTH = 1MB)
LOG ON (
	NAME = N'Company_log',
	FILENAME = N'D:\\SQLskills\\Company_log.ldf'
);

EXEC xp_readerrorlog;
GO
ALTER DATABASE [Company] ADD FILE (
	NAME = N'SecondFile',
	FILENAME = N'D:\\SQLskills\\SecondFile.ndf',
	SIZE = 5MB,
	FILEGROWTH = 1MB);
GO
CREATE TABLE [BigRows] (
	[c1] INT IDENTITY,
	[c2] CHAR (8000) DEFAULT 'a');
GO

SET NOCOUNT ON;
GO

INSERT INTO [BigRows] DEFAULT VALUES;
GO 70000
";
    assert_eq!(parsed(script), 10);
    assert_eq!(batches(script).last().unwrap().count, 70_000);
}

#[test]
fn computed_columns() {
    let script = "\
SELECT
    [s].[name] AS [Schema],
    [o].[name] AS [Object],
    [i].[name] AS [Index],
    [co].[name] AS [Computed Column]
FROM sys.columns [co]
JOIN sys.index_columns [ic]
    ON [ic].[object_id] = [co].[object_id]
    AND [ic].[column_id] = [co].[column_id]
JOIN sys.indexes [i]
    ON [i].[object_id] = [ic].[object_id]
    AND [i].[index_id] = [ic].[index_id]
WHERE [co].[is_computed] = 1
ORDER BY [Schema], [Object];
GO
";
    assert_eq!(parsed(script), 1);
}

#[test]
fn checkpoints() {
    let script = "\
SET NOCOUNT ON;

DBCC TRACEON(3505);

DBCC TRACESTATUS;

DECLARE @i INT = 0;
DECLARE @start_upd DATETIME;

TRUNCATE TABLE dummy_test;

WHILE @i < 251
BEGIN

    SET @start_upd = GETDATE();

    BEGIN TRAN;

    WHILE @i <= 10000
    BEGIN
        INSERT INTO dummy_test DEFAULT VALUES;
        SET @i += 1;
    END

    COMMIT TRAN;
    CHECKPOINT;
    PRINT 'INS: ' + CAST(DATEDIFF(ms, @start_upd, GETDATE()) AS VARCHAR(50));
END
";
    assert_eq!(parsed(script), 7);
}
