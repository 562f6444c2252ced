//! The files of a run as the caller knows them.

/// A file that was checked. Reports name it with its length and digest; `check` does not know them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    /// Path as given on the command line.
    pub path: String,
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256 in hexadecimal; absent unless it was asked for.
    pub sha256: Option<String>,
}
