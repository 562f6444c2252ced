-- @optname nvarchar(128) = NULL
DECLARE @version nvarchar(128) = CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128))
SELECT CAST(v.id AS int) AS [Index], CAST(v.name AS nvarchar(256)) AS Name, CAST(v.number AS int) AS Internal_Value, CAST(v.value AS nvarchar(512)) AS Character_Value
FROM (VALUES (1, N'ProductName', NULL, N'Microsoft SQL Server'),
    (2, N'ProductVersion', CAST(PARSENAME(@version, 4) AS int) * 65536, @version),
    (3, N'Language', 1033, N'English (United States)'), (4, N'Platform', NULL, N'NT x64'), (5, N'Comments', NULL, N'SQL'),
    (6, N'CompanyName', NULL, N'ExtentDB'), (7, N'FileDescription', NULL, N'SQL Server Windows NT - 64 Bit'), (8, N'FileVersion', NULL, @version),
    (9, N'InternalName', NULL, N'SQLSERVR'), (10, N'LegalCopyright', NULL, NULL), (11, N'LegalTrademarks', NULL, NULL),
    (12, N'OriginalFilename', NULL, N'SQLSERVR.EXE'), (13, N'PrivateBuild', NULL, NULL), (14, N'SpecialBuild', CAST(PARSENAME(@version, 2) AS int) * 65536, NULL)) AS v (id, name, number, value)
WHERE @optname IS NULL OR v.name = @optname
ORDER BY v.id
