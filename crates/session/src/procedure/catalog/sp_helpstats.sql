--@objname nvarchar(776), @results nvarchar(5) = N'STATS'
IF NOT EXISTS (SELECT * FROM sys.stats AS s WHERE s.object_id = OBJECT_ID(@objname) AND (@results = N'ALL' OR s.user_created = 1 OR s.auto_created = 1))
BEGIN
    PRINT CASE @results WHEN N'ALL' THEN N'This object does not have any statistics or indexes.' ELSE N'This object does not have any statistics.' END;
    RETURN;
END
SELECT s.name AS statistics_name,
    CAST(STUFF((SELECT N', ' + COL_NAME(c.object_id, c.column_id) FROM sys.stats_columns AS c
        WHERE c.object_id = s.object_id AND c.stats_id = s.stats_id ORDER BY c.stats_column_id FOR XML PATH(''), TYPE).value('.', 'nvarchar(max)'), 1, 2, N'') AS nvarchar(2126)) AS statistics_keys
FROM sys.stats AS s
WHERE s.object_id = OBJECT_ID(@objname) AND (@results = N'ALL' OR s.user_created = 1 OR s.auto_created = 1)
ORDER BY s.name;
