--@objname nvarchar(776)
SELECT DISTINCT CAST(SCHEMA_NAME(o.schema_id) + N'.' + o.name AS nvarchar(257)) AS name, o.type_desc AS type
FROM sys.sql_expression_dependencies AS d JOIN sys.objects AS o ON o.object_id = d.referenced_id
WHERE d.referencing_id = OBJECT_ID(@objname) ORDER BY 1;
