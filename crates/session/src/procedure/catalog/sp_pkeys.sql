-- @table_name nvarchar(128), @table_owner nvarchar(128) = NULL, @table_qualifier nvarchar(128) = NULL
SELECT CAST(DB_NAME() AS nvarchar(128)) AS TABLE_QUALIFIER, s.name AS TABLE_OWNER, o.name AS TABLE_NAME, c.name AS COLUMN_NAME, CAST(ic.key_ordinal AS smallint) AS KEY_SEQ, k.name AS PK_NAME
FROM sys.key_constraints AS k
JOIN sys.objects AS o ON o.object_id = k.parent_object_id
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
JOIN sys.index_columns AS ic ON ic.object_id = o.object_id AND ic.index_id = k.unique_index_id
JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE k.type = 'PK' AND ic.key_ordinal > 0 AND o.name = @table_name
    AND s.name = ISNULL(@table_owner, SCHEMA_NAME())
    AND (@table_qualifier IS NULL OR DB_NAME() = @table_qualifier)
ORDER BY 1, 2, 3, 5
