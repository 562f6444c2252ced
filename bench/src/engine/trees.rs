//! A table with indexes in a database of its own, and clients that insert into it, read it,
//! change it.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use extentdb_engine::{ColumnSpec, IndexSpec, Range, Session, Table, TableSpec};
use extentdb_format::page::{PageHeader, PageType};
use extentdb_io::DurabilityMode;
use extentdb_types::{Datum, SqlType};

use super::database::{LATIN1, text_of};
use super::heap::PAGE_ROOM;
use super::together::{Start, together};
use super::{DatabaseForm, Lab};
use crate::workload::{Action, KeyOrder, TableKind, TreeWork};
use crate::workload::{GROUP, TEXT_CHARS};

const TEXT: SqlType = SqlType::Char { len: TEXT_CHARS, collation: LATIN1 };
/// The unique key, and the index over what is changed.
const KEY: &str = "t_key";
const SECOND: &str = "t_k";
/// Pages of user tables have headers with this index id, whatever their index.
const OF_USERS: u16 = 256;
/// Data files never grow meanwhile.
const FILE_BYTES: u64 = 256 << 20;
/// Rows that are loaded by one transaction.
const LOADED_PER_COMMIT: u32 = 1000;
/// Where `k` and `v` are among the columns.
const CHANGING_COLUMN: usize = 2;
const TEXT_COLUMN: usize = 3;
/// The new value of `k` in an update.
const MOVE: i32 = 1_000_000;

/// A table for some work, deleted with its database on drop.
pub struct TreeLab {
    lab: Lab,
    table: Arc<Table>,
    kind: TableKind,
    /// The next number for inserts in ascending order.
    next: AtomicU32,
}

/// Leaves of the tree that has the key.
#[derive(Clone, Copy, Debug)]
pub struct LeafFacts {
    /// Leaf pages of the index.
    pub leaves: u64,
    /// Bytes in use of what they hold, in percent, without the last leaf, which is on its way when
    /// keys ascend.
    pub fill: f64,
}

impl TreeLab {
    /// The kinds of tables that the engine makes.
    pub const KINDS: &[TableKind] = &[TableKind::Heap, TableKind::Clustered];

    /// Creates a table with its initial rows. Commits write the log without flushing it.
    ///
    /// # Errors
    /// The engine does not support such tables, or no room is left.
    pub fn create(parent: &Path, work: TreeWork) -> Result<TreeLab> {
        let form = DatabaseForm {
            durability: DurabilityMode::DirectOnly,
            ..DatabaseForm::of([FILE_BYTES])
        };
        let lab = Lab::create(parent, &form)?;
        let table = table_of(&mut lab.db.session(), work)?;
        let made = TreeLab { lab, table, kind: work.kind, next: AtomicU32::new(0) };
        made.load(work)?;
        made.lab.db.checkpoint()?;
        Ok(made)
    }

    fn load(&self, work: TreeWork) -> Result<()> {
        let mut session = self.lab.db.session();
        let mut row = row()?;
        for first in (0..work.rows).step_by(LOADED_PER_COMMIT as usize) {
            session.begin();
            for number in first..work.rows.min(first + LOADED_PER_COMMIT) {
                renumber(&mut row, work, number);
                session.insert(&self.table, &row)?;
            }
            session.commit()?;
        }
        Ok(())
    }

    /// Every client a thread and a session, all beginning at the same moment. Time to the end of
    /// the last one.
    ///
    /// # Errors
    /// A statement failed, or did not find its row.
    pub fn run(&self, work: TreeWork) -> Result<Duration> {
        together(work.clients, |client, start| self.run_as_one_client(work, client, start))
    }

    fn run_as_one_client(&self, work: TreeWork, client: u32, start: &Start<'_>) -> Result<()> {
        let mut session = self.lab.db.session();
        let mut row = row()?;
        start.wait();
        for first in (0..work.count).step_by(work.per_commit as usize) {
            session.begin();
            for turn in first..work.count.min(first + work.per_commit) {
                let number = match work.action {
                    Action::Insert(KeyOrder::Ascending) => {
                        self.next.fetch_add(1, Ordering::Relaxed)
                    }
                    _ => work.number_of(client, turn),
                };
                renumber(&mut row, work, number);
                self.act(&mut session, work, number, &row)?;
            }
            session.commit()?;
        }
        Ok(())
    }

    fn act(
        &self,
        session: &mut Session<'_>,
        work: TreeWork,
        number: u32,
        row: &[Datum<'_>],
    ) -> Result<()> {
        match work.action {
            Action::Insert(_) => {
                session.insert(&self.table, row)?;
            }
            Action::Select => {
                ensure!(
                    self.look(session, work.key_of(number), TEXT_COLUMN)? == 1,
                    "row {number} is missing"
                );
            }
            Action::Range => {
                let group = number / GROUP;
                let expected = GROUP.min(work.rows - group * GROUP);
                let found = self.look(session, group as i32, CHANGING_COLUMN)?;
                ensure!(found == expected, "group {group} has {found} rows, not {expected}");
            }
            Action::Update => self.change(session, work.key_of(number))?,
        }
        Ok(())
    }

    /// Reads a column of all rows whose key begins with a value.
    fn look(&self, session: &mut Session<'_>, first: i32, column: usize) -> Result<u32> {
        let key = [Datum::Int(first)];
        let mut found = 0;
        session.visit(&self.table, &Range::of(KEY, &key), &mut |row| {
            std::hint::black_box(row.value(column)?);
            found += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// Finds a row by its key and moves its `k`.
    fn change(&self, session: &mut Session<'_>, key: i32) -> Result<()> {
        let mut found = None;
        session.seek(&self.table, KEY, &[Datum::Int(key)], &mut |at, row| {
            found = Some((at, row));
            ControlFlow::Break(())
        })?;
        let Some((at, mut row)) = found else { bail!("no row has key {key}") };
        if let Datum::Int(k) = &mut row[CHANGING_COLUMN] {
            *k += MOVE;
        }
        session.update(&self.table, &at, &row)?;
        Ok(())
    }

    /// Reads the headers of all leaves that have the key, from the file, after a checkpoint. Only
    /// for tables with no other index.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn leaf_facts(&self) -> Result<LeafFacts> {
        self.lab.db.checkpoint()?;
        let file = std::fs::read(self.lab.folder().join("lab0.mdf"))?;
        let kind = match self.kind {
            TableKind::Heap => PageType::Index,
            TableKind::Clustered => PageType::Data,
        };
        let mut leaves = 0;
        let mut ended = 0;
        let mut used = 0;
        for page in file.as_chunks().0 {
            let header = PageHeader::of(page);
            if header.kind() == kind && header.level == 0 && header.index_id.get() == OF_USERS {
                leaves += 1;
                if !header.next().is_none() {
                    ended += 1;
                    used += PAGE_ROOM - u64::from(header.free_bytes.get());
                }
            }
        }
        Ok(LeafFacts {
            leaves,
            fill: 100.0 * used as f64 / (ended * PAGE_ROOM).max(1) as f64,
        })
    }
}

fn table_of(session: &mut Session<'_>, work: TreeWork) -> Result<Arc<Table>> {
    let ints = ["id", "g", "k"].map(|name| ColumnSpec::new(name, SqlType::Int).not_null());
    let columns = ints.into_iter().chain([ColumnSpec::new("v", TEXT).not_null()]).collect();
    let table = match work.kind {
        TableKind::Heap => {
            let table = session.create_table(&TableSpec::heap("t", columns))?;
            session.create_index(&table, &IndexSpec::new(KEY, work.key_columns()).unique())?;
            table
        }
        TableKind::Clustered => {
            let key = IndexSpec::new(KEY, work.key_columns()).unique();
            session.create_table(&TableSpec::heap("t", columns).clustered(key))?
        }
    };
    if work.has_second_index() {
        session.create_index(&table, &IndexSpec::new(SECOND, &["k"]))?;
    }
    Ok(table)
}

/// Values of a row, in column order.
fn row() -> Result<[Datum<'static>; 4]> {
    let zero = || Datum::Int(0);
    Ok([zero(), zero(), zero(), text_of(TEXT, &[b'x'; TEXT_CHARS as usize])?])
}

/// Makes it the row with this number.
fn renumber(row: &mut [Datum<'_>; 4], work: TreeWork, number: u32) {
    let ints = [work.key_of(number), (number / GROUP) as i32, number as i32];
    row.iter_mut().zip(ints).for_each(|(value, int)| *value = Datum::Int(int));
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn run(kind: TableKind, action: Action, clients: u32) -> LeafFacts {
        let folder = TempDir::new().unwrap();
        let rows = if matches!(action, Action::Insert(_)) { 0 } else { 2000 };
        let work = TreeWork {
            kind,
            action,
            clients,
            count: 2000 / clients,
            per_commit: 100,
            rows,
        };
        let lab = TreeLab::create(folder.path(), work).unwrap();
        assert!(lab.run(work).unwrap() > Duration::ZERO);
        lab.leaf_facts().unwrap()
    }

    #[test]
    fn rows_are_inserted_read_and_updated() {
        for action in
            [Action::Select, Action::Range, Action::Update, Action::Insert(KeyOrder::Random)]
        {
            for kind in TreeLab::KINDS {
                run(*kind, action, 2);
            }
        }
    }

    #[test]
    fn leaves_of_ascending_keys_are_counted_and_nearly_full() {
        let facts = run(TableKind::Heap, Action::Insert(KeyOrder::Ascending), 1);
        // An entry has a status, two keys of 4 and 8 bytes, and a slot.
        assert!((3..8).contains(&facts.leaves) && facts.fill > 50.0, "{facts:?}");
    }
}
