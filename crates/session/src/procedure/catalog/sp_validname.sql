--@name sysname, @raise_error bit = 1
IF @name IS NULL OR DATALENGTH(@name) = 0
BEGIN
    IF @raise_error = 1
        RAISERROR (N'Name cannot be NULL.', 16, 1);
    RETURN;
END
