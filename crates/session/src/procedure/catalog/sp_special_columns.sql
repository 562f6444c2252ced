-- @table_name nvarchar(384), @table_owner nvarchar(384) = NULL, @table_qualifier nvarchar(128) = NULL, @col_type char(1) = 'R', @scope char(1) = 'T', @nullable char(1) = 'U', @ODBCVer int = 2
DECLARE @id int = OBJECT_ID(QUOTENAME(ISNULL(@table_owner, SCHEMA_NAME())) + N'.' + QUOTENAME(@table_name))
DECLARE @index int = (SELECT MIN(i.index_id) FROM sys.indexes AS i WHERE i.object_id = @id AND i.is_unique = 1 AND i.has_filter = 0 AND (i.is_primary_key = 1 OR NOT EXISTS (SELECT * FROM sys.indexes AS k WHERE k.object_id = @id AND k.is_primary_key = 1)))
SELECT CAST(CASE WHEN @col_type = 'R' THEN 0 END AS smallint) AS SCOPE, c.name AS COLUMN_NAME,
    CAST({data_type} AS smallint) AS DATA_TYPE,
    CAST(CASE WHEN c.is_identity = 1 AND ty.id IN (106, 108) THEN u.name + N'() identity' WHEN c.is_identity = 1 THEN u.name + N' identity' ELSE u.name END AS nvarchar(128)) AS TYPE_NAME,
    {precision} AS [PRECISION],
    {length} AS LENGTH,
    CAST(CASE WHEN ty.most_scale IS NOT NULL THEN c.scale END AS smallint) AS SCALE,
    CAST(1 AS smallint) AS PSEUDO_COLUMN
FROM sys.columns AS c
JOIN sys.types AS u ON u.user_type_id = c.user_type_id
JOIN {types} ON ty.id = c.system_type_id AND ISNULL(ty.is_auto, 0) = 0
LEFT JOIN sys.index_columns AS ic ON ic.object_id = c.object_id AND ic.index_id = @index AND ic.column_id = c.column_id AND ic.key_ordinal > 0
WHERE c.object_id = @id AND (@col_type <> 'V' AND ic.key_ordinal IS NOT NULL OR @col_type = 'V' AND ty.id = 189)
    AND (@nullable <> 'O' OR c.is_nullable = 0)
ORDER BY c.column_id
