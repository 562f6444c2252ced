//! Transactions: `sys.dm_tran_active_transactions`, `sys.dm_tran_session_transactions`,
//! `sys.dm_tran_database_transactions`,
//! `sys.dm_tran_active_snapshot_database_transactions`, `sys.dm_tran_version_store_space_usage`.

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{DatabaseId, Lsn, OwnerId, SessionId, XactId};
use extentdb_engine::{ActiveSnapshot, ActiveTransaction, SnapshotKind};
use extentdb_types::Decimal;

use crate::base::lsn_number;
use crate::columns::Columns;
use crate::error::Error;
use crate::facts::TransactionFacts;
use crate::rows::Rows;
use crate::source::Source;

/// The open transaction of a session.
struct Item {
    session: SessionId,
    transaction: TransactionFacts,
    open: i32,
}

fn items(source: &Source<'_>) -> Vec<Item> {
    let item = |session: SessionId| {
        let transaction = source.facts.transaction(session)?;
        let facts = source.facts.session(session).unwrap_or_default();
        Some(Item { session, transaction, open: facts.open_transaction_count })
    };
    source.sessions().iter().filter_map(|session| item(session.id())).collect()
}

/// `sys.dm_tran_active_transactions.transaction_type` and `transaction_state`.
const READ_WRITE: i32 = 1;
const ACTIVE: i32 = 2;

/// `sys.dm_tran_active_transactions`.
pub(in crate::view) fn active(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("transaction_id", |it: &Item| it.transaction.id.into())
        .put("name", |it| (&it.transaction.name).into())
        .put("transaction_begin_time", |it| it.transaction.began.into())
        .put("transaction_type", |_| READ_WRITE.into())
        .put("transaction_state", |_| ACTIVE.into())
        .zero(&["transaction_status", "transaction_status2", "dtc_state", "dtc_status"])
        .put("dtc_isolation_level", |_| (-1).into())
        .null(&["transaction_uow", "filestream_transaction_id"]);
    rows.add(&columns, items(source))
}

/// `sys.dm_tran_session_transactions`.
pub(in crate::view) fn of_sessions(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("session_id", |it: &Item| it.session.0.into())
        .put("transaction_id", |it| it.transaction.id.into())
        .put("transaction_descriptor", |it| it.transaction.descriptor.to_le_bytes()[..].into())
        .put("is_user_transaction", |it| it.transaction.is_users.into())
        .put("open_transaction_count", |it| it.open.into())
        .one(&["enlist_count", "is_local"])
        .zero(&["is_enlisted", "is_bound"]);
    rows.add(&columns, items(source))
}

/// A snapshot in use, how long, and the transaction that it is of.
struct SnapshotItem {
    snapshot: ActiveSnapshot,
    seconds: u64,
    transaction: i64,
}

/// `sys.dm_tran_active_snapshot_database_transactions`.
pub(in crate::view) fn snapshots(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("transaction_id", |it: &SnapshotItem| it.transaction.into())
        .put("transaction_sequence_num", |it| it.snapshot.number.0.into())
        .put("session_id", |it| it.snapshot.session.0.into())
        .put("is_snapshot", |it| (it.snapshot.kind == SnapshotKind::Transaction).into())
        .put("first_snapshot_sequence_num", |it| it.snapshot.number.0.into())
        .put("elapsed_time_seconds", |it| it.seconds.into())
        .zero(&["max_version_chain_traversed", "average_version_chain_traversed"])
        .null(&["commit_sequence_num"]);
    let now = source.instance.options().database.clock.monotonic();
    let items = source.instance.versions().snapshots.into_iter().map(|snapshot| SnapshotItem {
        seconds: now.saturating_sub(snapshot.began).as_secs(),
        transaction: source.facts.transaction(snapshot.session).map_or(0, |it| it.id),
        snapshot,
    });
    rows.add(&columns, items)
}

/// `sys.dm_tran_version_store_space_usage`: a row for each database.
pub(in crate::view) fn version_store(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("database_id", |it: &(DatabaseId, u64)| it.0.0.into())
        .put("reserved_page_count", |it| it.1.div_ceil(PAGE_BYTES as u64).into())
        .put("reserved_space_kb", |it| it.1.div_ceil(1024).into());
    let kept = source.instance.versions().store.bytes_by_database;
    let of = |id: DatabaseId| (id, kept.get(&id).copied().unwrap_or(0));
    rows.add(&columns, source.databases().into_iter().map(|info| of(info.id)))
}

/// A transaction with log records in a database.
struct InDatabase {
    database: DatabaseId,
    active: ActiveTransaction,
    id: i64,
}

/// `sys.dm_tran_database_transactions.database_transaction_state`: it has log records.
const HAS_LOG_RECORDS: i32 = 4;

/// The transaction of a session by its id in the database, which the locks that it holds tell; the
/// latter where it holds none.
pub(in crate::view) fn id_of(source: &Source<'_>, owner: OwnerId, xact: XactId) -> i64 {
    let session = source.instance.tasks().session_of(owner);
    let transaction = session.and_then(|session| source.facts.transaction(session));
    transaction.map_or(i64::from(xact.high) << 32 | i64::from(xact.low), |it| it.id)
}

/// `sys.dm_tran_database_transactions`. What is not counted for each transaction is NULL.
pub(in crate::view) fn in_databases(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("transaction_id", |it: &InDatabase| it.id.into())
        .put("database_id", |it| it.database.0.into())
        .put("database_transaction_type", |_| READ_WRITE.into())
        .put("database_transaction_state", |_| HAS_LOG_RECORDS.into())
        .put("database_transaction_begin_lsn", |it| number_of(it.active.begin).into())
        .put("database_transaction_last_lsn", |it| number_of(it.active.last).into())
        .zero(&["database_transaction_status", "database_transaction_status2"])
        .zero(&["database_transaction_replicate_record_count"])
        .null(&["database_transaction_begin_time", "database_transaction_log_record_count"])
        .null(&["database_transaction_log_bytes_used"])
        .null(&["database_transaction_log_bytes_reserved"])
        .null(&["database_transaction_log_bytes_used_system"])
        .null(&["database_transaction_log_bytes_reserved_system"])
        .null(&["database_transaction_most_recent_savepoint_lsn"])
        .null(&["database_transaction_commit_lsn", "database_transaction_last_rollback_lsn"])
        .null(&["database_transaction_next_undo_lsn"]);
    for info in source.databases() {
        let Ok(database) = source.instance.database_by_id(info.id) else { continue };
        let locks = database.locks().locks();
        let items = database.active_transactions().into_iter().map(|active| {
            let own = locks.iter().find(|lock| lock.owner.xact == active.xact);
            let owner = own.map_or(OwnerId(0), |lock| lock.owner.id);
            InDatabase {
                database: info.id,
                active,
                id: id_of(source, owner, active.xact),
            }
        });
        rows.add(&columns, items)?;
    }
    Ok(())
}

fn number_of(lsn: Lsn) -> Option<Decimal> {
    lsn_number(lsn.vlf, lsn.block, lsn.slot)
}
