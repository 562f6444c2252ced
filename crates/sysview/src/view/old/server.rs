//! `sys.sysconfigures`, `sys.syscurconfigs`, `sys.sysmessages`, `sys.sysservers`.

use extentdb_messages::{Message, all as all_messages};

use crate::columns::Columns;
use crate::error::Error;
use crate::facts::ServerFacts;
use crate::rows::Rows;
use crate::source::Source;
use crate::view::server::{Configuration, options};

/// Bits of `status`: changes without a restart; an advanced option.
const DYNAMIC: i32 = 1;
const ADVANCED: i32 = 2;
/// us_english.
const LANGUAGE: i32 = 1033;

fn shared() -> Columns<Configuration> {
    Columns::new()
        .put("value", |it: &Configuration| it.value.into())
        .put("config", |it| it.id.into())
        .put("comment", |it| it.name.into())
        .put("status", |it| {
            let dynamic = if it.is_dynamic { DYNAMIC } else { 0 };
            (dynamic | if it.is_advanced { ADVANCED } else { 0 }).into()
        })
}

/// `sys.sysconfigures`.
pub(in crate::view) fn configures(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    rows.add(&shared(), options(source))
}

/// `sys.syscurconfigs`.
pub(in crate::view) fn current_configurations(
    source: &Source<'_>,
    rows: &mut Rows,
) -> Result<(), Error> {
    rows.add(&shared(), options(source))
}

/// `sys.sysmessages`.
pub(in crate::view) fn messages(_: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("error", |it: &&Message| it.number.into())
        .put("severity", |it| it.severity.into())
        .put("description", |it| it.text.into())
        .put("msglangid", |_| LANGUAGE.into())
        .zero(&["dlevel"]);
    rows.add(&columns, all_messages())
}

/// `sys.sysservers`: the server itself.
pub(in crate::view) fn servers(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("srvname", |it: &ServerFacts| (&it.name).into())
        .put("srvproduct", |it| (&it.product_name).into())
        .put("providername", |_| "SQLNCLI".into())
        .put("datasource", |it| (&it.name).into())
        .put("schemadate", |it| it.started.into())
        .put("srvnetname", |it| (&it.name).into())
        .one(&["rpc", "rpcout", "useremotecollation"])
        .zero(&["srvid", "srvstatus", "topologyx", "topologyy", "connecttimeout"])
        .zero(&["querytimeout", "isremote", "pub", "sub", "dist", "dpub", "dataaccess"])
        .zero(&["collationcompatible", "system", "lazyschemavalidation", "nonsqlsub"])
        .null(&["location", "providerstring", "catalog", "srvcollation", "collation"]);
    rows.add(&columns, [source.facts.server()])
}
