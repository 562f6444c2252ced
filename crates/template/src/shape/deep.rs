//! `deep`: wide keys, so that trees of few rows are deep.
//!
//! ```text
//! deep_unique      PK label (600 to 900 bytes)        IX number        IX tag (up to 900 bytes)
//! deep_duplicates  CX branch (400 bytes), not unique  IX alias (600 to 900 bytes, one in eight is
//!                                                     NULL)
//! deep_heap        heap                               IX label, descending        UX number
//!                                                     include (label)
//! ```
//!
//! A page above the leaves has four to twelve children.

use extentdb_types::SqlType;

use super::permutation::Permutation;
use super::sales::{nvarchar, varchar};
use super::size::{Size, int_rows_for};
use crate::Error;
use crate::spec::RowOrder;
use crate::{ColumnSpec, DatabaseBuilder, IndexSpec, RowValues, Rows, TableSpec};

/// Bytes a row of the first table takes, with a row of each of the other two for every second one.
const BYTES_PER_ROW: u64 = 7_600;
/// Rows with the same key in the clustered index that is not unique.
const ROWS_PER_BRANCH: u64 = 5;
/// One of this many aliases is NULL.
const NULL_EVERY: u64 = 8;

pub(super) fn add(
    builder: DatabaseBuilder,
    _seed: u64,
    size: Size,
) -> Result<DatabaseBuilder, Error> {
    let count = int_rows_for(size, BYTES_PER_ROW)?;
    let half = count.div_ceil(2);
    Ok(builder.table(unique_table(count)).table(duplicates_table(half)).table(heap_table(half)))
}

/// Letters and digits that sort as their number does: `wide` to one and a half times `wide`
/// characters.
fn label(rank: u64, wide: usize) -> String {
    const LETTERS: &[u8; 26] = b"abcdefghijklmnopqrstuvwxyz";
    let mut out = format!("K{rank:012}");
    let len = wide + (rank * 37 % (wide as u64 / 2 + 1)) as usize;
    out.extend((out.len()..len).map(|at| char::from(LETTERS[(at as u64 + rank) as usize % 26])));
    out
}

fn unique_table(count: u64) -> TableSpec {
    let columns = vec![
        ColumnSpec::new("label", nvarchar(450)),
        ColumnSpec::new("number", SqlType::Int),
        ColumnSpec::new("tag", varchar(900)),
    ];
    let rows = UniqueRows {
        count,
        labels: Permutation::shuffle(count),
        tags: Permutation::new(count, count / 3),
    };
    TableSpec::heap("deep_unique", columns, rows)
        .clustered(IndexSpec::primary_key("PK_deep_unique", &["label"]))
        .index(IndexSpec::new("IX_deep_unique_number", &["number"]))
        .index(IndexSpec::new("IX_deep_unique_tag", &["tag"]))
}

struct UniqueRows {
    count: u64,
    labels: Permutation,
    tags: Permutation,
}

impl Rows for UniqueRows {
    fn count(&self) -> u64 {
        self.count
    }

    fn row(&self, number: u64, row: &mut RowValues) {
        row.ntext(&label(self.labels.at(number), 300)).int(number as i32);
        row.text(&label(self.tags.at(number), 600));
    }

    fn order(&self, index: usize) -> Option<RowOrder<'_>> {
        Some(match index {
            0 => Box::new(self.labels.order(self.count)),
            1 => Box::new(0..self.count),
            _ => Box::new(self.tags.order(self.count)),
        })
    }
}

fn duplicates_table(count: u64) -> TableSpec {
    let columns = vec![
        ColumnSpec::new("branch", varchar(600)),
        ColumnSpec::nullable("alias", nvarchar(450)),
        ColumnSpec::new("number", SqlType::Int),
    ];
    let rows = DuplicateRows { count, aliases: Permutation::shuffle(count) };
    TableSpec::heap("deep_duplicates", columns, rows)
        .clustered(IndexSpec::new("CX_deep_duplicates", &["branch"]))
        .index(IndexSpec::new("IX_deep_duplicates_alias", &["alias"]))
}

struct DuplicateRows {
    count: u64,
    aliases: Permutation,
}

impl Rows for DuplicateRows {
    fn count(&self) -> u64 {
        self.count
    }

    fn row(&self, number: u64, row: &mut RowValues) {
        row.text(&label(number / ROWS_PER_BRANCH, 400));
        match number % NULL_EVERY {
            0 => row.null(),
            _ => row.ntext(&label(self.aliases.at(number), 300)),
        };
        row.int(number as i32);
    }

    fn order(&self, index: usize) -> Option<RowOrder<'_>> {
        Some(match index {
            0 => Box::new(0..self.count),
            // NULL sorts first, in the order of the rows.
            _ => {
                let values =
                    self.aliases.order(self.count).filter(|number| number % NULL_EVERY != 0);
                Box::new((0..self.count).step_by(NULL_EVERY as usize).chain(values))
            }
        })
    }
}

fn heap_table(count: u64) -> TableSpec {
    let columns =
        vec![ColumnSpec::new("number", SqlType::Int), ColumnSpec::new("label", varchar(900))];
    let rows = HeapRows { count, labels: Permutation::shuffle(count) };
    TableSpec::heap("deep_heap", columns, rows)
        .index(IndexSpec::new("IX_deep_heap_label", &["label"]).descending("label"))
        .index(IndexSpec::new("UX_deep_heap_number", &["number"]).unique().include(&["label"]))
}

struct HeapRows {
    count: u64,
    labels: Permutation,
}

impl Rows for HeapRows {
    fn count(&self) -> u64 {
        self.count
    }

    fn row(&self, number: u64, row: &mut RowValues) {
        row.int(number as i32).text(&label(self.labels.at(number), 600));
    }

    fn order(&self, index: usize) -> Option<RowOrder<'_>> {
        Some(match index {
            1 => Box::new(self.labels.descending(self.count)),
            _ => Box::new(0..self.count),
        })
    }
}
