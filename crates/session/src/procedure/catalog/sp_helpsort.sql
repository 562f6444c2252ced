--@dummy int = NULL
SELECT CAST(N'Latin1-General, case-insensitive, accent-sensitive, kanatype-insensitive, width-insensitive for Unicode Data, SQL Server Sort Order 52 on Code Page 1252 for non-Unicode Data' AS nvarchar(256)) AS [Server default collation];
