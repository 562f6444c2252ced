//! PERCENTILE_CONT and PERCENTILE_DISC: one value for each partition, whose rows are sorted by it.

use extentdb_bind::function::WindowFunction;
use extentdb_engine::Vector;
use extentdb_plan::physical::WindowCall;

use crate::error::Error;
use crate::number::{self, Results};
use crate::operator::join::NO_ROW;
use crate::operator::window::layout::Layout;
use crate::operator::window::value::{Valued, typed};

/// Message number of a share that is not between 0 and 1.
const SHARE_OUT_OF_RANGE: i32 = 8727;

/// The percentile of each row's partition; NULLs are left out.
pub(super) fn column(
    call: &WindowCall,
    shares: &Vector,
    values: &Vector,
    layout: &Layout,
) -> Result<Vector, Error> {
    let refused = || Error::WindowArgument { number: SHARE_OUT_OF_RANGE };
    let numbers = number::floats(shares).ok_or_else(refused)?;
    let valued = Valued::of(values);
    let mut parts = Vec::with_capacity(layout.partitions().len());
    for partition in layout.partitions().iter() {
        let share = numbers.get(partition.start).copied();
        let share =
            share.filter(|share| !shares.is_null(partition.start) && (0.0..=1.0).contains(share));
        parts.push(Part {
            share: share.ok_or_else(refused)?,
            first: valued.before(partition.start),
            count: valued.before(partition.end) - valued.before(partition.start),
        });
    }
    if call.function == WindowFunction::PercentileCont {
        continuous(call, &parts, &valued, values, layout)
    } else {
        discrete(call, &parts, &valued, values, layout)
    }
}

/// The values of a partition.
#[derive(Debug, Clone, Copy)]
struct Part {
    share: f64,
    /// Number of the first one among all values.
    first: usize,
    count: usize,
}

/// Between two values, in proportion.
fn continuous(
    call: &WindowCall,
    parts: &[Part],
    valued: &Valued,
    values: &Vector,
    layout: &Layout,
) -> Result<Vector, Error> {
    let refused = || Error::NotSupported(format!("percentile_cont of {}", values.ty));
    let numbers = number::floats(values).ok_or_else(refused)?;
    let value = |at: usize| valued.get(at).and_then(|row| numbers.get(row)).copied();
    let mut results = Results::new(call.ty);
    for number in layout.partitions().numbers() {
        let part = parts.get(*number as usize).filter(|part| part.count > 0);
        results.push_float(part.and_then(|part| {
            let at = part.share * (part.count - 1) as f64;
            let below = value(part.first + at.floor() as usize)?;
            let above = value(part.first + at.ceil() as usize)?;
            Some(below + (above - below) * at.fract())
        }))?;
    }
    Ok(results.finish())
}

/// The first value whose share of rows up to it is as large as the one asked for.
fn discrete(
    call: &WindowCall,
    parts: &[Part],
    valued: &Valued,
    values: &Vector,
    layout: &Layout,
) -> Result<Vector, Error> {
    let row = |part: &Part| {
        let count = part.count as f64;
        let mut at = (part.share * count).ceil() as usize;
        // The product may have been rounded up.
        while at > 1 && (at - 1) as f64 / count >= part.share {
            at -= 1;
        }
        let row = valued.get(part.first + at.saturating_sub(1)).filter(|_| part.count > 0);
        row.map_or(NO_ROW, |row| row as u32)
    };
    let found: Vec<u32> = parts.iter().map(row).collect();
    let of_row = |number: &u32| found.get(*number as usize).copied().unwrap_or(NO_ROW);
    let rows: Vec<u32> = layout.partitions().numbers().iter().map(of_row).collect();
    typed(call, values.take_or_null(&rows))
}
