//! The catalog as functions look at it: without locks, as it is now.
//!
//! The engine's session is lent while a query runs; what is asked here needs none. A database that
//! is not online has no catalog: functions about it are NULL.

use extentdb_base::sync::Arc;
use extentdb_base::{DatabaseId, ObjectId};
use extentdb_engine::model::{CatalogModel, ObjectModel};
use extentdb_engine::{Database, DatabaseInfo};
use extentdb_sysview::View;
use extentdb_sysview::property::{ColumnFacts, column_facts};
use extentdb_tsql::syntax::ObjectName;
use extentdb_types::Datum;

use crate::cause::Cause;
use crate::frame::Values;
use crate::objects::{DEFAULT_SCHEMA, TEMPDB, is_global_temporary, is_temporary};
use crate::security::Rights;
use crate::variant;

/// A database with its catalog.
pub(super) struct Catalog {
    pub database: Arc<Database>,
    pub model: Arc<CatalogModel>,
    /// What the session sees; `None` for everything.
    rights: Option<Arc<Rights>>,
}

/// An object of a database, or a view of the product.
pub(super) enum Item<'c> {
    Stored(&'c Arc<ObjectModel>),
    System(&'static View),
}

/// An argument as text.
pub(super) fn text(arguments: &[Datum<'static>], place: usize) -> Option<String> {
    arguments.get(place).and_then(variant::text)
}

/// An argument as a whole number.
pub(super) fn number(arguments: &[Datum<'static>], place: usize) -> Option<i64> {
    arguments.get(place).and_then(variant::integer)
}

/// A whole number as an int, NULL where there is none.
pub(super) fn int(value: Option<i64>) -> Datum<'static> {
    value.and_then(|value| i32::try_from(value).ok()).map_or(Datum::Null, Datum::Int)
}

/// A text as nvarchar, NULL where there is none.
pub(super) fn name(value: Option<&str>) -> Datum<'static> {
    value.map_or(Datum::Null, variant::nchar)
}

/// The database that satisfies a condition.
pub(super) fn database_info(
    at: Values<'_>,
    is_it: impl Fn(&DatabaseInfo) -> bool,
) -> Option<DatabaseInfo> {
    at.connection.server.instance.databases().into_iter().find(is_it)
}

impl Catalog {
    /// That of the current database.
    pub(super) fn current(at: Values<'_>) -> Result<Catalog, Cause> {
        Catalog::of(at, at.connection.session.database().clone())
    }

    /// That of a database by its id; the current one without.
    pub(super) fn by_id(at: Values<'_>, id: Option<i64>) -> Result<Option<Catalog>, Cause> {
        let Some(id) = id else { return Catalog::current(at).map(Some) };
        let id = u16::try_from(id).ok().map(DatabaseId);
        let database = id.and_then(|id| at.connection.server.instance.database_by_id(id).ok());
        database.map(|database| Catalog::of(at, database)).transpose()
    }

    /// That of a database by its name.
    pub(super) fn named(at: Values<'_>, name: &str) -> Result<Option<Catalog>, Cause> {
        let database = at.connection.server.instance.database(name).ok();
        database.map(|database| Catalog::of(at, database)).transpose()
    }

    fn of(at: Values<'_>, database: Arc<Database>) -> Result<Catalog, Cause> {
        let model = database.model().map_err(|error| at.connection.engine_cause(&error))?;
        let rights = match at.connection.is_sysadmin() {
            true => None,
            false => Some(at.connection.rights(&database)?).filter(|rights| !rights.is_dbo()),
        };
        Ok(Catalog { database, model, rights })
    }

    fn sees(&self, object: &ObjectModel) -> bool {
        self.rights.as_ref().is_none_or(|rights| rights.sees(object))
    }

    /// Does the session see the text of a module?
    pub(super) fn sees_text(&self, object: &ObjectModel) -> bool {
        self.rights.as_ref().is_none_or(|rights| rights.sees_text(object))
    }

    /// The database that a name is looked up in.
    pub(super) fn of_name(at: Values<'_>, name: &ObjectName) -> Result<Option<Catalog>, Cause> {
        match (name.server(), name.database()) {
            (Some(_), _) => Ok(None),
            (None, None) => Catalog::current(at).map(Some),
            (None, Some(database)) => Catalog::named(at, &database.text),
        }
    }

    /// An object by its id.
    pub(super) fn object(&self, id: Option<i64>) -> Option<Item<'_>> {
        let id = i32::try_from(id?).ok()?;
        match self.model.object_by_id(ObjectId(id)) {
            Some(object) => self.sees(object).then_some(Item::Stored(object)),
            None => {
                let mut views = extentdb_sysview::views();
                views.find(|view| view.object_id() == id).map(Item::System)
            }
        }
    }

    /// An object by its name.
    pub(super) fn named_object(&self, at: Values<'_>, name: &ObjectName) -> Option<Item<'_>> {
        let own = match name.schema() {
            None => at.connection.default_schema(&self.database),
            Some(_) => None,
        };
        let found = own.and_then(|own| self.model.object(&own, &name.name.text));
        if let Some(object) = found.filter(|object| self.sees(object)) {
            return Some(Item::Stored(object));
        }
        let schema = name.schema().map_or(DEFAULT_SCHEMA, |schema| &schema.text);
        let text = &*name.name.text;
        let is_local = is_temporary(text) && !is_global_temporary(text);
        if is_local && self.database.name().eq_ignore_ascii_case(TEMPDB) {
            let mut stored = at.connection.temporary.stored_names(text);
            let found = stored.find_map(|stored| self.model.object(DEFAULT_SCHEMA, stored));
            if let Some(object) = found {
                return Some(Item::Stored(object));
            }
        }
        if let Some(object) = self.model.object(schema, text) {
            return self.sees(object).then_some(Item::Stored(object));
        }
        let view = extentdb_sysview::view(schema, text);
        view.or_else(|| extentdb_sysview::function(schema, text)).map(Item::System)
    }

    /// Schema of an object.
    pub(super) fn schema_of(&self, item: &Item<'_>) -> Option<String> {
        match item {
            Item::Stored(object) => {
                let schema = self.model.schema_by_id(object.object.schema_id)?;
                Some(schema.name.clone())
            }
            Item::System(view) => Some(view.schema.to_owned()),
        }
    }
}

impl<'c> Item<'c> {
    pub(super) fn id(&self) -> i32 {
        match self {
            Item::Stored(object) => object.object.id.0,
            Item::System(view) => view.object_id(),
        }
    }

    pub(super) fn name(&self) -> &'c str {
        match self {
            Item::Stored(object) => &object.object.name,
            Item::System(view) => view.name,
        }
    }

    /// Code of what it is, as `sys.objects.type` has it.
    pub(super) fn kind(&self) -> &'c str {
        match self {
            Item::Stored(object) => object.object.kind.code(),
            Item::System(view) => match view.kind {
                extentdb_sysview::ViewKind::View => "V",
                extentdb_sysview::ViewKind::Function => "IF",
            },
        }
    }

    pub(super) fn stored(&self) -> Option<&'c Arc<ObjectModel>> {
        match self {
            Item::Stored(object) => Some(object),
            Item::System(_) => None,
        }
    }

    /// Its columns, and parameters.
    pub(super) fn columns(&self) -> Vec<ColumnFacts<'c>> {
        match self {
            Item::Stored(object) => column_facts(object).collect(),
            Item::System(view) => view.column_facts().collect(),
        }
    }
}
