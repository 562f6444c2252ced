//! The error log: lines on stderr, in the form that tools wait for.
//!
//! ```text
//! 2026-11-25 20:50:58.07 spid51      text
//! ```

use extentdb_base::env::{Clock, SystemClock};
use extentdb_base::sync::{Arc, Mutex, lock};

const SECONDS_PER_DAY: u64 = 86_400;
/// From 0001-01-01 to 1970-01-01.
const EPOCH_DAYS: u64 = 719_162;

type Sink = Box<dyn Fn(&str) + Send + Sync>;

/// Where lines go. Clones share it.
#[derive(Clone)]
pub struct ErrorLog {
    sink: Arc<Sink>,
    clock: Arc<dyn Clock>,
}

impl ErrorLog {
    /// Lines on stderr.
    #[must_use]
    pub fn stderr() -> ErrorLog {
        ErrorLog::to(Box::new(|line| eprintln!("{line}")))
    }

    /// Lines that `sink` takes.
    #[must_use]
    pub fn to(sink: Sink) -> ErrorLog {
        ErrorLog { sink: Arc::new(sink), clock: Arc::new(SystemClock::new()) }
    }

    /// Lines that are kept, for tests.
    #[must_use]
    pub fn kept() -> (ErrorLog, Arc<Mutex<Vec<String>>>) {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = lines.clone();
        (ErrorLog::to(Box::new(move |line| lock(&kept).push(line.to_owned()))), lines)
    }

    /// Writes a line of the server.
    pub fn server(&self, text: &str) {
        self.line("Server", text);
    }

    /// Writes a line about logins.
    pub(crate) fn logon(&self, text: &str) {
        self.line("Logon", text);
    }

    /// Writes a line of a session.
    pub(crate) fn session(&self, spid: u16, text: &str) {
        self.line(&format!("spid{spid}"), text);
    }

    fn line(&self, source: &str, text: &str) {
        (self.sink)(&format!("{} {source:<11} {text}", self.now()));
    }

    fn now(&self) -> String {
        let now = self.clock.since_epoch();
        let days = EPOCH_DAYS + now.as_secs() / SECONDS_PER_DAY;
        let date = u32::try_from(days).ok().and_then(|days| extentdb_types::Date::new(days).ok());
        let (year, month, day) = date.map_or((1970, 1, 1), |date| date.ymd());
        let seconds = now.as_secs() % SECONDS_PER_DAY;
        format!(
            "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}.{:02}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60,
            now.subsec_millis() / 10,
        )
    }
}

impl std::fmt::Debug for ErrorLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ErrorLog")
    }
}
