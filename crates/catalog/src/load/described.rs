//! What describes objects without being part of their rows: parameters, extended properties,
//! statistics, principals, permissions, synonyms.

use std::collections::BTreeMap;

use extentdb_base::ObjectId;

use super::column::{read_column, user_type};
use super::texts::Texts;
use super::{Loader, boot_of, without_zeros};
use crate::bootstrap::Bootstrap;
use crate::error::Error;
use crate::model::{
    Catalog, Descriptions, ExtendedProperty, Object, Parameter, Permission, Principal, ScalarType,
    Statistics,
};
use crate::pages::PageGetter;
use crate::system::{SystemSource, SystemTables, object};

/// Class of `sysmultiobjrefs`: the dependent principal is a member of the other one. Observed in
/// real files of versions 655 and 661, where dbo (1) is a member of db_owner (16384).
pub const CLASS_ROLE_MEMBER: u8 = 25;

/// Classes of `syssingleobjrefs`: the principal that a schema or a role belongs to.
pub const CLASS_SCHEMA_OWNER: u8 = 50;
/// See [`CLASS_SCHEMA_OWNER`].
pub const CLASS_ROLE_OWNER: u8 = 51;

/// Files what synonyms stand for.
pub(super) fn sort(object: &Object, texts: &Texts, catalog: &mut Catalog) {
    if object.kind.code() == "SN"
        && let Some(base) = texts.of_object(object.id)
    {
        catalog.synonyms.insert(object.id, base);
    }
}

impl Descriptions {
    /// Reads the descriptions of all that a file has.
    ///
    /// # Errors
    /// Without the boot page nothing is known.
    pub fn load(pages: &dyn PageGetter) -> Result<Descriptions, Error> {
        let bootstrap = Bootstrap::load(pages, boot_of(pages)?.first_sys_indexes);
        Ok(Descriptions::load_from(&SystemTables::new(pages, &bootstrap)))
    }

    /// The same of what a source has rows of.
    pub fn load_from(source: &dyn SystemSource) -> Descriptions {
        let mut loader = Loader { tables: source, faults: Vec::new() };
        let (schemas, _) = loader.schemas_and_filegroups();
        let types = loader.types();
        Descriptions {
            principals: loader.owners(),
            permissions: loader.permissions(),
            role_members: loader.role_members(),
            owners: loader.owned(),
            properties: loader.properties(),
            statistics: loader.statistics(),
            parameters: loader.parameters(&types, &schemas),
            faults: loader.faults,
        }
    }
}

impl Loader<'_> {
    fn owners(&mut self) -> Vec<Principal> {
        let mut out = Vec::new();
        self.tables.each(object::SYSOWNERS, &mut self.faults, |row| {
            if let (Some(id), Some(name), Some(kind)) = (row.int32(1), row.text(2), row.ascii(3)) {
                let default_schema = row.text(6).filter(|schema| !schema.is_empty());
                let sid = row.bytes(4).map(|bytes| bytes.into_owned()).unwrap_or_default();
                out.push(Principal { id, name, kind, sid, default_schema });
            }
        });
        out
    }

    fn permissions(&mut self) -> Vec<Permission> {
        let mut out = Vec::new();
        self.tables.each(object::SYSPRIVS, &mut self.faults, |row| {
            let of = (row.int8(1), row.int32(2), row.int32(3));
            let by = (row.int32(4), row.int32(5), row.ascii(6), row.ascii(7));
            if let ((Some(class), Some(id), Some(sub_id)), by) = (of, by)
                && let (Some(grantee), Some(grantor), Some(kind), Some(state)) = by
            {
                out.push(Permission { class, id, sub_id, grantee, grantor, kind, state });
            }
        });
        out
    }

    fn role_members(&mut self) -> Vec<(i32, i32)> {
        let mut out = Vec::new();
        self.tables.each(object::SYSMULTIOBJREFS, &mut self.faults, |row| {
            if let (Some(CLASS_ROLE_MEMBER), Some(member), Some(role)) =
                (row.int8(1), row.int32(2), row.int32(4))
            {
                out.push((role, member));
            }
        });
        out
    }

    /// The owners of schemas and roles.
    fn owned(&mut self) -> BTreeMap<(u8, i32), i32> {
        let mut out = BTreeMap::new();
        self.tables.each(object::SYSSINGLEOBJREFS, &mut self.faults, |row| {
            let of = (row.int8(1), row.int32(2), row.int32(4));
            if let (Some(class @ (CLASS_SCHEMA_OWNER | CLASS_ROLE_OWNER)), Some(id), Some(owner)) =
                of
            {
                out.insert((class, id), owner);
            }
        });
        out
    }

    fn properties(&mut self) -> Vec<ExtendedProperty> {
        let mut out = Vec::new();
        self.tables.each(object::SYSXPROPS, &mut self.faults, |row| {
            let of = (row.int8(1), row.int32(2), row.int32(3), row.text(4));
            if let (Some(class), Some(id), Some(sub_id), Some(name)) = of {
                let value = row.bytes(5).map(|bytes| bytes.into_owned());
                out.push(ExtendedProperty { class, id, sub_id, name, value });
            }
        });
        out
    }

    fn statistics(&mut self) -> Vec<Statistics> {
        const STATUS_STATISTICS: u32 = 0x2;
        let mut out = BTreeMap::new();
        self.tables.each(object::SYSIDXSTATS, &mut self.faults, |row| {
            let of = (row.int32(1), row.int32(2), row.text(3), row.bits(4));
            if let (Some(table), Some(id), Some(name), Some(status)) = of
                && status & STATUS_STATISTICS != 0
                && !name.is_empty()
            {
                let name = without_zeros(name);
                let columns = Vec::new();
                let table = ObjectId(table);
                out.insert((table, id), Statistics { table, id, name, columns, status });
            }
        });
        self.statistics_columns(&mut out);
        out.into_values().collect()
    }

    fn statistics_columns(&mut self, statistics: &mut BTreeMap<(ObjectId, i32), Statistics>) {
        const STATUS_STATISTICS_COLUMN: u32 = 0x1;
        self.tables.each(object::SYSISCOLS, &mut self.faults, |row| {
            let of = (row.int32(1), row.int32(2), row.bits(4), row.int32(5));
            if let (Some(table), Some(id), Some(status), Some(column)) = of
                && status & STATUS_STATISTICS_COLUMN != 0
                && let Some(own) = statistics.get_mut(&(ObjectId(table), id))
            {
                own.columns.push(column);
            }
        });
    }

    fn parameters(
        &mut self,
        types: &BTreeMap<i32, ScalarType>,
        schemas: &BTreeMap<i32, String>,
    ) -> BTreeMap<ObjectId, Vec<Parameter>> {
        let mut out: BTreeMap<ObjectId, Vec<Parameter>> = BTreeMap::new();
        self.tables.each(object::SYSCOLPARS, &mut self.faults, |row| {
            let (Some(module), Some(number)) = (row.int32(1), row.int32(2)) else { return };
            // Columns have number 0.
            if number == 0 {
                return;
            }
            if let Some(mut column) = read_column(row) {
                column.user_type = user_type(row.int32(6).unwrap_or(0), types, schemas);
                out.entry(ObjectId(module)).or_default().push(Parameter { number, column });
            }
        });
        for parameters in out.values_mut() {
            parameters.sort_by_key(|parameter| (parameter.number, parameter.column.id));
        }
        out
    }
}
