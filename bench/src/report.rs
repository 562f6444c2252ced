//! Timing and printing of results.

use std::time::{Duration, Instant};

/// Runs `work` and returns how long it took.
#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
pub fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed(), done)
}

/// Runs `work` `times` times and returns the shortest time: that of an undisturbed
/// machine.
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

/// The one in the middle; `None` of none.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
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

/// The measurement of one program over its own files.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Program and options.
    pub what: String,
    /// Bytes of its files.
    pub bytes: u64,
    /// Rows of its tables, each counted once; `None` where it looks at pages only.
    pub rows: Option<u64>,
    /// The shortest of its runs.
    pub time: Duration,
    /// Most memory it held, in bytes, where that was asked for.
    pub peak: Option<u64>,
}

impl Measured {
    /// The header of lines of [`Measured::to_line`], as Markdown.
    pub const HEAD: &str = "\
| what | files, GB | seconds | GB/s | ns/page | million rows/s | memory, MB |
| --- | --- | --- | --- | --- | --- | --- |";

    /// Gigabytes per second.
    pub fn gb_per_s(&self) -> f64 {
        gb_per_s(self.bytes, self.time)
    }

    /// Rows per second.
    pub fn rows_per_s(&self) -> Option<f64> {
        self.rows.map(|rows| rows as f64 / self.time.as_secs_f64())
    }

    /// Nanoseconds per 8 KiB.
    pub fn ns_per_page(&self) -> f64 {
        self.time.as_nanos() as f64 / (self.bytes as f64 / 8192.0)
    }

    /// A line of a Markdown table.
    pub fn to_line(&self) -> String {
        let rows = self.rows_per_s().map_or("–".to_owned(), |rate| format!("{:.2}", rate / 1e6));
        let peak = self.peak.map_or("–".to_owned(), |bytes| format!("{:.0}", bytes as f64 / 1e6));
        format!(
            "| {} | {:.2} | {:.2} | {:.3} | {:.0} | {rows} | {peak} |",
            self.what,
            self.bytes as f64 / 1e9,
            self.time.as_secs_f64(),
            self.gb_per_s(),
            self.ns_per_page()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_run_counts() {
        let mut sleeps = [30, 1, 30].into_iter();
        let (time, rest) = best_of(3, || {
            std::thread::sleep(Duration::from_millis(sleeps.next().unwrap_or_default()));
            sleeps.len()
        });
        assert_eq!(rest, 1);
        assert!(time < Duration::from_millis(30));
    }

    #[test]
    fn a_line_has_every_rate() {
        let mut measured = Measured {
            what: "a check".to_owned(),
            bytes: 819_200_000,
            rows: Some(4_000_000),
            time: Duration::from_millis(2000),
            peak: Some(34_000_000),
        };
        assert_eq!(measured.to_line(), "| a check | 0.82 | 2.00 | 0.410 | 20000 | 2.00 | 34 |");
        (measured.rows, measured.peak) = (None, None);
        assert_eq!(measured.to_line(), "| a check | 0.82 | 2.00 | 0.410 | 20000 | – | – |");
        assert_eq!(Measured::HEAD.lines().next().unwrap().matches('|').count(), 8);
    }
}
