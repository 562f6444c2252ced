//! Users of a database.

use extentdb_connection::cause::Cause;
use extentdb_connection::security::permission::{CLASS_DATABASE, code};
use extentdb_connection::security::{DBO, GUEST, LoginToken, Rights};
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;
use extentdb_engine::model::{Permission, Principal};
use extentdb_engine::{PrincipalChange, PrincipalSpec};

use super::{
    SYSTEM_USERS, WITHOUT_LOGIN, begin, cannot, change, denied, exists, not_permitted, security_id,
    verify_owns_nothing,
};

/// A new user.
#[derive(Clone, Debug)]
pub(crate) struct NewUser {
    pub(crate) name: String,
    pub(crate) login: UserLogin,
    pub(crate) default_schema: Option<String>,
}

/// The login of a user.
#[derive(Clone, Debug)]
pub(crate) enum UserLogin {
    /// The one of this name.
    Named(String),
    /// None.
    Without,
}

/// What ALTER USER changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct UserChange {
    pub(crate) name: Option<String>,
    pub(crate) login: Option<String>,
    pub(crate) default_schema: Option<String>,
}

impl NewUser {
    pub(crate) fn create(&self, run: &mut Run<'_>) -> Result<(), Stop> {
        let rights = begin(run)?;
        if !rights.has_on_database(code::ALTER_ANY_USER) {
            return Err(not_permitted().into());
        }
        if rights.model().principal(&self.name).is_some() {
            return Err(exists(&self.name).into());
        }
        let sid = match &self.login {
            UserLogin::Without => security_id(run, WITHOUT_LOGIN),
            UserLogin::Named(login) => sid_of_login(run, login)?,
        };
        verify_sid(&rights, &sid, -1)?;
        let spec = PrincipalSpec {
            name: self.name.clone(),
            kind: 'S',
            sid,
            default_schema: Some(self.default_schema.clone().unwrap_or_else(|| "dbo".to_owned())),
            owner: None,
            password: None,
        };
        change(run, |session| {
            let id = session.create_principal(&spec)?;
            session.change_permissions(&[], &[connect(id)])
        })
    }
}

/// CONNECT, which every user has.
fn connect(user: i32) -> Permission {
    Permission {
        class: CLASS_DATABASE,
        id: 0,
        sub_id: 0,
        grantee: user,
        grantor: DBO,
        kind: code::CONNECT.to_owned(),
        state: "G".to_owned(),
    }
}

fn sid_of_login(run: &Run<'_>, name: &str) -> Result<Vec<u8>, Cause> {
    let login = LoginToken::named(&run.connection.server, name);
    let login = login.filter(|login| login.id != 1 || !name.is_empty());
    login.map(|login| login.sid.clone()).ok_or_else(|| {
        denied(15007, format!("'{name}' is not a valid login or you do not have permission."))
    })
}

/// A login has one user in a database.
fn verify_sid(rights: &Rights, sid: &[u8], own: i32) -> Result<(), Cause> {
    let is_it = |user: &Principal| user.sid == sid && user.id != own;
    match rights.model().principals().iter().any(is_it) {
        true => Err(denied(15063, "The login already has an account under a different user name.")),
        false => Ok(()),
    }
}

/// A user that is no role, by its name.
fn user(rights: &Rights, action: &str, name: &str) -> Result<i32, Cause> {
    let found = rights.model().principal(name).filter(|own| !matches!(&*own.kind, "R" | "A"));
    found.map(|own| own.id).ok_or_else(|| cannot(action, "user", name))
}

pub(crate) fn alter(run: &mut Run<'_>, name: &str, to: &UserChange) -> Result<(), Stop> {
    let rights = begin(run)?;
    let id = user(&rights, "alter", name)?;
    let is_own_schema = rights.user == Some(id) && to.name.is_none() && to.login.is_none();
    if !is_own_schema && !rights.has_on_principal(id, code::ALTER) {
        return Err(cannot("alter", "user", name).into());
    }
    if SYSTEM_USERS.contains(&id) {
        return Err(denied(15150, format!("Cannot alter the user '{name}'.")).into());
    }
    if let Some(new) = to.name.as_ref().filter(|new| !new.eq_ignore_ascii_case(name))
        && rights.model().principal(new).is_some()
    {
        return Err(exists(new).into());
    }
    let sid = to.login.as_ref().map(|login| sid_of_login(run, login)).transpose()?;
    if let Some(sid) = &sid {
        verify_sid(&rights, sid, id)?;
    }
    let to = PrincipalChange {
        name: to.name.clone(),
        sid,
        default_schema: to.default_schema.clone(),
        password: None,
    };
    change(run, |session| session.alter_principal(id, &to))
}

pub(crate) fn drop(run: &mut Run<'_>, name: &str, if_exists: bool) -> Result<(), Stop> {
    let rights = begin(run)?;
    let found = rights.model().principal(name).filter(|own| !matches!(&*own.kind, "R" | "A"));
    let Some(id) = found.map(|own| own.id) else {
        return if if_exists { Ok(()) } else { Err(cannot("drop", "user", name).into()) };
    };
    if !rights.has_on_principal(id, code::ALTER) {
        return Err(cannot("drop", "user", name).into());
    }
    if id == GUEST {
        let text = "User 'guest' cannot be dropped, it can only be disabled. The user is already \
                    disabled in the current database.";
        return Err(denied(15539, text).into());
    }
    if SYSTEM_USERS.contains(&id) {
        return Err(denied(15150, format!("Cannot drop the user '{name}'.")).into());
    }
    verify_owns_nothing(&rights, id)?;
    change(run, |session| session.drop_principal(id))
}
