//! Names of constraints that a statement does not name.
//!
//! ```text
//! PK__orders__3213E83F8D5A1B70     eight characters of the table, 16 digits
//! DF__orders__placed__4AB81AF0     table and column, 14 characters of both, 8 digits
//! CK__orders__4BAC3F29             no column: a constraint of the table
//! ```
//!
//! The product's digits are object ids and more. These are a hash of what is named, so that a
//! script gives the same names wherever it runs, and another one when the name is taken.

use extentdb_engine::model::CatalogModel;

/// Characters of the table in names of keys, and of others.
const TABLE_IN_KEY: usize = 8;
const TABLE: usize = 9;
/// Characters of table and column together.
const TABLE_AND_COLUMN: usize = 14;

/// Gives names in a schema.
pub(super) struct Namer<'n> {
    pub(super) model: &'n CatalogModel,
    pub(super) schema: &'n str,
    /// As the statement writes it, and as the catalog stores it.
    pub(super) table: &'n str,
    pub(super) stored_table: &'n str,
    given: Vec<String>,
}

impl<'n> Namer<'n> {
    pub(super) fn new(
        model: &'n CatalogModel,
        schema: &'n str,
        table: &'n str,
        stored_table: &'n str,
    ) -> Namer<'n> {
        Namer { model, schema, table, stored_table, given: Vec::new() }
    }

    /// A name for a primary key (`PK`) or unique constraint (`UQ`).
    pub(super) fn key(&mut self, kind: &str, columns: &[&str]) -> String {
        let table = first(self.table, TABLE_IN_KEY);
        let of = columns.join(",");
        self.free(kind, &of, |hash| format!("{kind}__{table}__{hash:016X}"))
    }

    /// A name for a default (`DF`), check (`CK`) or foreign key (`FK`), of one column if it is.
    pub(super) fn rule(&mut self, kind: &str, column: Option<&str>, text: &str) -> String {
        let table = first(self.table, TABLE);
        let of = format!("{}/{text}", column.unwrap_or_default());
        let column = column.map(|name| {
            let left = TABLE_AND_COLUMN.saturating_sub(table.chars().count());
            format!("{}__", first(name, left))
        });
        let column = column.unwrap_or_default();
        self.free(kind, &of, |hash| format!("{kind}__{table}__{column}{:08X}", hash as u32))
    }

    fn free(&mut self, kind: &str, of: &str, name: impl Fn(u64) -> String) -> String {
        let mut seed = format!("{kind}/{}/{}/{of}", self.schema, self.stored_table);
        loop {
            // Digits of ids begin below 8.
            let name = name(hash(&seed) & 0x7FFF_FFFF_7FFF_FFFF);
            if self.model.object(self.schema, &name).is_none() && !self.given.contains(&name) {
                self.given.push(name.clone());
                return name;
            }
            seed.push('+');
        }
    }
}

fn first(name: &str, characters: usize) -> String {
    name.chars().take(characters).collect()
}

/// FNV-1a, 64 bits.
fn hash(text: &str) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    text.bytes().fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}
