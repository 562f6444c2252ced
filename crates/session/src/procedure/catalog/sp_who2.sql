-- @loginame nvarchar(128) = NULL
SELECT CAST(s.session_id AS char(5)) AS SPID, CAST(s.status AS nvarchar(30)) AS Status, CAST(s.login_name AS nvarchar(128)) AS Login, CAST(ISNULL(s.host_name, N'  .') AS nvarchar(128)) AS HostName,
    CAST(CASE WHEN r.blocking_session_id > 0 THEN CAST(r.blocking_session_id AS varchar(5)) ELSE '  .' END AS char(5)) AS BlkBy, CAST(DB_NAME(s.database_id) AS nvarchar(128)) AS DBName,
    CAST(ISNULL(r.command, N'AWAITING COMMAND') AS nvarchar(16)) AS Command, CAST(s.cpu_time AS varchar(30)) AS CPUTime, CAST(s.reads + s.writes AS varchar(30)) AS DiskIO,
    CAST(CONVERT(varchar(5), s.last_request_start_time, 101) + ' ' + CONVERT(varchar(8), s.last_request_start_time, 108) AS varchar(48)) AS LastBatch,
    CAST(ISNULL(s.program_name, N'') AS nvarchar(128)) AS ProgramName, CAST(s.session_id AS char(5)) AS SPID, CAST('0' AS char(5)) AS REQUESTID
FROM sys.dm_exec_sessions AS s
LEFT JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id
WHERE @loginame IS NULL OR s.login_name = @loginame OR CAST(s.session_id AS nvarchar(128)) = @loginame OR (@loginame = N'active' AND r.session_id IS NOT NULL)
ORDER BY s.session_id
