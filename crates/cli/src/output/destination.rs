//! What a path given with `-o` leads to, and therefore how it is written.
//!
//! ```text
//! nothing, or a link to nothing      Create  a new file appears under the name when it is whole
//! a regular file, or a link to one   Replace the same, and it takes the owner and the mode of the
//!                                    old file
//! a device, pipe or socket, or links Through opened and written: renaming over it would destroy it
//! a regular file that is open here   Append  /dev/stdout and /dev/fd/N: what the shell opened is
//!                                            written
//! a folder                           refused
//! ```

use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// The kernel follows as many links in a path, and no more.
const LINKS_MAX: usize = 40;

/// How a path is written. The path of a file is the one that all links lead to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Destination {
    /// There is nothing yet.
    Create(PathBuf),
    /// A regular file.
    Replace(PathBuf),
    /// A device or a pipe.
    Through(PathBuf),
    /// A socket that somebody listens at.
    Socket(PathBuf),
    /// A regular file that this process has open, named by its descriptor.
    Append(PathBuf),
}

impl Destination {
    /// Looks at the path; opens nothing.
    pub(super) fn of(path: &Path) -> anyhow::Result<Destination> {
        let failed = || format!("cannot write to {}", path.display());
        match fs::metadata(path) {
            Ok(metadata) => {
                Destination::of_existing(path, metadata.file_type()).with_context(failed)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let end = end_of_links(path).with_context(failed)?;
                if end.file_name().is_none() {
                    bail!("cannot write to {}: it is a folder", path.display());
                }
                Ok(Destination::Create(end))
            }
            Err(error) => Err(error).with_context(failed),
        }
    }

    fn of_existing(path: &Path, kind: FileType) -> io::Result<Destination> {
        if kind.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        }
        if is_socket(kind) {
            return Ok(Destination::Socket(path.to_path_buf()));
        }
        if !kind.is_file() {
            return Ok(Destination::Through(path.to_path_buf()));
        }
        if is_descriptor(path) {
            return Ok(Destination::Append(path.to_path_buf()));
        }
        fs::canonicalize(path).map(Destination::Replace)
    }
}

#[cfg(unix)]
fn is_socket(kind: FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_socket()
}

#[cfg(not(unix))]
fn is_socket(_: FileType) -> bool {
    false
}

/// True when a link on the way is an entry of a process' table of descriptors.
fn is_descriptor(path: &Path) -> bool {
    let mut at = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        let folder = at.parent().and_then(|folder| fs::canonicalize(folder).ok());
        if folder
            .is_some_and(|folder| folder.starts_with("/proc") || folder == Path::new("/dev/fd"))
        {
            return true;
        }
        match fs::read_link(&at) {
            Ok(to) => at = at.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return false,
        }
    }
    false
}

/// Where links lead of which the last one dangles.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut at = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&at) {
            Ok(to) => at = at.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(at),
        }
    }
    Err(io::Error::other("the links lead round in a circle"))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn devices_and_links_to_them_are_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let null = Path::new("/dev/null");
        assert_eq!(Destination::of(null).unwrap(), Destination::Through(null.to_path_buf()));
        let link = folder.path().join("link");
        symlink(null, &link).unwrap();
        let second = folder.path().join("second");
        symlink("link", &second).unwrap();
        assert_eq!(Destination::of(&second).unwrap(), Destination::Through(second));
    }

    #[test]
    fn links_to_files_are_followed_to_their_end() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::write(root.join("file"), b"").unwrap();
        symlink("file", root.join("link")).unwrap();
        assert_eq!(
            Destination::of(&root.join("link")).unwrap(),
            Destination::Replace(root.join("file"))
        );
        symlink("nothing", root.join("dangling")).unwrap();
        let new = Destination::Create(root.join("nothing"));
        assert_eq!(Destination::of(&root.join("dangling")).unwrap(), new);
        assert_eq!(Destination::of(&root.join("nothing")).unwrap(), new);
    }

    #[test]
    fn folders_and_circles_of_links_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Destination::of(folder.path()).is_err());
        let link = folder.path().join("link");
        symlink("link", &link).unwrap();
        assert!(Destination::of(&link).is_err());
    }

    #[test]
    fn sockets_are_connected_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert_eq!(Destination::of(&path).unwrap(), Destination::Socket(path));
    }
}
