-- @objname nvarchar(776) = NULL
IF @objname IS NULL
BEGIN
    SELECT o.name AS Name, CAST(N'dbo' AS nvarchar(128)) AS Owner, CAST(LOWER(REPLACE(o.type_desc, N'_', N' ')) AS nvarchar(31)) AS Object_type
    FROM sys.all_objects AS o WHERE o.type <> 'S' AND o.type <> 'IT' ORDER BY 2, 3 DESC, 1
    SELECT t.name AS User_type, TYPE_NAME(t.system_type_id) AS Storage_type, t.max_length AS Length, CAST(TYPEPROPERTY(t.name, 'Precision') AS int) AS Prec, CAST(TYPEPROPERTY(t.name, 'Scale') AS int) AS Scale,
        CAST(CASE WHEN t.is_nullable = 1 THEN 'yes' ELSE 'no' END AS varchar(35)) AS Nullable, CAST(N'none' AS nvarchar(128)) AS Default_name, CAST(N'none' AS nvarchar(128)) AS Rule_name, t.collation_name AS Collation
    FROM sys.types AS t WHERE t.is_user_defined = 1 ORDER BY 1
    RETURN
END
DECLARE @id int = OBJECT_ID(@objname)
DECLARE @collation nvarchar(128) = CAST(SERVERPROPERTY('Collation') AS nvarchar(128))
DECLARE @type char(2) = (SELECT o.type FROM sys.all_objects AS o WHERE o.object_id = @id)
SELECT o.name AS Name, CAST(N'dbo' AS nvarchar(128)) AS Owner, CAST(LOWER(REPLACE(o.type_desc, N'_', N' ')) AS nvarchar(31)) AS Type, o.create_date AS Created_datetime
FROM sys.all_objects AS o WHERE o.object_id = @id
IF EXISTS (SELECT * FROM sys.all_columns AS c WHERE c.object_id = @id)
BEGIN
    SELECT c.name AS Column_name, TYPE_NAME(c.user_type_id) AS Type, CAST(CASE WHEN c.is_computed = 1 THEN 'yes' ELSE 'no' END AS varchar(35)) AS Computed, CAST(c.max_length AS int) AS Length,
        CAST(CASE WHEN c.system_type_id IN (48, 52, 56, 59, 60, 62, 106, 108, 122, 127, 41, 42, 43) THEN CAST(c.[precision] AS char(5)) ELSE '     ' END AS char(5)) AS Prec,
        CAST(CASE WHEN c.system_type_id IN (48, 52, 56, 60, 106, 108, 122, 127, 41, 42, 43) THEN CAST(c.scale AS char(5)) ELSE '     ' END AS char(5)) AS Scale,
        CAST(CASE WHEN c.is_nullable = 1 THEN 'yes' ELSE 'no' END AS varchar(35)) AS Nullable,
        CAST(CASE WHEN c.system_type_id NOT IN (165, 167, 173, 175) THEN '(n/a)' WHEN c.is_ansi_padded = 1 THEN 'no' ELSE 'yes' END AS varchar(35)) AS TrimTrailingBlanks,
        CAST(CASE WHEN c.system_type_id NOT IN (165, 167, 173, 175) THEN '(n/a)' WHEN c.is_nullable = 1 THEN 'yes' ELSE 'no' END AS varchar(35)) AS FixedLenNullInSource,
        c.collation_name AS Collation
    FROM sys.all_columns AS c WHERE c.object_id = @id ORDER BY c.column_id
    IF @type = 'U'
    BEGIN
        IF EXISTS (SELECT * FROM sys.identity_columns AS c WHERE c.object_id = @id)
            SELECT c.name AS [Identity], IDENT_SEED(@objname) AS Seed, IDENT_INCR(@objname) AS Increment, CAST(0 AS int) AS [Not For Replication] FROM sys.identity_columns AS c WHERE c.object_id = @id
        ELSE
            SELECT CAST(N'No identity column defined.' AS nvarchar(128)) AS [Identity], CAST(NULL AS numeric(38, 0)) AS Seed, CAST(NULL AS numeric(38, 0)) AS Increment, CAST(NULL AS int) AS [Not For Replication]
        SELECT ISNULL((SELECT MIN(c.name) FROM sys.columns AS c WHERE c.object_id = @id AND c.is_rowguidcol = 1), N'No rowguidcol column defined.') AS [RowGuidCol]
        SELECT MIN(d.name) AS Data_located_on_filegroup FROM sys.indexes AS i JOIN sys.data_spaces AS d ON d.data_space_id = i.data_space_id WHERE i.object_id = @id AND i.index_id < 2
        EXEC sp_helpindex @objname
        EXEC sp_helpconstraint @objname, 'nomsg'
    END
END
IF EXISTS (SELECT * FROM sys.parameters AS p WHERE p.object_id = @id)
    SELECT p.name AS Parameter_name, TYPE_NAME(p.user_type_id) AS Type, p.max_length AS Length, CAST(p.[precision] AS int) AS Prec, CAST(p.scale AS int) AS Scale, CAST(p.parameter_id AS int) AS Param_order, CAST(CASE WHEN p.system_type_id IN (35, 99, 167, 175, 231, 239) THEN @collation END AS nvarchar(128)) AS Collation
    FROM sys.parameters AS p WHERE p.object_id = @id ORDER BY p.parameter_id
