//! A heap and a clustered table that are read whole: row by row, in columnar batches, by many
//! threads, and beside a plain read of as many bytes.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use extentdb_base::sync::thread;
use extentdb_engine::{
    ColumnComparison, ColumnSpec, CompareOp, IndexSpec, Range, ScanSpec, Table, TableSpec,
};
use extentdb_io::DurabilityMode;
use extentdb_types::{DateTime, Datum, Decimal, SqlType};

use super::database::LATIN1;
use super::{DatabaseForm, Lab};
use crate::report::timed;

const LOADED_PER_COMMIT: i32 = 10_000;
const BATCH_ROWS: usize = 16 * 1024;
/// The columns that most readings are of: numbers, a datetime, a decimal.
const NUMBERS: [usize; 4] = [0, 2, 3, 4];
/// All columns.
const ALL: [usize; 7] = [0, 1, 2, 3, 4, 5, 6];
/// Of so many rows a comparison keeps one.
const KEPT_OF: i32 = 100;

/// A database with two tables of the same rows.
pub struct ScanLab {
    lab: Lab,
    /// `heap`, `clustered`.
    tables: Vec<Arc<Table>>,
    rows: i32,
}

/// How a table is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// Four values of each row through the callback of the row API.
    Rows,
    /// The same four columns as batches.
    Numbers,
    /// All seven columns.
    All,
    /// Four columns of one row in a hundred, chosen by a comparison.
    Few,
    /// No column: pages, slots and record heads are read, nothing is copied.
    Count,
}

impl ScanLab {
    /// Both tables with so many rows of about 150 bytes, in memory.
    ///
    /// # Errors
    /// The database cannot be created.
    pub fn create(parent: &Path, rows: i32) -> Result<ScanLab> {
        let bytes = 400 * rows as u64 + (64 << 20);
        let form = DatabaseForm {
            durability: DurabilityMode::DirectOnly,
            frames: (bytes / 8192) as usize,
            ..DatabaseForm::of([bytes])
        };
        let lab = Lab::create(parent, &form)?;
        let mut session = lab.db.session();
        let by_id = IndexSpec::primary_key("pk", &["id"]).clustered();
        let clustered = TableSpec::heap("clustered", columns()).clustered(by_id);
        let heap = session.create_table(&TableSpec::heap("heap", columns()))?;
        let clustered = session.create_table(&clustered)?;
        let tables = vec![heap, clustered];
        for table in &tables {
            for first in (0..rows).step_by(LOADED_PER_COMMIT as usize) {
                session.begin();
                for id in first..rows.min(first + LOADED_PER_COMMIT) {
                    session.insert(table, &row(id)?)?;
                }
                session.commit()?;
            }
        }
        drop(session);
        Ok(ScanLab { lab, tables, rows })
    }

    /// The tables.
    pub fn tables(&self) -> &[Arc<Table>] {
        &self.tables
    }

    /// Rows of each table.
    pub fn rows(&self) -> i32 {
        self.rows
    }

    /// Bytes of the pages of a table.
    pub fn bytes(&self, table: &Table) -> u64 {
        8192 * table.unit().counts().0.data as u64
    }

    /// Time of one reading by the session alone.
    ///
    /// # Errors
    /// A row cannot be read, or some are missing.
    pub fn read(&self, table: &Arc<Table>, reading: Reading) -> Result<Duration> {
        let mut session = self.lab.db.session();
        let (time, rows) = timed(|| match reading {
            Reading::Rows => self.by_rows(table),
            _ => with_spec(reading, |spec| {
                let mut scan = session.open_scan(table, spec)?;
                let mut rows = 0;
                while let Some(batch) = scan.next_batch(&mut session, BATCH_ROWS)? {
                    rows += batch.rows;
                    black_box(batch);
                }
                Ok(rows)
            }),
        });
        self.verify(rows?, reading)?;
        Ok(time)
    }

    /// Time of one reading by some threads.
    ///
    /// # Errors
    /// As of [`read`](Self::read).
    pub fn read_parallel(
        &self,
        table: &Arc<Table>,
        reading: Reading,
        threads: usize,
    ) -> Result<Duration> {
        let mut session = self.lab.db.session();
        session.begin();
        let (time, rows) = timed(|| {
            with_spec(reading, |spec| {
                let scan = session.open_parallel_scan(table, spec)?;
                let mut workers: Vec<_> = (0..threads).map(|_| scan.worker()).collect();
                thread::scope(|scope| {
                    let threads: Vec<_> = workers
                        .iter_mut()
                        .map(|worker| {
                            scope.spawn(move || {
                                let mut rows = 0;
                                while let Some(batch) = worker.next_batch(BATCH_ROWS)? {
                                    rows += batch.rows;
                                    black_box(batch);
                                }
                                Ok::<_, extentdb_engine::Error>(rows)
                            })
                        })
                        .collect();
                    let mut rows = 0;
                    for thread in threads {
                        rows += thread.join().ok().context("a worker panicked")??;
                    }
                    Ok(rows)
                })
            })
        });
        session.commit()?;
        self.verify(rows?, reading)?;
        Ok(time)
    }

    fn by_rows(&self, table: &Arc<Table>) -> Result<usize> {
        let mut session = self.lab.db.session();
        let mut rows = 0;
        match table.heap() {
            // All values of each row: a heap has no other callback.
            Some(_) => session.scan(table, &mut |_, row| {
                rows += 1;
                black_box(row);
                ControlFlow::Continue(())
            })?,
            None => session.visit(table, &Range::all("pk"), &mut |row| {
                rows += 1;
                for column in NUMBERS {
                    black_box(row.value(column)?);
                }
                Ok(ControlFlow::Continue(()))
            })?,
        }
        Ok(rows)
    }

    fn verify(&self, rows: usize, reading: Reading) -> Result<()> {
        let expected = match reading {
            Reading::Few => self.rows / KEPT_OF,
            _ => self.rows,
        };
        anyhow::ensure!(rows == expected as usize, "{rows} rows of {expected}");
        Ok(())
    }
}

fn with_spec<T>(reading: Reading, read: impl FnOnce(&ScanSpec<'_>) -> Result<T>) -> Result<T> {
    let kept = [ColumnComparison { column: 1, op: CompareOp::Equal, value: Datum::Int(7) }];
    let spec = match reading {
        Reading::All => ScanSpec::new(&ALL),
        Reading::Few => ScanSpec { comparisons: &kept, ..ScanSpec::new(&NUMBERS) },
        Reading::Count => ScanSpec::new(&[]),
        Reading::Rows | Reading::Numbers => ScanSpec::new(&NUMBERS),
    };
    read(&spec)
}

/// Time to read `bytes` bytes of memory by some threads, each its share, word by word.
///
/// # Errors
/// A thread panicked.
pub fn read_memory(bytes: u64, threads: usize) -> Result<Duration> {
    let words: Vec<u64> = (0..bytes / 8).collect();
    let (time, sum) = timed(|| {
        thread::scope(|scope| {
            let shares = words.chunks(words.len().div_ceil(threads));
            let sum = |words: &[u64]| words.iter().fold(0u64, |sum, word| sum.wrapping_add(*word));
            let threads: Vec<_> = shares.map(|share| scope.spawn(move || sum(share))).collect();
            let mut all = 0u64;
            for thread in threads {
                all = all.wrapping_add(thread.join().ok().context("a thread panicked")?);
            }
            Ok::<_, anyhow::Error>(all)
        })
    });
    black_box(sum?);
    Ok(time)
}

pub(super) fn columns() -> Vec<ColumnSpec> {
    let name = SqlType::VarChar { len: Some(40), collation: LATIN1 };
    vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("part", SqlType::Int).not_null(),
        ColumnSpec::new("amount", SqlType::BigInt),
        ColumnSpec::new("price", SqlType::Decimal { precision: 9, scale: 2 }),
        ColumnSpec::new("sold", SqlType::DateTime),
        ColumnSpec::new("name", name),
        ColumnSpec::new("remark", SqlType::Char { len: 60, collation: LATIN1 }),
    ]
}

pub(super) fn row(id: i32) -> Result<Vec<Datum<'static>>> {
    let price = Decimal::new(false, id as u128 % 1_000_000, 2).context("a price")?;
    let sold = DateTime::new(id % 40_000, id as u32 % 25_000_000).ok().context("a day")?;
    let name = SqlType::VarChar { len: Some(40), collation: LATIN1 };
    let remark = SqlType::Char { len: 60, collation: LATIN1 };
    let text = format!("name of {id}");
    let is_null = id % 16 == 5;
    Ok(vec![
        Datum::Int(id),
        Datum::Int(id % KEPT_OF),
        if is_null { Datum::Null } else { Datum::BigInt(i64::from(id) << 8) },
        Datum::Decimal(price),
        Datum::DateTime(sold),
        Datum::decode(&name, text.as_bytes())?.into_owned(),
        Datum::decode(&remark, format!("{text:60}").as_bytes())?.into_owned(),
    ])
}
