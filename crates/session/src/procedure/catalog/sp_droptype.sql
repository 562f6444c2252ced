--@typename sysname
DECLARE @text nvarchar(max) = N'DROP TYPE ' + QUOTENAME(@typename);
EXEC (@text);
