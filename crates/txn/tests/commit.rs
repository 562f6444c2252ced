//! When a commit counts as one: readers that skip row locks trust [`Manager::oldest_begin`].
//!
//! [`Manager::oldest_begin`]: extentdb_txn::Manager::oldest_begin

mod support;

use std::sync::Arc;

use extentdb_base::{Lsn, SessionId};
use extentdb_telemetry::{TaskId, Tasks, WaitType, Waits};
use extentdb_txn::{Manager, Transaction, TransactionKind};
use support::manager;

/// A transaction with a record in the log.
fn begin(manager: &Arc<Manager>, kind: TransactionKind) -> Transaction {
    let mut tx = manager.begin(kind, "test");
    tx.savepoint("here").unwrap();
    tx
}

#[test]
fn oldest_begin_counts_a_commit_until_it_is_durable() {
    let (manager, gate) = manager();
    let tx = begin(&manager, TransactionKind::User);
    let first = tx.begin_lsn();
    gate.close();
    std::thread::scope(|scope| {
        let committer = scope.spawn(|| tx.commit().unwrap());
        gate.until_held_back();
        // The commit is in the log, and a crash would lose it.
        assert!(manager.with_active(|active| active.is_empty()), "a checkpoint sees it as ended");
        assert_eq!(manager.oldest_begin(), Some(first));
        let younger = begin(&manager, TransactionKind::User);
        assert_eq!(manager.oldest_begin(), Some(first));
        gate.open();
        let commit = committer.join().unwrap();
        assert!(manager.log().durable() >= commit);
        assert_eq!(manager.oldest_begin(), Some(younger.begin_lsn()));
        younger.commit().unwrap();
    });
    assert_eq!(manager.oldest_begin(), None);
}

#[test]
fn oldest_begin_counts_several_commits_by_the_oldest_of_them() {
    let (manager, gate) = manager();
    let older = begin(&manager, TransactionKind::User);
    let younger = begin(&manager, TransactionKind::User);
    let oldest = older.begin_lsn();
    gate.close();
    std::thread::scope(|scope| {
        // The younger one commits first.
        let first = scope.spawn(|| younger.commit().unwrap());
        gate.until_held_back();
        let second = scope.spawn(|| older.commit().unwrap());
        while manager.with_active(|active| !active.is_empty()) {
            std::thread::yield_now();
        }
        assert_eq!(manager.oldest_begin(), Some(oldest));
        gate.open();
        assert!(first.join().unwrap() < second.join().unwrap());
    });
    assert_eq!(manager.oldest_begin(), None);
}

#[test]
fn commits_without_a_flush_are_not_counted() {
    let (manager, gate) = manager();
    gate.close();
    begin(&manager, TransactionKind::User).commit_delayed().unwrap();
    assert_eq!(manager.oldest_begin(), None, "delayed durability");
    begin(&manager, TransactionKind::System).commit().unwrap();
    assert_eq!(manager.oldest_begin(), None, "a system transaction");
    let mut outer = begin(&manager, TransactionKind::User);
    begin(&manager, TransactionKind::System).commit_into(&mut outer).unwrap();
    assert_eq!(manager.oldest_begin(), Some(outer.begin_lsn()));
    outer.abort().unwrap();
    assert_eq!(manager.oldest_begin(), None);
    assert_eq!(manager.log().durable(), Lsn::ZERO);
}

#[test]
fn a_manager_forgets_durable_commits_without_being_asked_for_the_oldest() {
    let (manager, _gate) = manager();
    for _ in 0..1_000 {
        begin(&manager, TransactionKind::User).commit().unwrap();
    }
    assert!(manager.undurable_commits() <= 65, "{}", manager.undurable_commits());
}

#[test]
fn commit_waits_for_the_log_under_its_wait_type() {
    let (manager, gate) = manager();
    let waits = Arc::new(Waits::new());
    let tasks = Arc::new(Tasks::new());
    manager.set_waits(waits.clone());
    begin(&manager, TransactionKind::User).commit_delayed().unwrap();
    assert_eq!(waits.totals(WaitType::WriteLog).waiting_tasks_count, 0);
    gate.close();
    std::thread::scope(|scope| {
        let committer = scope.spawn(|| {
            let task = tasks.enter(TaskId { session: SessionId(52), context: 0 });
            let _at_work = task.work();
            begin(&manager, TransactionKind::User).commit().unwrap();
        });
        gate.until_held_back();
        let [shown] = tasks.waiting()[..] else { panic!("{tasks:?}") };
        assert_eq!((shown.id.session, shown.wait.wait), (SessionId(52), WaitType::WriteLog));
        gate.open();
        committer.join().unwrap();
    });
    assert_eq!(waits.totals(WaitType::WriteLog).waiting_tasks_count, 1);
}
