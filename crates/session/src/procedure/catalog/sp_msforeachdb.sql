--@command1 nvarchar(2000), @replacechar nchar(1) = N'?', @command2 nvarchar(2000) = NULL, @command3 nvarchar(2000) = NULL, @precommand nvarchar(2000) = NULL, @postcommand nvarchar(2000) = NULL
DECLARE @name sysname, @text nvarchar(max);
IF @precommand IS NOT NULL EXEC (@precommand);
DECLARE databases CURSOR LOCAL FAST_FORWARD FOR SELECT name FROM sys.databases WHERE state = 0 ORDER BY database_id;
OPEN databases;
FETCH NEXT FROM databases INTO @name;
WHILE @@FETCH_STATUS = 0
BEGIN
    SET @text = REPLACE(@command1, @replacechar, @name); EXEC (@text);
    IF @command2 IS NOT NULL BEGIN SET @text = REPLACE(@command2, @replacechar, @name); EXEC (@text); END;
    IF @command3 IS NOT NULL BEGIN SET @text = REPLACE(@command3, @replacechar, @name); EXEC (@text); END;
    FETCH NEXT FROM databases INTO @name;
END;
CLOSE databases;
DEALLOCATE databases;
IF @postcommand IS NOT NULL EXEC (@postcommand);
