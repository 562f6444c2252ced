//! Databases of the server: `sys.databases`, `sys.database_mirroring`,
//! `sys.database_recovery_status`.

use std::collections::BTreeMap;

use extentdb_base::DatabaseId;
use extentdb_engine::{
    DatabaseInfo, DatabaseState, Options, RecoveryModel, SnapshotIsolationState, UserAccess,
};
use extentdb_types::{DateTime, Guid};

use crate::base::{RegisteredDatabase, datetime, page_verify, registered_databases};
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;

/// A database with what master and the database itself say of it.
pub(super) struct DatabaseItem<'a> {
    pub(super) info: DatabaseInfo,
    /// Its row in `sysdbreg`.
    pub(super) registered: RegisteredDatabase,
    /// Of one that is online.
    pub(super) collation: Option<String>,
    /// The same.
    pub(super) page_verify: Option<u8>,
    pub(super) version: u16,
    boot_level: Option<u16>,
    options: &'a Options,
}

impl DatabaseItem<'_> {
    pub(super) fn created(&self) -> DateTime {
        datetime(self.info.created.0, self.info.created.1)
    }

    /// That of the boot page, where it can be read.
    pub(super) fn compatibility_level(&self) -> u16 {
        let level = self.boot_level.unwrap_or_else(|| self.registered.compatibility_level.into());
        level.min(u8::MAX.into())
    }

    fn access(&self) -> (u8, &'static str) {
        match self.info.access {
            UserAccess::Multi => (0, "MULTI_USER"),
            UserAccess::Single => (1, "SINGLE_USER"),
            UserAccess::Restricted => (2, "RESTRICTED_USER"),
        }
    }

    fn state(&self) -> (u8, &'static str) {
        match self.info.state {
            DatabaseState::Online => (0, "ONLINE"),
            DatabaseState::Transition => (2, "RECOVERING"),
            DatabaseState::RecoveryPending(_) => (3, "RECOVERY_PENDING"),
            DatabaseState::Suspect(_) => (4, "SUSPECT"),
            DatabaseState::Offline => (6, "OFFLINE"),
        }
    }

    fn snapshot_isolation(&self) -> (u8, &'static str) {
        match self.info.snapshot_isolation {
            SnapshotIsolationState::Off => (0, "OFF"),
            SnapshotIsolationState::On => (1, "ON"),
            SnapshotIsolationState::InTransitionToOff => (2, "IN_TRANSITION_TO_OFF"),
            SnapshotIsolationState::InTransitionToOn => (3, "IN_TRANSITION_TO_ON"),
        }
    }

    /// tempdb keeps no more log than a restart needs, and it needs none.
    pub(super) fn recovery_model(&self) -> (u8, &'static str) {
        match self.options.recovery_model {
            RecoveryModel::Full if self.info.id != DatabaseId::TEMPDB => (1, "FULL"),
            _ => (3, "SIMPLE"),
        }
    }

    fn page_verify_desc(&self) -> Option<&'static str> {
        Some(match self.page_verify? {
            0 => "NONE",
            1 => "TORN_PAGE_DETECTION",
            _ => "CHECKSUM",
        })
    }

    fn target_recovery_seconds(&self) -> i64 {
        let target = self.options.target_recovery;
        target.map_or(0, |target| i64::try_from(target.as_secs()).unwrap_or(i64::MAX))
    }
}

/// All databases, by id.
pub(super) fn items<'s>(source: &Source<'s>) -> Result<Vec<DatabaseItem<'s>>, Error> {
    let mut registered: BTreeMap<u16, RegisteredDatabase> = registered_databases(source.instance)?;
    let item = |info: DatabaseInfo| {
        let model = source.instance.database_by_id(info.id).ok().and_then(|db| db.model().ok());
        DatabaseItem {
            registered: registered.remove(&info.id.0).unwrap_or_default(),
            collation: model.as_ref().and_then(|model| model.collation().name()),
            page_verify: model.as_ref().map(|model| page_verify(model)),
            version: model.as_ref().map_or(0, |model| model.boot().version),
            boot_level: model.as_ref().map(|model| model.boot().compatibility_level),
            options: &source.instance.options().database,
            info,
        }
    };
    Ok(source.databases().into_iter().map(item).collect())
}

/// `sys.databases`.
pub(super) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    rows.add(&absent(options(states(identity()))), items(source)?)
}

fn identity<'a>() -> Columns<DatabaseItem<'a>> {
    Columns::new()
        .put("name", |it: &DatabaseItem<'_>| (&it.info.name).into())
        .put("database_id", |it| it.info.id.0.into())
        .put("owner_sid", |it| it.registered.owner_sid().into())
        .put("create_date", |it| it.created().into())
        .put("compatibility_level", |it| it.compatibility_level().into())
        .put("collation_name", |it| it.collation.as_ref().into())
        .put("service_broker_guid", |it| it.registered.broker_guid.into())
        .put("physical_database_name", |it| (&it.info.name).into())
}

fn states<'a>(columns: Columns<DatabaseItem<'a>>) -> Columns<DatabaseItem<'a>> {
    columns
        .put("user_access", |it| it.access().0.into())
        .put("user_access_desc", |it| it.access().1.into())
        .put("is_read_only", |it| it.info.is_read_only.into())
        .put("state", |it| it.state().0.into())
        .put("state_desc", |it| it.state().1.into())
        .put("snapshot_isolation_state", |it| it.snapshot_isolation().0.into())
        .put("snapshot_isolation_state_desc", |it| it.snapshot_isolation().1.into())
        .put("is_read_committed_snapshot_on", |it| it.info.is_read_committed_snapshot.into())
        .put("recovery_model", |it| it.recovery_model().0.into())
        .put("recovery_model_desc", |it| it.recovery_model().1.into())
        .put("page_verify_option", |it| it.page_verify.into())
        .put("page_verify_option_desc", |it| it.page_verify_desc().into())
        .put("log_reuse_wait_desc", |_| "NOTHING".into())
        .put("containment_desc", |_| "NONE".into())
        .put("delayed_durability_desc", |_| "DISABLED".into())
        .put("catalog_collation_type_desc", |_| "DATABASE_DEFAULT".into())
        .zero(&["log_reuse_wait", "containment", "delayed_durability", "catalog_collation_type"])
        .zero(&["is_in_standby", "is_cleanly_shutdown"])
}

fn options<'a>(columns: Columns<DatabaseItem<'a>>) -> Columns<DatabaseItem<'a>> {
    columns
        .put("is_auto_create_stats_on", |it| it.options.statistics.auto_create.into())
        .put("is_auto_update_stats_on", |it| it.options.statistics.auto_update.into())
        .put("target_recovery_time_in_seconds", |it| it.target_recovery_seconds().into())
        .put("is_mixed_page_allocation_on", |it| it.options.mixed_pages.into())
        .zero(&["is_auto_close_on", "is_auto_shrink_on", "is_auto_create_stats_incremental_on"])
        .zero(&["is_auto_update_stats_async_on", "is_ansi_null_default_on", "is_ansi_nulls_on"])
        .zero(&["is_ansi_padding_on", "is_ansi_warnings_on", "is_arithabort_on"])
        .zero(&["is_concat_null_yields_null_on", "is_numeric_roundabort_on"])
        .zero(&["is_quoted_identifier_on", "is_recursive_triggers_on"])
        .zero(&["is_cursor_close_on_commit_on", "is_local_cursor_default", "is_trustworthy_on"])
        .zero(&["is_db_chaining_on", "is_parameterization_forced", "is_date_correlation_on"])
}

/// Features that the server does not have, and facts that only contained databases have.
fn absent<'a>(columns: Columns<DatabaseItem<'a>>) -> Columns<DatabaseItem<'a>> {
    columns
        .zero(&["is_supplemental_logging_enabled", "is_fulltext_enabled"])
        .zero(&["is_master_key_encrypted_by_server", "is_query_store_on", "is_published"])
        .zero(&["is_subscribed", "is_merge_published", "is_distributor", "is_sync_with_backup"])
        .zero(&["is_broker_enabled", "is_cdc_enabled", "is_encrypted"])
        .zero(&["is_honor_broker_priority_on", "is_memory_optimized_elevate_to_snapshot_on"])
        .zero(&["is_federation_member", "is_remote_data_archive_enabled"])
        .zero(&["is_temporal_history_retention_enabled", "is_result_set_caching_on"])
        .zero(&["is_accelerated_database_recovery_on", "is_tempdb_spill_to_remote_store"])
        .zero(&["is_stale_page_detection_on", "is_memory_optimized_enabled"])
        .zero(&["is_data_retention_enabled", "is_ledger_on", "is_change_feed_enabled"])
        .null(&["source_database_id", "replica_id", "group_database_id", "resource_pool_id"])
        .null(&["default_language_lcid", "default_language_name"])
        .null(&["default_fulltext_language_lcid", "default_fulltext_language_name"])
        .null(&["is_nested_triggers_on", "is_transform_noise_words_on"])
        .null(&["two_digit_year_cutoff"])
}

/// `sys.database_mirroring`: a row for each database, of which none is mirrored.
pub(super) fn mirroring(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("database_id", |it: &DatabaseInfo| it.id.0.into())
        .null(&["mirroring_guid", "mirroring_state", "mirroring_state_desc", "mirroring_role"])
        .null(&["mirroring_role_desc", "mirroring_role_sequence", "mirroring_safety_level"])
        .null(&["mirroring_safety_level_desc", "mirroring_safety_sequence"])
        .null(&["mirroring_partner_name", "mirroring_partner_instance"])
        .null(&["mirroring_witness_name", "mirroring_witness_state"])
        .null(&["mirroring_witness_state_desc", "mirroring_failover_lsn"])
        .null(&["mirroring_connection_timeout", "mirroring_redo_queue"])
        .null(&["mirroring_redo_queue_type", "mirroring_end_of_log_lsn"])
        .null(&["mirroring_replication_lsn"]);
    rows.add(&columns, source.databases())
}

/// What the boot page says of where a database comes from.
struct Family {
    database: DatabaseId,
    family: Option<Guid>,
    fork: Option<Guid>,
}

/// `sys.database_recovery_status`.
pub(super) fn recovery_status(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("database_id", |it: &Family| it.database.0.into())
        .put("database_guid", |it| it.fork.into())
        .put("family_guid", |it| it.family.into())
        .put("recovery_fork_guid", |it| it.fork.into())
        .null(&["last_log_backup_lsn", "first_recovery_fork_guid", "fork_point_lsn"]);
    let items = source.databases().into_iter().map(|info| {
        let model = source.instance.database_by_id(info.id).ok().and_then(|db| db.model().ok());
        Family {
            database: info.id,
            family: model.as_ref().map(|model| model.boot().family_guid),
            fork: model.as_ref().map(|model| model.boot().recovery_fork.guid),
        }
    });
    rows.add(&columns, items)
}
