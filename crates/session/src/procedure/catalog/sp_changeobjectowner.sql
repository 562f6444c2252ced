--@objname nvarchar(776), @newowner sysname
DECLARE @schema sysname = ISNULL(PARSENAME(@objname, 2), SCHEMA_NAME());
IF SCHEMA_ID(@newowner) IS NULL
BEGIN
    RAISERROR (N'Cannot find the schema ''%s'', because it does not exist or you do not have permission.', 16, 1, @newowner);
    RETURN;
END
IF SCHEMA_ID(@newowner) <> SCHEMA_ID(@schema)
BEGIN
    DECLARE @text nvarchar(max) = N'ALTER SCHEMA ' + QUOTENAME(@newowner) + N' TRANSFER ' + QUOTENAME(@schema) + N'.' + QUOTENAME(PARSENAME(@objname, 1));
    EXEC (@text);
END
PRINT N'Caution: Changing any part of an object name could break scripts and stored procedures.';
