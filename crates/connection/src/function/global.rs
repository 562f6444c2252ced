//! `@@` functions.

use extentdb_types::Datum;

use super::{Definition, Kind};
use crate::frame::Values;
use crate::variant::nchar;

/// `@@MICROSOFTVERSION` of a major version.
const VERSION_SHIFT: u32 = 24;
/// Highest precision of decimals.
const MAX_PRECISION: u8 = 38;
const MAX_CONNECTIONS: i32 = 32_767;
/// Microseconds of a tick.
const TIME_TICKS: i32 = 31_250;

fn int(value: i64) -> Datum<'static> {
    Datum::Int(i32::try_from(value).unwrap_or(i32::MAX))
}

fn microsoft_version(at: Values<'_>) -> i32 {
    let [major, _, build, _] = at.connection.server.product.version;
    (i32::from(major) << VERSION_SHIFT) | i32::from(build)
}

fn last_rowversion(at: Values<'_>) -> Datum<'static> {
    let last = at.connection.session.database().last_timestamp();
    Datum::Binary(last.to_be_bytes().to_vec().into())
}

pub(super) static TABLE: &[Definition] = &[
    // What is not counted is 0.
    Definition::new("@@cpu_busy", Kind::Int, |_, _| Ok(Datum::Int(0))),
    Definition::new("@@idle", Kind::Int, |_, _| Ok(Datum::Int(0))),
    Definition::new("@@io_busy", Kind::Int, |_, _| Ok(Datum::Int(0))),
    Definition::new("@@pack_received", Kind::Int, |_, _| Ok(Datum::Int(0))),
    Definition::new("@@pack_sent", Kind::Int, |_, _| Ok(Datum::Int(0))),
    Definition::new("@@packet_errors", Kind::Int, |_, _| Ok(Datum::Int(0))),
    Definition::new("@@total_errors", Kind::Int, |_, _| Ok(Datum::Int(0))),
    Definition::new("@@total_read", Kind::Int, |_, _| Ok(Datum::Int(0))),
    Definition::new("@@total_write", Kind::Int, |_, _| Ok(Datum::Int(0))),
    Definition::new("@@version", Kind::Text(300), |at, _| {
        Ok(nchar(&at.connection.server.product.banner()))
    }),
    Definition::new("@@spid", Kind::SmallInt, |at, _| {
        Ok(Datum::SmallInt(i16::try_from(at.connection.spid()).unwrap_or(i16::MAX)))
    }),
    Definition::new("@@trancount", Kind::Int, |at, _| {
        Ok(int(at.connection.transaction.count.into()))
    }),
    Definition::new("@@rowcount", Kind::Int, |at, _| Ok(int(at.connection.rowcount))),
    Definition::new("@@error", Kind::Int, |at, _| Ok(Datum::Int(at.connection.error))),
    Definition::new("@@servername", Kind::Name, |at, _| {
        Ok(nchar(&at.connection.server.product.server_name))
    })
    .nullable(),
    Definition::new("@@servicename", Kind::Name, |_, _| Ok(nchar("MSSQLSERVER"))),
    Definition::new("@@max_precision", Kind::TinyInt, |_, _| Ok(Datum::TinyInt(MAX_PRECISION))),
    Definition::new("@@max_connections", Kind::Int, |_, _| Ok(Datum::Int(MAX_CONNECTIONS))),
    Definition::new("@@language", Kind::Name, |at, _| Ok(nchar(&at.connection.options.language))),
    Definition::new("@@langid", Kind::SmallInt, |at, _| {
        let language = super::language::named(&at.connection.options.language);
        Ok(Datum::SmallInt(language.map_or(0, |language| language.id)))
    }),
    Definition::new("@@options", Kind::Int, |at, _| Ok(Datum::Int(at.connection.options.bits()))),
    Definition::new("@@fetch_status", Kind::Int, |at, _| {
        Ok(Datum::Int(at.connection.cursors.fetch_status))
    }),
    Definition::new("@@cursor_rows", Kind::Int, |at, _| Ok(Datum::Int(at.connection.cursors.rows))),
    Definition::new("@@identity", Kind::Numeric, |at, _| {
        Ok(at.connection.identities.last().map_or(Datum::Null, Datum::Decimal))
    })
    .nullable(),
    Definition::new("@@datefirst", Kind::TinyInt, |at, _| {
        Ok(Datum::TinyInt(at.connection.options.datefirst))
    }),
    Definition::new("@@lock_timeout", Kind::Int, |at, _| {
        Ok(Datum::Int(at.connection.options.lock_timeout))
    }),
    Definition::new("@@nestlevel", Kind::Int, |at, _| Ok(int(at.connection.nesting.into()))),
    Definition::new("@@procid", Kind::Int, |_, _| Ok(Datum::Int(0))),
    Definition::new("@@dbts", Kind::Binary(8), |at, _| Ok(last_rowversion(at))),
    Definition::new("@@textsize", Kind::Int, |at, _| {
        Ok(Datum::Int(at.connection.options.textsize))
    }),
    Definition::new("@@microsoftversion", Kind::Int, |at, _| Ok(Datum::Int(microsoft_version(at)))),
    Definition::new("@@timeticks", Kind::Int, |_, _| Ok(Datum::Int(TIME_TICKS))),
    Definition::new("@@connections", Kind::Int, |at, _| {
        Ok(int(i64::try_from(at.connection.server.connections()).unwrap_or(i64::MAX)))
    }),
    Definition::new("@@remserver", Kind::Name, |_, _| Ok(Datum::Null)).nullable(),
];
