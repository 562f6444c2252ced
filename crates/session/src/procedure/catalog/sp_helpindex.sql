-- @objname nvarchar(776)
DECLARE @id int = OBJECT_ID(@objname)
SELECT i.name AS index_name,
    CAST(CASE WHEN i.index_id = 1 THEN 'clustered' ELSE 'nonclustered' END + CASE WHEN i.is_unique = 1 THEN ', unique' ELSE '' END + CASE WHEN i.is_primary_key = 1 THEN ', primary key' ELSE '' END + CASE WHEN i.is_unique_constraint = 1 THEN ', unique key' ELSE '' END + ' located on ' + d.name AS varchar(210)) AS index_description,
    CAST(k.names AS nvarchar(2078)) AS index_keys
FROM sys.indexes AS i
JOIN sys.data_spaces AS d ON d.data_space_id = i.data_space_id
JOIN (SELECT ic.index_id, STRING_AGG(c.name + CASE WHEN ic.is_descending_key = 1 THEN N'(-)' ELSE N'' END, N', ') WITHIN GROUP (ORDER BY ic.key_ordinal) AS names
    FROM sys.index_columns AS ic
    JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
    WHERE ic.object_id = @id AND ic.key_ordinal > 0 GROUP BY ic.index_id) AS k ON k.index_id = i.index_id
WHERE i.object_id = @id AND i.index_id > 0
ORDER BY i.name
