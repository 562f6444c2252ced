//! Makes one known fault in a copy of a database, and returns its truth.
//!
//! Invariants
//! - The input is only read; output files must not exist.
//! - Everything but the fault stays as it was: the page is protected again as it was before, unless
//!   the fault is raw damage, where a wrong checksum is the point.
//! - The input may be damaged already: what cannot be read is skipped.

use std::path::Path;

use extentdb_base::env::SplitMix64;
use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{FileId, PageId};
use extentdb_format::PageBuf;
use extentdb_io::File;

use crate::Error;
use crate::candidates::Candidates;
use crate::fault::{Fault, Truncation};
use crate::image::Image;
use crate::kind::{Harmless, Kind};
use crate::truth::{self, Change, Truth};

/// Bytes copied at a time.
const COPY_BYTES: u64 = 1 << 20;
/// Random choices that are tried: one may have no room for the fault where another one has.
const ATTEMPTS: usize = 8;

/// Progress of the copy.
#[derive(Clone, Copy, Debug)]
pub struct Copied {
    /// Bytes copied so far, of all files.
    pub bytes: u64,
    /// Bytes that are stored in the inputs.
    pub bytes_total: u64,
}

/// Copies the database and makes the fault in the copy. `outputs` are the paths of the copies, in
/// the order of `inputs`; none may exist.
///
/// # Errors
/// See [`Error`]; [`Error::NotApplicable`] when the database has nothing for this fault.
pub fn damage(inputs: &[&Path], outputs: &[&Path], kind: Kind, seed: u64) -> Result<Truth, Error> {
    damage_with_progress(inputs, outputs, kind, seed, &mut |_| {})
}

/// [`damage`], with a call of `progress` after each [`COPY_BYTES`].
///
/// # Errors
/// As [`damage`].
pub fn damage_with_progress(
    inputs: &[&Path],
    outputs: &[&Path],
    kind: Kind,
    seed: u64,
    progress: &mut dyn FnMut(Copied),
) -> Result<Truth, Error> {
    let image = open(inputs, outputs)?;
    let db = Candidates::new(&image)?;
    let not_applicable = Error::NotApplicable { kind: kind.name(), needs: kind.needs() };
    let fault = attempt(&db, kind, seed).ok_or(not_applicable)?;
    let truth = truth::of(&image, kind, seed, &fault)?;
    let changes = Changes { images: &fault.images, truncate: fault.truncate };
    write(&image, inputs, outputs, changes, progress)?;
    Ok(truth)
}

/// Copies the database and changes the copy so that it stays sound. Returns the changed
/// bytes.
///
/// # Errors
/// See [`Error`]; [`Error::NotApplicable`] when the database has nothing for this change.
pub fn harmless(
    inputs: &[&Path],
    outputs: &[&Path],
    kind: Harmless,
    seed: u64,
) -> Result<Vec<Change>, Error> {
    let image = open(inputs, outputs)?;
    let db = Candidates::new(&image)?;
    let not_applicable =
        Error::NotApplicable { kind: kind.name(), needs: "rows that this can be done to" };
    db.rng.replace(rng(seed, kind.name()));
    let images = kind.make(&db).ok_or(not_applicable)?;
    let changes = truth::changes(&image, &images)?;
    let written = Changes { images: &images, truncate: None };
    write(&image, inputs, outputs, written, &mut |_| {})?;
    Ok(changes)
}

/// The faults that can be made in a database.
///
/// # Errors
/// The database cannot be read.
pub fn applicable(inputs: &[&Path]) -> Result<Vec<Kind>, Error> {
    let image = Image::open(inputs)?;
    let db = Candidates::new(&image)?;
    Ok(Kind::ALL.iter().filter(|kind| attempt(&db, **kind, 0).is_some()).copied().collect())
}

fn attempt(db: &Candidates<'_>, kind: Kind, seed: u64) -> Option<Fault> {
    db.rng.replace(rng(seed, kind.name()));
    (0..ATTEMPTS).find_map(|_| kind.make(db))
}

fn open(inputs: &[&Path], outputs: &[&Path]) -> Result<Image, Error> {
    if inputs.len() != outputs.len() {
        return Err(Error::PathCount { expected: inputs.len(), found: outputs.len() });
    }
    Image::open(inputs)
}

/// A generator for a seed and a kind. The name of the kind is hashed in, so that new kinds do not
/// change what a seed means for the others.
fn rng(seed: u64, name: &str) -> SplitMix64 {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    SplitMix64::new(seed ^ name.bytes().fold(0xcbf2_9ce4_8422_2325, fold))
}

/// What is written over a copy.
#[derive(Clone, Copy)]
struct Changes<'c> {
    images: &'c [(PageId, PageBuf)],
    truncate: Option<Truncation>,
}

fn write(
    image: &Image,
    inputs: &[&Path],
    outputs: &[&Path],
    changes: Changes<'_>,
    progress: &mut dyn FnMut(Copied),
) -> Result<(), Error> {
    let sources = inputs.iter().copied().map(File::open_read).collect::<Result<Vec<_>, _>>()?;
    let stored = |file: &File| file.data_ranges().map(|range| range.end - range.start).sum::<u64>();
    let mut copied = Copied { bytes: 0, bytes_total: sources.iter().map(stored).sum() };
    for (source, output) in sources.iter().zip(outputs) {
        let copy = File::create_new(output)?;
        copy_file(source, &copy, &mut |bytes| {
            copied.bytes += bytes;
            progress(copied);
        })?;
        write_changes(changes, image.file_id_of(source)?, &copy)?;
    }
    Ok(())
}

/// Copies what is stored; holes stay holes.
fn copy_file(source: &File, copy: &File, tick: &mut dyn FnMut(u64)) -> Result<(), Error> {
    let mut buffer = vec![0; COPY_BYTES as usize];
    for range in source.data_ranges() {
        let mut at = range.start;
        while at < range.end {
            let bytes = &mut buffer[..(range.end - at).min(COPY_BYTES) as usize];
            source.read_exact_at(at, bytes)?;
            copy.write_all_at(at, bytes)?;
            at += bytes.len() as u64;
            tick(bytes.len() as u64);
        }
    }
    copy.set_len(source.len())?;
    Ok(())
}

fn write_changes(changes: Changes<'_>, file: FileId, copy: &File) -> Result<(), Error> {
    for (page, image) in changes.images.iter().filter(|(page, _)| page.file == file) {
        copy.write_all_at(u64::from(page.page) * PAGE_BYTES as u64, &image[..])?;
    }
    if let Some(end) = changes.truncate.filter(|end| end.file == file) {
        copy.set_len(end.bytes)?;
    }
    Ok(())
}
