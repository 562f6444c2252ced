//! `sys.dm_exec_connections`.

use extentdb_base::SessionId;

use crate::columns::Columns;
use crate::error::Error;
use crate::facts::ConnectionFacts;
use crate::rows::Rows;
use crate::source::Source;

/// The network connection of a session.
type Item = (SessionId, ConnectionFacts);

/// `sys.dm_exec_connections`.
pub(in crate::view) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("session_id", |it: &Item| it.0.0.into())
        .put("most_recent_session_id", |it| it.0.0.into())
        .put("connect_time", |it| it.1.connect_time.into())
        .put("net_transport", |it| (&it.1.net_transport).into())
        .put("protocol_type", |_| "TSQL".into())
        .put("protocol_version", |it| it.1.protocol_version.into())
        .put("encrypt_option", |it| if it.1.is_encrypted { "TRUE" } else { "FALSE" }.into())
        .put("auth_scheme", |_| "SQL".into())
        .put("num_reads", |it| it.1.reads.into())
        .put("num_writes", |it| it.1.writes.into())
        .put("last_read", |it| it.1.last_read.into())
        .put("last_write", |it| it.1.last_write.into())
        .put("net_packet_size", |it| it.1.packet_bytes.into())
        .put("client_net_address", |it| it.1.client_address.as_ref().into())
        .put("client_tcp_port", |it| it.1.client_port.into())
        .put("local_net_address", |it| it.1.local_address.as_ref().into())
        .put("local_tcp_port", |it| it.1.local_port.into())
        .put("connection_id", |it| it.1.id.into())
        .put("endpoint_id", |_| TSQL_OVER_TCP.into())
        .zero(&["node_affinity"])
        .null(&["parent_connection_id", "most_recent_sql_handle"]);
    let sessions = source.sessions().into_iter();
    let items = sessions.filter_map(|session| {
        let id = session.id();
        Some((id, source.facts.connection(id)?))
    });
    rows.add(&columns, items)
}

/// The endpoint "TSQL Default TCP".
const TSQL_OVER_TCP: i32 = 4;
