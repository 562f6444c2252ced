//! Tests of reading backups: on the samples, on backups built here, and on damaged ones.

mod builder;
mod carried;
mod damage;
mod samples;
mod sets;
mod stripes;
mod under_load;
mod unformatted;

use std::path::{Path, PathBuf};

use extentdb_base::size::EXTENT_BYTES;
use extentdb_base::sync::Arc;
use extentdb_base::{Extent, FileId};
use extentdb_io::ReadAt;

use super::*;

/// Memory with a name, so that errors can be told apart.
struct Named {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl ReadAt for Named {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, extentdb_io::Error> {
        self.bytes.read_at(offset, buf)
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// A file of a backup.
fn named(name: &str, bytes: Vec<u8>) -> Arc<dyn ReadAt> {
    Arc::new(Named { path: name.into(), bytes })
}

/// Opens media whose files are called a.bak, b.bak …
fn media(files: Vec<Vec<u8>>) -> Result<BackupMedia, Error> {
    let names = ["a.bak", "b.bak", "c.bak", "d.bak"];
    BackupMedia::open(names.iter().zip(files).map(|(name, bytes)| named(name, bytes)).collect())
}

/// Opens the only set of one file.
fn only_set(bytes: Vec<u8>) -> Result<BackupSet, Error> {
    media(vec![bytes])?.open_set(None, &SetOptions::default())
}

fn extent(file: u16, index: u32) -> Extent {
    Extent { file: FileId(file), index }
}

/// An extent's bytes.
fn read(set: &BackupSet, extent: Extent) -> Result<Vec<u8>, ReadError> {
    let mut out = Box::new([0xEE; EXTENT_BYTES]);
    set.read_extent(extent, &mut out)?;
    Ok(out.to_vec())
}

/// The indexes of the extents of a file.
fn indexes(set: &BackupSet, file: u16) -> Vec<u32> {
    set.stored_extents(FileId(file)).map(|extent| extent.index).collect()
}

/// Findings as text.
fn texts(findings: &Findings) -> Vec<String> {
    findings.kept().iter().map(|finding| finding.what.to_string()).collect()
}
