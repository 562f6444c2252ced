--@language sysname = NULL
SELECT langid, dateformat, datefirst, upgrade, name, alias, months, shortmonths, days, lcid, msglangid
FROM sys.syslanguages WHERE @language IS NULL OR name = @language OR alias = @language;
