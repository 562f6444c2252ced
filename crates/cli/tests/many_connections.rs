//! Many connections to a server that is a process of its own: what most of them do is in nobody's
//! way. `MANY_CONNECTIONS=10000` asks for more than what a short test does.

#![cfg(all(feature = "server", target_os = "linux"))]

mod program;

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use extentdb_base::env::{Clock, SystemClock};
use extentdb_client::{Connection, TlsScope};
use program::answer::{ask, rows};
use program::process::Process;

/// Connections that say nothing or garbage, when nobody asks for more.
const STRANGERS: usize = 2_000;
const IDLE: usize = 1_000;
/// Memory that they may cost altogether.
const IDLE_BYTES: u64 = 40_000_000;
const WAITING: usize = 1_000;
/// How long the commit of the holder may take.
const COMMIT: Duration = Duration::from_secs(2);

/// As many files as the system allows.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
}

fn strangers() -> usize {
    let given = std::env::var("MANY_CONNECTIONS").ok();
    given.and_then(|value| value.parse().ok()).unwrap_or(STRANGERS)
}

#[test]
fn a_client_works_among_strangers() {
    raise_file_limit();
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    let mut client = process.connect("tempdb");
    rows(&mut client, "CREATE TABLE work (n int NOT NULL PRIMARY KEY)");
    let is_over = AtomicBool::new(false);
    let done = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                let number = done.fetch_add(1, Ordering::SeqCst);
                rows(&mut client, &format!("INSERT INTO work VALUES ({number})"));
            }
        });
        let mut open = Vec::new();
        for at in 0..strangers() {
            let before = done.load(Ordering::SeqCst);
            let mut stranger = TcpStream::connect(("127.0.0.1", process.port())).unwrap();
            // A third says nothing, a third begins a message, a third is no TDS.
            let said: Vec<u8> = match at % 3 {
                0 => Vec::new(),
                1 => vec![0x12, 1, 0, 47, 0, 0],
                _ => (0..at % 97).map(|it| (it * 37 + at) as u8).collect(),
            };
            // The server may have closed it.
            let _ = stranger.write_all(&said);
            open.push(stranger);
            if at % 500 == 499 {
                let mut newcomer = process.connect("tempdb");
                assert_eq!(rows(&mut newcomer, "SELECT 1"), [["1"]]);
                let waited = (0..1_000).any(|_| {
                    thread::sleep(Duration::from_millis(5));
                    done.load(Ordering::SeqCst) > before
                });
                assert!(waited, "the client stands still among {at} strangers");
            }
        }
        is_over.store(true, Ordering::SeqCst);
    });
    let count = rows(&mut client, "SELECT COUNT(*) FROM work");
    assert_eq!(count, [[done.load(Ordering::SeqCst).to_string()]]);
    process.stop();
}

#[test]
fn idle_connections_cost_little_memory() {
    raise_file_limit();
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    rows(&mut process.connect(""), "SELECT @@VERSION");
    let before = process.memory();
    let mut idle: Vec<Connection> = (0..IDLE).map(|_| process.connect("")).collect();
    for connection in &mut idle {
        rows(connection, "SELECT name FROM sys.databases");
    }
    let cost = process.memory().saturating_sub(before);
    println!("{IDLE} idle connections: {:.1} MB", cost as f64 / 1e6);
    assert!(cost < IDLE_BYTES, "{cost} bytes");
    process.stop();
}

#[test]
fn sessions_that_wait_for_a_row_let_its_holder_commit() {
    raise_file_limit();
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    let mut holder = process.connect("tempdb");
    rows(&mut holder, "CREATE TABLE counter (id int NOT NULL PRIMARY KEY, n int NOT NULL)");
    rows(&mut holder, "INSERT INTO counter VALUES (1, 0)");
    rows(&mut holder, "BEGIN TRANSACTION UPDATE counter SET n = n + 1 WHERE id = 1");
    let mut options = process.options();
    options.encryption = TlsScope::Login;
    options.database = "tempdb".to_owned();
    let mut waiting: Vec<Connection> =
        (0..WAITING).map(|_| Connection::open(&options).unwrap()).collect();
    thread::scope(|scope| {
        for connection in &mut waiting {
            thread::Builder::new()
                .stack_size(256 << 10)
                .spawn_scoped(scope, move || {
                    let text = "UPDATE counter SET n = n + 1 WHERE id = 1";
                    assert_eq!(ask(connection, text).unwrap().errors, []);
                })
                .unwrap();
        }
        let all_wait = (0..1_000).any(|_| {
            thread::sleep(Duration::from_millis(20));
            let waits = "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE request_status = 'WAIT'";
            rows(&mut holder, waits)[0][0].parse() == Ok(WAITING)
        });
        assert!(all_wait);
        let clock = SystemClock::new();
        rows(&mut holder, "COMMIT");
        assert!(clock.monotonic() < COMMIT, "{:?}", clock.monotonic());
    });
    assert_eq!(rows(&mut holder, "SELECT n FROM counter"), [[(WAITING + 1).to_string()]]);
    process.stop();
}
