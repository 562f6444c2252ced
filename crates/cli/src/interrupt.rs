//! Ctrl-C and SIGTERM.
//!
//! Until a command says that it can stop gracefully, a signal ends the process at once with the right code. Afterwards the
//! first signal only raises a flag, which long loops look at; a second one ends the process. So does time: a write to a pipe
//! that nobody reads would otherwise never come back to look.

use std::time::Duration;

use extentdb_base::sync::Arc;
use extentdb_base::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use extentdb_base::sync::thread;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::Exit;

/// How often the watch looks for a signal.
const WATCH_STEP: Duration = Duration::from_millis(100);
/// How long a command may take to end by itself.
const GRACE: Duration = Duration::from_secs(3);

/// Whether the user asked us to stop. Clones share one state.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    /// Number of the signal, 0 = none.
    signal: Arc<AtomicUsize>,
    /// The next signal ends the process at once.
    at_once: Arc<AtomicBool>,
}

impl Interrupt {
    /// Takes over both signals.
    pub(crate) fn install() -> std::io::Result<Interrupt> {
        let interrupt = Interrupt { signal: Arc::default(), at_once: Arc::new(AtomicBool::new(true)) };
        for signal in [SIGINT, SIGTERM] {
            let code = i32::from(Exit::Interrupted(signal as u8).code());
            // Actions run in the order of their registration: the process ends before the flags are raised again.
            flag::register_conditional_shutdown(signal, code, Arc::clone(&interrupt.at_once))?;
            flag::register(signal, Arc::clone(&interrupt.at_once))?;
            flag::register_usize(signal, Arc::clone(&interrupt.signal), signal as usize)?;
        }
        Ok(interrupt)
    }

    /// From now on the first signal is only noted: the caller promises to look at [`stopped`](Self::stopped) several times
    /// a second.
    pub(crate) fn stop_gracefully(&self) {
        let watch = self.clone();
        // Without the watch only a second signal would help.
        let started =
            thread::Builder::new().name("interrupt".to_owned()).spawn(move || watch.end_what_hangs());
        drop(started);
        self.at_once.store(false, Ordering::SeqCst);
    }

    fn end_what_hangs(&self) {
        loop {
            thread::sleep(WATCH_STEP);
            if let Some(exit) = self.stopped() {
                thread::sleep(GRACE);
                std::process::exit(exit.code().into());
            }
        }
    }

    /// Raised by the first signal once [`stop_gracefully`](Self::stop_gracefully) was called: for work that takes a flag.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.at_once
    }

    /// How to end, when a signal came.
    pub(crate) fn stopped(&self) -> Option<Exit> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(Exit::Interrupted(signal as u8)),
        }
    }
}
