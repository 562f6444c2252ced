//! The base tables of a new database: definitions, rows, and values from the template rows.

pub(crate) mod files;

use extentdb_base::env::Rng;
use extentdb_catalog::table::describe::SystemRows;
use extentdb_catalog::table::{TableDefinition, TemplateValue, template_rows};
use extentdb_types::SqlType;

use crate::Error;
use crate::file::fixed_pages::CREATED;
use extentdb_catalog::table::values::RowValues;

/// SID of role public: a fixed prefix, then the 16 random bytes of the database.
const PUBLIC_SID_PREFIX: [u8; 12] = [1, 5, 0, 0, 0, 0, 0, 9, 4, 0, 0, 0];

/// The rows that every new database has.
pub(crate) fn template(
    tables: &[TableDefinition],
    collation: u32,
    rng: &mut impl Rng,
) -> Result<SystemRows, Error> {
    let mut sid = PUBLIC_SID_PREFIX.to_vec();
    sid.extend(rng.next_u64().to_le_bytes());
    sid.extend(rng.next_u64().to_le_bytes());
    let mut out = SystemRows::new();
    for template in template_rows()? {
        let Some(table) = tables.iter().find(|table| table.name == template.name) else { continue };
        let rows: &mut Vec<RowValues> = out.entry(table.name.clone()).or_default();
        for values in &template.rows {
            let mut row = RowValues::new();
            for (value, column) in values.iter().zip(&table.columns) {
                match value {
                    TemplateValue::Null => row.null(),
                    TemplateValue::CreationTime => row.datetime(CREATED.days, CREATED.ticks),
                    TemplateValue::Collation => row.int(collation as i32),
                    TemplateValue::PublicSid => row.raw(&sid),
                    TemplateValue::Text(text) => put_text(&mut row, &column.ty, text),
                };
            }
            rows.push(row);
        }
    }
    Ok(out)
}

/// Appends a value from its text. A test builds every row, so each text parses.
fn put_text<'r>(row: &'r mut RowValues, ty: &SqlType, text: &str) -> &'r mut RowValues {
    let number = || text.parse::<i64>().unwrap_or_default();
    match ty {
        SqlType::TinyInt => row.tinyint(number() as u8),
        SqlType::SmallInt => row.smallint(number() as i16),
        SqlType::Int => row.int(number() as i32),
        SqlType::BigInt => row.bigint(number()),
        SqlType::NVarChar { .. } | SqlType::NChar { .. } => row.ntext(text),
        SqlType::Char { .. } => row.text(&text.replace("\\0", "\0")),
        _ => row.raw(&from_hex(text)),
    }
}

fn from_hex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .as_chunks::<2>()
        .0
        .iter()
        .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}
