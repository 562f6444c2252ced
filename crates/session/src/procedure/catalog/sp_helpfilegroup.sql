--@filegroupname sysname = NULL
IF @filegroupname IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.filegroups WHERE name = @filegroupname)
BEGIN
    RAISERROR (N'The filegroup ''%s'' does not exist.', 16, 1, @filegroupname);
    RETURN;
END
SELECT g.name AS groupname, CAST(g.data_space_id AS smallint) AS groupid,
    (SELECT COUNT(*) FROM sys.database_files AS f WHERE f.data_space_id = g.data_space_id) AS filecount
FROM sys.filegroups AS g WHERE @filegroupname IS NULL OR g.name = @filegroupname ORDER BY g.name;
IF @filegroupname IS NOT NULL
    SELECT f.name AS file_in_group, CAST(f.file_id AS smallint) AS fileid, f.physical_name AS filename,
        CONVERT(nvarchar(15), CONVERT(bigint, f.size) * 8) + N' KB' AS size,
        CASE f.max_size WHEN -1 THEN N'Unlimited' ELSE CONVERT(nvarchar(15), CONVERT(bigint, f.max_size) * 8) + N' KB' END AS maxsize,
        CASE f.is_percent_growth WHEN 1 THEN CONVERT(nvarchar(15), f.growth) + N'%' ELSE CONVERT(nvarchar(15), CONVERT(bigint, f.growth) * 8) + N' KB' END AS growth
    FROM sys.database_files AS f JOIN sys.filegroups AS g ON g.data_space_id = f.data_space_id
    WHERE g.name = @filegroupname ORDER BY f.file_id;
