//! Whole conversations in memory: a client and a server made of this crate's two sides, over a
//! "connection" that hands over a few bytes at a time.

mod support;

use extentdb_tds::column::ColumnSource;
use extentdb_tds::login::{Feature, FeatureId, LoginFlags, Password};
use extentdb_tds::packet::{
    BulkDelivery, Event, Limits, Message, MessageDecoder, PACKET_BYTES_DEFAULT, PacketKind,
    PacketWriter, Reset, negotiated_packet_bytes,
};
use extentdb_tds::prelogin::{
    Encryption, Prelogin, ProgramVersion, ServerEncryption, TlsScope, negotiate,
};
use extentdb_tds::request::{
    BulkDecoder, BulkEvent, Headers, Isolation, Next, ParameterFlags, ProcId, Procedure, RpcFlags,
    RpcReader, RpcWriter, SqlBatch, TransactionMessage, TransactionRequest,
};
use extentdb_tds::token::{
    Done, DoneKind, DoneStatus, EnvChange, LoginAck, MessageKind, ReturnValue, ReturnValueKind,
    ServerMessage, Token, TokenDecoder, col_metadata, command, login_ack, row,
};
use extentdb_tds::type_info::Nullability;
use extentdb_tds::{
    Column, ColumnFlags, Login, Protocol, TdsVersion, TokenWriter, TypeInfo, Utf16,
};
use extentdb_types::{Datum, NText, SqlType};
use support::LATIN1;

const AFTER_LOGIN: Limits = Limits { packet_bytes_max: 32_767, message_bytes_max: 1 << 20 };
const PROGRAM: ProgramVersion = ProgramVersion { major: 16, minor: 0, build: 4165, sub_build: 0 };
/// The connection hands over this many bytes at once.
const PIECE_BYTES: usize = 13;

fn int() -> TypeInfo {
    let protocol = Protocol::new(TdsVersion::V7_4, LATIN1);
    TypeInfo::of(SqlType::Int, Nullability::Nullable, &protocol)
}

fn done(kind: DoneKind, status: DoneStatus, command: u16, rows: u64) -> Done {
    Done { kind, status, command, rows }
}

/// The server: answers each message as the protocol says, from a script of one table.
struct Server {
    protocol: Protocol,
    messages: MessageDecoder,
    writer: TokenWriter,
    bulk: Option<BulkDecoder>,
    bulk_rows: u64,
    transactions: u64,
    next_handle: i32,
}

impl Server {
    fn new() -> Server {
        let protocol = Protocol::new(TdsVersion::V7_4, LATIN1);
        let packets = PacketWriter::new(PACKET_BYTES_DEFAULT, 51);
        Server {
            protocol,
            messages: MessageDecoder::new(Limits::BEFORE_LOGIN, BulkDelivery::Parts),
            writer: TokenWriter::new(protocol.version(), packets),
            bulk: None,
            bulk_rows: 0,
            transactions: 0,
            next_handle: 0,
        }
    }

    /// Takes what a client sent and gives what is sent back.
    fn exchange(&mut self, sent: &[u8]) -> Vec<u8> {
        for mut piece in sent.chunks(PIECE_BYTES) {
            while let Some(event) = self.messages.decode(&mut piece).unwrap() {
                match event {
                    Event::Message(message) => self.answer(&message),
                    Event::BulkPart { bytes, is_last, .. } => self.bulk_part(bytes, is_last),
                    Event::Ignored { .. } => {}
                }
            }
        }
        let mut answer = Vec::new();
        self.writer.packets().take_ready(&mut answer);
        answer
    }

    fn answer(&mut self, message: &Message) {
        self.writer.begin();
        if message.reset != Reset::None {
            self.writer.env_change(&EnvChange::Reset).unwrap();
        }
        match message.kind {
            PacketKind::Prelogin => self.prelogin(&message.body),
            PacketKind::Login => self.login(&message.body),
            PacketKind::SqlBatch => self.batch(&message.body),
            PacketKind::Rpc => self.rpc(&message.body),
            PacketKind::TransactionManager => self.transaction(&message.body),
            PacketKind::Attention => {
                self.writer.done(done(DoneKind::Statement, DoneStatus::ATTENTION, 0, 0));
            }
            other => panic!("{other:?}"),
        }
        self.writer.end();
    }

    fn prelogin(&mut self, body: &[u8]) {
        let client = Prelogin::read(body).unwrap();
        let negotiation = negotiate(client.encryption, ServerEncryption::Unavailable);
        assert_eq!(negotiation.scope, TlsScope::None);
        let answer = client.answer(PROGRAM, negotiation.answer);
        answer.write(self.writer.packets().body()).unwrap();
    }

    fn login(&mut self, body: &[u8]) {
        let login = Login::read(body).unwrap();
        let version = login.version().unwrap();
        assert_eq!((login.user.as_str(), login.password.text()), ("sa", "secret"));
        self.protocol = Protocol::new(version, LATIN1);
        self.writer.set_version(version);
        let writer = &mut self.writer;
        let new = login.database.clone();
        writer.env_change(&EnvChange::Database { new, old: "master".to_owned() }).unwrap();
        writer.message(&info(5701, 2));
        let new = self.protocol.wire_collation().to_bytes().to_vec();
        writer.env_change(&EnvChange::Collation { new, old: Vec::new() }).unwrap();
        let new = "us_english".to_owned();
        writer.env_change(&EnvChange::Language { new, old: String::new() }).unwrap();
        writer.message(&info(5703, 1));
        let ack = LoginAck {
            interface: login_ack::INTERFACE_TSQL,
            tds_version: version.raw(),
            program: login_ack::PROGRAM.to_owned(),
            major: PROGRAM.major,
            minor: PROGRAM.minor,
            build: PROGRAM.build,
        };
        writer.login_ack(&ack).unwrap();
        let new = negotiated_packet_bytes(login.packet_bytes);
        writer.env_change(&EnvChange::PacketSize { new, old: PACKET_BYTES_DEFAULT }).unwrap();
        if login.features.is_some() {
            writer.features(&[Feature::new(FeatureId::Utf8Support, &[1])]);
        }
        writer.done(done(DoneKind::Statement, DoneStatus::FINAL, 0, 0));
        writer.end();
        writer.set_packet_bytes(new);
        self.messages.set_limits(AFTER_LOGIN);
    }

    fn batch(&mut self, body: &[u8]) {
        let batch = SqlBatch::read(body, self.protocol.version()).unwrap();
        let text = batch.text.to_string();
        if text.starts_with("INSERT BULK") {
            self.bulk = Some(BulkDecoder::new(self.protocol, 1 << 16));
            self.writer.done(done(DoneKind::Statement, DoneStatus::FINAL, 0, 0));
            return;
        }
        if text == "SELECT 1 AS a" {
            let columns = [Column::new("a", int())];
            self.writer.columns(&columns).unwrap();
            self.writer.row(&columns, &[Datum::Int(1)]).unwrap();
            let status = DoneStatus::COUNT;
            self.writer.done(done(DoneKind::Statement, status, command::SELECT, 1));
            return;
        }
        self.writer.message(&ServerMessage { kind: MessageKind::Error, class: 16, ..info(208, 1) });
        let status = DoneStatus::ERROR;
        self.writer.done(done(DoneKind::Statement, status, command::SELECT, 0));
    }

    fn rpc(&mut self, body: &[u8]) {
        let mut reader = RpcReader::new(body, self.protocol).unwrap();
        while let Some(call) = reader.next_call().unwrap() {
            let Procedure::Id(id) = call.procedure else { panic!() };
            let value = call.parameters.last().unwrap().decode().unwrap().unwrap();
            let columns = [Column::new("value", int())];
            self.writer.columns(&columns).unwrap();
            self.writer.row(&columns, &[value]).unwrap();
            let status = DoneStatus::COUNT.with(DoneStatus::MORE);
            self.writer.done(done(DoneKind::InProcedure, status, command::SELECT, 1));
            self.writer.return_status(0);
            if id == ProcId::PrepExec {
                self.next_handle += 1;
                let value = Datum::Int(self.next_handle);
                self.writer
                    .return_value(&ReturnValue {
                        ordinal: 0,
                        name: call.parameters[0].name.to_string(),
                        kind: ReturnValueKind::Output,
                        user_type: 0,
                        flags: ColumnFlags(0),
                        type_info: int(),
                        value,
                    })
                    .unwrap();
            }
            let more = if call.has_next { DoneStatus::MORE } else { DoneStatus::FINAL };
            self.writer.done(done(DoneKind::Procedure, more, command::EXECUTE, 0));
        }
    }

    fn transaction(&mut self, body: &[u8]) {
        let message = TransactionMessage::read(body, self.protocol.version()).unwrap();
        let descriptor = message.headers.transaction.unwrap().descriptor;
        match message.request {
            TransactionRequest::Begin { .. } => self.begin_transaction(command::BEGIN),
            TransactionRequest::Commit { next, .. } => {
                assert_eq!(descriptor, self.transactions, "the client echoes the descriptor");
                self.writer.env_change(&EnvChange::Commit { descriptor }).unwrap();
                if next.is_some() {
                    return self.begin_transaction(command::COMMIT);
                }
                let status = DoneStatus::FINAL;
                self.writer.done(done(DoneKind::Statement, status, command::COMMIT, 0));
            }
            other => panic!("{other:?}"),
        }
    }

    fn begin_transaction(&mut self, command: u16) {
        self.transactions += 1;
        let descriptor = self.transactions;
        self.writer.env_change(&EnvChange::Begin { descriptor }).unwrap();
        self.writer.done(done(DoneKind::Statement, DoneStatus::IN_TRANSACTION, command, 0));
    }

    fn bulk_part(&mut self, bytes: &[u8], is_last: bool) {
        let decoder = self.bulk.as_mut().unwrap();
        decoder.push(bytes);
        if is_last {
            decoder.end();
        }
        while let Some(event) = decoder.next_event().unwrap() {
            if let BulkEvent::Row(row) = event {
                assert_eq!(row.to_values().unwrap()[0], Datum::Int(self.bulk_rows as i32));
                self.bulk_rows += 1;
            }
        }
        if is_last {
            assert!(decoder.is_done());
            self.bulk = None;
            self.writer.begin();
            let rows = self.bulk_rows;
            let status = DoneStatus::COUNT;
            self.writer.done(done(DoneKind::Statement, status, command::BULK_INSERT, rows));
            self.writer.end();
        }
    }
}

fn info(number: i32, state: u8) -> ServerMessage {
    ServerMessage {
        kind: MessageKind::Info,
        number,
        state,
        class: 0,
        text: "text".to_owned(),
        server: "S".to_owned(),
        procedure: String::new(),
        line: 1,
    }
}

/// The client: writes requests, reads answers as lines of text.
struct Client {
    server: Server,
    protocol: Protocol,
    packets: PacketWriter,
    columns: usize,
}

impl Client {
    fn new(version: TdsVersion) -> Client {
        Client {
            server: Server::new(),
            protocol: Protocol::new(version, LATIN1),
            packets: PacketWriter::new(PACKET_BYTES_DEFAULT, 0),
            columns: 0,
        }
    }

    fn version(&self) -> TdsVersion {
        self.protocol.version()
    }

    fn send(&mut self, kind: PacketKind, reset: Reset, body: &[u8]) -> Vec<u8> {
        self.packets.begin(kind, reset.status());
        self.packets.body().extend_from_slice(body);
        self.packets.end();
        let mut sent = Vec::new();
        self.packets.take_ready(&mut sent);
        self.server.exchange(&sent)
    }

    fn ask(&mut self, kind: PacketKind, body: &[u8]) -> Vec<String> {
        let answer = self.send(kind, Reset::None, body);
        self.tokens(&answer)
    }

    /// The tokens of an answer, one line each.
    fn tokens(&mut self, answer: &[u8]) -> Vec<String> {
        let mut messages = MessageDecoder::new(AFTER_LOGIN, BulkDelivery::Whole);
        let mut input = answer;
        let Some(Event::Message(message)) = messages.decode(&mut input).unwrap() else { panic!() };
        assert!(input.is_empty(), "one message answers");
        assert_eq!((message.kind, message.spid), (PacketKind::TabularResult, 51));
        let mut decoder = TokenDecoder::new(self.protocol, ColumnSource::Result, 1 << 20);
        let mut lines = Vec::new();
        for piece in message.body.chunks(PIECE_BYTES) {
            decoder.push(piece);
            while let Some(token) = decoder.next_token().unwrap() {
                lines.push(line(&token));
            }
        }
        decoder.end();
        assert_eq!(decoder.next_token(), Ok(None));
        self.columns = decoder.columns().len();
        lines
    }

    fn prelogin(&mut self) -> Prelogin {
        let prelogin = Prelogin {
            encryption: Some(Encryption::Off),
            instance: Some(vec![0]),
            thread_id: Some(vec![0; 4]),
            mars: Some(false),
            ..Prelogin::default()
        };
        let mut body = Vec::new();
        prelogin.write(&mut body).unwrap();
        let answer = self.send(PacketKind::Prelogin, Reset::None, &body);
        let mut messages = MessageDecoder::new(Limits::BEFORE_LOGIN, BulkDelivery::Whole);
        let Some(Event::Message(message)) = messages.decode(&mut &answer[..]).unwrap() else {
            panic!()
        };
        Prelogin::read(&message.body).unwrap()
    }

    fn login(&mut self) -> Vec<String> {
        let has_features = self.version().has_feature_extensions();
        let login = Login {
            tds_version: self.version().raw(),
            packet_bytes: 512,
            flags: LoginFlags { option1: 0xE0, option2: 3, ..LoginFlags::default() },
            user: "sa".to_owned(),
            password: Password::new("secret"),
            database: "db".to_owned(),
            features: has_features.then(|| vec![Feature::new(FeatureId::Utf8Support, &[1])]),
            ..Login::default()
        };
        let mut body = Vec::new();
        login.write(&mut body).unwrap();
        let lines = self.ask(PacketKind::Login, &body);
        self.packets.set_packet_bytes(512);
        lines
    }

    fn batch(&mut self, text: &str) -> Vec<String> {
        let mut body = Vec::new();
        SqlBatch::write(&Headers::of_transaction(0), text, self.version(), &mut body);
        self.ask(PacketKind::SqlBatch, &body)
    }

    fn transaction(&mut self, descriptor: u64, request: TransactionRequest<'_>) -> Vec<String> {
        let headers = Headers::of_transaction(descriptor);
        let mut body = Vec::new();
        TransactionMessage { headers, request }.write(self.version(), &mut body).unwrap();
        self.ask(PacketKind::TransactionManager, &body)
    }
}

fn line(token: &Token<'_>) -> String {
    match token {
        Token::Columns(columns) => {
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            format!("columns {}", names.join(" "))
        }
        Token::Row(row) => format!("row {:?}", row.to_values().unwrap()),
        Token::Done(done) => {
            let kind = match done.kind {
                DoneKind::Statement => "done",
                DoneKind::Procedure => "doneproc",
                DoneKind::InProcedure => "doneinproc",
            };
            format!("{kind} {:#05x} {:#x} {}", done.status.0, done.command, done.rows)
        }
        Token::Message(message) => format!("{:?} {}", message.kind, message.number),
        Token::EnvChange(change) => format!("env {change:?}"),
        Token::LoginAck(ack) => format!("ack {:#010x} {}", ack.tds_version, ack.program),
        Token::ReturnValue(value) => format!("returned {} {:?}", value.name, value.value),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_client_of_each_version_logs_in_and_asks() {
    for version in TdsVersion::ALL {
        let mut client = Client::new(version);
        // jTDS, the 7.1 client, sends no PRELOGIN.
        if version.is_7_2_or_later() {
            let answer = client.prelogin();
            assert_eq!(answer.encryption, Some(Encryption::NotSupported));
            assert_eq!(answer.version, PROGRAM);
        }
        let lines = client.login();
        let kinds: Vec<&str> = lines.iter().map(|it| it.split(' ').next().unwrap()).collect();
        let mut expected = vec!["env", "Info", "env", "env", "Info", "ack", "env", "done"];
        if version.has_feature_extensions() {
            expected.insert(7, "Features([Feature");
        }
        assert_eq!(kinds, expected);
        assert_eq!(lines[5], format!("ack {:#010x} Microsoft SQL Server", version.raw()));
        assert_eq!(lines[6], "env PacketSize { new: 512, old: 4096 }");
        let lines = client.batch("SELECT 1 AS a");
        assert_eq!(lines, ["columns a", "row [Int(1)]", "done 0x010 0xc1 1"]);
        let long = "-".repeat(3000);
        assert_eq!(client.batch(&long), ["Error 208", "done 0x002 0xc1 0"]);
    }
}

#[test]
fn select_1_as_a_is_the_packet_of_the_worked_example() {
    let mut client = Client::new(TdsVersion::V7_4);
    client.login();
    let mut body = Vec::new();
    SqlBatch::write(&Headers::of_transaction(0), "SELECT 1 AS a", client.version(), &mut body);
    let answer = client.send(PacketKind::SqlBatch, Reset::None, &body);
    let expected = [
        &[0x04, 0x01, 0x00, 0x29, 0x00, 0x33, 0x01, 0x00][..],
        &[0x81, 1, 0, 0, 0, 0, 0, 9, 0, 0x26, 4, 1, 0x61, 0],
        &[0xD1, 4, 1, 0, 0, 0],
        &[0xFD, 0x10, 0, 0xC1, 0, 1, 0, 0, 0, 0, 0, 0, 0],
    ];
    assert_eq!(answer, expected.concat());
}

#[test]
fn a_pool_resets_the_session_with_its_first_request() {
    let mut client = Client::new(TdsVersion::V7_4);
    client.login();
    let mut body = Vec::new();
    SqlBatch::write(&Headers::of_transaction(0), "SELECT 1 AS a", client.version(), &mut body);
    let answer = client.send(PacketKind::SqlBatch, Reset::Session, &body);
    let lines = client.tokens(&answer);
    assert_eq!(lines[..2], ["env Reset", "columns a"]);
}

#[test]
fn transactions_are_begun_and_committed_in_a_chain() {
    let mut client = Client::new(TdsVersion::V7_4);
    client.login();
    let name = Utf16::default();
    let isolation = Isolation::Unchanged;
    let lines = client.transaction(0, TransactionRequest::Begin { isolation, name });
    assert_eq!(lines, ["env Begin { descriptor: 1 }", "done 0x004 0xd4 0"]);
    let next = Some(Next { isolation, name });
    let lines = client.transaction(1, TransactionRequest::Commit { name, next });
    let expected =
        ["env Commit { descriptor: 1 }", "env Begin { descriptor: 2 }", "done 0x004 0xd5 0"];
    assert_eq!(lines, expected);
    let lines = client.transaction(2, TransactionRequest::Commit { name, next: None });
    assert_eq!(lines, ["env Commit { descriptor: 2 }", "done 0x000 0xd5 0"]);
}

#[test]
fn a_statement_is_prepared_and_executed_many_times_in_one_message() {
    let mut client = Client::new(TdsVersion::V7_4);
    client.login();
    let nvarchar = SqlType::NVarChar { len: None, collation: LATIN1 };
    let text_info = TypeInfo::of(nvarchar, Nullability::Nullable, &client.protocol);
    let text = Datum::NChar(NText::from_text("SELECT @p"));
    let none = ParameterFlags(0);
    let mut body = Vec::new();
    let mut calls = RpcWriter::new(&Headers::of_transaction(0), client.version(), &mut body);
    calls.call(ProcId::PrepExec, RpcFlags(0));
    calls.parameter("@handle", ParameterFlags::OUTPUT, &int(), &Datum::Null).unwrap();
    calls.parameter("", none, &text_info, &Datum::NChar(NText::from_text("@p int"))).unwrap();
    calls.parameter("", none, &text_info, &text).unwrap();
    calls.parameter("@p", none, &int(), &Datum::Int(7)).unwrap();
    let lines = client.ask(PacketKind::Rpc, &body);
    let expected = [
        "columns value",
        "row [Int(7)]",
        "doneinproc 0x011 0xc1 1",
        "ReturnStatus(0)",
        "returned @handle Int(1)",
        "doneproc 0x000 0xe0 0",
    ];
    assert_eq!(lines, expected);

    body.clear();
    let mut calls = RpcWriter::new(&Headers::of_transaction(0), client.version(), &mut body);
    for value in 0..3 {
        calls.call(ProcId::Execute, RpcFlags(0));
        calls.parameter("", none, &int(), &Datum::Int(1)).unwrap();
        calls.parameter("", none, &int(), &Datum::Int(value)).unwrap();
    }
    let lines = client.ask(PacketKind::Rpc, &body);
    let ends: Vec<&String> = lines.iter().filter(|line| line.starts_with("doneproc")).collect();
    let more = "doneproc 0x001 0xe0 0";
    assert_eq!(ends, [more, more, "doneproc 0x000 0xe0 0"]);
}

#[test]
fn rows_are_loaded_in_bulk() {
    for version in [TdsVersion::V7_1, TdsVersion::V7_4] {
        let mut client = Client::new(version);
        client.login();
        let lines = client.batch("INSERT BULK t (a int, b nvarchar(10))");
        assert_eq!(lines, ["done 0x000 0x0 0"]);
        let collation = LATIN1;
        let text = SqlType::NVarChar { len: Some(20), collation };
        let columns = [
            Column::new("a", int()),
            Column::new("b", TypeInfo::of(text, Nullability::Nullable, &client.protocol)),
        ];
        let mut body = Vec::new();
        col_metadata::write(&columns, version, ColumnSource::BulkLoad, &mut body).unwrap();
        for at in 0..500 {
            let values = [Datum::Int(at), Datum::NChar(NText::from_text("text"))];
            row::write(&columns, &values, &mut body).unwrap();
        }
        done(DoneKind::Statement, DoneStatus::FINAL, 0, 0).write(version, &mut body);
        let lines = client.ask(PacketKind::BulkLoad, &body);
        assert_eq!(lines, ["done 0x010 0xf0 500"]);
    }
}

#[test]
fn an_attention_is_acknowledged_also_when_nothing_runs() {
    let mut client = Client::new(TdsVersion::V7_4);
    client.login();
    assert_eq!(client.ask(PacketKind::Attention, &[]), ["done 0x020 0x0 0"]);
}
