//! The progress line on stderr: percent, rate, time left. Rate and time left are those of the last
//! 30 seconds.
//!
//! On a terminal one line that moves; elsewhere a plain line every 10 seconds. The working thread
//! calls [`Progress::add`], which looks at the clock and draws when it is time: there is no thread.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::time::Duration;

use extentdb_base::env::Clock;
use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::{Arc, Mutex, lock};

use crate::options::ProgressMode;

/// Commands shorter than this show nothing.
const FIRST_REPORT_AFTER: Duration = Duration::from_millis(700);
/// Between two pictures on a terminal.
const TERMINAL_STEP: Duration = Duration::from_millis(200);
/// Between two plain lines.
const PLAIN_STEP: Duration = Duration::from_secs(10);
/// Between two plain lines that were asked for.
const ALWAYS_STEP: Duration = Duration::from_secs(1);

/// What the rate is measured over.
const WINDOW: Duration = Duration::from_secs(30);

/// Where the work was.
#[derive(Clone, Copy, Default)]
struct Mark {
    elapsed: Duration,
    done: u64,
    bytes: u64,
}

/// Counts work and shows how far it is. Shared by all threads of a command.
pub(crate) struct Progress {
    clock: Arc<dyn Clock>,
    what: String,
    step: Option<Duration>,
    is_terminal: bool,
    start: Duration,
    /// Work to do, in units; 0 = not known.
    total: AtomicU64,
    done: AtomicU64,
    bytes: AtomicU64,
    /// What else is worth knowing.
    note: Mutex<String>,
    /// Where the work was at the pictures of the last half minute.
    recent: Mutex<VecDeque<Mark>>,
    /// When to draw next, in milliseconds of the clock.
    next: AtomicU64,
}

impl Progress {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        mode: ProgressMode,
        what: &str,
        total: u64,
    ) -> Progress {
        let is_terminal = io::stderr().is_terminal();
        let step = match mode {
            ProgressMode::Never => None,
            _ if is_terminal => Some(TERMINAL_STEP),
            ProgressMode::Always => Some(ALWAYS_STEP),
            ProgressMode::Auto => Some(PLAIN_STEP),
        };
        let start = clock.monotonic();
        let first = if is_terminal { FIRST_REPORT_AFTER } else { step.unwrap_or_default() };
        let next = AtomicU64::new(milliseconds(start + first));
        let total = AtomicU64::new(total);
        let done = AtomicU64::new(0);
        let bytes = AtomicU64::new(0);
        let what = what.to_owned();
        let note = Mutex::default();
        let recent = Mutex::new(VecDeque::from([Mark::default()]));
        Progress {
            clock,
            what,
            step,
            is_terminal,
            start,
            total,
            done,
            bytes,
            note,
            recent,
            next,
        }
    }

    /// Notes `units` of work and `bytes` handled, and draws when it is time.
    pub(crate) fn add(&self, units: u64, bytes: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.draw_when_due();
    }

    /// Says where the work is: `done` units of `total`, `bytes` handled, and what else is worth
    /// knowing. For callers that count themselves.
    pub(crate) fn show(&self, done: u64, total: u64, bytes: u64, note: &str) {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
        note.clone_into(&mut lock(&self.note));
        self.draw_when_due();
    }

    fn draw_when_due(&self) {
        let Some(step) = self.step else { return };
        let now = self.clock.monotonic();
        let due = self.next.load(Ordering::Relaxed);
        let later = milliseconds(now + step);
        // Of several threads that find it is time, one draws.
        if milliseconds(now) >= due
            && self.next.compare_exchange(due, later, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            self.draw(now);
        }
    }

    fn draw(&self, now: Duration) {
        let line = self.line(now.saturating_sub(self.start));
        let mut stderr = io::stderr().lock();
        // Progress that cannot be shown is no reason to stop.
        let _ = if self.is_terminal {
            write!(stderr, "\r\x1b[K{line}")
        } else {
            writeln!(stderr, "{line}")
        };
        let _ = stderr.flush();
    }

    fn line(&self, elapsed: Duration) -> String {
        let done = self.done.load(Ordering::Relaxed);
        let bytes = self.bytes.load(Ordering::Relaxed);
        let total = self.total.load(Ordering::Relaxed);
        let mut line = self.what.clone();
        if total > 0 {
            let _ = write!(line, " {:.1} %", 100.0 * done.min(total) as f64 / total as f64);
        }
        let before = self.pass(Mark { elapsed, done, bytes });
        let seconds = elapsed.saturating_sub(before.elapsed).as_secs_f64().max(0.001);
        let done_since = done.saturating_sub(before.done);
        let bytes_since = bytes.saturating_sub(before.bytes);
        let _ = write!(line, ", {}", rate(bytes_since as f64 / seconds));
        if done_since > 0 && total > done {
            let left = seconds / done_since as f64 * (total - done) as f64;
            let _ = write!(line, ", ETA {}", hours(left));
        }
        let note = lock(&self.note);
        if !note.is_empty() {
            let _ = write!(line, ", {note}");
        }
        line
    }
}

impl Progress {
    /// Notes where the work is; where it was half a minute ago, or at the start.
    fn pass(&self, now: Mark) -> Mark {
        let mut recent = lock(&self.recent);
        // The first mark that is old enough stays: the window is never shorter than it says.
        while recent.get(1).is_some_and(|mark| now.elapsed.saturating_sub(mark.elapsed) >= WINDOW) {
            recent.pop_front();
        }
        let before = recent.front().copied().unwrap_or_default();
        recent.push_back(now);
        before
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_terminal && self.step.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A rate in decimal units.
fn rate(bytes_per_second: f64) -> String {
    match bytes_per_second {
        r if r >= 1e9 => format!("{:.2} GB/s", r / 1e9),
        r if r >= 1e6 => format!("{:.1} MB/s", r / 1e6),
        r => format!("{:.0} kB/s", r / 1e3),
    }
}

/// Seconds as `h:mm:ss`.
fn hours(seconds: f64) -> String {
    // A cast from a float saturates.
    let seconds = seconds.round() as u64;
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Still;

    impl Clock for Still {
        fn monotonic(&self) -> Duration {
            Duration::from_secs(100)
        }

        fn since_epoch(&self) -> Duration {
            Duration::ZERO
        }
    }

    #[test]
    fn the_line_shows_percent_rate_and_time_left() {
        let progress = Progress::new(Arc::new(Still), ProgressMode::Never, "check", 200);
        assert_eq!(progress.line(Duration::from_secs(10)), "check 0.0 %, 0 kB/s");
        progress.add(50, 3_000_000_000);
        assert_eq!(progress.line(Duration::from_secs(10)), "check 25.0 %, 300.0 MB/s, ETA 0:00:30");
        progress.add(150, 27_000_000_000);
        assert_eq!(progress.line(Duration::from_secs(10)), "check 100.0 %, 3.00 GB/s");
        progress.show(100, 400, 3_000_000_000, "2 findings");
        let line = progress.line(Duration::from_secs(10));
        assert_eq!(line, "check 25.0 %, 300.0 MB/s, ETA 0:00:30, 2 findings");
    }

    #[test]
    fn the_rate_is_that_of_the_last_half_minute() {
        let progress = Progress::new(Arc::new(Still), ProgressMode::Never, "check", 0);
        progress.show(1_000, 10_000, 100_000_000_000, "");
        progress.line(Duration::from_secs(10));
        progress.show(1_000, 10_000, 100_000_000_000, "");
        progress.line(Duration::from_secs(100));
        progress.show(1_100, 10_000, 100_400_000_000, "");
        let line = progress.line(Duration::from_secs(140));
        assert_eq!(line, "check 11.0 %, 10.0 MB/s, ETA 0:59:20");
    }
}
