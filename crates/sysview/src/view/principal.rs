//! Users, roles, logins: `sys.database_principals`, `sys.database_role_members`,
//! `sys.server_principals`, `sys.server_role_members`, `sys.sql_logins`.

use std::collections::BTreeMap;

use extentdb_types::DateTime;

use crate::base::{ListedPrincipal, datetime, principals, role_owners};
use crate::code;
use crate::columns::Columns;
use crate::error::Error;
use crate::facts::LoginFacts;
use crate::rows::Rows;
use crate::source::Source;

/// Ids of the fixed database roles.
const FIXED_ROLES: std::ops::RangeInclusive<i32> = 16384..=16393;
/// Principals of the system that nobody connects as: guest, INFORMATION_SCHEMA, sys.
const SYSTEM_USERS: std::ops::RangeInclusive<i32> = 2..=4;

/// A user or role, and who owns it.
struct Item {
    own: ListedPrincipal,
    owner: Option<i32>,
}

impl Item {
    fn authentication(&self) -> (u8, &'static str) {
        match self.own.kind.as_str() {
            "U" | "G" => (3, "WINDOWS"),
            "S" if !SYSTEM_USERS.contains(&self.own.id) => (1, "INSTANCE"),
            _ => (0, "NONE"),
        }
    }
}

/// `sys.database_principals`.
pub(super) fn of_database(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let owners: BTreeMap<i32, i32> = role_owners(source.database)?;
    let columns = Columns::new()
        .put("name", |it: &Item| (&it.own.name).into())
        .put("principal_id", |it| it.own.id.into())
        .put("type", |it| it.own.kind.as_str().into())
        .put("type_desc", |it| code::database_principal(&it.own.kind).into())
        .put("default_schema_name", |it| it.own.default_schema.as_ref().into())
        .put("create_date", |it| it.own.created.into())
        .put("modify_date", |it| it.own.modified.into())
        .put("owning_principal_id", |it| it.owner.into())
        .put("sid", |it| it.own.sid.as_deref().into())
        .put("is_fixed_role", |it| FIXED_ROLES.contains(&it.own.id).into())
        .put("authentication_type", |it| it.authentication().0.into())
        .put("authentication_type_desc", |it| it.authentication().1.into())
        .zero(&["allow_encrypted_value_modifications"])
        .null(&["default_language_name", "default_language_lcid", "tenant_id"]);
    let item = |own: ListedPrincipal| Item { owner: owners.get(&own.id).copied(), own };
    let seen = principals(source.database)?.into_iter().filter(|it| source.sees_principal(it.id));
    rows.add(&columns, seen.map(item))
}

/// `sys.database_role_members`.
pub(super) fn role_members(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let all = source.model.role_members().iter().copied();
    let is_seen = |it: &(i32, i32)| source.sees_principal(it.0) && source.sees_principal(it.1);
    rows.add(&members(), all.filter(is_seen))
}

fn members() -> Columns<(i32, i32)> {
    Columns::new()
        .put("role_principal_id", |it: &(i32, i32)| it.0.into())
        .put("member_principal_id", |it| it.1.into())
}

/// Server roles that every server has, by id. Their security identifiers are their ids.
const SERVER_ROLES: [(u8, &str); 9] = [
    (2, "public"),
    (SYSADMIN, "sysadmin"),
    (4, "securityadmin"),
    (5, "serveradmin"),
    (6, "setupadmin"),
    (7, "processadmin"),
    (8, "diskadmin"),
    (9, "dbcreator"),
    (10, "bulkadmin"),
];
const SYSADMIN: u8 = 3;
const PUBLIC: i32 = 2;
/// Owner of the roles.
const SA: i32 = 1;

/// A login or server role.
struct ServerItem {
    id: i32,
    name: String,
    sid: Vec<u8>,
    /// `None` of a role.
    login: Option<LoginFacts>,
    dates: (DateTime, DateTime),
}

impl ServerItem {
    fn of_login(login: LoginFacts, made: DateTime) -> ServerItem {
        let (id, dates) = (login.id, login.dates.unwrap_or((made, made)));
        ServerItem {
            id,
            name: login.name.clone(),
            sid: login.sid.clone(),
            login: Some(login),
            dates,
        }
    }

    fn is_disabled(&self) -> bool {
        self.login.as_ref().is_some_and(|login| login.is_disabled)
    }
}

/// When master was made: since then there are the roles, and sa.
fn made(source: &Source<'_>) -> DateTime {
    let first = source.databases().into_iter().next();
    first.map_or(DateTime::BASE, |master| datetime(master.created.0, master.created.1))
}

fn server_items(source: &Source<'_>) -> Vec<ServerItem> {
    let made = made(source);
    let role = |(id, name): &(u8, &str)| ServerItem {
        id: (*id).into(),
        name: (*name).to_owned(),
        sid: vec![*id],
        login: None,
        dates: (made, made),
    };
    let logins = source.logins().into_iter().map(|it| ServerItem::of_login(it, made));
    let mut items: Vec<ServerItem> = SERVER_ROLES.iter().map(role).chain(logins).collect();
    items.sort_by_key(|item| item.id);
    items
}

fn server_columns() -> Columns<ServerItem> {
    Columns::new()
        .put("name", |it: &ServerItem| (&it.name).into())
        .put("principal_id", |it| it.id.into())
        .put("sid", |it| it.sid.as_slice().into())
        .put("type", |it| if it.login.is_some() { "S" } else { "R" }.into())
        .put("type_desc", |it| if it.login.is_some() { "SQL_LOGIN" } else { "SERVER_ROLE" }.into())
        .put("is_disabled", |it| it.is_disabled().into())
        .put("create_date", |it| it.dates.0.into())
        .put("modify_date", |it| it.dates.1.into())
        .put("default_database_name", |it| it.login.as_ref().map(|own| &own.database).into())
        .put("default_language_name", |it| it.login.as_ref().map(|_| "us_english").into())
        .null(&["credential_id"])
}

/// `sys.server_principals`.
pub(super) fn of_server(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = server_columns()
        .put("owning_principal_id", |it| it.login.is_none().then_some(SA).into())
        .put("is_fixed_role", |it| (it.login.is_none() && it.id != PUBLIC).into())
        .null(&["tenant_id"]);
    rows.add(&columns, server_items(source))
}

/// `sys.sql_logins`.
pub(super) fn sql_logins(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = server_columns()
        .one(&["is_policy_checked"])
        .zero(&["is_expiration_checked"])
        .null(&["password_hash"]);
    rows.add(&columns, server_items(source).into_iter().filter(|item| item.login.is_some()))
}

/// `sys.server_role_members`.
pub(super) fn server_role_members(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let logins = source.logins();
    let members_of = |login: &LoginFacts| {
        let id = login.id;
        login.roles.iter().map(move |role| (*role, id)).collect::<Vec<_>>()
    };
    let mut all: Vec<(i32, i32)> = logins.iter().flat_map(members_of).collect();
    all.sort_unstable();
    rows.add(&members(), all)
}
