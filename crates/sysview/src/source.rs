//! What views read.

use std::collections::BTreeSet;

use extentdb_base::sync::Arc;
use extentdb_base::{DatabaseId, SessionId};
use extentdb_engine::model::{CatalogModel, ObjectModel};
use extentdb_engine::{Database, DatabaseInfo, Instance, SessionHandle};

use crate::facts::{Facts, LoginFacts, NoFacts};

/// What views read: a server, and one of its databases with its catalog.
#[derive(Clone)]
pub struct Source<'s> {
    /// The server.
    pub instance: &'s Instance,
    /// The database that the view is read in.
    pub database: &'s Database,
    /// Its catalog.
    pub model: &'s CatalogModel,
    /// What the engine does not know.
    pub facts: &'s dyn Facts,
    /// What the server calls the database.
    name: String,
    /// Objects that the reader does not see.
    hidden: BTreeSet<i32>,
    /// Modules whose texts the reader does not see.
    hidden_texts: BTreeSet<i32>,
    /// Users and roles that the reader does not see.
    hidden_principals: BTreeSet<i32>,
    /// The login that the reader sees beside sa; `None` for all.
    only_login: Option<i32>,
    /// The session that the reader sees; `None` for all.
    only_session: Option<SessionId>,
}

impl<'s> Source<'s> {
    /// Without facts beyond the engine.
    #[must_use]
    pub fn new(
        instance: &'s Instance,
        database: &'s Database,
        model: &'s CatalogModel,
    ) -> Source<'s> {
        let id = database.locks().database();
        let info = instance.databases().into_iter().find(|info| info.id == id);
        let name = info.map_or_else(|| database.name().to_owned(), |info| info.name);
        Source {
            instance,
            database,
            model,
            facts: &NoFacts,
            name,
            hidden: BTreeSet::new(),
            hidden_texts: BTreeSet::new(),
            hidden_principals: BTreeSet::new(),
            only_login: None,
            only_session: None,
        }
    }

    /// With what the crate above knows.
    #[must_use]
    pub fn with_facts(self, facts: &'s dyn Facts) -> Source<'s> {
        Source { facts, ..self }
    }

    /// Without these objects, without the texts of these modules, with one login and sa alone.
    #[must_use]
    pub fn without(
        self,
        hidden: BTreeSet<i32>,
        hidden_texts: BTreeSet<i32>,
        only_login: Option<i32>,
    ) -> Source<'s> {
        Source { hidden, hidden_texts, only_login, ..self }
    }

    /// Without these users and roles.
    #[must_use]
    pub fn without_principals(self, hidden_principals: BTreeSet<i32>) -> Source<'s> {
        Source { hidden_principals, ..self }
    }

    /// Does the reader see a user or role?
    pub(crate) fn sees_principal(&self, id: i32) -> bool {
        !self.hidden_principals.contains(&id)
    }

    /// With one session alone; `None` for all.
    #[must_use]
    pub fn only_session(self, only_session: Option<SessionId>) -> Source<'s> {
        Source { only_session, ..self }
    }

    /// The sessions that the reader sees.
    pub(crate) fn sessions(&self) -> Vec<Arc<SessionHandle>> {
        let is_seen = |it: &Arc<SessionHandle>| self.only_session.is_none_or(|own| it.id() == own);
        self.instance.sessions().into_iter().filter(is_seen).collect()
    }

    /// The logins that the reader sees.
    pub(crate) fn logins(&self) -> Vec<LoginFacts> {
        let is_seen =
            |it: &LoginFacts| self.only_login.is_none_or(|own| it.id == own || it.id == 1);
        self.facts.logins().into_iter().filter(is_seen).collect()
    }

    /// The text of a module, where the reader sees it.
    pub(crate) fn sees_text(&self, object: &ObjectModel) -> bool {
        !self.hidden_texts.contains(&object.object.id.0)
    }

    /// The id of the current database.
    pub(crate) fn database_id(&self) -> DatabaseId {
        self.database.locks().database()
    }

    /// All databases of the server.
    pub(crate) fn databases(&self) -> Vec<DatabaseInfo> {
        self.instance.databases()
    }

    /// What the server calls the current database.
    pub(crate) fn database_name(&self) -> &str {
        &self.name
    }

    /// The objects of the database, by id.
    pub(crate) fn objects(&self) -> Vec<&'s Arc<ObjectModel>> {
        let is_seen = |it: &&Arc<ObjectModel>| !self.hidden.contains(&it.object.id.0);
        let mut objects: Vec<_> = self.model.objects().filter(is_seen).collect();
        objects.sort_by_key(|model| model.object.id);
        objects
    }

    /// The name of a schema; `None` where there is none of this id.
    pub(crate) fn schema_name(&self, id: i32) -> Option<&'s str> {
        self.model.schema_by_id(id).map(|schema| schema.name.as_str())
    }
}

impl std::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Source({:?})", self.database)
    }
}
