//! What tests share: rows as cells, plans over given rows, and a session to run them in.

use extentdb_base::sync::Arc;
use extentdb_bind::logical::{Column, JoinKind};
use extentdb_engine::{Database, DatabaseSpec, Options, Session, Values, Vector};
use extentdb_expr::{Environment, Parameter, Scalar, ScalarTest, Settings, StatementOptions};
use extentdb_io::MemDisk;
use extentdb_plan::physical::{Expression, Input, Node, Operator};
use extentdb_types::{Collation, Datum, SqlType};

use crate::batch::Batch;
use crate::build::build;
use crate::context::{Context, Functions, OuterValues};
use crate::error::Error;
use crate::memory::{Memory, MemoryPool};
use crate::spill::WorkArea;

/// Numbers of values from outside in the plans of tests; less are columns.
pub(crate) const OUTER: usize = 1000;

/// A value, in the units of its type.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Wide(i128),
    Float(f64),
    Text(String),
    Guid(u8),
}

pub(crate) type CellRow = Vec<Cell>;

impl From<i64> for Cell {
    fn from(value: i64) -> Cell {
        Cell::Int(value)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Cell {
        Cell::Text(value.to_owned())
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map_or(Cell::Null, Into::into)
    }
}

/// Rows of integers; `None` is NULL.
pub(crate) fn ints<const N: usize>(rows: &[[Option<i64>; N]]) -> Vec<CellRow> {
    rows.iter().map(|row| row.iter().map(|value| Cell::from(*value)).collect()).collect()
}

/// Rows as columns.
pub(crate) fn batch(types: &[SqlType], rows: &[CellRow]) -> Batch {
    let mut columns: Vec<Vector> = types.iter().map(|ty| Vector::computed(*ty)).collect();
    for row in rows {
        assert_eq!(row.len(), types.len());
        for (cell, vector) in row.iter().zip(&mut columns) {
            push(vector, cell);
        }
    }
    Batch { rows: rows.len(), columns }
}

fn push(vector: &mut Vector, cell: &Cell) {
    match cell {
        Cell::Null => vector.push_null(),
        Cell::Int(value) => vector.extend_integers(&[*value], &|_| true),
        Cell::Wide(value) => vector.extend_wide(&[*value], &|_| true),
        Cell::Float(value) => vector.extend_floats(&[*value], &|_| true),
        Cell::Guid(value) => vector.push_stored(Some(&[*value; 16])).unwrap(),
        Cell::Text(text) => {
            let stored: Vec<u8> = match vector.ty {
                SqlType::NVarChar { .. } => {
                    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
                }
                SqlType::NChar { len, .. } => {
                    let text = format!("{text:<width$}", width = usize::from(len) / 2);
                    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
                }
                SqlType::Char { len, .. } => {
                    format!("{text:<width$}", width = usize::from(len)).into_bytes()
                }
                _ => text.clone().into_bytes(),
            };
            vector.push_stored(Some(&stored)).unwrap();
        }
    }
}

/// Columns as rows.
pub(crate) fn cells(batch: &Batch) -> Vec<CellRow> {
    let columns: Vec<CellRow> = batch.columns.iter().map(column_cells).collect();
    let row = |row: usize| columns.iter().map(|cells| cells[row].clone()).collect();
    (0..batch.rows).map(row).collect()
}

fn column_cells(vector: &Vector) -> Vec<Cell> {
    let integers = vector.integers();
    let cell = |row: usize| match &vector.values {
        _ if vector.is_null(row) => Cell::Null,
        Values::F64(values) => Cell::Float(values[row]),
        Values::F32(values) => Cell::Float(values[row].into()),
        Values::I128(values) => Cell::Wide(values[row]),
        Values::Fixed { .. } | Values::Variable { .. } => match vector.ty {
            SqlType::UniqueIdentifier => Cell::Guid(vector.bytes(row)[0]),
            SqlType::NVarChar { .. } | SqlType::NChar { .. } => {
                let units =
                    vector.bytes(row).chunks(2).map(|it| u16::from_le_bytes([it[0], it[1]]));
                Cell::Text(String::from_utf16(&units.collect::<Vec<u16>>()).unwrap())
            }
            _ => Cell::Text(String::from_utf8(vector.bytes(row).to_vec()).unwrap()),
        },
        _ => Cell::Int(integers.as_ref().unwrap()[row]),
    };
    (0..vector.len()).map(cell).collect()
}

/// Columns of an operator, numbered from 0.
pub(crate) fn columns(types: &[SqlType]) -> Vec<Column> {
    let column = |(id, ty): (usize, &SqlType)| Column { id, ty: *ty, is_nullable: true };
    types.iter().enumerate().map(column).collect()
}

/// A node with these columns.
pub(crate) fn node(operator: Operator, types: &[SqlType]) -> Node {
    Node { operator, columns: columns(types), rows: 1.0 }
}

/// varchar under a collation without case.
pub(crate) fn varchar(len: u16) -> SqlType {
    SqlType::VarChar {
        len: Some(len),
        collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS,
    }
}

/// nvarchar of `len` bytes under the same collation.
pub(crate) fn nvarchar(len: u16) -> SqlType {
    SqlType::NVarChar {
        len: Some(len),
        collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS,
    }
}

fn environment() -> Environment {
    Environment {
        columns: Vec::new(),
        database_collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS,
        settings: Settings::statement(StatementOptions::default()),
    }
}

/// A column, or a value from outside.
pub(crate) fn scalar(place: usize, ty: SqlType) -> Scalar {
    Scalar::parameter(Parameter { place, ty, is_nullable: true })
}

/// A scalar, compiled.
pub(crate) fn expression(scalar: &Scalar) -> Expression {
    let program = scalar.compile(&environment()).unwrap();
    let input = |place: &usize| {
        if *place < OUTER { Input::Column(*place) } else { Input::Outer(*place) }
    };
    Expression {
        inputs: program.inputs().iter().map(input).collect(),
        program: Arc::new(program),
        scalar: scalar.clone(),
    }
}

/// A literal.
pub(crate) fn integer(value: i32) -> Expression {
    expression(&Scalar::integer(value))
}

/// The condition that two values compare so.
pub(crate) fn compared(left: &Scalar, test: ScalarTest, right: &Scalar) -> Expression {
    expression(&Scalar::compared(test, left, right, &environment()).unwrap())
}

/// The sum of two values.
pub(crate) fn plus(left: &Scalar, right: &Scalar) -> Scalar {
    left.plus(right, &environment()).unwrap()
}

/// Types of a join's columns.
pub(crate) fn join_types(kind: JoinKind, left: &[SqlType], right: &[SqlType]) -> Vec<SqlType> {
    let mut types = left.to_vec();
    match kind {
        JoinKind::Semi | JoinKind::Anti => {}
        JoinKind::Mark(_) => types.push(SqlType::Bit),
        _ => types.extend_from_slice(right),
    }
    types
}

/// Functions of the session: 0 gives its first argument, 1 fails.
struct TestFunctions;

impl Functions for TestFunctions {
    fn call(
        &mut self,
        _: Option<&mut Session>,
        function: usize,
        arguments: &[Datum<'_>],
    ) -> Result<Datum<'static>, Error> {
        match (function, arguments) {
            (0, [first, ..]) => Ok(first.clone().into_owned()),
            _ => Err(Error::Function("no such function".into())),
        }
    }
}

/// A session, and the rows that plans read.
pub(crate) struct Harness {
    pub(crate) session: Session,
    pub(crate) outer: OuterValues,
    given: Vec<Vec<Batch>>,
}

impl Harness {
    pub(crate) fn new() -> Harness {
        let options = Options { frames: 64, ..Options::on(Arc::new(MemDisk::new())) };
        let spec = DatabaseSpec::new("exec", "", 4 << 20);
        let db = Database::create(&spec, options).unwrap();
        Harness {
            session: db.session(),
            outer: OuterValues::default(),
            given: Vec::new(),
        }
    }

    /// Forgets the rows that were given.
    pub(crate) fn clear(&mut self) {
        self.given.clear();
    }

    /// An operator that gives these rows, in batches of up to three.
    pub(crate) fn given(&mut self, types: &[SqlType], rows: &[CellRow]) -> Node {
        self.given_by(types, rows, 3)
    }

    /// The same in larger batches.
    pub(crate) fn given_by(&mut self, types: &[SqlType], rows: &[CellRow], each: usize) -> Node {
        let number = self.given.len() + OUTER;
        self.given.push(rows.chunks(each).map(|rows| batch(types, rows)).collect());
        node(Operator::Recent { number }, types)
    }

    /// Runs a plan: its rows. They are the same when nothing fits into memory.
    pub(crate) fn try_run(&mut self, plan: &Node) -> Result<Vec<CellRow>, Error> {
        let rows = self.run_within(plan, Memory::unlimited());
        for limit in [1, 4000] {
            let pool = MemoryPool::new(usize::MAX);
            let disk = Arc::new(MemDisk::new());
            let area = WorkArea::new(disk, "/work");
            let spilled = self.run_within(plan, Memory::new(&pool, limit, &area));
            assert_eq!(pool.used(), 0);
            match (&rows, &spilled) {
                (Ok(rows), Ok(spilled)) if is_ordered(plan) => assert_eq!(rows, spilled),
                (Ok(rows), Ok(spilled)) => {
                    assert_eq!(sorted(rows.clone()), sorted(spilled.clone()), "limit {limit}");
                }
                (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
                (one, other) => panic!("{one:?} {other:?}, limit {limit}"),
            }
        }
        rows
    }

    fn run_within(&mut self, plan: &Node, memory: Memory) -> Result<Vec<CellRow>, Error> {
        let mut operator = build(plan)?;
        let mut functions = TestFunctions;
        let mut context = Context::new(&mut self.session, &mut functions);
        context.outer = self.outer.clone();
        context.memory = memory;
        let given = self.given.iter().cloned().enumerate();
        context.recent.extend(given.map(|(number, rows)| (number + OUTER, rows)));
        operator.open(&mut context)?;
        let mut rows = Vec::new();
        while let Some(batch) = operator.next(&mut context)? {
            assert!(batch.rows > 0, "a batch without rows");
            let types: Vec<SqlType> = batch.columns.iter().map(|column| column.ty).collect();
            let expected: Vec<SqlType> = plan.columns.iter().map(|column| column.ty).collect();
            assert_eq!(types, expected);
            assert!(batch.columns.iter().all(|column| column.len() == batch.rows));
            rows.extend(cells(&batch));
        }
        assert!(operator.next(&mut context)?.is_none(), "rows after the end");
        operator.open(&mut context)?;
        let again = crate::operator::drain(&mut *operator, &mut context)?;
        assert_eq!(again.map(|batch| cells(&batch)).unwrap_or_default(), rows, "opened again");
        Ok(rows)
    }

    /// Runs a plan that does not fail.
    pub(crate) fn run(&mut self, plan: &Node) -> Vec<CellRow> {
        self.try_run(plan).unwrap()
    }
}

/// Do its rows have one order only?
fn is_ordered(plan: &Node) -> bool {
    matches!(plan.operator, Operator::Sort { .. } | Operator::Window(_))
}

/// Rows in some order that is always the same.
pub(crate) fn sorted(mut rows: Vec<CellRow>) -> Vec<CellRow> {
    rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
    rows
}
