//! From values to records and back: the shape of the rows of one rowset.
//!
//! ```text
//! cells in layout order ──leaf_record──▶ leaf record ──separator──▶ key columns + child page
//!                       ◀────decode─────      │
//!                                             └──key──▶ bytes that compare as the keys do (types::key_order)
//! ```
//!
//! The offsets of the columns are read from `sysrscols` as a [`RowLayout`]; how long the fixed
//! parts are, and how many columns the null bitmaps count, follows from them
//! (`docs/format/record.md`):
//!
//! - leaf records have a null bitmap exactly when the columns have leaf null bits; it counts up to
//!   the highest one
//! - separators have one exactly when some key column has an interior null bit; it counts the key
//!   columns
//! - trailing empty variable columns are left out
//!
//! Invariants
//! - Every record made here is read back as the same cells, and its length is checked before it
//!   leaves.
//! - The key of a row, of its separator and of the cells it was made from are the same bytes.

mod fixed;
mod key;
mod read;
#[cfg(test)]
mod tests;
mod write;

use extentdb_base::PageId;
use extentdb_base::size::ROW_BYTES_MAX;
use extentdb_base::sync::Arc;
use extentdb_catalog::layout::{Cell, ColumnOffset, Compression, Level, PhysicalColumn, RowLayout};
use extentdb_catalog::model::Rowset;
use extentdb_catalog::table::RowsetLayout;
use extentdb_format::record::row::{DATA_HEADER_BYTES, INDEX_HEADER_BYTES};
use extentdb_types::SqlType;

use crate::error::Error;
use fixed::FixedKey;

/// The most bytes in the key columns of an index, by public documentation of the versions up to
/// 2014.
pub const KEY_BYTES_MAX: usize = 900;

/// How the records of a rowset are laid out.
#[derive(Clone, Debug)]
pub struct RowShape {
    layout: RowLayout,
    is_base: bool,
    leaf: LevelShape,
    interior: LevelShape,
    /// What leaf pages say about the fixed part of their records. Records are longer when columns
    /// have been added meanwhile: pages formatted before that commit may get records without them.
    leaf_pminlen: u16,
    /// Columns of the physical key, in its order.
    key: Vec<usize>,
    /// How many of them count for the limit of a key.
    declared_keys: usize,
    /// What records from before a column was added have in it, by its `hbcolid`; NULL for all
    /// others.
    stored_defaults: Arc<[(i32, Cell<'static>)]>,
}

/// The records of one level.
#[derive(Clone, Debug)]
struct LevelShape {
    /// End of the fixed part, child page included: `pminlen`.
    fixed_end: u16,
    /// Columns that the null bitmap counts; 0 = there is none.
    null_bits: u16,
    /// Columns of the variable part, in its order.
    variable: Vec<usize>,
    /// Of index records, which have no head with the end of their fixed part.
    is_index: bool,
    /// Reads the key in place, where that is possible.
    key: Option<FixedKey>,
}

impl RowShape {
    /// The shape of a table that is being made.
    ///
    /// # Errors
    /// Its rows are stored in a form that is not written here.
    pub fn of_layout(layout: &RowsetLayout, is_base: bool) -> Result<RowShape, Error> {
        RowShape::new(layout.row.clone(), is_base, layout.min_leaf, layout.min_interior)
    }

    /// The shape of a rowset that the catalog describes.
    ///
    /// # Errors
    /// Its rows are stored in a form that is not written here.
    pub fn of_rowset(rowset: &Rowset) -> Result<RowShape, Error> {
        let is_base = rowset.index.0 <= 1;
        RowShape::new(rowset.layout.clone(), is_base, rowset.min_leaf, rowset.min_interior)
    }

    /// The shape of a rowset that the catalog describes, and why its rows are only read: a column
    /// is stored in a form that is not written here. Unknown columns have no value in it.
    ///
    /// # Errors
    /// Its rows are not even read.
    pub fn for_reading(rowset: &Rowset) -> Result<(RowShape, Option<Error>), Error> {
        let is_base = rowset.index.0 <= 1;
        RowShape::build(rowset.layout.clone(), is_base, rowset.min_leaf, rowset.min_interior)
    }

    /// `min_leaf` and `min_interior` are 0 where the catalog does not keep them; then they follow
    /// from the columns.
    fn new(
        layout: RowLayout,
        is_base: bool,
        min_leaf: u16,
        min_interior: u16,
    ) -> Result<RowShape, Error> {
        let (shape, unwritten) = RowShape::build(layout, is_base, min_leaf, min_interior)?;
        unwritten.map_or(Ok(shape), Err)
    }

    /// The same, and why its rows are only read.
    fn build(
        layout: RowLayout,
        is_base: bool,
        min_leaf: u16,
        min_interior: u16,
    ) -> Result<(RowShape, Option<Error>), Error> {
        if layout.compression != Compression::None {
            return Err(Error::Form { column_id: 0, what: "compressed" });
        }
        let key = key_of(&layout);
        let mut unwritten = None;
        let leaf_header = if is_base { DATA_HEADER_BYTES } else { INDEX_HEADER_BYTES };
        let mut leaf = LevelShape::new(&layout, Level::Leaf, leaf_header, &mut unwritten);
        let mut interior =
            LevelShape::new(&layout, Level::Interior, INDEX_HEADER_BYTES, &mut unwritten);
        leaf.fixed_end = leaf.fixed_end.max(min_leaf);
        // Child page included; the catalog's number is that of the pages, which may have the bytes
        // of a dropped column.
        interior.fixed_end = (interior.fixed_end + PageId::BYTES as u16).max(min_interior);
        if interior.null_bits > 0 {
            interior.null_bits = key.len() as u16;
        }
        for column in &layout.columns {
            verify_key(column)?;
        }
        if let Some(column) = layout.columns.iter().find(|column| column.is_sparse()) {
            unwritten = Some(Error::Form { column_id: column.column_id, what: "sparse" });
        }
        leaf.key = FixedKey::of(&layout, &key, Level::Leaf, &leaf);
        interior.key = FixedKey::of(&layout, &key, Level::Interior, &interior);
        let declared_keys = key.len();
        let leaf_pminlen = leaf.fixed_end;
        let shape = RowShape {
            layout,
            is_base,
            leaf,
            interior,
            leaf_pminlen,
            key,
            declared_keys,
            stored_defaults: Arc::new([]),
        };
        Ok((shape, unwritten))
    }

    /// Only the first `columns` key columns count for the limit of a key: those that the index was
    /// declared with, without the row locator.
    #[must_use]
    pub fn with_declared_keys(self, declared_keys: usize) -> RowShape {
        RowShape { declared_keys: declared_keys.min(self.key.len()), ..self }
    }

    /// With the values that records from before a column was added have in it, by its `hbcolid`.
    #[must_use]
    pub fn with_stored_defaults(self, defaults: Vec<(i32, Cell<'static>)>) -> RowShape {
        RowShape { stored_defaults: defaults.into(), ..self }
    }

    /// The same rowset when its columns have changed; those of the key have not.
    ///
    /// # Errors
    /// Its rows would be stored in a form that is not written here.
    pub fn with_layout(&self, layout: RowLayout) -> Result<RowShape, Error> {
        let shape =
            RowShape::new(layout, self.is_base, self.leaf.fixed_end, self.interior.fixed_end)?;
        Ok(RowShape {
            leaf_pminlen: self.leaf_pminlen,
            stored_defaults: self.stored_defaults.clone(),
            ..shape.with_declared_keys(self.declared_keys)
        })
    }

    /// Columns with their offsets, as in `sysrscols`.
    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// True for a heap or clustered index.
    pub fn is_base(&self) -> bool {
        self.is_base
    }

    /// `pminlen` of the pages of a level.
    pub fn pminlen(&self, level: Level) -> u16 {
        match level {
            Level::Leaf => self.leaf_pminlen,
            Level::Interior => self.interior.fixed_end,
        }
    }

    /// Where the fixed part of leaf records ends that do not say it themselves.
    pub(crate) fn record_end(&self) -> Option<u16> {
        (!self.is_base).then_some(self.leaf.fixed_end)
    }

    /// The columns of the physical key, in its order.
    pub fn key_columns(&self) -> impl ExactSizeIterator<Item = &PhysicalColumn> {
        self.key.iter().map(|at| self.column(*at))
    }

    fn form(&self, level: Level) -> &LevelShape {
        match level {
            Level::Leaf => &self.leaf,
            Level::Interior => &self.interior,
        }
    }

    /// A column by an index that this shape keeps.
    fn column(&self, at: usize) -> &PhysicalColumn {
        &self.layout.columns[at]
    }
}

impl LevelShape {
    /// Notes why its records are not written; they are read all the same.
    fn new(
        layout: &RowLayout,
        level: Level,
        header_bytes: usize,
        unwritten: &mut Option<Error>,
    ) -> LevelShape {
        let mut fixed_end = header_bytes as u16;
        let mut null_bits = 0;
        let mut variable = Vec::new();
        let stored = layout.columns.iter().enumerate().filter(|(_, column)| !column.is_sparse());
        for (at, column) in stored {
            let column_offset = column_offset(column, level);
            null_bits = null_bits.max(column_offset.null_bit);
            match column_offset.offset {
                0 => {}
                offset if offset < 0 => variable.push((offset.unsigned_abs(), at)),
                offset => match fixed_column_end(column, offset) {
                    Some(end) => fixed_end = fixed_end.max(end),
                    None => {
                        let column_id = column.column_id;
                        *unwritten = Some(Error::Form { column_id, what: "no fixed length" });
                    }
                },
            }
        }
        variable.sort_unstable();
        // A gap would move every column after it.
        let has_gap = (1u16..).zip(&variable).any(|(number, (own, _))| number != *own);
        if has_gap {
            *unwritten = Some(Error::Form { column_id: 0, what: "variable columns with a gap" });
        }
        let variable = variable.into_iter().map(|(_, at)| at).collect();
        let is_index = header_bytes == INDEX_HEADER_BYTES;
        LevelShape { fixed_end, null_bits, variable, is_index, key: None }
    }
}

fn key_of(layout: &RowLayout) -> Vec<usize> {
    let columns = layout.columns.iter().enumerate();
    let mut key: Vec<(i16, usize)> = columns
        .filter(|(_, column)| column.key_ordinal > 0)
        .map(|(at, column)| (column.key_ordinal, at))
        .collect();
    key.sort_unstable();
    key.into_iter().map(|(_, at)| at).collect()
}

/// Position of a column in the records of a level.
fn column_offset(column: &PhysicalColumn, level: Level) -> ColumnOffset {
    match level {
        Level::Leaf => column.leaf,
        Level::Interior => column.interior,
    }
}

/// Where a column ends in the fixed part.
fn fixed_column_end(column: &PhysicalColumn, offset: i16) -> Option<u16> {
    let end = usize::from(offset.unsigned_abs()).checked_add(fixed_bytes(column)?)?;
    u16::try_from(end).ok().filter(|end| usize::from(*end) <= ROW_BYTES_MAX)
}

/// Bytes in the fixed part; bit columns share theirs.
fn fixed_bytes(column: &PhysicalColumn) -> Option<usize> {
    column.ty.and_then(|ty| if ty.is_bit() { Some(1) } else { ty.fixed_bytes() })
}

/// Refuses keys whose bytes in a record are not simply their values.
fn verify_key(column: &PhysicalColumn) -> Result<(), Error> {
    let is = |what| Err(Error::Form { column_id: column.column_id, what });
    if column.key_ordinal == 0 {
        return Ok(());
    }
    match column.ty {
        None => is("a key of unknown type"),
        Some(SqlType::SqlVariant) => is("a key of type sql_variant"),
        Some(_) if column.is_sparse() => is("a sparse key"),
        Some(_) if column.leaf.offset == 0 => is("a key that is not stored"),
        Some(ty) if column.leaf.offset < 0 && ty.fixed_bytes().is_some() && ty != SqlType::Int => {
            is("a fixed type among the variable columns")
        }
        Some(_) => Ok(()),
    }
}
