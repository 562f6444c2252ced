//! Principals and permissions: who the session is, and what it may do.

use extentdb_base::sync::Arc;
use extentdb_bind::access::Allowed;
use extentdb_engine::model::Principal;
use extentdb_types::Datum;

use super::catalog::{Catalog, database_info, int, name, number, text};
use super::{Definition, Kind};
use crate::cause::Cause;
use crate::frame::Values;
use crate::login::ServerRoles;
use crate::objects::object_name;
use crate::security::{LoginToken, Rights, permission};
use crate::variant::nchar;

type Arguments<'a> = &'a [Datum<'static>];
type Given = Result<Datum<'static>, Cause>;

fn principal<T>(
    at: Values<'_>,
    is_it: impl Fn(&Catalog, &Principal) -> bool,
    tell: impl FnOnce(&Principal) -> T,
) -> Result<Option<T>, Cause> {
    let catalog = Catalog::current(at)?;
    Ok(catalog.model.principals().iter().find(|own| is_it(&catalog, own)).map(tell))
}

/// What the session may do in the current database.
fn rights(at: Values<'_>) -> Result<Arc<Rights>, Cause> {
    at.connection.rights(at.connection.session.database())
}

fn principal_id(at: Values<'_>, it: Arguments<'_>) -> Given {
    if it.is_empty() {
        return Ok(int(rights(at)?.user.map(i64::from)));
    }
    let Some(wanted) = text(it, 0) else { return Ok(Datum::Null) };
    let id = principal(at, |own, it| own.model.is_same_name(&it.name, &wanted), |it| it.id)?;
    Ok(int(id.map(i64::from)))
}

fn user_name(at: Values<'_>, it: Arguments<'_>) -> Given {
    if it.is_empty() {
        return Ok(nchar(&at.connection.user_name()));
    }
    let id = number(it, 0);
    let found = principal(at, |_, own| Some(i64::from(own.id)) == id, |own| own.name.clone())?;
    Ok(name(found.as_deref()))
}

/// Is a login, or else the one that acts, a member of a server role? NULL when there is none.
fn is_server_role_member(at: Values<'_>, it: Arguments<'_>) -> Datum<'static> {
    let Some(role) = text(it, 0) else { return Datum::Null };
    let login = match it.len() {
        0 | 1 => at.connection.acting_login(),
        _ => text(it, 1).and_then(|name| LoginToken::named(&at.connection.server, &name)),
    };
    let Some(login) = login else { return Datum::Null };
    match ServerRoles::named(&role) {
        Some(own) => Datum::Int(login.roles.has(own).into()),
        None if role.eq_ignore_ascii_case("public") => Datum::Int(1),
        None => Datum::Null,
    }
}

/// Is a principal, or else the user, a member of a role? NULL when there is no such role.
fn is_role_member(at: Values<'_>, it: Arguments<'_>) -> Given {
    let Some(role) = text(it, 0) else { return Ok(Datum::Null) };
    let own = rights(at)?;
    let named = |wanted: &str| own.model().principal(wanted).cloned();
    let Some(role) = named(&role).filter(|own| own.kind.trim_end() == "R") else {
        return Ok(Datum::Null);
    };
    let is_member = match it.get(1) {
        None => own.is(role.id),
        Some(_) => match text(it, 1).and_then(|wanted| named(&wanted)) {
            Some(member) => own.with_roles_of(member.id).contains(&role.id),
            None => return Ok(Datum::Null),
        },
    };
    Ok(Datum::Int(is_member.into()))
}

fn has_access(at: Values<'_>, it: Arguments<'_>) -> Given {
    let Some(name) = text(it, 0) else { return Ok(Datum::Null) };
    if database_info(at, |own| own.name.eq_ignore_ascii_case(&name)).is_none() {
        return Ok(Datum::Null);
    }
    let Ok(database) = at.connection.server.instance.database(&name) else {
        return Ok(Datum::Int(0));
    };
    Ok(Datum::Int(at.connection.verify_access(&database).is_ok().into()))
}

/// HAS_PERMS_BY_NAME; NULL for what is not there.
fn has_permission(at: Values<'_>, it: Arguments<'_>) -> Given {
    let Some(permission) = text(it, 2) else { return Ok(Datum::Null) };
    let permission = permission.trim().to_uppercase();
    if !extentdb_sysview::is_permission(&permission) {
        return Ok(Datum::Null);
    }
    let securable = text(it, 0);
    let class = text(it, 1).map(|class| class.trim().to_ascii_uppercase());
    let has = match (class.as_deref(), securable) {
        (None | Some("SERVER"), None) => any_of("SERVER", &permission)
            .map(|all| all.iter().any(|it| at.connection.has_on_server(it))),
        (Some("DATABASE"), securable) => on_database(at, securable, &permission)?,
        (Some("OBJECT"), Some(securable)) => {
            let column = text(it, 3).filter(|_| text(it, 4).is_some());
            on_object(at, &securable, column.as_deref(), &permission)?
        }
        (Some("SCHEMA"), Some(securable)) => {
            let own = rights(at)?;
            let schema = own.model().schema(&object_name(&securable).name.text).map(|it| it.id);
            let all = any_of("SCHEMA", &permission);
            schema.zip(all).map(|(id, all)| all.iter().any(|it| own.has_on_schema(id, it)))
        }
        (Some(class @ ("USER" | "ROLE")), Some(securable)) => {
            let own = rights(at)?;
            let found = own.model().principal(&object_name(&securable).name.text).map(|it| it.id);
            let all = any_of(class, &permission);
            found.zip(all).map(|(id, all)| all.iter().any(|it| own.has_on_principal(id, it)))
        }
        (Some("LOGIN"), Some(securable)) => {
            let name = object_name(&securable).name.text.to_string();
            let found = LoginToken::named(&at.connection.server, &name);
            found.map(|_| at.connection.has_on_server("ALLG"))
        }
        _ => None,
    };
    Ok(has.map_or(Datum::Null, |has| Datum::Int(has.into())))
}

/// The codes of a permission in a class; ANY is all of them.
fn any_of(class: &str, permission: &str) -> Option<Vec<&'static str>> {
    if permission == "ANY" {
        return Some(permission::codes_of(class));
    }
    permission::code_of(class, permission).map(|code| vec![code])
}

fn on_database(
    at: Values<'_>,
    securable: Option<String>,
    permission: &str,
) -> Result<Option<bool>, Cause> {
    let wanted = securable.unwrap_or_else(|| at.connection.database.clone());
    let wanted = object_name(&wanted).name.text.to_string();
    let Ok(database) = at.connection.server.instance.database(&wanted) else { return Ok(None) };
    let own = at.connection.rights(&database)?;
    let all = any_of("DATABASE", permission);
    Ok(all.map(|all| own.user.is_some() && all.iter().any(|it| own.has_on_database(it))))
}

fn on_object(
    at: Values<'_>,
    securable: &str,
    column: Option<&str>,
    permission: &str,
) -> Result<Option<bool>, Cause> {
    let written = object_name(securable);
    let Some(catalog) = Catalog::of_name(at, &written)? else { return Ok(None) };
    let Some(item) = catalog.named_object(at, &written) else { return Ok(None) };
    let Some(all) = any_of("OBJECT", permission) else { return Ok(None) };
    // What the system has may be read by all.
    let Some(object) = item.stored() else { return Ok(Some(all.contains(&"SL"))) };
    let own = at.connection.rights(&catalog.database)?;
    let has = |kind: &&str| match column {
        _ if own.is_dbo() => true,
        None => own.allowed(object, kind) != Allowed::Nothing && own.has_on_object(object, kind),
        Some(column) => match own.allowed(object, kind) {
            Allowed::All => true,
            Allowed::Columns(names) => names.iter().any(|it| it.eq_ignore_ascii_case(column)),
            Allowed::Nothing => false,
        },
    };
    Ok(Some(all.iter().any(has)))
}

pub(super) static TABLE: &[Definition] = &[
    Definition::new("user_name", Kind::Name, user_name).nullable().of_optional(&[Kind::Int]),
    Definition::new("user", Kind::Name, |at, _| Ok(nchar(&at.connection.user_name()))),
    Definition::new("current_user", Kind::Name, |at, _| Ok(nchar(&at.connection.user_name()))),
    Definition::new("session_user", Kind::Name, |at, _| Ok(nchar(&at.connection.user_name()))),
    Definition::new("user_id", Kind::Int, principal_id).nullable().of_optional(&[Kind::Name]),
    Definition::new("database_principal_id", Kind::Int, principal_id)
        .nullable()
        .of_optional(&[Kind::Name]),
    Definition::new("is_srvrolemember", Kind::Int, |at, it| Ok(is_server_role_member(at, it)))
        .nullable()
        .of_some(1, &[Kind::Name, Kind::Name]),
    Definition::new("is_member", Kind::Int, is_role_member).nullable().of(&[Kind::Name]),
    Definition::new("is_rolemember", Kind::Int, is_role_member)
        .nullable()
        .of_some(1, &[Kind::Name, Kind::Name]),
    Definition::new("has_dbaccess", Kind::Int, has_access).nullable().of(&[Kind::Name]),
    Definition::new("has_perms_by_name", Kind::Int, has_permission)
        .nullable()
        .of_some(3, &[Kind::Text(1_035), Kind::Name, Kind::Name, Kind::Name, Kind::Name]),
];
