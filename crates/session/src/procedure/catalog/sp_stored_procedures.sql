-- @sp_name nvarchar(390) = NULL, @sp_owner nvarchar(384) = NULL, @sp_qualifier nvarchar(128) = NULL, @fUsePattern bit = 1
SELECT CAST(DB_NAME() AS nvarchar(128)) AS PROCEDURE_QUALIFIER, s.name AS PROCEDURE_OWNER,
    CAST(o.name + CASE WHEN o.type = 'P' THEN N';1' ELSE N';0' END AS nvarchar(134)) AS PROCEDURE_NAME,
    CAST(-1 AS int) AS NUM_INPUT_PARAMS, CAST(-1 AS int) AS NUM_OUTPUT_PARAMS, CAST(-1 AS int) AS NUM_RESULT_SETS,
    CAST(NULL AS varchar(254)) AS REMARKS, CAST(2 AS smallint) AS PROCEDURE_TYPE
FROM sys.objects AS o
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
WHERE o.type IN ('P', 'FN', 'IF', 'TF')
    AND (@sp_qualifier IS NULL OR DB_NAME() = @sp_qualifier)
    AND (@sp_name IS NULL OR (@fUsePattern = 1 AND o.name LIKE @sp_name) OR o.name = @sp_name)
    AND (@sp_owner IS NULL OR (@fUsePattern = 1 AND s.name LIKE @sp_owner) OR s.name = @sp_owner)
ORDER BY 1, 2, 3
