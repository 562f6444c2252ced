//! The server over real sockets: logins of every version, TLS in every way, requests, attention,
//! reset, garbage.

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use extentdb_base::env::{Clock, SystemClock};
use extentdb_tds::packet::{PacketKind, Reset};
use extentdb_tds::request::{
    Headers, Isolation, ParameterFlags, ProcId, RpcFlags, RpcWriter, TransactionMessage,
    TransactionRequest,
};
use extentdb_tds::type_info::Nullability;
use extentdb_tds::{TdsVersion, TypeInfo, Utf16};
use extentdb_types::{Collation, Date, Datum, NText, SqlType};
use support::{Client, PASSWORD, Tls, server, server_with};

const COLLATION: Collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;

#[test]
fn every_version_logs_in_in_every_way_and_asks_for_the_version() {
    let server = server();
    for version in TdsVersion::ALL {
        for tls in [Tls::None, Tls::LoginOnly, Tls::All, Tls::Strict] {
            let mut client = Client::connect(server.address(), version, tls);
            let answer = client.batch("SELECT @@VERSION AS v");
            assert!(answer[0].starts_with("COLUMNS v nvarchar"), "{version:?} {tls:?}: {answer:?}");
            assert!(answer[1].contains("ExtentDB"), "{answer:?}");
            assert_eq!(answer[2], "Statement 0x10 0xc1 1", "{version:?} {tls:?}");
        }
    }
    let mut bare = Client::connect(server.address(), TdsVersion::V7_1, Tls::Bare);
    assert_eq!(bare.batch("SELECT 1 AS a")[1], "ROW 1");
    server.stop().unwrap();
}

#[test]
fn the_login_is_answered_in_the_order_that_all_clients_take() {
    let server = server();
    let (_, tokens) = Client::login(server.address(), TdsVersion::V7_4, Tls::None, "sa", PASSWORD);
    let kinds: Vec<&str> =
        tokens.iter().map(|token| token.split([' ', '.']).next().unwrap()).collect();
    assert_eq!(kinds, ["ENV", "Info", "ENV", "ENV", "Info", "LOGINACK", "ENV", "Statement"]);
    assert_eq!(tokens[5], "LOGINACK 0x74000004 Microsoft SQL Server");
    server.stop().unwrap();
}

#[test]
fn a_wrong_password_is_18456_and_takes_its_time() {
    let server = server();
    for (user, password) in [("sa", "wrong"), ("nobody", PASSWORD)] {
        let (mut client, tokens) =
            Client::login(server.address(), TdsVersion::V7_4, Tls::All, user, password);
        let expected = format!("Error 18456.14.1 line 1: Login failed for user '{user}'.");
        assert_eq!(tokens, [expected, "Statement 0x2 0x0 0".to_owned()]);
        assert_eq!(client.receive(), None, "the server hangs up");
    }
    server.stop().unwrap();
}

#[test]
fn errors_have_number_and_line_and_the_batch_goes_on() {
    let server = server();
    for version in [TdsVersion::V7_1, TdsVersion::V7_4] {
        let mut client = Client::connect(server.address(), version, Tls::None);
        assert_eq!(
            client.batch("SELECT 1 AS a\nRAISERROR('mine', 16, 3)\nPRINT 'on'"),
            [
                "COLUMNS a int 0x20",
                "ROW 1",
                "Statement 0x11 0xc1 1",
                "Error 50000.16.3 line 2: mine",
                "Statement 0x3 0x0 0",
                "Info 0.0.1 line 1: on",
                "Statement 0x0 0x0 0",
            ]
        );
        assert_eq!(
            client.batch("SELECT 'a\n"),
            [
                "Error 105.15.1 line 1: Unclosed quotation mark after the character string 'a\n'.",
                "Statement 0x2 0x0 0",
            ]
        );
        assert_eq!(client.batch(""), ["Statement 0x0 0x0 0"]);
    }
    server.stop().unwrap();
}

#[test]
fn a_parameterised_query_is_called_by_number_and_by_name() {
    let server = server();
    let mut client = Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    let protocol = client.protocol();
    let text = TypeInfo::of(
        SqlType::NVarChar { len: None, collation: COLLATION },
        Nullability::Nullable,
        &protocol,
    );
    let int = TypeInfo::of(SqlType::Int, Nullability::Nullable, &protocol);
    let mut body = Vec::new();
    let mut rpc = RpcWriter::new(&Headers::of_transaction(0), protocol.version(), &mut body);
    for is_by_name in [false, true] {
        if is_by_name {
            rpc.call_by_name("sp_executesql", RpcFlags(0)).unwrap();
        } else {
            rpc.call(ProcId::ExecuteSql, RpcFlags(0));
        }
        let nchar = |text: &str| Datum::NChar(NText::from_text(text));
        let none = ParameterFlags(0);
        rpc.parameter("", none, &text, &nchar("SET @b = @a + 1 SELECT @a AS a")).unwrap();
        rpc.parameter("", none, &text, &nchar("@a int, @b int OUTPUT")).unwrap();
        rpc.parameter("@a", none, &int, &Datum::Int(41)).unwrap();
        rpc.parameter("@b", ParameterFlags::OUTPUT, &int, &Datum::Null).unwrap();
    }
    client.send(PacketKind::Rpc, Reset::None, &body);
    let once =
        ["COLUMNS a int 0x21", "ROW 41", "InProcedure 0x11 0xc1 1", "STATUS 0", "VALUE 3 @b 42"];
    let answer = client.answer();
    assert_eq!(answer[..5], once);
    assert_eq!(answer[5], "Procedure 0x1 0xe0 0");
    assert_eq!(answer[6..11], once);
    assert_eq!(answer[11..], ["Procedure 0x0 0xe0 0"]);
    server.stop().unwrap();
}

/// Sends a call by number, with whole numbers and texts as arguments.
fn call(client: &mut Client, id: ProcId, flags: u16, arguments: &[Datum<'_>]) {
    let protocol = client.protocol();
    let text = SqlType::NVarChar { len: None, collation: COLLATION };
    let text = TypeInfo::of(text, Nullability::Nullable, &protocol);
    let int = TypeInfo::of(SqlType::Int, Nullability::Nullable, &protocol);
    let mut body = Vec::new();
    let mut rpc = RpcWriter::new(&Headers::of_transaction(0), protocol.version(), &mut body);
    rpc.call(id, RpcFlags(flags));
    for argument in arguments {
        let (flags, info) = match argument {
            Datum::NChar(_) => (ParameterFlags(0), &text),
            _ => (ParameterFlags::OUTPUT, &int),
        };
        rpc.parameter("", flags, info, argument).unwrap();
    }
    client.send(PacketKind::Rpc, Reset::None, &body);
}

#[test]
fn a_cursor_tells_where_its_columns_come_from_and_fetches_without_them() {
    let server = server();
    let mut client = Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    client.batch("CREATE TABLE #t (id int IDENTITY PRIMARY KEY, a int); INSERT #t VALUES (7), (8)");
    let text = Datum::NChar(NText::from_text("SELECT id, a AS b, 1 AS c FROM #t"));
    let number = Datum::Int;
    let arguments = [number(0), text, number(1), number(4), number(0)];
    call(&mut client, ProcId::CursorOpen, 0, &arguments);
    let opened = client.answer();
    assert_eq!(
        opened,
        [
            "COLUMNS id int 0x10, b int 0x9, c int 0x20, ROWSTAT int 0x20",
            "TableNames",
            "ColumnInfo",
            "InProcedure 0x11 0xc1 0",
            "STATUS 0",
            "VALUE 0  180150001",
            "VALUE 2  1",
            "VALUE 3  4",
            "VALUE 4  2",
            "Procedure 0x0 0xe0 0",
        ]
    );
    let fetch = |client: &mut Client, kind, flags| {
        let arguments = [180_150_001, kind, 0, 2].map(Datum::Int);
        call(client, ProcId::CursorFetch, flags, &arguments);
    };
    fetch(&mut client, 2, 0);
    let rows = ["ROW 1 | 7 | 1 | 1", "ROW 2 | 8 | 1 | 1", "InProcedure 0x11 0xc1 2"];
    assert_eq!(client.answer()[3..6], rows);
    fetch(&mut client, 128, 0x02);
    let body = client.receive().expect("an answer");
    assert_eq!(body[..4], [0x81, 0xFF, 0xFF, 0xD1], "no columns, then a row");
    fetch(&mut client, 0x100, 0x02);
    let info = ["STATUS 0", "VALUE 2  1", "VALUE 3  2", "Procedure 0x0 0xe0 0"];
    assert_eq!(client.answer(), info);
    server.stop().unwrap();
}

#[test]
fn an_error_that_ends_the_batch_ends_all_calls_of_its_message() {
    let server = server();
    let mut client = Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    let protocol = client.protocol();
    let text = SqlType::NVarChar { len: None, collation: COLLATION };
    let text = TypeInfo::of(text, Nullability::Nullable, &protocol);
    let mut body = Vec::new();
    let mut rpc = RpcWriter::new(&Headers::of_transaction(0), protocol.version(), &mut body);
    for statement in ["SELECT 1 AS a", "DECLARE @n int = CAST('x' AS int)", "SELECT 3 AS c"] {
        rpc.call(ProcId::ExecuteSql, RpcFlags(0));
        let value = Datum::NChar(NText::from_text(statement));
        rpc.parameter("", ParameterFlags(0), &text, &value).unwrap();
    }
    client.send(PacketKind::Rpc, Reset::None, &body);
    let answer = client.answer();
    assert!(answer.contains(&"ROW 1".to_owned()), "{answer:?}");
    assert!(answer.iter().any(|line| line.starts_with("Error 245.")), "{answer:?}");
    assert!(!answer.contains(&"ROW 3".to_owned()), "{answer:?}");
    assert_eq!(client.batch("SELECT 4 AS d")[1], "ROW 4");
    server.stop().unwrap();
}

#[test]
fn a_function_is_called_as_a_procedure_and_nocount_leaves_statements_out() {
    let server = server();
    let mut client = Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    client.batch("CREATE FUNCTION dbo.twice(@a int) RETURNS int AS BEGIN RETURN @a * 2 END");
    client.batch("CREATE PROCEDURE dbo.quiet AS SET NOCOUNT ON; PRINT 'a'; SELECT 1 AS a");
    let protocol = client.protocol();
    let int = TypeInfo::of(SqlType::Int, Nullability::Nullable, &protocol);
    let mut body = Vec::new();
    let mut rpc = RpcWriter::new(&Headers::of_transaction(0), protocol.version(), &mut body);
    rpc.call_by_name("dbo.twice", RpcFlags(0)).unwrap();
    rpc.parameter("", ParameterFlags(0), &int, &Datum::Int(21)).unwrap();
    client.send(PacketKind::Rpc, Reset::None, &body);
    assert_eq!(client.answer(), ["VALUE 0  42", "Procedure 0x0 0xe0 0"]);
    let quiet = client.batch("EXEC dbo.quiet");
    let kinds: Vec<&str> = quiet.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(kinds, ["Info", "COLUMNS", "ROW", "InProcedure", "STATUS", "Procedure"]);
    server.stop().unwrap();
}

#[test]
fn xml_can_be_a_parameter() {
    let server = server();
    let mut client = Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    let protocol = client.protocol();
    let nvarchar = SqlType::NVarChar { len: None, collation: COLLATION };
    let text = TypeInfo::of(nvarchar, Nullability::Nullable, &protocol);
    let xml = TypeInfo::of(SqlType::Xml, Nullability::Nullable, &protocol);
    let nchar = |text: &str| Datum::NChar(NText::from_text(text));
    let none = ParameterFlags(0);
    let mut body = Vec::new();
    let mut rpc = RpcWriter::new(&Headers::of_transaction(0), protocol.version(), &mut body);
    rpc.call(ProcId::ExecuteSql, RpcFlags(0));
    rpc.parameter("", none, &text, &nchar("SELECT CAST(@a AS nvarchar(40)) AS a")).unwrap();
    rpc.parameter("", none, &text, &nchar("@a xml")).unwrap();
    rpc.parameter("@a", none, &xml, &nchar("<a>ß</a>")).unwrap();
    client.send(PacketKind::Rpc, Reset::None, &body);
    assert_eq!(client.answer()[1], "ROW <a>ß</a>");
    server.stop().unwrap();
}

#[test]
fn a_parameter_that_is_no_value_of_its_type_is_8023_and_the_connection_goes_on() {
    let server = server();
    let mut client = Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    let protocol = client.protocol();
    let nvarchar = SqlType::NVarChar { len: None, collation: COLLATION };
    let text = TypeInfo::of(nvarchar, Nullability::Nullable, &protocol);
    let date = TypeInfo::of(SqlType::Date, Nullability::Nullable, &protocol);
    let nchar = |text: &str| Datum::NChar(NText::from_text(text));
    let none = ParameterFlags(0);
    let mut body = Vec::new();
    let mut rpc = RpcWriter::new(&Headers::of_transaction(0), protocol.version(), &mut body);
    rpc.call(ProcId::ExecuteSql, RpcFlags(0));
    rpc.parameter("", none, &text, &nchar("SELECT @a AS a")).unwrap();
    rpc.parameter("", none, &text, &nchar("@a date")).unwrap();
    rpc.parameter("@a", none, &date, &Datum::Date(Date::new(0).unwrap())).unwrap();
    // A day after the year 9999.
    let days = body.len() - 3;
    body[days..].fill(0xFF);
    client.send(PacketKind::Rpc, Reset::None, &body);
    let answer = client.answer();
    assert!(answer[0].starts_with("Error 8023.16.1"), "{answer:?}");
    assert!(answer[0].contains("Parameter 3 (\"@a\")"), "{answer:?}");
    assert_eq!(client.batch("SELECT 1 AS a")[1], "ROW 1");
    server.stop().unwrap();
}

#[test]
fn transactions_by_requests_and_by_text_share_descriptors() {
    let server = server();
    let mut client = Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    let request = |client: &mut Client, request: TransactionRequest<'_>| {
        let headers = Headers::of_transaction(client.descriptor);
        let mut body = Vec::new();
        let version = client.protocol().version();
        TransactionMessage { headers, request }.write(version, &mut body).unwrap();
        client.send(PacketKind::TransactionManager, Reset::None, &body);
        client.answer()
    };
    let name = Utf16::from_bytes(&[]);
    let isolation = Isolation::Unchanged;
    let begun = request(&mut client, TransactionRequest::Begin { isolation, name });
    assert_eq!(begun, ["ENV Begin", "Statement 0x4 0xd4 0"]);
    assert!(client.descriptor > 0);
    assert_eq!(client.batch("SELECT @@TRANCOUNT AS n")[1], "ROW 1");
    assert_eq!(client.batch("ROLLBACK"), ["ENV Rollback", "Statement 0x0 0x0 0"]);
    client.descriptor = 99;
    assert!(client.batch("SELECT 1")[0].starts_with("Error 3989.16.1"));
    client.descriptor = 0;
    let refused = request(&mut client, TransactionRequest::Commit { name, next: None });
    assert!(refused[0].starts_with("Error 3902.16.1"), "{refused:?}");
    server.stop().unwrap();
}

#[test]
fn an_attention_ends_a_wait_and_is_answered_once() {
    let server = server();
    let mut client = Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    client.send_batch("SELECT 1 AS a; WAITFOR DELAY '00:00:30'", Reset::None);
    std::thread::sleep(Duration::from_millis(200));
    let start = SystemClock::new();
    client.send(PacketKind::Attention, Reset::None, &[]);
    // The response that it cut short, then its own: clients read two.
    let answer = client.answer();
    assert_eq!(answer.last().unwrap(), "Statement 0x2 0x0 0", "{answer:?}");
    assert_eq!(client.answer(), ["Statement 0x20 0x0 0"]);
    assert!(start.monotonic() < Duration::from_secs(5));
    // After its response an attention has an answer of its own.
    assert_eq!(client.batch("SELECT 2 AS a")[1], "ROW 2");
    client.send(PacketKind::Attention, Reset::None, &[]);
    assert_eq!(client.answer(), ["Statement 0x20 0x0 0"]);
    assert_eq!(client.batch("SELECT 3 AS a")[1], "ROW 3");
    server.stop().unwrap();
}

#[test]
fn an_attention_ends_a_computation_without_a_message() {
    let server = server();
    let mut client = Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    client.send_batch(
        "SELECT COUNT_BIG(*) FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b \
         CROSS JOIN sys.all_columns AS c WHERE a.name < b.name + c.name",
        Reset::None,
    );
    std::thread::sleep(Duration::from_millis(200));
    client.send(PacketKind::Attention, Reset::None, &[]);
    let answer = client.answer();
    assert!(!answer.iter().any(|line| line.starts_with("Error")), "{answer:?}");
    assert_eq!(answer.last().unwrap(), "Statement 0x2 0x0 0", "{answer:?}");
    assert_eq!(client.answer(), ["Statement 0x20 0x0 0"]);
    assert_eq!(client.batch("SELECT 2 AS a")[1], "ROW 2");
    server.stop().unwrap();
}

#[test]
fn a_message_that_its_client_gave_up_is_answered_by_an_error_alone() {
    let server = server();
    let mut client = Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    client.send_ignored("SELECT 1 AS a");
    assert_eq!(client.answer(), ["Statement 0x2 0x0 0"]);
    assert_eq!(client.batch("SELECT 2 AS a")[1], "ROW 2");
    server.stop().unwrap();
}

#[test]
fn statements_that_change_rows_tell_what_they_are() {
    let server = server();
    let mut client = Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    let answer = client.batch(
        "CREATE TABLE #t (n int) INSERT #t VALUES (1), (2) UPDATE #t SET n = 3 DELETE #t \
         MERGE #t AS t USING (SELECT 4) AS s (n) ON t.n = s.n WHEN NOT MATCHED THEN INSERT \
         VALUES (s.n); SELECT n INTO #u FROM #t DROP TABLE #t",
    );
    assert_eq!(
        answer,
        [
            "Statement 0x1 0xc6 0",
            "Statement 0x11 0xc3 2",
            "Statement 0x11 0xc5 2",
            "Statement 0x11 0xc4 2",
            "Statement 0x11 0x117 1",
            "Statement 0x11 0xc2 1",
            "Statement 0x0 0xc7 0",
        ]
    );
    server.stop().unwrap();
}

#[test]
fn a_reset_comes_first_and_puts_everything_back() {
    let server = server();
    let mut client = Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    client.batch("USE tempdb SET NOCOUNT ON BEGIN TRAN");
    client.descriptor = 0;
    client.send_batch("SELECT DB_NAME() AS d, @@TRANCOUNT AS t", Reset::Session);
    let answer = client.answer();
    assert_eq!(answer[0], "ENV Reset");
    assert_eq!(answer[2], "ROW master | 0");
    server.stop().unwrap();
}

#[test]
fn clear_text_is_refused_where_encryption_is_forced() {
    let server = server_with(|settings| settings.forces_encryption = true);
    let mut client = Client::connect(server.address(), TdsVersion::V7_4, Tls::All);
    assert_eq!(client.batch("SELECT 1 AS a")[1], "ROW 1");
    server.stop().unwrap();
}

#[test]
fn kill_closes_an_idle_connection_and_shutdown_ends_the_server() {
    let server = server();
    let mut idle = Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    let spid = idle.batch("SELECT @@SPID AS s")[1].replace("ROW ", "");
    let mut other = Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    other.batch(&format!("KILL {spid}"));
    assert_eq!(idle.receive(), None);
    other.batch("SHUTDOWN");
    server.wait();
    server.stop().unwrap();
}

#[test]
fn garbage_and_half_open_connections_are_in_nobodys_way() {
    let server = server_with(|settings| {
        settings.pending_max = 64;
        settings.login_seconds = 2;
    });
    let mut open = Vec::new();
    for at in 0..300_u32 {
        let Ok(mut socket) = TcpStream::connect(server.address()) else { continue };
        let garbage: Vec<u8> = (0..at % 60).map(|it| (it * 37 + at) as u8).collect();
        let _ = socket.write_all(&garbage);
        open.push(socket);
    }
    let mut client = Client::connect(server.address(), TdsVersion::V7_4, Tls::All);
    assert_eq!(client.batch("SELECT 1 AS a")[1], "ROW 1");
    // What says nothing is closed after the time of a login.
    let mut last = open.pop().unwrap();
    last.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert!(matches!(last.read(&mut [0]), Ok(0) | Err(_)));
    assert_eq!(client.batch("SELECT 2 AS a")[1], "ROW 2");
    server.stop().unwrap();
}

#[test]
fn a_login_has_as_many_connections_as_it_may_have() {
    let server = server_with(|settings| settings.login_connections_max = 2);
    let connect = || Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    let one = connect();
    let mut two = connect();
    let (_, refused) = Client::login(server.address(), TdsVersion::V7_4, Tls::None, "SA", PASSWORD);
    assert!(refused[0].starts_with("Error 17809.20.1"), "{refused:?}");
    assert_eq!(two.batch("SELECT 1 AS a")[1], "ROW 1");
    drop(one);
    // The server sees the end of a connection when it reads it.
    let is_let_in = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        let (_, answer) =
            Client::login(server.address(), TdsVersion::V7_4, Tls::None, "sa", PASSWORD);
        answer.iter().any(|token| token.starts_with("LOGINACK"))
    });
    assert!(is_let_in);
    server.stop().unwrap();
}

#[test]
fn a_request_that_runs_too_long_is_ended_and_the_next_one_runs() {
    let server = server_with(|settings| settings.request_seconds_max = Some(1));
    let mut client = Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    let answer = client.batch("SELECT 1 AS a; WAITFOR DELAY '00:01:00'");
    assert!(answer.iter().any(|token| token.starts_with("Error 40003.16.1")), "{answer:?}");
    assert_eq!(client.batch("SELECT 2 AS a")[1], "ROW 2");
    server.stop().unwrap();
}

#[test]
fn a_malformed_request_is_told_and_ends_the_connection() {
    let server = server();
    let mut client = Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    client.send(PacketKind::Rpc, Reset::None, &[1, 2, 3]);
    let answer = client.answer();
    assert!(answer[0].starts_with("Error 8009.16.1"), "{answer:?}");
    assert_eq!(client.receive(), None);
    server.stop().unwrap();
}

#[test]
fn sessions_that_wait_do_not_starve_others() {
    let server = server();
    let mut waiting: Vec<Client> =
        (0..120).map(|_| Client::connect(server.address(), TdsVersion::V7_4, Tls::None)).collect();
    for client in &mut waiting {
        client.send_batch("WAITFOR DELAY '00:00:20'", Reset::None);
    }
    let start = SystemClock::new();
    let mut client = Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    assert_eq!(client.batch("SELECT 1 AS a")[1], "ROW 1");
    assert!(start.monotonic() < Duration::from_secs(3));
    server.stop().unwrap();
}
