-- @table_name nvarchar(384), @table_owner nvarchar(384) = NULL, @table_qualifier nvarchar(128) = NULL, @column_name nvarchar(384) = NULL, {scope}@ODBCVer int = 2, @fUsePattern bit = 1
SELECT CAST(DB_NAME() AS nvarchar(128)) AS TABLE_QUALIFIER, s.name AS TABLE_OWNER, o.name AS TABLE_NAME, c.name AS COLUMN_NAME,
    CAST({data_type} AS smallint) AS DATA_TYPE,
    CAST(CASE WHEN c.is_identity = 1 AND ty.id IN (106, 108) THEN u.name + N'() identity' WHEN c.is_identity = 1 THEN u.name + N' identity' ELSE u.name END AS nvarchar(128)) AS TYPE_NAME,
    {precision} AS [PRECISION],
    {length} AS LENGTH,
    CAST(CASE WHEN ty.most_scale IS NOT NULL THEN c.scale END AS smallint) AS SCALE,
    CAST(ty.radix AS smallint) AS RADIX,
    CAST(c.is_nullable AS smallint) AS NULLABLE,
    CAST(NULL AS varchar(254)) AS REMARKS,
    CAST(d.definition AS nvarchar(4000)) AS COLUMN_DEF,
    CAST(ty.sql_type AS smallint) AS SQL_DATA_TYPE,
    CAST(ty.sub AS smallint) AS SQL_DATETIME_SUB,
    CAST(CASE WHEN ty.id IN (167, 175, 231, 239, 165, 173) THEN CASE WHEN c.max_length = -1 THEN 0 ELSE c.max_length END WHEN ty.id IN (34, 35, 99) THEN ty.bytes END AS int) AS CHAR_OCTET_LENGTH,
    CAST(c.column_id AS int) AS ORDINAL_POSITION,
    CAST(CASE WHEN c.is_nullable = 1 THEN 'YES' ELSE 'NO' END AS varchar(254)) AS IS_NULLABLE,
--new    CAST(c.is_sparse AS smallint) AS SS_IS_SPARSE,
--new    CAST(c.is_column_set AS smallint) AS SS_IS_COLUMN_SET,
--new    CAST(c.is_computed AS smallint) AS SS_IS_COMPUTED,
--new    CAST(c.is_identity AS smallint) AS SS_IS_IDENTITY,
--new    CAST(NULL AS nvarchar(128)) AS SS_UDT_CATALOG_NAME,
--new    CAST(NULL AS nvarchar(128)) AS SS_UDT_SCHEMA_NAME,
--new    CAST(NULL AS nvarchar(4000)) AS SS_UDT_ASSEMBLY_TYPE_NAME,
--new    CAST(NULL AS nvarchar(128)) AS SS_XML_SCHEMACOLLECTION_CATALOG_NAME,
--new    CAST(NULL AS nvarchar(128)) AS SS_XML_SCHEMACOLLECTION_SCHEMA_NAME,
--new    CAST(NULL AS nvarchar(128)) AS SS_XML_SCHEMACOLLECTION_NAME,
    CAST(CASE WHEN c.is_nullable = 1 THEN ty.ss ELSE ty.ss_not_null END AS tinyint) AS SS_DATA_TYPE
FROM sys.all_columns AS c
JOIN sys.all_objects AS o ON o.object_id = c.object_id
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
JOIN sys.types AS u ON u.user_type_id = c.user_type_id
JOIN {types} ON ty.id = c.system_type_id AND ISNULL(ty.is_auto, 0) = 0
LEFT JOIN sys.default_constraints AS d ON d.object_id = c.default_object_id
WHERE o.type IN ('U', 'V', 'IF', 'TF')
    AND (@table_qualifier IS NULL OR DB_NAME() = @table_qualifier)
    AND ((@fUsePattern = 1 AND o.name LIKE @table_name) OR o.name = @table_name OR (@table_name LIKE N'#%' AND o.object_id = OBJECT_ID(N'tempdb..' + QUOTENAME(@table_name))))
    AND (@table_owner IS NULL OR (@fUsePattern = 1 AND s.name LIKE @table_owner) OR s.name = @table_owner)
    AND (@column_name IS NULL OR (@fUsePattern = 1 AND c.name LIKE @column_name) OR c.name = @column_name)
ORDER BY 2, 3, 17
