//! `sql` against a server on a free port: batches, commands of scripts, outputs, exit codes.

#![cfg(feature = "server")]

use std::io::Write;
use std::process::Stdio;

mod program;

use extentdb_server::{ErrorLog, RunningServer, Settings, start};
use program::{Run, command, extentdb};

const PASSWORD: &str = "yourStrong(!)Password";

fn server() -> RunningServer {
    let mut settings = Settings::new("/data");
    settings.is_ephemeral = true;
    settings.port = 0;
    settings.address = Some("127.0.0.1".parse().unwrap());
    settings.sa_password = Some(PASSWORD.to_owned());
    start(settings, &[], ErrorLog::kept().0).unwrap()
}

fn arguments(server: &RunningServer, rest: &[&str]) -> Vec<String> {
    let at = format!("127.0.0.1,{}", server.address().port());
    let login = ["sql", "-S", &at, "-U", "sa", "-P", PASSWORD];
    login.iter().chain(rest).map(|it| (*it).to_owned()).collect()
}

fn sql(server: &RunningServer, rest: &[&str]) -> Run {
    extentdb(arguments(server, rest))
}

/// Runs a script from stdin.
fn script(server: &RunningServer, rest: &[&str], text: &str) -> Run {
    let mut child = command(arguments(server, rest))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn rows_messages_and_errors_are_shown_as_they_come() {
    let server = server();
    let cases: &[(&[&str], &str)] = &[
        (
            &["-Q", "SELECT 1 AS n, 'x' AS [a text]"],
            "n a text\n- ------\n1 x\n\n(1 row affected)\n",
        ),
        (
            &["-h", "-1", "-W", "-s", ",", "-Q", "SELECT 1, NULL, 'b '"],
            "1,NULL,b \n\n(1 row affected)\n",
        ),
        (&["-Q", "PRINT 'hello'"], "hello\n"),
        (&["-d", "tempdb", "-W", "-h", "-1", "-Q", "SET NOCOUNT ON; SELECT DB_NAME()"], "tempdb\n"),
        (
            &["-v", "a=1", "b=two", "-h", "-1", "-W", "-Q", "SET NOCOUNT ON; SELECT $(A), '$(b)'"],
            "1 two\n",
        ),
    ];
    for (rest, expected) in cases {
        assert_eq!(sql(&server, rest).expect(0), *expected, "{rest:?}");
    }
    let failed = ["-Q", "SELECT * FROM nothing"];
    let text = sql(&server, &failed).expect(0);
    assert!(text.starts_with("Msg 208, Level 16, State 1, Server "), "{text}");
    assert!(text.ends_with(", Line 1\nInvalid object name 'nothing'.\n"), "{text}");
    let ends = [&["-b"][..], &failed].concat();
    assert_eq!(sql(&server, &ends).expect(1), text);
}

#[test]
fn scripts_are_batches_and_commands() {
    let server = server();
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner.sql");
    std::fs::write(&inner, "INSERT INTO t VALUES ($(first))\ngo 3\n").unwrap();
    let text = format!(
        "USE tempdb\nGO\nSET NOCOUNT ON\n:setvar first 7\nCREATE TABLE t (a int)\nGO\n:r {}\n\
         PRINT 'not\nGO\nhere'\nSELECT a FROM t\nGO\n:list\nSELECT COUNT(*) FROM t",
        inner.display()
    );
    let out = script(&server, &["-h", "-1", "-W"], &text).expect(0);
    let expected = "Changed database context to 'tempdb'.\nnot\nGO\nhere\n7\n7\n7\n3\n";
    assert_eq!(out, expected);
    let stopped = "SELECT 1/0\nGO\nPRINT 'not reached'\nGO\n";
    let out = script(&server, &["-b"], stopped);
    assert!(!out.stdout.contains("not reached"), "{}", out.stdout);
    assert_eq!(out.code, 1);
    let whole = format!(":on error ignore\n{stopped}");
    assert!(script(&server, &["-b"], &whole).expect(0).contains("not reached"));
}

#[test]
fn what_is_not_there_is_refused_by_its_name() {
    let server = server();
    let refused = [
        (":xml on\n", "not supported: the command :xml"),
        ("SELECT $(nothing_of_this_name)\n", "scripting variable not defined"),
        (":r /no/such/file.sql\n", "cannot read /no/such/file.sql"),
    ];
    for (text, expected) in refused {
        let said = script(&server, &[], text).complaint(1);
        assert!(said.contains(expected), "{text}: {said}");
    }
    let options: [(&[&str], &str); 3] = [
        (&["-E", "-Q", "SELECT 1"], "not supported: -E"),
        (&["-h", "5", "-Q", "SELECT 1"], "not supported: -h 5"),
        (&["-v", "a", "-Q", "SELECT 1"], "-v a: NAME=VALUE"),
    ];
    for (rest, expected) in options {
        let said = sql(&server, rest).complaint(1);
        assert!(said.contains(expected), "{rest:?}: {said}");
    }
    let at = format!("127.0.0.1,{}", server.address().port());
    let wrong = extentdb(["sql", "-S", &at, "-U", "sa", "-P", "wrong", "-Q", "SELECT 1"]);
    let said = wrong.complaint(1);
    assert!(said.contains("Login failed for user 'sa'."), "{said}");
}

#[test]
fn results_go_to_a_file() {
    let server = server();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.txt");
    let rest = ["-o", out.to_str().unwrap(), "-W", "-h", "-1", "-Q", "SET NOCOUNT ON; SELECT 5"];
    assert_eq!(sql(&server, &rest).expect(0), "");
    assert_eq!(std::fs::read_to_string(out).unwrap(), "5\n");
}
