-- @objname nvarchar(776) = NULL, @updateusage varchar(5) = 'false', @mode varchar(11) = 'ALL', @oneresultset bit = 0
IF @objname IS NOT NULL
    SELECT CAST(OBJECT_NAME(OBJECT_ID(@objname)) AS nvarchar(128)) AS name,
        CAST(SUM(CASE WHEN p.index_id < 2 THEN p.row_count ELSE 0 END) AS char(20)) AS rows,
        CAST(CAST(SUM(p.reserved_page_count) * 8 AS varchar(15)) + ' KB' AS varchar(18)) AS reserved,
        CAST(CAST(SUM(CASE WHEN p.index_id < 2 THEN p.in_row_data_page_count + p.lob_used_page_count + p.row_overflow_used_page_count ELSE 0 END) * 8 AS varchar(15)) + ' KB' AS varchar(18)) AS data,
        CAST(CAST((SUM(p.used_page_count) - SUM(CASE WHEN p.index_id < 2 THEN p.in_row_data_page_count + p.lob_used_page_count + p.row_overflow_used_page_count ELSE 0 END)) * 8 AS varchar(15)) + ' KB' AS varchar(18)) AS index_size,
        CAST(CAST((SUM(p.reserved_page_count) - SUM(p.used_page_count)) * 8 AS varchar(15)) + ' KB' AS varchar(18)) AS unused
    FROM sys.dm_db_partition_stats AS p WHERE p.object_id = OBJECT_ID(@objname)
ELSE
BEGIN
    DECLARE @data bigint = (SELECT SUM(CAST(f.size AS bigint)) FROM sys.database_files AS f WHERE f.type = 0)
    DECLARE @log bigint = (SELECT SUM(CAST(f.size AS bigint)) FROM sys.database_files AS f WHERE f.type = 1)
    DECLARE @reserved bigint = (SELECT SUM(a.total_pages) FROM sys.allocation_units AS a)
    DECLARE @used bigint = (SELECT SUM(a.used_pages) FROM sys.allocation_units AS a)
    DECLARE @pages bigint = (SELECT SUM(a.data_pages) FROM sys.allocation_units AS a)
    SELECT CAST(DB_NAME() AS nvarchar(128)) AS database_name, CAST(CAST(CAST((@data + @log) * 8 / 1024.0 AS decimal(15, 2)) AS varchar(15)) + ' MB' AS varchar(18)) AS database_size, CAST(CAST(CAST((@data - @reserved) * 8 / 1024.0 AS decimal(15, 2)) AS varchar(15)) + ' MB' AS varchar(18)) AS [unallocated space]
    SELECT CAST(CAST(@reserved * 8 AS varchar(15)) + ' KB' AS varchar(18)) AS reserved, CAST(CAST(@pages * 8 AS varchar(15)) + ' KB' AS varchar(18)) AS data, CAST(CAST((@used - @pages) * 8 AS varchar(15)) + ' KB' AS varchar(18)) AS index_size, CAST(CAST((@reserved - @used) * 8 AS varchar(15)) + ' KB' AS varchar(18)) AS unused
END
