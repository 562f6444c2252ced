-- @table_name nvarchar(384), @table_owner nvarchar(384) = NULL, @table_qualifier nvarchar(128) = NULL, @fUsePattern bit = 1
SELECT CAST(DB_NAME() AS nvarchar(128)) AS TABLE_QUALIFIER, s.name AS TABLE_OWNER, o.name AS TABLE_NAME,
    p.grantor AS GRANTOR, p.grantee AS GRANTEE, CAST(p.privilege AS varchar(32)) AS PRIVILEGE, CAST(p.is_grantable AS varchar(3)) AS IS_GRANTABLE
FROM sys.objects AS o
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
JOIN (
    SELECT u.object_id, CAST(N'dbo' AS nvarchar(128)) AS grantor, CAST(N'dbo' AS nvarchar(128)) AS grantee, v.privilege, 'YES' AS is_grantable
    FROM sys.objects AS u CROSS JOIN (VALUES ('DELETE'), ('INSERT'), ('REFERENCES'), ('SELECT'), ('UPDATE')) AS v (privilege)
    UNION ALL
    SELECT g.major_id, r.name, e.name, g.permission_name, CASE WHEN g.state = 'W' THEN 'YES' ELSE 'NO' END
    FROM sys.database_permissions AS g
    JOIN sys.database_principals AS r ON r.principal_id = g.grantor_principal_id
    JOIN sys.database_principals AS e ON e.principal_id = g.grantee_principal_id
    WHERE g.class = 1 AND g.minor_id = 0 AND g.state IN ('G', 'W')
        AND g.permission_name IN (N'DELETE', N'INSERT', N'REFERENCES', N'SELECT', N'UPDATE')
) AS p ON p.object_id = o.object_id
WHERE o.type IN ('U', 'V')
    AND (@table_qualifier IS NULL OR DB_NAME() = @table_qualifier)
    AND ((@fUsePattern = 1 AND o.name LIKE @table_name) OR o.name = @table_name)
    AND (@table_owner IS NULL OR (@fUsePattern = 1 AND s.name LIKE @table_owner) OR s.name = @table_owner)
ORDER BY 1, 2, 3, 6, 5
