-- @data_type int = 0, @ODBCVer tinyint = 2
SELECT CAST(ty.name AS nvarchar(128)) AS TYPE_NAME, CAST({data_type} AS smallint) AS DATA_TYPE, CAST(ty.digits AS int) AS [PRECISION],
    CAST(ty.prefix AS varchar(32)) AS LITERAL_PREFIX, CAST(ty.suffix AS varchar(32)) AS LITERAL_SUFFIX, CAST(ty.params AS varchar(32)) AS CREATE_PARAMS,
    CAST(ty.is_nullable AS smallint) AS NULLABLE, CAST(ty.is_case_sensitive AS smallint) AS CASE_SENSITIVE, CAST(ty.searchable AS smallint) AS SEARCHABLE,
    CAST(ty.is_unsigned AS smallint) AS UNSIGNED_ATTRIBUTE, CAST(ty.is_money AS smallint) AS MONEY, CAST(ty.is_auto AS smallint) AS AUTO_INCREMENT,
    CAST(ty.name AS nvarchar(128)) AS LOCAL_TYPE_NAME, CAST(ty.least_scale AS smallint) AS MINIMUM_SCALE, CAST(ty.most_scale AS smallint) AS MAXIMUM_SCALE,
    CAST(ty.sql_type AS smallint) AS SQL_DATA_TYPE, CAST(ty.sub AS smallint) AS SQL_DATETIME_SUB, CAST(ty.radix AS int) AS NUM_PREC_RADIX,
    CAST(NULL AS smallint) AS INTERVAL_PRECISION, CAST(ty.usertype AS smallint) AS USERTYPE
FROM {types}
WHERE @data_type = 0 OR {data_type} = @data_type
ORDER BY 2, 12, 11, 20
