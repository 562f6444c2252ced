//! Constraints, foreign keys and modules.

use std::collections::BTreeMap;

use extentdb_base::{IndexId, ObjectId};

use super::Loader;
use super::texts::Texts;
use crate::model::{Catalog, Constraint, ForeignKey, Module, Object, ReferentialAction};
use crate::system::object;

/// Files an object that is not a table under what it is.
pub(super) fn sort(object: &Object, texts: &Texts, catalog: &mut Catalog) {
    let constraint = || Constraint {
        object: object.clone(),
        column_id: object.int_prop,
        definition: texts.of_object(object.id),
    };
    let module = || Module { object: object.clone(), text: texts.of_object(object.id) };
    match object.kind.code() {
        "D" => {
            catalog.defaults.push(constraint());
            // One that is an object by itself has a text of its own, as a module has.
            if object.parent.0 == 0 && object.id.0 > 0 {
                catalog.modules.push(module());
            }
        }
        "C" => catalog.checks.push(constraint()),
        // From 2012 on the system's own procedures and views are listed, without text, under
        // negative ids.
        "V" | "P" | "FN" | "IF" | "TF" | "TR" | "R" if object.id.0 > 0 => {
            catalog.modules.push(module());
        }
        _ => {}
    }
}

/// Classes of `syssingleobjrefs`; the dependent object is the foreign key.
const CLASS_REFERENCED_TABLE: i64 = 27;
const CLASS_REFERENCING_COLUMN: i64 = 28;
const CLASS_REFERENCED_COLUMN: i64 = 29;

#[derive(Default)]
struct ForeignKeyColumns {
    referenced: Option<(ObjectId, IndexId)>,
    from: BTreeMap<i32, i32>,
    to: BTreeMap<i32, i32>,
    on_delete: ReferentialAction,
    on_update: ReferentialAction,
}

impl Loader<'_> {
    pub(super) fn foreign_keys(&mut self, objects: &BTreeMap<ObjectId, Object>) -> Vec<ForeignKey> {
        let mut parts: BTreeMap<ObjectId, ForeignKeyColumns> = BTreeMap::new();
        self.tables.each(object::SYSSINGLEOBJREFS, &mut self.faults, |row| {
            let (Some(class), Some(key), Some(ordinal)) = (row.int(1), row.int32(2), row.int32(3))
            else {
                return;
            };
            let (Some(target), Some(target_sub)) = (row.int32(4), row.int32(5)) else { return };
            if !(CLASS_REFERENCED_TABLE..=CLASS_REFERENCED_COLUMN).contains(&class) {
                return;
            }
            let parts = parts.entry(ObjectId(key)).or_default();
            match class {
                CLASS_REFERENCED_TABLE => {
                    parts.referenced = Some((ObjectId(target), IndexId(target_sub)))
                }
                CLASS_REFERENCING_COLUMN => drop(parts.from.insert(ordinal, target_sub)),
                _ => drop(parts.to.insert(ordinal, target_sub)),
            }
        });
        self.actions(&mut parts);
        parts.into_iter().filter_map(|(id, parts)| foreign_key(objects.get(&id)?, &parts)).collect()
    }
}

impl Loader<'_> {
    /// Extended properties say what this program knows about actions.
    fn actions(&mut self, parts: &mut BTreeMap<ObjectId, ForeignKeyColumns>) {
        const CLASS_OBJECT: i64 = 1;
        self.tables.each(object::SYSXPROPS, &mut self.faults, |row| {
            let is_of_object = row.int(1) == Some(CLASS_OBJECT) && row.int(3) == Some(0);
            let parts =
                row.int32(2).filter(|_| is_of_object).and_then(|id| parts.get_mut(&ObjectId(id)));
            let (Some(parts), Some(name)) = (parts, row.text(4)) else { return };
            let action =
                row.variant_int(5).and_then(ReferentialAction::from_number).unwrap_or_default();
            match name.as_str() {
                ReferentialAction::ON_DELETE => parts.on_delete = action,
                ReferentialAction::ON_UPDATE => parts.on_update = action,
                _ => {}
            }
        });
    }
}

fn foreign_key(object: &Object, parts: &ForeignKeyColumns) -> Option<ForeignKey> {
    if object.kind.code() != "F" {
        return None;
    }
    let (referenced, referenced_index) = parts.referenced?;
    let columns =
        parts.from.iter().filter_map(|(n, from)| Some((*from, *parts.to.get(n)?))).collect();
    let on_delete = parts.on_delete;
    let on_update = parts.on_update;
    Some(ForeignKey {
        object: object.clone(),
        referenced,
        referenced_index,
        columns,
        on_delete,
        on_update,
    })
}
