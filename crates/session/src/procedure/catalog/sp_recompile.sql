--@objname nvarchar(776)
PRINT N'Object ''' + @objname + N''' was successfully marked for recompilation.';
