//! Where tables and indexes lie: filegroups, partition functions and schemes.
//!
//! ```text
//! filegroup ids  1 PRIMARY, then 2, 3 …  files: first those of PRIMARY, then those of each
//!                                        filegroup
//! function ids   65536 …
//! scheme ids     65601 …                 one filegroup per partition
//! ```
//!
//! The ids are the first ones that SQL Server assigns. Which rows of the base tables hold what: see
//! the rows below; the class numbers of boundaries, parameters and destinations are chosen, since
//! no real database with partitions was at hand.

use extentdb_catalog::table::definition::column_facets;
use extentdb_types::{Guid, SqlType};

use crate::Error;
use crate::file::allocation::PRIMARY;
use crate::file::fixed_pages::CREATED;
use crate::record::order::sort_key;
use extentdb_catalog::table::describe::{SystemRows, rows_of};
use extentdb_catalog::table::values::{Cell, RowValues};

const FIRST_FUNCTION: i32 = 65_536;
const FIRST_SCHEME: i32 = 65_601;
/// Parts of a partition, by the fragment that the row of the primary filegroup has, too.
const FRAGMENT: i32 = 1;

/// Classes of `sysclsobjs`.
const CLASS_FUNCTION: u8 = 30;
const CLASS_DATA_SPACE: u8 = 31;
const STATUS_RANGE_RIGHT: i32 = 0x1;
/// `sysguidrefs`: the GUID of a filegroup (public text of `sys.filegroups`).
const GUID_OF_FILEGROUP: u8 = 3;
const CLASS_PARAMETER: u8 = 12;
const CLASS_BOUNDARY: u8 = 30;
const CLASS_SCHEME_FUNCTION: u8 = 31;
const CLASS_SCHEME_FILEGROUP: u8 = 32;

/// A filegroup other than PRIMARY.
#[derive(Clone, Debug)]
pub struct FilegroupSpec {
    /// Name, at most 128 characters.
    pub name: String,
    /// The number of its data files.
    pub files: usize,
}

/// A partition function.
#[derive(Clone, Debug)]
pub struct PartitionFunctionSpec {
    /// Name, at most 128 characters.
    pub name: String,
    /// Type of its parameter.
    pub ty: SqlType,
    /// RANGE RIGHT: a boundary value belongs to the partition on its right.
    pub range_right: bool,
    /// Boundary values, ascending.
    pub boundaries: RowValues,
}

impl PartitionFunctionSpec {
    /// RANGE LEFT: a boundary value belongs to the partition on its left.
    pub fn left(name: &str, ty: SqlType, boundaries: impl FnOnce(&mut RowValues)) -> Self {
        let mut values = RowValues::new();
        boundaries(&mut values);
        PartitionFunctionSpec {
            name: name.to_owned(),
            ty,
            range_right: false,
            boundaries: values,
        }
    }

    /// RANGE RIGHT: a boundary value belongs to the partition on its right.
    pub fn right(name: &str, ty: SqlType, boundaries: impl FnOnce(&mut RowValues)) -> Self {
        PartitionFunctionSpec { range_right: true, ..Self::left(name, ty, boundaries) }
    }
}

/// A partition scheme.
#[derive(Clone, Debug)]
pub struct PartitionSchemeSpec {
    /// Name, at most 128 characters.
    pub name: String,
    /// Name of its partition function.
    pub function: String,
    /// One filegroup for each partition.
    pub filegroups: Vec<String>,
}

/// Where a table or index lies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Placement {
    /// In a filegroup.
    Filegroup(String),
    /// In the partitions of a scheme, by the value of a column.
    Scheme {
        /// Name of the partition scheme.
        scheme: String,
        /// The partitioning column.
        column: String,
    },
}

impl Placement {
    pub(crate) fn filegroup(name: &str) -> Placement {
        Placement::Filegroup(name.to_owned())
    }

    pub(crate) fn scheme(name: &str, column: &str) -> Placement {
        Placement::Scheme { scheme: name.to_owned(), column: column.to_owned() }
    }
}

/// The partitioning of an index.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Partitioning {
    /// Id of the scheme.
    pub(crate) scheme: i32,
    /// Partitioning column of the table.
    pub(crate) column: i32,
    ty: SqlType,
    range_right: bool,
    /// Sort keys of the boundaries.
    boundaries: Vec<Vec<u8>>,
    /// Filegroups by partition.
    pub(crate) groups: Vec<i16>,
}

impl Partitioning {
    /// The partition of a value, from 1.
    pub(crate) fn partition_of(&self, value: Cell<'_>) -> i32 {
        let mut key = Vec::new();
        sort_key(&self.ty, value, false, &mut key);
        let is_left_of_row =
            |boundary: &Vec<u8>| if self.range_right { *boundary <= key } else { *boundary < key };
        self.boundaries.partition_point(is_left_of_row) as i32 + 1
    }
}

/// A resolved placement.
pub(crate) enum ResolvedPlacement {
    Filegroup(i16),
    Partitions(Partitioning),
}

/// All data spaces with their ids.
#[derive(Clone, Copy)]
pub(crate) struct DataSpaces<'a> {
    pub(crate) filegroups: &'a [FilegroupSpec],
    pub(crate) functions: &'a [PartitionFunctionSpec],
    pub(crate) schemes: &'a [PartitionSchemeSpec],
}

impl DataSpaces<'_> {
    /// The filegroup of each of `files` data files.
    pub(crate) fn groups_of_files(&self, files: usize) -> Result<Vec<i16>, Error> {
        let others: usize = self.filegroups.iter().map(|group| group.files).sum();
        let primary = files.checked_sub(others).filter(|primary| *primary > 0);
        let primary = primary.ok_or(Error::TooFewFiles { files, least: others + 1 })?;
        let mut out = vec![PRIMARY; primary];
        for (group, id) in self.filegroups.iter().zip(PRIMARY + 1..) {
            out.extend(std::iter::repeat_n(id, group.files));
        }
        Ok(out)
    }

    fn filegroup(&self, name: &str) -> Result<i16, Error> {
        if name.eq_ignore_ascii_case("PRIMARY") {
            return Ok(PRIMARY);
        }
        let at = self.filegroups.iter().position(|group| group.name == name);
        at.map(|at| at as i16 + PRIMARY + 1)
            .ok_or_else(|| Error::NoDataSpace { name: name.to_owned() })
    }

    /// Resolves a placement; `column` finds a column of the table by name.
    pub(crate) fn place(
        &self,
        placement: &Placement,
        column: impl FnOnce(&str) -> Result<(i32, SqlType), Error>,
    ) -> Result<ResolvedPlacement, Error> {
        match placement {
            Placement::Filegroup(name) => self.filegroup(name).map(ResolvedPlacement::Filegroup),
            Placement::Scheme { scheme, column: name } => {
                let (column, ty) = column(name)?;
                self.partitioning(scheme, column, ty).map(ResolvedPlacement::Partitions)
            }
        }
    }

    fn partitioning(&self, name: &str, column: i32, ty: SqlType) -> Result<Partitioning, Error> {
        let missing = |name: &str| Error::NoDataSpace { name: name.to_owned() };
        let at = self.schemes.iter().position(|scheme| scheme.name == name);
        let (at, scheme) =
            at.and_then(|at| Some((at, self.schemes.get(at)?))).ok_or_else(|| missing(name))?;
        let function = self.functions.iter().find(|function| function.name == scheme.function);
        let function = function.ok_or_else(|| missing(&scheme.function))?;
        let boundaries: Vec<Vec<u8>> = (0..function.boundaries.len())
            .map(|at| {
                let mut key = Vec::new();
                sort_key(&function.ty, function.boundaries.cell(at), false, &mut key);
                key
            })
            .collect();
        let fits = function.ty == ty
            && boundaries.is_sorted_by(|a, b| a < b)
            && scheme.filegroups.len() == boundaries.len() + 1;
        if !fits {
            return Err(Error::BadScheme { name: name.to_owned() });
        }
        let groups = scheme
            .filegroups
            .iter()
            .map(|group| self.filegroup(group))
            .collect::<Result<_, _>>()?;
        let scheme = FIRST_SCHEME + at as i32;
        let range_right = function.range_right;
        Ok(Partitioning { scheme, column, ty, range_right, boundaries, groups })
    }

    /// The rows that describe them; `guids` are those of the filegroups.
    pub(crate) fn add_rows(&self, guids: &[Guid], rows: &mut SystemRows) {
        for ((group, id), guid) in self.filegroups.iter().zip(2..).zip(guids) {
            for (table, row) in filegroup_rows(id, &group.name, *guid) {
                rows_of(rows, table).push(row);
            }
        }
        for (function, id) in self.functions.iter().zip(FIRST_FUNCTION..) {
            add_function(function, id, rows);
        }
        for (scheme, id) in self.schemes.iter().zip(FIRST_SCHEME..) {
            self.add_scheme(scheme, id, rows);
        }
    }

    fn add_scheme(&self, scheme: &PartitionSchemeSpec, id: i32, rows: &mut SystemRows) {
        rows_of(rows, "sysclsobjs").push(class_row(
            CLASS_DATA_SPACE,
            id,
            &scheme.name,
            0,
            b"PS",
            0,
        ));
        let function = self.functions.iter().position(|function| function.name == scheme.function);
        let function = function.map_or(0, |at| FIRST_FUNCTION + at as i32);
        let references = rows_of(rows, "syssingleobjrefs");
        references.push(reference_row(CLASS_SCHEME_FUNCTION, id, 0, function));
        for (group, partition) in scheme.filegroups.iter().zip(1..) {
            let group = self.filegroup(group).map_or(0, i32::from);
            references.push(reference_row(CLASS_SCHEME_FILEGROUP, id, partition, group));
        }
    }
}

/// The rows of a filegroup other than PRIMARY, with the tables that they belong to.
pub fn filegroup_rows(id: i32, name: &str, guid: Guid) -> Vec<(&'static str, RowValues)> {
    let Guid(guid) = guid;
    let mut rows = vec![("sysclsobjs", class_row(CLASS_DATA_SPACE, id, name, 0, b"FG", 0))];
    let mut row = RowValues::new();
    row.tinyint(GUID_OF_FILEGROUP).int(id).int(0).raw(&guid).int(0);
    rows.push(("sysguidrefs", row));
    let mut row = RowValues::new();
    row.int(FRAGMENT).int(id).int(id).raw(b"FG").raw(&guid).null().int(0).ntext(name);
    rows.push(("sysphfg", row));
    for (database_fragment, physical) in [(0, 0), (FRAGMENT, id)] {
        let mut row = RowValues::new();
        row.int(id).int(FRAGMENT).int(database_fragment).int(physical).int(0);
        rows.push(("sysfgfrag", row));
    }
    rows
}

fn add_function(function: &PartitionFunctionSpec, id: i32, rows: &mut SystemRows) {
    let status = if function.range_right { STATUS_RANGE_RIGHT } else { 0 };
    let partitions = function.boundaries.len() as i32 + 1;
    rows_of(rows, "sysclsobjs").push(class_row(
        CLASS_FUNCTION,
        id,
        &function.name,
        status,
        b"R ",
        partitions,
    ));
    let (length, precision, scale) = column_facets(&function.ty);
    let collation = function.ty.collation().map_or(0, |collation| collation.0 as i32);
    let xtype = function.ty.xtype();
    let mut row = RowValues::new();
    row.tinyint(CLASS_PARAMETER).int(id).int(1).null().tinyint(xtype).int(xtype.into());
    row.smallint(length).tinyint(precision).tinyint(scale).int(collation).int(0).int(0);
    rows_of(rows, "systypedsubobjs").push(row);
    for at in 0..function.boundaries.len() {
        let mut row = RowValues::new();
        row.tinyint(CLASS_BOUNDARY).int(id).int(at as i32 + 1).int(1);
        row.raw(&variant(&function.ty, function.boundaries.cell(at))).null();
        rows_of(rows, "sysobjvalues").push(row);
    }
}

/// A value with its type before it; a bare version byte and no type for NULL.
fn variant(ty: &SqlType, cell: Cell<'_>) -> Vec<u8> {
    let mut out = vec![ty.xtype(), 1];
    match *ty {
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            out.extend([precision, scale]);
        }
        SqlType::Time { scale }
        | SqlType::DateTime2 { scale }
        | SqlType::DateTimeOffset { scale } => {
            out.push(scale);
        }
        SqlType::Binary { .. }
        | SqlType::VarBinary { .. }
        | SqlType::Char { .. }
        | SqlType::VarChar { .. }
        | SqlType::NChar { .. }
        | SqlType::NVarChar { .. } => {
            out.extend(column_facets(ty).0.to_le_bytes());
            out.extend(
                ty.collation().map(|collation| collation.0.to_le_bytes()).into_iter().flatten(),
            );
        }
        _ => {}
    }
    match cell {
        Cell::Bytes(bytes) | Cell::Lob(bytes) | Cell::Pointer(bytes) => {
            out.extend_from_slice(bytes)
        }
        Cell::Bit(value) => out.push(u8::from(value)),
        Cell::Null | Cell::Stream(_) => {}
    }
    out
}

fn class_row(
    class: u8,
    id: i32,
    name: &str,
    status: i32,
    kind: &[u8; 2],
    int_prop: i32,
) -> RowValues {
    let mut row = RowValues::new();
    row.tinyint(class).int(id).ntext(name).int(status).raw(kind).int(int_prop);
    row.datetime(CREATED.days, CREATED.ticks).datetime(CREATED.days, CREATED.ticks);
    row
}

fn reference_row(class: u8, from: i32, sub: i32, to: i32) -> RowValues {
    let mut row = RowValues::new();
    row.tinyint(class).int(from).int(sub).int(to).int(0).int(0);
    row
}
