//! The counter of rowversion values, which ids of values off rows are taken from, too.
//!
//! The boot page has a value that none given out exceeds. It is raised by a logged change, some
//! thousand at a time, before the first of them is given out: what a row has by a later record is
//! never given out again after a crash. What is left at the end is lost.

use extentdb_base::sync::{Mutex, lock};
use extentdb_change::in_own_system;

use crate::database::Database;
use crate::database::boot::{Counter, take};
use crate::error::Error;

/// Values by which the boot page is raised, as the product does.
const AT_A_TIME: u64 = 2000;

/// Values that may be given out.
#[derive(Debug, Default)]
pub(crate) struct Timestamps(Mutex<Range>);

#[derive(Debug, Default)]
struct Range {
    /// The last one given out.
    last: u64,
    /// The one of the boot page; equal when it must be raised.
    most: u64,
}

impl Database {
    /// The last value that was given out since the database was opened; 0 when none was.
    pub fn last_timestamp(&self) -> u64 {
        lock(&self.timestamps.0).last
    }

    /// A value that is greater than all before it, in all tables of the database.
    ///
    /// # Errors
    /// The log is full.
    pub(crate) fn next_timestamp(&self) -> Result<u64, Error> {
        let mut range = lock(&self.timestamps.0);
        if range.last == range.most {
            let last = in_own_system(&*self.space, "NewTimestamp", |system| {
                take(&self.pool, system, Counter::Timestamp, |value| value + AT_A_TIME)
            })
            .map_err(|error: Error| error)?;
            range.last = last;
            range.most = last + AT_A_TIME;
        }
        range.last += 1;
        Ok(range.last)
    }
}
