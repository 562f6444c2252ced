--@typename sysname, @phystype sysname, @nulltype varchar(8) = NULL, @owner sysname = NULL
DECLARE @text nvarchar(max) = N'CREATE TYPE ' + ISNULL(QUOTENAME(@owner) + N'.', N'') + QUOTENAME(@typename) + N' FROM ' + @phystype + N' ' + ISNULL(UPPER(@nulltype), N'NULL');
EXEC (@text);
