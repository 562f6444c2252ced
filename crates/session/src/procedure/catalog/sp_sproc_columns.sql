-- @procedure_name nvarchar(390) = N'%', @procedure_owner nvarchar(384) = NULL, @procedure_qualifier nvarchar(128) = NULL, @column_name nvarchar(384) = NULL, @ODBCVer int = 2, @fUsePattern bit = 1
SELECT CAST(DB_NAME() AS nvarchar(128)) AS PROCEDURE_QUALIFIER, s.name AS PROCEDURE_OWNER,
    CAST(o.name + CASE WHEN o.type = 'P' THEN N';1' ELSE N';0' END AS nvarchar(134)) AS PROCEDURE_NAME,
    CAST(k.name AS nvarchar(128)) AS COLUMN_NAME,
    CAST(CASE WHEN c.parameter_id = 0 THEN 5 WHEN c.is_output = 1 THEN 2 ELSE 1 END AS smallint) AS COLUMN_TYPE,
    CAST({data_type} AS smallint) AS DATA_TYPE, u.name AS TYPE_NAME,
    {precision} AS [PRECISION],
    {length} AS LENGTH,
    CAST(CASE WHEN ty.most_scale IS NOT NULL THEN c.scale END AS smallint) AS SCALE,
    CAST(ty.radix AS smallint) AS RADIX, CAST(CASE WHEN c.parameter_id = 0 AND o.type = 'P' THEN 0 ELSE 1 END AS smallint) AS NULLABLE, CAST(NULL AS varchar(254)) AS REMARKS, CAST(NULL AS nvarchar(4000)) AS COLUMN_DEF,
    CAST(ty.sql_type AS smallint) AS SQL_DATA_TYPE, CAST(ty.sub AS smallint) AS SQL_DATETIME_SUB,
    CAST(CASE WHEN ty.id IN (167, 175, 231, 239, 165, 173) THEN CASE WHEN c.max_length = -1 THEN 0 ELSE c.max_length END WHEN ty.id IN (34, 35, 99) THEN ty.bytes END AS int) AS CHAR_OCTET_LENGTH,
    CAST(c.parameter_id AS int) AS ORDINAL_POSITION, CAST(CASE WHEN c.parameter_id = 0 AND o.type = 'P' THEN 'NO' ELSE 'YES' END AS varchar(254)) AS IS_NULLABLE,
--new    CAST(NULL AS nvarchar(128)) AS SS_TYPE_CATALOG_NAME,
--new    CAST(NULL AS nvarchar(128)) AS SS_TYPE_SCHEMA_NAME,
--new    CAST(NULL AS nvarchar(128)) AS SS_UDT_CATALOG_NAME,
--new    CAST(NULL AS nvarchar(128)) AS SS_UDT_SCHEMA_NAME,
--new    CAST(NULL AS nvarchar(4000)) AS SS_UDT_ASSEMBLY_TYPE_NAME,
--new    CAST(NULL AS nvarchar(128)) AS SS_XML_SCHEMACOLLECTION_CATALOG_NAME,
--new    CAST(NULL AS nvarchar(128)) AS SS_XML_SCHEMACOLLECTION_SCHEMA_NAME,
--new    CAST(NULL AS nvarchar(128)) AS SS_XML_SCHEMACOLLECTION_NAME,
    CAST(CASE WHEN c.parameter_id = 0 AND o.type = 'P' THEN ty.ss_not_null ELSE ty.ss END AS tinyint) AS SS_DATA_TYPE
FROM (
    SELECT object_id, parameter_id, name, system_type_id, user_type_id, max_length, [precision], scale, is_output FROM sys.parameters
    UNION ALL
    SELECT object_id, 0, N'', 56, 56, 4, 10, 0, 0 FROM sys.objects WHERE type = 'P'
) AS c
CROSS APPLY (SELECT CASE WHEN c.parameter_id = 0 THEN N'@RETURN_VALUE' ELSE c.name END AS name) AS k
JOIN sys.objects AS o ON o.object_id = c.object_id
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
JOIN sys.types AS u ON u.user_type_id = c.user_type_id
JOIN {types} ON ty.id = c.system_type_id AND ISNULL(ty.is_auto, 0) = 0
WHERE (@procedure_qualifier IS NULL OR DB_NAME() = @procedure_qualifier)
    AND ((@fUsePattern = 1 AND o.name LIKE @procedure_name) OR o.name = @procedure_name)
    AND (@procedure_owner IS NULL OR (@fUsePattern = 1 AND s.name LIKE @procedure_owner) OR s.name = @procedure_owner)
    AND (@column_name IS NULL OR (@fUsePattern = 1 AND k.name LIKE @column_name) OR k.name = @column_name)
ORDER BY 2, 3, 18
