--@command1 nvarchar(2000), @replacechar nchar(1) = N'?', @command2 nvarchar(2000) = NULL, @command3 nvarchar(2000) = NULL, @whereand nvarchar(2000) = NULL, @precommand nvarchar(2000) = NULL, @postcommand nvarchar(2000) = NULL
DECLARE @name nvarchar(517), @text nvarchar(max);
CREATE TABLE #mstables (name nvarchar(517));
SET @text = N'INSERT #mstables SELECT QUOTENAME(SCHEMA_NAME(o.schema_id)) + N''.'' + QUOTENAME(o.name) FROM sys.objects AS o WHERE o.type = ''U'' AND o.is_ms_shipped = 0 ' + ISNULL(@whereand, N'') + N' ORDER BY 1';
EXEC (@text);
IF @precommand IS NOT NULL EXEC (@precommand);
DECLARE tables CURSOR LOCAL FAST_FORWARD FOR SELECT name FROM #mstables ORDER BY name;
OPEN tables;
FETCH NEXT FROM tables INTO @name;
WHILE @@FETCH_STATUS = 0
BEGIN
    SET @text = REPLACE(@command1, @replacechar, @name); EXEC (@text);
    IF @command2 IS NOT NULL BEGIN SET @text = REPLACE(@command2, @replacechar, @name); EXEC (@text); END;
    IF @command3 IS NOT NULL BEGIN SET @text = REPLACE(@command3, @replacechar, @name); EXEC (@text); END;
    FETCH NEXT FROM tables INTO @name;
END;
CLOSE tables;
DEALLOCATE tables;
IF @postcommand IS NOT NULL EXEC (@postcommand);
