//! `sysobjvalues`: the texts of modules, constraints, computed columns and filters.

use std::collections::HashMap;

use extentdb_base::{IndexId, ObjectId};

use super::{Loader, stored_text};
use crate::system::object;

/// `valclass` 1: text of an object (subobject 0 or procedure number) or, by public documentation,
/// of a computed column (subobject = column id).
const CLASS_TEXT: u8 = 1;
/// `valclass` 60: statistics; by far the most rows, and no text.
const CLASS_STATISTICS: u8 = 60;

/// Bytes of all texts together. More than any real database has; a damaged one may claim one long
/// value many times.
const TEXT_BYTES_MAX: usize = 96 << 20;

/// All texts of a database.
#[derive(Default)]
pub(super) struct Texts {
    by_object: HashMap<(u8, ObjectId, i32), Vec<(i32, String)>>,
}

impl Texts {
    /// Text of a module, default or check.
    pub(super) fn of_object(&self, id: ObjectId) -> Option<String> {
        // Procedures have their number as subobject, everything else 0.
        self.text(CLASS_TEXT, id, 0).or_else(|| self.text(CLASS_TEXT, id, 1))
    }

    /// Expression of a computed column. No sample has one: whichever class carries a text for this
    /// column is taken.
    pub(super) fn of_column(&self, table: ObjectId, column: i32) -> Option<String> {
        self.text(CLASS_TEXT, table, column)
    }

    /// Predicate of a filtered index: a text that belongs to the index and to no column. No sample
    /// has one.
    pub(super) fn filter(&self, table: ObjectId, index: IndexId) -> Option<String> {
        let mut classes: Vec<u8> = self
            .by_object
            .keys()
            .filter(|(class, object, sub)| {
                *class != CLASS_TEXT && *object == table && *sub == index.0
            })
            .map(|(class, _, _)| *class)
            .collect();
        classes.sort_unstable();
        classes
            .into_iter()
            .find_map(|class| self.text(class, table, index.0).filter(|text| text.starts_with('(')))
    }

    fn text(&self, class: u8, object: ObjectId, sub: i32) -> Option<String> {
        let parts = self.by_object.get(&(class, object, sub))?;
        Some(parts.iter().map(|(_, text)| text.as_str()).collect())
    }
}

impl Loader<'_> {
    pub(super) fn texts(&mut self) -> Texts {
        let mut texts = Texts::default();
        let mut faults = Vec::new();
        let mut left = TEXT_BYTES_MAX;
        self.tables.each(object::SYSOBJVALUES, &mut self.faults, |row| {
            let (Some(class), Some(id), Some(sub)) = (row.int8(1), row.int32(2), row.int32(3))
            else {
                return;
            };
            let Some(encoding) = row.variant_int(5).filter(|_| class != CLASS_STATISTICS) else {
                return;
            };
            match row.value(6, left) {
                Ok(Some(bytes)) => {
                    left = left.saturating_sub(bytes.len());
                    if let Some(text) = stored_text(encoding, &bytes) {
                        let part = (row.int32(4).unwrap_or(0), text);
                        texts.by_object.entry((class, ObjectId(id), sub)).or_default().push(part);
                    }
                }
                Ok(None) => {}
                Err(fault) => faults.push(fault),
            }
        });
        for parts in texts.by_object.values_mut() {
            parts.sort_by_key(|(number, _)| *number);
        }
        self.faults.append(&mut faults);
        texts
    }
}
