//! Principals and permissions of the current database.
//!
//! Every login is a member of sysadmin and dbo in all databases: it may do everything.

use extentdb_engine::model::Principal;
use extentdb_types::Datum;

use super::catalog::{Catalog, database_info, int, name, number, text};
use super::{Definition, Kind};
use crate::cause::Cause;
use crate::frame::Values;
use crate::objects::object_name;
use crate::variant::nchar;

type Arguments<'a> = &'a [Datum<'static>];
type Given = Result<Datum<'static>, Cause>;

const DBO: &str = "dbo";
const DBO_ID: i32 = 1;
/// Roles that dbo is a member of.
const ROLES_OF_DBO: [&str; 2] = ["db_owner", "public"];
/// Server roles.
const SERVER_ROLES: [&str; 9] = [
    "sysadmin",
    "serveradmin",
    "securityadmin",
    "processadmin",
    "setupadmin",
    "bulkadmin",
    "diskadmin",
    "dbcreator",
    "public",
];

fn principal<T>(
    at: Values<'_>,
    is_it: impl Fn(&Catalog, &Principal) -> bool,
    tell: impl FnOnce(&Principal) -> T,
) -> Result<Option<T>, Cause> {
    let catalog = Catalog::current(at)?;
    Ok(catalog.model.principals().iter().find(|own| is_it(&catalog, own)).map(tell))
}

fn principal_id(at: Values<'_>, it: Arguments<'_>) -> Given {
    if it.is_empty() {
        return Ok(Datum::Int(DBO_ID));
    }
    let Some(wanted) = text(it, 0) else { return Ok(Datum::Null) };
    let id = principal(at, |own, it| own.model.is_same_name(&it.name, &wanted), |it| it.id)?;
    Ok(int(id.map(i64::from)))
}

fn user_name(at: Values<'_>, it: Arguments<'_>) -> Given {
    if it.is_empty() {
        return Ok(nchar(DBO));
    }
    let id = number(it, 0);
    let found = principal(at, |_, own| Some(i64::from(own.id)) == id, |own| own.name.clone())?;
    Ok(name(found.as_deref()))
}

/// Server roles have every login as a member.
fn is_server_role_member(it: Arguments<'_>) -> Datum<'static> {
    let role = text(it, 0).map(|role| role.to_lowercase());
    let is_role = role.is_some_and(|role| SERVER_ROLES.contains(&role.as_str()));
    let is_known = it.len() < 2 || text(it, 1).is_some();
    if is_role && is_known { Datum::Int(1) } else { Datum::Null }
}

/// Is a principal, or else dbo, a member of a role? NULL when there is no such role.
fn is_role_member(at: Values<'_>, it: Arguments<'_>) -> Given {
    let Some(role) = text(it, 0) else { return Ok(Datum::Null) };
    let catalog = Catalog::current(at)?;
    let named = |wanted: &str| {
        let mut all = catalog.model.principals().iter();
        all.find(|own| catalog.model.is_same_name(&own.name, wanted))
    };
    let Some(role) = named(&role).filter(|own| own.kind.trim_end() == "R") else {
        return Ok(Datum::Null);
    };
    let member = match it.get(1) {
        None => named(DBO),
        Some(_) => text(it, 1).and_then(|wanted| named(&wanted)),
    };
    let Some(member) = member else { return Ok(Datum::Null) };
    let is_fixed = member.id == DBO_ID && ROLES_OF_DBO.contains(&role.name.as_str());
    let is_listed = catalog.model.role_members().contains(&(role.id, member.id));
    Ok(Datum::Int((is_fixed || is_listed || role.name == "public").into()))
}

fn has_access(at: Values<'_>, it: Arguments<'_>) -> Datum<'static> {
    let name = text(it, 0);
    let found = name.and_then(|name| database_info(at, |own| own.name.eq_ignore_ascii_case(&name)));
    found.map_or(Datum::Null, |_| Datum::Int(1))
}

/// HAS_PERMS_BY_NAME: everything that is there is permitted; NULL for what is not.
fn has_permission(at: Values<'_>, it: Arguments<'_>) -> Given {
    let Some(permission) = text(it, 2) else { return Ok(Datum::Null) };
    if !extentdb_sysview::is_permission(permission.trim()) {
        return Ok(Datum::Null);
    }
    let securable = text(it, 0);
    let class = text(it, 1).map(|class| class.trim().to_ascii_uppercase());
    let is_there = match (class.as_deref(), securable) {
        (None | Some("SERVER"), None) => true,
        (Some("DATABASE"), securable) => {
            let wanted = securable.unwrap_or_else(|| at.connection.database.clone());
            let wanted = object_name(&wanted).name.text.to_string();
            database_info(at, |own| own.name.eq_ignore_ascii_case(&wanted)).is_some()
        }
        (Some("OBJECT"), Some(securable)) => {
            let written = object_name(&securable);
            let catalog = Catalog::of_name(at, &written)?;
            catalog.is_some_and(|own| own.named_object(at, &written).is_some())
        }
        (Some("SCHEMA"), Some(securable)) => {
            let catalog = Catalog::current(at)?;
            catalog.model.schema(&object_name(&securable).name.text).is_some()
        }
        (Some("USER" | "ROLE"), Some(securable)) => {
            let wanted = object_name(&securable).name.text.to_string();
            let is_it = |own: &Catalog, it: &Principal| own.model.is_same_name(&it.name, &wanted);
            principal(at, is_it, |_| ())?.is_some()
        }
        (Some("LOGIN"), Some(securable)) => {
            let wanted = object_name(&securable).name.text.to_string();
            let mut logins = false;
            at.connection.server.with_logins(|all| logins = all.named(&wanted).is_some());
            logins
        }
        _ => false,
    };
    Ok(if is_there { Datum::Int(1) } else { Datum::Null })
}

pub(super) static TABLE: &[Definition] = &[
    Definition::new("user_name", Kind::Name, user_name).nullable().of_optional(&[Kind::Int]),
    Definition::new("user", Kind::Name, |_, _| Ok(nchar(DBO))),
    Definition::new("current_user", Kind::Name, |_, _| Ok(nchar(DBO))),
    Definition::new("session_user", Kind::Name, |_, _| Ok(nchar(DBO))),
    Definition::new("user_id", Kind::Int, principal_id).nullable().of_optional(&[Kind::Name]),
    Definition::new("database_principal_id", Kind::Int, principal_id)
        .nullable()
        .of_optional(&[Kind::Name]),
    Definition::new("is_srvrolemember", Kind::Int, |_, it| Ok(is_server_role_member(it)))
        .nullable()
        .of_some(1, &[Kind::Name, Kind::Name]),
    Definition::new("is_member", Kind::Int, is_role_member).nullable().of(&[Kind::Name]),
    Definition::new("is_rolemember", Kind::Int, is_role_member)
        .nullable()
        .of_some(1, &[Kind::Name, Kind::Name]),
    Definition::new("has_dbaccess", Kind::Int, |at, it| Ok(has_access(at, it)))
        .nullable()
        .of(&[Kind::Name]),
    Definition::new("has_perms_by_name", Kind::Int, has_permission)
        .nullable()
        .of_some(3, &[Kind::Text(1_035), Kind::Name, Kind::Name, Kind::Name, Kind::Name]),
];
