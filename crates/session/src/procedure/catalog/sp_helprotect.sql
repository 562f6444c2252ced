--@name nvarchar(776) = NULL, @username sysname = NULL, @grantorname sysname = NULL, @permissionarea varchar(10) = 'o s'
DECLARE @found table (owner sysname, object sysname, grantee sysname, grantor sysname, protection nvarchar(10), action nvarchar(60), [column] sysname);
INSERT @found
SELECT ISNULL(SCHEMA_NAME(o.schema_id), N'.'), ISNULL(o.name, N'.'), g.name, r.name,
    CASE p.state WHEN 'W' THEN N'Grant_WGO' WHEN 'D' THEN N'Deny' ELSE N'Grant' END,
    CASE p.permission_name WHEN N'SELECT' THEN N'Select' WHEN N'INSERT' THEN N'Insert' WHEN N'UPDATE' THEN N'Update' WHEN N'DELETE' THEN N'Delete'
        WHEN N'EXECUTE' THEN N'Execute' WHEN N'REFERENCES' THEN N'References' ELSE CAST(p.permission_name AS nvarchar(60)) END,
    CASE WHEN p.class = 0 OR p.permission_name NOT IN (N'SELECT', N'UPDATE', N'REFERENCES') THEN N'.'
        WHEN p.minor_id = 0 THEN N'(All+New)' ELSE COL_NAME(p.major_id, p.minor_id) END
FROM sys.database_permissions AS p
JOIN sys.database_principals AS g ON g.principal_id = p.grantee_principal_id
JOIN sys.database_principals AS r ON r.principal_id = p.grantor_principal_id
LEFT JOIN sys.objects AS o ON p.class = 1 AND o.object_id = p.major_id
WHERE ((p.class = 1 AND o.object_id IS NOT NULL AND @permissionarea LIKE '%o%') OR (p.class = 0 AND @permissionarea LIKE '%s%'))
    AND (@name IS NULL OR (p.class = 1 AND p.major_id = OBJECT_ID(@name)) OR (p.class = 0 AND p.permission_name = @name))
    AND (@username IS NULL OR g.name = @username) AND (@grantorname IS NULL OR r.name = @grantorname);
IF NOT EXISTS (SELECT * FROM @found)
BEGIN
    RAISERROR (N'There are no matching rows on which to report.', 16, 1);
    RETURN;
END
SELECT owner AS Owner, object AS Object, grantee AS Grantee, grantor AS Grantor, protection AS ProtectType, action AS Action, [column] AS [Column]
FROM @found ORDER BY owner, object, grantee, grantor, protection, action, [column];
