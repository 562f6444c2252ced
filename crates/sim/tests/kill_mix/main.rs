//! A process with eight busy sessions is killed again and again, on the real file system.
//!
//! ```text
//! parent  starts the child ─▶ waits until it works ─▶ SIGKILL ─▶ opens, compares, closes, full
//!         check, opens again
//! child   eight sessions: rows of three shared tables, DDL of their own; checkpoints, eviction,
//!         threads of the database
//! pipe    ack 3 17 commit          session 3 has been told that its transaction 17 is permanent
//! ```
//!
//! What a transaction does follows from its session, its number and what the session has in the
//! tables. So the parent needs no more than the outcomes to know what must be there: of each
//! session all that was acknowledged, and the next transaction as a whole or not at all.
//!
//! `EXTENTDB_KILLS=N` kills so often; `EXTENTDB_KILL_DIR=DIR` puts the files there, on another file
//! system.

mod child;
mod parent;
mod plan;
mod rows;

use plan::Mix;

/// Kills of one test.
fn kills(usual: u64) -> u64 {
    std::env::var("EXTENTDB_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(usual)
}

/// Not a test of its own: the process that is killed.
#[test]
fn process_that_is_killed() {
    child::run();
}

#[test]
fn rows_of_a_killed_process_are_there() {
    parent::kill_again_and_again(kills(5), Mix::Rows, 1);
}

#[test]
fn rows_and_tables_of_a_killed_process_are_there() {
    parent::kill_again_and_again(kills(5), Mix::RowsAndTables, 2);
}
