//! The same statements without a socket: sessions of the engine in this process, in memory.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use extentdb_client::{Datum, SqlType};
use extentdb_engine::{Instance, InstanceOptions, Options};
use extentdb_io::MemDisk;
use extentdb_session::login::{ClientInfo, Logins};
use extentdb_session::{
    Argument, Connection, Discard, Gone, NoHooks, Output, OutputValue, ProcedureCall, Product,
    Request, Server,
};

use super::process::thread_time;
use super::server::{POINT_ROWS, Work};
use crate::report::timed;

/// Pages of the buffer: all rows are in memory.
const FRAMES: usize = 16_384;
/// Statements between two looks at the clock.
const STATEMENTS: i32 = 1_000;

/// Prepared point selects per second of the processor's time: by one thread, which others may
/// interrupt. Where the system does not tell that time, it is the clock's.
///
/// # Errors
/// A statement failed.
pub fn point_selects_per_second(time: Duration) -> Result<f64> {
    let options = Options { frames: FRAMES, ..Options::on(Arc::new(MemDisk::new())) };
    let instance = Instance::start(InstanceOptions::new("/data", options))?;
    let server = Server::new(instance, Product::default(), Logins::default(), Arc::new(NoHooks));
    let connection = Connection::open(&server, ClientInfo::local("sa"));
    let mut connection = connection.map_err(|message| anyhow::anyhow!("{}", message.text))?;
    fill(&mut connection)?;
    let mut handle = Handle(None);
    run(&mut connection, &prepare(), &mut handle);
    let handle = handle.0.context("no handle")?;
    let mut done = 0;
    let mut elapsed = Duration::ZERO;
    let mut counter = Counter::default();
    let begun = thread_time();
    while elapsed < time {
        let (part, ()) = timed(|| {
            for number in 0..STATEMENTS {
                let key = (number.wrapping_mul(7_919) + done).rem_euclid(POINT_ROWS) + 1;
                run(&mut connection, &execute(handle, key), &mut counter);
            }
        });
        elapsed += part;
        done += STATEMENTS;
    }
    ensure!(counter.0 == done, "{} rows of {done} selects", counter.0);
    let own = thread_time().zip(begun).map(|(now, begun)| now - begun);
    Ok(f64::from(done) / own.unwrap_or(elapsed).as_secs_f64())
}

fn run(connection: &mut Connection, request: &Request, output: &mut dyn Output) {
    connection.begin_request();
    extentdb_session::run(connection, request, None, output);
}

fn fill(connection: &mut Connection) -> Result<()> {
    let text = format!(
        "CREATE TABLE points (id int NOT NULL PRIMARY KEY, k int NOT NULL, c varchar(60) NOT NULL)
         INSERT INTO points SELECT value, value % 100, CONCAT('text of ', value) FROM GENERATE_SERIES(1, {POINT_ROWS})"
    );
    run(connection, &Request::Batch("CREATE DATABASE bench".to_owned()), &mut Discard);
    run(connection, &Request::Batch("USE bench".to_owned()), &mut Discard);
    run(connection, &Request::Batch(text), &mut Discard);
    let mut counter = Counter::default();
    run(connection, &Request::Batch("SELECT id FROM points".to_owned()), &mut counter);
    ensure!(counter.0 == POINT_ROWS, "{} rows in memory", counter.0);
    Ok(())
}

fn argument(ty: SqlType, value: Datum<'static>, is_output: bool) -> Argument {
    Argument {
        name: String::new(),
        ty: Some(ty),
        value,
        is_output,
        is_default: false,
        table: None,
    }
}

fn prepare() -> Request {
    let collation = extentdb_client::Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
    let text = |text: &str| {
        let value = Datum::NChar(extentdb_types::NText::from_text(text));
        argument(SqlType::NVarChar { len: None, collation }, value, false)
    };
    let arguments = vec![
        argument(SqlType::Int, Datum::Null, true),
        text("@id int"),
        text(&Work::Select.statement("@id")),
    ];
    call("sp_prepare", arguments)
}

fn execute(handle: i32, key: i32) -> Request {
    let arguments = vec![
        argument(SqlType::Int, Datum::Int(handle), false),
        argument(SqlType::Int, Datum::Int(key), false),
    ];
    call("sp_execute", arguments)
}

fn call(name: &str, arguments: Vec<Argument>) -> Request {
    Request::Procedure(ProcedureCall { name: name.to_owned(), arguments, has_no_metadata: false })
}

/// Keeps an output parameter.
struct Handle(Option<i32>);

/// Counts rows.
#[derive(Default)]
struct Counter(i32);

impl Output for Handle {
    fn output_value(&mut self, value: &OutputValue) -> Result<(), Gone> {
        if let Datum::Int(handle) = value.value {
            self.0 = Some(handle);
        }
        Ok(())
    }
}

impl Output for Counter {
    fn row(&mut self, _: &[Datum<'_>]) -> Result<(), Gone> {
        self.0 += 1;
        Ok(())
    }
}
