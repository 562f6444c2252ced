//! The files of a server that are no databases: configuration, certificate, logins, scripts. The
//! one module of this crate that opens files.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::error::Error;

/// The text of a file; `None` when there is none.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::File { path: path.to_owned(), source }),
    }
}

/// Removes a file that may be there.
pub(crate) fn remove_if_there(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::File { path: path.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

/// Makes a folder with those above it.
pub(crate) fn create_folder(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(|source| Error::File { path: path.to_owned(), source })
}

/// Replaces a file that only its owner may read. A crash leaves the old one or the new one.
pub(crate) fn replace_secret(path: &Path, text: &str) -> Result<(), Error> {
    let fail = |source| Error::File { path: path.to_owned(), source };
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = std::path::PathBuf::from(name);
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&new).map_err(fail)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(fail)?;
    fs::rename(&new, path).map_err(fail)
}
