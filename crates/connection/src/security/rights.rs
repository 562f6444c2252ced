//! What a session may do in one database: its user there, the roles of that, their permissions.
//!
//! Invariants
//! - Rights are of one version of the catalog and of one identity: they are made again when either
//!   changes, and never changed.
//! - A DENY anywhere on the way up to the database outweighs a GRANT anywhere, but for that of a
//!   column, which outweighs a DENY of its table.
//! - dbo is asked nothing.

use std::collections::BTreeSet;

use extentdb_base::DatabaseId;
use extentdb_base::sync::Arc;
use extentdb_bind::access::{Access, Allowed};
use extentdb_engine::Database;
use extentdb_engine::model::{CatalogModel, Object, ObjectModel, Permission, Principal};

use super::permission::role;
use super::permission::{self, CLASS_DATABASE, CLASS_OBJECT, CLASS_PRINCIPAL, CLASS_SCHEMA, code};

/// The user that everything is permitted to.
pub const DBO: i32 = 1;
/// The user of logins without one of their own, where it may connect.
pub const GUEST: i32 = 2;

/// What a session may do in a database.
pub struct Rights {
    /// The database.
    pub(super) database: DatabaseId,
    /// Its name.
    pub(super) name: String,
    /// Its catalog.
    pub(super) model: Arc<CatalogModel>,
    /// The user; `None`: the database may not be used.
    pub user: Option<i32>,
    /// The user and its roles.
    principals: BTreeSet<i32>,
    /// VIEW ANY DEFINITION of the server.
    views_any_definition: bool,
}

/// What is said of a permission on the way up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Nothing,
    Granted,
    Denied,
}

impl Rights {
    /// The rights of a user.
    pub(super) fn new(
        database: &Database,
        model: Arc<CatalogModel>,
        user: Option<i32>,
        views_any_definition: bool,
    ) -> Rights {
        let principals = user.map(|user| with_roles(&model, user)).unwrap_or_default();
        let id = database.locks().database();
        let name = database.name().to_owned();
        Rights {
            database: id,
            name,
            model,
            user,
            principals,
            views_any_definition,
        }
    }

    /// May everything be done?
    #[must_use]
    pub fn is_dbo(&self) -> bool {
        self.user == Some(DBO)
    }

    /// Is the user, or one of its roles, this principal?
    #[must_use]
    pub fn is(&self, principal: i32) -> bool {
        self.principals.contains(&principal)
    }

    /// A principal with its roles.
    #[must_use]
    pub fn with_roles_of(&self, principal: i32) -> BTreeSet<i32> {
        with_roles(&self.model, principal)
    }

    /// The catalog that the rights are from.
    #[must_use]
    pub fn model(&self) -> &Arc<CatalogModel> {
        &self.model
    }

    /// Name of the user.
    #[must_use]
    pub fn user_name(&self) -> Option<&str> {
        let user = self.user?;
        self.model.principal_by_id(user).map(|own| own.name.as_str())
    }

    fn said<'p>(
        &self,
        permissions: impl Iterator<Item = &'p Permission>,
        is_about: impl Fn(&Permission) -> bool,
    ) -> Said {
        let mut said = Said::Nothing;
        for own in permissions.filter(|own| self.is(own.grantee) && is_about(own)) {
            match own.state.as_str() {
                "D" => return Said::Denied,
                "G" | "W" => said = Said::Granted,
                _ => {}
            }
        }
        said
    }

    /// A permission on the database, and those that cover it.
    fn of_database(&self, kind: &str) -> Said {
        let mut said = Said::Nothing;
        let mut kind = Some(kind);
        while let Some(own) = kind {
            match self.of_database_alone(own) {
                Said::Denied => return Said::Denied,
                Said::Granted => said = Said::Granted,
                Said::Nothing => {}
            }
            kind = match own {
                code::CONTROL => None,
                _ => Some(permission::above(own).unwrap_or(code::CONTROL)),
            };
        }
        said
    }

    fn of_database_alone(&self, kind: &str) -> Said {
        let fixed = || self.principals.range(role::FIXED);
        if fixed().any(|it| permission::denied_to(*it).contains(&kind)) {
            return Said::Denied;
        }
        if kind == code::VIEW_DEFINITION && self.views_any_definition {
            return Said::Granted;
        }
        let is_about = |it: &Permission| it.class == CLASS_DATABASE && it.kind.trim_end() == kind;
        match self.said(self.model.permissions().iter(), is_about) {
            Said::Nothing if fixed().any(|it| permission::granted_to(*it).contains(&kind)) => {
                Said::Granted
            }
            said => said,
        }
    }

    /// May the user do this in the database?
    #[must_use]
    pub fn has_on_database(&self, kind: &str) -> bool {
        self.is_dbo() || self.of_database(kind) == Said::Granted
    }

    fn of_schema(&self, schema: i32, kind: &str) -> Said {
        let owner = self.model.schema_by_id(schema).map(|own| own.owner);
        let is_about = |it: &Permission| {
            it.class == CLASS_SCHEMA
                && it.id == schema
                && matches!(it.kind.trim_end(), own if own == kind || own == code::CONTROL)
        };
        let own = self.said(self.model.permissions().iter(), is_about);
        let above = self.of_database(permission::of_database(kind));
        match (own, above) {
            _ if owner.is_some_and(|owner| self.is(owner)) => Said::Granted,
            (Said::Denied, _) | (_, Said::Denied) => Said::Denied,
            (Said::Granted, _) | (_, Said::Granted) => Said::Granted,
            _ => Said::Nothing,
        }
    }

    /// May the user do this with a schema?
    #[must_use]
    pub fn has_on_schema(&self, schema: i32, kind: &str) -> bool {
        self.is_dbo() || self.of_schema(schema, kind) == Said::Granted
    }

    fn of_object(&self, object: &ObjectModel, kind: &str) -> Said {
        let own = &object.object;
        if self.is(self.model.owner_of(own)) {
            return Said::Granted;
        }
        let is_about = |it: &Permission| {
            it.sub_id == 0
                && matches!(it.kind.trim_end(), own if own == kind || own == code::CONTROL)
        };
        let said = self.said(object.permissions.iter(), is_about);
        let above = permission::of_schema(kind).unwrap_or(code::CONTROL);
        match (said, self.of_schema(own.schema_id, above)) {
            (Said::Denied, _) | (_, Said::Denied) => Said::Denied,
            (Said::Granted, _) | (_, Said::Granted) => Said::Granted,
            _ => Said::Nothing,
        }
    }

    /// May the user do this with an object, all its columns?
    #[must_use]
    pub fn has_on_object(&self, object: &ObjectModel, kind: &str) -> bool {
        self.is_dbo() || self.allowed(object, kind) == Allowed::All
    }

    /// To which columns of an object a permission extends.
    #[must_use]
    pub fn allowed(&self, object: &ObjectModel, kind: &str) -> Allowed {
        let said = self.of_object(object, kind);
        let mut of_columns = object.permissions.iter().filter(|it| {
            it.sub_id != 0 && self.is(it.grantee) && it.kind.trim_end() == kind && it.state != "R"
        });
        if of_columns.next().is_none() {
            return if said == Said::Granted { Allowed::All } else { Allowed::Nothing };
        }
        let is_allowed = |id: i32| {
            let is_about = |it: &Permission| it.sub_id == id && it.kind.trim_end() == kind;
            match self.said(object.permissions.iter(), is_about) {
                Said::Nothing => said == Said::Granted,
                column => column == Said::Granted,
            }
        };
        let columns = columns_of(object);
        let names: BTreeSet<String> = columns
            .iter()
            .filter(|(id, _)| is_allowed(*id))
            .map(|(_, name)| name.clone())
            .collect();
        match names.len() {
            0 => Allowed::Nothing,
            all if all == columns.len() => Allowed::All,
            _ => Allowed::Columns(names),
        }
    }

    /// What a statement may do with a table or view.
    #[must_use]
    pub fn access(&self, object: &ObjectModel) -> Access {
        let schema = self.model.schema_by_id(object.object.schema_id);
        Access {
            object: object.object.name.clone(),
            schema: schema.map(|own| own.name.clone()).unwrap_or_default(),
            database: self.name.clone(),
            select: self.allowed(object, code::SELECT),
            insert: self.allowed(object, code::INSERT),
            update: self.allowed(object, code::UPDATE),
            delete: self.allowed(object, code::DELETE),
        }
    }

    /// May the user do this with a user or role?
    #[must_use]
    pub fn has_on_principal(&self, principal: i32, kind: &str) -> bool {
        if self.is_dbo() {
            return true;
        }
        let is_about = |it: &Permission| {
            it.class == CLASS_PRINCIPAL
                && it.id == principal
                && matches!(it.kind.trim_end(), own if own == kind || own == code::CONTROL)
        };
        let is_role = self.model.principal_by_id(principal).is_some_and(|it| it.kind == "R");
        let above = match kind {
            code::ALTER if is_role => code::ALTER_ANY_ROLE,
            code::ALTER => code::ALTER_ANY_USER,
            code::VIEW_DEFINITION => kind,
            _ => code::CONTROL,
        };
        let owns = is_role && self.is(self.model.role_owner(principal));
        match (self.said(self.model.permissions().iter(), is_about), self.of_database(above)) {
            _ if owns => true,
            (Said::Denied, _) | (_, Said::Denied) => false,
            (own, above) => own == Said::Granted || above == Said::Granted,
        }
    }

    /// Does the catalog show the user an object? One with which something may be done.
    #[must_use]
    pub fn sees(&self, object: &ObjectModel) -> bool {
        if self.is_dbo() || object.object.name.starts_with('#') {
            return true;
        }
        let parent = object.object.parent;
        if parent.0 != 0
            && let Some(parent) = self.model.object_by_id(parent)
        {
            return self.sees(parent);
        }
        let own = object.permissions.iter().any(|it| {
            self.is(it.grantee)
                && it.class == CLASS_OBJECT
                && matches!(it.state.as_str(), "G" | "W")
        });
        const ALL: [&str; 8] = ["SL", "IN", "UP", "DL", "EX", "RF", "VW", "AL"];
        own || ALL.iter().any(|kind| self.of_object(object, kind) == Said::Granted)
    }

    /// Does the catalog show the user the text of a module?
    #[must_use]
    pub fn sees_text(&self, object: &ObjectModel) -> bool {
        let parent = self.model.object_by_id(object.object.parent);
        let holder = parent.map_or(object, |parent| &**parent);
        [code::VIEW_DEFINITION, code::ALTER].iter().any(|kind| self.has_on_object(holder, kind))
    }

    /// Is a user or role shown? Those of the system, and the user with its roles, always are.
    #[must_use]
    pub fn sees_principal(&self, own: &Principal) -> bool {
        let is_of_system = matches!(own.id, 0..=4) || role::FIXED.contains(&own.id);
        is_of_system
            || self.is(own.id)
            || [code::VIEW_DEFINITION, code::ALTER, code::CONTROL, code::IMPERSONATE]
                .iter()
                .any(|kind| self.has_on_principal(own.id, kind))
    }

    /// The owner of an object.
    #[must_use]
    pub fn owner_of(&self, object: &Object) -> i32 {
        self.model.owner_of(object)
    }
}

/// A user with its roles, and theirs.
fn with_roles(model: &CatalogModel, user: i32) -> BTreeSet<i32> {
    let mut all = BTreeSet::from([user, role::PUBLIC]);
    if user == DBO {
        all.insert(role::OWNER);
    }
    let mut open = vec![user];
    while let Some(member) = open.pop() {
        for (role, own) in model.role_members() {
            // Below are the numbers of users, which are members of the server's own roles.
            if *own == member && all.insert(*role) {
                open.push(*role);
            }
        }
    }
    all
}

/// Columns of a table or view, by id.
fn columns_of(object: &ObjectModel) -> Vec<(i32, String)> {
    let columns = match (object.table(), object.module()) {
        (Some(table), _) => table.columns.as_slice(),
        (None, Some(module)) => module.columns.as_slice(),
        _ => &[],
    };
    columns.iter().map(|column| (column.id, column.name.clone())).collect()
}
