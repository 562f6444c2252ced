//! Statistics in the catalog: their names and columns. Their contents are in memory only
//! ([`statistics`](crate::statistics)); histograms of attached databases stay as they are until
//! their statistics, table or column is dropped.
//!
//! ```text
//! sysidxstats     type 0 and an id above 0        their name; automatic ones begin with _WA_Sys_
//! sysiscols       their columns
//! sysobjvalues    class 60: the histogram of another product
//! ```
//!
//! Locks: a statement that creates statistics reads the table under Sch-S, so that readers and
//! writers go on, and holds METADATA X for the statistics of the table: two open transactions never
//! have rows of the same table's statistics. A drop takes Sch-M, as other DDL.

use extentdb_base::sync::{Arc, lock};
use extentdb_base::{ObjectId, Resource};
use extentdb_catalog::table::describe::{StatisticsDefinition, SystemRows, add_statistics};
use extentdb_txn::lock::LockMode;

use crate::catalog::system_table::{Cells, byte, int, number, text};
use crate::catalog::{DeferredChange, Storage, Table, TableColumn};
use crate::error::invalid::verify_name;
use crate::error::{Error, Unsupported};
use crate::session::{Session, StatementContext};
use crate::statistics::Statistics;
use crate::statistics::target::{StatisticsScan, Target};

/// `sysobjvalues.valclass` of histograms.
pub(crate) const STATISTICS: u8 = 60;
/// Prefix of the names of automatic statistics.
const AUTOMATIC: &str = "_WA_Sys_";
/// Columns of statistics, as of an index.
const COLUMNS_MAX: usize = 16;
/// Columns of `sysiscols`, `sysidxstats` and `sysobjvalues`.
const ISCOLS_INDEX: usize = 1;
const ISCOLS_COLUMN: usize = 4;
const IDXSTATS_ID: usize = 1;
const IDXSTATS_NAME: usize = 2;
const IDXSTATS_TYPE: usize = 6;

/// New statistics.
#[derive(Clone, Debug)]
pub struct StatisticsSpec {
    /// Name, that no index or statistics of the table has; 1 to 128 UTF-16 units.
    pub name: String,
    /// Names of the columns; the histogram is about the first one.
    pub columns: Vec<String>,
    /// How much of the table is read.
    pub scan: StatisticsScan,
}

impl StatisticsSpec {
    /// Statistics on some columns.
    pub fn new(name: &str, columns: &[&str]) -> StatisticsSpec {
        StatisticsSpec {
            name: name.to_owned(),
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
            scan: StatisticsScan::default(),
        }
    }
}

impl Session {
    /// CREATE STATISTICS: the catalog gets their name, and they are built.
    ///
    /// # Errors
    /// The name is taken, there is no such column, its type has no order, or there are none or more
    /// than 16.
    pub fn create_statistics(
        &mut self,
        table: &Arc<Table>,
        spec: &StatisticsSpec,
    ) -> Result<Arc<Statistics>, Error> {
        self.statement("CREATE STATISTICS", |context| {
            verify_name("statistics", &spec.name)?;
            context.lock_table(table, LockMode::SchS)?;
            let storage = table.storage();
            let columns = spec.numbers(&storage)?;
            let target = context.add_statistics(table, &storage, &spec.name, columns, false)?;
            context.build_target(table, &storage, &target, spec.scan)
        })
    }

    /// UPDATE STATISTICS: builds those of an index, or those with this name, or all of a table.
    ///
    /// # Errors
    /// The table has none with this name.
    pub fn update_statistics(
        &mut self,
        table: &Arc<Table>,
        name: Option<&str>,
        scan: StatisticsScan,
    ) -> Result<(), Error> {
        self.statement("UPDATE STATISTICS", |context| {
            context.lock_table(table, LockMode::SchS)?;
            let storage = table.storage();
            let mut targets = context.statistics_targets(table, &storage)?;
            if let Some(name) = name {
                targets.retain(|target| target.name.eq_ignore_ascii_case(name));
                if targets.is_empty() {
                    return Err(StatementContext::no_statistics(table, name));
                }
            }
            for target in &targets {
                context.build_target(table, &storage, target, scan)?;
            }
            Ok(())
        })
    }

    /// DROP STATISTICS, automatic ones, too; those of an index go with the index.
    ///
    /// # Errors
    /// The table has none with this name, or they are those of an index.
    pub fn drop_statistics(&mut self, table: &Arc<Table>, name: &str) -> Result<(), Error> {
        self.statement("DROP STATISTICS", |context| {
            let storage = context.lock_definition(table)?;
            context.lock_statistics(table)?;
            let _ddl = lock(&context.db().ddl);
            if storage.index(name).is_some() || storage.disabled(name).is_some() {
                return Err(Unsupported::StatisticsOfIndex { name: name.to_owned() }.into());
            }
            let found = context.described_statistics(table, name)?;
            let id = found.ok_or_else(|| StatementContext::no_statistics(table, name))?;
            let key = [int(table.id().0), int(id)];
            context.delete_where(
                "sysobjvalues",
                &[byte(STATISTICS), key[0].clone(), key[1].clone()],
            )?;
            context.delete_where("sysidxstats", &key)?;
            context.delete_where("sysiscols", &key)?;
            context.defer_change(DeferredChange::StatisticsDropped { table: table.clone(), id });
            Ok(())
        })
    }
}

impl StatisticsSpec {
    /// Numbers of the columns in the table.
    fn numbers(&self, storage: &Storage) -> Result<Vec<usize>, Error> {
        if !(1..=COLUMNS_MAX).contains(&self.columns.len()) {
            return Err(Unsupported::StatisticsColumnCount { columns: self.columns.len() }.into());
        }
        let mut numbers = Vec::new();
        for name in &self.columns {
            let is_it = |column: &TableColumn| column.name.eq_ignore_ascii_case(name);
            let number = storage.columns.iter().position(is_it);
            let number = number.ok_or_else(|| Unsupported::NoColumn { column: name.clone() })?;
            if numbers.contains(&number) {
                return Err(Unsupported::ColumnTwiceInIndex { column: name.clone() }.into());
            }
            numbers.push(number);
        }
        Ok(numbers)
    }
}

impl StatementContext<'_> {
    /// From here to the end of the transaction no other one changes the rows of the catalog about
    /// the statistics of the table.
    fn lock_statistics(&self, table: &Table) -> Result<(), Error> {
        let resource = Resource::Metadata { class: STATISTICS.into(), id: table.id().0.into() };
        self.lock(resource, LockMode::X, None)
    }

    /// Automatic statistics about a column, new in the catalog; `None` where its type has no order.
    /// A database that is read only gets none in the catalog.
    pub(crate) fn automatic_target(
        &mut self,
        table: &Arc<Table>,
        storage: &Storage,
        column: usize,
    ) -> Result<Option<Target>, Error> {
        let Some(id) = storage.columns.get(column).map(|column| column.id) else {
            return Ok(None);
        };
        let name = automatic_name(id, table.id());
        let columns = vec![column];
        let target = Target {
            id: 0,
            name: name.clone(),
            columns: columns.clone(),
            index: None,
        };
        if !target.has_order(storage) {
            return Ok(None);
        }
        if self.db().is_read_only() {
            return Ok(Some(Target { id: -id, ..target }));
        }
        self.add_statistics(table, storage, &name, columns, true).map(Some)
    }

    /// Gives the catalog the name of new statistics.
    fn add_statistics(
        &mut self,
        table: &Arc<Table>,
        storage: &Storage,
        name: &str,
        columns: Vec<usize>,
        is_automatic: bool,
    ) -> Result<Target, Error> {
        let mut target = Target { id: 0, name: name.to_owned(), columns, index: None };
        self.verify_ordered(storage, &target)?;
        self.lock_statistics(table)?;
        let _ddl = lock(&self.db().ddl);
        if self.is_name_taken(table, name)? {
            return Err(Error::Exists { name: name.to_owned() });
        }
        target.id = self.free_statistics_id(table)?;
        let ids = target.columns.iter().filter_map(|at| Some(storage.columns.get(*at)?.id));
        let mut rows = SystemRows::new();
        add_statistics(
            &StatisticsDefinition {
                table: table.id(),
                id: target.id,
                name,
                columns: &ids.collect::<Vec<_>>(),
                is_automatic,
            },
            &mut rows,
        );
        let change = DeferredChange::StatisticsCreated { table: table.clone(), id: target.id };
        self.defer_change(change);
        self.insert_system_rows(&rows)?;
        Ok(target)
    }

    fn verify_ordered(&self, storage: &Storage, target: &Target) -> Result<(), Error> {
        for at in &target.columns {
            let alone = Target { columns: vec![*at], ..target.clone() };
            if !alone.has_order(storage) {
                let column = storage.columns.get(*at).map(|column| column.name.clone());
                let column = column.unwrap_or_default();
                return Err(Unsupported::TypeInStatistics { column }.into());
            }
        }
        Ok(())
    }

    /// Has an index or statistics of the table this name?
    fn is_name_taken(&self, table: &Table, name: &str) -> Result<bool, Error> {
        let rows = self.db().catalog.system("sysidxstats")?.rows(&[int(table.id().0)])?;
        Ok(rows.iter().any(|row| text(row.get(IDXSTATS_NAME)).eq_ignore_ascii_case(name)))
    }

    /// The least number from 2 on that no index and no statistics of the table have.
    fn free_statistics_id(&self, table: &Table) -> Result<i32, Error> {
        let rows = self.db().catalog.system("sysidxstats")?.rows(&[int(table.id().0)])?;
        let used: Vec<i64> =
            rows.iter().filter_map(|row| row.get(IDXSTATS_ID).and_then(number)).collect();
        let free = (2..).find(|id| !used.contains(&i64::from(*id)));
        Ok(free.unwrap_or(i32::MAX))
    }

    /// The id of statistics that are not those of an index.
    fn described_statistics(&self, table: &Table, name: &str) -> Result<Option<i32>, Error> {
        let rows = self.db().catalog.system("sysidxstats")?.rows(&[int(table.id().0)])?;
        let is_it = |row: &&Cells| {
            row.get(IDXSTATS_TYPE).and_then(number) == Some(0)
                && text(row.get(IDXSTATS_NAME)).eq_ignore_ascii_case(name)
        };
        let id = rows.iter().find(is_it).and_then(|row| row.get(IDXSTATS_ID).and_then(number));
        Ok(id.map(|id| id as i32).filter(|id| *id > 0))
    }

    /// Drops the statistics of a dropped column.
    ///
    /// # Errors [`Error::Dependent`]: they were created by a user, or belong to an index, perhaps a
    /// disabled one.
    pub(crate) fn drop_statistics(
        &mut self,
        table: &Table,
        column: &TableColumn,
    ) -> Result<(), Error> {
        table.statistics().forget_column(column.id);
        let id = int(table.id().0);
        for row in self.db().catalog.system("sysiscols")?.rows(std::slice::from_ref(&id))? {
            if row.get(ISCOLS_COLUMN).and_then(number) != Some(column.id.into()) {
                continue;
            }
            let own = row.get(ISCOLS_INDEX).and_then(number).unwrap_or(0) as i32;
            let described =
                self.db().catalog.system("sysidxstats")?.rows(&[id.clone(), int(own)])?;
            if let Some(described) = described.first() {
                verify_automatic(described, column)?;
                self.delete_where("sysobjvalues", &[byte(STATISTICS), id.clone(), int(own)])?;
                self.delete_where("sysidxstats", &[id.clone(), int(own)])?;
            }
            self.delete_where("sysiscols", &[id.clone(), int(own)])?;
        }
        Ok(())
    }
}

fn verify_automatic(described: &Cells, column: &TableColumn) -> Result<(), Error> {
    let name = text(described.get(IDXSTATS_NAME));
    let is_statistics = described.get(IDXSTATS_TYPE).and_then(number) == Some(0);
    if is_statistics && name.starts_with(AUTOMATIC) {
        Ok(())
    } else {
        Err(Error::Dependent { object: name, column: column.name.clone() })
    }
}

/// As SQL Server names them: by the column and the table, in hexadecimal digits.
fn automatic_name(column: i32, table: ObjectId) -> String {
    format!("{AUTOMATIC}{column:08X}_{:08X}", table.0)
}
