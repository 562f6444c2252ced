-- 
SELECT name AS SRV_NAME, CAST(provider AS nvarchar(128)) AS SRV_PROVIDERNAME, CAST(product AS nvarchar(128)) AS SRV_PRODUCT,
    data_source AS SRV_DATASOURCE, provider_string AS SRV_PROVIDERSTRING, location AS SRV_LOCATION, [catalog] AS SRV_CAT
FROM sys.servers ORDER BY name;
