//! Where peers are found and where they work, and what a check of theirs took.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::report::Measured;

/// Where and how often peers work.
#[derive(Clone, Copy)]
pub(super) struct Workplace<'s> {
    /// Where programs are.
    pub(super) folders: &'s ProgramFolders,
    /// Where each peer creates its folder.
    pub(super) folder: &'s Path,
    /// Runs of each measurement; the shortest counts.
    pub(super) runs: u32,
}

/// Where and how often checks of peers are measured.
pub struct Setting<'s> {
    /// Where programs are.
    pub folders: &'s ProgramFolders,
    /// Where each peer gets its folder.
    pub folder: &'s Path,
    /// Runs of each check; the shortest counts.
    pub runs: u32,
    /// One physical check of ours, for checks that take turns with it, and how many turns.
    pub interleaved: (&'s dyn Fn() -> Result<Measured>, u32),
}

/// A check by a peer, measured.
#[derive(Clone, Debug)]
pub struct PeerCheck {
    /// Depth of the check.
    pub depth: Depth,
    /// Time, bytes and rows of the check.
    pub measured: Measured,
    /// Our rate by bytes divided by its own, the median of turns, if the two took turns.
    pub ratio: Option<f64>,
}

/// The depth of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// Rows and indexes, against each other.
    Full,
    /// The checksum of each page.
    Checksums,
}

/// Folders in which programs are searched.
pub struct ProgramFolders(Vec<PathBuf>);

impl ProgramFolders {
    /// The path, the folders of servers, and Debian's folders of PostgreSQL, the newest first.
    pub fn of_machine() -> ProgramFolders {
        let mut folders: Vec<PathBuf> =
            std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect();
        folders.extend(["/usr/sbin", "/usr/local/sbin", "/usr/libexec"].map(PathBuf::from));
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let mut versions: Vec<PathBuf> = versions.map(|entry| entry.path()).collect();
        versions.sort_by_key(|path| std::cmp::Reverse(version_of(path)));
        folders.extend(versions.iter().map(|path| path.join("bin")));
        ProgramFolders(folders)
    }

    /// Searches only these folders.
    pub fn new(folders: Vec<PathBuf>) -> ProgramFolders {
        ProgramFolders(folders)
    }

    /// Where a program is.
    pub fn find(&self, program: &str) -> Option<PathBuf> {
        self.0.iter().map(|folder| folder.join(program)).find(|path| path.is_file())
    }

    /// The first folder that has all of these programs.
    pub fn folder_with(&self, programs: &[&str]) -> Option<&Path> {
        let has_all =
            |folder: &&PathBuf| programs.iter().all(|program| folder.join(program).is_file());
        self.0.iter().find(has_all).map(PathBuf::as_path)
    }
}

/// The number a folder is called by.
fn version_of(path: &Path) -> u32 {
    path.file_name().and_then(|name| name.to_str()?.parse().ok()).unwrap_or(0)
}

/// A folder that is deleted on drop.
pub(super) fn new_folder(parent: &Path, name: &str) -> Result<TempDir> {
    let made = tempfile::Builder::new().prefix(&format!("extentdb-{name}-")).tempdir_in(parent);
    made.with_context(|| format!("a folder in {}", parent.display()))
}

/// Bytes of all files below a folder.
pub(super) fn folder_bytes(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let meta = entry.metadata()?;
        sum += if meta.is_dir() { folder_bytes(&entry.path())? } else { meta.len() };
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_belong_together_come_from_one_folder() {
        let root = TempDir::new().unwrap();
        for (folder, program) in [("a", "initdb"), ("b", "initdb"), ("b", "psql")] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
            std::fs::write(root.path().join(folder).join(program), "").unwrap();
        }
        let folders = ProgramFolders::new(vec![root.path().join("a"), root.path().join("b")]);
        assert_eq!(folders.find("initdb"), Some(root.path().join("a/initdb")));
        assert_eq!(folders.folder_with(&["initdb", "psql"]), Some(&*root.path().join("b")));
        assert_eq!(folders.folder_with(&["initdb", "postgres"]), None);
        assert_eq!(folders.find("postgres"), None);
    }

    #[test]
    fn folders_of_versions_are_compared_as_numbers() {
        assert!(version_of(Path::new("postgresql/15")) > version_of(Path::new("postgresql/9")));
        assert_eq!(version_of(Path::new("postgresql/common")), 0);
    }
}
