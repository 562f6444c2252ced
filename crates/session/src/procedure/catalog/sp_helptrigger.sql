--@tabname nvarchar(776), @triggertype char(6) = NULL
SELECT t.name AS trigger_name, N'dbo' AS trigger_owner,
    OBJECTPROPERTY(t.object_id, 'ExecIsUpdateTrigger') AS isupdate,
    OBJECTPROPERTY(t.object_id, 'ExecIsDeleteTrigger') AS isdelete,
    OBJECTPROPERTY(t.object_id, 'ExecIsInsertTrigger') AS isinsert,
    CASE t.is_instead_of_trigger WHEN 0 THEN 1 ELSE 0 END AS isafter,
    CAST(t.is_instead_of_trigger AS int) AS isinsteadof,
    SCHEMA_NAME(o.schema_id) AS trigger_schema
FROM sys.triggers AS t JOIN sys.objects AS o ON o.object_id = t.object_id
WHERE t.parent_id = OBJECT_ID(@tabname) ORDER BY t.name;
