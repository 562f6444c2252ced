//! Who a session acts as: its login, what EXECUTE AS has put above it, the module that runs.

use extentdb_base::DatabaseId;
use extentdb_base::sync::atomic::Ordering;
use extentdb_base::sync::{Arc, Mutex, lock};

use super::rights::Rights;
use crate::login::{Login, SA, ServerRoles};
use crate::server::Server;

/// A login, as a session acts as it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginToken {
    /// Principal id.
    pub id: i32,
    /// Name.
    pub name: String,
    /// Security identifier.
    pub sid: Vec<u8>,
    /// Fixed server roles.
    pub roles: ServerRoles,
}

/// Who a session acts as.
#[derive(Clone, Debug)]
pub enum Identity {
    /// A login, in all databases.
    Login(Arc<LoginToken>),
    /// A user of one database, and the login that it is of.
    User {
        /// The database.
        database: DatabaseId,
        /// Principal id.
        user: i32,
        /// Its login.
        login: Option<Arc<LoginToken>>,
    },
}

/// EXECUTE AS.
pub(super) struct Impersonation {
    pub(super) identity: Identity,
    /// Changes with each EXECUTE AS.
    pub(super) serial: u64,
    /// Where it was said: only there it ends.
    pub(super) nesting: u32,
    /// WITH NO REVERT, or a cookie.
    pub(super) revert: Revert,
}

/// How EXECUTE AS ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revert {
    /// By REVERT.
    Plain,
    /// By REVERT WITH this COOKIE.
    Cookie(Vec<u8>),
    /// Not at all.
    Never,
}

/// Whose module runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Database of the module.
    pub database: DatabaseId,
    /// Principal that owns it.
    pub owner: i32,
}

/// What a plan was made under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stamp {
    pub(super) identity: u64,
    pub(super) logins: u64,
    pub(super) chain: Option<Chain>,
}

/// Who a session acts as, and what is kept of that.
pub struct Security {
    login: Mutex<(u64, Arc<LoginToken>)>,
    pub(super) stack: Vec<Impersonation>,
    pub(super) last_serial: u64,
    /// The module that runs.
    pub chain: Option<Chain>,
    pub(super) kept: Mutex<Vec<Kept>>,
}

pub(super) struct Kept {
    pub(super) identity: u64,
    pub(super) logins: u64,
    pub(super) rights: Arc<Rights>,
}

/// How far EXECUTE AS and modules have gone, to be put back.
#[derive(Clone, Copy, Debug)]
pub struct Depth {
    pub(super) stack: usize,
    pub(super) chain: Option<Chain>,
}

impl LoginToken {
    fn of(login: &Login) -> LoginToken {
        LoginToken {
            id: login.id,
            name: login.name.clone(),
            sid: login.sid.clone(),
            roles: login.roles,
        }
    }

    /// The login of a name. sa is there even where no logins are kept.
    pub fn named(server: &Server, name: &str) -> Option<Arc<LoginToken>> {
        let found = server.with_logins(|logins| logins.named(name).map(LoginToken::of));
        let is_sa = name.eq_ignore_ascii_case(SA);
        found.or_else(|| is_sa.then(|| LoginToken::of(&Login::sa()))).map(Arc::new)
    }

    /// The login of a security identifier.
    pub fn of_sid(server: &Server, sid: &[u8]) -> Option<Arc<LoginToken>> {
        let is_it = |login: &&Login| login.sid == sid;
        server
            .with_logins(|logins| logins.all().iter().find(is_it).map(LoginToken::of))
            .map(Arc::new)
    }

    pub(super) fn is_sysadmin(&self) -> bool {
        self.roles.has(ServerRoles::SYSADMIN)
    }
}

impl Security {
    /// That of a session of a login; a name that is no login may do nothing.
    pub(crate) fn new(server: &Server, name: &str) -> Security {
        let version = server.logins_version.load(Ordering::Acquire);
        let token = LoginToken::named(server, name).unwrap_or_else(|| {
            Arc::new(LoginToken {
                id: 0,
                name: name.to_owned(),
                sid: Vec::new(),
                roles: ServerRoles::default(),
            })
        });
        Security {
            login: Mutex::new((version, token)),
            stack: Vec::new(),
            last_serial: 0,
            chain: None,
            kept: Mutex::default(),
        }
    }

    /// The login of the session, as it is now.
    pub(super) fn login(&self, server: &Server) -> Arc<LoginToken> {
        let version = server.logins_version.load(Ordering::Acquire);
        let mut own = lock(&self.login);
        if own.0 != version {
            let now = LoginToken::of_sid(server, &own.1.sid);
            // A login that was dropped keeps its sessions, without roles.
            let gone =
                || Arc::new(LoginToken { roles: ServerRoles::default(), ..(*own.1).clone() });
            let is_sa = own.1.id == 1;
            let now = now.unwrap_or_else(|| if is_sa { own.1.clone() } else { gone() });
            *own = (version, now);
        }
        own.1.clone()
    }

    pub(super) fn serial(&self) -> u64 {
        self.stack.last().map_or(0, |top| top.serial)
    }
}
