--@name_in_db sysname = NULL
IF @name_in_db IS NOT NULL AND EXISTS (SELECT * FROM sys.database_principals WHERE name = @name_in_db AND type = 'R')
BEGIN
    SELECT r.name AS Role_name, CAST(r.principal_id AS smallint) AS Role_id, u.name AS Users_in_role, CAST(u.principal_id AS smallint) AS Userid
    FROM sys.database_principals AS r
    JOIN sys.database_role_members AS m ON m.role_principal_id = r.principal_id
    JOIN sys.database_principals AS u ON u.principal_id = m.member_principal_id
    WHERE r.name = @name_in_db ORDER BY u.name;
    RETURN;
END
IF @name_in_db IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.database_principals WHERE name = @name_in_db)
BEGIN
    RAISERROR (N'The name supplied (%s) is not a user, role, or aliased login.', 16, 1, @name_in_db);
    RETURN;
END
SELECT u.name AS UserName, ISNULL(r.name, N'public') AS RoleName, l.name AS LoginName, l.default_database_name AS DefDBName,
    u.default_schema_name AS DefSchemaName, CAST(u.principal_id AS char(10)) AS UserID, u.sid AS SID
FROM sys.database_principals AS u
LEFT JOIN sys.database_role_members AS m ON m.member_principal_id = u.principal_id
LEFT JOIN sys.database_principals AS r ON r.principal_id = m.role_principal_id
LEFT JOIN sys.server_principals AS l ON l.sid = u.sid AND l.type <> 'R'
WHERE u.type NOT IN ('R', 'A') AND (@name_in_db IS NULL OR u.name = @name_in_db)
ORDER BY u.name, r.name;
