//! Where peers are found and where they work, and what a check of theirs took.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::report::Measured;

/// Where and how often peers are measured.
pub struct Setting<'s> {
    /// Where programs are.
    pub places: &'s Places,
    /// Where each peer gets its folder.
    pub folder: &'s Path,
    /// Runs of each check; the shortest counts.
    pub runs: u32,
    /// One physical check of ours, for checks that take turns with it, and how many turns.
    pub beside: (&'s dyn Fn() -> Result<Measured>, u32),
}

/// A check by a peer, measured.
#[derive(Clone, Debug)]
pub struct PeerCheck {
    /// What it looks at.
    pub depth: Depth,
    /// How long it took.
    pub measured: Measured,
    /// Our rate by bytes beside its own, the median of turns, where the two took turns.
    pub beside: Option<f64>,
}

/// What a check looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// Rows and indexes, against each other.
    Full,
    /// The checksum of each page.
    Checksums,
}

/// Folders in which programs are looked for.
pub struct Places(Vec<PathBuf>);

impl Places {
    /// The path, the folders of servers, and Debian's folders of PostgreSQL, the newest first.
    pub fn of_machine() -> Places {
        let mut folders: Vec<PathBuf> =
            std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect();
        folders.extend(["/usr/sbin", "/usr/local/sbin", "/usr/libexec"].map(PathBuf::from));
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let mut versions: Vec<PathBuf> = versions.map(|entry| entry.path()).collect();
        versions.sort_by_key(|path| std::cmp::Reverse(version_of(path)));
        folders.extend(versions.iter().map(|path| path.join("bin")));
        Places(folders)
    }

    /// These folders.
    pub fn new(folders: Vec<PathBuf>) -> Places {
        Places(folders)
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

/// A folder that goes when it is dropped.
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
        let places = Places::new(vec![root.path().join("a"), root.path().join("b")]);
        assert_eq!(places.find("initdb"), Some(root.path().join("a/initdb")));
        assert_eq!(places.folder_with(&["initdb", "psql"]), Some(&*root.path().join("b")));
        assert_eq!(places.folder_with(&["initdb", "postgres"]), None);
        assert_eq!(places.find("postgres"), None);
    }

    #[test]
    fn folders_of_versions_are_compared_as_numbers() {
        assert!(version_of(Path::new("postgresql/15")) > version_of(Path::new("postgresql/9")));
        assert_eq!(version_of(Path::new("postgresql/common")), 0);
    }
}
