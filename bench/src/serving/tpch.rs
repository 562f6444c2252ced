//! TPC-H: the rows and queries of the session's test, for any side.

#[path = "../../../crates/session/tests/tpch/data.rs"]
#[allow(dead_code, reason = "shared with a test")]
mod data;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::server::Server;
use super::table::{Table, fields};
use crate::report::timed;

const TABLES: &str = include_str!("../../../crates/session/tests/tpch/tables.sql");
const QUERIES: &str = include_str!("../../../crates/session/tests/tpch/queries.sql");
/// In an order that foreign keys allow.
const ORDER: [&str; 8] =
    ["region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem"];
/// Without them PostgreSQL reads a table for each row of another in queries 17, 20 and 21.
const INDEXES: [&str; 4] = [
    "CREATE INDEX lineitem_part ON lineitem (l_partkey, l_suppkey)",
    "CREATE INDEX orders_customer ON orders (o_custkey)",
    "CREATE INDEX partsupp_supplier ON partsupp (ps_suppkey)",
    "CREATE INDEX customer_nation ON customer (c_nationkey)",
];

/// Writes the rows of all tables, a file each, fields parted by tabs; the number of rows.
///
/// # Errors
/// A file cannot be written.
pub fn write_rows(folder: &Path, scale: f64) -> Result<u64> {
    let mut files = BTreeMap::new();
    for table in ORDER {
        let file = File::create(folder.join(format!("{table}.tsv")))?;
        files.insert(table.to_owned(), BufWriter::with_capacity(1 << 20, file));
    }
    let mut count = 0;
    let mut failed = Ok(());
    data::rows(&data::Scale::of(scale), &mut |table, literals| {
        count += 1;
        let Some(file) = files.get_mut(table) else { return };
        let mut line = fields(&literals);
        line.push('\n');
        if let Err(error) = file.write_all(line.as_bytes()) {
            failed = Err(error);
        }
    });
    failed?;
    files.into_values().try_for_each(|mut file| file.flush())?;
    Ok(count)
}

/// Creates the tables, loads the rows of [`write_rows`] and creates the indexes.
///
/// # Errors
/// A statement failed.
pub fn load(server: &dyn Server, folder: &Path) -> Result<Duration> {
    let mut session = server.connect()?;
    let (time, loaded) = timed(|| -> Result<()> {
        for line in TABLES.lines() {
            session.run(line)?;
        }
        for name in ORDER {
            let create =
                TABLES.lines().find(|line| line.starts_with(&format!("CREATE TABLE {name} ")));
            let table = create.and_then(Table::parse).context(name)?;
            let path = folder.join(format!("{name}.tsv"));
            let mut rows = BufReader::with_capacity(1 << 20, File::open(&path)?);
            session.load(&table, &mut rows).with_context(|| name.to_owned())?;
        }
        INDEXES.iter().try_for_each(|text| session.run(text).map(drop))
    });
    loaded?;
    Ok(time)
}

/// A query, by its number, and how long it took; why not when it failed.
pub type Timed = (usize, Result<Duration, String>);

/// Runs all queries once.
///
/// # Errors
/// The server cannot be reached.
pub fn run(server: &dyn Server, only: &[usize]) -> Result<Vec<Timed>> {
    let mut session = server.connect()?;
    let mut all = Vec::new();
    for (at, query) in QUERIES.split("\n\n").enumerate() {
        let number = at + 1;
        if !only.is_empty() && !only.contains(&number) {
            continue;
        }
        let query = server.dialect(query);
        let (time, done) = timed(|| session.run(&query));
        all.push((number, done.map(|_| time).map_err(|error| error.to_string())));
    }
    Ok(all)
}

/// A query of T-SQL in standard SQL: TOP, DATEADD, YEAR.
pub fn standard(query: &str) -> String {
    let mut text = query.to_owned();
    while let Some(at) = text.find("DATEADD(") {
        let inner = &text[at + "DATEADD(".len()..];
        let end = closing(inner);
        let parts: Vec<&str> = inner[..end].splitn(3, ',').map(str::trim).collect();
        let [unit, count, date] = parts[..] else { break };
        let made = format!("({date} + INTERVAL '{count} {unit}')");
        let rest = inner[end + 1..].to_owned();
        text = format!("{}{made}{rest}", &text[..at]);
    }
    text = text.replace("YEAR(", "EXTRACT(YEAR FROM ");
    let Some(at) = text.find("SELECT TOP ") else { return text };
    let inner = text[at + "SELECT TOP ".len()..].to_owned();
    let (count, rest) = inner.split_once(' ').unwrap_or((&inner, ""));
    format!("{}SELECT {rest}\nLIMIT {count}", &text[..at])
}

/// Where the bracket that is open before `text` closes.
fn closing(text: &str) -> usize {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The queries in standard SQL, for a program that is not a server.
pub fn standard_queries() -> Vec<String> {
    QUERIES.split("\n\n").map(standard).collect()
}

/// The tables in standard SQL.
pub fn tables() -> &'static str {
    TABLES
}

#[cfg(test)]
mod tests {
    use extentdb_types::{Date, Datum, Decimal};

    use super::*;
    use crate::serving::table::Type;

    #[test]
    fn literals_are_fields() {
        assert_eq!(fields("1,'a, b',-0.05"), "1\ta, b\t-0.05");
    }

    #[test]
    fn a_table_is_read_from_its_statement() {
        let text = "CREATE TABLE t (a int NOT NULL REFERENCES u (b), b decimal(15, 2) NOT NULL, \
                    c char(3), d varchar(40) NOT NULL, e date NOT NULL, PRIMARY KEY (a, b))";
        let table = Table::parse(text).unwrap();
        let types: Vec<Type> = table.columns.iter().map(|(_, ty)| *ty).collect();
        let expected = [Type::Int, Type::Decimal, Type::Char(3), Type::VarChar(40), Type::Date];
        assert_eq!(types, expected);
        assert!(
            table.insert_bulk().starts_with("INSERT BULK t (a int, b decimal(15, 2), c char(3)")
        );
    }

    #[test]
    fn fields_are_values_of_their_types() {
        let table = Table::of("t", &[("a", Type::Decimal), ("b", Type::Date)]);
        let values = table.values("-12.05\t1994-01-01").unwrap();
        assert_eq!(values[0], Datum::Decimal(Decimal::new(true, 1205, 2).unwrap()));
        assert_eq!(values[1], Datum::Date(Date::from_ymd(1994, 1, 1).unwrap()));
        assert!(table.values("x\t1994-01-01").is_none());
        assert!(table.values("1.00").is_none());
    }

    #[test]
    fn queries_are_translated() {
        let text = "SELECT TOP 10 a FROM t WHERE d < DATEADD(month, 3, CAST('1993-07-01' AS date)) \
                    AND YEAR(d) = 5 ORDER BY a";
        assert_eq!(
            standard(text),
            "SELECT a FROM t WHERE d < (CAST('1993-07-01' AS date) + INTERVAL '3 month') \
             AND EXTRACT(YEAR FROM d) = 5 ORDER BY a\nLIMIT 10"
        );
        assert_eq!(standard_queries().len(), 22);
    }
}
