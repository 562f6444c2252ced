//! What a snapshot costs: taken, and asked about the writer of a row.
//!
//! ```text
//! cargo test -p extentdb-txn --release --test snapshot_speed -- --ignored --nocapture
//! ```

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use extentdb_base::env::{Clock, SystemClock};
use extentdb_base::{SessionId, XactId};
use extentdb_txn::versions::{Commits, SnapshotKind};

const TIMES: u32 = 2_000_000;

fn id(number: u32) -> XactId {
    XactId { high: 0, low: number }
}

fn measure(what: &str, mut work: impl FnMut(u32)) {
    let clock = SystemClock::new();
    let begun = clock.monotonic();
    (0..TIMES).for_each(&mut work);
    let each = (clock.monotonic() - begun).as_nanos() / u128::from(TIMES);
    println!("{what}: {each} ns");
}

#[test]
#[ignore = "a measurement"]
fn a_snapshot_is_taken_and_asked() {
    let commits = Commits::new();
    let db = commits.enter_database();
    let take =
        || Arc::new(commits.snapshot(SessionId(51), SnapshotKind::Statement, Duration::ZERO));
    let _others: Vec<_> = (0..2_000).map(|_| take()).collect();
    let writers: Vec<_> = (1_000..3_000).map(|number| db.begin(id(number))).collect();
    measure("taken and given up beside 2,000 others", |_| drop(black_box(take())));
    let snapshot = take().within(&db, id(1));
    let sees = |number| {
        black_box(snapshot.sees(id(number)));
    };
    measure("a writer from before the floor", |n| sees(n % 2 + 10));
    measure("rows of one recent writer", |_| sees(1_500));
    measure("rows of 2,000 recent writers in turn", |n| sees(1_000 + n % 2_000));
    drop(writers);
}
