--@rolename sysname = NULL
DECLARE @roles table (place int IDENTITY, name sysname, description nvarchar(70));
INSERT @roles (name, description) VALUES
    (N'db_owner', N'DB Owners'), (N'db_accessadmin', N'DB Access Administrators'),
    (N'db_securityadmin', N'DB Security Administrators'), (N'db_ddladmin', N'DB DDL Administrators'),
    (N'db_backupoperator', N'DB Backup Operator'), (N'db_datareader', N'DB Data Reader'),
    (N'db_datawriter', N'DB Data Writer'), (N'db_denydatareader', N'DB Deny Data Reader'),
    (N'db_denydatawriter', N'DB Deny Data Writer');
IF @rolename IS NOT NULL AND NOT EXISTS (SELECT * FROM @roles WHERE name = @rolename)
BEGIN
    RAISERROR (N'''%s'' is not a known fixed role.', 16, 1, @rolename);
    RETURN;
END
SELECT name AS DbFixedRole, description AS Description FROM @roles WHERE @rolename IS NULL OR name = @rolename ORDER BY place;
