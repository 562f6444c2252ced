//! Builds statistics: reads, sorts where that is needed, counts.

use extentdb_base::sync::Arc;
use extentdb_rowset::columnar::Vector;

use super::Statistics;
use super::collector::{Collected, Collector};
use super::plan::Plan;
use super::sorter::Sorter;
use super::target::{StatisticsScan, Target};
use super::{kept::Kept, key};
use crate::catalog::{Storage, Table};
use crate::dml::read::Range;
use crate::error::Error;
use crate::scan::cursor::Access;
use crate::scan::hints::ReadHints;
use crate::scan::spec::ScanSpec;
use crate::session::{Isolation, StatementContext};

/// Rows between two looks at whether the database closes.
const BATCH_ROWS: usize = 4096;

/// Keys of rows on their way to the collector.
struct Gathered {
    collector: Collector,
    /// Of rows that come in another order.
    sorter: Option<Sorter>,
    /// Rows that were read, also those that the sorter did not keep.
    rows: u64,
    key: Vec<u8>,
    ends: Vec<u16>,
    value: Vec<u8>,
}

impl Gathered {
    fn new(columns: usize, is_sorted: bool) -> Gathered {
        Gathered {
            collector: Collector::new(columns),
            sorter: (!is_sorted).then(|| Sorter::new(columns)),
            rows: 0,
            key: Vec::new(),
            ends: Vec::new(),
            value: Vec::new(),
        }
    }

    /// The next row. One whose key lies off it is left out: its value is protected by a lock that
    /// is not taken here.
    fn push(&mut self, columns: &[Vector], row: usize) {
        if columns.iter().any(|column| column.is_off_row(row)) {
            return;
        }
        self.key.clear();
        self.ends.clear();
        let mut bytes = 0;
        for column in columns {
            bytes += key::push(column, row, &mut self.value, &mut self.key);
            self.ends.push(self.key.len() as u16);
        }
        self.rows += 1;
        self.collector.add_value_bytes(bytes as u64);
        match &mut self.sorter {
            Some(sorter) => sorter.push(&self.key, &self.ends),
            None => self.collector.push(&self.key, &self.ends),
        }
    }

    fn finish(mut self) -> (Collected, u64) {
        if let Some(sorter) = self.sorter {
            sorter.drain(|key, ends| self.collector.push(key, ends));
        }
        (self.collector.finish(), self.rows)
    }
}

impl StatementContext<'_> {
    /// Builds statistics of a table that is locked Sch-S at least, and keeps them with it.
    pub(crate) fn build_statistics(
        &mut self,
        table: &Arc<Table>,
        storage: &Arc<Storage>,
        target: &Target,
        scan: StatisticsScan,
    ) -> Result<Arc<Statistics>, Error> {
        let changed_before = table.statistics().changed_rows();
        let plan = Plan::of(table, storage, target, scan)?;
        let mut gathered = self.gather(table, storage, target, &plan)?;
        let is_sampled = plan.sample.is_some() && gathered.rows > 0;
        if plan.sample.is_some() && !is_sampled {
            // No page of a small table was chosen.
            let whole = Plan { sample: None, ..plan };
            gathered = self.gather(table, storage, target, &whole)?;
        }
        let statistics = self.described(table, storage, target, gathered, is_sampled);
        let statistics = Arc::new(statistics);
        table.statistics().keep(Kept::new(statistics.clone(), changed_before));
        self.db().statistics.note(table);
        Ok(statistics)
    }

    fn gather(
        &mut self,
        table: &Arc<Table>,
        storage: &Arc<Storage>,
        target: &Target,
        plan: &Plan,
    ) -> Result<Gathered, Error> {
        let hints = ReadHints {
            isolation: Some(Isolation::ReadUncommitted),
            ..ReadHints::default()
        };
        let access = match &plan.index {
            Some(index) => Access::Range(Range { hints, ..Range::all(index.name()) }),
            None => Access::Table(hints),
        };
        let spec = ScanSpec {
            access,
            sample: plan.sample,
            ..ScanSpec::new(&target.columns)
        };
        let scan = self.open_scan(table, &spec)?;
        if !scan.is_of(storage) {
            return Err(Error::TableChanged { table: table.name().to_owned() });
        }
        let mut gathered = Gathered::new(target.columns.len(), plan.is_sorted);
        self.drain_scan(scan, BATCH_ROWS, &mut |context, batch| {
            context.db().verify_in_service()?;
            (0..batch.rows).for_each(|row| gathered.push(&batch.columns, row));
            Ok(())
        })?;
        Ok(gathered)
    }

    fn described(
        &self,
        table: &Table,
        storage: &Storage,
        target: &Target,
        gathered: Gathered,
        is_sampled: bool,
    ) -> Statistics {
        let (collected, read) = gathered.finish();
        let filtered = target.index.as_ref().filter(|index| index.filter().is_some());
        let rows = match filtered {
            _ if !is_sampled => read as f64,
            Some(index) => (index.tree().unit().counts().0.rows as f64).max(read as f64),
            None => (table.row_count() as f64).max(read as f64),
        };
        let scale = if collected.rows == 0 { 1.0 } else { rows / collected.rows as f64 };
        let column = |at: &usize| storage.columns.get(*at).map(|column| (column.id, column.ty));
        Statistics {
            id: target.id,
            name: target.name.clone(),
            columns: target.columns.iter().filter_map(column).collect(),
            is_filtered: filtered.is_some(),
            rows,
            rows_sampled: collected.rows,
            density: collected.densities(scale),
            average_key_bytes: collected.value_bytes as f64 / read.max(1) as f64,
            histogram: collected.into_histogram(scale),
            updated: self.now(),
        }
    }
}
