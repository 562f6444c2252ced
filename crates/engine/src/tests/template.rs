//! `rows.tsv` compared with a real database of the same version: the rows of a new database are
//! those of the real one, minus what its users made; `cargo x gen` writes the file again.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use extentdb_base::sync::Arc;
use extentdb_catalog::layout::Cell;
use extentdb_catalog::table::{
    DEFAULT_COLLATION, TableDefinition, TemplateTable, TemplateValue, base_tables, template_rows,
};
use extentdb_io::MemDisk;
use extentdb_types::SqlType;

use crate::catalog::system_table::number;
use crate::{Database, Options, Paths};

/// A row as `rows.tsv` has it.
type Line = Vec<String>;

const SAMPLE: &str = "bookshop-2008r2.mdf";

/// The sample, on a disk in memory.
pub(super) fn sample() -> Option<Database> {
    let folder = std::env::var_os("EXTENTDB_SAMPLES").map(PathBuf::from).unwrap_or_else(|| {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples"))
    });
    let Ok(bytes) = std::fs::read(folder.join(SAMPLE)) else {
        eprintln!("SKIPPED: no samples in {}", folder.display());
        return None;
    };
    let disk = MemDisk::new();
    let paths = Paths {
        data: vec![PathBuf::from(SAMPLE)],
        log: PathBuf::from("log.ldf"),
    };
    disk.put(&paths.data[0], bytes);
    Some(Database::open(&paths, Options::on(Arc::new(disk))).unwrap())
}

/// The rows of a table that no user made, in the order of its clustered key.
fn lines_of(db: &Database, definition: &TableDefinition, users: &BTreeSet<i64>) -> Vec<Line> {
    let rows = db.catalog.system(&definition.name).unwrap().rows(&[]).unwrap();
    let is_users =
        |row: &Vec<Cell<'_>>| row.iter().filter_map(number).any(|id| users.contains(&id));
    let line = |row: &Vec<Cell<'_>>| -> Line {
        row.iter()
            .zip(&definition.columns)
            .map(|(cell, column)| text_of(cell, &column.ty))
            .collect()
    };
    rows.iter().filter(|row| !is_users(row)).map(line).collect()
}

fn text_of(cell: &Cell<'_>, ty: &SqlType) -> String {
    let Cell::Bytes(bytes) = cell else { return "~".to_owned() };
    match ty {
        SqlType::DateTime => "*".to_owned(),
        SqlType::TinyInt => bytes[0].to_string(),
        SqlType::SmallInt | SqlType::Int | SqlType::BigInt => number(cell).unwrap().to_string(),
        SqlType::NVarChar { .. } | SqlType::NChar { .. } => {
            let units: Vec<u16> =
                bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
            String::from_utf16(&units).unwrap()
        }
        SqlType::Char { .. } => {
            bytes.iter().map(|byte| char::from(*byte)).collect::<String>().replace('\0', "\\0")
        }
        _ => bytes.iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap();
            hex
        }),
    }
}

/// Ids of objects that users made.
fn users_of(db: &Database, tables: &[TableDefinition]) -> BTreeSet<i64> {
    let objects = db.catalog.system("sysschobjs").unwrap().rows(&[]).unwrap();
    let known: BTreeSet<i64> = tables.iter().map(|table| table.id.0.into()).collect();
    let template = template_rows().unwrap();
    let named: BTreeSet<&str> = template
        .iter()
        .filter(|table| table.name == "sysschobjs")
        .flat_map(|table| &table.rows)
        .filter_map(|row| match row.first() {
            Some(TemplateValue::Text(id)) => Some(*id),
            _ => None,
        })
        .collect();
    let ids = objects.iter().filter_map(|row| number(&row[0]));
    ids.filter(|id| !known.contains(id) && !named.contains(id.to_string().as_str())).collect()
}

/// What differs from database to database stands as a mark; its owner is sa.
fn marked(table: &str, mut line: Line) -> Line {
    match table {
        "sysscalartypes" if line[7] != "0" => line[7] = "$".to_owned(),
        "sysowners" if line[1] == "public" => line[3] = "?public".to_owned(),
        "sysowners" if line[1] == "dbo" => (line[2], line[3]) = ("S".to_owned(), "01".to_owned()),
        _ => {}
    }
    line
}

/// `rows.tsv`, by a real database.
fn generated(real: &Database) -> String {
    let tables = base_tables(DEFAULT_COLLATION).unwrap();
    let users = users_of(real, &tables);
    let mut text: String =
        rows_tsv().lines().filter(|line| line.starts_with('#')).flat_map(|l| [l, "\n"]).collect();
    for TemplateTable { name, .. } in template_rows().unwrap() {
        let definition = tables.iter().find(|table| table.name == name).unwrap();
        writeln!(text, "@{name}").unwrap();
        let lines = lines_of(real, definition, &users).into_iter();
        let is_left_out = |line: &Line| match name {
            // Statistics: none are needed, and those of a real one describe what it held.
            "sysobjvalues" => line[0] == "60",
            // The base tables, which base_tables.tsv describes.
            "sysschobjs" => tables.iter().any(|table| table.id.0.to_string() == line[0]),
            _ => false,
        };
        for line in lines.filter(|line| !is_left_out(line)) {
            writeln!(text, "{}", marked(name, line).join("\t")).unwrap();
        }
    }
    text
}

fn rows_tsv_path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../catalog/src/table/rows.tsv"))
}

fn rows_tsv() -> String {
    std::fs::read_to_string(rows_tsv_path()).unwrap()
}

#[test]
fn the_rows_of_a_new_database_are_those_of_a_real_one_that_no_user_made() {
    let Some(real) = sample() else { return };
    let expected = generated(&real);
    let found = rows_tsv();
    for (number, (expected, found)) in (1..).zip(expected.lines().zip(found.lines())) {
        assert_eq!(expected, found, "line {number} of rows.tsv");
    }
    assert_eq!(expected.lines().count(), found.lines().count());
}

#[test]
#[ignore = "a tool: cargo x gen"]
fn write_rows_tsv() {
    let real = sample().expect("EXTENTDB_SAMPLES must name the folder of samples");
    std::fs::write(rows_tsv_path(), generated(&real)).unwrap();
}
