//! From what was typed to files that the reader opens.
//!
//! ```text
//! spool     stdin and compressed files become temporary files
//! group     files of several databases, one group each (`check`)
//! siblings  the other files of a database, found in its folder
//! ```

pub(crate) mod group;
mod siblings;
mod spool;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use extentdb_reader::identify;

use crate::context::Context;
use crate::scratch::Scratch;

pub(crate) use siblings::add_siblings;

/// What files of databases and backups are usually called.
const ENDINGS: [&str; 6] = ["mdf", "ndf", "ldf", "bak", "trn", "dif"];

/// Puts a temporary file in the place of stdin (`-`) and of each compressed file. The files last as
/// long as what is returned.
pub(crate) fn spool(paths: &mut [PathBuf], context: &Context) -> anyhow::Result<Option<Scratch>> {
    spool::Spool::default().replace(paths, context)
}

/// Puts the files of each folder in its place: those that are of a database or a backup, or are
/// called so.
pub(crate) fn expand_folders(paths: &[PathBuf], context: &Context) -> anyhow::Result<Vec<PathBuf>> {
    let mut expanded: Vec<PathBuf> = paths.iter().filter(|path| !path.is_dir()).cloned().collect();
    let given: Vec<PathBuf> =
        expanded.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    for folder in paths.iter().filter(|path| path.is_dir()) {
        let files =
            files_in(folder).with_context(|| format!("cannot list {}", folder.display()))?;
        let (wanted, others): (Vec<PathBuf>, Vec<PathBuf>) =
            files.into_iter().partition(|path| is_named_so(path) || identify(path).is_ok());
        if !others.is_empty() {
            let count = others.len();
            let folder = folder.display();
            context.note(&format!("{folder}: {count} files are of no database and left out"));
        }
        let is_new =
            |path: &PathBuf| !fs::canonicalize(path).is_ok_and(|path| given.contains(&path));
        expanded.extend(wanted.into_iter().filter(is_new));
    }
    if expanded.is_empty() {
        bail!("there is no file of a database or a backup");
    }
    Ok(expanded)
}

/// Regular files of a folder, by name.
fn files_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// True for `x.mdf` and `x.bak.gz`: a file that is called so and cannot be read is worth a word.
fn is_named_so(path: &Path) -> bool {
    let path =
        if spool::is_named_compressed(path) { path.with_extension("") } else { path.to_path_buf() };
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}
