//! The examples of the public protocol description (MS-TDS, chapter 4), byte for byte: read, and
//! written again as the same bytes.

use extentdb_tds::packet::{
    BulkDelivery, Event, Limits, Message, MessageDecoder, PacketKind, PacketWriter, Reset,
};
use extentdb_tds::prelogin::{Encryption, Prelogin};
use extentdb_tds::request::{Headers, Procedure, RpcFlags, RpcReader, RpcWriter, SqlBatch};
use extentdb_tds::request::{ParameterFlags, ParameterValue};
use extentdb_tds::type_info::Scalar;
use extentdb_tds::{Login, Protocol, TdsVersion, TypeInfo};
use extentdb_types::{Collation, Datum};

fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

fn message(bytes: &[u8]) -> Message {
    let mut decoder = MessageDecoder::new(Limits::BEFORE_LOGIN, BulkDelivery::Whole);
    let mut input = bytes;
    let Some(Event::Message(message)) = decoder.decode(&mut input).unwrap() else { panic!() };
    assert!(input.is_empty());
    assert_eq!(message.reset, Reset::None);
    message
}

/// A body in one packet of a client.
fn packet(kind: PacketKind, body: &[u8]) -> Vec<u8> {
    let mut writer = PacketWriter::new(4096, 0);
    writer.begin(kind, 0);
    writer.body().extend_from_slice(body);
    writer.end();
    writer.ready().to_vec()
}

#[test]
fn example_4_1_pre_login_request() {
    let bytes = hex("12 01 00 2F 00 00 01 00 00 00 1A 00 06 01 00 20
                     00 01 02 00 21 00 01 03 00 22 00 04 04 00 26 00
                     01 FF 09 00 00 00 00 00 01 00 B8 0D 00 00 01");
    let prelogin = Prelogin::read(&message(&bytes).body).unwrap();
    assert_eq!(prelogin.version.major, 9);
    assert_eq!(prelogin.encryption, Some(Encryption::On));
    assert_eq!(prelogin.mars, Some(true));
    assert_eq!(prelogin.thread_id.as_deref(), Some(&[0xB8, 0x0D, 0, 0][..]));
    let mut body = Vec::new();
    prelogin.write(&mut body).unwrap();
    assert_eq!(packet(PacketKind::Prelogin, &body), bytes);
}

#[test]
fn example_4_2_login_request() {
    let bytes = hex("10 01 00 90 00 00 01 00 88 00 00 00 02 00 09 72
                     00 10 00 00 00 00 00 07 00 01 00 00 00 00 00 00
                     E0 03 00 00 00 00 00 00 09 04 00 00 5E 00 08 00
                     6E 00 02 00 72 00 00 00 72 00 07 00 80 00 00 00
                     80 00 00 00 80 00 04 00 88 00 00 00 88 00 00 00
                     00 50 8B E2 B7 8F 88 00 00 00 88 00 00 00 88 00
                     00 00 00 00 00 00 73 00 6B 00 6F 00 73 00 74 00
                     6F 00 76 00 31 00 73 00 61 00 4F 00 53 00 51 00
                     4C 00 2D 00 33 00 32 00 4F 00 44 00 42 00 43 00");
    let login = Login::read(&message(&bytes).body).unwrap();
    assert_eq!(login.version(), Some(TdsVersion::V7_2));
    assert_eq!((login.host.as_str(), login.user.as_str()), ("skostov1", "sa"));
    assert_eq!((login.application.as_str(), login.library.as_str()), ("OSQL-32", "ODBC"));
    assert!(login.password.is_empty() && login.flags.is_odbc());
    assert_eq!((login.packet_bytes, login.lcid), (4096, 0x0409));
    assert_eq!(login.features, None);
    let mut body = Vec::new();
    login.write(&mut body).unwrap();
    assert_eq!(packet(PacketKind::Login, &body), bytes);
}

#[test]
fn example_4_6_sql_batch_client_request() {
    let bytes = hex("01 01 00 5C 00 00 01 00 16 00 00 00 12 00 00 00
                     02 00 00 00 00 00 00 00 00 01 00 00 00 00 0A 00
                     73 00 65 00 6C 00 65 00 63 00 74 00 20 00 27 00
                     66 00 6F 00 6F 00 27 00 20 00 61 00 73 00 20 00
                     27 00 62 00 61 00 72 00 27 00 0A 00 20 00 20 00
                     20 00 20 00 20 00 20 00 20 00 20 00");
    let body = message(&bytes).body;
    let batch = SqlBatch::read(&body, TdsVersion::V7_4).unwrap();
    assert_eq!(batch.text.to_string(), "\nselect 'foo' as 'bar'\n        ");
    assert_eq!(batch.headers.transaction.unwrap().descriptor, 1 << 56);
    let mut again = Vec::new();
    SqlBatch::write(&batch.headers, &batch.text.to_string(), TdsVersion::V7_4, &mut again);
    assert_eq!(packet(PacketKind::SqlBatch, &again), bytes);
}

#[test]
fn example_4_8_rpc_client_request() {
    let bytes = hex("03 01 00 2F 00 00 01 00 16 00 00 00 12 00 00 00
                     02 00 00 00 00 00 00 00 00 01 00 00 00 00 04 00
                     66 00 6F 00 6F 00 33 00 00 00 00 02 26 02 00");
    let body = message(&bytes).body;
    let protocol = Protocol::new(TdsVersion::V7_4, Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    let mut reader = RpcReader::new(&body, protocol).unwrap();
    let headers: Headers = *reader.headers();
    let call = reader.next_call().unwrap().unwrap();
    let Procedure::Name(name) = call.procedure else { panic!() };
    assert_eq!(name.to_string(), "foo3");
    let parameter = &call.parameters[0];
    assert!(parameter.flags.is_default() && parameter.name.is_empty());
    let ParameterValue::Scalar { type_info, .. } = &parameter.value else { panic!() };
    assert_eq!(*type_info, TypeInfo::Nullable(Scalar::SmallInt));
    assert_eq!(parameter.decode(), Some(Ok(Datum::Null)));
    let mut again = Vec::new();
    let mut writer = RpcWriter::new(&headers, TdsVersion::V7_4, &mut again);
    writer.call_by_name("foo3", RpcFlags(0)).unwrap();
    writer.parameter("", ParameterFlags::DEFAULT, type_info, &Datum::Null).unwrap();
    assert_eq!(packet(PacketKind::Rpc, &again), bytes);
}
