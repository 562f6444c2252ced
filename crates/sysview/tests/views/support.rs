//! A server in memory with a database of users, and rows of views as texts.

use std::sync::Arc;

use extentdb_engine::{
    ColumnSpec, Database, DatabaseSpec, DefaultSpec, IdentitySpec, IndexSpec, Instance,
    InstanceOptions, ModuleKind, ModuleSettings, ModuleSpec, Options, ReferentialAction,
    ReferentialActions, Session, TableSpec,
};
use extentdb_io::MemDisk;
use extentdb_sysview::{Source, view};
use extentdb_types::{Collation, Datum, SqlType, plain};

/// Collation of texts.
pub(crate) const COLLATION: Collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;

/// A server in memory.
pub(crate) fn server() -> Arc<Instance> {
    let options = Options { frames: 1024, ..Options::on(Arc::new(MemDisk::new())) };
    let options = InstanceOptions { tempdb_files: 1, ..InstanceOptions::new("/data", options) };
    Instance::start(options).unwrap()
}

pub(crate) fn nvarchar(characters: u16) -> SqlType {
    SqlType::NVarChar { len: Some(2 * characters), collation: COLLATION }
}

fn int(name: &str) -> ColumnSpec {
    ColumnSpec::new(name, SqlType::Int)
}

fn heap(schema: &str, name: &str, columns: Vec<ColumnSpec>) -> TableSpec {
    TableSpec {
        schema: Some(schema.to_owned()),
        ..TableSpec::heap(name, columns)
    }
}

/// A database with customers and their orders, with keys, checks, defaults, a view and a procedure.
pub(crate) fn shop(instance: &Instance) -> Arc<Database> {
    let spec = DatabaseSpec::new("shop", "/data", 16 << 20);
    let database = instance.create_database(&spec).unwrap();
    let mut session = instance.session("shop").unwrap();
    session.create_schema("sales").unwrap();
    customers(&mut session);
    orders(&mut session);
    modules(&mut session);
    database
}

fn customers(session: &mut Session) {
    let key = IndexSpec::primary_key("PK_customers", &["id"]).clustered();
    let identity = IdentitySpec { seed: 10, increment: 5 };
    let columns = vec![
        ColumnSpec { identity: Some(identity), ..int("id").not_null() },
        ColumnSpec::new("name", nvarchar(40)).not_null(),
        ColumnSpec::new("email", nvarchar(100)),
    ];
    let table = session.create_table(&heap("dbo", "customers", columns).clustered(key)).unwrap();
    let unique = IndexSpec::unique_constraint("UQ_email", &["email"]);
    session.create_index(&table, &unique).unwrap();
}

fn orders(session: &mut Session) {
    let state = ColumnSpec {
        default: Some(DefaultSpec::new("DF_state", "(N'new')")),
        ..ColumnSpec::new("state", nvarchar(10)).not_null()
    };
    let columns = vec![
        int("id").not_null(),
        int("customer"),
        ColumnSpec::new("price", SqlType::Decimal { precision: 9, scale: 2 }),
        state,
        ColumnSpec::computed(
            "twice",
            SqlType::Decimal { precision: 12, scale: 2 },
            "([price]*(2))",
        ),
    ];
    let table = session.create_table(&heap("sales", "orders", columns)).unwrap();
    session.create_index(&table, &IndexSpec::primary_key("PK_orders", &["id"])).unwrap();
    session.add_check(&table, "CK_price", "([price]>(0))").unwrap();
    let customers = session.table("customers").unwrap();
    let actions = ReferentialActions {
        on_delete: ReferentialAction::Cascade,
        ..ReferentialActions::default()
    };
    let pairs = [("customer", "id")];
    session.add_foreign_key_with(&table, "FK_customer", &customers, &pairs, actions).unwrap();
    let index = IndexSpec {
        included: vec!["price".to_owned()],
        filter: Some("([customer]>(5))".to_owned()),
        ..IndexSpec::new("IX_customer", &["customer"])
    };
    session.create_index(&table, &index).unwrap();
    let text = "create trigger sales.watch on sales.orders after insert, update as return";
    session.create_trigger(&table, "watch", text).unwrap();
}

fn modules(session: &mut Session) {
    let module = |name: &str, kind, text: &str, columns| ModuleSpec {
        schema: None,
        name: name.to_owned(),
        kind,
        text: text.to_owned(),
        columns,
        parameters: Vec::new(),
        settings: ModuleSettings::default(),
    };
    let text = "create view names with schemabinding as select name from dbo.customers";
    let columns = vec![ColumnSpec::new("name", nvarchar(40)).not_null()];
    session.create_module(&module("names", ModuleKind::View, text, columns)).unwrap();
    let text = "create procedure clean as delete dbo.customers";
    session.create_module(&module("clean", ModuleKind::Procedure, text, Vec::new())).unwrap();
}

/// A view read in a database: some of its columns, each row a line, in the order of the lines. Ids
/// of objects are not in the order in which they were made.
pub(crate) fn read(instance: &Instance, database: &Database, name: &str, columns: &str) -> String {
    let model = database.model().unwrap();
    let source = Source::new(instance, database, &model);
    read_from(&source, name, columns)
}

/// The same of a source.
pub(crate) fn read_from(source: &Source<'_>, name: &str, columns: &str) -> String {
    let (schema, name) = name.split_once('.').unwrap();
    let view = view(schema, name).unwrap();
    let at: Vec<usize> = columns
        .split(' ')
        .map(|name| view.columns.iter().position(|own| own.name == name).expect(name))
        .collect();
    let rows = view.rows(source).unwrap();
    let line = |row: &Vec<Datum<'static>>| {
        let shown: Vec<String> = at.iter().map(|at| shown(&row[*at])).collect();
        shown.join(" ") + "\n"
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    lines.sort();
    lines.concat()
}

fn shown(value: &Datum<'_>) -> String {
    let mut text = String::new();
    plain::write_plain(value, &mut text).unwrap();
    if matches!(value, Datum::Null) { "NULL".to_owned() } else { text.trim_end().to_owned() }
}
