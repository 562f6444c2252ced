//! Names, ids and states of the session.

use extentdb_base::DatabaseId;
use extentdb_engine::DatabaseInfo;
use extentdb_types::{Datum, Guid};

use super::{Definition, Kind};
use crate::format_message::{self, Substitution};
use crate::frame::Values;
use crate::login::SA;
use crate::variant::{self, nchar, nchar_or_null};

/// The security id of `sa`.
const SA_SID: [u8; 1] = [1];
const DBO_ID: i32 = 1;
/// Bytes of CONTEXT_INFO.
const CONTEXT_BYTES: usize = 128;

fn text(arguments: &[Datum<'static>], place: usize) -> Option<String> {
    arguments.get(place).and_then(variant::text)
}

fn number(arguments: &[Datum<'static>], place: usize) -> Option<i64> {
    arguments.get(place).and_then(variant::integer)
}

fn database(at: Values<'_>, is_it: impl Fn(&DatabaseInfo) -> bool) -> Option<DatabaseInfo> {
    at.connection.server.instance.databases().into_iter().find(is_it)
}

fn db_name(at: Values<'_>, arguments: &[Datum<'static>]) -> Datum<'static> {
    if arguments.is_empty() {
        return nchar(&at.connection.database);
    }
    let id = number(arguments, 0).and_then(|id| u16::try_from(id).ok()).map(DatabaseId);
    let found = id.and_then(|id| database(at, |it| it.id == id));
    found.map_or(Datum::Null, |found| nchar(&found.name))
}

fn db_id(at: Values<'_>, arguments: &[Datum<'static>]) -> Datum<'static> {
    let name = if arguments.is_empty() {
        Some(at.connection.database.clone())
    } else {
        text(arguments, 0)
    };
    let found = name.and_then(|name| database(at, |it| it.name.eq_ignore_ascii_case(&name)));
    found.map_or(Datum::Null, |found| Datum::Int(found.id.0.into()))
}

fn login_name(at: Values<'_>, arguments: &[Datum<'static>]) -> Datum<'static> {
    match arguments.first() {
        None => nchar(&at.connection.client.login),
        Some(Datum::Binary(sid)) if **sid == SA_SID => nchar(SA),
        Some(Datum::Int(1)) => nchar(SA),
        Some(_) => Datum::Null,
    }
}

fn user_name(arguments: &[Datum<'static>]) -> Datum<'static> {
    match number(arguments, 0) {
        None if arguments.is_empty() => nchar("dbo"),
        Some(0) => nchar("public"),
        Some(1) => nchar("dbo"),
        Some(2) => nchar("guest"),
        Some(3) => nchar("INFORMATION_SCHEMA"),
        Some(4) => nchar("sys"),
        _ => Datum::Null,
    }
}

fn id_of(name: Option<String>, known: &str) -> Datum<'static> {
    match name {
        Some(name) if name.eq_ignore_ascii_case(known) => Datum::Int(DBO_ID),
        _ => Datum::Null,
    }
}

fn host_id(at: Values<'_>) -> Datum<'static> {
    let id = at.connection.client.process_id.to_string();
    let bytes = format!("{id:<10}").into_bytes();
    let code_page = at.connection.collation().code_page();
    let code_page = code_page.unwrap_or(extentdb_types::CodePage::Unknown);
    Datum::Char(extentdb_types::CharText { bytes: bytes.into(), code_page })
}

fn context_info(at: Values<'_>) -> Datum<'static> {
    match &at.connection.options.context_info {
        Some(bytes) => {
            let mut bytes = bytes.clone();
            bytes.resize(CONTEXT_BYTES, 0);
            Datum::Binary(bytes.into())
        }
        None => Datum::Null,
    }
}

fn new_id(at: Values<'_>) -> Datum<'static> {
    let mut bytes = [0; 16];
    at.connection.server.hooks.random(&mut bytes);
    // Version 4 of RFC 4122: the third group is stored little-endian.
    bytes[7] = bytes[7] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    Datum::Guid(Guid(bytes))
}

/// Every login is a member of sysadmin; other names are no role.
fn is_role(name: Option<String>) -> Datum<'static> {
    let known = [
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
    let name = name.map(|name| name.to_lowercase());
    name.filter(|name| known.contains(&name.as_str())).map_or(Datum::Null, |_| Datum::Int(1))
}

fn is_database_role(name: Option<String>) -> Datum<'static> {
    let known = ["db_owner", "public", "db_datareader", "db_datawriter", "db_ddladmin"];
    let name = name.map(|name| name.to_lowercase());
    let is_member = name.filter(|name| known.contains(&name.as_str()));
    is_member
        .map_or(Datum::Null, |name| Datum::Int(i32::from(name == "db_owner" || name == "public")))
}

fn has_access(at: Values<'_>, arguments: &[Datum<'static>]) -> Datum<'static> {
    let name = text(arguments, 0);
    let found = name.and_then(|name| database(at, |it| it.name.eq_ignore_ascii_case(&name)));
    found.map_or(Datum::Null, |_| Datum::Int(1))
}

fn format_message(arguments: &[Datum<'static>]) -> Datum<'static> {
    let Some(template) = text(arguments, 0) else { return Datum::Null };
    let rest = arguments.get(1..).unwrap_or_default();
    let substitution = |value: &Datum<'static>| Substitution {
        ty: extentdb_types::SqlType::Int,
        value: value.clone(),
    };
    let rest: Vec<Substitution> = rest.iter().map(substitution).collect();
    // What RAISERROR refuses is NULL here.
    format_message::format(&template, &rest).map_or(Datum::Null, |text| nchar(&text))
}

pub(super) static TABLE: &[Definition] = &[
    Definition::new("db_name", Kind::Name, |at, it| Ok(db_name(at, it)))
        .nullable()
        .of_optional(&[Kind::Int]),
    Definition::new("db_id", Kind::Int, |at, it| Ok(db_id(at, it)))
        .nullable()
        .of_optional(&[Kind::Name]),
    Definition::new("suser_sname", Kind::Name, |at, it| Ok(login_name(at, it)))
        .nullable()
        .of_optional(&[Kind::Binary(85)]),
    Definition::new("suser_name", Kind::Name, |at, it| Ok(login_name(at, it)))
        .nullable()
        .of_optional(&[Kind::Int]),
    Definition::new("system_user", Kind::Name, |at, _| Ok(nchar(&at.connection.client.login))),
    Definition::new("original_login", Kind::Name, |at, _| Ok(nchar(&at.connection.client.login))),
    Definition::new("suser_sid", Kind::Binary(85), |_, it| {
        let is_sa = text(it, 0).is_none_or(|name| name.eq_ignore_ascii_case(SA));
        Ok(if is_sa { Datum::Binary(SA_SID.to_vec().into()) } else { Datum::Null })
    })
    .nullable()
    .of_optional(&[Kind::Name]),
    Definition::new("suser_id", Kind::Int, |at, it| {
        let name = text(it, 0).unwrap_or_else(|| at.connection.client.login.clone());
        Ok(id_of(Some(name), SA))
    })
    .nullable()
    .of_optional(&[Kind::Name]),
    Definition::new("user_name", Kind::Name, |_, it| Ok(user_name(it)))
        .nullable()
        .of_optional(&[Kind::Int]),
    Definition::new("user", Kind::Name, |_, _| Ok(nchar("dbo"))),
    Definition::new("current_user", Kind::Name, |_, _| Ok(nchar("dbo"))),
    Definition::new("session_user", Kind::Name, |_, _| Ok(nchar("dbo"))),
    Definition::new("user_id", Kind::Int, |_, it| {
        Ok(if it.is_empty() { Datum::Int(DBO_ID) } else { id_of(text(it, 0), "dbo") })
    })
    .nullable()
    .of_optional(&[Kind::Name]),
    Definition::new("database_principal_id", Kind::Int, |_, it| {
        Ok(if it.is_empty() { Datum::Int(DBO_ID) } else { id_of(text(it, 0), "dbo") })
    })
    .nullable()
    .of_optional(&[Kind::Name]),
    Definition::new("schema_name", Kind::Name, |_, it| Ok(user_name(it)))
        .nullable()
        .of_optional(&[Kind::Int]),
    Definition::new("schema_id", Kind::Int, |_, it| {
        Ok(if it.is_empty() { Datum::Int(DBO_ID) } else { id_of(text(it, 0), "dbo") })
    })
    .nullable()
    .of_optional(&[Kind::Name]),
    Definition::new("host_name", Kind::Name, |at, _| Ok(nchar_or_null(&at.connection.client.host)))
        .nullable(),
    Definition::new("host_id", Kind::Char(10), |at, _| Ok(host_id(at))).nullable(),
    Definition::new("app_name", Kind::Name, |at, _| {
        Ok(nchar_or_null(&at.connection.client.application))
    })
    .nullable(),
    Definition::new("scope_identity", Kind::Numeric, |_, _| Ok(Datum::Null)).nullable(),
    Definition::new("xact_state", Kind::SmallInt, |at, _| {
        Ok(Datum::SmallInt(at.connection.transaction.state()))
    }),
    Definition::new("current_transaction_id", Kind::BigInt, |at, _| {
        Ok(Datum::BigInt(i64::try_from(at.connection.descriptor()).unwrap_or(i64::MAX)))
    })
    .nullable(),
    Definition::new("current_request_id", Kind::SmallInt, |_, _| Ok(Datum::SmallInt(0))),
    Definition::new("rowcount_big", Kind::BigInt, |at, _| {
        Ok(Datum::BigInt(at.connection.rowcount))
    }),
    Definition::new("getansinull", Kind::SmallInt, |_, _| Ok(Datum::SmallInt(1)))
        .of_optional(&[Kind::Name]),
    Definition::new("context_info", Kind::Binary(128), |at, _| Ok(context_info(at))).nullable(),
    Definition::new("newid", Kind::Guid, |at, _| Ok(new_id(at))).nullable(),
    Definition::new("is_srvrolemember", Kind::Int, |_, it| Ok(is_role(text(it, 0))))
        .nullable()
        .of(&[Kind::Name]),
    Definition::new("is_member", Kind::Int, |_, it| Ok(is_database_role(text(it, 0))))
        .nullable()
        .of(&[Kind::Name]),
    Definition::new("is_rolemember", Kind::Int, |_, it| Ok(is_database_role(text(it, 0))))
        .nullable()
        .of(&[Kind::Name]),
    Definition::new("has_dbaccess", Kind::Int, |at, it| Ok(has_access(at, it)))
        .nullable()
        .of(&[Kind::Name]),
    Definition::new("formatmessage", Kind::Text(2_048), |_, it| Ok(format_message(it)))
        .nullable()
        .of(&[Kind::Text(4_000)])
        .variadic(),
];
