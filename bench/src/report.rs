//! Timing and printing of results.

use std::time::{Duration, Instant};

/// Runs `work` `times` times and returns the shortest time: what the machine can do when nobody disturbs it.
#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
pub fn best_of<T>(times: u32, mut work: impl FnMut() -> T) -> (Duration, T) {
    let mut best = None;
    for _ in 0..times.max(1) {
        let start = Instant::now();
        let result = work();
        let elapsed = start.elapsed();
        if best.as_ref().is_none_or(|(time, _)| elapsed < *time) {
            best = Some((elapsed, result));
        }
    }
    best.unwrap_or_else(|| unreachable!("at least one run"))
}

/// Gigabytes (10^9 bytes) per second.
pub fn gb_per_s(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64() / 1e9
}

/// One line of a table: what, GB/s, and the ratio to a reference.
pub fn line(what: &str, bytes: u64, time: Duration, reference: Option<f64>) -> f64 {
    let rate = gb_per_s(bytes, time);
    let ratio = reference.map_or(String::new(), |r| format!("{:6.2} x", rate / r));
    let ns = time.as_nanos() as f64 / (bytes as f64 / 8192.0);
    println!("{what:<52} {rate:7.2} GB/s {ns:8.0} ns/page {ratio}");
    rate
}
