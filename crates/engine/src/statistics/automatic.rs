//! Statistics for a planner: found in memory, built when there are none or when they are stale.
//!
//! ```text
//! Session::statistics ── fresh ──────────────────────────────────────▶ at once
//!                     ── no threads, or own DDL on the way ──▶ built in the session
//!                     ── else ──▶ queue ──▶ background task: a session of its own, NOWAIT
//!                          └ waits, but not for longer than the timeout
//! ```
//!
//! The task also builds again what has become stale since, for tables whose statistics somebody
//! asked for. What it cannot build (a lock is held, a page is damaged) is left: the next request
//! tries again.

use std::time::Duration;

use extentdb_base::sync::{Arc, Weak};
use extentdb_txn::lock::{LockMode, Timeout};

use super::Statistics;
use super::kept::{Kept, TurnGuard};
use super::service::Request;
use super::target::{StatisticsScan, Target};
use crate::catalog::{Storage, Table};
use crate::database::Database;
use crate::error::{Error, Unsupported};
use crate::session::{Session, StatementContext};

/// Between two looks at the cancellation of a waiting session.
const WAIT_SLICE: Duration = Duration::from_millis(10);

impl Session {
    /// Statistics about all rows of a table and first of all about a column, by its number. When
    /// there are none, or too much has changed since they were built, they are built: the caller
    /// waits for that at most so long, and gets what there is. In a database without background
    /// threads the session builds them itself, however long that takes.
    ///
    /// `None`: there are none yet, the type of the column has no order, or
    /// [`auto_create`](crate::StatisticsOptions::auto_create) is off and nothing in the catalog is
    /// about the column.
    ///
    /// # Errors
    /// There is no such column, the session is cancelled, the table was dropped or cannot be read.
    pub fn statistics(
        &mut self,
        table: &Arc<Table>,
        column: usize,
        timeout: Duration,
    ) -> Result<Option<Arc<Statistics>>, Error> {
        let storage = table.storage();
        let columns = storage.columns.len();
        let missing = || Error::Columns { expected: columns, found: column };
        let id = storage.columns.get(column).ok_or_else(missing)?.id;
        let options = self.database().options.statistics;
        let kept = table.statistics().leading(&storage, id);
        let is_enough = |kept: &Arc<Kept>| {
            !options.auto_update || !table.statistics().is_stale(kept, options.threshold)
        };
        match kept {
            Some(kept) if is_enough(&kept) => Ok(Some(kept.statistics.clone())),
            _ => self.statement("STATISTICS", |context| {
                context.renew_statistics(table, column, timeout)
            }),
        }
    }

    /// What is in memory about an index, or about statistics, by the name of either; it is not
    /// built. Rows that have changed since are the second value.
    pub fn statistics_in_memory(
        &self,
        table: &Table,
        name: &str,
    ) -> Option<(Arc<Statistics>, u64)> {
        let kept = table.statistics().by_name(&table.storage(), name)?;
        let modifications = table.statistics().modifications(&kept);
        Some((kept.statistics.clone(), modifications))
    }
}

impl StatementContext<'_> {
    /// Has statistics built by the background task, or builds them.
    fn renew_statistics(
        &mut self,
        table: &Arc<Table>,
        column: usize,
        timeout: Duration,
    ) -> Result<Option<Arc<Statistics>>, Error> {
        let storage = table.storage();
        let Some(id) = storage.columns.get(column).map(|column| column.id) else {
            return Ok(None);
        };
        if self.db().wake_ups.has_threads() && self.changes().is_empty() {
            self.await_request((table.id(), id), timeout)?;
            let kept = table.statistics().leading(&table.storage(), id);
            return Ok(kept.map(|kept| kept.statistics.clone()));
        }
        self.build_leading(table, id)
    }

    fn await_request(&mut self, request: Request, timeout: Duration) -> Result<(), Error> {
        let service = &self.db().statistics;
        service.request(request);
        self.db().wake_ups.statistics.notify();
        let mut left = timeout;
        while !service.wait(request, left.min(WAIT_SLICE)) && !left.is_zero() {
            self.verify_not_cancelled()?;
            left = left.saturating_sub(WAIT_SLICE);
        }
        Ok(())
    }

    /// Builds statistics that are about a column first; of several in the catalog those with the
    /// lowest id. Without any, automatic ones are created.
    fn build_leading(
        &mut self,
        table: &Arc<Table>,
        column: i32,
    ) -> Result<Option<Arc<Statistics>>, Error> {
        self.lock_table(table, LockMode::SchS)?;
        let _turn = self.take_turn(table)?;
        let storage = table.storage();
        let options = self.db().options.statistics;
        let Some(number) = storage.columns.iter().position(|own| own.id == column) else {
            return Ok(None);
        };
        // Somebody else may have built them meanwhile.
        if let Some(kept) = table.statistics().leading(&storage, column)
            && !table.statistics().is_stale(&kept, options.threshold)
        {
            return Ok(Some(kept.statistics.clone()));
        }
        let mut targets = self.statistics_targets(table, &storage)?;
        targets.retain(|target| target.leads_with(number));
        let target = match targets.into_iter().min_by_key(|target| target.id) {
            Some(target) => target,
            None if options.auto_create => match self.automatic_target(table, &storage, number)? {
                Some(target) => target,
                None => return Ok(None),
            },
            None => return Ok(None),
        };
        let scan = StatisticsScan::Automatic;
        self.build_statistics(table, &storage, &target, scan).map(Some)
    }

    /// Builds the statistics of a target again.
    pub(crate) fn build_target(
        &mut self,
        table: &Arc<Table>,
        storage: &Arc<Storage>,
        target: &Target,
        scan: StatisticsScan,
    ) -> Result<Arc<Statistics>, Error> {
        let _turn = self.take_turn(table)?;
        self.build_statistics(table, storage, target, scan)
    }

    /// Waits until no other scan for statistics reads the table.
    fn take_turn<'t>(&self, table: &'t Table) -> Result<TurnGuard<'t>, Error> {
        loop {
            self.verify_not_cancelled()?;
            if let Some(turn) = table.statistics().turn.take(WAIT_SLICE) {
                return Ok(turn);
            }
        }
    }
}

impl Database {
    /// The same as [`Session::statistics`] without a session: what is in memory, at once when there
    /// is something. What is missing or stale is built by the background task; for what is missing
    /// the caller waits, but not for longer than `timeout`.
    pub fn statistics_of(
        &self,
        table: &Arc<Table>,
        column: usize,
        timeout: Duration,
    ) -> Option<Arc<Statistics>> {
        let storage = table.storage();
        let id = storage.columns.get(column)?.id;
        let options = self.options.statistics;
        let of_table = table.statistics();
        let kept = of_table.leading(&storage, id);
        let is_wanted = match &kept {
            Some(kept) => options.auto_update && of_table.is_stale(kept, options.threshold),
            None => options.auto_create,
        };
        if !is_wanted || !self.wake_ups.has_threads() {
            return kept.map(|kept| kept.statistics.clone());
        }
        let request = (table.id(), id);
        self.statistics.request(request);
        self.wake_ups.statistics.notify();
        if kept.is_none() {
            self.statistics.wait(request, timeout);
        }
        let kept = of_table.leading(&storage, id).or(kept);
        kept.map(|kept| kept.statistics.clone())
    }

    /// Builds statistics that sessions ask for, and those that are stale: one turn of the
    /// background task.
    ///
    /// # Errors
    /// The database is offline.
    pub fn maintain_statistics(&self) -> Result<(), Error> {
        self.verify_in_service()?;
        let own = || self.own.get().and_then(Weak::upgrade);
        while let Some((table, column)) = self.statistics.begin() {
            let table = self.catalog.table_by_id(table);
            if let Some((db, table)) = own().zip(table) {
                // Who asked goes on without.
                let _ = db.in_background(|context| context.build_leading(&table, column));
            }
            self.statistics.end();
        }
        if !self.options.statistics.auto_update {
            return Ok(());
        }
        for table in self.statistics.tables() {
            for kept in table.statistics().stale(self.options.statistics.threshold) {
                let Some(db) = own() else { return Ok(()) };
                let id = kept.statistics.id;
                if db.in_background(|context| context.build_again(&table, id)).is_err() {
                    table.statistics().postpone(&kept);
                }
            }
        }
        Ok(())
    }

    /// A statement in a session of its own, which waits for no lock.
    fn in_background<T>(
        self: &Arc<Self>,
        work: impl FnOnce(&mut StatementContext<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut session = self.try_session()?;
        session.set_lock_timeout(Timeout::NoWait);
        session.statement("STATISTICS", work)
    }
}

impl StatementContext<'_> {
    /// Builds statistics again by their id; forgets them when the catalog has them no more.
    fn build_again(&mut self, table: &Arc<Table>, id: i32) -> Result<(), Error> {
        self.lock_table(table, LockMode::SchS)?;
        let storage = table.storage();
        let targets = self.statistics_targets(table, &storage)?;
        match targets.iter().find(|target| target.id == id) {
            Some(target) => {
                self.build_target(table, &storage, target, StatisticsScan::Automatic).map(drop)
            }
            None => {
                table.statistics().forget(id);
                Ok(())
            }
        }
    }

    /// Refuses a name that no index or statistics of a table have.
    pub(crate) fn no_statistics(table: &Table, name: &str) -> Error {
        let table = table.name().to_owned();
        Unsupported::NoStatistics { table, name: name.to_owned() }.into()
    }
}
