//! Peers insert what our engine inserts: the same rows, as often committed, by as many clients,
//! each row a statement of its own in a procedure of the server, so that no protocol lies between.
//! SQLite has no procedures: one statement makes all rows of a transaction.

use std::time::Duration;

use anyhow::Result;

use crate::workload::InsertWork;

/// The result of a peer for one piece of work.
#[derive(Clone, Copy, Debug)]
pub struct Inserted {
    /// From the moment that all clients may begin to the end of the last one.
    pub time: Duration,
    /// Bytes of the table.
    pub bytes: u64,
}

/// A peer, and what it did.
#[derive(Clone, Debug)]
pub struct Inserts {
    /// Its name and version.
    pub name: String,
    /// The shortest of its runs.
    pub done: Vec<(InsertWork, Inserted)>,
}

impl Inserts {
    /// The result for this work.
    pub fn of(&self, work: InsertWork) -> Option<Inserted> {
        self.done.iter().find(|(own, _)| *own == work).map(|(_, done)| *done)
    }

    /// Runs each piece of work and keeps the best.
    pub(super) fn collect(
        name: String,
        works: impl IntoIterator<Item = InsertWork>,
        runs: u32,
        mut run: impl FnMut(InsertWork) -> Result<Inserted>,
    ) -> Result<Inserts> {
        let mut done: Vec<(InsertWork, Inserted)> = Vec::new();
        for work in works {
            if done.iter().any(|(own, _)| *own == work) {
                continue;
            }
            let mut best = run(work)?;
            for _ in 1..runs {
                let now = run(work)?;
                best = if now.time < best.time { now } else { best };
            }
            done.push((work, best));
        }
        Ok(Inserts { name, done })
    }
}

/// Seconds for `clients` clients to connect before they begin together. A late one would make the
/// server look slow.
pub(super) fn gathering_seconds(clients: u32) -> u32 {
    1 + clients / 32
}

/// Parses a number of seconds from the output of a peer.
pub(super) fn seconds(said: &str) -> Result<Duration> {
    Ok(Duration::try_from_secs_f64(said.trim().parse::<f64>()?.max(0.0))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_run_of_each_piece_of_work_is_kept() {
        let work = |clients| InsertWork { clients, rows: 10, per_commit: 1, row_bytes: 100 };
        let mut times = [30, 10, 20, 5, 6, 7].into_iter();
        let inserts = Inserts::collect("peer".to_owned(), [work(1), work(1), work(2)], 3, |_| {
            Ok(Inserted { time: Duration::from_millis(times.next().unwrap()), bytes: 1 })
        });
        let inserts = inserts.unwrap();
        assert_eq!(inserts.of(work(1)).unwrap().time, Duration::from_millis(10));
        assert_eq!(inserts.of(work(2)).unwrap().time, Duration::from_millis(5));
        assert!(inserts.of(work(3)).is_none());
    }

    #[test]
    fn a_text_that_is_no_time_is_refused() {
        assert_eq!(seconds(" 1.5\n").unwrap(), Duration::from_millis(1500));
        assert!(seconds("soon").is_err());
    }
}
