//! Where a result goes: stdout, a file that appears under its name when it is whole, or a device,
//! pipe or socket.
//!
//! A file is written beside its place as `NAME.partial` and renamed at the end, after its bytes are
//! durable, so that nobody ever finds half a result under the real name. It replaces another file
//! only when that was asked for (`--force`), and then takes its owner and mode. A result that was
//! cut short on purpose gets `.incomplete` after its name. An input file is never replaced, by
//! whatever path it is reached. What is not a regular file is written through ([`destination`]).

mod destination;

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use extentdb_io::File as InputFile;

use crate::scratch::Scratch;
use crate::terminal::Reader;
use destination::Destination;

/// What to do when a file of the wanted name exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Existing {
    /// It stays, and nothing is written.
    Refuse,
    /// It is replaced when the new one is whole.
    Replace,
}

/// A result being written.
pub(crate) struct Output {
    to: OutputTarget,
}

enum OutputTarget {
    Stdout(io::Stdout),
    /// A device, a pipe, or what the shell has opened.
    Opened(fs::File),
    #[cfg(unix)]
    Socket(std::os::unix::net::UnixStream),
    File(Pending),
}

/// A file under its temporary name; removed when it is dropped unfinished.
struct Pending {
    /// Locked, so that another run does not take it for a leftover.
    file: fs::File,
    partial: Scratch,
    path: PathBuf,
}

impl Output {
    /// Stdout without a path.
    pub(crate) fn open(
        path: Option<&Path>,
        inputs: &[PathBuf],
        existing: Existing,
    ) -> anyhow::Result<Output> {
        let Some(path) = path else { return Ok(Output { to: OutputTarget::Stdout(io::stdout()) }) };
        let failed = || format!("cannot write to {}", path.display());
        let to = match Destination::of(path)? {
            Destination::Create(path) => OutputTarget::File(Pending::create(&path, existing)?),
            Destination::Replace(file) => {
                refuse_input(&file, inputs)?;
                if existing == Existing::Refuse {
                    bail!("{} exists: --force replaces it", path.display());
                }
                OutputTarget::File(Pending::replace(&file, existing)?)
            }
            Destination::Through(path) => OutputTarget::Opened(
                fs::OpenOptions::new().write(true).open(path).with_context(failed)?,
            ),
            Destination::Append(path) => {
                refuse_input(&path, inputs)?;
                OutputTarget::Opened(
                    fs::OpenOptions::new().append(true).open(path).with_context(failed)?,
                )
            }
            #[cfg(unix)]
            Destination::Socket(path) => OutputTarget::Socket(
                std::os::unix::net::UnixStream::connect(path).with_context(failed)?,
            ),
            #[cfg(not(unix))]
            Destination::Socket(_) => bail!("cannot write to {}: it is a socket", path.display()),
        };
        Ok(Output { to })
    }

    /// Who may read it.
    pub(crate) fn reader(&self) -> Reader {
        if matches!(self.to, OutputTarget::Stdout(_)) { Reader::Stdout } else { Reader::Elsewhere }
    }

    /// Writes a JSON document and a line end.
    pub(crate) fn write_json(&mut self, value: &serde_json::Value) -> io::Result<()> {
        let mut buffered = io::BufWriter::with_capacity(256 << 10, &mut *self);
        serde_json::to_writer_pretty(&mut buffered, value).map_err(io::Error::from)?;
        buffered.write_all(b"\n")?;
        buffered.flush()
    }

    /// The whole result was written: the file takes its name.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        self.flush()?;
        if let OutputTarget::File(pending) = self.to {
            let path = pending.path.clone();
            pending.rename(&path)?;
        }
        Ok(())
    }

    /// Only a part was written: the file is kept under a name that says so, which is returned.
    pub(crate) fn finish_incomplete(mut self) -> anyhow::Result<Option<PathBuf>> {
        self.flush()?;
        let OutputTarget::File(pending) = self.to else { return Ok(None) };
        let path = with_suffix(&pending.path, ".incomplete");
        if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
            bail!("cannot keep the incomplete result: {} is not a file", path.display());
        }
        pending.rename(&path)?;
        Ok(Some(path))
    }
}

impl Pending {
    fn create(path: &Path, existing: Existing) -> anyhow::Result<Pending> {
        let partial = partial_name(path);
        if existing == Existing::Replace {
            remove_leftover(&partial)?;
        }
        let (file, partial) = create_partial(&partial)?;
        Ok(Pending { file, partial, path: path.to_path_buf() })
    }

    /// A file that will take the place of another, with its owner and mode.
    fn replace(path: &Path, existing: Existing) -> anyhow::Result<Pending> {
        let old = fs::metadata(path).with_context(|| path.display().to_string())?;
        let pending = Pending::create(path, existing)?;
        let failed = || format!("cannot give {} the owner and mode that it has", path.display());
        keep_owner(&pending.file, &old).with_context(failed)?;
        pending.file.set_permissions(old.permissions()).with_context(failed)?;
        Ok(pending)
    }

    fn rename(self, path: &Path) -> anyhow::Result<()> {
        let Pending { file, partial, .. } = self;
        file.sync_all().with_context(|| format!("cannot write {}", partial.path().display()))?;
        let failed = format!("cannot rename {} to {}", partial.path().display(), path.display());
        partial.rename(path).context(failed)?;
        sync_folder(path);
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            OutputTarget::Stdout(stdout) => stdout.write(bytes),
            OutputTarget::Opened(file) => file.write(bytes),
            #[cfg(unix)]
            OutputTarget::Socket(socket) => socket.write(bytes),
            OutputTarget::File(pending) => pending.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            OutputTarget::Stdout(stdout) => stdout.flush(),
            OutputTarget::Opened(file) => file.flush(),
            #[cfg(unix)]
            OutputTarget::Socket(socket) => socket.flush(),
            OutputTarget::File(pending) => pending.file.flush(),
        }
    }
}

/// `NAME.partial`: the name of a file that is being written.
pub(crate) fn partial_name(path: &Path) -> PathBuf {
    with_suffix(path, ".partial")
}

/// Creates a partial file, which must not exist, and locks it.
fn create_partial(partial: &Path) -> anyhow::Result<(fs::File, Scratch)> {
    match fs::OpenOptions::new().write(true).create_new(true).open(partial) {
        Ok(file) => {
            // A file system without locks has no leftovers to be told apart.
            let _ = file.try_lock();
            Ok((file, Scratch::new(partial.to_path_buf())))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            bail!(
                "{} exists: another run is writing it, or was killed; --force replaces it if nobody writes it",
                partial.display()
            )
        }
        Err(error) => Err(error).with_context(|| format!("cannot create {}", partial.display())),
    }
}

/// Removes the partial file of a run that was killed; that of a run that is still writing stays.
fn remove_leftover(partial: &Path) -> anyhow::Result<()> {
    let Ok(metadata) = partial.symlink_metadata() else { return Ok(()) };
    let failed = || format!("cannot replace {}", partial.display());
    if !metadata.is_file() {
        bail!("{}: it is not a file", failed());
    }
    let file = fs::OpenOptions::new().write(true).open(partial).with_context(failed)?;
    if let Err(fs::TryLockError::WouldBlock) = file.try_lock() {
        bail!("{}: another run is writing it", failed());
    }
    fs::remove_file(partial).with_context(failed)
}

#[cfg(unix)]
fn keep_owner(file: &fs::File, old: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) == (old.uid(), old.gid()) {
        return Ok(());
    }
    fchown(file, Some(old.uid()), Some(old.gid()))
}

#[cfg(not(unix))]
fn keep_owner(_: &fs::File, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// Makes a rename durable where folders can be synced; where not, the file has either of its names
/// after a crash.
fn sync_folder(path: &Path) {
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
}

/// Refuses a path that leads to one of the inputs.
fn refuse_input(path: &Path, inputs: &[PathBuf]) -> anyhow::Result<()> {
    // A path that cannot be opened as a file is none of the inputs, which were.
    let Ok(existing) = InputFile::open_read(path).and_then(|file| file.identity()) else {
        return Ok(());
    };
    for input in inputs {
        if InputFile::open_read(input)
            .and_then(|file| file.identity())
            .is_ok_and(|identity| identity == existing)
        {
            bail!("{} is an input file: it will not be overwritten", path.display());
        }
    }
    Ok(())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests;
