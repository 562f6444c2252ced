//! Sessions in threads of their own: they wait for each other, become deadlock victims, and lose the
//! power together.

mod support;

use extentdb_base::sync::Arc;
use extentdb_base::{PageId, Rid};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_engine::{
    Address, Cause, ColumnSpec, Database, Error, LoadLock, Options, Paths, Placement, Row, Session,
    Table, TableSpec,
};
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};
use support::*;

const ACCOUNTS: usize = 12;
const HEAPS: usize = 3;
const PER_THREAD: i32 = 10_000_000;

/// Where the rows of a set are, which nobody says.
const NOWHERE: Address = Address::Rid(Rid::new(PageId::NONE, 0));

/// Rows of one thread, by heap and id.
type Own = BTreeMap<(usize, i32), (Address, Row)>;

/// What a transaction is about to make permanent.
#[derive(Clone, Default)]
struct Doubt {
    own: Own,
    /// From, to, amount.
    transfers: Vec<(usize, usize, i64)>,
}

/// A thread's part of the model.
struct Owner {
    number: i32,
    next: i32,
    rng: SplitMix64,
    committed: Own,
    in_doubt: Option<Doubt>,
    /// Of commits since the last comparison.
    transfers: Vec<(usize, usize, i64)>,
    deadlocks: u64,
    commits: u64,
}

/// The accounts: a value is changed by the session that holds the lock of its row, right before the commit.
struct Accounts {
    places: Vec<Address>,
    balances: Vec<Mutex<i64>>,
}

fn accounts_table() -> TableSpec {
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("balance", SqlType::BigInt).not_null(),
        ColumnSpec::new("note", varchar(2000)),
    ];
    TableSpec::heap("accounts", columns)
}

fn account(id: usize, balance: i64, note: usize) -> Row {
    vec![Datum::Int(id as i32), Datum::BigInt(balance), text(&"n".repeat(note))]
}

impl Owner {
    fn new(number: i32, seed: u64) -> Owner {
        Owner {
            number,
            next: 0,
            rng: SplitMix64::new(seed ^ (number as u64) << 32),
            committed: Own::new(),
            in_doubt: None,
            transfers: Vec::new(),
            deadlocks: 0,
            commits: 0,
        }
    }

    fn row(&mut self, id: i32) -> Row {
        let most = if self.rng.below(8) == 0 { 3900 } else { 150 };
        person(id, &"r".repeat(self.rng.below(most) as usize))
    }

    /// Transactions until one of them meets the end of the power.
    fn run(
        &mut self,
        db: &Arc<Database>,
        accounts: &Accounts,
        transactions: usize,
    ) -> Result<(), Error> {
        let mut session = db.session();
        for _ in 0..transactions {
            while let Err(error) = self.transaction(&mut session, accounts) {
                match error.cause() {
                    Cause::Lock => {
                        self.deadlocks += 1;
                        session.rollback()?;
                    }
                    _ => return Err(error),
                }
            }
        }
        Ok(())
    }

    fn transaction(&mut self, session: &mut Session, accounts: &Accounts) -> Result<(), Error> {
        session.begin();
        let mut doubt = Doubt { own: self.committed.clone(), transfers: Vec::new() };
        for _ in 0..self.rng.below(6) {
            self.insert(session, &mut doubt)?;
        }
        for _ in 0..self.rng.below(4) {
            self.change(session, &mut doubt)?;
        }
        // A row that stays, so that what was in doubt can be told by the rows of this thread.
        self.insert(session, &mut doubt)?;
        for _ in 0..self.rng.below(3) {
            self.lock_two(session, accounts, &mut doubt)?;
        }
        if self.rng.below(8) == 0 {
            return session.rollback();
        }
        let before = self.transfer(session, accounts, &doubt)?;
        self.in_doubt = Some(doubt.clone());
        for (account, balance) in before {
            *accounts.balances[account].lock().unwrap() = balance;
        }
        session.commit()?;
        self.in_doubt = None;
        self.committed = doubt.own;
        self.transfers.extend(doubt.transfers);
        self.commits += 1;
        Ok(())
    }

    fn insert(&mut self, session: &mut Session, doubt: &mut Doubt) -> Result<(), Error> {
        let heap = self.rng.below(HEAPS as u64) as usize;
        let table = session.table(&format!("heap{heap}"))?;
        if self.rng.below(4) == 0 {
            return self.insert_set(session, (heap, &table), doubt);
        }
        let id = self.next_id(false);
        let row = self.row(id);
        let at = session.insert(&table, &row)?;
        doubt.own.insert((heap, id), (at, row));
        Ok(())
    }

    /// Many rows by one statement, among those of others.
    fn insert_set(
        &mut self,
        session: &mut Session,
        (heap, table): (usize, &Arc<Table>),
        doubt: &mut Doubt,
    ) -> Result<(), Error> {
        let ids: Vec<i32> = (0..1 + self.rng.below(60)).map(|_| self.next_id(true)).collect();
        let rows: Vec<Row> = ids.iter().map(|id| self.row(*id)).collect();
        session.insert_set(table, &mut rows.iter(), LoadLock::Rows)?;
        doubt.own.extend(ids.into_iter().zip(rows).map(|(id, row)| ((heap, id), (NOWHERE, row))));
        Ok(())
    }

    /// Rows of sets have odd numbers.
    fn next_id(&mut self, is_of_set: bool) -> i32 {
        self.next += 2;
        self.number * PER_THREAD + self.next + i32::from(is_of_set)
    }

    fn change(&mut self, session: &mut Session, doubt: &mut Doubt) -> Result<(), Error> {
        if doubt.own.is_empty() {
            return Ok(());
        }
        let chosen = self.rng.below(doubt.own.len() as u64) as usize;
        let found = doubt.own.iter().nth(chosen).map(|(key, (at, _))| (*key, at.clone()));
        let Some(((heap, id), at)) = found.filter(|(_, at)| *at != NOWHERE) else { return Ok(()) };
        let table = session.table(&format!("heap{heap}"))?;
        if self.rng.below(3) == 0 {
            session.delete(&table, &at)?;
            doubt.own.remove(&(heap, id));
        } else {
            let row = self.row(id);
            session.update(&table, &at, &row)?;
            doubt.own.insert((heap, id), (at, row));
        }
        Ok(())
    }

    /// Locks two accounts by changing them, in any order: two threads can meet crosswise.
    fn lock_two(
        &mut self,
        session: &mut Session,
        accounts: &Accounts,
        doubt: &mut Doubt,
    ) -> Result<(), Error> {
        let [from, to] = [(); 2].map(|()| self.rng.below(ACCOUNTS as u64) as usize);
        let table = session.table("accounts")?;
        for account_id in [from, to] {
            let note = self.rng.below(1500) as usize;
            session.update(&table, &accounts.places[account_id], &account(account_id, 0, note))?;
        }
        doubt.transfers.push((from, to, 1 + self.rng.below(100) as i64));
        Ok(())
    }

    /// Writes the new balances of the accounts that are locked; returns them.
    fn transfer(
        &mut self,
        session: &mut Session,
        accounts: &Accounts,
        doubt: &Doubt,
    ) -> Result<BTreeMap<usize, i64>, Error> {
        let mut balances = BTreeMap::new();
        for (from, to, amount) in &doubt.transfers {
            for (account, delta) in [(*from, -amount), (*to, *amount)] {
                let old = || *accounts.balances[account].lock().unwrap();
                *balances.entry(account).or_insert_with(old) += delta;
            }
        }
        let table = session.table("accounts")?;
        for (id, balance) in &balances {
            let note = self.rng.below(1500) as usize;
            session.update(&table, &accounts.places[*id], &account(*id, *balance, note))?;
        }
        Ok(balances)
    }
}

/// A database with its tables and accounts, and what must be in it.
struct Bank {
    disk: MemDisk,
    paths: Paths,
    options: fn(&MemDisk) -> Options,
    accounts: Accounts,
    /// What the accounts hold for certain.
    certain: Vec<i64>,
    owners: Vec<Owner>,
}

impl Bank {
    fn new(threads: i32, seed: u64, options: fn(&MemDisk) -> Options) -> Bank {
        let disk = MemDisk::new();
        let spec = spec("bank");
        let db = Database::create(&spec, options(&disk)).unwrap();
        let mut session = db.session();
        for heap in 0..HEAPS {
            session.create_table(&people(&format!("heap{heap}"))).unwrap();
        }
        let table = session.create_table(&accounts_table()).unwrap();
        let places = (0..ACCOUNTS)
            .map(|id| session.insert(&table, &account(id, 1000, 10)).unwrap())
            .collect();
        drop((session, table));
        db.close().unwrap();
        let balances = (0..ACCOUNTS).map(|_| Mutex::new(1000)).collect();
        Bank {
            disk,
            paths: spec.paths(),
            options,
            accounts: Accounts { places, balances },
            certain: vec![1000; ACCOUNTS],
            owners: (0..threads).map(|number| Owner::new(number, seed)).collect(),
        }
    }

    fn open(&self) -> Arc<Database> {
        Database::open(&self.paths, (self.options)(&self.disk)).unwrap()
    }

    /// All owners at work, checkpoints meanwhile. True when everybody could finish.
    fn work(&mut self, db: &Arc<Database>, transactions: usize) -> bool {
        let done = AtomicBool::new(false);
        let accounts = &self.accounts;
        let finished = thread::scope(|scope| {
            let workers: Vec<_> = self
                .owners
                .iter_mut()
                .map(|owner| scope.spawn(move || owner.run(db, accounts, transactions)))
                .collect();
            let checkpoints = scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    db.checkpoint()?;
                    thread::yield_now();
                }
                Ok(())
            });
            // The thread of checkpoints must be stopped also when a session failed, or the
            // failure is never told.
            let ended: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
            done.store(true, Ordering::Release);
            let results = ended.into_iter().map(|result| result.unwrap());
            std::iter::once(checkpoints.join().unwrap()).chain(results).collect::<Vec<_>>()
        });
        for result in &finished {
            if let Err(error) = result {
                assert!(self.disk.is_dark(), "{error:?}, one of {finished:?}");
            }
        }
        finished.iter().all(Result::is_ok)
    }

    fn crash(&mut self, rng: &mut SplitMix64) {
        let unit_of =
            |path: &Path| if path.extension().is_some_and(|e| e == "ldf") { 512 } else { 8192 };
        self.disk = self.disk.crash_by(rng, &unit_of);
    }

    /// Decides what was in doubt, and compares everything.
    fn assert_kept(&mut self, db: &Arc<Database>) {
        let mut session = db.session();
        let mut found: Own = Own::new();
        let mut counted = Vec::new();
        for heap in 0..HEAPS {
            let table = session.table(&format!("heap{heap}")).unwrap();
            let all = rows(&mut session, &table);
            counted.push((table.row_count(), all.len() as i64));
            found.extend(all.into_iter().map(|(at, row)| {
                let id = id_of(&row);
                ((heap, id), (if id % 2 == 0 { at } else { NOWHERE }, row))
            }));
        }
        for owner in &mut self.owners {
            let range = owner.number * PER_THREAD..(owner.number + 1) * PER_THREAD;
            let theirs: Own = found
                .iter()
                .filter(|((_, id), _)| range.contains(id))
                .map(|(key, stored)| (*key, stored.clone()))
                .collect();
            if let Some(doubt) = owner.in_doubt.take().filter(|doubt| doubt.own == theirs) {
                owner.transfers.extend(doubt.transfers);
                owner.committed = doubt.own;
            }
            for (from, to, amount) in owner.transfers.drain(..) {
                self.certain[from] -= amount;
                self.certain[to] += amount;
            }
            let expected: Vec<_> = owner.committed.keys().collect();
            let got: Vec<_> = theirs.keys().collect();
            assert_eq!(expected, got, "owner {}", owner.number);
            assert!(owner.committed == theirs, "owner {}: a row has other values", owner.number);
        }
        for (counter, rows) in counted {
            assert_eq!(counter, rows);
        }
        let table = session.table("accounts").unwrap();
        let balances: BTreeMap<i32, Datum<'_>> = rows(&mut session, &table)
            .into_iter()
            .map(|(_, row)| (id_of(&row), row[1].clone()))
            .collect();
        assert_eq!(balances.len(), ACCOUNTS);
        assert_eq!(self.certain.iter().sum::<i64>(), 1000 * ACCOUNTS as i64);
        for (id, certain) in self.certain.iter().enumerate() {
            assert_eq!(balances[&(id as i32)], Datum::BigInt(*certain), "account {id}");
            *self.accounts.balances[id].lock().unwrap() = *certain;
        }
    }
}

#[test]
fn sessions_of_many_threads_keep_what_they_committed() {
    for (seed, threads) in [(1, 2), (2, 4), (3, 8)] {
        let mut bank = Bank::new(threads, seed, on);
        let db = bank.open();
        assert!(bank.work(&db, 60));
        bank.assert_kept(&db);
        assert!(bank.owners.iter().all(|owner| owner.commits > 20));
        db.close().unwrap();
        assert_sound_on(&bank.disk, &bank.paths);
    }
}

#[test]
fn deadlocks_of_many_threads_lose_no_committed_change() {
    let mut deadlocks = 0;
    for seed in 10..14 {
        let mut bank = Bank::new(8, seed, on);
        let db = bank.open();
        assert!(bank.work(&db, 40));
        bank.assert_kept(&db);
        deadlocks += bank.owners.iter().map(|owner| owner.deadlocks).sum::<u64>();
        drop(db);
    }
    assert!(deadlocks > 0, "the test must meet deadlocks");
}

/// The power goes while all threads are at work, several times in one life.
fn lose_power_together(seed: u64, options: fn(&MemDisk) -> Options) {
    lose_power_of(seed, options, |bank, db| {
        let _finished = bank.work(&db, 1000);
    });
}

fn lose_power_of(seed: u64, options: fn(&MemDisk) -> Options, work: fn(&mut Bank, Arc<Database>)) {
    let mut rng = SplitMix64::new(seed);
    let mut bank = Bank::new(2 + rng.below(7) as i32, seed, options);
    for _ in 0..3 {
        let db = bank.open();
        bank.assert_kept(&db);
        bank.disk.fail_after(20 + rng.below(600));
        work(&mut bank, db);
        bank.crash(&mut rng);
    }
    let db = bank.open();
    bank.assert_kept(&db);
    db.close().unwrap();
    assert_sound_on(&bank.disk, &bank.paths);
}

#[test]
fn crash_while_threads_run_keeps_committed_rows() {
    for seed in 0..lives() {
        lose_power_together(seed, on);
    }
}

#[test]
fn crash_with_compatible_placement_keeps_committed_rows() {
    let by_pfs = |disk: &MemDisk| Options {
        placement: Placement::ByPfs,
        mixed_pages: false,
        frames: 128,
        checkpoint_log_bytes: Some(64 << 10),
        ..on(disk)
    };
    for seed in 100..100 + lives() {
        lose_power_together(seed, by_pfs);
    }
}

#[test]
fn crash_with_background_threads_keeps_committed_rows() {
    let eager =
        |disk: &MemDisk| Options { frames: 64, checkpoint_log_bytes: Some(32 << 10), ..on(disk) };
    for seed in 200..200 + lives() {
        lose_power_of(seed, eager, |bank, db| {
            let _finished = db.run(|| bank.work(&db, 1000));
        });
    }
}

/// How many lives: more with EXTENTDB_LIVES.
fn lives() -> u64 {
    std::env::var("EXTENTDB_LIVES").ok().and_then(|lives| lives.parse().ok()).unwrap_or(4)
}
