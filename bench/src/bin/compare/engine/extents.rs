//! Extents per second: one, four and eight files, of equal size and not; one thread and two.

use anyhow::Result;
use bench::engine::{DatabaseForm, Lab, extents_per_second};
use bench::target::{Limit, Target};

use super::{Setting, head};

const EXTENTS: usize = 4000;
const EXTENT_BYTES: u64 = 64 << 10;
/// Room for the extents of both threads, and the catalog.
const BYTES: u64 = 3 * EXTENTS as u64 * EXTENT_BYTES;

/// Sizes of `count` files with room for all extents together.
fn files(count: u64, is_equal: bool) -> Vec<u64> {
    let sum = count * (count + 1) / 2;
    (1..=count)
        .map(|at| if is_equal { BYTES / count } else { BYTES * at / sum })
        .map(|bytes| bytes.max(8 << 20))
        .collect()
}

/// Turns of equal and unequal files: a run takes some milliseconds, and a single pair is not
/// significant.
const TURNS: usize = 15;

/// Rates over equal and unequal files, in turns, each the median; and that of their ratios.
fn measure(setting: &Setting, count: u64, threads: usize) -> Result<[f64; 3]> {
    let rate = |is_equal| {
        let lab = Lab::create(&setting.folder, &DatabaseForm::of(files(count, is_equal)))?;
        extents_per_second(&lab, threads, EXTENTS)
    };
    let mut turns: [Vec<f64>; 3] = Default::default();
    for _ in 0..TURNS {
        let equal = rate(true)?;
        let unequal = rate(false)?;
        for (of, value) in turns.iter_mut().zip([equal, unequal, unequal / equal]) {
            of.push(value);
        }
    }
    Ok(turns.map(|mut values| {
        values.sort_by(f64::total_cmp);
        values[TURNS / 2]
    }))
}

pub(super) fn run(setting: &Setting) -> Result<Vec<Target>> {
    head(
        "Extents per second, logged in GAM, IAM and PFS",
        &["files", "threads", "equal files", "unequal files", "unequal : equal"],
    );
    let mut worst: f64 = 0.0;
    let mut scaling = f64::INFINITY;
    for count in [1, 4, 8] {
        let mut alone = f64::NAN;
        for threads in [1, 2] {
            let [equal, unequal, ratio] = measure(setting, count, threads)?;
            if count > 1 {
                worst = worst.max(100.0 * (1.0 - ratio));
            }
            if threads == 1 {
                alone = equal;
            } else {
                scaling = scaling.min(equal / alone);
            }
            println!("| {count} | {threads} | {equal:.0} | {unequal:.0} | {ratio:.2} |");
        }
    }
    let what = "extents/s: unequal files slower than equal ones, the worst point (G1.3)";
    let beside = "extents/s: two threads beside one, the worst number of files (G1.3)";
    Ok(vec![
        Target::new(what, "%", Ok(worst)).goal(Limit::AtMost(5.0)),
        Target::new(beside, "x", Ok(scaling)).goal(Limit::AtLeast(1.6)),
    ])
}
