-- @dbname nvarchar(128) = NULL
SELECT d.name, CAST(CAST(CAST(f.pages / 128.0 AS decimal(11, 2)) AS nvarchar(10)) + N' MB' AS nvarchar(13)) AS db_size, CAST(SUSER_SNAME(d.owner_sid) AS nvarchar(128)) AS owner, CAST(d.database_id AS smallint) AS dbid,
    CAST(CONVERT(varchar(11), d.create_date, 100) AS nvarchar(11)) AS created,
    CAST(N'Status=' + d.state_desc + N', Updateability=' + CASE WHEN d.is_read_only = 1 THEN N'READ_ONLY' ELSE N'READ_WRITE' END + N', UserAccess=' + d.user_access_desc + N', Recovery=' + d.recovery_model_desc + N', Collation=' + d.collation_name AS nvarchar(600)) AS status,
    d.compatibility_level
FROM sys.databases AS d
JOIN (SELECT m.database_id, SUM(m.size) AS pages FROM sys.master_files AS m GROUP BY m.database_id) AS f ON f.database_id = d.database_id
WHERE @dbname IS NULL OR d.name = @dbname
ORDER BY d.name
IF @dbname IS NOT NULL
    SELECT CAST(m.name AS nchar(128)) AS name, CAST(m.file_id AS smallint) AS fileid, CAST(m.physical_name AS nchar(260)) AS filename, CAST(CASE WHEN m.type = 0 THEN N'PRIMARY' END AS nvarchar(128)) AS filegroup,
        CAST(CAST(CAST(m.size AS bigint) * 8 AS nvarchar(15)) + N' KB' AS nvarchar(18)) AS size,
        CAST(CASE WHEN m.max_size = -1 THEN N'Unlimited' ELSE CAST(CAST(m.max_size AS bigint) * 8 AS nvarchar(15)) + N' KB' END AS nvarchar(18)) AS maxsize,
        CAST(CASE WHEN m.is_percent_growth = 1 THEN CAST(m.growth AS nvarchar(15)) + N'%' ELSE CAST(CAST(m.growth AS bigint) * 8 AS nvarchar(15)) + N' KB' END AS nvarchar(18)) AS growth,
        CAST(CASE WHEN m.type = 1 THEN 'log only' ELSE 'data only' END AS varchar(9)) AS usage
    FROM sys.master_files AS m WHERE m.database_id = DB_ID(@dbname) ORDER BY m.file_id
