-- @table_name nvarchar(384) = NULL, @table_owner nvarchar(384) = NULL, @table_qualifier nvarchar(128) = NULL, @table_type varchar(100) = NULL, @fUsePattern bit = 1
IF @table_qualifier = N'%' AND @table_owner = N'' AND @table_name = N''
    SELECT d.name AS TABLE_QUALIFIER, CAST(NULL AS nvarchar(128)) AS TABLE_OWNER, CAST(NULL AS nvarchar(128)) AS TABLE_NAME, CAST(NULL AS varchar(32)) AS TABLE_TYPE, CAST(NULL AS varchar(254)) AS REMARKS
    FROM sys.databases AS d ORDER BY 1
ELSE IF @table_owner = N'%' AND @table_qualifier = N'' AND @table_name = N''
    SELECT CAST(NULL AS nvarchar(128)) AS TABLE_QUALIFIER, s.name AS TABLE_OWNER, CAST(NULL AS nvarchar(128)) AS TABLE_NAME, CAST(NULL AS varchar(32)) AS TABLE_TYPE, CAST(NULL AS varchar(254)) AS REMARKS
    FROM sys.schemas AS s ORDER BY 2
ELSE IF @table_type = '%' AND @table_owner = N'' AND @table_qualifier = N'' AND @table_name = N''
    SELECT CAST(NULL AS nvarchar(128)) AS TABLE_QUALIFIER, CAST(NULL AS nvarchar(128)) AS TABLE_OWNER, CAST(NULL AS nvarchar(128)) AS TABLE_NAME, CAST(v.name AS varchar(32)) AS TABLE_TYPE, CAST(NULL AS varchar(254)) AS REMARKS
    FROM (VALUES ('SYSTEM TABLE'), ('TABLE'), ('VIEW')) AS v (name) ORDER BY 4
ELSE
    SELECT CAST(DB_NAME() AS nvarchar(128)) AS TABLE_QUALIFIER, s.name AS TABLE_OWNER, o.name AS TABLE_NAME, CAST(k.name AS varchar(32)) AS TABLE_TYPE, CAST(NULL AS varchar(254)) AS REMARKS
    FROM sys.all_objects AS o
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    JOIN (VALUES ('U', 'TABLE'), ('V', 'VIEW')) AS k (type, name) ON k.type = o.type
    WHERE (@table_qualifier IS NULL OR DB_NAME() LIKE @table_qualifier)
        AND (@table_name IS NULL OR (@fUsePattern = 1 AND o.name LIKE @table_name) OR o.name = @table_name)
        AND (@table_owner IS NULL OR (@fUsePattern = 1 AND s.name LIKE @table_owner) OR s.name = @table_owner)
        AND (@table_type IS NULL OR CHARINDEX('''' + k.name + '''', UPPER(@table_type)) > 0)
    ORDER BY 4, 1, 2, 3
