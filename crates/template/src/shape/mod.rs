//! Shapes: the named databases of `make`.

mod compressed;
mod computed;
mod deep;
mod demo;
mod fixture;
mod fragmented;
mod heap;
mod history;
mod lob;
mod partitioned;
mod permutation;
mod sales;
mod size;
mod sparse;
mod types;
mod wide;

use std::path::{Path, PathBuf};

use crate::Error;
use crate::shape::sales::SalesIndexes;
use crate::shape::size::CATALOG_BYTES;
pub use crate::shape::size::Size;
use crate::{Built, BuiltTable, DatabaseBuilder, Progress};

/// A kind of database.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Name on the command line.
    pub name: &'static str,
    /// One line on what is in it.
    pub description: &'static str,
    /// Data files it needs at least.
    pub files: usize,
    /// Adds the tables: seed and size decide how many rows they have.
    add: fn(DatabaseBuilder, u64, Size) -> Result<DatabaseBuilder, Error>,
}

/// All shapes, in the order `make --list` prints them.
pub const SHAPES: &[Shape] = &[
    Shape {
        name: "heap",
        description: "a heap of rows of 100 to 4000 bytes, some moved by updates, with LOB values and an index",
        files: 1,
        add: heap::add,
    },
    Shape {
        name: "sales",
        description: "a clustered table of 170-byte rows with two nonclustered indexes, and its customers",
        files: 1,
        add: |builder, seed, size| sales::add(builder, seed, size, SalesIndexes::Two),
    },
    Shape {
        name: "demo",
        description: "both of them, small: the first five minutes",
        files: 1,
        add: demo::add,
    },
    Shape {
        name: "sales1",
        description: "sales with one nonclustered index on the same rows",
        files: 1,
        add: |builder, seed, size| sales::add(builder, seed, size, SalesIndexes::One),
    },
    Shape {
        name: "sales8",
        description: "sales with eight nonclustered indexes on the same rows",
        files: 1,
        add: |builder, seed, size| sales::add(builder, seed, size, SalesIndexes::Eight),
    },
    Shape {
        name: "sales-computed",
        description: "sales with a third index on computed columns that are not stored",
        files: 1,
        add: |builder, seed, size| sales::add(builder, seed, size, SalesIndexes::Computed),
    },
    Shape {
        name: "sales-plain",
        description: "the twin of sales-computed: its third index, of the same size, is on plain columns",
        files: 1,
        add: |builder, seed, size| sales::add(builder, seed, size, SalesIndexes::Plain),
    },
    Shape {
        name: "computed",
        description: "stored computed columns, indexes on computed columns that are not stored, filtered indexes",
        files: 1,
        add: computed::add,
    },
    Shape {
        name: "deep",
        description: "keys of up to 900 bytes: trees of four levels and more over few rows, unique and not",
        files: 1,
        add: deep::add,
    },
    Shape {
        name: "fragmented",
        description: "rows inserted by random GUIDs and partly deleted: pages half full and in random order",
        files: 1,
        add: fragmented::add,
    },
    Shape {
        name: "partitioned",
        description: "three filegroups of four files, partitioned tables with aligned and other indexes",
        files: 4,
        add: partitioned::add,
    },
    Shape {
        name: "sparse",
        description: "every object in three GAM intervals: a file over 8 GB, nearly all holes; the size is what is written",
        files: 1,
        add: sparse::add,
    },
    Shape {
        name: "wide",
        description: "rows pushed off their pages, rows of 300 columns, and a column of every type",
        files: 1,
        add: wide::add,
    },
    Shape {
        name: "lob",
        description: "long values: varchar(max), varbinary(max) and xml, text, ntext and image, trees of LOB pages",
        files: 1,
        add: lob::add,
    },
    Shape {
        name: "compressed",
        description: "heaps and clustered tables with ROW and PAGE compression, and their indexes with another",
        files: 1,
        add: compressed::add,
    },
    Shape {
        name: "history",
        description: "deleted, moved and versioned rows; columns added and dropped, with indexes on them",
        files: 1,
        add: history::add,
    },
    Shape {
        name: "fixture",
        description: "the tables of the fault catalog, small: everything that damage can be done to",
        files: 1,
        add: fixture::add,
    },
];

/// What to make.
#[derive(Clone, Debug)]
pub struct MakeOptions {
    /// Name of a shape.
    pub shape: String,
    /// Size in bytes or rows.
    pub size: Size,
    /// Seed of all random values.
    pub seed: u64,
}

/// What [`make`] built.
#[derive(Clone, Debug)]
pub struct MakeReport {
    /// Tables with their rows and pages.
    pub tables: Vec<BuiltTable>,
    /// The files and their sizes.
    pub files: Vec<(PathBuf, u64)>,
}

/// Makes a database of `paths.len()` data files, the primary one first. None of them may exist.
///
/// # Errors
/// See [`Error`].
pub fn make(
    options: &MakeOptions,
    paths: &[&Path],
    progress: &mut dyn FnMut(Progress),
) -> Result<MakeReport, Error> {
    let least =
        SHAPES.iter().find(|shape| shape.name == options.shape).map_or(1, |shape| shape.files);
    if paths.len() < least {
        return Err(Error::TooFewFiles { files: paths.len(), least });
    }
    let Built { tables, file_bytes } = builder(options)?.build(paths, progress)?;
    let files = paths.iter().map(|path| path.to_path_buf()).zip(file_bytes).collect();
    Ok(MakeReport { tables, files })
}

/// The database that [`make`] would make, to be changed or to be compared with.
///
/// # Errors
/// The shape does not exist, or it cannot have this size.
pub fn builder(options: &MakeOptions) -> Result<DatabaseBuilder, Error> {
    let shape = SHAPES.iter().find(|shape| shape.name == options.shape);
    let shape = shape.ok_or_else(|| Error::UnknownShape { name: options.shape.clone() })?;
    let mut builder = DatabaseBuilder::new(shape.name).seed(options.seed);
    if let Size::Bytes(bytes) = options.size {
        if bytes < CATALOG_BYTES {
            return Err(Error::TooSmall { bytes, least: CATALOG_BYTES });
        }
        builder = builder.bytes(bytes);
    }
    (shape.add)(builder, options.seed, options.size)
}
