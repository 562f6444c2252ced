--@filename sysname = NULL
SELECT f.name, CAST(f.file_id AS smallint) AS fileid, f.physical_name AS filename,
    d.name AS filegroup,
    CONVERT(nvarchar(15), CAST(f.size AS bigint) * 8) + N' KB' AS size,
    CASE f.max_size WHEN -1 THEN N'Unlimited' ELSE CONVERT(nvarchar(15), CAST(f.max_size AS bigint) * 8) + N' KB' END AS maxsize,
    CASE f.is_percent_growth WHEN 1 THEN CONVERT(nvarchar(15), f.growth) + N'%' ELSE CONVERT(nvarchar(15), CAST(f.growth AS bigint) * 8) + N' KB' END AS growth,
    CASE f.type WHEN 1 THEN 'log only' ELSE 'data only' END AS usage
FROM sys.database_files AS f LEFT JOIN sys.data_spaces AS d ON d.data_space_id = f.data_space_id
WHERE @filename IS NULL OR f.name = @filename
ORDER BY f.file_id;
