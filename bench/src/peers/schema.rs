//! Tables and indexes of a data file in the SQL of a peer.
//!
//! | here | PostgreSQL | SQLite | MariaDB |
//! | --- | --- | --- | --- |
//! | money, decimal | numeric | numeric | decimal |
//! | datetime | timestamp(3) | text | datetime(3) |
//! | uniqueidentifier | uuid | blob | uuid |
//! | clustered primary key | primary key of a heap | rowid | clustered primary key |
//! | included columns | included | after the key  | after the key  |
//!
//! Checks, defaults and foreign keys are left out: none of these programs checks them. What has no
//! counterpart is an error, not a smaller table.

use anyhow::{Context, Result, bail, ensure};
use extentdb_catalog::model::{Index, IndexKind};
use extentdb_catalog::{Column, Table};
use extentdb_types::SqlType;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dialect {
    Postgres,
    Sqlite,
    MariaDb,
}

impl Dialect {
    /// A name between quotes.
    pub(super) fn quoted(self, name: &str) -> String {
        let quote = if self == Dialect::MariaDb { '`' } else { '"' };
        format!("{quote}{}{quote}", name.replace(quote, &format!("{quote}{quote}")))
    }

    /// The type that holds the same values.
    fn type_name(self, ty: &SqlType) -> Result<String> {
        use Dialect::{MariaDb, Postgres, Sqlite};
        Ok(match (self, *ty) {
            (
                Sqlite,
                SqlType::Bit
                | SqlType::TinyInt
                | SqlType::SmallInt
                | SqlType::Int
                | SqlType::BigInt,
            ) => "integer".to_owned(),
            (Postgres, SqlType::Bit) => "boolean".to_owned(),
            (MariaDb, SqlType::Bit | SqlType::TinyInt) => "tinyint unsigned".to_owned(),
            (Postgres, SqlType::TinyInt) | (_, SqlType::SmallInt) => "smallint".to_owned(),
            (_, SqlType::Int) => "integer".to_owned(),
            (_, SqlType::BigInt) => "bigint".to_owned(),
            (_, SqlType::Money) => "decimal(19,4)".to_owned(),
            (_, SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale }) => {
                format!("decimal({precision},{scale})")
            }
            (Postgres, SqlType::DateTime) => "timestamp(3)".to_owned(),
            (MariaDb, SqlType::DateTime) => "datetime(3)".to_owned(),
            (Sqlite, SqlType::DateTime) => "text".to_owned(),
            (Sqlite, SqlType::UniqueIdentifier) => "blob".to_owned(),
            (_, SqlType::UniqueIdentifier) => "uuid".to_owned(),
            (_, SqlType::Char { len, .. }) => format!("char({len})"),
            (_, SqlType::VarChar { len: Some(len), .. }) => format!("varchar({len})"),
            (_, SqlType::NVarChar { len: Some(len), .. }) => format!("varchar({})", len / 2),
            (_, other) => bail!("type {other} has no counterpart in {self:?}"),
        })
    }
}

/// CREATE TABLE, with the primary key where rows are stored in its order.
pub(super) fn create_table(dialect: Dialect, table: &Table) -> Result<String> {
    let mut parts = Vec::new();
    for column in &table.columns {
        parts.push(column_definition(dialect, column).with_context(|| table.full_name())?);
    }
    let base = table.base().filter(|base| base.kind == IndexKind::Clustered);
    if let (Some(base), true) = (base, dialect != Dialect::Postgres) {
        parts.push(format!("primary key ({})", key_columns(dialect, table, base)?.join(", ")));
    }
    Ok(format!("create table {} (\n  {}\n);\n", dialect.quoted(&table.name), parts.join(",\n  ")))
}

fn column_definition(dialect: Dialect, column: &Column) -> Result<String> {
    let ty = column.ty.as_ref().filter(|_| column.computed.is_none());
    let ty = ty.with_context(|| format!("column {} has no counterpart", column.name))?;
    let null = if column.nullable { "" } else { " not null" };
    Ok(format!("{} {}{null}", dialect.quoted(&column.name), dialect.type_name(ty)?))
}

/// CREATE INDEX for each index that rows are not stored in.
pub(super) fn create_indexes(dialect: Dialect, table: &Table) -> Result<String> {
    let mut out = String::new();
    for index in &table.indexes {
        match index.kind {
            IndexKind::Clustered if dialect == Dialect::Postgres => {
                let key = key_columns(dialect, table, index)?.join(", ");
                out += &format!(
                    "alter table {} add primary key ({key});\n",
                    dialect.quoted(&table.name)
                );
            }
            IndexKind::Heap | IndexKind::Clustered => {}
            IndexKind::Nonclustered => out += &create_index(dialect, table, index)?,
            other => {
                bail!("{}: an index of kind {} has no counterpart", table.full_name(), other.name())
            }
        }
    }
    Ok(out)
}

/// CREATE INDEX for each nonclustered index, and what drops it again.
pub(super) fn nonclustered(dialect: Dialect, table: &Table) -> Result<Vec<(String, String)>> {
    let indexes = table.indexes.iter().filter(|index| index.kind == IndexKind::Nonclustered);
    let statements = indexes.map(|index| {
        let name = dialect.quoted(index.name.as_deref().unwrap_or_default());
        let of_table = match dialect {
            Dialect::MariaDb => format!(" on {}", dialect.quoted(&table.name)),
            _ => String::new(),
        };
        Ok((create_index(dialect, table, index)?, format!("drop index {name}{of_table};")))
    });
    statements.collect()
}

fn create_index(dialect: Dialect, table: &Table, index: &Index) -> Result<String> {
    let name = index.name.as_deref().unwrap_or_default();
    ensure!(index.filter.is_none(), "{name}: a filter has no counterpart everywhere");
    let mut key = key_columns(dialect, table, index)?;
    let mut included = Vec::new();
    for column in index.columns.iter().filter(|column| column.is_included()) {
        included.push(dialect.quoted(&name_of(table, column.column_id)?));
    }
    let unique = if index.unique { "unique " } else { "" };
    let include = if dialect == Dialect::Postgres && !included.is_empty() {
        format!(" include ({})", included.join(", "))
    } else {
        ensure!(!index.unique || included.is_empty(), "{name}: included columns of a unique index");
        key.extend(included);
        String::new()
    };
    let (name, table) = (dialect.quoted(name), dialect.quoted(&table.name));
    Ok(format!("create {unique}index {name} on {table} ({}){include};\n", key.join(", ")))
}

/// The key columns in their order, quoted.
fn key_columns(dialect: Dialect, table: &Table, index: &Index) -> Result<Vec<String>> {
    let mut columns: Vec<_> =
        index.columns.iter().filter(|column| column.key_ordinal > 0).collect();
    columns.sort_by_key(|column| column.key_ordinal);
    let text = |column: &&extentdb_catalog::model::IndexColumn| {
        let descending = if column.descending { " desc" } else { "" };
        name_of(table, column.column_id).map(|name| dialect.quoted(&name) + descending)
    };
    columns.iter().map(text).collect()
}

fn name_of(table: &Table, column: i32) -> Result<String> {
    let column =
        table.column(column).with_context(|| format!("{}: column {column}", table.full_name()))?;
    Ok(column.name.clone())
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::sales;
    use super::*;

    #[track_caller]
    fn check(dialect: Dialect, shape: &str, expected: &[&str]) {
        let sales = sales(shape, 20);
        let tables = sales.database.catalog().user_tables();
        let table = tables.into_iter().find(|table| table.name == "sales").unwrap();
        let sql = create_table(dialect, table).unwrap() + &create_indexes(dialect, table).unwrap();
        for line in expected {
            assert!(
                sql.lines().any(|found| found.trim().trim_end_matches(',') == *line),
                "{line}\n{sql}"
            );
        }
    }

    #[test]
    fn postgres_has_heaps_and_included_columns() {
        let expected = [
            "\"sale_id\" integer not null",
            "\"product_code\" char(10) not null",
            "\"sold_at\" timestamp(3) not null",
            "\"unit_price\" decimal(19,4) not null",
            "\"discount\" decimal(5,2)",
            "\"token\" uuid not null",
            "\"ship_to\" varchar(60)",
            "alter table \"sales\" add primary key (\"sale_id\");",
            "create index \"IX_sales_customer\" on \"sales\" (\"customer_id\") include (\"unit_price\");",
            "create index \"IX_sales_product\" on \"sales\" (\"product_code\", \"sold_at\");",
        ];
        check(Dialect::Postgres, "sales", &expected);
    }

    #[test]
    fn others_store_rows_by_key_and_included_columns_after_it() {
        let expected = [
            "primary key (\"sale_id\")",
            "\"sold_at\" text not null",
            "\"token\" blob not null",
            "create index \"IX_sales_customer\" on \"sales\" (\"customer_id\", \"unit_price\");",
        ];
        check(Dialect::Sqlite, "sales", &expected);
        let expected = [
            "primary key (`sale_id`)",
            "`status` tinyint unsigned not null",
            "create index `IX_sales_customer` on `sales` (`customer_id`, `unit_price`);",
        ];
        check(Dialect::MariaDb, "sales", &expected);
    }

    #[test]
    fn nonclustered_indexes_are_created_and_dropped_one_by_one() {
        let sales = sales("sales", 20);
        let tables = sales.database.catalog().user_tables();
        let table = tables.into_iter().find(|table| table.name == "sales").unwrap();
        let [first, second] = &nonclustered(Dialect::MariaDb, table).unwrap()[..] else {
            panic!("two indexes")
        };
        assert!(first.0.starts_with("create index `IX_sales_customer` on `sales`"), "{first:?}");
        assert_eq!(second.1, "drop index `IX_sales_product` on `sales`;");
        assert_eq!(
            nonclustered(Dialect::Sqlite, table).unwrap()[0].1,
            "drop index \"IX_sales_customer\";"
        );
    }

    #[test]
    fn descending_keys_stay_descending() {
        let expected = ["create index \"IX_sales_latest\" on \"sales\" (\"sold_at\" desc);"];
        check(Dialect::Postgres, "sales8", &expected);
    }

    #[test]
    fn features_without_a_counterpart_are_refused() {
        let sales = sales("sales-computed", 20);
        let tables = sales.database.catalog().user_tables();
        let table = tables.into_iter().find(|table| table.name == "sales").unwrap();
        let error = format!("{:#}", create_table(Dialect::Sqlite, table).unwrap_err());
        assert!(error.contains("sale_year"), "{error}");
    }
}
