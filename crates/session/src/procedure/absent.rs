//! Names of the product's system procedures that scripts use and that are not here: they are
//! refused as not supported. What the product itself no longer has, as sp_dboption, is not in it.

const NAMES: &str = "
sp_add_job sp_add_jobschedule sp_add_jobserver sp_add_jobstep sp_addlinkedserver
sp_addlinkedsrvlogin sp_addmessage sp_addumpdevice sp_altermessage sp_attach_db
sp_attach_single_file_db sp_audit_write sp_autostats sp_bindsession sp_catalogs
sp_certify_removable sp_change_users_login sp_clean_db_free_space sp_control_plan_guide
sp_create_plan_guide sp_create_removable sp_createstats sp_cycle_errorlog
sp_db_vardecimal_storage_format sp_dbfixedrolepermission sp_defaultlanguage
sp_delete_backuphistory sp_delete_database_backuphistory sp_delete_job sp_denylogin sp_depends
sp_describe_parameter_encryption sp_detach_db sp_dropdevice sp_dropextendedproc
sp_droplinkedsrvlogin sp_dropmessage sp_dropserver sp_enum_oledb_providers
sp_estimate_data_compression_savings sp_fulltext_catalog sp_fulltext_column sp_fulltext_database
sp_fulltext_service sp_fulltext_table sp_getbindtoken sp_grantlogin sp_help_fulltext_catalogs
sp_help_job sp_helpdevice sp_helpextendedproc sp_helplanguage sp_helplinkedsrvlogin sp_helpntgroup
sp_helpremotelogin sp_indexoption sp_invalidate_textptr sp_monitor sp_oacreate sp_oadestroy
sp_oageterrorinfo sp_oagetproperty sp_oamethod sp_oasetproperty sp_oastop sp_processmail
sp_procoption sp_readerrorlog sp_renamedb sp_resetstatus sp_revokelogin sp_send_dbmail
sp_sequence_get_range sp_server_diagnostics sp_serveroption sp_setnetname sp_settriggerorder
sp_start_job sp_stop_job sp_table_validation sp_tableoption sp_testlinkedserver sp_trace_create
sp_trace_setevent sp_trace_setfilter sp_trace_setstatus sp_validatelogins sp_xml_preparedocument
sp_xml_removedocument xp_cmdshell xp_create_subdir xp_dirtree xp_enumgroups xp_fileexist
xp_fixeddrives xp_instance_regwrite xp_logevent xp_loginconfig xp_logininfo xp_readerrorlog
xp_regwrite xp_sprintf xp_sqlmaint xp_sscanf xp_subdirs
";

/// Is it a procedure of the product, by its name in small letters?
pub(super) fn is_of_the_product(name: &str) -> bool {
    NAMES.split_whitespace().any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::is_of_the_product;

    #[test]
    fn names_of_users_are_not_of_the_product() {
        assert!(is_of_the_product("sp_addmessage"));
        assert!(!is_of_the_product("sp_dboption"));
        assert!(!is_of_the_product("sp_mine"));
    }
}
