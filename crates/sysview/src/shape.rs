//! Shapes of views: names, columns, types, nullability, as version 2022 has them.
//!
//! ```text
//! data/views.tsv   schema TAB name TAB kind TAB column:type[!] TAB column:type[!] …
//! kind             V view  U table, read as a view  IF TF table-valued function
//! !                NOT NULL
//! ```
//!
//! Names compare without regard to the case of ASCII letters.

use extentdb_base::sync::OnceLock;
use extentdb_types::{Collation, SqlType};

const DATA: &str = include_str!("../data/views.tsv");
/// Object ids of views count down from here, in the order of their names: far from those that the
/// product has given to its own.
const FIRST_OBJECT_ID: i32 = -1_000_001;
/// Length in bytes of a sysname.
const SYSNAME_BYTES: u16 = 256;
/// Longest texts and binaries with a length.
const BYTES_MAX: u16 = 8000;

/// A view of the product: its exact shape.
#[derive(Debug)]
pub struct View {
    /// `sys` or `INFORMATION_SCHEMA`.
    pub schema: &'static str,
    /// Name in its schema.
    pub name: &'static str,
    /// Is it read by its name, or called with arguments?
    pub kind: ViewKind,
    /// Columns in order.
    pub columns: &'static [ViewColumn],
    /// Position among all views.
    number: i32,
}

/// How a view is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ViewKind {
    /// By its name.
    View,
    /// A table-valued function: with arguments.
    Function,
}

/// A column of a view.
#[derive(Debug)]
pub struct ViewColumn {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub ty: ViewType,
    /// May it be NULL?
    pub is_nullable: bool,
}

/// The type of a column: texts have the collation of the catalog.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ViewType {
    ty: SqlType,
    is_sysname: bool,
}

/// A view by its schema and name. Compatibility views are in schema dbo, too.
#[must_use]
pub fn view(schema: &str, name: &str) -> Option<&'static View> {
    let is_of_dbo = schema.eq_ignore_ascii_case("dbo");
    let found = find(if is_of_dbo { "sys" } else { schema }, name, ViewKind::View);
    found.filter(|view| !is_of_dbo || view.is_compatibility_view())
}

/// A table-valued function of the system by its schema and name.
#[must_use]
pub fn function(schema: &str, name: &str) -> Option<&'static View> {
    find(schema, name, ViewKind::Function)
}

fn find(schema: &str, name: &str, kind: ViewKind) -> Option<&'static View> {
    let is_it = |view: &&View| {
        view.kind == kind
            && view.name.eq_ignore_ascii_case(name)
            && view.schema.eq_ignore_ascii_case(schema)
    };
    all().iter().find(is_it)
}

/// All views, and functions that return tables.
pub fn views() -> impl Iterator<Item = &'static View> {
    all().iter()
}

fn all() -> &'static [View] {
    static ALL: OnceLock<Vec<View>> = OnceLock::new();
    ALL.get_or_init(|| (0..).zip(DATA.lines()).filter_map(parse_view).collect())
}

impl View {
    /// Its object id: less than 0, as those of all system objects.
    #[must_use]
    pub fn object_id(&self) -> i32 {
        FIRST_OBJECT_ID - self.number
    }

    /// Is it a system table of version 2000, or a view that stands for one?
    #[must_use]
    pub fn is_compatibility_view(&self) -> bool {
        self.schema == "sys" && self.name.starts_with("sys") && !self.name.contains('_')
    }
}

impl ViewType {
    /// The type, with the collation of the catalog.
    #[must_use]
    pub fn sql_type(&self, collation: Collation) -> SqlType {
        match self.ty {
            SqlType::Char { len, .. } => SqlType::Char { len, collation },
            SqlType::VarChar { len, .. } => SqlType::VarChar { len, collation },
            SqlType::Text { .. } => SqlType::Text { collation },
            SqlType::NChar { len, .. } => SqlType::NChar { len, collation },
            SqlType::NVarChar { len, .. } => SqlType::NVarChar { len, collation },
            SqlType::NText { .. } => SqlType::NText { collation },
            other => other,
        }
    }

    /// Is it the alias type sysname?
    #[must_use]
    pub fn is_sysname(&self) -> bool {
        self.is_sysname
    }
}

fn parse_view((number, line): (i32, &'static str)) -> Option<View> {
    let mut parts = line.split('\t');
    let [schema, name, kind] = [parts.next()?, parts.next()?, parts.next()?];
    let columns: Vec<ViewColumn> = parts.filter_map(parse_column).collect();
    Some(View {
        schema,
        name,
        kind: if matches!(kind, "IF" | "TF") { ViewKind::Function } else { ViewKind::View },
        columns: columns.leak(),
        number,
    })
}

fn parse_column(text: &'static str) -> Option<ViewColumn> {
    let (name, ty) = text.split_once(':')?;
    let bare = ty.strip_suffix('!');
    let ty = parse_type(bare.unwrap_or(ty))?;
    Some(ViewColumn { name, ty, is_nullable: bare.is_none() })
}

fn parse_type(text: &str) -> Option<ViewType> {
    let (name, arguments) = match text.split_once('(') {
        Some((name, rest)) => (name, rest.trim_end_matches(')')),
        None => (text, ""),
    };
    let ty = match name {
        "sysname" => SqlType::NVarChar { len: Some(SYSNAME_BYTES), collation: NO_COLLATION },
        _ => sql_type(name, arguments)?,
    };
    Some(ViewType { ty, is_sysname: name == "sysname" })
}

/// Replaced by that of the catalog.
const NO_COLLATION: Collation = Collation(0);

fn sql_type(name: &str, arguments: &str) -> Option<SqlType> {
    let collation = NO_COLLATION;
    let number = || arguments.parse::<u16>().ok();
    let scale = || arguments.parse::<u8>().ok();
    // `None` for (max).
    let len = |unit: u16| number().map(|len| (len * unit).min(BYTES_MAX));
    Some(match name {
        "bit" => SqlType::Bit,
        "tinyint" => SqlType::TinyInt,
        "smallint" => SqlType::SmallInt,
        "int" => SqlType::Int,
        "bigint" => SqlType::BigInt,
        "float" => SqlType::Float,
        "real" => SqlType::Real,
        "money" => SqlType::Money,
        "datetime" => SqlType::DateTime,
        "smalldatetime" => SqlType::SmallDateTime,
        "date" => SqlType::Date,
        "time" => SqlType::Time { scale: scale()? },
        "datetime2" => SqlType::DateTime2 { scale: scale()? },
        "datetimeoffset" => SqlType::DateTimeOffset { scale: scale()? },
        "decimal" | "numeric" => {
            let (precision, scale) = arguments.split_once(',')?;
            let precision = precision.parse().ok()?;
            SqlType::Numeric { precision, scale: scale.parse().ok()? }
        }
        "char" => SqlType::Char { len: len(1)?, collation },
        "varchar" => SqlType::VarChar { len: len(1), collation },
        "nchar" => SqlType::NChar { len: len(2)?, collation },
        "nvarchar" => SqlType::NVarChar { len: len(2), collation },
        "binary" => SqlType::Binary { len: len(1)? },
        "varbinary" => SqlType::VarBinary { len: len(1) },
        "text" => SqlType::Text { collation },
        "ntext" => SqlType::NText { collation },
        "image" => SqlType::Image,
        "timestamp" => SqlType::RowVersion,
        "uniqueidentifier" => SqlType::UniqueIdentifier,
        "xml" => SqlType::Xml,
        // The type of some columns is documented nowhere.
        "sql_variant" | "?" => SqlType::SqlVariant,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of facts that the shapes are generated from, where it is at hand.
    fn facts() -> Option<String> {
        let folder = std::env::var("EXTENTDB_CATALOG_FACTS").ok()?;
        std::fs::read_to_string(std::path::Path::new(&folder).join("views.tsv")).ok()
    }

    #[test]
    fn every_line_is_a_view_and_every_column_has_a_type() {
        let lines = DATA.lines().count();
        assert_eq!(all().len(), lines);
        let columns: usize = DATA.lines().map(|line| line.split('\t').count() - 3).sum();
        assert_eq!(all().iter().map(|view| view.columns.len()).sum::<usize>(), columns);
    }

    #[test]
    fn shapes_are_those_of_the_table_of_facts() {
        let Some(facts) = facts() else { return };
        let mut seen = 0;
        for row in facts.lines().filter(|line| !line.starts_with('#')) {
            let row: Vec<&str> = row.split('\t').collect();
            let (Ok(ordinal), "N") = (row[2].parse::<usize>(), row[7]) else { continue };
            let found = view(row[0], row[1]).or_else(|| function(row[0], row[1]));
            let found = found.unwrap_or_else(|| panic!("no view {}.{}", row[0], row[1]));
            let column = &found.columns[ordinal - 1];
            assert_eq!(column.name, row[3], "{}", row[1]);
            assert_eq!(column.is_nullable, row[5] != "N", "{}.{}", row[1], row[3]);
            seen += 1;
        }
        assert_eq!(seen, views().map(|view| view.columns.len()).sum::<usize>());
    }

    #[test]
    fn names_compare_without_case() {
        assert_eq!(view("SYS", "Objects").unwrap().name, "objects");
        assert_eq!(view("information_schema", "tables").unwrap().columns.len(), 4);
        assert!(view("dbo", "sysobjects").is_some());
        assert!(view("dbo", "objects").is_none() && view("dbo", "system_views").is_none());
        assert!(view("sys", "dm_exec_sql_text").is_none());
        assert!(function("sys", "dm_exec_sql_text").is_some());
    }

    #[test]
    fn types_are_those_that_the_columns_declare() {
        let type_of = |schema: &str, name: &str, column: &str| {
            let view = view(schema, name).unwrap();
            let column = view.columns.iter().find(|own| own.name == column).unwrap();
            column.ty.sql_type(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS).to_string()
        };
        let cases = [
            ("sys", "objects", "name", "nvarchar(128)"),
            ("sys", "objects", "type", "char(2)"),
            ("sys", "database_files", "create_lsn", "numeric(25,0)"),
            ("sys", "sql_modules", "definition", "nvarchar(max)"),
            ("INFORMATION_SCHEMA", "COLUMNS", "COLUMN_DEFAULT", "nvarchar(4000)"),
            ("sys", "databases", "owner_sid", "varbinary(85)"),
        ];
        for (schema, name, column, expected) in cases {
            assert_eq!(type_of(schema, name, column), expected, "{name}.{column}");
        }
    }

    #[test]
    fn object_ids_are_unique_and_negative() {
        let ids: std::collections::BTreeSet<i32> = views().map(View::object_id).collect();
        assert_eq!(ids.len(), all().len());
        assert!(ids.iter().all(|id| *id < 0));
    }
}
