//! What every side can do.

use std::io::BufRead;
use std::time::Duration;

use anyhow::Result;

use super::table::{Table, Type};

/// Rows of the table of point statements.
pub const POINT_ROWS: i32 = 100_000;
/// Rows of a range that is summed.
pub const RANGE_ROWS: i32 = 100;

/// A statement that is prepared once and executed with one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// A row by its key.
    Select,
    /// A row with a new key, its own transaction.
    Insert,
    /// A row by its key gets another value, its own transaction.
    Update,
    /// The sum of a range of rows.
    Range,
}

impl Work {
    /// Those on single rows.
    pub const ALL: [Work; 3] = [Work::Select, Work::Insert, Work::Update];

    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Work::Select => "prepared point selects",
            Work::Insert => "single-row inserts",
            Work::Update => "single-row updates",
            Work::Range => "sums of ranges",
        }
    }

    /// The statement, with the number as this side names parameters.
    pub fn statement(self, number: &str) -> String {
        let text = "some text of a row that has a length as rows have";
        match self {
            Work::Select => format!("SELECT k, c FROM points WHERE id = {number}"),
            Work::Insert => format!("INSERT INTO added (id, k, c) VALUES ({number}, 1, '{text}')"),
            Work::Update => format!("UPDATE points SET k = k + 1 WHERE id = {number}"),
            Work::Range => format!(
                "SELECT SUM(k) FROM points WHERE id BETWEEN {number} AND {number} + {}",
                RANGE_ROWS - 1
            ),
        }
    }
}

/// A server that runs.
pub trait Server: Sync {
    /// Name and version.
    fn name(&self) -> &str;

    /// Logs in.
    ///
    /// # Errors
    /// The server does not let us in.
    fn connect(&self) -> Result<Box<dyn Session>>;

    /// Memory of its processes, in bytes: shared pages once.
    ///
    /// # Errors
    /// The system does not tell.
    fn memory(&self) -> Result<u64>;

    /// Time that its processes have had of processors.
    ///
    /// # Errors
    /// The system does not tell.
    fn processor_time(&self) -> Result<Duration>;

    /// Readers see the last committed state of a row and do not wait for its writer.
    ///
    /// # Errors
    /// The server refuses that.
    fn use_row_versions(&self) -> Result<()>;

    /// A query in its dialect.
    fn dialect(&self, query: &str) -> String;
}

/// A connection.
pub trait Session: Send {
    /// Runs statements; the number of rows they give.
    ///
    /// # Errors
    /// A statement failed.
    fn run(&mut self, text: &str) -> Result<u64>;

    /// Prepares the statement of a work.
    ///
    /// # Errors
    /// The server refuses it.
    fn prepare(&mut self, work: Work) -> Result<()>;

    /// Executes the prepared statement.
    ///
    /// # Errors
    /// It failed.
    fn execute(&mut self, number: i32) -> Result<()>;

    /// Loads rows, fields parted by tabs, in the fastest way; how many.
    ///
    /// # Errors
    /// The server refuses a row, or the rows cannot be read.
    fn load(&mut self, table: &Table, rows: &mut dyn BufRead) -> Result<u64>;
}

/// Creates and fills the tables of point statements.
///
/// # Errors
/// A statement failed.
pub fn create_points(server: &dyn Server) -> Result<()> {
    let mut session = server.connect()?;
    for table in ["points", "added"] {
        let columns = "id int NOT NULL PRIMARY KEY, k int NOT NULL, c varchar(60) NOT NULL";
        session.run(&format!("CREATE TABLE {table} ({columns})"))?;
    }
    let rows: String =
        (1..=POINT_ROWS).map(|id| format!("{id}\t{}\ttext of {id}\n", id % 100)).collect();
    let columns = [("id", Type::Int), ("k", Type::Int), ("c", Type::VarChar(60))];
    let table = Table::of("points", &columns);
    session.load(&table, &mut rows.as_bytes())?;
    Ok(())
}
