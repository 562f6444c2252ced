--@loginnamepattern sysname = NULL
IF @loginnamepattern IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.server_principals WHERE name = @loginnamepattern AND type <> 'R')
BEGIN
    RAISERROR (N'''%s'' is not a valid login or you do not have permission.', 16, 1, @loginnamepattern);
    RETURN;
END
DECLARE @users table (login sysname, [database] sysname, [user] sysname, kind char(8));
DECLARE @database sysname, @text nvarchar(max);
DECLARE databases CURSOR LOCAL FAST_FORWARD FOR SELECT name FROM sys.databases WHERE state = 0 AND HAS_DBACCESS(name) = 1 ORDER BY name;
OPEN databases;
FETCH databases INTO @database;
WHILE @@FETCH_STATUS = 0
BEGIN
    SET @text = N'SELECT l.name, N' + QUOTENAME(@database, '''') + N', u.name, ''User'' FROM ' + QUOTENAME(@database) + N'.sys.database_principals AS u JOIN sys.server_principals AS l ON l.sid = u.sid WHERE u.type <> ''R'' AND l.type <> ''R''
        UNION ALL SELECT l.name, N' + QUOTENAME(@database, '''') + N', r.name, ''MemberOf'' FROM ' + QUOTENAME(@database) + N'.sys.database_principals AS u JOIN sys.server_principals AS l ON l.sid = u.sid
        JOIN ' + QUOTENAME(@database) + N'.sys.database_role_members AS m ON m.member_principal_id = u.principal_id JOIN ' + QUOTENAME(@database) + N'.sys.database_principals AS r ON r.principal_id = m.role_principal_id WHERE l.type <> ''R''';
    INSERT @users EXEC (@text);
    FETCH databases INTO @database;
END
CLOSE databases;
DEALLOCATE databases;
SELECT l.name AS LoginName, l.sid AS SID, l.default_database_name AS DefDBName, l.default_language_name AS DefLangName,
    CAST(CASE WHEN EXISTS (SELECT * FROM @users AS u WHERE u.login = l.name) THEN 'yes' ELSE 'NO' END AS char(5)) AS AUser, CAST('no' AS char(7)) AS ARemote
FROM sys.server_principals AS l WHERE l.type <> 'R' AND (@loginnamepattern IS NULL OR l.name = @loginnamepattern) ORDER BY l.name;
SELECT login AS LoginName, [database] AS DBName, [user] AS UserName, kind AS UserOrAlias FROM @users
WHERE @loginnamepattern IS NULL OR login = @loginnamepattern ORDER BY login, [database], kind DESC, [user];
