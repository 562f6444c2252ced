--@resample char(8) = 'NO'
EXEC sp_msforeachtable N'UPDATE STATISTICS ?';
PRINT N'Statistics for all tables have been updated.';
