--@server sysname = NULL, @optname varchar(35) = NULL, @show_topology varchar(1) = NULL
IF @server IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.servers WHERE name = @server)
BEGIN
    RAISERROR (N'The server ''%s'' does not exist. Use sp_helpserver to show available servers.', 16, 1, @server);
    RETURN;
END
SELECT name, data_source AS network_name, CAST('rpc,rpc out,use remote collation' AS varchar(70)) AS status,
    CAST(server_id AS char(4)) AS id, CAST(NULL AS sysname) AS collation_name, connect_timeout, query_timeout
FROM sys.servers WHERE @server IS NULL OR name = @server ORDER BY name;
