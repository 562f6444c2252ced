//! Undo room: transactions side by side, each with rows of its own, on leaves that are full in a
//! file that is full. Every rollback succeeds, and none takes a page.

use std::collections::BTreeMap;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::{Lsn, PageId, XactId};
use extentdb_format::log::Op;
use extentdb_format::page::PageHeader;
use extentdb_txn::Transaction;

use super::bench::{Bench, LoggedRecord, Setup, fresh, key, undo_one_with};
use super::crash::{Open, after_every_record};
use super::walk::walk;
use crate::Error;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// Fills the rows of others.
const OTHER: u8 = 0x55;

/// A leaf of eight rows of 1000 bytes, which take all of it but some bytes.
fn full_leaf(is_base: bool) -> (Bench, Rows) {
    let bench = Bench::new(is_base);
    let mut rows = Rows::new();
    let mut tx = bench.begin();
    for number in 0..8 {
        let value = vec![number as u8; 980];
        bench.insert(&mut tx, &key(number * 10, false), &value).unwrap();
        rows.insert(key(number * 10, false), value);
    }
    tx.commit().unwrap();
    assert_eq!(walk(&bench.tree).leaves.len(), 1);
    (bench, rows)
}

fn free_bytes(bench: &Bench, page: PageId) -> u16 {
    PageHeader::of(&bench.page(page)).free_bytes.get()
}

/// What the header of a page says of reserved room: all of it, the newest transaction, its share.
fn reserved(bench: &Bench, page: PageId) -> (u16, XactId, u16) {
    let page = bench.page(page);
    let header = PageHeader::of(&page);
    (header.reserved_bytes.get(), header.xdes_id(), header.xact_reserved.get())
}

fn insert_committed(bench: &Bench, number: u64, value: &[u8]) {
    let mut tx = bench.begin();
    bench.insert(&mut tx, &key(number, false), value).unwrap();
    tx.commit().unwrap();
}

#[test]
fn what_a_transaction_frees_is_taken_for_others_until_it_ends() {
    for is_base in [true, false] {
        let (bench, rows) = full_leaf(is_base);
        let leaf = walk(&bench.tree).leaves[0];
        let mut mine = bench.begin();
        bench.replace(&mut mine, &key(10, false), &[9; 80]).unwrap();
        assert_eq!(reserved(&bench, leaf), (900, mine.id(), 900));
        let free = free_bytes(&bench, leaf);
        insert_committed(&bench, 45, &[5; 100]);
        assert_eq!(walk(&bench.tree).leaves.len(), 2, "the other one splits instead");
        let from = bench.records().len();
        bench.roll_back(mine);
        let undone: Vec<Op> = bench.changes_from(from).iter().map(|(op, _)| *op).collect();
        assert_eq!(undone, [Op::MODIFY_ROW]);
        let mut seen = walk(&bench.tree).rows;
        seen.remove(&key(45, false));
        assert!(seen == rows && free > 900);
    }
}

#[test]
fn room_is_free_for_all_when_its_transaction_has_ended() {
    let (bench, _) = full_leaf(true);
    let leaf = walk(&bench.tree).leaves[0];
    let mut mine = bench.begin();
    bench.replace(&mut mine, &key(10, false), &[9; 80]).unwrap();
    mine.commit().unwrap();
    assert_eq!(reserved(&bench, leaf).0, 900, "nobody has looked yet");
    insert_committed(&bench, 45, &[5; 800]);
    assert_eq!(walk(&bench.tree).leaves.len(), 1);
    assert_eq!(reserved(&bench, leaf), (0, XactId::default(), 0));
    assert_eq!(bench.tree.reserved_entries(), 0);
}

#[test]
fn a_transaction_uses_its_own_undo_room() {
    let (bench, rows) = full_leaf(true);
    let mut mine = bench.begin();
    bench.replace(&mut mine, &key(10, false), &[9; 80]).unwrap();
    bench.insert(&mut mine, &key(45, false), &[5; 800]).unwrap();
    bench.replace(&mut mine, &key(45, false), &[5; 10]).unwrap();
    bench.replace(&mut mine, &key(10, false), &[9; 980]).unwrap();
    assert_eq!(walk(&bench.tree).leaves.len(), 1);
    bench.roll_back(mine);
    assert!(walk(&bench.tree).rows == rows);
}

#[test]
fn a_ghost_that_comes_back_shorter_keeps_its_room() {
    let (bench, rows) = full_leaf(false);
    let mut mine = bench.begin();
    bench.delete(&mut mine, &key(10, false));
    bench.insert(&mut mine, &key(10, false), &[9; 80]).unwrap();
    insert_committed(&bench, 45, &[5; 100]);
    assert_eq!(walk(&bench.tree).leaves.len(), 2);
    bench.roll_back(mine);
    let mut seen = walk(&bench.tree).rows;
    seen.remove(&key(45, false));
    assert!(seen == rows);
}

/// A row that was grown and shortened again needs no more than it ever had; one that goes back to a
/// savepoint keeps its room.
#[test]
fn room_is_reserved_up_to_the_longest_that_a_row_has_been() {
    let (bench, _) = full_leaf(true);
    let leaf = walk(&bench.tree).leaves[0];
    let mut mine = bench.begin();
    let all = |bench: &Bench| reserved(bench, leaf).0;
    let mut lengths = Vec::new();
    for len in [500, 700, 980, 100, 980] {
        bench.replace(&mut mine, &key(10, false), &vec![9; len]).unwrap();
        lengths.push(all(&bench));
    }
    assert_eq!(lengths, [480, 280, 0, 880, 0]);
    bench.replace(&mut mine, &key(10, false), &[9; 380]).unwrap();
    let savepoint = mine.savepoint("here").unwrap();
    bench.replace(&mut mine, &key(10, false), &[9; 80]).unwrap();
    assert_eq!(all(&bench), 900);
    bench.roll_back_to(&mut mine, savepoint);
    assert_eq!(all(&bench), 600);
    bench.roll_back(mine);
}

/// What SQL Server, or an earlier run, has left in the header belongs to no open transaction.
#[test]
fn reserved_room_that_another_program_left_is_void() {
    let (bench, _) = full_leaf(true);
    let leaf = walk(&bench.tree).leaves[0];
    let mut tx = bench.begin();
    bench.delete(&mut tx, &key(10, false));
    tx.commit().unwrap();
    bench.tree.expunge_ghosts(&bench.manager, leaf, &|_| true).unwrap();
    let open = bench.manager.last_id();
    for xact in [XactId { high: 0, low: 7 }, open, XactId { high: 0xffff, low: u32::MAX }] {
        let mut page = bench.page(leaf);
        let header = PageHeader::of_mut(&mut page);
        header.reserved_bytes.set(0xffff);
        header.xact_reserved.set(0x7fff);
        header.set_xdes_id(xact);
        bench.put(leaf, &page);
        let mut tx = bench.begin();
        bench.insert(&mut tx, &key(15, false), &[1; 900]).unwrap();
        assert_eq!(walk(&bench.tree).leaves.len(), 1);
        assert_eq!(reserved(&bench, leaf), (0, XactId::default(), 0));
        bench.roll_back(tx);
    }
}

/// Rows of one transaction, all short, and those of others between them: whatever page a row comes
/// to, its room is there.
#[test]
fn room_follows_rows_that_splits_move() {
    let (bench, rows) = full_leaf(true);
    let mut mine = bench.begin();
    for number in 0..8 {
        bench.replace(&mut mine, &key(number * 10, false), &[9; 10]).unwrap();
    }
    assert_eq!(bench.tree.reserved_entries(), 8);
    for number in (0..80).filter(|number| number % 10 > 0) {
        insert_committed(&bench, number, &[OTHER; 600]);
    }
    let seen = walk(&bench.tree);
    let all: usize = seen.leaves.iter().map(|leaf| usize::from(reserved(&bench, *leaf).0)).sum();
    assert_eq!(all, 8 * 970);
    let pages = bench.pages();
    bench.roll_back(mine);
    let seen = walk(&bench.tree);
    assert!(seen.rows.into_iter().filter(|(_, value)| value[0] != OTHER).eq(rows));
    assert_eq!(bench.pages(), pages);
}

/// A row as long as a page, shortened; other transactions insert next to it, down to leaves of one
/// row.
#[test]
fn a_split_makes_progress_with_undo_room_of_a_whole_page() {
    for (grown, seed) in [(false, 1), (true, 2)] {
        let bench = Bench::new(true);
        insert_committed(&bench, 500, &[9; 8000]);
        let mut mine = bench.begin();
        bench.replace(&mut mine, &key(500, false), &[9; 10]).unwrap();
        let mut rng = SplitMix64::new(seed);
        for number in [499, 501, 502, 498, 400, 600] {
            insert_committed(&bench, number, &[5; 20]);
            let value = vec![5; rng.below(4000) as usize];
            if grown {
                let mut tx = bench.begin();
                bench.replace(&mut tx, &key(number, false), &value).unwrap();
                tx.commit().unwrap();
            }
        }
        let pages = bench.pages();
        bench.roll_back(mine);
        assert_eq!(walk(&bench.tree).rows[&key(500, false)], [9; 8000]);
        assert_eq!(bench.pages(), pages);
    }
}

#[test]
fn accounts_of_ended_transactions_do_not_pile_up() {
    let bench = Bench::new(true);
    let mut tx = bench.begin();
    (0..3000).for_each(|number| bench.insert(&mut tx, &key(number, false), &[1; 40]).unwrap());
    tx.commit().unwrap();
    let mut most = 0;
    for len in (0..30).rev() {
        for numbers in [0..1500, 1500..3000] {
            let mut tx = bench.begin();
            for number in numbers {
                bench.replace(&mut tx, &key(number, false), &vec![1; len]).unwrap();
                most = most.max(bench.tree.reserved_entries());
            }
            tx.commit_delayed().unwrap();
        }
    }
    assert!((1500..=4500).contains(&most), "{most}");
}

/// One of the transactions of a crowd.
struct Member {
    tx: Transaction,
    /// What the keys that it has locked held before each of its changes.
    changes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    savepoint: Option<(Lsn, usize)>,
}

/// Transactions side by side. As by locks, a key belongs to the one that changed it until that has
/// ended.
struct Crowd<'b> {
    bench: &'b Bench,
    rng: SplitMix64,
    keys: u64,
    members: Vec<Member>,
    /// The rows as they are, with what open transactions did.
    rows: Rows,
    refused: usize,
    rolled_back: usize,
    /// Rows that got an old, longer length back.
    grown_back: usize,
}

impl<'b> Crowd<'b> {
    fn new(bench: &'b Bench, seed: u64, keys: u64, members: usize) -> Crowd<'b> {
        let member = || Member { tx: bench.begin(), changes: Vec::new(), savepoint: None };
        let members = (0..members).map(|_| member()).collect();
        let rng = SplitMix64::new(seed);
        let rows = Rows::new();
        Crowd {
            bench,
            rng,
            keys,
            members,
            rows,
            refused: 0,
            rolled_back: 0,
            grown_back: 0,
        }
    }

    fn owner(&self, key: &[u8]) -> Option<usize> {
        self.members.iter().position(|member| member.changes.iter().any(|(own, _)| own == key))
    }

    fn value(&mut self) -> Vec<u8> {
        let most = [10, 60, 400, 2500][self.rng.below(4) as usize];
        vec![self.rng.next_u64() as u8; self.rng.below(most + 1) as usize]
    }

    /// One change of one member, if no other has the key.
    fn change(&mut self, who: usize) {
        let number = self.rng.below(self.keys);
        let key = key(number, number.is_multiple_of(7));
        if self.owner(&key).is_some_and(|owner| owner != who) {
            return;
        }
        let value = self.value();
        let before = self.rows.get(&key).cloned();
        let tx = &mut self.members[who].tx;
        let (done, after) = match before {
            Some(_) if self.rng.below(5) == 0 => {
                assert!(self.bench.delete(tx, &key));
                (Ok(()), None)
            }
            Some(_) => (self.bench.replace(tx, &key, &value), Some(value)),
            None => (self.bench.insert(tx, &key, &value), Some(value)),
        };
        match done {
            Ok(()) => {
                self.members[who].changes.push((key.clone(), before));
                self.set(key, after);
            }
            Err(Error::Space(extentdb_space::Error::FilegroupFull { .. })) => self.refused += 1,
            Err(error) => panic!("{error:?}"),
        }
    }

    fn set(&mut self, key: Vec<u8>, value: Option<Vec<u8>>) {
        match value {
            Some(value) => drop(self.rows.insert(key, value)),
            None => drop(self.rows.remove(&key)),
        }
    }

    /// Rolls a member back, all of it or to its savepoint: no page is allocated for that.
    fn roll_back(&mut self, who: usize, to: Lsn, from: usize) {
        let pages = self.bench.counts().used;
        let member = &mut self.members[who];
        member.tx.begin_undo();
        self.bench.roll_back_to(&mut member.tx, to);
        member.tx.end_undo();
        let undone = member.changes.split_off(from);
        for (key, before) in undone.into_iter().rev() {
            let longer = before.as_ref().map(Vec::len) > self.rows.get(&key).map(Vec::len);
            self.grown_back += usize::from(longer);
            self.set(key, before);
        }
        self.rolled_back += 1;
        assert_eq!(self.bench.counts().used, pages, "a rollback has allocated a page");
    }

    fn end(&mut self, who: usize) -> Option<Lsn> {
        let is_rolled_back = self.rng.below(2) == 0;
        if is_rolled_back {
            let begin = self.members[who].tx.begin_lsn();
            self.roll_back(who, begin, 0);
        }
        let next = Member { tx: self.bench.begin(), changes: Vec::new(), savepoint: None };
        let member = std::mem::replace(&mut self.members[who], next);
        if is_rolled_back {
            member.tx.abort().unwrap();
            return None;
        }
        Some(member.tx.commit_delayed().unwrap()).filter(|lsn| !lsn.is_zero())
    }

    /// One step of a transaction; the LSN of a commit.
    fn step(&mut self) -> Option<Lsn> {
        let who = self.rng.below(self.members.len() as u64) as usize;
        match self.rng.below(100) {
            0..4 => return self.end(who),
            4..8 => {
                let lsn = self.members[who].tx.savepoint("here").unwrap();
                self.members[who].savepoint = Some((lsn, self.members[who].changes.len()));
            }
            8..10 => {
                if let Some((lsn, changes)) = self.members[who].savepoint {
                    self.roll_back(who, lsn, changes);
                }
            }
            10..12 => drop(self.bench.tree.clean(&self.bench.manager, 4, &|_| true).unwrap()),
            _ => self.change(who),
        }
        None
    }

    /// The rows that are committed.
    fn committed(&self) -> Rows {
        let mut rows = self.rows.clone();
        for (key, before) in self.members.iter().flat_map(|member| member.changes.iter().rev()) {
            match before {
                Some(value) => drop(rows.insert(key.clone(), value.clone())),
                None => drop(rows.remove(key)),
            }
        }
        rows
    }
}

/// How many rounds the property test has: others with EXTENTDB_CROWDS.
fn rounds() -> u64 {
    std::env::var("EXTENTDB_CROWDS").ok().and_then(|count| count.parse().ok()).unwrap_or(24)
}

#[test]
fn rollbacks_in_a_full_file_succeed_and_take_no_page() {
    let size = fresh().0.len() as u32 / 8192;
    let mut refused = 0;
    let mut grown_back = 0;
    for seed in 0..rounds() {
        let pages_max = Some(size + [0, 16, 64][seed as usize % 3]);
        let setup = Setup { pages_max, frames: 200, ..Setup::of(seed.is_multiple_of(2)) };
        let bench = Bench::with(&setup);
        let mut crowd = Crowd::new(&bench, seed, 400, 2 + seed as usize % 5);
        for step in 0..3000 {
            crowd.step();
            if step % 500 == 499 {
                let seen = walk(&bench.tree);
                assert!(seen.rows == crowd.rows, "seed {seed}, step {step}");
            }
        }
        while let Some(member) = crowd.members.pop() {
            let who = crowd.members.len();
            crowd.members.push(member);
            let begin = crowd.members[who].tx.begin_lsn();
            crowd.roll_back(who, begin, 0);
            crowd.members.pop().unwrap().tx.abort().unwrap();
        }
        walk(&bench.tree).matches(&bench, &crowd.rows);
        refused += crowd.refused;
        grown_back += crowd.grown_back;
    }
    assert!(refused > 50 && grown_back > 100, "{refused} refused, {grown_back} grown back");
}

/// Undoes the losers of a restart, the newest record of all of them first.
fn undo_losers(restarted: &Bench, records: &[LoggedRecord], open: &BTreeMap<XactId, Open>) {
    let losers = open.iter().filter(|(_, open)| !open.is_system);
    let mut losers: Vec<Transaction> =
        losers.map(|(xact, open)| restarted.manager.resume(*xact, open.begin, open.last)).collect();
    losers.iter_mut().for_each(Transaction::begin_undo);
    while let Some(at) = (0..losers.len()).max_by_key(|at| losers[*at].undo_next()) {
        let loser = &mut losers[at];
        if loser.undo_next() <= loser.begin_lsn() {
            losers.swap_remove(at).abort().unwrap();
            continue;
        }
        let next = loser.undo_next();
        let logged = records.iter().find(|logged| logged.lsn == next).expect("a record there is");
        undo_one_with(&restarted.tree, loser, logged);
    }
}

fn crash_everywhere(is_base: bool, seed: u64, steps: usize) {
    let size = fresh().0.len() as u32 / 8192;
    let bench = Bench::with(&Setup { pages_max: Some(size), ..Setup::of(is_base) });
    let mut crowd = Crowd::new(&bench, seed, 40, 4);
    let mut states = vec![(Lsn::ZERO, Rows::new())];
    for _ in 0..steps {
        let lsn = crowd.step();
        states.extend(lsn.map(|lsn| (lsn, crowd.committed())));
    }
    assert!(crowd.grown_back > 0 && walk(&bench.tree).leaves.len() > 3);
    let records = bench.records();
    after_every_record(&records, is_base, &mut |logged, restarted, open| {
        let pages = restarted.pages();
        undo_losers(restarted, &records, open);
        let (_, expected) =
            states.iter().rev().find(|(lsn, _)| *lsn <= logged.lsn).expect("the first");
        let seen = walk(&restarted.tree);
        assert!(seen.rows == *expected, "after {} {}", logged.lsn, logged.record().header().op);
        assert_eq!(restarted.pages(), pages, "after {}", logged.lsn);
    });
}

#[test]
fn losers_are_undone_without_a_page_wherever_the_log_ends() {
    crash_everywhere(true, 1, 700);
    crash_everywhere(false, 2, 700);
}
