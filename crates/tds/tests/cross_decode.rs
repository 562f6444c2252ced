//! The other side by code that was written elsewhere: crate `tds-protocol` decodes what a server
//! writes, and writes what a server decodes. It speaks 7.4.

mod support;

use bytes::{Bytes, BytesMut};
use extentdb_tds::column::ColumnSource;
use extentdb_tds::login::{Feature, FeatureId};
use extentdb_tds::packet::{PacketHeader, PacketKind, PacketWriter, status};
use extentdb_tds::prelogin::{Encryption, Prelogin, ProgramVersion};
use extentdb_tds::request::{ParameterValue, ProcId, Procedure, RpcReader, SqlBatch};
use extentdb_tds::token::{
    Done, DoneKind, DoneStatus, EnvChange, FedAuthInfo, LoginAck, MessageKind, ReturnValue,
    ReturnValueKind, ServerMessage, command, fed_auth_info, login_ack, nbc_row, row,
};
use extentdb_tds::type_info::{Nullability, TypeInfo};
use extentdb_tds::{Column, ColumnFlags, Login, Protocol, TdsVersion, TokenWriter};
use extentdb_types::{Datum, Decimal, NText, SqlType};
use support::{LATIN1, SplitMix64, every_type, value_of};
use tds_protocol::rpc::{RpcParam, RpcRequest, TypeInfo as OtherTypeInfo};
use tds_protocol::token::{EnvChangeType, EnvChangeValue, Token, TokenParser};
use tds_protocol::tvp::{TvpColumnDef, TvpEncoder, TvpWireType};

const VERSION: TdsVersion = TdsVersion::V7_4;

fn protocol() -> Protocol {
    Protocol::new(VERSION, LATIN1)
}

/// The body of a response that fits one packet.
fn body(write: impl FnOnce(&mut TokenWriter)) -> Vec<u8> {
    let mut writer = TokenWriter::new(VERSION, PacketWriter::new(32_767, 51));
    writer.begin();
    write(&mut writer);
    writer.end();
    let header = tds_protocol::packet::PacketHeader::decode(&mut &writer.ready()[..8]).unwrap();
    assert_eq!(usize::from(header.length), writer.ready().len());
    writer.ready()[8..].to_vec()
}

fn tokens(body: Vec<u8>) -> Vec<Token> {
    let mut parser = TokenParser::new(Bytes::from(body));
    let mut tokens = Vec::new();
    while let Some(token) = parser.next_token().unwrap() {
        tokens.push(token);
    }
    tokens
}

#[test]
fn the_login_response() {
    let tokens = tokens(body(|writer| {
        let database = EnvChange::Database { new: "db".to_owned(), old: "master".to_owned() };
        writer.env_change(&database).unwrap();
        writer.message(&message(MessageKind::Info, 5701));
        let new = vec![9, 4, 0xD0, 0, 0x34];
        writer.env_change(&EnvChange::Collation { new, old: Vec::new() }).unwrap();
        let ack = LoginAck {
            interface: login_ack::INTERFACE_TSQL,
            tds_version: VERSION.raw(),
            program: login_ack::PROGRAM.to_owned(),
            major: 16,
            minor: 0,
            build: 4165,
        };
        writer.login_ack(&ack).unwrap();
        writer.env_change(&EnvChange::PacketSize { new: 8000, old: 4096 }).unwrap();
        writer.features(&[Feature::new(FeatureId::Utf8Support, &[1])]);
        let kind = DoneKind::Statement;
        writer.done(Done { kind, status: DoneStatus::FINAL, command: 0, rows: 0 });
    }));
    assert_eq!(tokens.len(), 7);
    let Token::EnvChange(change) = &tokens[0] else { panic!() };
    assert_eq!(change.new_database(), Some("db"));
    let Token::Info(info) = &tokens[1] else { panic!() };
    assert_eq!((info.number, info.line, info.message.as_str()), (5701, 3, "text"));
    assert_eq!((info.server.as_str(), info.procedure.as_str()), ("server", "procedure"));
    let Token::EnvChange(change) = &tokens[2] else { panic!() };
    assert_eq!(change.env_type, EnvChangeType::SqlCollation);
    let Token::LoginAck(ack) = &tokens[3] else { panic!() };
    // It reads these four bytes little-endian; servers send them big-endian.
    assert_eq!(ack.tds_version.swap_bytes(), VERSION.raw());
    assert_eq!(ack.prog_name, "Microsoft SQL Server");
    let Token::EnvChange(change) = &tokens[4] else { panic!() };
    let EnvChangeValue::String(size) = &change.new_value else { panic!() };
    assert_eq!(size, "8000");
    let Token::FeatureExtAck(ack) = &tokens[5] else { panic!() };
    assert_eq!((ack.features[0].feature_id, &ack.features[0].data[..]), (0x0A, &[1][..]));
    assert!(matches!(tokens[6], Token::Done(_)));
}

fn message(kind: MessageKind, number: i32) -> ServerMessage {
    ServerMessage {
        kind,
        number,
        state: 1,
        class: 16,
        text: "text".to_owned(),
        server: "server".to_owned(),
        procedure: "procedure".to_owned(),
        line: 3,
    }
}

#[test]
fn errors_ends_and_what_procedures_return() {
    let status = DoneStatus::COUNT.with(DoneStatus::MORE).with(DoneStatus::ERROR);
    let tokens = tokens(body(|writer| {
        writer.message(&message(MessageKind::Error, 208));
        let kind = DoneKind::InProcedure;
        writer.done(Done { kind, status, command: command::MERGE, rows: 1 << 40 });
        writer.return_status(-6);
        let value = ReturnValue {
            ordinal: 1,
            name: "@handle".to_owned(),
            kind: ReturnValueKind::Output,
            user_type: 0,
            flags: ColumnFlags::ANY,
            type_info: TypeInfo::of(SqlType::Int, Nullability::Nullable, &protocol()),
            value: Datum::Int(7),
        };
        writer.return_value(&value).unwrap();
        writer.order(&[2, 1]).unwrap();
        writer.env_change(&EnvChange::Begin { descriptor: 0x0102 }).unwrap();
        let server = "there".to_owned();
        writer.env_change(&EnvChange::Routing { port: 1433, server }).unwrap();
        writer.sspi(&[1, 2]).unwrap();
        let url = NText::from_text("url").bytes.into_owned();
        let spn = NText::from_text("spn").bytes.into_owned();
        writer.fed_auth_info(&[
            FedAuthInfo { id: fed_auth_info::STS_URL, data: url },
            FedAuthInfo { id: fed_auth_info::SPN, data: spn },
        ]);
        let kind = DoneKind::Procedure;
        let status = DoneStatus::ATTENTION;
        writer.done(Done { kind, status, command: command::EXECUTE, rows: 0 });
    }));
    let Token::Error(error) = &tokens[0] else { panic!() };
    assert_eq!((error.number, error.class, error.line), (208, 16, 3));
    let Token::DoneInProc(done) = &tokens[1] else { panic!() };
    assert_eq!((done.status.to_bits(), done.cur_cmd, done.row_count), (status.0, 0x117, 1 << 40));
    assert!(matches!(tokens[2], Token::ReturnStatus(-6)));
    let Token::ReturnValue(value) = &tokens[3] else { panic!() };
    assert_eq!((value.param_name.as_str(), value.status), ("@handle", 1));
    assert_eq!(value.value[..], [4, 7, 0, 0, 0]);
    let Token::Order(order) = &tokens[4] else { panic!() };
    assert_eq!(order.columns, [2, 1]);
    let Token::EnvChange(change) = &tokens[5] else { panic!() };
    let EnvChangeValue::Binary(descriptor) = &change.new_value else { panic!() };
    assert_eq!(descriptor[..], 0x0102u64.to_le_bytes());
    let Token::EnvChange(change) = &tokens[6] else { panic!() };
    assert_eq!(change.routing_info(), Some(("there", 1433)));
    let Token::Sspi(sspi) = &tokens[7] else { panic!() };
    assert_eq!(sspi.data[..], [1, 2]);
    let Token::FedAuthInfo(info) = &tokens[8] else { panic!() };
    assert_eq!((info.sts_url.as_str(), info.spn.as_str()), ("url", "spn"));
    let Token::DoneProc(done) = &tokens[9] else { panic!() };
    assert!(done.status.attn && !done.status.more);
}

fn column(ty: SqlType) -> Column {
    let info = TypeInfo::of(ty, Nullability::Nullable, &protocol());
    let mut column = Column::new("name", info);
    if column.type_info.has_text_pointer() {
        column.table = vec!["dbo".to_owned(), "t".to_owned()];
    }
    column
}

/// A value of text, ntext or image as the other side gives it: as PLP.
fn expected_bytes(column: &Column, wire: &[u8]) -> Vec<u8> {
    if !column.type_info.has_text_pointer() {
        return wire.to_vec();
    }
    let data = &wire[1 + 16 + 8 + 4..];
    let mut expected = (data.len() as u64).to_le_bytes().to_vec();
    expected.extend((data.len() as u32).to_le_bytes());
    expected.extend(data);
    expected.extend([0; 4]);
    expected
}

#[test]
fn columns_and_rows_of_every_type() {
    let mut rng = SplitMix64::new(7);
    for ty in every_type() {
        for _ in 0..10 {
            let columns = [column(ty), column(SqlType::Int)];
            let values = [value_of(ty, &mut rng), Datum::Int(5)];
            let nulls = [Datum::Null, Datum::Int(6)];
            let mut body = Vec::new();
            let source = ColumnSource::Result;
            extentdb_tds::token::col_metadata::write(&columns, VERSION, source, &mut body).unwrap();
            let row_at = body.len();
            row::write(&columns, &values, &mut body).unwrap();
            let row_bytes = body[row_at + 1..body.len() - 5].to_vec();
            row::write(&columns, &nulls, &mut body).unwrap();
            nbc_row::write(&columns, &nulls, &mut body).unwrap();

            let mut parser = TokenParser::new(Bytes::from(body));
            let Ok(Some(Token::ColMetaData(metadata))) = parser.next_token() else {
                panic!("{ty}")
            };
            assert_eq!(metadata.columns.len(), 2);
            assert_eq!(metadata.columns[0].name, "name");
            assert_eq!(metadata.columns[0].flags, ColumnFlags::ANY.0);
            let mut next = || parser.next_token_with_metadata(Some(&metadata)).unwrap().unwrap();
            let Token::Row(row) = next() else { panic!("{ty}") };
            let (value, rest) = row.data.split_at(row.data.len() - 5);
            assert_eq!(rest, [4, 5, 0, 0, 0], "{ty}");
            assert_eq!(value, expected_bytes(&columns[0], &row_bytes), "{ty}");
            let Token::Row(row) = next() else { panic!("{ty}") };
            assert_eq!(row.data[row.data.len() - 5..], [4, 6, 0, 0, 0], "{ty}");
            let Token::NbcRow(row) = next() else { panic!("{ty}") };
            assert!(row.is_null(0) && !row.is_null(1));
            assert_eq!(row.data[..], [4, 6, 0, 0, 0], "{ty}");
        }
    }
}

#[test]
fn collations_have_the_same_code_pages() {
    let mut compared = 0;
    for language in 0..=0xFFu32 {
        for version in 0..4u32 {
            let collation = extentdb_types::Collation(version << 17 | 0xD000 | language);
            let named = collation.name().and(collation.code_page());
            let Some(number) = named.and_then(extentdb_types::CodePage::number) else { continue };
            let wire = extentdb_tds::WireCollation::of(collation).to_bytes();
            let other = tds_protocol::token::Collation::from_bytes(&wire);
            if let Some(theirs) = other.code_page() {
                // 1252 is what it says of languages that it does not know.
                let is_unknown = theirs == 1252;
                assert!(theirs == number || is_unknown, "{:?}", collation.name());
                compared += usize::from(!is_unknown || number == 1252);
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn what_a_client_sends_before_the_login() {
    let other = tds_protocol::PreLogin::new()
        .with_encryption(tds_protocol::EncryptionLevel::On)
        .with_instance("MSSQLSERVER")
        .with_mars(true)
        .with_fed_auth_required(true);
    let prelogin = Prelogin::read(&other.encode()).unwrap();
    assert_eq!(prelogin.encryption, Some(Encryption::On));
    assert_eq!(prelogin.instance.as_deref(), Some(&b"MSSQLSERVER\0"[..]));
    assert_eq!((prelogin.mars, prelogin.fed_auth_required), (Some(true), Some(true)));

    let version = ProgramVersion { major: 16, minor: 0, build: 4165, sub_build: 0 };
    let mut answer = Vec::new();
    prelogin.answer(version, Encryption::On).write(&mut answer).unwrap();
    let read = tds_protocol::PreLogin::decode(Bytes::from(answer)).unwrap();
    assert_eq!(read.encryption, tds_protocol::EncryptionLevel::On);
    assert!(!read.mars && !read.fed_auth_required);
    assert_eq!(read.server_version.map(|version| version.major), Some(16));
}

#[test]
fn a_login() {
    let feature = tds_protocol::login7::FeatureExtension {
        feature_id: tds_protocol::login7::FeatureId::Utf8Support,
        data: Bytes::from_static(&[1]),
    };
    let other = tds_protocol::login7::Login7::new()
        .with_sql_auth("sa", "p@ß😀")
        .with_database("db")
        .with_hostname("host")
        .with_app_name("app")
        .with_server_name("server")
        .with_language("us_english")
        .with_packet_size(8000)
        .with_read_only_intent(true)
        .with_feature(feature);
    let login = Login::read(&other.encode()).unwrap();
    assert_eq!(login.version(), Some(VERSION));
    assert_eq!((login.user.as_str(), login.password.text()), ("sa", "p@ß😀"));
    assert_eq!((login.database.as_str(), login.host.as_str()), ("db", "host"));
    assert_eq!((login.application.as_str(), login.server.as_str()), ("app", "server"));
    assert_eq!((login.language.as_str(), login.packet_bytes), ("us_english", 8000));
    assert!(login.flags.has_read_only_intent() && login.flags.is_odbc());
    assert_eq!(login.feature(FeatureId::Utf8Support).unwrap().data, [1]);
    let with_sspi = tds_protocol::login7::Login7::new().with_integrated_auth(vec![7; 70_000]);
    let login = Login::read(&with_sspi.encode()).unwrap();
    assert!(login.wants_integrated_security());
    assert_eq!(login.sspi, [7; 70_000]);
}

#[test]
fn batches_and_calls() {
    let body = tds_protocol::SqlBatch::new("SELECT 'ß'").encode();
    let batch = SqlBatch::read(&body, VERSION).unwrap();
    assert_eq!(batch.text.to_string(), "SELECT 'ß'");
    assert_eq!(batch.headers.transaction.unwrap().descriptor, 0);

    let decimal = OtherTypeInfo::decimal(10, 2);
    let parameters = vec![
        RpcParam::int("@a", 5),
        RpcParam::nvarchar("@b", "ß"),
        RpcParam::varchar("@c", "é"),
        RpcParam::null("@d", decimal),
        RpcParam::bigint("@e", -1).as_output(),
        RpcParam::nvarchar("@f", &"x".repeat(5000)),
    ];
    let request = RpcRequest::execute_sql("SELECT @a", parameters);
    let body = request.encode_with_transaction(9);
    let mut reader = RpcReader::new(&body, protocol()).unwrap();
    assert_eq!(reader.headers().transaction.unwrap().descriptor, 9);
    let call = reader.next_call().unwrap().unwrap();
    assert_eq!(call.procedure, Procedure::Id(ProcId::ExecuteSql));
    let values: Vec<Datum<'_>> =
        call.parameters.iter().map(|parameter| parameter.decode().unwrap().unwrap()).collect();
    assert_eq!(call.parameters[0].decode_text().unwrap().as_deref(), Some("SELECT @a"));
    assert_eq!(values[2], Datum::Int(5));
    assert_eq!(values[3], Datum::NChar(NText::from_text("ß")));
    assert_eq!(call.parameters[4].decode_text().unwrap().as_deref(), Some("é"));
    assert_eq!(values[5], Datum::Null);
    assert_eq!(values[6], Datum::BigInt(-1));
    assert!(call.parameters[6].flags.is_output());
    assert_eq!(call.parameters[7].decode_text().unwrap().unwrap().len(), 5000);
    assert_eq!(reader.next_call(), Ok(None));
}

#[test]
fn a_table_valued_parameter() {
    let columns = [
        TvpColumnDef::new(TvpWireType::Int { size: 4 }),
        TvpColumnDef::new(TvpWireType::NVarChar { max_length: 40 }),
        TvpColumnDef::new(TvpWireType::Decimal { precision: 10, scale: 1 }),
    ];
    let encoder = TvpEncoder::new("dbo", "ids", &columns);
    let mut value = BytesMut::new();
    encoder.encode_metadata(&mut value);
    encoder.encode_row(&mut value, |row| {
        row.extend_from_slice(&[4, 7, 0, 0, 0]);
        row.extend_from_slice(&[2, 0, b'a', 0]);
        row.extend_from_slice(&[9, 1, 15, 0, 0, 0, 0, 0, 0, 0]);
    });
    encoder.encode_end(&mut value);
    let mut body = vec![4, 0, 0, 0, 1, 0, b'p', 0, 0, 0, 0, 0];
    body.extend_from_slice(&value);
    let mut reader = RpcReader::new(&body, protocol()).unwrap();
    let call = reader.next_call().unwrap().unwrap();
    let ParameterValue::Table(table) = &call.parameters[0].value else { panic!() };
    assert_eq!(table.name.schema.to_string(), "dbo");
    let expected = [
        Datum::Int(7),
        Datum::NChar(NText::from_text("a")),
        Datum::Decimal(Decimal::parse("1.5").unwrap()),
    ];
    assert_eq!(table.rows().next().unwrap().to_values().unwrap(), expected);
}

#[test]
fn packet_headers() {
    let header = PacketHeader {
        kind: PacketKind::Rpc,
        status: status::END_OF_MESSAGE | status::RESET,
        length: 300,
        spid: 51,
        packet_id: 2,
    };
    let bytes = header.to_bytes();
    let other = tds_protocol::packet::PacketHeader::decode(&mut &bytes[..]).unwrap();
    assert_eq!((other.length, other.spid, other.packet_id), (300, 51, 2));
    let mut again = BytesMut::new();
    other.encode(&mut again);
    assert_eq!(again[..], bytes);
}
