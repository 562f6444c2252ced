-- @pktable_name nvarchar(128) = NULL, @pktable_owner nvarchar(128) = NULL, @pktable_qualifier nvarchar(128) = NULL, @fktable_name nvarchar(128) = NULL, @fktable_owner nvarchar(128) = NULL, @fktable_qualifier nvarchar(128) = NULL
SELECT CAST(DB_NAME() AS nvarchar(128)) AS PKTABLE_QUALIFIER, ps.name AS PKTABLE_OWNER, p.name AS PKTABLE_NAME, pc.name AS PKCOLUMN_NAME,
    CAST(DB_NAME() AS nvarchar(128)) AS FKTABLE_QUALIFIER, fs.name AS FKTABLE_OWNER, f.name AS FKTABLE_NAME, fc.name AS FKCOLUMN_NAME,
    CAST(kc.constraint_column_id AS smallint) AS KEY_SEQ,
    CAST(CASE k.update_referential_action WHEN 0 THEN 1 WHEN 1 THEN 0 ELSE k.update_referential_action END AS smallint) AS UPDATE_RULE,
    CAST(CASE k.delete_referential_action WHEN 0 THEN 1 WHEN 1 THEN 0 ELSE k.delete_referential_action END AS smallint) AS DELETE_RULE,
    k.name AS FK_NAME, i.name AS PK_NAME, CAST(7 AS smallint) AS DEFERRABILITY
FROM sys.foreign_keys AS k
JOIN sys.foreign_key_columns AS kc ON kc.constraint_object_id = k.object_id
JOIN sys.objects AS p ON p.object_id = k.referenced_object_id
JOIN sys.schemas AS ps ON ps.schema_id = p.schema_id
JOIN sys.columns AS pc ON pc.object_id = kc.referenced_object_id AND pc.column_id = kc.referenced_column_id
JOIN sys.objects AS f ON f.object_id = k.parent_object_id
JOIN sys.schemas AS fs ON fs.schema_id = f.schema_id
JOIN sys.columns AS fc ON fc.object_id = kc.parent_object_id AND fc.column_id = kc.parent_column_id
JOIN sys.indexes AS i ON i.object_id = k.referenced_object_id AND i.index_id = k.key_index_id
WHERE (@pktable_name IS NULL OR p.name = @pktable_name)
    AND (@pktable_owner IS NULL OR ps.name = @pktable_owner)
    AND (@pktable_qualifier IS NULL OR DB_NAME() = @pktable_qualifier)
    AND (@fktable_name IS NULL OR f.name = @fktable_name)
    AND (@fktable_owner IS NULL OR fs.name = @fktable_owner)
    AND (@fktable_qualifier IS NULL OR DB_NAME() = @fktable_qualifier)
ORDER BY 5, 6, 7, 9
