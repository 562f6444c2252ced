//! Properties of the server, of databases, of the connection and of the session, as sql_variant.
//!
//! A property that is not known is NULL, as in the product.

use extentdb_types::{Collation, Datum, SqlType, Variant};

use super::{Definition, Kind};
use crate::frame::Values;
use crate::variant::{self, nchar};

/// A property's value before it becomes a sql_variant.
enum Value {
    Null,
    Int(i32),
    BigInt(i64),
    TinyInt(u8),
    Text(String),
    Bit(bool),
}

/// Engine edition of Developer and Enterprise.
const ENTERPRISE_ENGINE: i32 = 3;
/// EditionID of Developer.
const DEVELOPER: i64 = -2_117_995_310;
/// Ids of SQL_Latin1_General_CP1_CI_AS.
const COLLATION_ID: i32 = 872_468_488;
const COMPARISON_STYLE: i32 = 196_609;
const LCID: i32 = 1_033;
const SORT_ORDER: u8 = 52;
const CHARACTER_SET: u8 = 1;
/// Compatibility level and version of databases made here.
const DATABASE_VERSION: i32 = 661;

/// Properties of databases that are false here.
const ABSENT_OF_DATABASES: [&str; 22] = [
    "isansinulldefault",
    "isansinullsenabled",
    "isansipaddingenabled",
    "isansiwarningsenabled",
    "isarithmeticabortenabled",
    "isautocreatestatisticsincremental",
    "isclone",
    "isclosecursorsoncommitenabled",
    "isfulltextenabled",
    "islocalcursorsdefault",
    "ismemoryoptimizedelevatetosnapshotenabled",
    "ismergepublished",
    "isnullconcat",
    "isnumericroundabortenabled",
    "isparameterizationforced",
    "isquotedidentifiersenabled",
    "ispublished",
    "isrecursivetriggersenabled",
    "issubscribed",
    "issyncwithbackup",
    "isverifiedclone",
    "isxtpsupported",
];

/// Names of properties whose base type is int.
const INTEGERS: [&str; 24] = [
    "engineedition",
    "isclustered",
    "ishadrenabled",
    "isintegratedsecurityonly",
    "issingleuser",
    "isfulltextinstalled",
    "isxtpsupported",
    "ispolybaseinstalled",
    "isadvancedanalyticsinstalled",
    "islocaldb",
    "lcid",
    "processid",
    "comparisonstyle",
    "collationid",
    "hadrmanagerstatus",
    "filestreamconfiguredlevel",
    "filestreameffectivelevel",
    "isinstandby",
    "isautoclose",
    "isautoshrink",
    "version",
    "local_tcp_port",
    "isbigdatacluster",
    "istempdbmetadatamemoryoptimized",
];

/// The base type of a property, where comparisons need one.
pub(super) fn base_type(function: &str, property: &str, collation: Collation) -> Option<SqlType> {
    let property = property.to_lowercase();
    match function {
        "serverproperty" | "databasepropertyex" | "connectionproperty" => {
            Some(if INTEGERS.contains(&property.as_str()) {
                SqlType::Int
            } else {
                SqlType::NVarChar { len: Some(256), collation }
            })
        }
        "sessionproperty" => Some(SqlType::Int),
        _ => None,
    }
}

fn wrapped(value: Value, collation: Collation) -> Datum<'static> {
    let (ty, value) = match value {
        Value::Null => return Datum::Null,
        Value::Int(value) => (SqlType::Int, Datum::Int(value)),
        Value::BigInt(value) => (SqlType::BigInt, Datum::BigInt(value)),
        Value::TinyInt(value) => (SqlType::TinyInt, Datum::TinyInt(value)),
        Value::Bit(value) => (SqlType::Int, Datum::Int(value.into())),
        Value::Text(text) => (SqlType::NVarChar { len: Some(256), collation }, nchar(&text)),
    };
    Datum::Variant(Box::new(Variant { ty, value }))
}

fn argument(arguments: &[Datum<'static>], place: usize) -> String {
    arguments.get(place).and_then(variant::text).unwrap_or_default()
}

fn text(value: impl Into<String>) -> Value {
    Value::Text(value.into())
}

fn server(at: Values<'_>, name: &str) -> Value {
    let product = &at.connection.server.product;
    let [major, minor, build, _] = product.version;
    match name.to_lowercase().as_str() {
        "productversion" => text(product.version_text()),
        "productlevel" => text("RTM"),
        "productmajorversion" => text(major.to_string()),
        "productminorversion" => text(minor.to_string()),
        "productbuild" => text(build.to_string()),
        "resourceversion" => text(format!("{major}.00.{build}")),
        "edition" => text(product.edition.as_str()),
        "editionid" => Value::BigInt(DEVELOPER),
        "engineedition" => Value::Int(ENTERPRISE_ENGINE),
        "servername" => text(product.server_name.as_str()),
        "machinename" | "computernamephysicalnetbios" => text(product.machine_name.as_str()),
        "processid" => Value::Int(i32::try_from(product.process_id).unwrap_or(0)),
        "licensetype" => text("DISABLED"),
        "pathseparator" => text(std::path::MAIN_SEPARATOR.to_string()),
        other => server_state(at, other),
    }
}

fn server_state(at: Values<'_>, name: &str) -> Value {
    let data = || at.connection.server.instance.options().data.display().to_string();
    match name {
        "collation" => collation_name(at),
        "collationid" => Value::Int(COLLATION_ID),
        "comparisonstyle" => Value::Int(COMPARISON_STYLE),
        "lcid" => Value::Int(LCID),
        "sqlcharset" => Value::TinyInt(CHARACTER_SET),
        "sqlcharsetname" => text("iso_1"),
        "sqlsortorder" => Value::TinyInt(SORT_ORDER),
        "sqlsortordername" => text("nocase_iso"),
        "instancedefaultdatapath" | "instancedefaultlogpath" | "instancedefaultbackuppath" => {
            text(data())
        }
        "isclustered"
        | "ishadrenabled"
        | "isintegratedsecurityonly"
        | "issingleuser"
        | "isfulltextinstalled"
        | "isxtpsupported"
        | "ispolybaseinstalled"
        | "isadvancedanalyticsinstalled"
        | "isbigdatacluster"
        | "islocaldb"
        | "istempdbmetadatamemoryoptimized"
        | "filestreamconfiguredlevel"
        | "filestreameffectivelevel" => Value::Int(0),
        _ => Value::Null,
    }
}

fn collation_name(at: Values<'_>) -> Value {
    at.connection.collation().name().map_or(Value::Null, |name| text(name.to_string()))
}

fn of_database(at: Values<'_>, database: &str, name: &str) -> Value {
    let databases = at.connection.server.instance.databases();
    let found = databases.into_iter().find(|it| it.name.eq_ignore_ascii_case(database));
    let Some(found) = found else { return Value::Null };
    let is_online = matches!(found.state, extentdb_engine::DatabaseState::Online);
    match name.to_lowercase().as_str() {
        "status" => text(found.state.to_string().to_uppercase()),
        "updateability" => text(if found.is_read_only { "READ_ONLY" } else { "READ_WRITE" }),
        "useraccess" => text(match found.access {
            extentdb_engine::UserAccess::Multi => "MULTI_USER",
            extentdb_engine::UserAccess::Single => "SINGLE_USER",
            extentdb_engine::UserAccess::Restricted => "RESTRICTED_USER",
        }),
        "recovery" => text("SIMPLE"),
        "collation" if is_online => collation_name(at),
        "version" if is_online => Value::Int(DATABASE_VERSION),
        "isautocreatestatistics" | "isautoupdatestatistics" => Value::Int(1),
        "isinstandby" | "isautoclose" | "isautoshrink" => Value::Int(0),
        "comparisonstyle" => Value::Int(COMPARISON_STYLE),
        other if ABSENT_OF_DATABASES.contains(&other) => Value::Int(0),
        "lcid" => Value::Int(LCID),
        "sqlsortorder" => Value::TinyInt(SORT_ORDER),
        _ => Value::Null,
    }
}

fn connection(at: Values<'_>, name: &str) -> Value {
    let client = &at.connection.client;
    let address = |address: &Option<String>| match address {
        Some(address) => text(address.as_str()),
        None => text("<local machine>"),
    };
    match name.to_lowercase().as_str() {
        "net_transport" | "physical_net_transport" => text("TCP"),
        "protocol_type" => text("TSQL"),
        "auth_scheme" => text("SQL"),
        "client_net_address" => address(&client.client_address),
        "local_net_address" => address(&client.local_address),
        "local_tcp_port" => client.local_port.map_or(Value::Null, |port| Value::Int(port.into())),
        _ => Value::Null,
    }
}

fn session(at: Values<'_>, name: &str) -> Value {
    let options = &at.connection.options;
    Value::Bit(match name.to_lowercase().as_str() {
        "ansi_nulls" => options.ansi_nulls,
        "ansi_padding" => options.ansi_padding,
        "ansi_warnings" => options.ansi_warnings,
        "arithabort" => options.arithabort,
        "concat_null_yields_null" => options.concat_null_yields_null,
        "numeric_roundabort" => options.numeric_roundabort,
        "quoted_identifier" => options.quoted_identifier,
        _ => return Value::Null,
    })
}

pub(super) static TABLE: &[Definition] = &[
    // Full-text search is not installed.
    Definition::new("fulltextserviceproperty", Kind::Int, |_, it| {
        let known = [
            "isfulltextinstalled",
            "loadosresources",
            "resourceusage",
            "verifysignature",
            "connecttimeout",
            "datatimeout",
        ];
        let is_known = known.contains(&argument(it, 0).to_lowercase().as_str());
        Ok(if is_known { Datum::Int(0) } else { Datum::Null })
    })
    .nullable()
    .of(&[Kind::Name]),
    Definition::new("serverproperty", Kind::Variant, |at, it| {
        Ok(wrapped(server(at, &argument(it, 0)), at.connection.collation()))
    })
    .nullable()
    .of(&[Kind::Name]),
    Definition::new("databasepropertyex", Kind::Variant, |at, it| {
        let value = of_database(at, &argument(it, 0), &argument(it, 1));
        Ok(wrapped(value, at.connection.collation()))
    })
    .nullable()
    .of(&[Kind::Name, Kind::Name]),
    Definition::new("connectionproperty", Kind::Variant, |at, it| {
        Ok(wrapped(connection(at, &argument(it, 0)), at.connection.collation()))
    })
    .nullable()
    .of(&[Kind::Name]),
    Definition::new("sessionproperty", Kind::Variant, |at, it| {
        Ok(wrapped(session(at, &argument(it, 0)), at.connection.collation()))
    })
    .nullable()
    .of(&[Kind::Name]),
];
