//! The house as text: every source file, read once, for rules that look at all of them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Folders with sources, and the names inside them that hold none.
const ROOMS: [&str; 9] =
    [".ci", ".cargo", "bench", "clients", "crates", "docs", "fuzz", "tests", "xtask"];
const SKIPPED: [&str; 4] = ["target", "corpus", "artifacts", "node_modules"];
/// What counts as a source: these endings, and files in the root without one.
const ENDINGS: [&str; 5] = ["md", "rs", "sh", "toml", "tsv"];

/// Every source file of the repository.
pub struct House {
    files: Vec<SourceFile>,
}

/// A source file.
pub struct SourceFile {
    /// From the root, with forward slashes.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// Something that breaks a rule of the house.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Complaint {
    /// File, from the root.
    pub path: String,
    /// Line, from 1; 0 when it is about the file as a whole.
    pub line: usize,
    /// What is wrong and what to do instead.
    pub text: String,
}

/// The root of the repository this program was built in.
pub fn root() -> PathBuf {
    // As cargo says it at every run: two checkouts may share a build folder, and this program.
    let own = std::env::var_os("CARGO_MANIFEST_DIR");
    let own = own.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

impl House {
    /// Reads the sources below `root`.
    pub fn read(root: &Path) -> Result<House> {
        let mut files = Vec::new();
        for entry in entries(root)? {
            if entry.is_file() && is_source(&entry, true) {
                files.push(read_source(root, &entry)?);
            }
        }
        let mut folders: Vec<PathBuf> =
            ROOMS.iter().map(|room| root.join(room)).filter(|it| it.is_dir()).collect();
        while let Some(folder) = folders.pop() {
            for entry in entries(&folder)? {
                if entry.is_dir() && !SKIPPED.iter().any(|name| entry.ends_with(name)) {
                    folders.push(entry);
                } else if entry.is_file() && is_source(&entry, false) {
                    files.push(read_source(root, &entry)?);
                }
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(House { files })
    }

    /// A house made of the given paths and texts, for tests of the rules.
    pub fn of(files: &[(&str, &str)]) -> House {
        let file = |&(path, text): &(&str, &str)| SourceFile {
            path: path.to_string(),
            text: text.to_string(),
        };
        House { files: files.iter().map(file).collect() }
    }

    /// All files, by path.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// The Rust sources.
    pub fn rust(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// The file at `path`.
    pub fn file(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The folders of the workspace's packages.
    pub fn packages(&self) -> impl Iterator<Item = &str> {
        let manifests = self.files.iter().filter_map(|file| file.path.strip_suffix("/Cargo.toml"));
        manifests
            .filter(|folder| folder.starts_with("crates/") || matches!(*folder, "xtask" | "bench"))
    }
}

impl SourceFile {
    /// Lines with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(at, line)| (at + 1, line))
    }

    /// Lines of product code: without comments, and nothing of a file or of its foot that only
    /// tests see.
    pub fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let only_tests =
            ["/tests/", "/benches/", "/examples/"].iter().any(|part| self.path.contains(part))
                || self.path.ends_with("/tests.rs");
        self.lines()
            .take_while(move |(_, line)| {
                !only_tests
                    && !line.starts_with("#[cfg(test)]")
                    && !line.starts_with("#[cfg(all(test")
            })
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// A complaint about a line of this file.
    pub fn complain(&self, line: usize, text: impl Into<String>) -> Complaint {
        Complaint { path: self.path.clone(), line, text: text.into() }
    }
}

impl std::fmt::Display for Complaint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.text),
            line => write!(f, "{}:{line}: {}", self.path, self.text),
        }
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let list = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    list.map(|entry| Ok(entry?.path())).collect()
}

fn is_source(path: &Path, in_root: bool) -> bool {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some(ending) => ENDINGS.contains(&ending),
        None => in_root || path.ends_with(".ci/run"),
    }
}

fn read_source(root: &Path, path: &Path) -> Result<SourceFile> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let path = path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/");
    Ok(SourceFile { path, text })
}
