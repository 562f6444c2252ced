//! Signals to the program, and named pipes, without programs of the system.

use std::path::Path;
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Sends a signal.
pub(crate) fn send(child: &Child, signal: Signal) {
    let id = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(id, signal).unwrap();
}

/// Waits until the program handles Ctrl-C, where the system tells.
pub(crate) fn until_it_listens(child: &Child) {
    const SIGINT_BIT: u64 = 1 << 1;
    let handles = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
        Some(u64::from_str_radix(mask.trim(), 16).unwrap() & SIGINT_BIT != 0)
    };
    until(|| handles() == Some(true));
}

/// Waits until a condition holds; gives up after a minute, so that the test says what it misses.
pub(crate) fn until(mut condition: impl FnMut() -> bool) {
    for _ in 0..1200 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Makes a named pipe.
pub(crate) fn make_pipe(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}
