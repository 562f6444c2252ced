use extentdb_types::{Collation, Datum, NText, SqlType};

use super::*;
use crate::column::{Column, ColumnFlags, ColumnSource};
use crate::error::{Cause, DecodeError};
use crate::text::Utf16;
use crate::token::{Done, DoneKind, DoneStatus, col_metadata, row};
use crate::type_info::{Nullability, TypeInfo};
use crate::{Protocol, TdsVersion};

const LATIN1: Collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;

fn protocol(version: TdsVersion) -> Protocol {
    Protocol::new(version, LATIN1)
}

fn info(ty: SqlType) -> TypeInfo {
    TypeInfo::of(ty, Nullability::Nullable, &protocol(TdsVersion::V7_4))
}

fn units(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn a_batch_has_headers_since_7_2() {
    let headers = Headers {
        transaction: Some(TransactionHeader { descriptor: 5, outstanding: 1 }),
        trace: Some(TraceActivity { id: [3; 16], sequence: 2 }),
    };
    for version in TdsVersion::ALL {
        let mut body = Vec::new();
        SqlBatch::write(&headers, "SELECT 1", version, &mut body);
        let batch = SqlBatch::read(&body, version).unwrap();
        assert_eq!(batch.text.to_string(), "SELECT 1");
        let has_headers = version != TdsVersion::V7_1;
        assert_eq!(batch.headers, if has_headers { headers } else { Headers::default() });
        assert_eq!(body.len(), if has_headers { 64 } else { 16 });
    }
    let empty = SqlBatch::read(&[4, 0, 0, 0], TdsVersion::V7_4).unwrap();
    assert!(empty.text.is_empty());
}

#[test]
fn headers_of_impossible_lengths_are_refused() {
    let read = |body: &[u8]| SqlBatch::read(body, TdsVersion::V7_4).unwrap_err();
    let cause = Cause::Value { field: "header length", found: 3 };
    assert_eq!(read(&[3, 0, 0, 0]), DecodeError { at: 0, cause });
    assert!(read(&[0xFF, 0xFF, 0xFF, 0xFF]).is_incomplete());
    let inner = [10, 0, 0, 0, 200, 0, 0, 0, 2, 0];
    assert_eq!(read(&inner).cause, Cause::Overrun { needed: 194 });
    let odd = [4, 0, 0, 0, b'a'];
    assert_eq!(read(&odd), DecodeError { at: 4, cause: Cause::OddText { bytes: 1 } });
}

#[test]
fn several_calls_stand_in_one_message() {
    for version in TdsVersion::ALL {
        let mut body = Vec::new();
        let mut writer = RpcWriter::new(&Headers::of_transaction(9), version, &mut body);
        let int = info(SqlType::Int);
        for handle in 1..=3 {
            writer.call(ProcId::Execute, RpcFlags(2));
            writer.parameter("", ParameterFlags(0), &int, &Datum::Int(handle)).unwrap();
        }
        writer.call_by_name("[sys].sp_who", RpcFlags(0)).unwrap();
        writer.parameter("@a", ParameterFlags::OUTPUT, &int, &Datum::Null).unwrap();
        let mut reader = RpcReader::new(&body, protocol(version)).unwrap();
        for handle in 1..=3 {
            let call = reader.next_call().unwrap().unwrap();
            assert_eq!(call.procedure, Procedure::Id(ProcId::Execute));
            assert!(call.flags.has_no_metadata() && call.has_next && call.is_executed);
            assert_eq!(call.parameters[0].decode(), Some(Ok(Datum::Int(handle))));
        }
        let call = reader.next_call().unwrap().unwrap();
        let Procedure::Name(name) = call.procedure else { panic!() };
        assert_eq!(name.to_string(), "[sys].sp_who");
        assert!(call.parameters[0].flags.is_output() && !call.has_next);
        assert_eq!(call.parameters[0].name.to_string(), "@a");
        assert_eq!(reader.next_call(), Ok(None));
    }
}

#[test]
fn a_call_that_the_client_cancelled_is_marked() {
    let version = TdsVersion::V7_4;
    let mut body = Vec::new();
    let mut writer = RpcWriter::new(&Headers::default(), version, &mut body);
    writer.call(ProcId::Unprepare, RpcFlags(0));
    body.push(0xFE);
    let mut reader = RpcReader::new(&body, protocol(version)).unwrap();
    let call = reader.next_call().unwrap().unwrap();
    assert!(!call.is_executed && !call.has_next);
    assert_eq!(reader.next_call(), Ok(None));
}

#[test]
fn procedures_are_known_by_number_and_by_any_spelling() {
    for (at, id) in ProcId::ALL.into_iter().enumerate() {
        assert_eq!(usize::from(id.number()), at + 1);
        assert_eq!(ProcId::from_number(id.number()), Some(id));
    }
    assert_eq!(ProcId::ExecuteSql.number(), 10);
    assert_eq!(ProcId::from_number(0), None);
    let known = |name: &str| ProcId::from_name(Utf16::from_bytes(&units(name)));
    assert_eq!(known("SP_ExecuteSql"), Some(ProcId::ExecuteSql));
    assert_eq!(known("[sys].[sp_prepare]"), Some(ProcId::Prepare));
    assert_eq!(known("dbo.myproc"), None);
}

#[test]
fn statement_text_is_read_from_any_character_type() {
    let version = TdsVersion::V7_4;
    let collation = LATIN1;
    let types = [
        SqlType::NVarChar { len: Some(8000), collation },
        SqlType::NVarChar { len: None, collation },
        SqlType::NText { collation },
    ];
    for ty in types {
        let mut body = Vec::new();
        let mut writer = RpcWriter::new(&Headers::default(), version, &mut body);
        writer.call(ProcId::PrepExec, RpcFlags(0));
        let text = Datum::NChar(NText::from_text("select @p"));
        writer.parameter("", ParameterFlags(0), &info(ty), &text).unwrap();
        writer.parameter("", ParameterFlags(0), &info(ty), &Datum::Null).unwrap();
        let mut reader = RpcReader::new(&body, protocol(version)).unwrap();
        let call = reader.next_call().unwrap().unwrap();
        assert_eq!(call.parameters[0].decode_text(), Ok(Some("select @p".to_owned())));
        assert_eq!(call.parameters[1].decode_text(), Ok(None));
    }
}

#[test]
fn five_zero_bytes_are_the_default_collation() {
    let body = [
        &[4, 0, 0, 0][..],
        &[0xFF, 0xFF, 10, 0, 0, 0],
        &[0, 0, 0xA7, 10, 0, 0, 0, 0, 0, 0, 1, 0, 0xE9],
    ]
    .concat();
    let mut reader = RpcReader::new(&body, protocol(TdsVersion::V7_4)).unwrap();
    let call = reader.next_call().unwrap().unwrap();
    assert_eq!(call.parameters[0].decode_text(), Ok(Some("é".to_owned())));
}

#[test]
fn encrypted_parameters_are_refused_by_position() {
    let body = [&[4, 0, 0, 0][..], &[0xFF, 0xFF, 10, 0, 0, 0], &[0, 8, 0x26, 4, 0]].concat();
    let mut reader = RpcReader::new(&body, protocol(TdsVersion::V7_4)).unwrap();
    let error = reader.next_call().unwrap_err();
    assert_eq!(error, DecodeError { at: 11, cause: Cause::EncryptedParameter { ordinal: 0 } });
    assert_eq!(reader.next_call(), Ok(None));
}

#[test]
fn a_table_is_a_parameter() {
    let version = TdsVersion::V7_4;
    let mut default = Column::new("", info(SqlType::Int));
    default.flags = ColumnFlags::DEFAULT;
    let columns = [
        Column::new("", info(SqlType::Int)),
        default,
        Column::new("", info(SqlType::NVarChar { len: None, collation: LATIN1 })),
    ];
    let mut body = Vec::new();
    let mut writer = RpcWriter::new(&Headers::default(), version, &mut body);
    writer.call_by_name("p", RpcFlags(0)).unwrap();
    let mut table = writer.tvp("@t", "dbo", "ids", &columns).unwrap();
    for at in 0..3 {
        let text = Datum::NChar(NText::from_text("x"));
        table.row(&[Datum::Int(at), Datum::Null, text]).unwrap();
    }
    table.end();
    writer.tvp("@none", "", "ids", &[]).unwrap().end();
    writer.parameter("@last", ParameterFlags(0), &info(SqlType::Int), &Datum::Int(9)).unwrap();
    let mut reader = RpcReader::new(&body, protocol(version)).unwrap();
    let call = reader.next_call().unwrap().unwrap();
    let ParameterValue::Table(table) = &call.parameters[0].value else { panic!() };
    assert_eq!(table.name.name.to_string(), "ids");
    assert_eq!(table.row_count, 3);
    assert_eq!(table.rows().count(), 3);
    let second = table.rows().nth(1).unwrap();
    let values: Vec<_> = second.values().map(Result::unwrap).collect();
    assert_eq!(values[0].decode(), Ok(Datum::Int(1)));
    assert!(values[1].is_default && values[1].raw.is_null() && !values[0].is_default);
    let ParameterValue::Table(none) = &call.parameters[1].value else { panic!() };
    assert_eq!((none.columns.as_ref(), none.row_count), (None, 0));
    assert_eq!(call.parameters[2].decode(), Some(Ok(Datum::Int(9))));
}

#[test]
fn hints_of_a_table_are_kept() {
    let bytes = [
        &[0, 0, 1, b't', 0][..],
        &[1, 0, 0, 0, 0, 0, 0, 0, 0x26, 4, 0],
        &[0x10, 1, 0, 1, 0, 5],
        &[0x11, 1, 0, 1, 0],
        &[0, 1, 0, 0],
    ]
    .concat();
    let mut reader = crate::ByteReader::new(&bytes);
    let table = Tvp::read(&mut reader, &protocol(TdsVersion::V7_3A)).unwrap();
    assert!(reader.is_empty());
    assert_eq!(table.order, [TvpOrder { ordinal: 1, flags: 5 }]);
    assert_eq!(table.column_ordering, [1]);
    assert_eq!(table.row_count, 1);
    let error = Tvp::read(&mut crate::ByteReader::new(&bytes), &protocol(TdsVersion::V7_2));
    assert!(matches!(error.unwrap_err().cause, Cause::NotInVersion { .. }));
}

#[test]
fn transaction_requests() {
    let name = units("t1");
    let name = Utf16::from_bytes(&name);
    let none = Utf16::default();
    let next = Some(Next { isolation: Isolation::Snapshot, name });
    let requests = [
        TransactionRequest::Begin { isolation: Isolation::Unchanged, name: none },
        TransactionRequest::Begin { isolation: Isolation::Serializable, name },
        TransactionRequest::Commit { name: none, next: None },
        TransactionRequest::Commit { name, next },
        TransactionRequest::Rollback { name, next: None },
        TransactionRequest::Rollback { name: none, next },
        TransactionRequest::Save { name },
    ];
    let version = TdsVersion::V7_4;
    for request in requests {
        let message = TransactionMessage { headers: Headers::of_transaction(3), request };
        let mut body = Vec::new();
        message.write(version, &mut body).unwrap();
        assert_eq!(TransactionMessage::read(&body, version), Ok(message));
        for end in 0..body.len() {
            assert!(TransactionMessage::read(&body[..end], version).is_err());
        }
    }
    let read = |rest: &[u8]| {
        let body = [&[4, 0, 0, 0][..], rest].concat();
        TransactionMessage::read(&body, version).map(|message| format!("{:?}", message.request))
    };
    // The chained commit of Python clients, and the plain one.
    let chained = read(&[7, 0, 0, 1, 0, 0]).unwrap();
    assert!(chained.contains("Some(Next { isolation: Unchanged"), "{chained}");
    assert!(read(&[7, 0, 0, 0]).unwrap().contains("next: None"));
    assert_eq!(read(&[6, 0, 1, 2]).unwrap(), "Promote");
    assert!(read(&[4, 0]).is_err());
    assert!(read(&[5, 0, 6, 0]).is_err(), "isolation level 6");
}

#[test]
fn the_bulk_load_of_the_protocol_description() {
    // 4.12 of the public protocol description: a column of type bit, one row.
    let body = [
        0x81, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0x00, 0x32, 0x02, 0x63, 0x00, 0x31, 0x00,
        0xD1, 0x00, 0xFD, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    ];
    for cut in 0..body.len() {
        let mut decoder = BulkDecoder::new(protocol(TdsVersion::V7_4), 1000);
        let mut events = Vec::new();
        for piece in [&body[..cut], &body[cut..]] {
            decoder.push(piece);
            while let Some(event) = decoder.next_event().unwrap() {
                events.push(match event {
                    BulkEvent::Columns(columns) => columns[0].name.clone(),
                    BulkEvent::Row(row) => format!("{:?}", row.to_values().unwrap()),
                    BulkEvent::Done => "done".to_owned(),
                });
            }
        }
        assert_eq!(events, ["c1", "[Bit(false)]", "done"]);
        assert!(decoder.is_done());
    }
}

#[test]
fn a_bulk_load_can_end_with_a_done_of_four_bytes_fewer() {
    let version = TdsVersion::V7_4;
    let columns = [Column::new("c", info(SqlType::Int))];
    let mut body = Vec::new();
    col_metadata::write(&columns, version, ColumnSource::BulkLoad, &mut body).unwrap();
    body.extend([0xFD, 0, 0, 0, 0, 0, 0, 0, 0]);
    let mut decoder = BulkDecoder::new(protocol(version), 1000);
    decoder.push(&body);
    assert_eq!(decoder.next_event(), Ok(Some(BulkEvent::Columns(&columns))));
    assert_eq!(decoder.next_event(), Ok(None), "the rest may follow");
    decoder.end();
    assert_eq!(decoder.next_event(), Ok(Some(BulkEvent::Done)));
    assert_eq!(decoder.next_event(), Ok(None), "and it is not seen again");
    assert!(decoder.is_done());
}

#[test]
fn bulk_columns_name_their_table_in_one_piece() {
    let version = TdsVersion::V7_4;
    let mut text = Column::new("c", info(SqlType::NText { collation: LATIN1 }));
    text.table = vec!["dbo.t".to_owned()];
    let columns = [text];
    let mut body = Vec::new();
    col_metadata::write(&columns, version, ColumnSource::BulkLoad, &mut body).unwrap();
    let value = Datum::NChar(NText::from_text("é"));
    row::write(&columns, std::slice::from_ref(&value), &mut body).unwrap();
    let mut decoder = BulkDecoder::new(protocol(version), 1000);
    decoder.push(&body);
    assert_eq!(decoder.next_event(), Ok(Some(BulkEvent::Columns(&columns))));
    let Ok(Some(BulkEvent::Row(row))) = decoder.next_event() else { panic!() };
    assert_eq!(row.to_values(), Ok(vec![value]));
    assert_eq!(decoder.next_event(), Ok(None));
    assert!(!decoder.is_done());
    decoder.end();
    assert_eq!(decoder.next_event(), Ok(Some(BulkEvent::Done)), "some clients send no DONE");
    assert_eq!(decoder.next_event(), Ok(None));
    assert!(decoder.is_done());
}

#[test]
fn a_message_that_ends_inside_a_row_or_before_the_columns_is_no_load() {
    let version = TdsVersion::V7_4;
    let columns = [Column::new("c", info(SqlType::Int))];
    let mut body = Vec::new();
    col_metadata::write(&columns, version, ColumnSource::BulkLoad, &mut body).unwrap();
    body.extend([row::TOKEN, 4, 1]);
    let mut decoder = BulkDecoder::new(protocol(version), 1000);
    decoder.push(&body);
    decoder.end();
    assert_eq!(decoder.next_event(), Ok(Some(BulkEvent::Columns(&columns))));
    assert!(decoder.next_event().unwrap_err().is_incomplete());
    assert!(!decoder.is_done());
    let mut decoder = BulkDecoder::new(protocol(version), 1000);
    decoder.end();
    assert_eq!(decoder.next_event(), Ok(None));
    assert!(!decoder.is_done());
}

#[test]
fn a_bulk_load_has_columns_rows_and_an_end_and_nothing_else() {
    let version = TdsVersion::V7_4;
    let columns = [Column::new("c", info(SqlType::Int))];
    let mut metadata = Vec::new();
    col_metadata::write(&columns, version, ColumnSource::BulkLoad, &mut metadata).unwrap();
    let done = Done {
        kind: DoneKind::Statement,
        status: DoneStatus::FINAL,
        command: 0,
        rows: 0,
    };
    let mut end = Vec::new();
    done.write(version, &mut end);
    let refused = |parts: &[&[u8]]| {
        let mut decoder = BulkDecoder::new(protocol(version), 1000);
        decoder.push(&parts.concat());
        loop {
            match decoder.next_event() {
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(error) => return Some(error.cause),
            }
        }
    };
    assert_eq!(refused(&[&metadata, &end]), None);
    assert_eq!(refused(&[&end]), Some(Cause::Token { token: 0xFD }));
    assert_eq!(refused(&[&metadata, &metadata]), Some(Cause::Token { token: 0x81 }));
    assert_eq!(refused(&[&metadata, &end, &[0xD1]]), Some(Cause::Token { token: 0xD1 }));
    assert_eq!(refused(&[&metadata, &[0xAA]]), Some(Cause::Token { token: 0xAA }));
    let as_before = [0x81, 0xFF, 0xFF];
    assert_eq!(refused(&[&as_before]), Some(Cause::NoColumns));
}

#[test]
fn a_federated_token_is_recognised() {
    let plain = [6, 0, 0, 0, 2, 0, 0, 0, 7, 8];
    let expected = FedAuthToken { token: &[7, 8], nonce: None };
    assert_eq!(FedAuthToken::read(&plain), Ok(expected));
    let with_nonce = [&[38, 0, 0, 0, 2, 0, 0, 0, 7, 8][..], &[1; 32]].concat();
    assert_eq!(FedAuthToken::read(&with_nonce).unwrap().nonce, Some([1; 32]));
    assert!(FedAuthToken::read(&with_nonce[..41]).is_err());
}
