--@srvrolename sysname = NULL
IF @srvrolename IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.server_principals WHERE name = @srvrolename AND type = 'R')
BEGIN
    RAISERROR (N'''%s'' is not a known fixed role.', 16, 1, @srvrolename);
    RETURN;
END
SELECT r.name AS ServerRole, p.name AS MemberName, p.sid AS MemberSID
FROM sys.server_role_members AS m
JOIN sys.server_principals AS r ON r.principal_id = m.role_principal_id
JOIN sys.server_principals AS p ON p.principal_id = m.member_principal_id
WHERE @srvrolename IS NULL OR r.name = @srvrolename ORDER BY r.name, p.name;
