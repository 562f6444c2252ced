//! Why a database went offline: the first cause, shared by log, buffer pool and database.
//!
//! ```text
//! a durable write fails ──▶ Outage::begin(cause): the first one stays, the observer hears of it once
//! every later call      ──▶ Outage::verify: Err(the first cause)
//! ```
//!
//! Invariant: an outage never ends, and its cause never changes.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::FileId;

/// The first failure that made a database stop: what failed, with every reason below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfflineCause {
    text: Arc<str>,
    /// The file that refused; `None` when it was none, or the log.
    pub file: Option<FileId>,
}

impl OfflineCause {
    /// The message of an error and of all its sources.
    pub fn new(file: Option<FileId>, error: &(dyn Error + 'static)) -> OfflineCause {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            let reason = error.to_string();
            // A transparent error repeats what its source says.
            if !text.ends_with(&reason) {
                text.push_str(": ");
                text.push_str(&reason);
            }
            source = error.source();
        }
        OfflineCause { text: text.into(), file }
    }

    /// A cause that no error describes.
    pub fn text(file: Option<FileId>, text: &str) -> OfflineCause {
        OfflineCause { text: text.into(), file }
    }
}

impl fmt::Display for OfflineCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

type Observer = Box<dyn Fn(&OfflineCause) + Send + Sync>;

#[derive(Default)]
struct Shared {
    first: OnceLock<OfflineCause>,
    observer: OnceLock<Observer>,
}

/// Whether a database is offline, and why. Clones share one state.
#[derive(Clone, Default)]
pub struct Outage(Arc<Shared>);

impl Outage {
    /// Takes the database offline. Only the first cause counts.
    pub fn begin(&self, cause: OfflineCause) {
        if self.0.first.set(cause).is_ok()
            && let (Some(cause), Some(observer)) = (self.cause(), self.0.observer.get())
        {
            observer(cause);
        }
    }

    /// Calls `observer` when the outage begins. The first observer stays; others are ignored.
    pub fn observe(&self, observer: impl Fn(&OfflineCause) + Send + Sync + 'static) {
        // A second observer belongs to a second pool over the same log, which only tests make.
        let _ = self.0.observer.set(Box::new(observer));
    }

    /// The first cause; `None` while the database is online.
    pub fn cause(&self) -> Option<&OfflineCause> {
        self.0.first.get()
    }

    /// Has the outage begun?
    pub fn has_begun(&self) -> bool {
        self.cause().is_some()
    }

    /// Fails after the outage began, with its first cause.
    ///
    /// # Errors
    /// The first cause.
    pub fn verify(&self) -> Result<(), OfflineCause> {
        self.cause().map_or(Ok(()), |cause| Err(cause.clone()))
    }
}

impl fmt::Debug for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outage({:?})", self.cause())
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::sync::{Mutex, lock};

    #[test]
    fn the_first_cause_stays_and_is_reported_once() {
        let outage = Outage::default();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let copy = heard.clone();
        outage.observe(move |cause| lock(&copy).push(cause.to_string()));
        assert_eq!(outage.verify(), Ok(()));
        let inner = io::Error::other("the device is gone");
        outage.begin(OfflineCause::new(Some(FileId(3)), &io::Error::other(inner)));
        outage.begin(OfflineCause::text(None, "a consequence"));
        let cause = outage.verify().unwrap_err();
        assert_eq!(
            (cause.to_string().as_str(), cause.file),
            ("the device is gone", Some(FileId(3)))
        );
        assert_eq!(*lock(&heard), ["the device is gone"]);
    }
}
