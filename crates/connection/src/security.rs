//! Who a session acts as, and what it may do.
//!
//! ```text
//! login ─▶ EXECUTE AS, one above the other ─▶ identity ──┬─▶ Rights of each database (rights.rs)
//!                                                        │      user, roles, permissions
//!  module that runs: its owner (ownership chaining) ─────┴─▶ which objects are asked about
//! ```
//!
//! Invariants
//! - Members of sysadmin, and dbo in its database, are asked nothing: one comparison a statement.
//! - A plan that is kept knows the [`Stamp`] it was made under.
//! - Dynamic text within a module is nobody's: the chain ends there.

pub mod permission;
mod rights;
pub mod state;

use std::collections::BTreeSet;

use extentdb_base::sync::atomic::Ordering;
use extentdb_base::sync::{Arc, lock};
use extentdb_base::{DatabaseId, SessionId};
use extentdb_bind::access::{Access, Accesses};
use extentdb_bind::surroundings::Home;
use extentdb_engine::Database;
use extentdb_engine::model::CatalogModel;
use extentdb_tsql::syntax::ExecuteContext;

use crate::cause::Cause;
use crate::connection::Connection;
use crate::login::ServerRoles;
use crate::objects::{ResolvedObject, is_temporary};
use crate::server::Server;

pub use rights::{DBO, GUEST, Rights};
pub use state::{Chain, Depth, Identity, LoginToken, Revert, Stamp};
use state::{Impersonation, Kept};

/// Rights that are kept for a session.
const RIGHTS_KEPT: usize = 8;

impl Connection {
    /// Who the session acts as.
    pub fn identity(&self) -> Identity {
        match self.security.stack.last() {
            Some(top) => top.identity.clone(),
            None => Identity::Login(self.security.login(&self.server)),
        }
    }

    /// The login that the session acts as; `None` of a user without one.
    pub fn acting_login(&self) -> Option<Arc<LoginToken>> {
        match self.identity() {
            Identity::Login(login) => Some(login),
            Identity::User { login, .. } => login,
        }
    }

    /// Is everything on the server permitted?
    pub fn is_sysadmin(&self) -> bool {
        match self.security.stack.last() {
            None => self.security.login(&self.server).is_sysadmin(),
            Some(top) => matches!(&top.identity, Identity::Login(login) if login.is_sysadmin()),
        }
    }

    /// What a plan made now depends on.
    pub fn security_stamp(&self) -> Stamp {
        if self.is_sysadmin() {
            return Stamp::default();
        }
        Stamp {
            identity: self.security.serial() + 1,
            logins: self.server.logins_version.load(Ordering::Acquire),
            chain: self.security.chain,
        }
    }

    /// May the session do this on the server?
    pub fn has_on_server(&self, kind: &str) -> bool {
        if self.is_sysadmin() {
            return true;
        }
        let Identity::Login(login) = self.identity() else { return false };
        server_permission(&self.server, &login, kind)
    }

    /// What the session may do in a database.
    ///
    /// # Errors
    /// The catalog cannot be read.
    pub fn rights(&self, database: &Arc<Database>) -> Result<Arc<Rights>, Cause> {
        let model = database.model().map_err(|error| self.engine_cause(&error))?;
        let identity = self.security.serial();
        let logins = self.server.logins_version.load(Ordering::Acquire);
        let mut kept = lock(&self.security.kept);
        let is_it = |own: &Kept| {
            own.identity == identity
                && own.logins == logins
                && Arc::ptr_eq(&own.rights.model, &model)
        };
        if let Some(own) = kept.iter().find(|own| is_it(own)) {
            return Ok(own.rights.clone());
        }
        let user = self.user_in(database, &model);
        let views_any = self.has_on_server("VWAD");
        let rights = Arc::new(Rights::new(database, model, user, views_any));
        if kept.len() >= RIGHTS_KEPT {
            kept.remove(0);
        }
        kept.push(Kept { identity, logins, rights: rights.clone() });
        Ok(rights)
    }

    /// The user that the session is in a database.
    fn user_in(&self, database: &Database, model: &CatalogModel) -> Option<i32> {
        let id = database.locks().database();
        let may_connect = |user: i32| {
            let is_about = |own: &&extentdb_engine::model::Permission| {
                own.class == 0 && own.kind.trim_end() == permission::code::CONNECT
            };
            let mut own = model.permissions().iter().filter(is_about);
            let is_denied = own.clone().any(|it| it.grantee == user && it.state == "D");
            !is_denied && own.any(|it| it.grantee == user && matches!(&*it.state, "G" | "W"))
        };
        let guest = || {
            let is_open = matches!(id, DatabaseId::MASTER | DatabaseId::TEMPDB | DatabaseId::MSDB);
            (is_open || may_connect(GUEST)).then_some(GUEST)
        };
        match self.identity() {
            Identity::User { database: own, user, .. } if own == id => Some(user),
            // Who acts as a user of one database is nobody in the others.
            Identity::User { .. } => (id == DatabaseId::TEMPDB).then_some(GUEST),
            Identity::Login(login) if login.is_sysadmin() => Some(DBO),
            Identity::Login(login) => {
                let is_it = |own: &&extentdb_engine::model::Principal| {
                    !login.sid.is_empty() && own.sid == login.sid && own.kind != "R"
                };
                let own = model.principals().iter().find(is_it).map(|own| own.id);
                let control = self.has_on_server(permission::code::CONTROL);
                match own {
                    _ if control => Some(DBO),
                    Some(user) if user == DBO || may_connect(user) => Some(user),
                    Some(_) => None,
                    None => guest(),
                }
            }
        }
    }

    /// Refuses a database that the session has no user in: 916.
    ///
    /// # Errors
    /// It has none.
    pub fn verify_access(&self, database: &Arc<Database>) -> Result<(), Cause> {
        if self.is_sysadmin() || self.rights(database)?.user.is_some() {
            return Ok(());
        }
        let principal = match self.identity() {
            Identity::Login(login) => login.name.clone(),
            Identity::User { login, .. } => {
                login.map_or_else(|| self.user_name(), |login| login.name.clone())
            }
        };
        let name = database.name();
        Err(Cause::Denied {
            number: 916,
            text: format!(
                "The server principal \"{principal}\" is not able to access the database \
                 \"{name}\" under the current security context."
            ),
        })
    }

    /// Name of the user in the current database.
    pub fn user_name(&self) -> String {
        if self.is_sysadmin() {
            return "dbo".to_owned();
        }
        let rights = self.rights(self.session.database()).ok();
        rights.and_then(|it| it.user_name().map(str::to_owned)).unwrap_or_default()
    }

    /// The schema that names without one are looked up in first.
    pub fn default_schema(&self, database: &Arc<Database>) -> Option<String> {
        if self.is_sysadmin() {
            return None;
        }
        let rights = self.rights(database).ok()?;
        let user = rights.model.principal_by_id(rights.user?)?;
        user.default_schema.clone().filter(|own| !own.eq_ignore_ascii_case("dbo"))
    }

    /// Is something of this owner within the module, view or function at hand?
    fn is_chained(&self, database: DatabaseId, owner: i32, home: Option<&Home>) -> bool {
        match home {
            Some(home) => home.database.locks().database() == database && home.owner == Some(owner),
            None => self.security.chain == Some(Chain { database, owner }),
        }
    }

    /// The access to check for an object that a statement reads or changes; `None`: nothing is.
    ///
    /// # Errors
    /// The session has no user in the database.
    pub fn access_to(
        &self,
        found: &ResolvedObject,
        home: Option<&Home>,
    ) -> Result<Option<Arc<Access>>, Cause> {
        if self.is_sysadmin() || is_temporary(&found.object.object.name) {
            return Ok(None);
        }
        let rights = self.rights(&found.database)?;
        let owner = rights.owner_of(&found.object.object);
        if rights.is_dbo() || self.is_chained(rights.database, owner, home) {
            return Ok(None);
        }
        self.verify_access(&found.database)?;
        Ok(Some(Arc::new(rights.access(&found.object))))
    }

    /// The same as a list.
    pub(crate) fn accesses_to(
        &self,
        found: &ResolvedObject,
        home: Option<&Home>,
    ) -> Result<Accesses, Cause> {
        Ok(self.access_to(found, home)?.into_iter().collect())
    }

    /// Refuses an object that the session may not use so: 229.
    ///
    /// # Errors
    /// It may not.
    pub fn verify_object(
        &self,
        found: &ResolvedObject,
        home: Option<&Home>,
        kind: &str,
        permission: &str,
    ) -> Result<(), Cause> {
        if self.is_sysadmin() || is_temporary(&found.object.object.name) {
            return Ok(());
        }
        let rights = self.rights(&found.database)?;
        let owner = rights.owner_of(&found.object.object);
        if rights.is_dbo() || self.is_chained(rights.database, owner, home) {
            return Ok(());
        }
        self.verify_access(&found.database)?;
        if rights.has_on_object(&found.object, kind) {
            return Ok(());
        }
        let denied = rights.access(&found.object).denied(permission);
        Err(Cause::Denied { number: 229, text: denied.to_string() })
    }

    /// The home of the text of a view or function.
    pub(crate) fn home_of(&self, found: &ResolvedObject) -> Home {
        let owner = Some(found.model.owner_of(&found.object.object));
        Home { database: found.database.clone(), owner }
    }

    /// A module of a database runs: what belongs to its owner is free there.
    pub fn enter_module(&mut self, found: &ResolvedObject) {
        let owner = found.model.owner_of(&found.object.object);
        self.enter_module_of(&found.database, owner);
    }

    /// The same of a module that is known by its owner.
    pub fn enter_module_of(&mut self, database: &Database, owner: i32) {
        let database = database.locks().database();
        self.security.chain = Some(Chain { database, owner });
    }

    /// WITH EXECUTE AS of a module that begins to run.
    ///
    /// # Errors
    /// Its user is not there: 15517.
    pub fn execute_module_as(
        &mut self,
        context: Option<&ExecuteContext>,
        database: &Arc<Database>,
        owner: i32,
    ) -> Result<(), Cause> {
        let model = database.model().map_err(|error| self.engine_cause(&error))?;
        let user = match context {
            None | Some(ExecuteContext::Caller) => return Ok(()),
            // A module AS SELF is only made by its owner.
            Some(ExecuteContext::Owner | ExecuteContext::Itself) => owner,
            Some(ExecuteContext::Named(name)) => match model.principal(&name.value) {
                Some(user) => user.id,
                None => return Err(cannot_execute_as(&name.value)),
            },
            Some(ExecuteContext::Login(_) | ExecuteContext::User(_)) => {
                return Err(Cause::not_supported("a module WITH EXECUTE AS LOGIN or USER"));
            }
        };
        let database = database.locks().database();
        let sid = model.principal_by_id(user).map(|own| own.sid.clone()).unwrap_or_default();
        let login = LoginToken::of_sid(&self.server, &sid);
        self.impersonate(Identity::User { database, user, login }, Revert::Plain);
        Ok(())
    }

    /// How far it has gone.
    pub fn security_depth(&self) -> Depth {
        Depth { stack: self.security.stack.len(), chain: self.security.chain }
    }

    /// Puts back what a module or text has left.
    pub fn restore_security(&mut self, depth: Depth) {
        self.security.stack.truncate(depth.stack);
        self.security.chain = depth.chain;
    }

    /// The session is as at the login.
    pub(crate) fn reset_security(&mut self) {
        self.security.stack.clear();
        self.security.chain = None;
    }

    /// EXECUTE AS: acts as somebody else.
    pub fn impersonate(&mut self, identity: Identity, revert: Revert) {
        self.security.last_serial += 1;
        let serial = self.security.last_serial;
        let nesting = self.nesting;
        self.security.stack.push(Impersonation { identity, serial, nesting, revert });
    }

    /// REVERT: takes the last EXECUTE AS of this module back; false when its cookie is another.
    pub fn revert(&mut self, cookie: Option<&[u8]>) -> bool {
        let nesting = self.nesting;
        let Some(top) = self.security.stack.last().filter(|top| top.nesting == nesting) else {
            return true;
        };
        match (&top.revert, cookie) {
            (Revert::Plain, _) => {}
            (Revert::Cookie(own), Some(given)) if own == given => {}
            _ => return false,
        }
        self.security.stack.pop();
        true
    }

    /// The objects of a database that the session does not see.
    pub(crate) fn hidden_objects(&self, database: &Arc<Database>) -> Result<Hidden, Cause> {
        if self.is_sysadmin() {
            return Ok(Hidden::default());
        }
        let rights = self.rights(database)?;
        let login = self.acting_login().map_or(0, |login| login.id);
        let mut hidden = Hidden { logins: Some(login), ..Hidden::default() };
        if self.has_on_server(permission::code::ALTER_ANY_LOGIN) {
            hidden.logins = None;
        }
        if !self.has_on_server(permission::code::VIEW_SERVER_STATE) {
            hidden.session = Some(self.session.handle().id());
        }
        if rights.is_dbo() {
            return Ok(hidden);
        }
        let principals = rights.model.principals().iter();
        let unseen = principals.filter(|own| !rights.sees_principal(own)).map(|own| own.id);
        hidden.principals.extend(unseen);
        for object in rights.model.objects() {
            if !rights.sees(object) {
                hidden.objects.insert(object.object.id.0);
            }
            if !rights.sees_text(object) {
                hidden.texts.insert(object.object.id.0);
            }
        }
        Ok(hidden)
    }
}

/// 15517
#[must_use]
pub fn cannot_execute_as(user: &str) -> Cause {
    let text = format!(
        "Cannot execute as the database principal because the principal \"{user}\" does not exist, \
         this type of principal cannot be impersonated, or you do not have permission."
    );
    Cause::Denied { number: 15517, text }
}

/// What views do not show.
#[derive(Clone, Default, Debug)]
pub(crate) struct Hidden {
    /// Objects that are not there.
    pub(crate) objects: BTreeSet<i32>,
    /// Modules whose texts are not.
    pub(crate) texts: BTreeSet<i32>,
    /// Users and roles that are not.
    pub(crate) principals: BTreeSet<i32>,
    /// The login that is shown alone, beside sa.
    pub(crate) logins: Option<i32>,
    /// The session that is shown alone.
    pub(crate) session: Option<SessionId>,
}

/// Has a login a permission on the server?
pub fn server_permission(server: &Server, login: &LoginToken, kind: &str) -> bool {
    if login.roles.grants(kind) {
        return true;
    }
    let Ok(master) = server.instance.database_by_id(DatabaseId::MASTER) else { return false };
    let Ok(model) = master.model() else { return false };
    let mut is_granted = false;
    for own in model.permissions() {
        let is_own = own.grantee == login.id || own.grantee == ServerRoles::PUBLIC_ID;
        let is_about = own.class == permission::CLASS_SERVER
            && matches!(own.kind.trim_end(), it if it == kind || it == "CL");
        if is_own && is_about {
            match own.state.as_str() {
                "D" => return false,
                "G" | "W" => is_granted = true,
                _ => {}
            }
        }
    }
    is_granted
}
