//! Shapes: databases one can ask for by name.

mod demo;
mod fixture;
mod heap;
mod sales;

use std::path::{Path, PathBuf};

use crate::Error;
use crate::build::{Built, BuiltTable, DatabaseBuilder, Progress};

/// A kind of database.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Name.
    pub name: &'static str,
    /// One line on what is in it.
    pub description: &'static str,
    /// Adds the tables: seed and size decide how many rows they have.
    add: fn(DatabaseBuilder, u64, Size) -> Result<DatabaseBuilder, Error>,
}

/// All shapes.
pub const SHAPES: &[Shape] = &[
    Shape {
        name: "heap",
        description: "a heap of rows of 100 to 4000 bytes, some moved by updates, with LOB values and an index",
        add: heap::add,
    },
    Shape {
        name: "sales",
        description: "a clustered table of 170-byte rows with two nonclustered indexes, and its customers",
        add: sales::add,
    },
    Shape { name: "demo", description: "both of them, small: the first five minutes", add: demo::add },
    Shape {
        name: "fixture",
        description: "the tables of the fault catalogue, small: everything that damage can be done to",
        add: fixture::add,
    },
];

/// How large the database is to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// Bytes of all files together.
    Bytes(u64),
    /// Rows of the main table.
    Rows(u64),
}

/// What to make.
#[derive(Clone, Debug)]
pub struct MakeOptions {
    /// Name of a shape.
    pub shape: String,
    /// How large.
    pub size: Size,
    /// Where all chance comes from.
    pub seed: u64,
}

/// What was made.
#[derive(Clone, Debug)]
pub struct MakeReport {
    /// Tables with their rows and pages.
    pub tables: Vec<BuiltTable>,
    /// The files and their sizes.
    pub files: Vec<(PathBuf, u64)>,
}

/// Bytes that the catalogue of a small database takes, before the first row.
pub(crate) const CATALOGUE_BYTES: u64 = 2 << 20;

/// Makes a database of `paths.len()` data files, the primary one first. None of them may exist.
///
/// # Errors
/// See [`Error`].
pub fn make(
    options: &MakeOptions,
    paths: &[&Path],
    progress: &mut dyn FnMut(Progress),
) -> Result<MakeReport, Error> {
    let shape = SHAPES.iter().find(|shape| shape.name == options.shape);
    let shape = shape.ok_or_else(|| Error::UnknownShape { name: options.shape.clone() })?;
    let mut builder = DatabaseBuilder::new(shape.name).seed(options.seed);
    if let Size::Bytes(bytes) = options.size {
        if bytes < CATALOGUE_BYTES {
            return Err(Error::TooSmall { bytes, least: CATALOGUE_BYTES });
        }
        builder = builder.bytes(bytes);
    }
    let Built { tables, file_bytes } =
        (shape.add)(builder, options.seed, options.size)?.build(paths, progress)?;
    let files = paths.iter().map(|path| path.to_path_buf()).zip(file_bytes).collect();
    Ok(MakeReport { tables, files })
}

/// Rows of a table whose rows take `bytes_per_row` with all indexes, in a database of this size; a little less than
/// would fit, so that the files keep their size.
pub(crate) fn rows_for(size: Size, bytes_per_row: u64) -> u64 {
    match size {
        Size::Rows(rows) => rows,
        Size::Bytes(bytes) => {
            let room = bytes.saturating_sub(CATALOGUE_BYTES);
            // Maps take 1/8088 of a file, and each index leaves part of its last extent unused.
            (room - room / 256) / bytes_per_row
        }
    }
}
