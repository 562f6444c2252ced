//! Names, ids and states of the session.

use extentdb_base::DatabaseId;
use extentdb_types::{Datum, Guid};

use super::catalog::{database_info, number, text};
use super::{Definition, Kind};
use crate::connection::Connection;
use crate::format_message::{self, Substitution};
use crate::frame::Values;
use extentdb_base::sync::Arc;

use crate::login::SA;
use crate::security::{Identity, LoginToken};
use crate::variant::{nchar, nchar_or_null};

/// The security id of `sa`.
const SA_SID: [u8; 1] = [1];
/// Bytes of CONTEXT_INFO.
const CONTEXT_BYTES: usize = 128;

fn db_name(at: Values<'_>, arguments: &[Datum<'static>]) -> Datum<'static> {
    if arguments.is_empty() {
        return nchar(&at.connection.database);
    }
    let id = number(arguments, 0).and_then(|id| u16::try_from(id).ok()).map(DatabaseId);
    let found = id.and_then(|id| database_info(at, |it| it.id == id));
    found.map_or(Datum::Null, |found| nchar(&found.name))
}

fn db_id(at: Values<'_>, arguments: &[Datum<'static>]) -> Datum<'static> {
    let name = if arguments.is_empty() {
        Some(at.connection.database.clone())
    } else {
        text(arguments, 0)
    };
    let found = name.and_then(|name| database_info(at, |it| it.name.eq_ignore_ascii_case(&name)));
    found.map_or(Datum::Null, |found| Datum::Int(found.id.0.into()))
}

fn login_name(at: Values<'_>, arguments: &[Datum<'static>]) -> Datum<'static> {
    let server = &at.connection.server;
    let found = match arguments.first() {
        None => return nchar(&at.connection.acting_name()),
        Some(Datum::Binary(sid)) if **sid == SA_SID => return nchar(SA),
        Some(Datum::Int(1)) => return nchar(SA),
        Some(Datum::Binary(sid)) => LoginToken::of_sid(server, sid),
        Some(Datum::Int(id)) => server.with_logins(|logins| {
            let own = logins.all().iter().find(|own| own.id == *id);
            own.and_then(|own| LoginToken::named(server, &own.name.clone()))
        }),
        Some(_) => None,
    };
    found.map_or(Datum::Null, |login| nchar(&login.name))
}

impl Connection {
    /// Name of the login that the session acts as; of a user without one, its identifier.
    pub fn acting_name(&self) -> String {
        match self.identity() {
            Identity::Login(login) => login.name.clone(),
            Identity::User { login: Some(login), .. } => login.name.clone(),
            Identity::User { user, .. } => {
                let rights = self.rights(self.session.database()).ok();
                let model = rights.as_ref().map(|rights| rights.model());
                let sid =
                    model.and_then(|model| model.principal_by_id(user).map(|it| it.sid.clone()));
                sid.map(|sid| sid_text(&sid)).unwrap_or_default()
            }
        }
    }
}

/// A security identifier as text: `S-1-9-3-…`.
fn sid_text(sid: &[u8]) -> String {
    let authority = sid.get(7).copied().unwrap_or_default();
    let mut text = format!("S-1-{authority}");
    for part in sid.get(8..).unwrap_or_default().as_chunks::<4>().0 {
        text.push_str(&format!("-{}", u32::from_le_bytes(*part)));
    }
    text
}

/// The login of a name, or else the acting one.
fn login_of(at: Values<'_>, arguments: &[Datum<'static>]) -> Option<Arc<LoginToken>> {
    match arguments.is_empty() {
        true => at.connection.acting_login(),
        false => LoginToken::named(&at.connection.server, &text(arguments, 0)?),
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

/// A number from 0 up to 1.
fn random_number(at: Values<'_>) -> Datum<'static> {
    /// Bits that a float has exactly.
    const BITS: u32 = f64::MANTISSA_DIGITS;
    let mut bytes = [0; 8];
    at.connection.server.hooks.random(&mut bytes);
    let number = u64::from_le_bytes(bytes) >> (u64::BITS - BITS);
    Datum::Float(number as f64 / (1u64 << BITS) as f64)
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
    Definition::new("system_user", Kind::Name, |at, _| Ok(nchar(&at.connection.acting_name()))),
    Definition::new("original_login", Kind::Name, |at, _| Ok(nchar(&at.connection.client.login))),
    Definition::new("suser_sid", Kind::Binary(85), |at, it| {
        let login = login_of(at, it);
        Ok(login.map_or(Datum::Null, |login| Datum::Binary(login.sid.clone().into())))
    })
    .nullable()
    .of_optional(&[Kind::Name]),
    Definition::new("suser_id", Kind::Int, |at, it| {
        Ok(login_of(at, it).map_or(Datum::Null, |login| Datum::Int(login.id)))
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
    Definition::new("rand", Kind::Float, |at, _| Ok(random_number(at))).nullable(),
    Definition::new("session_context", Kind::Variant, |at, it| {
        Ok(text(it, 0).map_or(Datum::Null, |key| at.connection.context.value(&key)))
    })
    .nullable()
    .of(&[Kind::Name]),
    Definition::new("min_active_rowversion", Kind::Binary(8), |at, _| {
        let next = at.connection.session.database().last_timestamp() + 1;
        Ok(Datum::Binary(next.to_be_bytes().to_vec().into()))
    }),
    // The time of the session is UTC.
    Definition::new("current_timezone", Kind::Name, |_, _| {
        Ok(nchar("(UTC) Coordinated Universal Time"))
    }),
    Definition::new("current_timezone_id", Kind::Name, |_, _| Ok(nchar("UTC"))),
    Definition::new("original_db_name", Kind::Name, |at, _| {
        Ok(nchar_or_null(&at.connection.client.database))
    })
    .nullable(),
    Definition::new("trigger_nestlevel", Kind::Int, |at, _| {
        Ok(Datum::Int(i32::try_from(at.connection.firing.len()).unwrap_or(i32::MAX)))
    })
    .of_optional(&[Kind::Int, Kind::Name, Kind::Name]),
    // UPDATE(column) of triggers.
    Definition::new("update", Kind::Int, |at, it| {
        let trigger = at.frame.trigger.as_ref();
        let column = it.first().and_then(crate::variant::text);
        let is_it = trigger.zip(column).is_some_and(|(trigger, name)| trigger.is_updated(&name));
        Ok(Datum::Int(is_it.into()))
    })
    .of(&[Kind::Name]),
    Definition::new("columns_updated", Kind::Binary(128), |at, _| {
        let bits = at.frame.trigger.as_ref().map(|trigger| trigger.updated_bits().to_vec());
        Ok(bits.map_or(Datum::Null, |bits| Datum::Binary(bits.into())))
    })
    .nullable(),
    Definition::new("eventdata", Kind::Xml, |at, _| {
        let event = at.frame.trigger.as_ref().and_then(|trigger| trigger.event());
        let bytes = event.and_then(|event| extentdb_types::xml::encode_text(event).ok());
        Ok(bytes.map_or(Datum::Null, |bytes| Datum::Xml(bytes.into())))
    })
    .nullable(),
    Definition::new("formatmessage", Kind::Text(2_048), |_, it| Ok(format_message(it)))
        .nullable()
        .of(&[Kind::Text(4_000)])
        .variadic(),
];
