//! What INSERT BULK leaves for the message that follows it.
//!
//! ```text
//! INSERT BULK t (a int, b varchar(10))   ─▶ PendingLoad: INSERT t (a, b) SELECT a, b FROM rows
//! message: columns, rows                  ─▶ BulkRows
//! ```

use extentdb_base::sync::Arc;
use extentdb_bind::provider::RowProvider;
use extentdb_bind::surroundings::MadeRows;
use extentdb_tsql::Span;
use extentdb_tsql::syntax::{
    Column, ColumnName, Expr, ExprKind, Insert, InsertBulk, InsertSource, Name, ObjectName, Query,
    QueryBody, Select, SelectItem, TableHint, TableHintKind, TableReference, TableSource,
    TableSourceKind, Target, TargetKind,
};
use extentdb_types::{Datum, SqlType};

use crate::cause::Cause;
use crate::trigger::RowsInMemory;

/// The name of rows in memory in a statement that inserts them; no table has it.
const ROWS: &str = "\u{1}rows";

/// The rows of a bulk load, as the client sends them.
#[derive(Clone)]
pub struct BulkRows {
    /// Names and types of the columns.
    pub columns: Vec<(String, SqlType)>,
    /// The rows, which are read once.
    pub rows: Arc<dyn RowProvider>,
}

impl BulkRows {
    /// Rows that are in memory.
    pub fn in_memory(columns: Vec<(String, SqlType)>, rows: Vec<Vec<Datum<'static>>>) -> BulkRows {
        BulkRows { columns, rows: Arc::new(RowsInMemory(rows.into())) }
    }
}

impl PartialEq for BulkRows {
    fn eq(&self, other: &BulkRows) -> bool {
        self.columns == other.columns && Arc::ptr_eq(&self.rows, &other.rows)
    }
}

impl std::fmt::Debug for BulkRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BulkRows({:?})", self.columns)
    }
}

/// A load whose rows have not arrived.
#[derive(Debug, Clone)]
pub struct PendingLoad {
    /// The load as an INSERT.
    pub insert: Insert,
    /// Names of the columns that rows come with.
    pub columns: Vec<String>,
    /// FIRE_TRIGGERS
    pub fires_triggers: bool,
}

impl PendingLoad {
    /// The load of a statement.
    pub fn new(bulk: &InsertBulk) -> Result<PendingLoad, Cause> {
        let has = |name: &str| bulk.options.iter().any(|it| it.name.eq_ignore_ascii_case(name));
        let names: Vec<Name> = bulk.columns.iter().map(|column| column.name.clone()).collect();
        let span = bulk.target.span;
        let hints = match has("TABLOCK") {
            true => vec![TableHint { kind: TableHintKind::Word("TABLOCK"), span }],
            false => Vec::new(),
        };
        let target = Target { kind: TargetKind::Object(bulk.target.clone()), hints, span };
        let insert = insert_of_rows(target, &names);
        let columns = names.iter().map(|name| name.text.to_string()).collect();
        Ok(PendingLoad { insert, columns, fires_triggers: has("FIRE_TRIGGERS") })
    }
}

/// `INSERT target (c1, c2 …) SELECT c1, c2 … FROM rows`
pub fn insert_of_rows(target: Target, names: &[Name]) -> Insert {
    let span = target.span;
    let column = |name: &Name| ColumnName { qualifier: None, column: Column::Named(name.clone()) };
    Insert {
        with: None,
        top: None,
        target,
        columns: names.iter().map(column).collect(),
        outputs: Vec::new(),
        source: InsertSource::Query(Box::new(query(names, span))),
        option: Vec::new(),
        span,
    }
}

/// `SELECT c1, c2 … FROM rows`
pub fn query(names: &[Name], span: Span) -> Query {
    let item = |name: &Name| SelectItem::Value {
        value: Expr {
            kind: ExprKind::Column(Box::new(ColumnName {
                qualifier: None,
                column: Column::Named(name.clone()),
            })),
            span,
        },
        alias: None,
    };
    let rows = TableReference {
        name: ObjectName::simple(Name { text: ROWS.into(), span }),
        system_time: None,
        is_for_path: false,
        sample: None,
        hints: Vec::new(),
    };
    let select = Select {
        is_distinct: false,
        top: None,
        items: names.iter().map(item).collect(),
        into: None,
        from: vec![TableSource {
            kind: TableSourceKind::Table(Box::new(rows)),
            alias: None,
            span,
        }],
        filter: None,
        group_by: None,
        having: None,
        windows: Vec::new(),
        span,
    };
    Query {
        with: None,
        body: QueryBody::Select(Box::new(select)),
        order_by: Vec::new(),
        offset: None,
        for_clause: None,
        span,
    }
}

/// The rows of a load, where a name means them.
pub fn rows_named(rows: Option<&MadeRows>, name: &ObjectName) -> Option<MadeRows> {
    rows.filter(|_| *name.name.text == *ROWS).cloned()
}
