//! Ctrl-C and SIGTERM.
//!
//! A thread waits for signals. Until a command says that it can stop gracefully, the first one ends
//! the process at once, with the right code and without leaving temporary files. Afterwards the
//! first signal only raises a flag, which long loops look at; a second one ends the process. So
//! does time: a write to a pipe that nobody reads would otherwise never come back to look.

use std::time::Duration;

use extentdb_base::sync::Arc;
use extentdb_base::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use extentdb_base::sync::thread;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::exit::Exit;
use crate::scratch;

/// How long a command may take to end by itself.
const GRACE: Duration = Duration::from_secs(3);

/// Whether the user asked us to stop. Clones share one state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt {
    /// Number of the first signal, 0 = none.
    signal: Arc<AtomicUsize>,
    /// Raised by the first signal once the command can stop gracefully.
    flag: Arc<AtomicBool>,
    /// The command looks at the flag several times a second.
    is_graceful: Arc<AtomicBool>,
    /// Signals are handled elsewhere.
    is_left: Arc<AtomicBool>,
}

impl Interrupt {
    /// Takes over both signals.
    pub(crate) fn install() -> std::io::Result<Interrupt> {
        let interrupt = Interrupt::default();
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let watch = interrupt.clone();
        let handle = move || signals.forever().for_each(|signal| watch.received(signal as u8));
        thread::Builder::new().name("interrupt".to_owned()).spawn(handle)?;
        Ok(interrupt)
    }

    fn received(&self, signal: u8) {
        if self.is_left.load(Ordering::SeqCst) {
            return;
        }
        let is_first = self
            .signal
            .compare_exchange(0, signal.into(), Ordering::SeqCst, Ordering::SeqCst)
            .is_ok();
        let exit = Exit::Interrupted(signal);
        if !is_first || !self.is_graceful.load(Ordering::SeqCst) {
            scratch::end_process(exit);
        }
        self.flag.store(true, Ordering::SeqCst);
        let end = move || {
            thread::sleep(GRACE);
            scratch::end_process(exit)
        };
        // Without this thread only a second signal would help.
        let _ = thread::Builder::new().name("grace".to_owned()).spawn(end);
    }

    /// From now on the first signal is only noted: the caller promises to look at
    /// [`stopped`](Self::stopped) several times a second.
    pub(crate) fn stop_gracefully(&self) {
        self.is_graceful.store(true, Ordering::SeqCst);
    }

    /// From now on signals are another's business: a server ends when its connections have.
    #[cfg(feature = "server")]
    pub(crate) fn leave_to_server(&self) {
        self.is_left.store(true, Ordering::SeqCst);
    }

    /// Raised by the first signal once [`stop_gracefully`](Self::stop_gracefully) was called: for
    /// work that takes a flag.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.flag
    }

    /// How to end, when a signal came.
    pub(crate) fn stopped(&self) -> Option<Exit> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(Exit::Interrupted(signal as u8)),
        }
    }
}
