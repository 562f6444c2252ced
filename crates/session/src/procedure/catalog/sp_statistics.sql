-- @table_name nvarchar(384), @table_owner nvarchar(384) = NULL, @table_qualifier nvarchar(128) = NULL, @index_name nvarchar(384) = N'%', @is_unique char(1) = 'N', @accuracy char(1) = 'Q'
SELECT CAST(DB_NAME() AS nvarchar(128)) AS TABLE_QUALIFIER, s.name AS TABLE_OWNER, o.name AS TABLE_NAME, CAST(NULL AS smallint) AS NON_UNIQUE, CAST(NULL AS nvarchar(128)) AS INDEX_QUALIFIER, CAST(NULL AS nvarchar(128)) AS INDEX_NAME, CAST(0 AS smallint) AS TYPE, CAST(NULL AS smallint) AS SEQ_IN_INDEX, CAST(NULL AS nvarchar(128)) AS COLUMN_NAME, CAST(NULL AS char(1)) AS COLLATION, CAST(p.row_count AS int) AS CARDINALITY, CAST(p.used_page_count AS int) AS PAGES, CAST(NULL AS varchar(128)) AS FILTER_CONDITION
FROM sys.objects AS o
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
JOIN sys.dm_db_partition_stats AS p ON p.object_id = o.object_id AND p.index_id < 2
WHERE o.type IN ('U', 'V') AND o.name LIKE @table_name AND s.name LIKE ISNULL(@table_owner, N'%')
    AND (@table_qualifier IS NULL OR DB_NAME() = @table_qualifier)
UNION ALL
SELECT CAST(DB_NAME() AS nvarchar(128)), s.name, o.name, CAST(CASE WHEN i.is_unique = 1 THEN 0 ELSE 1 END AS smallint), o.name, i.name, CAST(CASE WHEN i.index_id = 1 THEN 1 ELSE 3 END AS smallint), CAST(ic.key_ordinal AS smallint), c.name, CAST(CASE WHEN ic.is_descending_key = 1 THEN 'D' ELSE 'A' END AS char(1)), CAST(p.row_count AS int), CAST(p.used_page_count AS int), CAST(NULL AS varchar(128))
FROM sys.objects AS o
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
JOIN sys.indexes AS i ON i.object_id = o.object_id
JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id
JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
JOIN sys.dm_db_partition_stats AS p ON p.object_id = i.object_id AND p.index_id = i.index_id
WHERE i.index_id > 0 AND ic.key_ordinal > 0 AND o.type IN ('U', 'V') AND o.name LIKE @table_name AND s.name LIKE ISNULL(@table_owner, N'%')
    AND i.name LIKE @index_name AND (i.is_unique = 1 OR @is_unique <> 'Y')
    AND (@table_qualifier IS NULL OR DB_NAME() = @table_qualifier)
ORDER BY 4, 7, 6, 8
