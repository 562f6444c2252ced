//! The rows that sp_describe_undeclared_parameters answers.

use extentdb_sysview::property;
use extentdb_types::{Datum, SqlType};

use crate::procedure::describe::{Kind, tds_length, tds_type_of};
use extentdb_connection::output::{ColumnInfo, Scope, StatementCode};
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;
use extentdb_connection::variant::nchar;

/// The type that a variable is to have.
#[derive(Clone)]
pub(super) enum Suggested {
    Value(SqlType),
    Table(TableTypeName),
}

/// A table type, by its name.
#[derive(Clone)]
pub(super) struct TableTypeName {
    pub(super) database: String,
    pub(super) schema: String,
    pub(super) name: String,
}

/// System type of tables.
const TABLE_TYPE: i32 = 243;

/// A parameter of the answer.
struct Parameter<'p> {
    ordinal: i32,
    name: &'p str,
    suggested: &'p Suggested,
}

impl Parameter<'_> {
    /// What is said of a value, and of a table in its place.
    fn of_value(
        &self,
        tell: fn(&SqlType) -> Datum<'static>,
        table: Datum<'static>,
    ) -> Datum<'static> {
        match self.suggested {
            Suggested::Value(ty) => tell(ty),
            Suggested::Table(_) => table,
        }
    }

    fn of_table(&self, tell: fn(&TableTypeName) -> &str) -> Datum<'static> {
        match self.suggested {
            Suggested::Value(_) => Datum::Null,
            Suggested::Table(table) => nchar(tell(table)),
        }
    }
}

/// A column of the answer.
type Tell = fn(&Parameter<'_>) -> Datum<'static>;

const NULL: Tell = |_| Datum::Null;
const FALSE: Tell = |_| Datum::Bit(false);
const TABLE_TYPE_ID: Datum<'static> = Datum::Int(TABLE_TYPE);

/// Names, types, nullability and values of the answer.
const ANSWER: [(&str, Kind, bool, Tell); 24] = [
    ("parameter_ordinal", Kind::Int, false, |it| Datum::Int(it.ordinal)),
    ("name", Kind::Text(128), false, |it| nchar(it.name)),
    ("suggested_system_type_id", Kind::Int, false, |it| {
        it.of_value(|ty| Datum::Int(ty.xtype().into()), TABLE_TYPE_ID)
    }),
    ("suggested_system_type_name", Kind::Text(256), true, |it| {
        it.of_value(|ty| nchar(&ty.to_string()), Datum::Null)
    }),
    ("suggested_max_length", Kind::SmallInt, false, |it| {
        it.of_value(|ty| Datum::SmallInt(property::facets(ty).max_length), Datum::SmallInt(-1))
    }),
    ("suggested_precision", Kind::TinyInt, false, |it| {
        it.of_value(|ty| Datum::TinyInt(property::facets(ty).precision), Datum::TinyInt(0))
    }),
    ("suggested_scale", Kind::TinyInt, false, |it| {
        it.of_value(|ty| Datum::TinyInt(property::facets(ty).scale), Datum::TinyInt(0))
    }),
    ("suggested_user_type_id", Kind::Int, true, NULL),
    ("suggested_user_type_database", Kind::Text(128), true, |it| it.of_table(|it| &it.database)),
    ("suggested_user_type_schema", Kind::Text(128), true, |it| it.of_table(|it| &it.schema)),
    ("suggested_user_type_name", Kind::Text(128), true, |it| it.of_table(|it| &it.name)),
    ("suggested_assembly_qualified_type_name", Kind::Text(4_000), true, NULL),
    ("suggested_xml_collection_id", Kind::Int, true, NULL),
    ("suggested_xml_collection_database", Kind::Text(128), true, NULL),
    ("suggested_xml_collection_schema", Kind::Text(128), true, NULL),
    ("suggested_xml_collection_name", Kind::Text(128), true, NULL),
    ("suggested_is_xml_document", Kind::Bit, false, FALSE),
    ("suggested_is_case_sensitive", Kind::Bit, false, FALSE),
    ("suggested_is_fixed_length_clr_type", Kind::Bit, false, FALSE),
    ("suggested_is_input", Kind::Bit, false, |_| Datum::Bit(true)),
    ("suggested_is_output", Kind::Bit, false, FALSE),
    ("formal_parameter_name", Kind::Text(128), true, NULL),
    ("suggested_tds_type_id", Kind::Int, false, |it| {
        it.of_value(|ty| Datum::Int(tds_type_of(ty, true)), TABLE_TYPE_ID)
    }),
    ("suggested_tds_length", Kind::Int, false, |it| {
        it.of_value(|ty| Datum::Int(tds_length(ty)), Datum::Int(-1))
    }),
];

pub(super) fn tell(run: &mut Run<'_>, found: &[(Box<str>, Suggested)]) -> Result<(), Stop> {
    let collation = run.connection.collation();
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
    for (ordinal, (name, suggested)) in (1..).zip(found) {
        let parameter = Parameter { ordinal, name, suggested };
        let row: Vec<Datum<'static>> =
            ANSWER.iter().map(|(_, _, _, tell)| tell(&parameter)).collect();
        run.output.row(&row)?;
    }
    let count = u64::try_from(found.len()).ok();
    run.done(Scope::Procedure, StatementCode::Select, count, false)
}
