//! Files and folders that must not outlive the process unless they become a result: partial
//! outputs, spooled inputs, the folder of `demo`.
//!
//! Each is registered before it is made and removed when its guard is dropped. A process that a
//! signal ends drops nothing, so the thread that handles signals calls [`end_process`], which
//! removes whatever is still registered and says so.

#![cfg_attr(not(feature = "server"), allow(dead_code, reason = "processes are started by `demo`"))]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use extentdb_base::sync::{Arc, Mutex, lock, thread};

use crate::exit::{self, Exit};

/// What the process has under temporary names.
static REGISTERED: Mutex<Vec<Registered>> = Mutex::new(Vec::new());

/// How often the removal of a folder is tried while processes that we killed may still be ending in
/// it.
const REMOVALS: u32 = 20;
/// Between two tries.
const REMOVAL_STEP: Duration = Duration::from_millis(25);

enum Registered {
    Path(PathBuf),
    Process { id: u32, child: Arc<Mutex<Child>> },
}

/// A file or folder that is removed when this guard is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    /// False once the file has become a result.
    is_ours: bool,
}

impl Scratch {
    /// Registers what the caller has just created, or is about to create at a path where nothing
    /// exists.
    pub(crate) fn new(path: PathBuf) -> Scratch {
        lock(&REGISTERED).push(Registered::Path(path.clone()));
        Scratch { path, is_ours: true }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the file to its final name.
    pub(crate) fn rename(self, to: &Path) -> std::io::Result<()> {
        Scratch::rename_all(vec![(self, to)])
    }

    /// Renames files to their final names. A signal waits until all have theirs.
    pub(crate) fn rename_all(files: Vec<(Scratch, &Path)>) -> std::io::Result<()> {
        let mut registered = lock(&REGISTERED);
        let mut renamed = Ok(());
        let mut rest = files.into_iter();
        let mut finished = Vec::new();
        for (mut file, to) in rest.by_ref() {
            renamed = fs::rename(&file.path, to);
            file.is_ours = renamed.is_err();
            if renamed.is_ok() {
                forget(&mut registered, &file.path);
            }
            finished.push(file);
            if renamed.is_err() {
                break;
            }
        }
        // Dropping a guard takes the lock.
        drop(registered);
        renamed
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut registered = lock(&REGISTERED);
        if self.is_ours {
            // What is left over on a failing disk cannot be helped.
            let _ = remove(&self.path);
        }
        forget(&mut registered, &self.path);
    }
}

/// A process of ours, killed when we end first.
pub(crate) struct Running {
    id: u32,
    child: Arc<Mutex<Child>>,
}

impl Running {
    /// Registers a process.
    pub(crate) fn new(child: Child) -> Running {
        let id = child.id();
        let child = Arc::new(Mutex::new(child));
        lock(&REGISTERED).push(Registered::Process { id, child: Arc::clone(&child) });
        Running { id, child }
    }

    /// The process, for as long as the guard is held: a signal waits for it.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut Child) -> R) -> R {
        work(&mut lock(&self.child))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let is_other =
            |entry: &Registered| !matches!(entry, Registered::Process { id, .. } if *id == self.id);
        lock(&REGISTERED).retain(is_other);
    }
}

/// Runs a program to its end and collects what it prints. A signal that ends us ends it, too.
pub(crate) fn output(command: &mut Command) -> std::io::Result<Output> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let pipes = (child.stdout.take(), child.stderr.take());
    let running = Running::new(child);
    let read = |pipe: Option<&mut dyn Read>| {
        let mut bytes = Vec::new();
        pipe.map_or(Ok(0), |pipe| pipe.read_to_end(&mut bytes)).map(|_| bytes)
    };
    let (mut stdout, mut stderr) = pipes;
    let (stdout, stderr) = thread::scope(|scope| {
        let stderr = scope.spawn(|| read(stderr.as_mut().map(|pipe| pipe as _)));
        let stdout = read(stdout.as_mut().map(|pipe| pipe as _));
        (stdout, stderr.join().unwrap_or_else(|_| Ok(Vec::new())))
    });
    // Its pipes are closed: it does not run much longer.
    let status = running.with(Child::wait)?;
    Ok(Output { status, stdout: stdout?, stderr: stderr? })
}

/// Removes everything that is registered, says what was removed, and ends the process.
pub(crate) fn end_process(exit: Exit) -> ! {
    // Held to the end: no thread makes a new file now.
    let mut registered = lock(&REGISTERED);
    let entries = std::mem::take(&mut *registered);
    for entry in &entries {
        if let Registered::Process { child, .. } = entry {
            // A process that has ended by itself needs no kill.
            let _ = lock(child).kill();
        }
    }
    for entry in &entries {
        let Registered::Path(path) = entry else { continue };
        match remove(path) {
            Ok(true) => exit::say(&format!("interrupted: {} was removed", path.display())),
            Ok(false) => {}
            Err(error) => {
                exit::say(&format!("interrupted: {} was not removed: {error}", path.display()))
            }
        }
    }
    std::process::exit(exit.code().into())
}

/// Removes a file or a folder; false when there is none.
fn remove(path: &Path) -> std::io::Result<bool> {
    let Ok(metadata) = path.symlink_metadata() else { return Ok(false) };
    if !metadata.is_dir() {
        return fs::remove_file(path).map(|()| true);
    }
    let mut removed = fs::remove_dir_all(path);
    for _ in 1..REMOVALS {
        if removed.is_ok() {
            break;
        }
        thread::sleep(REMOVAL_STEP);
        removed = fs::remove_dir_all(path);
    }
    removed.map(|()| true)
}

fn forget(registered: &mut Vec<Registered>, path: &Path) {
    registered.retain(|entry| !matches!(entry, Registered::Path(other) if other == path));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_guard_removes_its_file_or_folder_and_a_renamed_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let guard = Scratch::new(file.clone());
        fs::write(&file, b"x").unwrap();
        drop(guard);
        assert!(!file.exists());
        let inner = folder.path().join("inner");
        let guard = Scratch::new(inner.clone());
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("y"), b"y").unwrap();
        drop(guard);
        assert!(!inner.exists());
        let guard = Scratch::new(file.clone());
        fs::write(&file, b"z").unwrap();
        let named = folder.path().join("named");
        guard.rename(&named).unwrap();
        assert_eq!(fs::read(named).unwrap(), b"z");
        assert!(!file.exists());
    }
}
