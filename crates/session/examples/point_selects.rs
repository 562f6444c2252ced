//! Single-row selects per second of one connection in process, prepared and as texts.
//!
//! `cargo run --release -p extentdb-session --example point_selects`

#![allow(clippy::disallowed_methods, reason = "it measures times")]

use std::sync::Arc;
use std::time::Instant;

use extentdb_engine::{Instance, InstanceOptions, Options};
use extentdb_io::MemDisk;
use extentdb_session::login::{ClientInfo, Logins};
use extentdb_session::{
    Argument, Connection, Discard, NoHooks, ProcedureCall, Product, Request, Server,
};
use extentdb_types::{Collation, Datum, NText, SqlType};

const ROWS: i32 = 10_000;
const SELECTS: i32 = 200_000;

fn connection() -> Connection {
    let options = Options { frames: 4096, ..Options::on(Arc::new(MemDisk::new())) };
    let options = InstanceOptions { tempdb_files: 1, ..InstanceOptions::new("/data", options) };
    let instance = Instance::start(options).unwrap();
    let server = Server::new(instance, Product::default(), Logins::default(), Arc::new(NoHooks));
    Connection::open(&server, ClientInfo::local("sa")).unwrap()
}

fn run(connection: &mut Connection, request: &Request) {
    connection.begin_request();
    extentdb_session::run(connection, request, None, &mut Discard);
}

fn text(value: &str) -> Argument {
    let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
    argument(SqlType::NVarChar { len: None, collation }, Datum::NChar(NText::from_text(value)))
}

fn argument(ty: SqlType, value: Datum<'static>) -> Argument {
    Argument {
        name: String::new(),
        ty: Some(ty),
        value,
        is_output: false,
        is_default: false,
        table: None,
    }
}

fn execute(select: &str, id: i32) -> Request {
    let id = argument(SqlType::Int, Datum::Int(id));
    Request::Procedure(ProcedureCall {
        name: "sp_executesql".to_owned(),
        arguments: vec![text(select), text("@id int"), id],
        has_no_metadata: true,
    })
}

fn main() {
    let mut connection = connection();
    let text = format!(
        "SET NOCOUNT ON; CREATE TABLE t (id int NOT NULL PRIMARY KEY, v varchar(20) NOT NULL); \
         INSERT t SELECT value, 'some value' FROM GENERATE_SERIES(1, {ROWS})"
    );
    run(&mut connection, &Request::Batch(text));
    let select = "SELECT id, v FROM t WHERE id = @id";
    let begun = Instant::now();
    for number in 0..SELECTS {
        run(&mut connection, &execute(select, number % ROWS + 1));
    }
    println!("sp_executesql: {:.0} a second", per_second(begun));
    let begun = Instant::now();
    for number in 0..SELECTS / 10 {
        let text = format!("SELECT id, v FROM t WHERE id = {}", number % ROWS + 1);
        run(&mut connection, &Request::Batch(text));
    }
    println!("texts with literals: {:.0} a second", per_second(begun) / 10.0);
}

fn per_second(begun: Instant) -> f64 {
    f64::from(SELECTS) / begun.elapsed().as_secs_f64()
}
