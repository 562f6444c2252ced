//! The rows about some objects, found by their keys in the trees of the base tables.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::sync::Arc;
use extentdb_base::{IndexId, ObjectId};
use extentdb_catalog::layout::Cell;
use extentdb_catalog::model::{AllocUnit, Catalog, Descriptions, Rowset};
use extentdb_catalog::system::{SystemRow, SystemSource, object};
use extentdb_catalog::{Fault, PageGetter};
use extentdb_format::record::Record;
use extentdb_rowset::RowShape;

use super::build;
use super::view::CatalogModel;
use crate::catalog::cache::PoolPages;
use crate::catalog::changes::Described;
use crate::catalog::objects::object as column;
use crate::catalog::system_table::{byte, int, number};
use crate::catalog::{CatalogCache, Index, Storage};
use crate::database::Database;
use crate::error::Error;

/// Classes of `sysobjvalues`: texts, and the filters of indexes.
const TEXT_CLASSES: [u8; 2] = [1, 7];
/// Column of `syscolpars` with the object id of a default.
const DEFAULT_OBJECT: usize = 13;

/// The model with what is stale read again.
pub(super) fn read_again(
    db: &Database,
    model: &CatalogModel,
    stale: &BTreeSet<Described>,
    version: u64,
) -> Result<CatalogModel, Error> {
    let mut next = CatalogModel { version, ..model.clone() };
    let roots = roots_of(&db.catalog, model, stale)?;
    let mut ids = BTreeSet::new();
    let mut bodies = BTreeMap::new();
    for root in &roots {
        // What it was, with its constraints and triggers, is forgotten; what it is now is read.
        if let Some(old) = next.remove(*root) {
            old.children.iter().for_each(|child| drop(next.remove(*child)));
            bodies.insert(*root, old);
        }
        ids.insert(*root);
        ids.extend(children_of(&db.catalog, *root)?);
        ids.extend(bound_defaults(&db.catalog, *root)?);
    }
    let pages = PoolPages { pool: &db.pool, space: &db.space };
    let rowsets = roots.iter().flat_map(|root| rowsets_of(&db.catalog, *root)).collect();
    let has_names = stale.contains(&Described::Names);
    if has_names {
        // There is no catalog without an object; this one is always there.
        ids.insert(object::SYSSCHOBJS);
    }
    let source = ObjectRows { catalog: &db.catalog, pages: &pages, ids, rowsets, has_names };
    let mut described = Descriptions::load_from(&source);
    let mut catalog = match Catalog::load_from(&source, model.boot.clone()) {
        Ok(catalog) => catalog,
        // All of them were dropped.
        Err(extentdb_catalog::Error::MissingTable { .. }) => return Ok(next),
        Err(error) => return Err(error.into()),
    };
    if let Some(fault) = catalog.faults.iter().chain(&described.faults).next() {
        return Err(Error::catalog(fault.to_string()));
    }
    if has_names {
        next.shared = Arc::new(build::names(&catalog, &mut described));
    }
    // A default that columns are bound to stays what it is.
    catalog.objects.retain(|id, object| roots.contains(id) || roots.contains(&object.parent));
    for mut object in build::objects(catalog, described) {
        let id = object.object.id;
        // The rowsets of a table that is not opened here are not known; nor does it change.
        if let Some(old) = bodies.get(&id).filter(|_| db.catalog.table_by_id(id).is_none())
            && old.table().is_some()
        {
            object.body = old.body.clone();
        }
        next.add(object);
    }
    Ok(next)
}

/// The stale objects, and of constraints and triggers the tables that they belong to, now or by the
/// model.
fn roots_of(
    catalog: &CatalogCache,
    model: &CatalogModel,
    stale: &BTreeSet<Described>,
) -> Result<BTreeSet<ObjectId>, Error> {
    let mut roots = BTreeSet::new();
    for what in stale {
        let Described::Object(id) = what else { continue };
        let rows = catalog.system("sysschobjs")?.rows(&[int(id.0)])?;
        let parent = rows.first().and_then(|row| number(row.get(column::PARENT)?));
        let was = model.object_by_id(*id).map(|model| model.object.parent);
        let parents = [parent.map(|id| ObjectId(id as i32)), was];
        let mut parents = parents.into_iter().flatten().filter(|parent| parent.0 != 0).peekable();
        if parents.peek().is_none() {
            roots.insert(*id);
        }
        roots.extend(parents);
    }
    Ok(roots)
}

fn children_of(catalog: &CatalogCache, id: ObjectId) -> Result<Vec<ObjectId>, Error> {
    let rows = catalog.system("sysschobjs")?.rows_by(column::BY_PARENT, &[int(id.0)])?;
    let id = |row: &Vec<Cell<'static>>| row.get(column::ID).and_then(number);
    Ok(rows.iter().filter_map(id).map(|id| ObjectId(id as i32)).collect())
}

/// The defaults of columns, among them those that are objects by themselves.
fn bound_defaults(catalog: &CatalogCache, id: ObjectId) -> Result<Vec<ObjectId>, Error> {
    let rows = catalog.system("syscolpars")?.rows(&[int(id.0)])?;
    let default = |row: &Vec<Cell<'static>>| row.get(DEFAULT_OBJECT).and_then(number);
    let defaults = rows.iter().filter_map(default).filter(|default| *default != 0);
    Ok(defaults.map(|id| ObjectId(id as i32)).collect())
}

/// The rowsets of a table as far as a model needs them.
fn rowsets_of(catalog: &CatalogCache, id: ObjectId) -> Vec<Rowset> {
    let Some(table) = catalog.table_by_id(id) else { return Vec::new() };
    let storage: Arc<Storage> = table.storage();
    let rowset = |index: IndexId, shape: &RowShape, hobt| Rowset {
        id: hobt,
        owner_type: 1,
        object: id,
        index,
        partition: 1,
        status: 0,
        rows: 0,
        compression: shape.layout().compression,
        fill_factor: 0,
        min_leaf: 0,
        min_interior: 0,
        layout: shape.layout().clone(),
        units: Vec::<AllocUnit>::new(),
    };
    let of_index = |index: &Arc<Index>| rowset(index.id(), index.tree().shape(), index.hobt());
    let base = match storage.base.clustered() {
        Some(index) => of_index(index),
        None => rowset(IndexId(0), &storage.shape, storage.base.hobt()),
    };
    std::iter::once(base).chain(storage.indexes.iter().map(of_index)).collect()
}

/// The rows about some objects.
struct ObjectRows<'c> {
    catalog: &'c CatalogCache,
    pages: &'c dyn PageGetter,
    ids: BTreeSet<ObjectId>,
    rowsets: Vec<Rowset>,
    /// Are those about schemas, types and principals read, too?
    has_names: bool,
}

/// A system table, and the keys of its rows about an object.
struct Keyed {
    table: &'static str,
    prefixes: Vec<Vec<Cell<'static>>>,
}

impl ObjectRows<'_> {
    /// Where the rows of a table about the objects are; `None` of a table without any.
    fn keyed(&self, table: ObjectId) -> Option<Keyed> {
        let ids = || self.ids.iter().map(|id| int(id.0));
        let by_id = |table| Keyed { table, prefixes: ids().map(|id| vec![id]).collect() };
        let by_class = |table, classes: &[u8]| Keyed {
            table,
            prefixes: ids()
                .flat_map(|id| classes.iter().map(move |class| vec![byte(*class), id.clone()]))
                .collect(),
        };
        let all = |table| Keyed { table, prefixes: vec![Vec::new()] };
        Some(match table {
            object::SYSXPROPS if self.has_names => all("sysxprops"),
            object::SYSSINGLEOBJREFS if self.has_names => all("syssingleobjrefs"),
            object::SYSPRIVS if self.has_names => all("sysprivs"),
            object::SYSMULTIOBJREFS if self.has_names => all("sysmultiobjrefs"),
            object::SYSSCHOBJS => by_id("sysschobjs"),
            object::SYSCOLPARS => by_id("syscolpars"),
            object::SYSIDXSTATS => by_id("sysidxstats"),
            object::SYSISCOLS => by_id("sysiscols"),
            object::SYSSINGLEOBJREFS => by_id("syssingleobjrefs"),
            object::SYSOBJVALUES => by_class("sysobjvalues", &TEXT_CLASSES),
            object::SYSXPROPS => by_class("sysxprops", &[build::CLASS_OBJECT]),
            object::SYSPRIVS => by_class("sysprivs", &[build::CLASS_OBJECT]),
            object::SYSSCALARTYPES => all("sysscalartypes"),
            object::SYSCLSOBJS => all("sysclsobjs"),
            object::SYSOWNERS => all("sysowners"),
            _ => return None,
        })
    }

    fn read(&self, keyed: &Keyed, visit: &mut dyn FnMut(&SystemRow<'_>)) -> Result<(), Error> {
        let tree = &self.catalog.system(keyed.table)?.indexes[0].tree;
        for prefix in &keyed.prefixes {
            for row in tree.scan(prefix)? {
                let row = row?;
                let record = Record::parse_data(&row.bytes);
                visit(&SystemRow::new(row.at, record, tree.shape().layout(), self.pages));
            }
        }
        Ok(())
    }
}

impl SystemSource for ObjectRows<'_> {
    fn visit_rows(
        &self,
        object: ObjectId,
        faults: &mut Vec<Fault>,
        visit: &mut dyn FnMut(&SystemRow<'_>),
    ) -> bool {
        let Some(keyed) = self.keyed(object) else { return false };
        if let Err(error) = self.read(&keyed, visit) {
            faults.push(Fault::Catalog(error.to_string()));
        }
        true
    }

    fn rowsets(&self) -> Vec<&Rowset> {
        self.rowsets.iter().collect()
    }
}
