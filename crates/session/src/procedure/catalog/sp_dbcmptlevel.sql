--@dbname sysname = NULL, @new_cmptlevel tinyint = NULL
IF @new_cmptlevel IS NULL AND @dbname IS NOT NULL
    SELECT CAST(N'The current compatibility level is ' + CONVERT(nvarchar(5), compatibility_level) + N'.' AS nvarchar(60)) AS level FROM sys.databases WHERE name = @dbname;
