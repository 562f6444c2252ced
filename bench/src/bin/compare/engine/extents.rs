//! Extents per second: one, four and eight files, of equal size and not; one thread and two.

use anyhow::Result;
use bench::engine::{Form, Lab, extents_per_second};
use bench::target::{Limit, Target};

use super::{Setting, head};

const EXTENTS: usize = 4000;
const EXTENT_BYTES: u64 = 64 << 10;
/// Room for the extents of both threads, and the catalogue.
const BYTES: u64 = 3 * EXTENTS as u64 * EXTENT_BYTES;

/// Sizes of `count` files with room for all extents together.
fn files(count: u64, is_equal: bool) -> Vec<u64> {
    let sum = count * (count + 1) / 2;
    (1..=count)
        .map(|at| if is_equal { BYTES / count } else { BYTES * at / sum })
        .map(|bytes| bytes.max(8 << 20))
        .collect()
}

fn measure(setting: &Setting, count: u64, is_equal: bool, threads: usize) -> Result<f64> {
    let mut best: f64 = 0.0;
    for _ in 0..setting.runs {
        let lab = Lab::create(&setting.folder, &Form::of(files(count, is_equal)))?;
        best = best.max(extents_per_second(&lab, threads, EXTENTS)?);
    }
    Ok(best)
}

pub(super) fn run(setting: &Setting) -> Result<Vec<Target>> {
    head(
        "Extents per second, logged in GAM, IAM and PFS",
        &["files", "equal, 1 thread", "unequal, 1 thread", "equal, 2 threads", "unequal, 2 threads"],
    );
    let mut worst: f64 = 0.0;
    for count in [1, 4, 8] {
        let mut rates = Vec::new();
        for threads in [1, 2] {
            let [equal, unequal] =
                [measure(setting, count, true, threads)?, measure(setting, count, false, threads)?];
            if count > 1 {
                worst = worst.max(100.0 * (1.0 - unequal / equal));
            }
            rates.extend([equal, unequal]);
        }
        println!("| {count} | {:.0} | {:.0} | {:.0} | {:.0} |", rates[0], rates[1], rates[2], rates[3]);
    }
    let what = "extents/s: unequal files slower than equal ones, the worst point (G1.3)";
    Ok(vec![Target::new(what, "%", Ok(worst)).goal(Limit::AtMost(5.0))])
}
