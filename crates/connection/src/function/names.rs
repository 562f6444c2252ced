//! Names of the product's built-in functions: one of them that is not here is refused as not
//! supported, any other name is message 195.

const NAMES: &str = "
abs acos app_name applock_mode applock_test approx_count_distinct approx_percentile_cont
approx_percentile_disc ascii asin assemblyproperty asymkey_id asymkeyproperty atan atn2 avg
binary_checksum bit_count cast ceiling cert_id certencoded certprivatekey certproperty
change_tracking_current_version change_tracking_is_column_in_mask change_tracking_min_valid_version
char charindex checksum checksum_agg choose coalesce col_length col_name collationproperty
columnproperty columns_updated compress concat concat_ws connectionproperty context_info convert
cos cot count count_big crypt_gen_random cume_dist current_date current_request_id
current_timestamp current_timezone current_timezone_id current_transaction_id current_user
cursor_status database_principal_id databaseproperty databasepropertyex datalength date_bucket
dateadd datediff datediff_big datefromparts datename datepart datetime2fromparts datetimefromparts
datetimeoffsetfromparts datetrunc day db_id db_name decompress decryptbyasymkey decryptbycert
decryptbykey decryptbykeyautoasymkey decryptbykeyautocert decryptbypassphrase degrees dense_rank
difference edge_id_from_parts encryptbyasymkey encryptbycert encryptbykey encryptbypassphrase
eomonth error_line error_message error_number error_procedure error_severity error_state eventdata
exp file_id file_idex file_name filegroup_id filegroup_name filegroupproperty fileproperty
filepropertyex filetablerootpath first_value floor format formatmessage fulltextcatalogproperty
fulltextserviceproperty generate_series get_bit get_filestream_transaction_context getansinull
getdate getfilenamespacepath getpathlocator getutcdate graph_id_from_edge_id graph_id_from_node_id
greatest grouping grouping_id has_dbaccess has_perms_by_name hashbytes host_id host_name
ident_current ident_incr ident_seed iif index_col indexkey_property indexproperty is_member
is_objectsigned is_rolemember is_srvrolemember isdate isjson isnull isnumeric json_array
json_modify json_object json_path_exists json_query json_value key_guid key_id key_name lag
last_value lead least left left_shift len log log10 loginproperty lower ltrim max min
min_active_rowversion month nchar newid newsequentialid node_id_from_parts ntile nullif
object_definition object_id object_id_from_edge_id object_id_from_node_id object_name
object_schema_name objectproperty objectpropertyex opendatasource openjson openquery openrowset
original_db_name original_login parse parsename patindex percent_rank percentile_cont
percentile_disc permissions pi power publishingservername pwdcompare pwdencrypt quotename radians
rand rank replace replicate reverse right right_shift round row_number rowcount_big rtrim schema_id
schema_name scope_identity serverproperty session_context session_id session_user sessionproperty
set_bit sign signbyasymkey signbycert sin smalldatetimefromparts soundex space sql_variant_property
sqrt square stats_date stdev stdevp str string_agg string_escape string_split stuff substring sum
suser_id suser_name suser_sid suser_sname switchoffset symkeyproperty sysdatetime sysdatetimeoffset
system_user sysutcdatetime tan tertiary_weights textptr textvalid timefromparts todatetimeoffset
translate trigger_nestlevel trim try_cast try_convert try_parse type_id type_name typeproperty
unicode update upper user user_id user_name var varp verifysignedbyasymkey verifysignedbycert
version xact_state year
";

/// Is it a function of the product?
pub fn is_function_of_the_product(name: &str) -> bool {
    NAMES.split_whitespace().any(|known| known.eq_ignore_ascii_case(name))
}
