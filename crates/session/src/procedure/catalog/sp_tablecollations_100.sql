-- @object nvarchar(4000)
SELECT c.column_id AS colid, c.name, CAST(COLLATIONPROPERTY(c.collation_name, 'tdscollation') AS binary(5)) AS tds_collation, c.collation_name AS collation
FROM sys.all_columns AS c
WHERE c.object_id = OBJECT_ID(CASE WHEN LEFT(@object, 1) = N'.' THEN STUFF(@object, 1, 1, N'') ELSE @object END)
ORDER BY c.column_id
