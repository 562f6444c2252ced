//! A scan between the pages of an open transaction, and the memory of idle sessions. Other stories of two
//! sessions: `scripts`.

mod support;

use extentdb_engine::{Cause, Database, Session, Timeout};
use extentdb_io::MemDisk;
use support::*;

#[test]
fn scan_reads_the_pages_before_an_uncommitted_row() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("scans"), on(&disk)).unwrap();
    let mut writing = db.session();
    let mut reading = db.session();
    let table = writing.create_table(&people("people")).unwrap();
    for id in 0..200 {
        writing.insert(&table, &person(id, &"c".repeat(300))).unwrap();
    }
    reading.set_lock_timeout(Timeout::NoWait);
    assert_eq!(ids(&mut reading, &table).len(), 200);
    writing.begin();
    let at = writing.insert(&table, &person(1000, "not yet")).unwrap();
    let refused = reading.scan(&table, &mut |_, _| std::ops::ControlFlow::Continue(()));
    assert_eq!(refused.unwrap_err().cause(), Cause::Lock);
    // Who changed the row sees it, and the pages before the changed one are open to all.
    assert_eq!(ids(&mut writing, &table).len(), 201);
    let mut seen = 0;
    let before = |found: extentdb_engine::Address| found < at;
    let stopped = reading.scan(&table, &mut |found, _| {
        seen += 1;
        if before(found) {
            std::ops::ControlFlow::Continue(())
        } else {
            std::ops::ControlFlow::Break(())
        }
    });
    assert!(stopped.is_ok() || stopped.unwrap_err().cause() == Cause::Lock);
    assert!(seen > 0, "a transaction on the last page shuts no other");
    writing.rollback().unwrap();
    assert_eq!(ids(&mut reading, &table).len(), 200);
}

/// Memory of this process, in bytes, where the system tells it.
fn resident_bytes() -> Option<u64> {
    const PAGE_BYTES: u64 = 4096;
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(PAGE_BYTES * text.split(' ').nth(1)?.parse::<u64>().ok()?)
}

#[test]
fn an_idle_session_costs_16_kib_at_most() {
    const SESSIONS: u64 = 4_000;
    let disk = MemDisk::new();
    let db = Database::create(&spec("sessions"), on(&disk)).unwrap();
    db.session().create_table(&people("people")).unwrap();
    let idle = || {
        let mut session = db.session();
        let table = session.table("people").unwrap();
        assert!(ids(&mut session, &table).is_empty());
        session
    };
    let before = resident_bytes();
    let sessions: Vec<Session> = (0..SESSIONS).map(|_| idle()).collect();
    let after = resident_bytes();
    if let Some((before, after)) = before.zip(after) {
        let each = after.saturating_sub(before) / SESSIONS;
        assert!(each <= 16 << 10, "{each} bytes");
    }
    drop(sessions);
    db.close().unwrap();
}
