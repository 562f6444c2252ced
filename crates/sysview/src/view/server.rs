//! The server: `sys.configurations`, `sys.messages`, `sys.servers`, `sys.endpoints`.

use extentdb_messages::{Message, all as all_messages};

use crate::columns::Columns;
use crate::error::Error;
use crate::facts::ServerFacts;
use crate::rows::Rows;
use crate::source::Source;
use crate::value::Value;

const CONFIGURATIONS: &str = include_str!("../../data/configurations.tsv");
/// us_english.
const LANGUAGE: i32 = 1033;

/// A configuration option with its value.
pub(super) struct Configuration {
    pub(super) id: i32,
    pub(super) name: &'static str,
    pub(super) value: i32,
    minimum: i32,
    maximum: i32,
    pub(super) is_dynamic: bool,
    pub(super) is_advanced: bool,
}

/// All options, by id.
pub(super) fn options(source: &Source<'_>) -> Vec<Configuration> {
    let option = |line: &'static str| {
        let parts: Vec<&str> = line.split('\t').collect();
        let [id, name, minimum, maximum, default, dynamic, advanced] = parts[..] else {
            return None;
        };
        let id = id.parse().ok()?;
        Some(Configuration {
            id,
            name,
            // Of two the default is the build, which the facts know.
            value: source.facts.configuration(id).or_else(|| default.parse().ok()).unwrap_or(0),
            minimum: minimum.parse().ok()?,
            maximum: maximum.parse().ok()?,
            is_dynamic: dynamic == "1",
            is_advanced: advanced == "1",
        })
    };
    let mut options: Vec<Configuration> = CONFIGURATIONS.lines().filter_map(option).collect();
    options.sort_by_key(|option| option.id);
    options
}

/// `sys.configurations`. Descriptions are the names of the options.
pub(super) fn configurations(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("configuration_id", |it: &Configuration| it.id.into())
        .put("name", |it| it.name.into())
        .put("value", |it| Value::variant_int(it.value))
        .put("minimum", |it| Value::variant_int(it.minimum))
        .put("maximum", |it| Value::variant_int(it.maximum))
        .put("value_in_use", |it| Value::variant_int(it.value))
        .put("description", |it| it.name.into())
        .put("is_dynamic", |it| it.is_dynamic.into())
        .put("is_advanced", |it| it.is_advanced.into());
    rows.add(&columns, options(source))
}

/// `sys.messages`: those that this program raises.
pub(super) fn messages(_: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("message_id", |it: &&Message| it.number.into())
        .put("language_id", |_| LANGUAGE.into())
        .put("severity", |it| it.severity.into())
        .put("is_event_logged", |_| false.into())
        .put("text", |it| it.text.into());
    rows.add(&columns, all_messages())
}

/// `sys.servers`: the server itself; it has no linked ones.
pub(super) fn servers(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("name", |it: &ServerFacts| (&it.name).into())
        .put("product", |it| (&it.product_name).into())
        .put("provider", |_| "SQLNCLI".into())
        .put("data_source", |it| (&it.name).into())
        .put("modify_date", |it| it.started.into())
        .one(&["is_remote_login_enabled", "is_rpc_out_enabled", "uses_remote_collation"])
        .one(&["is_remote_proc_transaction_promotion_enabled"])
        .zero(&["server_id", "connect_timeout", "query_timeout", "is_linked"])
        .zero(&["is_data_access_enabled", "is_collation_compatible", "lazy_schema_validation"])
        .zero(&["is_system", "is_publisher", "is_subscriber", "is_distributor"])
        .zero(&["is_nonsql_subscriber", "is_rda_server"])
        .null(&["location", "provider_string", "catalog", "collation_name"]);
    rows.add(&columns, [source.facts.server()])
}

/// An endpoint: its id and name.
type Endpoint = (i32, &'static str);

/// The endpoint that clients of TCP use, with the id that it has in the product.
const DEFAULT_TCP: Endpoint = (4, "TSQL Default TCP");
/// Owner of the endpoints.
const SA: i32 = 1;

fn endpoint() -> Columns<Endpoint> {
    Columns::new()
        .put("name", |it: &Endpoint| it.1.into())
        .put("endpoint_id", |it| it.0.into())
        .put("principal_id", |_| SA.into())
        .put("protocol", |_| 2.into())
        .put("protocol_desc", |_| "TCP".into())
        .put("type", |_| 2.into())
        .put("type_desc", |_| "TSQL".into())
        .put("state_desc", |_| "STARTED".into())
        .zero(&["state", "is_admin_endpoint"])
}

/// `sys.endpoints`.
pub(super) fn endpoints(_: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = endpoint();
    rows.add(&columns, [DEFAULT_TCP])
}

/// `sys.tcp_endpoints`. The port of this endpoint is that of the configuration, shown as 0.
pub(super) fn tcp_endpoints(_: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = endpoint().one(&["is_dynamic_port"]).zero(&["port"]).null(&["ip_address"]);
    rows.add(&columns, [DEFAULT_TCP])
}
