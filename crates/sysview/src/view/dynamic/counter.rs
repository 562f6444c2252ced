//! `sys.dm_os_performance_counters`: what the engine counts, under the names of the product.
//!
//! Counters "per second" are sums since the start; who reads them takes differences. A ratio is
//! shown as two counters, of which the second is the base.

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::sync::Arc;
use extentdb_engine::Database;

use super::log::percent;
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;

/// `cntr_type`: the value is what it is.
const RAW: i32 = 65_792;
/// A sum since the start.
const PER_SECOND: i32 = 272_696_576;
/// A ratio, and its base.
const RATIO: i32 = 537_003_264;
const RATIO_BASE: i32 = 1_073_939_712;
/// All instances together.
const TOTAL: &str = "_Total";

/// A counter with its value.
struct Counter {
    object: &'static str,
    name: &'static str,
    instance: String,
    value: u64,
    kind: i32,
}

fn counter(
    object: &'static str,
    instance: &str,
    (name, value, kind): (&'static str, u64, i32),
) -> Counter {
    Counter { object, name, instance: instance.to_owned(), value, kind }
}

/// `sys.dm_os_performance_counters`, `sys.sysperfinfo`.
pub(in crate::view) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("object_name", |it: &Counter| format!("SQLServer:{}", it.object).into())
        .put("counter_name", |it| it.name.into())
        .put("instance_name", |it| (&it.instance).into())
        .put("cntr_value", |it| it.value.into())
        .put("cntr_type", |it| it.kind.into());
    let databases = online(source);
    let mut counters = buffer_manager(source, &databases);
    counters.extend(databases.iter().flat_map(|(name, db)| of_database(name, db)));
    counters.extend(locks(source));
    counters.extend(general(source));
    counters.extend(versions(source));
    rows.add(&columns, counters)
}

/// Databases that are online, with their names.
fn online(source: &Source<'_>) -> Vec<(String, Arc<Database>)> {
    let open = |info: extentdb_engine::DatabaseInfo| {
        Some((info.name, source.instance.database_by_id(info.id).ok()?))
    };
    source.databases().into_iter().filter_map(open).collect()
}

fn buffer_manager(source: &Source<'_>, databases: &[(String, Arc<Database>)]) -> Vec<Counter> {
    let stats: Vec<_> = databases.iter().map(|(_, db)| db.pool().stats()).collect();
    let lookups: u64 = stats.iter().map(|stats| stats.lookups).sum();
    let reads: u64 = stats.iter().map(|stats| stats.page_reads).sum();
    // Of the memory as a whole, which all databases share.
    let memory = source.database.pool().memory().stats();
    let counters = [
        ("Buffer cache hit ratio", lookups.saturating_sub(reads), RATIO),
        ("Buffer cache hit ratio base", lookups, RATIO_BASE),
        ("Page lookups/sec", lookups, PER_SECOND),
        ("Page reads/sec", reads, PER_SECOND),
        ("Page writes/sec", stats.iter().map(|it| it.page_writes).sum(), PER_SECOND),
        ("Readahead pages/sec", stats.iter().map(|it| it.read_ahead_pages).sum(), PER_SECOND),
        ("Checkpoint pages/sec", stats.iter().map(|it| it.checkpoint_pages).sum(), PER_SECOND),
        ("Lazy writes/sec", stats.iter().map(|it| it.lazy_writes).sum(), PER_SECOND),
        ("Free list stalls/sec", memory.free_list_stalls, PER_SECOND),
        ("Database pages", memory.cached_pages, RAW),
        ("Target pages", memory.frames, RAW),
        ("Page life expectancy", memory.page_life_expectancy.as_secs(), RAW),
    ];
    counters.into_iter().map(|it| counter("Buffer Manager", "", it)).collect()
}

fn of_database(name: &str, database: &Database) -> Vec<Counter> {
    let log = database.log();
    let stats = log.stats();
    let pages: u64 = database.space().files().iter().map(|file| u64::from(file.pages())).sum();
    let used = log.used_bytes();
    let total = log.total_bytes();
    let counters = [
        ("Data File(s) Size (KB)", pages * (PAGE_BYTES as u64) / 1024, RAW),
        ("Log File(s) Size (KB)", total / 1024, RAW),
        ("Log File(s) Used Size (KB)", used / 1024, RAW),
        ("Percent Log Used", percent(used, total) as u64, RAW),
        ("Log Flushes/sec", stats.flushes, PER_SECOND),
        ("Log Flush Waits/sec", stats.flush_waits, PER_SECOND),
        ("Log Bytes Flushed/sec", stats.block_bytes, PER_SECOND),
        ("Log Growths", stats.growths, RAW),
    ];
    counters.into_iter().map(|it| counter("Databases", name, it)).collect()
}

fn locks(source: &Source<'_>) -> Vec<Counter> {
    let stats = source.database.locks().manager().stats();
    let counters = [
        ("Number of Deadlocks/sec", stats.deadlocks, PER_SECOND),
        ("Lock Timeouts/sec", stats.timeouts, PER_SECOND),
    ];
    let escalations = ("Table Lock Escalations/sec", stats.escalations, PER_SECOND);
    let of_locks = counters.into_iter().map(|it| counter("Locks", TOTAL, it));
    of_locks.chain([counter("Access Methods", "", escalations)]).collect()
}

fn general(source: &Source<'_>) -> Vec<Counter> {
    let sessions = source.sessions();
    let users = sessions.iter().filter(|it| source.facts.session(it.id()).is_some()).count();
    vec![counter("General Statistics", "", ("User Connections", users as u64, RAW))]
}

fn versions(source: &Source<'_>) -> Vec<Counter> {
    let versions = source.instance.versions();
    let pages = versions.store.reserved_pages;
    let counters = [
        ("Version Store Size (KB)", pages * (PAGE_BYTES as u64) / 1024, RAW),
        ("Version Store unit count", versions.store.units, RAW),
        ("Longest Transaction Running Time", versions.oldest_snapshot_age.as_secs(), RAW),
        ("Update conflict ratio", versions.update_conflicts, RATIO),
        ("Update conflict ratio base", versions.snapshot_updates, RATIO_BASE),
    ];
    counters.into_iter().map(|it| counter("Transactions", "", it)).collect()
}
