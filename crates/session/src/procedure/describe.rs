//! sp_describe_first_result_set: what the first statement of a text that returns rows returns.
//!
//! The statement is bound and not run. What it names must exist: a text that makes its tables first
//! cannot be described.

use extentdb_base::sync::Arc;
use extentdb_sysview::property;
use extentdb_tsql::syntax::{Query, QueryBody, SelectItem, StatementKind};
use extentdb_tsql::{Options, parse};
use extentdb_types::{Collation, Datum, SqlType};

use super::given::Given;
use super::{Finished, parameters};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::{Frame, Variable};
use extentdb_connection::output::{ColumnInfo, Scope, StatementCode};
use extentdb_connection::query::{Prepared, column_infos};
use extentdb_connection::request::Argument;
use extentdb_connection::step::Run;
use extentdb_connection::stop::{Stop, located};
use extentdb_connection::variant::nchar;

const NAME: &str = "sp_describe_first_result_set";
/// `tds_length` of (max).
const MAX_LENGTH: i32 = 65_535;

pub(super) fn run(run: &mut Run<'_>, arguments: &[Argument]) -> Result<Finished, Stop> {
    let given = Given { procedure: NAME, arguments };
    let text = given.text(0, "@tsql").ok_or_else(|| given.missing("@tsql"))?;
    let declarations = given.text(1, "@params").unwrap_or_default();
    let collation = run.connection.collation();
    let declared = parameters::declared(&declarations, collation)?;
    let variables: Vec<Variable> = declared.into_iter().map(|it| it.variable).collect();
    let frame = Frame::new(Scope::Procedure, Arc::from(variables));
    let options = Options { quoted_identifier: run.connection.options.quoted_identifier };
    let script = parse(&text, options)
        .map_err(|error| located(Cause::Syntax(error.cause), error.span.line))?;
    let mut queries = script.statements.iter().filter_map(|statement| match &statement.kind {
        StatementKind::Select(select) if returns_rows(&select.query) => Some(&select.query),
        _ => None,
    });
    let columns = match queries.next() {
        Some(query) => {
            let (_, bound) = Prepared::bind(run, &frame, |binder| binder.statement(query))?;
            column_infos(&bound)
        }
        None => Vec::new(),
    };
    tell(run, &columns, collation)?;
    Ok(Finished::default())
}

fn returns_rows(query: &Query) -> bool {
    match &query.body {
        QueryBody::Select(select) => {
            let assigns = select.items.iter().any(|it| matches!(it, SelectItem::Assign(_)));
            !assigns && select.into.is_none()
        }
        QueryBody::Parenthesised(inner) => returns_rows(inner),
        QueryBody::Set { .. } => true,
    }
}

/// Types of the columns of the answer.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Bit,
    TinyInt,
    SmallInt,
    Int,
    /// nvarchar of so many characters
    Text(u16),
}

impl Kind {
    pub(super) fn ty(self, collation: Collation) -> SqlType {
        match self {
            Kind::Bit => SqlType::Bit,
            Kind::TinyInt => SqlType::TinyInt,
            Kind::SmallInt => SqlType::SmallInt,
            Kind::Int => SqlType::Int,
            Kind::Text(len) => SqlType::NVarChar { len: Some(2 * len), collation },
        }
    }
}

/// A column of the answer, from the ordinal and what is told of a column.
type Tell = fn(i32, &ColumnInfo) -> Datum<'static>;

const NULL: Tell = |_, _| Datum::Null;
const FALSE: Tell = |_, _| Datum::Bit(false);

/// Names, types, nullability and values of the answer.
const ANSWER: [(&str, Kind, bool, Tell); 39] = [
    ("is_hidden", Kind::Bit, false, FALSE),
    ("column_ordinal", Kind::Int, false, |ordinal, _| Datum::Int(ordinal)),
    ("name", Kind::Text(128), true, |_, it| extentdb_connection::variant::nchar_or_null(&it.name)),
    ("is_nullable", Kind::Bit, false, |_, it| Datum::Bit(it.is_nullable)),
    ("system_type_id", Kind::Int, false, |_, it| Datum::Int(it.ty.xtype().into())),
    ("system_type_name", Kind::Text(256), true, |_, it| nchar(&it.ty.to_string())),
    ("max_length", Kind::SmallInt, false, |_, it| {
        Datum::SmallInt(property::facets(&it.ty).max_length)
    }),
    ("precision", Kind::TinyInt, false, |_, it| Datum::TinyInt(property::facets(&it.ty).precision)),
    ("scale", Kind::TinyInt, false, |_, it| Datum::TinyInt(property::facets(&it.ty).scale)),
    ("collation_name", Kind::Text(128), true, |_, it| {
        let name = it.ty.collation().and_then(|collation| collation.name());
        name.map_or(Datum::Null, |name| nchar(&name))
    }),
    ("user_type_id", Kind::Int, true, NULL),
    ("user_type_database", Kind::Text(128), true, NULL),
    ("user_type_schema", Kind::Text(128), true, NULL),
    ("user_type_name", Kind::Text(128), true, NULL),
    ("assembly_qualified_type_name", Kind::Text(4_000), true, NULL),
    ("xml_collection_id", Kind::Int, true, NULL),
    ("xml_collection_database", Kind::Text(128), true, NULL),
    ("xml_collection_schema", Kind::Text(128), true, NULL),
    ("xml_collection_name", Kind::Text(128), true, NULL),
    ("is_xml_document", Kind::Bit, false, FALSE),
    ("is_case_sensitive", Kind::Bit, false, |_, it| {
        Datum::Bit(it.ty.collation().is_some_and(|collation| !collation.ignores_case()))
    }),
    ("is_fixed_length_clr_type", Kind::Bit, false, FALSE),
    ("source_server", Kind::Text(128), true, NULL),
    ("source_database", Kind::Text(128), true, NULL),
    ("source_schema", Kind::Text(128), true, NULL),
    ("source_table", Kind::Text(128), true, NULL),
    ("source_column", Kind::Text(128), true, NULL),
    ("is_identity_column", Kind::Bit, true, |_, it| Datum::Bit(it.is_identity)),
    ("is_part_of_unique_key", Kind::Bit, true, NULL),
    ("is_updateable", Kind::Bit, true, |_, it| Datum::Bit(!it.is_computed && !it.is_identity)),
    ("is_computed_column", Kind::Bit, true, FALSE),
    ("is_sparse_column_set", Kind::Bit, true, FALSE),
    ("ordinal_in_order_by_list", Kind::SmallInt, true, NULL),
    ("order_by_list_length", Kind::SmallInt, true, NULL),
    ("order_by_is_descending", Kind::SmallInt, true, NULL),
    ("tds_type_id", Kind::Int, false, |_, it| Datum::Int(tds_type(it))),
    ("tds_length", Kind::Int, false, |_, it| Datum::Int(tds_length(&it.ty))),
    ("tds_collation_id", Kind::Int, true, |_, it| match it.ty.collation() {
        Some(collation) => Datum::Int(i32::from_le_bytes(collation.0.to_le_bytes())),
        None => Datum::Null,
    }),
    ("tds_collation_sort_id", Kind::TinyInt, true, |_, it| match it.ty.collation() {
        Some(collation) => Datum::TinyInt(collation.sort_order()),
        None => Datum::Null,
    }),
];

/// The type byte of the protocol: of a column that may be NULL one that has a length.
fn tds_type(column: &ColumnInfo) -> i32 {
    tds_type_of(&column.ty, column.is_nullable)
}

/// The same of a type.
pub(super) fn tds_type_of(ty: &SqlType, is_nullable: bool) -> i32 {
    let nullable = match *ty {
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => 38,
        SqlType::Bit => 104,
        SqlType::Real | SqlType::Float => 109,
        SqlType::Money | SqlType::SmallMoney => 110,
        SqlType::DateTime | SqlType::SmallDateTime => 111,
        SqlType::RowVersion => return 173,
        other => return other.xtype().into(),
    };
    match (is_nullable, *ty) {
        (true, _) => nullable,
        (false, SqlType::Bit) => 50,
        (false, ty) => ty.xtype().into(),
    }
}

pub(super) fn tds_length(ty: &SqlType) -> i32 {
    if ty.is_max() {
        return MAX_LENGTH;
    }
    let bytes = ty.fixed_bytes().or(ty.max_bytes());
    bytes.and_then(|bytes| i32::try_from(bytes).ok()).unwrap_or(i32::MAX)
}

fn tell(run: &mut Run<'_>, columns: &[ColumnInfo], collation: Collation) -> Result<(), Stop> {
    let infos: Vec<ColumnInfo> = ANSWER
        .iter()
        .map(|(name, kind, is_nullable, _)| ColumnInfo {
            name: (*name).to_owned(),
            ty: kind.ty(collation),
            is_nullable: *is_nullable,
            is_computed: false,
            is_identity: false,
        })
        .collect();
    run.output.columns(&infos)?;
    for (ordinal, column) in (1..).zip(columns) {
        let row: Vec<Datum<'static>> =
            ANSWER.iter().map(|(_, _, _, tell)| tell(ordinal, column)).collect();
        run.output.row(&row)?;
    }
    let count = u64::try_from(columns.len()).ok();
    run.done(Scope::Procedure, StatementCode::Select, count, false)
}
