//! Application roles: principals of a database that a session takes on by their password.
//!
//! While one is on, the session has its permissions and those of public alone, and in other
//! databases those of guest.

use extentdb_connection::cause::Cause;
use extentdb_connection::password::PasswordHash;
use extentdb_connection::security::{Identity, Revert, Rights};
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;
use extentdb_engine::{PrincipalChange, PrincipalSpec};
use extentdb_types::{Datum, SqlType};

use super::{
    OF_APPLICATION, begin, cannot, change, denied, exists, not_permitted, security_id,
    verify_owns_nothing,
};
use crate::procedure::given::Given;
use crate::procedure::{Finished, Returned};

const COOKIE_BYTES: usize = 50;
/// ALTER ANY APPLICATION ROLE
const ALTER_ANY: &str = "ALAR";

/// What a statement says of an application role.
#[derive(Default)]
pub(crate) struct AppRoleChange {
    pub(crate) name: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) default_schema: Option<String>,
}

fn hash(run: &Run<'_>, password: &str) -> Vec<u8> {
    let mut salt = [0; 4];
    run.connection.server.hooks.random(&mut salt);
    PasswordHash::new(password, salt).to_bytes()
}

/// An application role by its name.
fn named(rights: &Rights, action: &str, name: &str) -> Result<i32, Cause> {
    let found = rights.model().principal(name).filter(|own| own.kind == "A");
    found.map(|own| own.id).ok_or_else(|| cannot(action, "application role", name))
}

pub(crate) fn create(run: &mut Run<'_>, name: &str, to: &AppRoleChange) -> Result<(), Stop> {
    let rights = begin(run)?;
    if !rights.has_on_database(ALTER_ANY) {
        return Err(not_permitted().into());
    }
    if rights.model().principal(name).is_some() {
        return Err(exists(name).into());
    }
    let password = to.password.as_deref().unwrap_or_default();
    let spec = PrincipalSpec {
        name: name.to_owned(),
        kind: 'A',
        sid: security_id(run, OF_APPLICATION),
        default_schema: Some(to.default_schema.clone().unwrap_or_else(|| "dbo".to_owned())),
        owner: None,
        password: Some(hash(run, password)),
    };
    change(run, |session| session.create_principal(&spec).map(drop_id))
}

fn drop_id(_: i32) {}

pub(crate) fn alter(run: &mut Run<'_>, name: &str, to: &AppRoleChange) -> Result<(), Stop> {
    let rights = begin(run)?;
    let id = named(&rights, "alter", name)?;
    if !rights.has_on_database(ALTER_ANY) {
        return Err(cannot("alter", "application role", name).into());
    }
    if let Some(new) = &to.name
        && !new.eq_ignore_ascii_case(name)
        && rights.model().principal(new).is_some()
    {
        return Err(exists(new).into());
    }
    let to = PrincipalChange {
        name: to.name.clone(),
        sid: None,
        default_schema: to.default_schema.clone(),
        password: to.password.as_deref().map(|password| hash(run, password)),
    };
    change(run, |session| session.alter_principal(id, &to))
}

pub(crate) fn drop(run: &mut Run<'_>, name: &str) -> Result<(), Stop> {
    let rights = begin(run)?;
    let id = named(&rights, "drop", name)?;
    if !rights.has_on_database(ALTER_ANY) {
        return Err(cannot("drop", "application role", name).into());
    }
    verify_owns_nothing(&rights, id)?;
    change(run, |session| session.drop_principal(id))
}

/// Is it the password of an application role?
fn is_password(run: &Run<'_>, id: i32, password: &str) -> Result<bool, Stop> {
    let database = run.connection.session.database();
    let table = database.base_table("sysowners");
    let table = table.map_err(|error| run.connection.engine_cause(&error))?;
    let Some(row) = table.rows().find(|row| row.int("id") == id) else { return Ok(false) };
    let Datum::Binary(bytes) = row.value("password") else { return Ok(false) };
    Ok(PasswordHash::from_bytes(bytes).is_some_and(|own| own.is(password)))
}

/// sp_setapprole
pub(crate) fn set(run: &mut Run<'_>, given: Given<'_>) -> Result<Finished, Stop> {
    if run.connection.nesting > 0 {
        let text = "Application roles can only be activated at the ad hoc level.";
        return Err(denied(15422, text).into());
    }
    let name = given.text(0, "@rolename").ok_or_else(|| given.missing("@rolename"))?;
    let password = given.text(1, "@password").ok_or_else(|| given.missing("@password"))?;
    let database = run.connection.session.database().clone();
    let rights = run.connection.rights(&database)?;
    let refused = || {
        denied(
            15161,
            format!(
                "Cannot set application role '{name}' because it does not exist or the password \
                 is incorrect."
            ),
        )
    };
    let id = named(&rights, "set", &name).map_err(|_| refused())?;
    if !is_password(run, id, &password)? {
        return Err(refused().into());
    }
    let mut finished = Finished::default();
    let mut revert = Revert::Never;
    let has_cookie = given.number(3, "@fCreateCookie").is_some_and(|wanted| wanted != 0)
        || given.text(3, "@fCreateCookie").is_some_and(|text| text.eq_ignore_ascii_case("true"));
    if has_cookie {
        let mut cookie = vec![0; COOKIE_BYTES];
        run.connection.server.hooks.random(&mut cookie);
        if let Some(place) = given.place(4, "@cookie") {
            let value = Datum::Binary(cookie.clone().into());
            let ty = SqlType::VarBinary { len: Some(8_000) };
            finished.outputs.push((place, Returned { ty, value }));
        }
        revert = Revert::Cookie(cookie);
    }
    let identity = Identity::User { database: database.locks().database(), user: id, login: None };
    run.connection.impersonate(identity, revert);
    Ok(finished)
}

/// sp_unsetapprole
pub(crate) fn unset(run: &mut Run<'_>, given: Given<'_>) -> Result<(), Stop> {
    let cookie = match given.argument(0, "@cookie").map(|argument| &argument.value) {
        Some(Datum::Binary(bytes)) => Some(bytes.to_vec()),
        _ => None,
    };
    if run.connection.revert(cookie.as_deref()) {
        return Ok(());
    }
    let text = "Cannot unset application role because none was set or the cookie is invalid.";
    Err(denied(15592, text).into())
}
