--@rootkey nvarchar(128), @key nvarchar(1000), @value_name nvarchar(500) = NULL, @value sql_variant = NULL OUTPUT, @no_output varchar(12) = NULL
RAISERROR (N'RegOpenKeyEx() returned error 2, ''The system cannot find the file specified.''', 1, 1);
