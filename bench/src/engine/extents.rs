//! Allocation of extents to units, logged in GAM, IAM, PFS and their pages.

use anyhow::{Result, anyhow};
use extentdb_base::PageId;
use extentdb_format::allocation::pfs::Fullness;
use extentdb_format::log::Context;
use extentdb_format::page::PageType;
use extentdb_space::{PageForm, Unit};
use extentdb_txn::TransactionKind;

use super::Lab;
use crate::report::timed;

/// Extents per second: each thread allocates `count` for its own unit.
///
/// # Errors
/// No room is left.
pub fn extents_per_second(lab: &Lab, threads: usize, count: usize) -> Result<f64> {
    let tables: Vec<_> =
        (0..threads).map(|at| lab.table(&format!("unit{at}"), 100)).collect::<Result<_>>()?;
    let units: Vec<_> = tables.iter().map(|table| table.unit()).collect();
    let (time, done) = timed(|| {
        std::thread::scope(|scope| {
            let take = |unit| scope.spawn(move || take_extents(lab, unit, count));
            let threads: Vec<_> = units.iter().map(|unit| take(unit)).collect();
            threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
        })
    });
    for thread in done {
        thread.map_err(|_| anyhow!("a thread panicked"))??;
    }
    Ok((threads * count) as f64 / time.as_secs_f64())
}

fn take_extents(lab: &Lab, unit: &Unit, count: usize) -> Result<()> {
    let space = lab.db.space();
    let mut tx = space.transactions().begin(TransactionKind::User, "extents");
    let form = PageForm {
        kind: PageType::Data,
        level: 0,
        pminlen: 4,
        context: Context::HEAP,
        prev: PageId::NONE,
        next: PageId::NONE,
        type_flag_bits: 0,
        flag_bits: 0,
    };
    for _ in 0..count {
        space.append_formatted_pages(&mut tx, unit, Fullness::UpTo100, &form)?;
    }
    Ok(())
}
