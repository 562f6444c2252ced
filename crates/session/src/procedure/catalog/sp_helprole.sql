--@rolename sysname = NULL
IF @rolename IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.database_principals WHERE name = @rolename AND type IN ('R', 'A'))
BEGIN
    RAISERROR (N'The name supplied (%s) is not a database role.', 16, 1, @rolename);
    RETURN;
END
SELECT name AS RoleName, CAST(principal_id AS smallint) AS RoleId, CASE type WHEN 'A' THEN 1 ELSE 0 END AS IsAppRole
FROM sys.database_principals WHERE type IN ('R', 'A') AND (@rolename IS NULL OR name = @rolename) ORDER BY principal_id;
