//! Which values of a row lie off it.
//!
//! ```text
//! text, ntext, image     always: LOB unit, text pointer of 16 bytes
//! (max), xml, large UDT  when the generator says so: LOB unit, inline root
//! row longer than 8060   the longest variable column goes, again and again, until the rest fits:
//!                        a (max) value to the LOB unit, any other to the row-overflow unit,
//!                        pointer of 24 bytes
//! ```
//!
//! Columns of the clustered key stay, and so does what is not longer than its pointer.

pub(crate) mod lob_pages;
pub(crate) mod lob_tree;

use extentdb_catalog::model::AllocUnitKind;
use extentdb_catalog::table::{IndexDefinition, TableDefinition};
use extentdb_types::SqlType;

use crate::Error;
use crate::file::allocation::Space;
use crate::file::sink::PageSink;
use crate::off_row::lob_pages::LobBuilder;
use crate::off_row::lob_tree::{LobBytes, LobTree};
use crate::record::{Entry, RecordWriter};
use crate::spec::alteration::RowState;
use crate::unit::tree::RECORD_BYTES_MAX;
use crate::unit::{UnitPages, UnitResult};
use extentdb_catalog::table::values::{Cell, RowValues};

/// Bytes that a row-overflow pointer takes, which is as long as an inline root with one link.
const POINTER_BYTES: usize = 24;

/// The units of a table for values off the row, and what decides which values go there.
pub(crate) struct OffRow<'a> {
    table: &'a TableDefinition,
    large_values: LargeValues,
    lob: Option<LobBuilder>,
    overflow: Option<LobBuilder>,
    /// Columns by position: those that may be pushed off.
    movable: Vec<bool>,
    writer: RecordWriter,
    record: Vec<u8>,
    /// The id of the next value, without its 16 low bits, which are 0.
    next_blob: u64,
}

/// Where (max) values lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum LargeValues {
    /// In the row while they are short enough, else under a root in the row.
    #[default]
    InRow,
    /// Under a text pointer, however short they are.
    OutOfRow,
}

/// Why a row cannot be stored.
pub(crate) enum StoreError {
    /// A deleted row has values off the row: what becomes of those is not published.
    Ghost {
        column: usize,
    },
    Other(Error),
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        StoreError::Other(error)
    }
}

impl<'a> OffRow<'a> {
    /// `None` for a table that has nothing off its rows. `next_blob`: the counter that blob ids
    /// come from, which is the one of rowversion values.
    pub(crate) fn of(
        table: &'a TableDefinition,
        large_values: LargeValues,
        index: &IndexDefinition,
        writer: RecordWriter,
        next_blob: u64,
    ) -> Option<OffRow<'a>> {
        let unit = |kind| index.units.iter().find(|unit| unit.kind == kind);
        let builder = |kind| {
            unit(kind)
                .map(|unit| LobBuilder::new(UnitPages::new(unit.id).in_group(index.filegroup)))
        };
        let lob = builder(AllocUnitKind::Lob);
        let overflow = builder(AllocUnitKind::RowOverflow);
        if lob.is_none() && overflow.is_none() {
            return None;
        }
        let is_key = |id: i32| index.keys.iter().any(|key| key.column_id == id);
        let is_movable = |(id, column): (i32, &extentdb_catalog::table::ColumnDefinition)| {
            column.ty.fixed_bytes().is_none()
                && !column.ty.is_bit()
                && !column.ty.is_lob()
                && !is_key(id)
        };
        let movable = (1..).zip(&table.columns).map(is_movable).collect();
        Some(OffRow {
            table,
            large_values,
            lob,
            overflow,
            movable,
            writer,
            record: Vec::new(),
            next_blob,
        })
    }

    /// Stores what lies off a row and leaves pointers in it.
    pub(crate) fn store(
        &mut self,
        row: &mut RowValues,
        state: &RowState,
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<(), StoreError> {
        for at in 0..row.len() {
            let has_text_pointer = |ty: &SqlType| {
                ty.is_lob() || (self.large_values == LargeValues::OutOfRow && ty.is_max())
            };
            let is_text =
                self.table.columns.get(at).is_some_and(|column| has_text_pointer(&column.ty));
            let value = match row.cell(at) {
                Cell::Lob(bytes) => LobBytes::Slice(bytes),
                Cell::Bytes(bytes) if is_text => LobBytes::Slice(bytes),
                Cell::Stream(stream) => LobBytes::Stream(stream),
                _ => continue,
            };
            if !state.is_live() {
                return Err(StoreError::Ghost { column: at + 1 });
            }
            let Some(pages) = &mut self.lob else { continue };
            let tree = LobTree { value, blob: self.next_blob << 16, pages, space, sink };
            let pointer = if is_text { tree.text_pointer() } else { tree.inline_root() }?;
            self.next_blob += 1;
            row.set_pointer(at, &pointer);
        }
        self.shorten(row, state, space, sink)
    }

    /// Pushes columns off until the row is short enough, or nothing is left to push.
    fn shorten(
        &mut self,
        row: &mut RowValues,
        state: &RowState,
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<(), StoreError> {
        while self.is_too_long(row, state) {
            let Some(at) = self.longest(row) else { return Ok(()) };
            if !state.is_live() {
                return Err(StoreError::Ghost { column: at + 1 });
            }
            let is_max = self.table.columns.get(at).is_some_and(|column| column.ty.is_max());
            let pages = if is_max { &mut self.lob } else { &mut self.overflow };
            let (Some(pages), Cell::Bytes(bytes)) = (pages, row.cell(at)) else { return Ok(()) };
            let value = LobBytes::Slice(bytes);
            let tree = LobTree { value, blob: self.next_blob << 16, pages, space, sink };
            let pointer = if is_max { tree.inline_root() } else { tree.overflow_pointer() }?;
            self.next_blob += 1;
            row.set_pointer(at, &pointer);
        }
        Ok(())
    }

    fn is_too_long(&mut self, row: &RowValues, state: &RowState) -> bool {
        let bytes = |at: usize| match row.cell(at) {
            Cell::Bytes(bytes) | Cell::Pointer(bytes) => bytes.len(),
            _ => 0,
        };
        let values: usize = (0..row.len()).map(bytes).sum();
        // A column takes at most seven bytes besides its value, compressed or not, and a row at
        // most fifty.
        if values + usize::from(self.writer.layout.min_leaf) + 7 * row.len() + 50
            <= RECORD_BYTES_MAX
        {
            return false;
        }
        let entry = Entry { state: *state, uniquifier: [0xff; 4], ..Entry::new(row) };
        if state.is_forwarded {
            self.writer.forwarded(&entry, extentdb_base::Rid::default(), &mut self.record)
        } else {
            self.writer.leaf(&entry, &mut self.record)
        }
        self.record.len() > RECORD_BYTES_MAX
    }

    fn longest(&self, row: &RowValues) -> Option<usize> {
        let len = |at: usize| match row.cell(at) {
            Cell::Bytes(bytes)
                if bytes.len() > POINTER_BYTES && self.movable.get(at) == Some(&true) =>
            {
                Some((bytes.len(), std::cmp::Reverse(at)))
            }
            _ => None,
        };
        (0..row.len()).filter_map(len).max().map(|(_, std::cmp::Reverse(at))| at)
    }

    /// Writes the open pages and the IAM chains; returns what the catalog keeps of each unit, and
    /// the next blob id.
    pub(crate) fn finish(
        self,
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<(Vec<(AllocUnitKind, UnitResult)>, u64), Error> {
        let mut results = Vec::new();
        for (kind, pages) in
            [(AllocUnitKind::Lob, self.lob), (AllocUnitKind::RowOverflow, self.overflow)]
        {
            if let Some(pages) = pages {
                results.push((kind, pages.finish(space, sink)?));
            }
        }
        Ok((results, self.next_blob))
    }
}
