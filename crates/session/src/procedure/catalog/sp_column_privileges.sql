-- @table_name nvarchar(384), @table_owner nvarchar(384) = NULL, @table_qualifier nvarchar(128) = NULL, @column_name nvarchar(384) = NULL
SELECT CAST(DB_NAME() AS nvarchar(128)) AS TABLE_QUALIFIER, s.name AS TABLE_OWNER, o.name AS TABLE_NAME, c.name AS COLUMN_NAME,
    p.grantor AS GRANTOR, p.grantee AS GRANTEE, CAST(p.privilege AS varchar(32)) AS PRIVILEGE, CAST(p.is_grantable AS varchar(3)) AS IS_GRANTABLE
FROM sys.objects AS o
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
JOIN sys.columns AS c ON c.object_id = o.object_id
JOIN (
    SELECT u.object_id, 0 AS column_id, CAST(N'dbo' AS nvarchar(128)) AS grantor, CAST(N'dbo' AS nvarchar(128)) AS grantee, v.privilege, 'YES' AS is_grantable
    FROM sys.objects AS u CROSS JOIN (VALUES ('INSERT'), ('REFERENCES'), ('SELECT'), ('UPDATE')) AS v (privilege)
    UNION ALL
    SELECT g.major_id, g.minor_id, r.name, e.name, g.permission_name, CASE WHEN g.state = 'W' THEN 'YES' ELSE 'NO' END
    FROM sys.database_permissions AS g
    JOIN sys.database_principals AS r ON r.principal_id = g.grantor_principal_id
    JOIN sys.database_principals AS e ON e.principal_id = g.grantee_principal_id
    WHERE g.class = 1 AND g.state IN ('G', 'W') AND g.permission_name IN (N'INSERT', N'REFERENCES', N'SELECT', N'UPDATE')
) AS p ON p.object_id = o.object_id AND p.column_id IN (0, c.column_id)
WHERE o.type IN ('U', 'V')
    AND (@table_qualifier IS NULL OR DB_NAME() = @table_qualifier)
    AND o.name = @table_name
    AND (@table_owner IS NULL OR s.name = @table_owner)
    AND (@column_name IS NULL OR c.name LIKE @column_name)
ORDER BY 1, 2, 3, 4, 7, 6
