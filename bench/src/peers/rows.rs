//! The rows of a data file, read by our own reader, as text that loaders take.
//!
//! ```text
//! tabbed    1 TAB P000000012 TAB \N LF       COPY … FROM STDIN of PostgreSQL, LOAD DATA of MariaDB
//! inserts   INSERT INTO t VALUES (…),(…);    SQLite, whose import knows no NULL
//! ```

use std::io::Write;

use anyhow::{Context, Result, bail, ensure};
use extentdb_catalog::Table;
use extentdb_reader::{Database, TableScan, Value};
use extentdb_types::Datum;
use extentdb_types::plain::write_plain;

use super::schema::Dialect;

/// Rows of one INSERT.
const ROWS_PER_INSERT: u64 = 100;

/// The rows of the tables of a data file, or the first of them.
pub struct Rows<'d> {
    database: &'d Database,
    /// The user tables of the data file.
    pub tables: Vec<&'d Table>,
    /// Rows of each table at most.
    most: u64,
}

impl<'d> Rows<'d> {
    /// The first `most` rows of each user table.
    pub fn new(database: &'d Database, most: u64) -> Rows<'d> {
        Rows { database, tables: database.catalog().user_tables(), most }
    }

    /// Rows of all tables together, by the catalog's counts.
    pub fn count(&self) -> u64 {
        self.tables.iter().map(|table| self.count_of(table)).sum()
    }

    /// Rows of one table.
    pub(super) fn count_of(&self, table: &Table) -> u64 {
        u64::try_from(self.database.catalog().row_count(table)).unwrap_or(0).min(self.most)
    }

    /// Memory that holds a peer's database with room to spare.
    pub(super) fn buffer_bytes(&self) -> u64 {
        const ROW_WITH_INDEXES: u64 = 400;
        (self.count() * ROW_WITH_INDEXES).max(128 << 20)
    }

    /// Hands each row of a table to `visit`.
    pub(crate) fn for_each(
        &self,
        table: &Table,
        mut visit: impl FnMut(&[Datum<'_>]) -> Result<()>,
    ) -> Result<()> {
        let pages = self.database.pages();
        let mut scan = TableScan::new(&pages, self.database.catalog(), table)?;
        let mut left = self.most;
        while left > 0 {
            let Some(row) = scan.next_row() else { break };
            let row = row.with_context(|| table.full_name())?;
            let mut values = Vec::with_capacity(row.len());
            for position in 0..row.len() {
                match row.value(position)? {
                    Value::Datum(datum) => values.push(datum),
                    Value::Lob(_) => bail!("{}: long values are not loaded", table.full_name()),
                }
            }
            visit(&values)?;
            left -= 1;
        }
        let read = self.most - left;
        ensure!(read == self.count_of(table), "{}: {read} rows instead of all", table.full_name());
        Ok(())
    }

    /// Lines of values between tabs.
    pub(super) fn write_tabbed(&self, table: &Table, out: &mut dyn Write) -> Result<()> {
        let mut line = String::new();
        let mut text = String::new();
        self.for_each(table, |values| {
            line.clear();
            for (position, value) in values.iter().enumerate() {
                line.push_str(if position == 0 { "" } else { "\t" });
                push_tabbed(value, &mut text, &mut line)?;
            }
            line.push('\n');
            Ok(out.write_all(line.as_bytes())?)
        })
    }

    pub(super) fn write_inserts(
        &self,
        dialect: Dialect,
        table: &Table,
        out: &mut dyn Write,
    ) -> Result<()> {
        let insert = format!("insert into {} values ", dialect.quoted(&table.name));
        let mut line = String::new();
        let mut text = String::new();
        let mut written = 0;
        self.for_each(table, |values| {
            let starts = written % ROWS_PER_INSERT == 0;
            line.clear();
            line.push_str(if written > 0 && starts { ";\n" } else { "" });
            line.push_str(if starts { &insert } else { "," });
            for (position, value) in values.iter().enumerate() {
                line.push(if position == 0 { '(' } else { ',' });
                push_literal(value, &mut text, &mut line)?;
            }
            line.push(')');
            written += 1;
            Ok(out.write_all(line.as_bytes())?)
        })?;
        Ok(out.write_all(if written > 0 { b";\n" } else { b"" })?)
    }
}

/// A value of a line between tabs.
fn push_tabbed(value: &Datum<'_>, text: &mut String, line: &mut String) -> Result<()> {
    if *value == Datum::Null {
        line.push_str("\\N");
        return Ok(());
    }
    plain(value, text)?;
    for c in text.chars() {
        match c {
            '\\' => line.push_str("\\\\"),
            '\t' => line.push_str("\\t"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            c => line.push(c),
        }
    }
    Ok(())
}

/// A value in a statement.
fn push_literal(value: &Datum<'_>, text: &mut String, line: &mut String) -> Result<()> {
    if *value == Datum::Null {
        line.push_str("NULL");
        return Ok(());
    }
    plain(value, text)?;
    match value {
        Datum::Bit(_)
        | Datum::TinyInt(_)
        | Datum::SmallInt(_)
        | Datum::Int(_)
        | Datum::BigInt(_) => {
            line.push_str(text);
        }
        Datum::Decimal(_) | Datum::Money(_) => line.push_str(text),
        Datum::Guid(_) => {
            line.push_str("x'");
            line.extend(text.chars().filter(|c| *c != '-'));
            line.push('\'');
        }
        _ => {
            line.push('\'');
            line.push_str(&text.replace('\'', "''"));
            line.push('\'');
        }
    }
    Ok(())
}

fn plain(value: &Datum<'_>, text: &mut String) -> Result<()> {
    text.clear();
    let replaced = write_plain(value, text)?;
    ensure!(replaced == 0, "a text has characters that UTF-8 cannot hold");
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use std::borrow::Cow;

    use extentdb_reader::OpenOptions;
    use extentdb_template::{MakeOptions, Size, make};
    use extentdb_types::text::CharText;
    use extentdb_types::{CodePage, Guid, Money};
    use tempfile::TempDir;

    use super::*;

    /// A small database in a folder that is deleted with it.
    pub(in super::super) struct Sales {
        pub(in super::super) database: Database,
        _folder: TempDir,
    }

    pub(in super::super) fn sales(shape: &str, rows: u64) -> Sales {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("sales.mdf");
        let options = MakeOptions { shape: shape.to_owned(), size: Size::Rows(rows), seed: 1 };
        make(&options, &[&path], &mut |_| {}).unwrap();
        Sales {
            database: Database::open(&[path], &OpenOptions::default()).unwrap(),
            _folder: folder,
        }
    }

    fn text(text: &str) -> Datum<'_> {
        Datum::Char(CharText {
            bytes: Cow::Borrowed(text.as_bytes()),
            code_page: CodePage::Unknown,
        })
    }

    #[test]
    fn values_are_escaped_for_their_loader() {
        let cases: [(Datum<'_>, &str, &str); 5] = [
            (Datum::Null, "\\N", "NULL"),
            (Datum::SmallInt(-7), "-7", "-7"),
            (Datum::Money(Money(12_345)), "1.2345", "1.2345"),
            (text("it's\ta \\ line\n"), "it's\\ta \\\\ line\\n", "'it''s\ta \\ line\n'"),
            (
                Datum::Guid(Guid([0; 16])),
                "00000000-0000-0000-0000-000000000000",
                "x'00000000000000000000000000000000'",
            ),
        ];
        for (value, tabbed, literal) in cases {
            let mut scratch = String::new();
            let mut line = String::new();
            push_tabbed(&value, &mut scratch, &mut line).unwrap();
            assert_eq!(line, tabbed);
            line.clear();
            push_literal(&value, &mut scratch, &mut line).unwrap();
            assert_eq!(line, literal);
        }
    }

    #[test]
    fn every_row_becomes_a_line_of_all_columns() {
        let sales = sales("sales", 250);
        let rows = Rows::new(&sales.database, u64::MAX);
        let table = rows.tables.iter().find(|table| table.name == "sales").unwrap();
        let mut out = Vec::new();
        rows.write_tabbed(table, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 250);
        assert!(text.lines().all(|line| line.split('\t').count() == table.columns.len()));
        assert!(text.starts_with("1\t"), "{text}");
    }

    #[test]
    fn inserts_hold_a_hundred_rows_and_end() {
        let sales = sales("sales", 250);
        let rows = Rows::new(&sales.database, 201);
        let table = rows.tables.iter().find(|table| table.name == "sales").unwrap();
        let mut out = Vec::new();
        rows.write_inserts(Dialect::Sqlite, table, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches("insert into \"sales\" values (").count(), 3);
        assert!(text.ends_with(");\n"));
        assert_eq!(text.lines().last().unwrap().matches("),(").count(), 0);
    }

    #[test]
    fn only_the_first_rows_are_read_up_to_the_limit() {
        let sales = sales("sales", 250);
        assert_eq!(Rows::new(&sales.database, u64::MAX).count(), 250 + 12);
        assert_eq!(Rows::new(&sales.database, 100).count(), 100 + 12);
    }
}
