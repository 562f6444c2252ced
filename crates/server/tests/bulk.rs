//! Bulk loads over real sockets: rows are loaded while they arrive.

#[allow(dead_code, reason = "not every test uses all of this module")]
mod support;

use std::time::Duration;

use extentdb_server::RunningServer;
use extentdb_tds::column::ColumnSource;
use extentdb_tds::packet::{PACKET_BYTES_DEFAULT, PacketKind, PacketWriter};
use extentdb_tds::token::{Done, DoneKind, DoneStatus, col_metadata, command, row};
use extentdb_tds::type_info::Nullability;
use extentdb_tds::{Column, TdsVersion};
use extentdb_types::{Datum, SqlType};
use support::{Client, Tls, server};

const BINARY: SqlType = SqlType::VarBinary { len: Some(8_000) };

/// A load that is being sent.
struct Load<'c> {
    client: &'c mut Client,
    packets: PacketWriter,
    columns: Vec<Column>,
}

impl<'c> Load<'c> {
    fn begin(client: &'c mut Client) -> Load<'c> {
        let protocol = client.protocol();
        let column = |name, ty| Column::of(name, ty, Nullability::Nullable, &protocol);
        let columns = vec![column("id", SqlType::Int), column("b", BINARY)];
        let mut packets = PacketWriter::new(PACKET_BYTES_DEFAULT, 0);
        packets.begin(PacketKind::BulkLoad, 0);
        let source = ColumnSource::BulkLoad;
        col_metadata::write(&columns, protocol.version(), source, packets.body()).unwrap();
        Load { client, packets, columns }
    }

    fn rows(&mut self, ids: std::ops::Range<i32>, value: &[u8]) {
        for id in ids {
            let values = [Datum::Int(id), Datum::Binary(value.into())];
            row::write(&self.columns, &values, self.packets.body()).unwrap();
            self.packets.seal();
            self.client.send_packets(&mut self.packets);
        }
    }

    fn end(mut self) -> Vec<String> {
        let end = Done {
            kind: DoneKind::Statement,
            status: DoneStatus::FINAL,
            command: command::NONE,
            rows: 0,
        };
        end.write(self.client.protocol().version(), self.packets.body());
        self.packets.end();
        self.client.send_packets(&mut self.packets);
        self.client.answer()
    }

    fn give_up(mut self) -> Vec<String> {
        self.packets.end_ignored();
        self.client.send_packets(&mut self.packets);
        self.client.answer()
    }
}

/// A client with an empty table, and INSERT BULK said.
fn prepared(server: &RunningServer) -> Client {
    let mut client = Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    client.batch("CREATE TABLE t (id int, b varbinary(8000), CHECK (id < 1000000))");
    client.batch("INSERT BULK t (id int, b varbinary(8000))");
    client
}

fn counted(client: &mut Client) -> String {
    client.batch("SELECT COUNT(*) AS n, SUM(CAST(LEN(b) AS bigint)) AS l FROM t")[1].clone()
}

#[test]
fn a_message_may_have_more_rows_than_a_request_bytes() {
    let server = server();
    let mut client = prepared(&server);
    let mut load = Load::begin(&mut client);
    load.rows(0..9_000, &[7; 8_000]);
    let answer = load.end();
    assert!(answer.last().unwrap().ends_with(" 9000"), "{answer:?}");
    assert_eq!(counted(&mut client), "ROW 9000 | 72000000");
    server.stop().unwrap();
}

#[test]
fn a_load_that_its_client_gives_up_leaves_nothing() {
    let server = server();
    let mut client = prepared(&server);
    let mut load = Load::begin(&mut client);
    load.rows(0..5_000, b"abc");
    assert_eq!(load.give_up(), ["Statement 0x2 0x0 0"]);
    assert_eq!(counted(&mut client), "ROW 0 | NULL");
    server.stop().unwrap();
}

#[test]
fn the_message_after_a_refused_load_is_understood() {
    let server = server();
    let mut client = prepared(&server);
    // A row in the middle is refused by the table; those after it are not missed.
    let mut load = Load::begin(&mut client);
    load.rows(0..100, b"abc");
    load.rows(1_000_000..1_000_001, b"abc");
    load.rows(200..9_000, &[1; 2_000]);
    let answer = load.end();
    assert!(answer[0].starts_with("Error 547"), "{answer:?}");
    assert_eq!(counted(&mut client), "ROW 0 | NULL");
    // Nobody has said where these belong.
    let mut load = Load::begin(&mut client);
    load.rows(0..9_000, &[1; 2_000]);
    let answer = load.end();
    assert!(answer[0].starts_with("Error 40517"), "{answer:?}");
    assert_eq!(counted(&mut client), "ROW 0 | NULL");
    server.stop().unwrap();
}

#[test]
fn a_load_whose_rows_do_not_come_is_killed() {
    let server = server();
    let mut client = prepared(&server);
    let session = client.batch("SELECT @@SPID AS a")[1].replace("ROW ", "");
    client.batch("INSERT BULK t (id int, b varbinary(8000))");
    let mut load = Load::begin(&mut client);
    load.rows(0..10, b"abc");
    std::thread::sleep(Duration::from_millis(100));
    let mut other = Client::connect(server.address(), TdsVersion::V7_4, Tls::None);
    other.batch(&format!("KILL {session}"));
    while client.receive().is_some() {}
    assert_eq!(counted(&mut other), "ROW 0 | NULL");
    server.stop().unwrap();
}
