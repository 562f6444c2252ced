-- @objname nvarchar(776), @nomsg varchar(5) = 'msg'
DECLARE @id int = OBJECT_ID(@objname)
IF @nomsg <> 'nomsg'
    SELECT @objname AS [Object Name]
SELECT CAST(x.constraint_type AS nvarchar(146)) AS constraint_type, x.constraint_name, CAST(x.delete_action AS nvarchar(9)) AS delete_action, CAST(x.update_action AS nvarchar(9)) AS update_action,
    CAST(x.status_enabled AS varchar(8)) AS status_enabled, CAST('(n/a)' AS varchar(19)) AS status_for_replication, CAST(x.constraint_keys AS nvarchar(2126)) AS constraint_keys
FROM (
    SELECT CASE WHEN k.type = 'PK' THEN N'PRIMARY KEY' ELSE N'UNIQUE' END + CASE WHEN k.unique_index_id = 1 THEN N' (clustered)' ELSE N' (non-clustered)' END AS constraint_type, k.name AS constraint_name, N'(n/a)' AS delete_action, N'(n/a)' AS update_action, '(n/a)' AS status_enabled, n.names AS constraint_keys
    FROM sys.key_constraints AS k
    JOIN (SELECT ic.index_id, STRING_AGG(c.name, N', ') WITHIN GROUP (ORDER BY ic.key_ordinal) AS names FROM sys.index_columns AS ic JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id WHERE ic.object_id = @id AND ic.key_ordinal > 0 GROUP BY ic.index_id) AS n ON n.index_id = k.unique_index_id
    WHERE k.parent_object_id = @id
    UNION ALL
    SELECT N'FOREIGN KEY', k.name, CASE k.delete_referential_action WHEN 0 THEN N'No Action' WHEN 1 THEN N'Cascade' WHEN 2 THEN N'Set Null' ELSE N'Set Default' END, CASE k.update_referential_action WHEN 0 THEN N'No Action' WHEN 1 THEN N'Cascade' WHEN 2 THEN N'Set Null' ELSE N'Set Default' END, CASE WHEN k.is_disabled = 1 THEN 'Disabled' ELSE 'Enabled' END, n.names + N' REFERENCES ' + DB_NAME() + N'.' + OBJECT_SCHEMA_NAME(k.referenced_object_id) + N'.' + OBJECT_NAME(k.referenced_object_id) + N' (' + r.names + N')'
    FROM sys.foreign_keys AS k
    JOIN (SELECT kc.constraint_object_id, STRING_AGG(c.name, N', ') WITHIN GROUP (ORDER BY kc.constraint_column_id) AS names FROM sys.foreign_key_columns AS kc JOIN sys.columns AS c ON c.object_id = kc.referenced_object_id AND c.column_id = kc.referenced_column_id WHERE kc.parent_object_id = @id GROUP BY kc.constraint_object_id) AS r ON r.constraint_object_id = k.object_id
    JOIN (SELECT kc.constraint_object_id, STRING_AGG(c.name, N', ') WITHIN GROUP (ORDER BY kc.constraint_column_id) AS names FROM sys.foreign_key_columns AS kc JOIN sys.columns AS c ON c.object_id = kc.parent_object_id AND c.column_id = kc.parent_column_id WHERE kc.parent_object_id = @id GROUP BY kc.constraint_object_id) AS n ON n.constraint_object_id = k.object_id
    WHERE k.parent_object_id = @id
    UNION ALL
    SELECT CASE WHEN k.parent_column_id = 0 THEN N'CHECK Table Level ' ELSE N'CHECK on column ' + c.name END, k.name, N'(n/a)', N'(n/a)', CASE WHEN k.is_disabled = 1 THEN 'Disabled' ELSE 'Enabled' END, k.definition
    FROM sys.check_constraints AS k
    LEFT JOIN sys.columns AS c ON c.object_id = k.parent_object_id AND c.column_id = k.parent_column_id
    WHERE k.parent_object_id = @id
    UNION ALL
    SELECT N'DEFAULT on column ' + c.name, k.name, N'(n/a)', N'(n/a)', '(n/a)', k.definition
    FROM sys.default_constraints AS k
    JOIN sys.columns AS c ON c.object_id = k.parent_object_id AND c.column_id = k.parent_column_id
    WHERE k.parent_object_id = @id) AS x
ORDER BY 1, 2
IF EXISTS (SELECT * FROM sys.foreign_keys AS k WHERE k.referenced_object_id = @id)
    SELECT CAST(DB_NAME() + N'.' + s.name + N'.' + o.name + N': ' + k.name AS nvarchar(516)) AS [Table is referenced by foreign key]
    FROM sys.foreign_keys AS k
    JOIN sys.objects AS o ON o.object_id = k.parent_object_id
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    WHERE k.referenced_object_id = @id ORDER BY 1
ELSE PRINT 'No foreign keys reference table ''' + @objname + ''', or you do not have permissions on referencing tables.'
