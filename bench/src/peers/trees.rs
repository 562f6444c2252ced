//! Peers do to their tables what our engine does to its own: the same keys in the same order, the
//! same columns, as many clients and as long transactions; each row is a statement of its own in a
//! procedure of the server. SQLite has no procedures and one writer: one statement does all of a
//! transaction, for one client.
//!
//! No commit waits for the device: PostgreSQL runs with `fsync=off`, SQLite with `synchronous=off`,
//! MariaDB writes its log with each commit and flushes it once a second.

use std::time::Duration;

use anyhow::Result;

use crate::workload::{Action, TableKind, TreeWork};

/// Buffers for everything.
pub(super) const MEMORY: u64 = 1 << 30;

/// A peer, and what it did.
#[derive(Clone, Debug)]
pub struct Trees {
    /// Its name and version.
    pub name: String,
    /// The shortest of its runs.
    done: Vec<(TreeWork, Duration)>,
}

/// A peer, and how long it took for the nonclustered indexes of a table.
#[derive(Clone, Debug)]
pub struct Builds {
    /// Its name and version.
    pub name: String,
    /// The shortest of its runs.
    pub time: Duration,
}

impl Trees {
    /// The time for this work.
    pub fn of(&self, work: TreeWork) -> Option<Duration> {
        self.done.iter().find(|(own, _)| *own == work).map(|(_, time)| *time)
    }

    /// Runs each piece of work and keeps the best time. Work that only reads uses the table of the
    /// previous work, if equal; inserts get an empty table for each run.
    pub(super) fn collect(
        name: String,
        works: impl IntoIterator<Item = TreeWork>,
        runs: u32,
        mut prepare: impl FnMut(TreeWork) -> Result<()>,
        mut run: impl FnMut(TreeWork) -> Result<Duration>,
    ) -> Result<Trees> {
        let mut done: Vec<(TreeWork, Duration)> = Vec::new();
        let mut last: Option<TreeWork> = None;
        for work in works {
            let mut best = Duration::MAX;
            for turn in 0..runs.max(1) {
                let is_there = match turn {
                    0 => last.is_some_and(|last| work.shares_table_with(last)),
                    _ => !matches!(work.action, Action::Insert(_)),
                };
                if !is_there {
                    prepare(work)?;
                }
                last = Some(work);
                best = best.min(run(work)?);
            }
            done.push((work, best));
        }
        Ok(Trees { name, done })
    }
}

/// Columns and the key, as a peer has them that stores rows by their primary key.
pub(super) fn key_clause(work: TreeWork) -> String {
    let key = work.key_columns().join(", ");
    match work.kind {
        TableKind::Heap => String::new(),
        TableKind::Clustered => format!(", primary key ({key})"),
    }
}

/// Statements for the indexes besides the primary key.
pub(super) fn index_statements(work: TreeWork) -> Vec<String> {
    let key = work.key_columns().join(", ");
    let unique =
        (work.kind == TableKind::Heap).then(|| format!("create unique index t_key on t ({key})"));
    let second = work.has_second_index().then(|| "create index t_k on t (k)".to_owned());
    unique.into_iter().chain(second).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::KeyOrder;

    fn work(action: Action, clients: u32) -> TreeWork {
        TreeWork {
            kind: TableKind::Heap,
            action,
            clients,
            count: 10,
            per_commit: 10,
            rows: 100,
        }
    }

    #[test]
    fn tables_are_created_when_the_work_needs_another_one() {
        let works = [
            work(Action::Insert(KeyOrder::Random), 1),
            work(Action::Select, 1),
            work(Action::Select, 2),
            work(Action::Update, 1),
            work(Action::Update, 2),
        ];
        let mut made = 0;
        let mut ran = 0;
        let prepare = |_| {
            made += 1;
            Ok(())
        };
        let run = |_| {
            ran += 1;
            Ok(Duration::from_millis(100 - ran))
        };
        let trees = Trees::collect("peer".to_owned(), works, 3, prepare, run).unwrap();
        // Three times for inserts, once for all selects, once for each update.
        assert_eq!((made, ran), (3 + 1 + 2, 15));
        assert_eq!(trees.of(works[0]), Some(Duration::from_millis(97)));
        assert_eq!(trees.of(work(Action::Range, 1)), None);
    }

    #[test]
    fn the_key_is_in_the_table_or_in_an_index() {
        let update = work(Action::Update, 1);
        assert_eq!(
            index_statements(update),
            ["create unique index t_key on t (id)", "create index t_k on t (k)"]
        );
        let clustered = TreeWork { kind: TableKind::Clustered, ..work(Action::Range, 1) };
        assert_eq!(key_clause(clustered), ", primary key (g, id)");
        assert!(index_statements(clustered).is_empty());
    }
}
