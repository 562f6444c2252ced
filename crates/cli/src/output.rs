//! Where a result goes: stdout, or a file that appears under its name when it is whole.
//!
//! A file is written beside its place under a temporary name and renamed at the end, so that nobody ever finds half a result
//! under the real name. A result that was cut short on purpose gets `.incomplete` behind its name. An input file is never
//! replaced, by whatever path it is reached.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use extentdb_io::File as InputFile;

/// A result being written.
pub(crate) struct Output {
    to: Target,
}

enum Target {
    Stdout(io::Stdout),
    File(Pending),
}

/// A file under its temporary name; removed when it is dropped unfinished.
struct Pending {
    file: fs::File,
    temporary: PathBuf,
    path: PathBuf,
    settled: bool,
}

impl Output {
    /// Stdout without a path.
    pub(crate) fn open(path: Option<&Path>, inputs: &[PathBuf]) -> anyhow::Result<Output> {
        let to = match path {
            None => Target::Stdout(io::stdout()),
            Some(path) => Target::File(Pending::create(path, inputs)?),
        };
        Ok(Output { to })
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
        if let Target::File(pending) = self.to {
            let path = pending.path.clone();
            pending.rename(&path)?;
        }
        Ok(())
    }

    /// Only a part was written: the file is kept under a name that says so, which is returned.
    pub(crate) fn finish_incomplete(mut self) -> anyhow::Result<Option<PathBuf>> {
        self.flush()?;
        let Target::File(pending) = self.to else { return Ok(None) };
        let path = with_suffix(&pending.path, ".incomplete");
        pending.rename(&path)?;
        Ok(Some(path))
    }
}

impl Pending {
    fn create(path: &Path, inputs: &[PathBuf]) -> anyhow::Result<Pending> {
        refuse_input(path, inputs)?;
        if path.file_name().is_none() || path.is_dir() {
            bail!("cannot write to {}: it is a folder", path.display());
        }
        let temporary = with_suffix(path, &format!(".{}.tmp", std::process::id()));
        let failed = || format!("cannot create {}", temporary.display());
        let file =
            fs::OpenOptions::new().write(true).create_new(true).open(&temporary).with_context(failed)?;
        Ok(Pending { file, temporary, path: path.to_path_buf(), settled: false })
    }

    fn rename(mut self, path: &Path) -> anyhow::Result<()> {
        let failed = || format!("cannot rename {} to {}", self.temporary.display(), path.display());
        fs::rename(&self.temporary, path).with_context(failed)?;
        self.settled = true;
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.settled {
            // What is left over on a failing disk cannot be helped.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            Target::Stdout(stdout) => stdout.write(bytes),
            Target::File(pending) => pending.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            Target::Stdout(stdout) => stdout.flush(),
            Target::File(pending) => pending.file.flush(),
        }
    }
}

/// Refuses a path that leads to one of the inputs.
fn refuse_input(path: &Path, inputs: &[PathBuf]) -> anyhow::Result<()> {
    // A path that cannot be opened as a file is none of the inputs, which were.
    let Ok(existing) = InputFile::open_read(path).and_then(|file| file.identity()) else { return Ok(()) };
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
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = entries.collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_only_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        let mut output = Output::open(Some(&path), &[]).unwrap();
        output.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(output);
        assert_eq!(names(folder.path()), Vec::<String>::new());
        let mut output = Output::open(Some(&path), &[]).unwrap();
        output.write_all(b"whole").unwrap();
        output.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        let output = Output::open(Some(&path), &[]).unwrap();
        output.finish_incomplete().unwrap();
        assert_eq!(names(folder.path()), ["out.txt", "out.txt.incomplete"]);
    }

    #[test]
    fn an_input_is_not_overwritten_by_any_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("x.mdf");
        fs::write(&input, b"evidence").unwrap();
        let other_name = folder.path().join("y.mdf");
        fs::hard_link(&input, &other_name).unwrap();
        for name in [&input, &other_name] {
            let error = Output::open(Some(name), std::slice::from_ref(&input)).err().unwrap().to_string();
            assert!(error.contains("will not be overwritten"), "{error}");
        }
        assert_eq!(fs::read(&input).unwrap(), b"evidence");
    }
}
