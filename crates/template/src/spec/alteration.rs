//! The history of a table after its creation: columns added and dropped, rows deleted, forwarded
//! and changed.
//!
//! ```text
//! column added    older rows end earlier and count fewer columns: NULL, or the value in
//!                 sysseobjvalues
//! column dropped  older rows keep its bytes, later ones have NULL there; sysrscols keeps its
//!                 offset
//! ghost           deleted, but the record is still there, in the table and in every index
//! vacated         deleted from a heap: its slot is empty, its index entries are ghosts
//! versioned       row and index entries end with a versioning tag
//! forwarded       moved to another page of the heap: a forwarding stub is left in its slot
//! ```
//!
//! All of it is a function of the row number, like the rows themselves.

use extentdb_base::{PageId, Rid};
use extentdb_format::record::row::VersionTag;
use extentdb_types::{Datum, SqlType, Variant};

use crate::Error;
use crate::off_row::LargeValues;
use crate::spec::{ColumnSpec, TableSpec};
use extentdb_catalog::table::values::{Cell, RowValues};

/// A predicate on the row number.
type Which = Box<dyn Fn(u64) -> bool + Send + Sync>;

/// The states of rows, as predicates on the row number.
#[derive(Default)]
pub struct RowStates {
    ghost: Option<Which>,
    vacated: Option<Which>,
    versioned: Option<Which>,
    forwarded: Option<Which>,
}

impl RowStates {
    /// True for a row that is not deleted.
    pub fn is_live(&self, number: u64) -> bool {
        !chosen(&self.ghost, number) && !chosen(&self.vacated, number)
    }
}

fn chosen(which: &Option<Which>, number: u64) -> bool {
    which.as_ref().is_some_and(|which| which(number))
}

/// A column that was added to a table with rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddedColumn {
    /// The first row written with the column.
    pub from_row: u64,
    /// The value of the rows before, in its disk form (a bit as one byte): they were not rewritten.
    /// `None`: NULL.
    pub value: Option<Vec<u8>>,
}

impl TableSpec {
    /// With deleted rows whose records and index entries are still ghosts. They do not count as
    /// rows and cannot have values off the row.
    #[must_use]
    pub fn ghosts(mut self, which: impl Fn(u64) -> bool + Send + Sync + 'static) -> Self {
        self.row_states.ghost = Some(Box::new(which));
        self
    }

    /// With rows that are deleted from a heap: the slot is empty, index entries are still
    /// ghosts.
    #[must_use]
    pub fn vacated(mut self, which: impl Fn(u64) -> bool + Send + Sync + 'static) -> Self {
        self.row_states.vacated = Some(Box::new(which));
        self
    }

    /// With rows whose records and index entries carry a versioning tag.
    #[must_use]
    pub fn versioned(mut self, which: impl Fn(u64) -> bool + Send + Sync + 'static) -> Self {
        self.row_states.versioned = Some(Box::new(which));
        self
    }

    /// With forwarded rows of a heap, besides those of
    /// [`Rows::is_forwarded`](super::Rows::is_forwarded).
    #[must_use]
    pub fn forwarded(mut self, which: impl Fn(u64) -> bool + Send + Sync + 'static) -> Self {
        self.row_states.forwarded = Some(Box::new(which));
        self
    }
}

impl ColumnSpec {
    /// As a column that was added when `from_row` rows were there: they have NULL, and the
    /// generator must write NULL for them.
    #[must_use]
    pub fn added(mut self, from_row: u64) -> Self {
        self.added = Some(AddedColumn { from_row, value: None });
        self
    }

    /// As a column that was added with a default when `from_row` rows were there. They have this
    /// value, in its disk form (a bit as one byte), and the generator must write it; their records
    /// do not have the column.
    #[must_use]
    pub fn added_with(mut self, from_row: u64, value: &[u8]) -> Self {
        self.added = Some(AddedColumn { from_row, value: Some(value.to_vec()) });
        self
    }

    /// As a column that was dropped before row `from_row` was written. The generator still
    /// writes values for it.
    #[must_use]
    pub fn dropped(mut self, from_row: u64) -> Self {
        self.dropped_at = Some(from_row);
        self
    }

    /// As a column that was added where a dropped column lies. Both have types of a fixed length,
    /// the new one's no longer, and the other was dropped before this one was added.
    #[must_use]
    pub fn in_place_of(mut self, dropped: &str) -> Self {
        self.replaces = Some(dropped.to_owned());
        self
    }
}

/// The state of one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct RowState {
    /// Number of the row: it decides which columns the record has.
    pub(crate) number: u64,
    pub(crate) is_ghost: bool,
    pub(crate) is_vacated: bool,
    pub(crate) is_forwarded: bool,
    pub(crate) version: Option<VersionTag>,
}

impl RowState {
    /// True for a row that is not deleted.
    pub(crate) fn is_live(&self) -> bool {
        !self.is_ghost && !self.is_vacated
    }
}

/// A column that was added: its id, the first row with it, the value of the rows before.
struct Added<'a> {
    column: i32,
    from_row: u64,
    value: Option<&'a [u8]>,
}

/// The history of one table.
#[derive(Default)]
pub(crate) struct History<'a> {
    added: Vec<Added<'a>>,
    /// Column ids and the first row without a value.
    dropped: Vec<(i32, u64)>,
    row_states: Option<&'a RowStates>,
    large_values: LargeValues,
}

impl<'a> History<'a> {
    /// The history of a specification.
    ///
    /// # Errors
    /// The history is impossible.
    pub(crate) fn of(spec: &'a TableSpec) -> Result<Self, Error> {
        let fail = |column: &str, what| {
            Err(Error::Alteration { table: spec.name.clone(), column: column.to_owned(), what })
        };
        let large_values =
            if spec.large_values_out_of_row { LargeValues::OutOfRow } else { LargeValues::InRow };
        let mut history = History {
            row_states: Some(&spec.row_states),
            large_values,
            ..History::default()
        };
        let is_key = |name: &str| {
            spec.clustered.iter().flat_map(|index| &index.columns).any(|(column, _)| column == name)
        };
        for (id, column) in (1..).zip(&spec.columns) {
            if column.added.is_some() && is_key(&column.name) {
                return fail(&column.name, "a clustered key column is in every row");
            }
            let last = history.added.last().map_or(0, |added| added.from_row);
            match &column.added {
                Some(added) if added.from_row < last => {
                    return fail(&column.name, "columns are added in order");
                }
                Some(added) => {
                    if added.value.is_none() && !column.nullable {
                        return fail(
                            &column.name,
                            "a column without a default is added as nullable",
                        );
                    }
                    let value = added.value.as_deref();
                    history.added.push(Added { column: id, from_row: added.from_row, value });
                }
                None if !history.added.is_empty() => {
                    return fail(&column.name, "added columns come last");
                }
                None => {}
            }
            history.dropped.extend(column.dropped_at.map(|from_row| (id, from_row)));
        }
        if spec.clustered.is_some() && spec.row_states.vacated.is_some() {
            return fail("", "only slots of a heap can be empty");
        }
        Ok(history)
    }

    /// Where (max) values lie.
    pub(crate) fn large_values(&self) -> LargeValues {
        self.large_values
    }

    /// The state of a row. `is_forwarded`: its generator says that it is forwarded.
    pub(crate) fn state(&self, number: u64, is_forwarded: bool) -> RowState {
        let Some(row_states) = self.row_states else {
            return RowState { number, is_forwarded, ..RowState::default() };
        };
        let is = |which| chosen(which, number);
        let is_vacated = is(&row_states.vacated);
        let is_ghost = !is_vacated && is(&row_states.ghost);
        let is_forwarded = !is_vacated && !is_ghost && (is_forwarded || is(&row_states.forwarded));
        let version = is(&row_states.versioned).then(|| version_tag(number));
        RowState { number, is_ghost, is_vacated, is_forwarded, version }
    }

    /// Row numbers from which records have more columns, and the id of the first column they do not
    /// have before: for the layout of the records.
    pub(crate) fn additions(&self) -> impl Iterator<Item = (u64, i32)> {
        self.added.iter().map(|added| (added.from_row, added.column))
    }

    /// Checks that an old row has the values that rows without the column have, and takes out
    /// values of dropped columns. Returns the column that is wrong.
    pub(crate) fn settle(&self, number: u64, row: &mut RowValues) -> Option<i32> {
        for added in self.added.iter().filter(|added| number < added.from_row) {
            let is_same = match (row.cell(added.column as usize - 1), added.value) {
                (Cell::Null, None) => true,
                (Cell::Bit(bit), Some(value)) => value == [u8::from(bit)],
                (Cell::Bytes(bytes) | Cell::Lob(bytes), Some(value)) => bytes == value,
                _ => false,
            };
            if !is_same {
                return Some(added.column);
            }
        }
        for (column, _) in self.dropped.iter().filter(|(_, from_row)| number >= *from_row) {
            row.set_null(*column as usize - 1);
        }
        None
    }

    /// Columns that were added with a value for existing rows: id and value.
    pub(crate) fn stored_defaults(&self) -> impl Iterator<Item = (i32, &'a [u8])> {
        self.added.iter().filter_map(|added| Some((added.column, added.value?)))
    }
}

/// Transaction sequence numbers begin here.
const FIRST_SEQUENCE: u64 = 1 << 20;
/// Rows that one transaction changed.
const ROWS_PER_TRANSACTION: u64 = 100;
/// Versions on a page of the version store.
const VERSIONS_PER_PAGE: u64 = 60;

/// The tag of a row that was changed: its older version lies in the version store, which is part of
/// another database.
fn version_tag(number: u64) -> VersionTag {
    let sequence = (FIRST_SEQUENCE + number / ROWS_PER_TRANSACTION).to_le_bytes();
    let page = PageId::new(1, 400 + (number / VERSIONS_PER_PAGE % 4096) as u32);
    let [a, b, c, d, e, f, ..] = sequence;
    VersionTag {
        previous: Rid::new(page, (number % VERSIONS_PER_PAGE) as u16),
        sequence: [a, b, c, d, e, f],
    }
}

/// The row of `sysseobjvalues` for a stored default: a sql_variant, or the bytes themselves where
/// that cannot hold the type.
pub(crate) fn stored_default_row(
    rowset: i64,
    ordinal: i32,
    ty: &SqlType,
    value: &[u8],
) -> RowValues {
    const CLASS_DEFAULT: u8 = 1;
    let mut row = RowValues::new();
    row.tinyint(CLASS_DEFAULT).bigint(rowset).bigint(ordinal.into()).int(0);
    match variant(ty, value) {
        Some(variant) => row.raw(&variant).null(),
        None => row.null().raw(value),
    };
    row
}

fn variant(ty: &SqlType, value: &[u8]) -> Option<Vec<u8>> {
    if ty.is_max() || ty.is_lob() {
        return None;
    }
    let datum = Datum::decode(ty, value).ok()?;
    if let Datum::Variant(_) = datum {
        return Some(value.to_vec());
    }
    let mut out = Vec::new();
    let variant = Datum::Variant(Box::new(Variant { ty: *ty, value: datum }));
    variant.encode(&SqlType::SqlVariant, &mut out).ok()?;
    Some(out)
}
