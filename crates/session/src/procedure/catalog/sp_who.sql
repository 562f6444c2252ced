-- @loginame nvarchar(128) = NULL
SELECT CAST(s.session_id AS smallint) AS spid, CAST(0 AS smallint) AS ecid, CAST(s.status AS nchar(30)) AS status, CAST(s.login_name AS nchar(128)) AS loginame,
    CAST(ISNULL(s.host_name, N'') AS nchar(128)) AS hostname, CAST(ISNULL(CAST(r.blocking_session_id AS varchar(5)), '0') AS char(5)) AS blk,
    CAST(DB_NAME(s.database_id) AS nchar(128)) AS dbname, CAST(ISNULL(r.command, N'AWAITING COMMAND') AS nchar(16)) AS cmd, CAST(0 AS int) AS request_id
FROM sys.dm_exec_sessions AS s
LEFT JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id
WHERE @loginame IS NULL OR s.login_name = @loginame OR CAST(s.session_id AS nvarchar(128)) = @loginame OR (@loginame = N'active' AND r.session_id IS NOT NULL)
ORDER BY 1
