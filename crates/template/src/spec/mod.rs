//! What to build: tables by their columns, keys and rows.

pub(crate) mod alteration;
pub(crate) mod data_space;

use std::fmt;

use extentdb_base::sync::Arc;
use extentdb_catalog::layout::Compression;
use extentdb_types::SqlType;

use crate::spec::alteration::{AddedColumn, RowStates};
use crate::spec::data_space::Placement;
use extentdb_catalog::table::values::RowValues;

/// The specification of a table: columns, indexes, constraints and rows.
pub struct TableSpec {
    /// Name; its schema is dbo.
    pub name: String,
    /// Columns; their ids are 1, 2, 3 …
    pub columns: Vec<ColumnSpec>,
    /// The clustered index; without one the table is a heap.
    pub clustered: Option<IndexSpec>,
    /// Nonclustered indexes, in the order they are built.
    pub indexes: Vec<IndexSpec>,
    /// Check constraints, in catalog order.
    pub checks: Vec<CheckSpec>,
    /// Foreign keys to tables that were added before.
    pub foreign_keys: Vec<ForeignKeySpec>,
    /// Placement of the heap or clustered index, and of the other indexes without their own.
    /// `None` = PRIMARY.
    pub placement: Option<Placement>,
    /// Compression of the heap or clustered index.
    pub compression: Compression,
    /// The option "large value types out of row": (max) values never lie in the row, and have text
    /// pointers.
    pub large_values_out_of_row: bool,
    /// The states of rows after they were written.
    pub row_states: RowStates,
    /// The generator of the rows.
    pub rows: Box<dyn Rows>,
}

impl TableSpec {
    /// A heap without indexes.
    pub fn heap(name: &str, columns: Vec<ColumnSpec>, rows: impl Rows + 'static) -> Self {
        TableSpec {
            name: name.to_owned(),
            columns,
            clustered: None,
            indexes: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            placement: None,
            compression: Compression::None,
            large_values_out_of_row: false,
            row_states: RowStates::default(),
            rows: Box::new(rows),
        }
    }

    /// With a clustered index.
    #[must_use]
    pub fn clustered(mut self, index: IndexSpec) -> Self {
        self.clustered = Some(index);
        self
    }

    /// With compressed rows in the heap or clustered index; its other indexes have their own
    /// choice.
    #[must_use]
    pub fn compressed(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// With (max) values off the rows, however short they are.
    #[must_use]
    pub fn large_values_out_of_row(mut self) -> Self {
        self.large_values_out_of_row = true;
        self
    }

    /// With one more nonclustered index.
    #[must_use]
    pub fn index(mut self, index: IndexSpec) -> Self {
        self.indexes.push(index);
        self
    }

    /// In a filegroup of its own.
    #[must_use]
    pub fn on(mut self, filegroup: &str) -> Self {
        self.placement = Some(Placement::filegroup(filegroup));
        self
    }

    /// In the partitions of a scheme.
    #[must_use]
    pub fn partitioned(mut self, scheme: &str, column: &str) -> Self {
        self.placement = Some(Placement::scheme(scheme, column));
        self
    }

    /// With one more check constraint.
    #[must_use]
    pub fn check(mut self, name: &str, column: &str, expression: &str) -> Self {
        let [name, column, expression] = [name, column, expression].map(str::to_owned);
        self.checks.push(CheckSpec { name, column, expression });
        self
    }

    /// With one more foreign key.
    #[must_use]
    pub fn foreign_key(mut self, name: &str, column: &str, table: &str, referenced: &str) -> Self {
        let [name, column, table, referenced] =
            [name, column, table, referenced].map(str::to_owned);
        self.foreign_keys.push(ForeignKeySpec { name, columns: vec![(column, referenced)], table });
        self
    }
}

/// The specification of a column.
#[derive(Clone, Debug)]
pub struct ColumnSpec {
    /// Name, at most 128 characters.
    pub name: String,
    /// Type, with length or precision.
    pub ty: SqlType,
    /// May be NULL.
    pub nullable: bool,
    /// Seed and increment of an identity column, whose type must be int. The generator still writes
    /// the values.
    pub identity: Option<(i32, i32)>,
    /// Name and expression of a default constraint.
    pub default: Option<(String, String)>,
    /// Expression of a computed column, and whether it is stored. The generator still writes the
    /// values.
    pub computed: Option<(String, bool)>,
    /// Set for a column that ALTER TABLE added to a table with rows.
    pub added: Option<AddedColumn>,
    /// ALTER TABLE dropped it before this row was written. The generator still writes its values:
    /// those of rows before are in the records.
    pub dropped_at: Option<u64>,
    /// The dropped column whose bytes it reuses.
    pub replaces: Option<String>,
}

impl ColumnSpec {
    /// A column that is never NULL.
    pub fn new(name: &str, ty: SqlType) -> Self {
        ColumnSpec {
            name: name.to_owned(),
            ty,
            nullable: false,
            identity: None,
            default: None,
            computed: None,
            added: None,
            dropped_at: None,
            replaces: None,
        }
    }

    /// A column that may be NULL.
    pub fn nullable(name: &str, ty: SqlType) -> Self {
        ColumnSpec { nullable: true, ..ColumnSpec::new(name, ty) }
    }

    /// A computed column, which may be NULL: `([quantity]*[price])`. Its values are only in the
    /// indexes on it.
    pub fn computed(name: &str, ty: SqlType, expression: &str) -> Self {
        ColumnSpec {
            computed: Some((expression.to_owned(), false)),
            ..ColumnSpec::nullable(name, ty)
        }
    }

    /// As a computed column whose values are stored in the rows.
    #[must_use]
    pub fn persisted(mut self) -> Self {
        self.computed.iter_mut().for_each(|(_, is_stored)| *is_stored = true);
        self
    }

    /// As an identity column.
    #[must_use]
    pub fn identity(mut self, seed: i32, increment: i32) -> Self {
        self.identity = Some((seed, increment));
        self
    }

    /// With a default constraint.
    #[must_use]
    pub fn default(mut self, name: &str, expression: &str) -> Self {
        self.default = Some((name.to_owned(), expression.to_owned()));
        self
    }
}

/// The constraint of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Constraint {
    /// None: CREATE INDEX.
    #[default]
    None,
    /// A PRIMARY KEY constraint.
    PrimaryKey,
    /// A UNIQUE constraint or index.
    Unique,
}

/// The specification of an index.
#[derive(Clone, Debug)]
pub struct IndexSpec {
    /// Name, at most 128 characters.
    pub name: String,
    /// Key columns; true = descending.
    pub columns: Vec<(String, bool)>,
    /// Columns of the INCLUDE clause.
    pub included: Vec<String>,
    /// A UNIQUE constraint or index.
    pub unique: bool,
    /// The constraint it enforces.
    pub constraint: Constraint,
    /// Its placement, if other than that of its table.
    pub placement: Option<Placement>,
    /// Only some rows have an entry.
    pub filter: Option<Filter>,
    /// Fragmented, as after inserts in random order and some deletes.
    pub fragmented: bool,
    /// How the entries of a nonclustered index are stored; for a clustered index see
    /// [`TableSpec::compressed`].
    pub compression: Compression,
}

/// The predicate of a filtered index.
#[derive(Clone)]
pub struct Filter {
    /// As stored: `([status]=(1))`.
    pub text: String,
    /// The same for a generated row: its number and values.
    pub includes: Includes,
}

/// A predicate on the number and values of a row.
pub(crate) type Includes = Arc<dyn Fn(u64, &RowValues) -> bool + Send + Sync>;

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl IndexSpec {
    /// An index on ascending columns.
    pub fn new(name: &str, columns: &[&str]) -> Self {
        IndexSpec {
            name: name.to_owned(),
            columns: columns.iter().map(|column| ((*column).to_owned(), false)).collect(),
            included: Vec::new(),
            unique: false,
            constraint: Constraint::None,
            placement: None,
            filter: None,
            fragmented: false,
            compression: Compression::None,
        }
    }

    /// The index of a primary key.
    pub fn primary_key(name: &str, columns: &[&str]) -> Self {
        IndexSpec {
            unique: true,
            constraint: Constraint::PrimaryKey,
            ..IndexSpec::new(name, columns)
        }
    }

    /// The index of a unique constraint.
    pub fn unique_constraint(name: &str, columns: &[&str]) -> Self {
        IndexSpec {
            unique: true,
            constraint: Constraint::Unique,
            ..IndexSpec::new(name, columns)
        }
    }

    /// As a unique index.
    #[must_use]
    pub fn unique(mut self) -> Self {
        self.unique = true;
        self
    }

    /// With compressed entries.
    #[must_use]
    pub fn compressed(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// With included columns.
    #[must_use]
    pub fn include(mut self, columns: &[&str]) -> Self {
        self.included = columns.iter().map(|column| (*column).to_owned()).collect();
        self
    }

    /// In a filegroup.
    #[must_use]
    pub fn on(mut self, filegroup: &str) -> Self {
        self.placement = Some(Placement::filegroup(filegroup));
        self
    }

    /// In the partitions of a scheme.
    #[must_use]
    pub fn partitioned(mut self, scheme: &str, column: &str) -> Self {
        self.placement = Some(Placement::scheme(scheme, column));
        self
    }

    /// With entries only for the rows that `includes` accepts, which must be those for which the
    /// predicate `text` is true.
    #[must_use]
    pub fn filter(
        mut self,
        text: &str,
        includes: impl Fn(u64, &RowValues) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.filter = Some(Filter { text: text.to_owned(), includes: Arc::new(includes) });
        self
    }

    /// With pages in random order, more or less half full, as random inserts and deletes leave
    /// them. The rows of [`Rows::is_deleted`] existed when pages were split: their keys may
    /// still be separators.
    #[must_use]
    pub fn fragmented(mut self) -> Self {
        self.fragmented = true;
        self
    }

    /// With a descending key column.
    #[must_use]
    pub fn descending(mut self, column: &str) -> Self {
        for (_, descending) in self.columns.iter_mut().filter(|(name, _)| name == column) {
            *descending = true;
        }
        self
    }
}

/// A check constraint on one column.
#[derive(Clone, Debug)]
pub struct CheckSpec {
    /// Name, at most 128 characters.
    pub name: String,
    /// The column that it checks.
    pub column: String,
    /// Its text as stored: `([quantity]>(0))`.
    pub expression: String,
}

/// A foreign key.
#[derive(Clone, Debug)]
pub struct ForeignKeySpec {
    /// Name, at most 128 characters.
    pub name: String,
    /// Referencing and referenced column.
    pub columns: Vec<(String, String)>,
    /// The referenced table.
    pub table: String,
}

/// Row numbers in the order of an index.
pub type RowOrder<'a> = Box<dyn Iterator<Item = u64> + 'a>;

/// The rows of a table as a function of their number.
pub trait Rows: Send + Sync {
    /// The number of rows, deleted ones included.
    fn count(&self) -> u64;

    /// Writes the values of row `number`, from 0, into an empty `row`. Called once for the table
    /// and once for every index, in any order: it must always give the same values.
    fn row(&self, number: u64, row: &mut RowValues);

    /// Writes the values of row `number` that the columns of an index need; other values may
    /// be left out. As in [`order`](Self::order), 1.. are the nonclustered indexes.
    fn entry(&self, _index: usize, number: u64, row: &mut RowValues) {
        self.row(number, row);
    }

    /// The numbers of all rows in key order of an index: 0 is the clustered index, 1.. the
    /// nonclustered ones as they are listed. `None`: they are sorted in memory.
    fn order(&self, _index: usize) -> Option<RowOrder<'_>> {
        None
    }

    /// True for deleted rows, which no rowset has any more. The order of an index still includes
    /// them.
    fn is_deleted(&self, _number: u64) -> bool {
        false
    }

    /// True for forwarded rows of a heap: an update moved them and left a forwarding stub.
    fn is_forwarded(&self, _number: u64) -> bool {
        false
    }
}

/// Rows from a closure.
pub struct FnRows<F> {
    count: u64,
    row: F,
    ordered: Vec<usize>,
}

impl<F: Fn(u64, &mut RowValues) + Send + Sync> FnRows<F> {
    /// `count` rows, whose values `row` writes.
    pub fn new(count: u64, row: F) -> Self {
        FnRows { count, row, ordered: Vec::new() }
    }

    /// With indexes whose key order is the order of the row numbers, counted as in [`Rows::order`]:
    /// they need no sorting.
    #[must_use]
    pub fn ordered(mut self, indexes: &[usize]) -> Self {
        self.ordered = indexes.to_vec();
        self
    }
}

impl<F: Fn(u64, &mut RowValues) + Send + Sync> Rows for FnRows<F> {
    fn count(&self) -> u64 {
        self.count
    }

    fn row(&self, number: u64, row: &mut RowValues) {
        (self.row)(number, row);
    }

    fn order(&self, index: usize) -> Option<RowOrder<'_>> {
        self.ordered.contains(&index).then(|| -> RowOrder<'_> { Box::new(0..self.count) })
    }
}

impl Rows for Vec<RowValues> {
    fn count(&self) -> u64 {
        self.len() as u64
    }

    fn row(&self, number: u64, row: &mut RowValues) {
        row.clone_from(&self[number as usize]);
    }
}
