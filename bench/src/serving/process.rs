//! What the system knows of a process.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// Ticks of a second in `/proc`: the same on every Linux.
const TICKS: u64 = 100;
/// Position of the first of four times in `/proc/PID/stat`, counted after the name.
const TIMES: usize = 11;

/// Memory of a process, in bytes: pages that it shares with others count in parts.
pub(super) fn proportional_bytes(process: u32) -> Result<u64> {
    let path = format!("/proc/{process}/smaps_rollup");
    let text = fs::read_to_string(&path).context(path)?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).context("no Pss")?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib * 1024)
}

/// Time that a process and its children that have ended had of processors.
pub(super) fn processor_time(process: u32) -> Result<Duration> {
    let path = format!("/proc/{process}/stat");
    let text = fs::read_to_string(&path).context(path)?;
    let (_, rest) = text.rsplit_once(')').context("no name")?;
    let times = rest.split_whitespace().skip(TIMES).take(4);
    let ticks: u64 = times.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 1_000 / TICKS))
}

/// The processes that a process has started and that run.
pub(super) fn children(process: u32) -> Result<Vec<u32>> {
    let path = format!("/proc/{process}/task/{process}/children");
    let text = fs::read_to_string(&path).context(path)?;
    Ok(text.split_whitespace().filter_map(|child| child.parse().ok()).collect())
}

/// Time that this thread has had of a processor; `None` where the system does not tell.
pub(super) fn thread_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}
