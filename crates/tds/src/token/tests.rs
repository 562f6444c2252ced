use std::borrow::Cow;

use extentdb_types::{Collation, Datum, NText, SqlType};

use super::*;
use crate::column::{Column, ColumnFlags, ColumnSource};
use crate::error::{Cause, DecodeError, EncodeError};
use crate::login::{Feature, FeatureId};
use crate::type_info::{Nullability, TypeInfo};
use crate::{Protocol, TdsVersion};

const LATIN1: Collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;

fn protocol(version: TdsVersion) -> Protocol {
    Protocol::new(version, LATIN1)
}

fn decoder(version: TdsVersion) -> TokenDecoder {
    TokenDecoder::new(protocol(version), ColumnSource::Result, 1 << 20)
}

fn column(name: &str, ty: SqlType, version: TdsVersion) -> Column {
    Column::new(name, TypeInfo::of(ty, Nullability::Nullable, &protocol(version)))
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.split_whitespace().filter(|part| *part != "|");
    digits.map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// The bytes are one token, and only as a whole.
#[track_caller]
fn check(bytes: &[u8], version: TdsVersion, expected: &Token<'_>) {
    for cut in 0..bytes.len() {
        let mut decoder = decoder(version);
        decoder.push(&bytes[..cut]);
        assert_eq!(decoder.next_token(), Ok(None), "cut at {cut}");
        decoder.push(&bytes[cut..]);
        decoder.end();
        assert_eq!(decoder.next_token().unwrap().as_ref(), Some(expected), "cut at {cut}");
        assert_eq!(decoder.next_token(), Ok(None));
        assert_eq!(decoder.position(), bytes.len());
    }
}

#[test]
fn select_1_as_a() {
    let version = TdsVersion::V7_4;
    let columns = [column("a", SqlType::Int, version)];
    let mut out = Vec::new();
    col_metadata::write(&columns, version, ColumnSource::Result, &mut out).unwrap();
    row::write(&columns, &[Datum::Int(1)], &mut out).unwrap();
    let done = Done {
        kind: DoneKind::Statement,
        status: DoneStatus::COUNT,
        command: command::SELECT,
        rows: 1,
    };
    done.write(version, &mut out);
    let expected = "81 01 00 | 00 00 00 00 | 09 00 | 26 04 | 01 61 00
                    d1 | 04 01 00 00 00
                    fd | 10 00 | c1 00 | 01 00 00 00 00 00 00 00";
    assert_eq!(out, hex(expected));
}

#[test]
fn select_1_as_a_for_a_7_1_client() {
    let version = TdsVersion::V7_1;
    let columns = [column("a", SqlType::Int, version)];
    let mut out = Vec::new();
    col_metadata::write(&columns, version, ColumnSource::Result, &mut out).unwrap();
    let done = Done {
        kind: DoneKind::Statement,
        status: DoneStatus::COUNT,
        command: command::SELECT,
        rows: u64::MAX,
    };
    done.write(version, &mut out);
    let expected = "81 01 00 | 00 00 | 09 00 | 26 04 | 01 61 00
                    fd | 10 00 | c1 00 | ff ff ff ff";
    assert_eq!(out, hex(expected));
}

#[test]
fn transactions_and_reset() {
    let cases = [
        (EnvChange::Begin { descriptor: 1 }, "e3 0b 00 08 08 01 00 00 00 00 00 00 00 00"),
        (EnvChange::Commit { descriptor: 1 }, "e3 0b 00 09 00 08 01 00 00 00 00 00 00 00"),
        (EnvChange::Rollback { descriptor: 1 }, "e3 0b 00 0a 00 08 01 00 00 00 00 00 00 00"),
        (EnvChange::Reset, "e3 03 00 12 00 00"),
    ];
    for (change, bytes) in cases {
        let mut out = Vec::new();
        change.write(&mut out).unwrap();
        assert_eq!(out, hex(bytes));
        check(&out, TdsVersion::V7_4, &Token::EnvChange(change));
    }
}

#[test]
fn every_other_change_of_the_environment() {
    let changes = [
        EnvChange::Database { new: "db".to_owned(), old: "master".to_owned() },
        EnvChange::Language { new: "us_english".to_owned(), old: String::new() },
        EnvChange::PacketSize { new: 8000, old: 4096 },
        EnvChange::Collation { new: vec![9, 4, 0xD0, 0, 0x34], old: vec![] },
        EnvChange::TransactionEnded { descriptor: 7 },
        EnvChange::MirrorPartner { new: "other".to_owned() },
        EnvChange::Promoted { token: vec![1; 300] },
        EnvChange::UserInstance { new: "pipe".to_owned() },
        EnvChange::Routing { port: 1433, server: "there".to_owned() },
        EnvChange::Other { kind: 11, new: vec![1], old: vec![2, 3] },
    ];
    for change in changes {
        let mut out = Vec::new();
        change.write(&mut out).unwrap();
        check(&out, TdsVersion::V7_4, &Token::EnvChange(change));
    }
}

#[test]
fn the_packet_size_is_said_in_decimal() {
    let mut out = Vec::new();
    EnvChange::PacketSize { new: 8000, old: 512 }.write(&mut out).unwrap();
    let bytes = "e3 11 00 04 | 04 38 00 30 00 30 00 30 00 | 03 35 00 31 00 32 00";
    assert_eq!(out, hex(bytes));
}

fn message(kind: MessageKind) -> ServerMessage {
    ServerMessage {
        kind,
        number: 208,
        state: 1,
        class: 16,
        text: "Invalid object name 't'.".to_owned(),
        server: "S".to_owned(),
        procedure: "p".to_owned(),
        line: 3,
    }
}

#[test]
fn errors_and_infos_in_both_line_widths() {
    for kind in [MessageKind::Error, MessageKind::Info] {
        for version in TdsVersion::ALL {
            let mut out = Vec::new();
            message(kind).write(version, &mut out);
            let line = if version == TdsVersion::V7_1 { 2 } else { 4 };
            assert_eq!(out.len(), 3 + 4 + 2 + 2 + 48 + 3 + 3 + line);
            check(&out, version, &Token::Message(message(kind)));
        }
    }
}

#[test]
fn a_text_that_is_too_long_is_cut_but_said() {
    let mut long = message(MessageKind::Error);
    long.text = "é".repeat(40_000);
    long.server = "s".repeat(300);
    long.line = 70_000;
    let mut out = Vec::new();
    long.write(TdsVersion::V7_1, &mut out);
    let mut decoder = decoder(TdsVersion::V7_1);
    decoder.push(&out);
    let Ok(Some(Token::Message(said))) = decoder.next_token() else { panic!() };
    assert_eq!(said.text.chars().count(), message::TEXT_UNITS_MAX);
    assert_eq!(said.server.len(), 255);
    assert_eq!(said.line, 65_535);
}

#[test]
fn the_login_is_acknowledged_with_a_big_endian_version() {
    let ack = LoginAck {
        interface: login_ack::INTERFACE_TSQL,
        tds_version: TdsVersion::V7_4.raw(),
        program: "MS".to_owned(),
        major: 16,
        minor: 0,
        build: 4165,
    };
    let mut out = Vec::new();
    ack.write(&mut out).unwrap();
    assert_eq!(out, hex("ad 0e 00 01 | 74 00 00 04 | 02 4d 00 53 00 | 10 00 10 45"));
    check(&out, TdsVersion::V7_4, &Token::LoginAck(ack));
}

#[test]
fn a_return_value_has_type_and_value() {
    for version in TdsVersion::ALL {
        let value = ReturnValue {
            ordinal: 2,
            name: "@h".to_owned(),
            kind: ReturnValueKind::Output,
            user_type: 0,
            flags: ColumnFlags::ANY,
            type_info: TypeInfo::of(SqlType::Int, Nullability::Nullable, &protocol(version)),
            value: Datum::Int(7),
        };
        let mut out = Vec::new();
        value.write(version, &mut out).unwrap();
        check(&out, version, &Token::ReturnValue(value));
    }
}

#[test]
fn the_small_tokens() {
    let version = TdsVersion::V7_4;
    let mut out = Vec::new();
    return_status::write(-6, &mut out);
    check(&out, version, &Token::ReturnStatus(-6));
    out.clear();
    order::write(&[1, 300], &mut out).unwrap();
    check(&out, version, &Token::Order(vec![1, 300]));
    out.clear();
    let tables = vec![vec!["dbo".to_owned(), "t".to_owned()], vec![]];
    tab_name::write(&tables, &mut out).unwrap();
    check(&out, version, &Token::TableNames(tables));
    out.clear();
    let base_name = Some("b".to_owned());
    let columns = vec![
        ColumnInfo { ordinal: 1, table: 1, status: col_info::KEY, base_name },
        ColumnInfo {
            ordinal: 2,
            table: 0,
            status: col_info::EXPRESSION,
            base_name: None,
        },
    ];
    col_info::write(&columns, &mut out).unwrap();
    check(&out, version, &Token::ColumnInfo(columns));
    out.clear();
    sspi::write(&[1, 2, 3], &mut out).unwrap();
    check(&out, version, &Token::Sspi(vec![1, 2, 3]));
}

#[test]
fn tokens_of_features() {
    let version = TdsVersion::V7_4;
    let mut out = Vec::new();
    let features = vec![Feature::new(FeatureId::Utf8Support, &[1])];
    feature_ext_ack::write(&features, &mut out);
    assert_eq!(out, hex("ae 0a 01 00 00 00 01 ff"));
    check(&out, version, &Token::Features(features));
    out.clear();
    let state = SessionState {
        sequence: 5,
        is_recoverable: true,
        states: vec![
            session_state::State { id: 1, data: vec![1; 254] },
            session_state::State { id: 2, data: vec![2; 255] },
        ],
    };
    state.write(&mut out);
    check(&out, version, &Token::SessionState(state));
    out.clear();
    let pieces = vec![
        FedAuthInfo { id: fed_auth_info::STS_URL, data: b"u\0".to_vec() },
        FedAuthInfo { id: fed_auth_info::SPN, data: b"s\0".to_vec() },
    ];
    fed_auth_info::write(&pieces, &mut out);
    check(&out, version, &Token::FedAuthInfo(pieces));
}

#[test]
fn a_text_column_names_its_table() {
    for version in TdsVersion::ALL {
        let mut text = column("c", SqlType::Text { collation: LATIN1 }, version);
        text.table = vec!["t".to_owned()];
        let columns = [text];
        let mut out = Vec::new();
        col_metadata::write(&columns, version, ColumnSource::Result, &mut out).unwrap();
        check(&out, version, &Token::Columns(&columns));
        let user_type = if version == TdsVersion::V7_1 { 2 } else { 4 };
        let table = if version == TdsVersion::V7_1 { 4 } else { 5 };
        assert_eq!(out.len(), 3 + user_type + 2 + 10 + table + 3);
    }
}

#[test]
fn rows_are_read_by_the_columns_before_them() {
    let version = TdsVersion::V7_4;
    let collation = LATIN1;
    let columns = [
        column("a", SqlType::Int, version),
        column("b", SqlType::NVarChar { len: None, collation }, version),
        column("c", SqlType::Image, version),
    ];
    let values = [
        Datum::Int(1),
        Datum::NChar(NText::from_text(&"long".repeat(3000))),
        Datum::Binary(Cow::Borrowed(&[1, 2, 3])),
    ];
    let nulls = [Datum::Null, Datum::Null, Datum::Null];
    let mut out = Vec::new();
    col_metadata::write(&columns, version, ColumnSource::Result, &mut out).unwrap();
    row::write(&columns, &values, &mut out).unwrap();
    nbc_row::write(&columns, &nulls, &mut out).unwrap();
    nbc_row::write(&columns, &values, &mut out).unwrap();
    col_metadata::write_none(&mut out);
    row::write(&columns, &nulls, &mut out).unwrap();
    let mut decoder = decoder(version);
    let mut rows = Vec::new();
    let mut metadata = Vec::new();
    for piece in out.chunks(1000) {
        decoder.push(piece);
        while let Some(token) = decoder.next_token().unwrap() {
            match token {
                Token::Row(row) => {
                    let values = row.to_values().unwrap();
                    rows.push(values.into_iter().map(Datum::into_owned).collect::<Vec<_>>());
                }
                Token::Columns(found) => metadata.push(found.len()),
                Token::ColumnsAsBefore(found) => metadata.push(100 + found.len()),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(rows, [&values[..], &nulls, &values, &nulls]);
    assert_eq!(metadata, [3, 103]);
}

#[test]
fn a_large_row_in_small_pieces_is_passed_once() {
    // Read from its beginning with each piece, this row would be passed 16,000 times.
    const PIECE_BYTES: usize = 1024;
    let version = TdsVersion::V7_4;
    let columns = [column("a", SqlType::VarBinary { len: None }, version)];
    let mut out = Vec::new();
    col_metadata::write(&columns, version, ColumnSource::Result, &mut out).unwrap();
    out.push(row::TOKEN);
    crate::value::write_plp_start(None, &mut out);
    for _ in 0..16_000 {
        crate::value::write_plp_chunk(&[7; PIECE_BYTES], &mut out);
    }
    crate::value::write_plp_end(&mut out);
    let mut decoder = TokenDecoder::new(protocol(version), ColumnSource::Result, 1 << 25);
    let mut lengths = Vec::new();
    for piece in out.chunks(PIECE_BYTES) {
        decoder.push(piece);
        while let Some(token) = decoder.next_token().unwrap() {
            if let Token::Row(row) = token {
                lengths.push(row.values().next().unwrap().unwrap().raw.len());
            }
        }
    }
    assert_eq!(lengths, [16_000 * PIECE_BYTES]);
}

#[test]
fn a_row_that_cannot_be_written_leaves_nothing() {
    let columns = [column("a", SqlType::Int, TdsVersion::V7_4)];
    let mut out = vec![1];
    let error = row::write(&columns, &[], &mut out).unwrap_err();
    assert_eq!(error, EncodeError::ColumnCount { expected: 1, found: 0 });
    assert!(row::write(&columns, &[Datum::Bit(true)], &mut out).is_err());
    assert!(nbc_row::write(&columns, &[Datum::Bit(true)], &mut out).is_err());
    assert_eq!(out, [1]);
}

#[track_caller]
fn refused(bytes: &[u8], at: usize, cause: Cause) {
    let mut decoder = decoder(TdsVersion::V7_4);
    decoder.push(bytes);
    let error = decoder.next_token().unwrap_err();
    assert_eq!(error, DecodeError { at, cause });
    assert_eq!(decoder.next_token(), Err(error), "the error stays");
}

#[test]
fn tokens_that_cannot_be_are_refused_at_their_place() {
    refused(&[0x00], 0, Cause::Token { token: 0 });
    refused(&[row::TOKEN, 1], 0, Cause::NoColumns);
    refused(&[env_change::TOKEN, 2, 0, 1, 5], 5, Cause::Overrun { needed: 10 });
    refused(&[order::TOKEN, 3, 0, 1, 1, 1], 1, Cause::Value { field: "ORDER length", found: 3 });
    let count = Cause::Limit { field: "FEDAUTHINFO count", found: 1, max: 0 };
    refused(&[fed_auth_info::TOKEN, 4, 0, 0, 0, 1, 0, 0, 0], 5, count);
}

#[test]
fn a_token_that_never_ends_is_refused_by_its_size() {
    let protocol = protocol(TdsVersion::V7_4);
    let mut decoder = TokenDecoder::new(protocol, ColumnSource::Result, 100);
    decoder.push(&[fed_auth_info::TOKEN, 0xFF, 0xFF, 0xFF, 0xFF]);
    assert_eq!(decoder.next_token(), Ok(None));
    decoder.push(&[0; 100]);
    let cause = Cause::Limit { field: "token", found: 105, max: 100 };
    assert_eq!(decoder.next_token(), Err(DecodeError { at: 0, cause }));
}

#[test]
fn a_message_that_ends_inside_a_token_is_an_error() {
    let mut decoder = decoder(TdsVersion::V7_4);
    decoder.push(&[done::DONE_TOKEN, 0]);
    assert_eq!(decoder.next_token(), Ok(None));
    decoder.end();
    assert!(decoder.next_token().unwrap_err().is_incomplete());
}
