//! Statements that change the catalog, in databases with few tables and with many.

use std::time::Duration;

use anyhow::Result;
use extentdb_types::Datum;

use super::Lab;
use crate::report::timed;

const ROW_BYTES: u16 = 100;

/// Makes tables `table_<n>` for all numbers of the range, a heap each.
///
/// # Errors
/// A statement failed.
pub fn add_tables(lab: &Lab, numbers: std::ops::Range<u32>) -> Result<()> {
    for number in numbers {
        lab.table(&format!("table_{number}"), ROW_BYTES)?;
    }
    Ok(())
}

/// The median time of creating a table, inserting a row and dropping it, each statement a
/// transaction.
///
/// # Errors
/// A statement failed.
pub fn table_cycle(lab: &Lab, cycles: u32) -> Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..cycles {
        let (time, done) = timed(|| -> Result<()> {
            let table = lab.table_of_any_length("cycle")?;
            let mut session = lab.db.session();
            session.insert(&table, &[Datum::Int(1), Datum::Null])?;
            Ok(session.drop_table(&table)?)
        });
        done?;
        times.push(time);
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}
