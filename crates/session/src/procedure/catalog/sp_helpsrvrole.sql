--@srvrolename sysname = NULL
DECLARE @roles table (place int IDENTITY, name sysname, description sysname);
INSERT @roles (name, description) VALUES
    (N'sysadmin', N'System Administrators'), (N'securityadmin', N'Security Administrators'),
    (N'serveradmin', N'Server Administrators'), (N'setupadmin', N'Setup Administrators'),
    (N'processadmin', N'Process Administrators'), (N'diskadmin', N'Disk Administrators'),
    (N'dbcreator', N'Database Creators'), (N'bulkadmin', N'Bulk Insert Administrators');
IF @srvrolename IS NOT NULL AND NOT EXISTS (SELECT * FROM @roles WHERE name = @srvrolename)
BEGIN
    RAISERROR (N'''%s'' is not a known fixed role.', 16, 1, @srvrolename);
    RETURN;
END
SELECT name AS ServerRole, description AS Description FROM @roles WHERE @srvrolename IS NULL OR name = @srvrolename ORDER BY place;
