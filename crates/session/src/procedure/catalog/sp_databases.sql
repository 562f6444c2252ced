-- 
SELECT d.name AS DATABASE_NAME, CAST(f.pages * 8 AS int) AS DATABASE_SIZE, CAST(NULL AS varchar(254)) AS REMARKS
FROM sys.databases AS d
JOIN (SELECT m.database_id, SUM(m.size) AS pages FROM sys.master_files AS m GROUP BY m.database_id) AS f ON f.database_id = d.database_id
ORDER BY 1
