-- @spid1 int = NULL, @spid2 int = NULL
SELECT CAST(l.request_session_id AS smallint) AS spid, CAST(l.resource_database_id AS smallint) AS dbid,
    CAST(CASE WHEN l.resource_type = N'OBJECT' THEN l.resource_associated_entity_id ELSE 0 END AS int) AS ObjId, CAST(0 AS smallint) AS IndId,
    CAST(CASE l.resource_type WHEN N'DATABASE' THEN N'DB' WHEN N'OBJECT' THEN N'TAB' WHEN N'PAGE' THEN N'PAG' WHEN N'EXTENT' THEN N'EXT' WHEN N'METADATA' THEN N'MD' WHEN N'APPLICATION' THEN N'APP' ELSE LEFT(l.resource_type, 4) END AS nchar(4)) AS Type,
    CAST(l.resource_description AS nchar(32)) AS Resource, CAST(l.request_mode AS nvarchar(8)) AS Mode, CAST(l.request_status AS nvarchar(5)) AS Status
FROM sys.dm_tran_locks AS l
WHERE @spid1 IS NULL OR l.request_session_id = @spid1 OR l.request_session_id = @spid2
ORDER BY 1, 2, 3
