//! What each fuzz target of the protocol does with its bytes. Included by path: from the fuzz
//! targets, and from a plain test of crate `tds`.
//!
//! A body reads its bytes as a message in every version and asserts what must hold whatever they
//! are: it ends, does not panic, allocates no more than what arrived, and what was read is written
//! and read again as the same.

#![allow(dead_code, reason = "every includer uses its own part")]

use extentdb_tds::column::ColumnSource;
use extentdb_tds::packet::{BulkDelivery, Event, Limits, MessageDecoder};
use extentdb_tds::request::{
    BulkDecoder, BulkEvent, FedAuthToken, ParameterValue, RpcCall, RpcReader, SqlBatch,
    TransactionMessage,
};
use extentdb_tds::token::{Token, TokenDecoder};
use extentdb_tds::type_info::Place;
use extentdb_tds::value::write_value;
use extentdb_tds::{Login, Prelogin, Protocol, RowView, TdsVersion, TypeInfo};
use extentdb_types::{Collation, Datum};

const LIMITS: Limits = Limits { packet_bytes_max: 32_767, message_bytes_max: 1 << 20 };
const TOKEN_BYTES_MAX: usize = 1 << 20;

fn protocols() -> impl Iterator<Item = Protocol> {
    let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
    TdsVersion::ALL.into_iter().map(move |version| Protocol::new(version, collation))
}

/// Packets, in pieces and at once: the messages are the same.
pub(crate) fn packet(data: &[u8]) {
    for bulk in [BulkDelivery::Whole, BulkDelivery::Parts] {
        let whole = messages(data, bulk, data.len().max(1));
        let pieces = messages(data, bulk, 7);
        assert!(whole == pieces, "{} and {} messages", whole.len(), pieces.len());
        assert!(whole.iter().map(Vec::len).sum::<usize>() <= data.len());
    }
}

/// The bodies of the messages, and a mark where decoding stopped.
fn messages(data: &[u8], bulk: BulkDelivery, step: usize) -> Vec<Vec<u8>> {
    let mut decoder = MessageDecoder::new(LIMITS, bulk);
    let mut bodies = vec![Vec::new()];
    for mut piece in data.chunks(step) {
        loop {
            match decoder.decode(&mut piece) {
                Ok(None) => break,
                Ok(Some(Event::Message(message))) => bodies.push(message.body),
                Ok(Some(Event::Ignored { .. })) => bodies.push(Vec::new()),
                Ok(Some(Event::BulkPart { bytes, is_last, .. })) => {
                    // Parts are cut where the input is: they are joined here.
                    if let Some(last) = bodies.last_mut() {
                        last.extend(bytes);
                    }
                    if is_last {
                        bodies.push(Vec::new());
                    }
                }
                Err(_) => return bodies,
            }
        }
    }
    bodies
}

/// PRELOGIN.
pub(crate) fn prelogin(data: &[u8]) {
    let Ok(prelogin) = Prelogin::read(data) else { return };
    let mut out = Vec::new();
    if prelogin.write(&mut out).is_ok() {
        assert_eq!(Prelogin::read(&out), Ok(prelogin));
    }
}

/// LOGIN7.
pub(crate) fn login(data: &[u8]) {
    let Ok(mut login) = Login::read(data) else { return };
    let mut out = Vec::new();
    if login.write(&mut out).is_ok() {
        let mut again = Login::read(&out).expect("what was written can be read");
        // The flag for the extension block is derived.
        login.flags.option3 |= 0x10;
        again.flags.option3 |= 0x10;
        assert_eq!(again, login);
    }
}

/// RPC, and the other requests that are read from a whole message.
pub(crate) fn rpc(data: &[u8]) {
    for protocol in protocols() {
        let _ = SqlBatch::read(data, protocol.version());
        let _ = TransactionMessage::read(data, protocol.version());
        let Ok(mut reader) = RpcReader::new(data, protocol) else { continue };
        let mut parameters = 0;
        while let Ok(Some(call)) = reader.next_call() {
            parameters += call.parameters.len();
            read_call(&call);
        }
        assert!(parameters <= data.len());
    }
    let _ = FedAuthToken::read(data);
}

fn read_call(call: &RpcCall<'_>) {
    for parameter in &call.parameters {
        let _ = (parameter.decode_text(), parameter.name.to_string());
        match &parameter.value {
            ParameterValue::Scalar { type_info, .. } => {
                if let Some(Ok(value)) = parameter.decode() {
                    write_again(type_info, Place::Parameter, &value);
                }
            }
            ParameterValue::Table(table) => {
                assert_eq!(table.rows().count(), table.row_count);
                table.rows().for_each(|row| read_row(&row));
            }
        }
    }
}

fn read_row(row: &RowView<'_>) {
    let mut values = 0;
    for value in row.values() {
        values += 1;
        let Ok(value) = value else { return };
        if let Ok(decoded) = value.decode() {
            write_again(&value.column.type_info, Place::Column, &decoded);
        }
    }
    assert_eq!(values, row.columns().len());
}

/// A value that was read can be written as its type, if it has one of its own width.
fn write_again(info: &TypeInfo, place: Place, value: &Datum<'_>) {
    let mut out = Vec::new();
    if write_value(info, place, value, &mut out).is_ok() {
        let mut reader = extentdb_tds::ByteReader::new(&out);
        let again = extentdb_tds::value::read_value(info, place, &mut reader);
        let again = again.expect("what was written can be read");
        // NaN is not equal to itself.
        assert_eq!(format!("{again:?}"), format!("{value:?}"));
        assert!(reader.is_empty());
    }
}

/// A bulk load, in pieces and at once: the events are the same.
pub(crate) fn bulk(data: &[u8]) {
    for protocol in protocols() {
        let whole = bulk_rows(data, protocol, data.len().max(1));
        let pieces = bulk_rows(data, protocol, 5);
        assert_eq!(whole, pieces);
        assert!(whole <= data.len());
    }
}

fn bulk_rows(data: &[u8], protocol: Protocol, step: usize) -> usize {
    let mut decoder = BulkDecoder::new(protocol, TOKEN_BYTES_MAX);
    let mut rows = 0;
    for piece in data.chunks(step) {
        decoder.push(piece);
        while let Ok(Some(event)) = decoder.next_event() {
            if let BulkEvent::Row(row) = event {
                read_row(&row);
                rows += 1;
            }
        }
    }
    decoder.end();
    while let Ok(Some(_)) = decoder.next_event() {}
    rows
}

/// What a server answers, as a client reads it.
pub(crate) fn tokens(data: &[u8]) {
    for protocol in protocols() {
        let mut counts = [0, 0];
        for (step, count) in [data.len().max(1), 11].into_iter().zip(&mut counts) {
            let mut decoder = TokenDecoder::new(protocol, ColumnSource::Result, TOKEN_BYTES_MAX);
            for piece in data.chunks(step) {
                decoder.push(piece);
                while let Ok(Some(token)) = decoder.next_token() {
                    *count += 1;
                    if let Token::Row(row) = token {
                        read_row(&row);
                    }
                }
            }
            assert!(decoder.position() <= data.len());
        }
        assert_eq!(counts[0], counts[1]);
        assert!(counts[0] <= data.len());
    }
}
