//! Damaged messages: never a panic, never a hang. The bodies are those of the fuzz targets, over
//! good messages cut at every byte and changed at random.

mod support;

use extentdb_tds::column::ColumnSource;
use extentdb_tds::login::{Feature, FeatureId, LoginFlags, Password};
use extentdb_tds::packet::{PacketKind, PacketWriter};
use extentdb_tds::prelogin::{Encryption, Prelogin, TraceId};
use extentdb_tds::request::{Headers, ParameterFlags, ProcId, RpcFlags, RpcWriter};
use extentdb_tds::token::{
    Done, DoneKind, DoneStatus, EnvChange, MessageKind, ReturnValue, ReturnValueKind,
    ServerMessage, col_metadata, row,
};
use extentdb_tds::type_info::Nullability;
use extentdb_tds::{Column, ColumnFlags, Login, Protocol, TdsVersion, TokenWriter, TypeInfo};
use extentdb_types::{Datum, SqlType};
use support::{LATIN1, SplitMix64, every_type, value_of};

#[path = "../../../fuzz/tds_bodies.rs"]
mod bodies;

/// Rounds per message; a fuzzer does the rest.
const ROUNDS: usize = 200;
/// Messages above this are not cut at every byte.
const CUTS_MAX: usize = 1_500;

/// One of the ways bytes go wrong.
fn mutate(bytes: &mut Vec<u8>, rng: &mut SplitMix64) {
    let len = bytes.len() as u64;
    if len == 0 {
        return;
    }
    let at = rng.below(len) as usize;
    match rng.below(5) {
        0 => bytes[at] ^= 1 << rng.below(8),
        1 => bytes[at] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF][rng.below(6) as usize],
        2 => bytes.truncate(at),
        3 => {
            let to = rng.below(len) as usize;
            let n = (rng.below(16) as usize).min(bytes.len() - at.max(to));
            bytes.copy_within(at..at + n, to);
        }
        _ => {
            let n = (rng.below(12) as usize).min(bytes.len() - at);
            bytes[at..at + n].fill(rng.next_u64() as u8);
        }
    }
}

fn try_all(body: fn(&[u8]), messages: &[Vec<u8>]) {
    let mut rng = SplitMix64::new(20);
    for message in messages {
        for cut in 0..=message.len().min(CUTS_MAX) {
            body(&message[..cut]);
        }
        for _ in 0..ROUNDS {
            let mut changed = message.clone();
            for _ in 0..=rng.below(4) {
                mutate(&mut changed, &mut rng);
            }
            body(&changed);
        }
    }
    for _ in 0..ROUNDS {
        let noise: Vec<u8> = (0..rng.below(200)).map(|_| rng.next_u64() as u8).collect();
        body(&noise);
    }
}

#[test]
fn packets() {
    let mut messages = Vec::new();
    for kind in [PacketKind::SqlBatch, PacketKind::BulkLoad] {
        let mut writer = PacketWriter::new(512, 0);
        for size in [0, 10, 1200] {
            writer.begin(kind, 0);
            writer.body().extend(vec![7; size]);
            writer.end();
        }
        messages.push(writer.ready().to_vec());
    }
    try_all(bodies::packet, &messages);
}

#[test]
fn prelogin() {
    let prelogin = Prelogin {
        encryption: Some(Encryption::On),
        instance: Some(b"I\0".to_vec()),
        thread_id: Some(vec![1; 4]),
        mars: Some(true),
        trace_id: Some(TraceId { connection_id: [1; 16], activity_id: [2; 16], sequence: 3 }),
        fed_auth_required: Some(true),
        nonce: Some([4; 32]),
        ..Prelogin::default()
    };
    let mut message = Vec::new();
    prelogin.write(&mut message).unwrap();
    try_all(bodies::prelogin, &[message]);
}

#[test]
fn login() {
    let mut messages = Vec::new();
    for version in [TdsVersion::V7_1, TdsVersion::V7_4] {
        let login = Login {
            tds_version: version.raw(),
            flags: LoginFlags { option1: 0xE0, option2: 3, kind: 0, option3: 0 },
            host: "host".to_owned(),
            user: "sa".to_owned(),
            password: Password::new("secret"),
            database: "db".to_owned(),
            sspi: vec![1; 10],
            features: Some(vec![Feature::new(FeatureId::Utf8Support, &[1])]),
            ..Login::default()
        };
        let mut message = Vec::new();
        login.write(&mut message).unwrap();
        messages.push(message);
    }
    try_all(bodies::login, &messages);
}

/// Columns of some types, with a value for each. Values are small: the structure is what is tried.
fn row_of_every_type(version: TdsVersion) -> (Vec<Column>, Vec<Datum<'static>>) {
    let protocol = Protocol::new(version, LATIN1);
    let mut rng = SplitMix64::new(3);
    let mut columns = Vec::new();
    let mut values = Vec::new();
    for ty in every_type() {
        let info = TypeInfo::of(ty, Nullability::Nullable, &protocol);
        let mut column = Column::new("c", info);
        if column.type_info.has_text_pointer() {
            column.table = vec!["t".to_owned()];
        }
        let value = (0..50).map(|_| value_of(ty, &mut rng)).find(|value| is_small(ty, value));
        columns.push(column);
        values.push(value.unwrap_or(Datum::Null));
    }
    (columns, values)
}

fn is_small(ty: SqlType, value: &Datum<'_>) -> bool {
    let mut stored = Vec::new();
    let _ = value.encode(&ty, &mut stored);
    stored.len() < 40
}

#[test]
fn rpc() {
    let mut messages = Vec::new();
    for version in [TdsVersion::V7_1, TdsVersion::V7_4] {
        let (columns, values) = row_of_every_type(version);
        let mut message = Vec::new();
        let mut writer = RpcWriter::new(&Headers::of_transaction(1), version, &mut message);
        writer.call(ProcId::ExecuteSql, RpcFlags(0));
        for (column, value) in columns.iter().zip(&values) {
            writer.parameter("@p", ParameterFlags(1), &column.type_info, value).unwrap();
        }
        writer.call_by_name("sp_who", RpcFlags(0)).unwrap();
        if version.is_7_3_or_later() {
            let mut table = writer.tvp("@t", "dbo", "ids", &columns[..5]).unwrap();
            table.row(&values[..5]).unwrap();
            table.row(&values[..5]).unwrap();
            table.end();
        }
        messages.push(message);
    }
    try_all(bodies::rpc, &messages);
}

#[test]
fn bulk() {
    let mut messages = Vec::new();
    for version in [TdsVersion::V7_1, TdsVersion::V7_4] {
        let (columns, values) = row_of_every_type(version);
        let mut message = Vec::new();
        col_metadata::write(&columns, version, ColumnSource::BulkLoad, &mut message).unwrap();
        row::write(&columns, &values, &mut message).unwrap();
        row::write(&columns, &vec![Datum::Null; columns.len()], &mut message).unwrap();
        let kind = DoneKind::Statement;
        let done = Done { kind, status: DoneStatus::FINAL, command: 0, rows: 0 };
        done.write(version, &mut message);
        messages.push(message);
    }
    try_all(bodies::bulk, &messages);
}

#[test]
fn tokens() {
    let mut messages = Vec::new();
    for version in [TdsVersion::V7_1, TdsVersion::V7_4] {
        let (columns, values) = row_of_every_type(version);
        let mut writer = TokenWriter::new(version, PacketWriter::new(32_767, 0));
        writer.begin();
        writer.env_change(&EnvChange::PacketSize { new: 8000, old: 4096 }).unwrap();
        writer.env_change(&EnvChange::Begin { descriptor: 1 }).unwrap();
        writer.message(&ServerMessage {
            kind: MessageKind::Info,
            number: 1,
            state: 1,
            class: 1,
            text: "t".to_owned(),
            server: "s".to_owned(),
            procedure: "p".to_owned(),
            line: 1,
        });
        writer.columns(&columns).unwrap();
        writer.row(&columns, &values).unwrap();
        writer.nbc_row(&columns, &values).unwrap();
        writer
            .return_value(&ReturnValue {
                ordinal: 0,
                name: "@p".to_owned(),
                kind: ReturnValueKind::Output,
                user_type: 0,
                flags: ColumnFlags::ANY,
                type_info: columns[0].type_info.clone(),
                value: values[0].clone(),
            })
            .unwrap();
        let kind = DoneKind::Procedure;
        writer.done(Done { kind, status: DoneStatus::FINAL, command: 0, rows: 0 });
        writer.end();
        messages.push(writer.ready()[8..].to_vec());
    }
    try_all(bodies::tokens, &messages);
}
