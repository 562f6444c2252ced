--@configname varchar(35) = NULL, @configvalue int = NULL
IF @configvalue IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.configurations WHERE name LIKE '%' + @configname + '%')
    RAISERROR(15123, 16, 1, @configname)
ELSE IF @configvalue IS NULL
    SELECT CAST(name AS nvarchar(35)) AS name, CAST(minimum AS int) AS minimum, CAST(maximum AS int) AS maximum, CAST(value AS int) AS config_value, CAST(value_in_use AS int) AS run_value
    FROM sys.configurations WHERE @configname IS NULL OR name LIKE '%' + @configname + '%' ORDER BY LOWER(name)
ELSE IF @configname <> 'show advanced options' AND NOT EXISTS (SELECT * FROM sys.configurations WHERE name LIKE '%' + @configname + '%' AND CAST(value AS int) = @configvalue)
    RAISERROR('sp_configure of %s is not supported in this version of ExtentDB.', 16, 1, @configname)
