//! Messages of clients as requests of sessions.

use extentdb_session as session;
use extentdb_session::{Argument, ProcedureCall, Request, TableArgument, TableRows};
use extentdb_tds::column::ColumnFlags;
use extentdb_tds::request::{
    Isolation, Next, Parameter, ParameterFlags, ParameterValue, Procedure, RpcCall, RpcReader,
    SqlBatch, TransactionMessage, TransactionRequest, Tvp,
};
use extentdb_tds::{DecodeError, Protocol};
use extentdb_types::{Collation, Datum, SqlType};

/// The requests of a message, and the transaction that they are meant for.
pub(crate) struct Requests {
    pub(crate) requests: Vec<Request>,
    pub(crate) descriptor: Option<u64>,
}

/// The procedures whose results may come without the metadata of their columns.
const KNOWN_COLUMNS: [&str; 2] = ["sp_execute", "sp_cursorfetch"];

/// Why a message is no request.
pub(crate) enum Refused {
    Malformed(DecodeError),
    /// A parameter whose bytes are no value of its type.
    Value {
        /// From 1.
        position: usize,
        name: String,
        type_name: &'static str,
    },
    NotSupported(&'static str),
    /// It ran for so many seconds, which is longer than it may.
    TooLong(u64),
}

impl From<DecodeError> for Refused {
    fn from(error: DecodeError) -> Refused {
        Refused::Malformed(error)
    }
}

pub(crate) fn batch(body: &[u8], protocol: &Protocol) -> Result<Requests, Refused> {
    let batch = SqlBatch::read(body, protocol.version())?;
    Ok(Requests {
        requests: vec![Request::Batch(batch.text.to_string())],
        descriptor: batch.headers.transaction.map(|it| it.descriptor),
    })
}

pub(crate) fn calls(body: &[u8], protocol: &Protocol) -> Result<Requests, Refused> {
    let mut reader = RpcReader::new(body, *protocol)?;
    let descriptor = reader.headers().transaction.map(|it| it.descriptor);
    let mut requests = Vec::new();
    while let Some(call) = reader.next_call()? {
        if call.is_executed {
            requests.push(Request::Procedure(procedure(&call, protocol.collation())?));
        }
    }
    Ok(Requests { requests, descriptor })
}

fn procedure(call: &RpcCall<'_>, collation: Collation) -> Result<ProcedureCall, Refused> {
    let name = match call.procedure {
        Procedure::Id(id) => id.name().to_owned(),
        Procedure::Name(name) => name.to_string(),
    };
    let arguments: Result<Vec<_>, _> =
        call.parameters.iter().zip(1..).map(|(it, at)| argument(it, at, collation)).collect();
    // ODBC asks for none with sp_prepexec, too, and then waits for them: columns are known from an
    // execution before, of which there is none.
    let has_columns = KNOWN_COLUMNS.iter().any(|known| name.eq_ignore_ascii_case(known));
    let has_no_metadata = call.flags.has_no_metadata() && has_columns;
    Ok(ProcedureCall { name, arguments: arguments?, has_no_metadata })
}

fn argument(
    parameter: &Parameter<'_>,
    position: usize,
    collation: Collation,
) -> Result<Argument, Refused> {
    let type_info = match &parameter.value {
        ParameterValue::Scalar { type_info, .. } => type_info,
        ParameterValue::Table(table) => {
            return Ok(Argument {
                name: parameter.name.to_string(),
                ty: None,
                value: Datum::Null,
                is_output: false,
                is_default: parameter.flags.is_default(),
                table: Some(TableArgument::Rows(table_rows(table, collation)?)),
            });
        }
    };
    let invalid = |_| Refused::Value {
        position,
        name: parameter.name.to_string(),
        type_name: type_info.name(),
    };
    let value = parameter.decode().transpose().map_err(invalid)?;
    let value = value.unwrap_or(Datum::Null).into_owned();
    let ty = match type_info.to_sql_type(collation).map(of_any_length) {
        // Its text, which the parameter's declaration makes xml of.
        Some(SqlType::Xml) => Some(SqlType::NVarChar { len: None, collation }),
        ty => ty,
    };
    Ok(Argument {
        name: parameter.name.to_string(),
        ty,
        value,
        is_output: parameter.flags.0 & ParameterFlags::OUTPUT.0 != 0,
        is_default: parameter.flags.is_default(),
        table: None,
    })
}

/// The rows of a table-valued parameter. Without columns it is an empty table.
fn table_rows(table: &Tvp<'_>, collation: Collation) -> Result<TableRows, Refused> {
    if !table.column_ordering.is_empty() {
        return Err(Refused::NotSupported("an order of columns in a table-valued parameter"));
    }
    let columns = table.columns.as_deref().unwrap_or_default();
    let mut types = Vec::new();
    for column in columns {
        let ty = column.type_info.to_sql_type(collation);
        let ty = ty.ok_or(Refused::NotSupported("a type in a table-valued parameter"))?;
        let has_values = !column.flags.has(ColumnFlags::DEFAULT);
        types.push(has_values.then(|| of_any_length(ty)));
    }
    let mut rows = Vec::with_capacity(table.row_count);
    for row in table.rows() {
        let values = row.to_values()?.into_iter().zip(&types);
        let sent = values.filter(|(_, ty)| ty.is_some());
        rows.push(sent.map(|(value, _)| value.into_owned()).collect());
    }
    Ok(TableRows { columns: types, rows: rows.into() })
}

/// The value of a client may be shorter than its fixed type.
pub(crate) fn of_any_length(ty: SqlType) -> SqlType {
    match ty {
        SqlType::Char { len, collation } => SqlType::VarChar { len: Some(len), collation },
        SqlType::NChar { len, collation } => SqlType::NVarChar { len: Some(len), collation },
        SqlType::Binary { len } => SqlType::VarBinary { len: Some(len) },
        SqlType::Text { collation } => SqlType::VarChar { len: None, collation },
        SqlType::NText { collation } => SqlType::NVarChar { len: None, collation },
        SqlType::Image => SqlType::VarBinary { len: None },
        other => other,
    }
}

pub(crate) fn transaction(body: &[u8], protocol: &Protocol) -> Result<Requests, Refused> {
    let message = TransactionMessage::read(body, protocol.version())?;
    let request = match message.request {
        TransactionRequest::Begin { isolation: level, name } => {
            session::TransactionRequest::Begin {
                isolation: isolation(level),
                name: name.to_string(),
            }
        }
        TransactionRequest::Commit { next, .. } => {
            session::TransactionRequest::Commit { next: following(next) }
        }
        TransactionRequest::Rollback { name, next } => {
            session::TransactionRequest::Rollback { name: name.to_string(), next: following(next) }
        }
        TransactionRequest::Save { name } => {
            session::TransactionRequest::Save { name: name.to_string() }
        }
        TransactionRequest::DtcAddress
        | TransactionRequest::Propagate
        | TransactionRequest::Promote => {
            session::TransactionRequest::Distributed("a distributed transaction")
        }
    };
    Ok(Requests {
        requests: vec![Request::Transaction(request)],
        descriptor: message.headers.transaction.map(|it| it.descriptor),
    })
}

fn following(next: Option<Next<'_>>) -> Option<(session::Isolation, String)> {
    next.map(|next| (isolation(next.isolation), next.name.to_string()))
}

fn isolation(level: Isolation) -> session::Isolation {
    match level {
        Isolation::Unchanged => session::Isolation::Unchanged,
        Isolation::ReadUncommitted => session::Isolation::ReadUncommitted,
        Isolation::ReadCommitted => session::Isolation::ReadCommitted,
        Isolation::RepeatableRead => session::Isolation::RepeatableRead,
        Isolation::Serializable => session::Isolation::Serializable,
        Isolation::Snapshot => session::Isolation::Snapshot,
    }
}

#[cfg(test)]
mod tests {
    use extentdb_tds::request::{Headers, RpcFlags, RpcWriter};
    use extentdb_tds::type_info::Nullability;
    use extentdb_tds::{Column, TdsVersion, TypeInfo};

    use super::*;

    #[test]
    fn rows_of_a_table_have_no_values_for_columns_of_defaults() {
        let version = TdsVersion::V7_4;
        let protocol = Protocol::new(version, Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
        let info = TypeInfo::of(SqlType::Int, Nullability::Nullable, &protocol);
        let mut identity = Column::new("", info.clone());
        identity.flags = ColumnFlags::DEFAULT;
        let columns = [identity, Column::new("", info)];
        let mut body = Vec::new();
        let mut writer = RpcWriter::new(&Headers::default(), version, &mut body);
        writer.call_by_name("p", RpcFlags(0)).unwrap();
        let mut table = writer.tvp("@t", "dbo", "ids", &columns).unwrap();
        table.row(&[Datum::Null, Datum::Int(7)]).unwrap();
        table.end();
        writer.tvp("@none", "dbo", "ids", &[]).unwrap().end();
        let Ok(Requests { requests, .. }) = calls(&body, &protocol) else { panic!() };
        let [Request::Procedure(call)] = requests.as_slice() else { panic!() };
        let [table, none] = call.arguments.as_slice() else { panic!() };
        let rows = TableRows {
            columns: vec![None, Some(SqlType::Int)],
            rows: vec![vec![Datum::Int(7)]].into(),
        };
        assert_eq!(table.table, Some(TableArgument::Rows(rows)));
        let empty = TableRows { columns: Vec::new(), rows: Vec::new().into() };
        assert_eq!(none.table, Some(TableArgument::Rows(empty)));
    }

    #[test]
    fn metadata_is_left_out_only_where_the_client_has_it() {
        let version = TdsVersion::V7_4;
        let protocol = Protocol::new(version, Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
        for (name, is_left_out) in
            [("sp_prepexec", false), ("sp_execute", true), ("sp_cursorfetch", true)]
        {
            let mut body = Vec::new();
            let mut writer = RpcWriter::new(&Headers::default(), version, &mut body);
            writer.call_by_name(name, RpcFlags(0x02)).unwrap();
            let Ok(Requests { requests, .. }) = calls(&body, &protocol) else { panic!() };
            let [Request::Procedure(call)] = requests.as_slice() else { panic!() };
            assert_eq!(call.has_no_metadata, is_left_out, "{name}");
        }
    }
}
