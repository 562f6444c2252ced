--@name nvarchar(776), @namespace sysname = NULL
IF OBJECT_DEFINITION(OBJECT_ID(@name)) IS NULL RAISERROR(15165, 16, 1, @name);
