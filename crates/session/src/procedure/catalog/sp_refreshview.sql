--@viewname nvarchar(776)
IF OBJECTPROPERTY(OBJECT_ID(@viewname), 'IsView') = 0 RAISERROR(15165, 16, 1, @viewname);
