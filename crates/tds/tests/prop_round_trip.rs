//! Every type in every version: what is written is read, wherever the bytes are cut.

mod support;

use extentdb_tds::column::ColumnSource;
use extentdb_tds::packet::{
    BulkDelivery, Event, Limits, MessageDecoder, PACKET_BYTES_MIN, PacketKind, PacketWriter,
};
use extentdb_tds::request::{
    BulkDecoder, BulkEvent, Headers, ParameterFlags, ProcId, RpcFlags, RpcReader, RpcWriter,
};
use extentdb_tds::token::{Done, DoneKind, DoneStatus, Token, TokenDecoder, col_metadata, row};
use extentdb_tds::type_info::{Nullability, Place, down_level};
use extentdb_tds::value::{date_text::write_date_text, write_stored, write_value};
use extentdb_tds::{Column, Protocol, TdsVersion, TokenWriter, TypeInfo};
use extentdb_types::{Datum, NText, SqlType, UdtKind, Variant};
use proptest::prelude::*;
use support::{LATIN1, SplitMix64, every_type, value_of};

const LIMITS: Limits = Limits { packet_bytes_max: 32_767, message_bytes_max: 1 << 26 };

fn versions() -> impl Strategy<Value = TdsVersion> {
    (0..TdsVersion::ALL.len()).prop_map(|at| TdsVersion::ALL[at])
}

/// What a client of `version` reads for a value of type `ty`.
fn seen(ty: SqlType, value: Datum<'static>, version: TdsVersion) -> Datum<'static> {
    match (ty, value) {
        (_, Datum::Null) => Datum::Null,
        (_, Datum::RowVersion(value)) => Datum::Binary(value.to_be_bytes().to_vec().into()),
        (_, Datum::Udt { bytes, .. }) if !version.is_7_2_or_later() => Datum::Binary(bytes),
        (SqlType::SqlVariant, Datum::Variant(variant)) => {
            let inner_ty = down_level::replaced(variant.ty, version, LATIN1);
            let value = seen(variant.ty, variant.value, version);
            Datum::Variant(Box::new(Variant { ty: inner_ty, value }))
        }
        (_, value) => {
            let mut text = String::new();
            let is_date = write_date_text(&value, &mut text).unwrap();
            if is_date && !version.is_7_3_or_later() {
                Datum::NChar(NText::from_text(&text))
            } else {
                value
            }
        }
    }
}

/// Types, and values of them with NULLs.
struct Case {
    protocol: Protocol,
    types: Vec<SqlType>,
    columns: Vec<Column>,
    values: Vec<Datum<'static>>,
    expected: Vec<Datum<'static>>,
}

impl Case {
    fn of(version: TdsVersion, seed: u64) -> Case {
        let mut rng = SplitMix64::new(seed);
        let protocol = Protocol::new(version, LATIN1);
        let all = every_type();
        let count = 1 + rng.below(20);
        let types: Vec<SqlType> =
            (0..count).map(|_| all[rng.below(all.len() as u64) as usize]).collect();
        let column = |ty: &SqlType| {
            let info = TypeInfo::of(*ty, Nullability::Nullable, &protocol);
            let mut column = Column::new("c", info);
            if column.type_info.has_text_pointer() {
                column.table = vec!["t".to_owned()];
            }
            column
        };
        let columns = types.iter().map(column).collect();
        let mut values = Vec::new();
        for ty in &types {
            let is_null = rng.below(4) == 0;
            values.push(if is_null { Datum::Null } else { value_of(*ty, &mut rng) });
        }
        let expected =
            types.iter().zip(&values).map(|(ty, value)| seen(*ty, value.clone(), version));
        let expected = expected.collect();
        Case { protocol, types, columns, values, expected }
    }
}

fn owned(values: Vec<Datum<'_>>) -> Vec<Datum<'static>> {
    values.into_iter().map(Datum::into_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn rows_come_back_through_packets(version in versions(), seed: u64, step in 1usize..5000) {
        let case = Case::of(version, seed);
        let mut writer = TokenWriter::new(version, PacketWriter::new(PACKET_BYTES_MIN, 51));
        writer.begin();
        writer.columns(&case.columns).unwrap();
        writer.row(&case.columns, &case.values).unwrap();
        writer.nbc_row(&case.columns, &case.values).unwrap();
        writer.begin_row();
        for (column, value) in case.columns.iter().zip(&case.values) {
            writer.cell(column, value).unwrap();
        }
        writer.end();

        let mut messages = MessageDecoder::new(LIMITS, BulkDelivery::Whole);
        let mut input = writer.ready();
        let Some(Event::Message(message)) = messages.decode(&mut input).unwrap() else { panic!() };
        let mut tokens = TokenDecoder::new(case.protocol, ColumnSource::Result, 1 << 26);
        let mut rows = 0;
        for piece in message.body.chunks(step) {
            tokens.push(piece);
            while let Some(token) = tokens.next_token().unwrap() {
                match token {
                    Token::Columns(columns) => prop_assert_eq!(columns, &case.columns[..]),
                    Token::Row(row) => {
                        prop_assert_eq!(&row.to_values().unwrap(), &case.expected);
                        rows += 1;
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        prop_assert_eq!(rows, 3);
    }

    #[test]
    fn parameters_come_back(version in versions(), seed: u64) {
        let case = Case::of(version, seed);
        let mut body = Vec::new();
        let mut writer = RpcWriter::new(&Headers::of_transaction(seed), version, &mut body);
        writer.call(ProcId::ExecuteSql, RpcFlags(0));
        for (column, value) in case.columns.iter().zip(&case.values) {
            writer.parameter("@p", ParameterFlags(0), &column.type_info, value).unwrap();
        }
        let mut reader = RpcReader::new(&body, case.protocol).unwrap();
        let call = reader.next_call().unwrap().unwrap();
        let values = call.parameters.iter().map(|it| it.decode().unwrap().unwrap());
        prop_assert_eq!(values.collect::<Vec<_>>(), case.expected);
    }

    #[test]
    fn bulk_rows_come_back(version in versions(), seed: u64, step in 1usize..5000) {
        let case = Case::of(version, seed);
        let mut body = Vec::new();
        col_metadata::write(&case.columns, version, ColumnSource::BulkLoad, &mut body).unwrap();
        for _ in 0..3 {
            row::write(&case.columns, &case.values, &mut body).unwrap();
        }
        let kind = DoneKind::Statement;
        Done { kind, status: DoneStatus::FINAL, command: 0, rows: 0 }.write(version, &mut body);
        let mut decoder = BulkDecoder::new(case.protocol, 1 << 26);
        let mut rows = Vec::new();
        for piece in body.chunks(step) {
            decoder.push(piece);
            while let Some(event) = decoder.next_event().unwrap() {
                if let BulkEvent::Row(row) = event {
                    rows.push(owned(row.to_values().unwrap()));
                }
            }
        }
        prop_assert!(decoder.is_done());
        prop_assert!(rows.iter().all(|row| *row == case.expected));
        prop_assert_eq!(rows.len(), 3);
    }

    #[test]
    fn stored_bytes_are_written_as_their_values(version in versions(), seed: u64) {
        let case = Case::of(version, seed);
        for ((ty, column), value) in case.types.iter().zip(&case.columns).zip(&case.values) {
            // Rows hold xml as binary XML, which the values here are not.
            if *ty == SqlType::Xml {
                continue;
            }
            let mut stored = Vec::new();
            let is_null = value.is_null();
            if !is_null {
                value.encode(ty, &mut stored).unwrap();
            }
            let stored = (!is_null).then_some(&stored[..]);
            let mut by_value = Vec::new();
            write_value(&column.type_info, Place::Column, value, &mut by_value).unwrap();
            let mut by_bytes = Vec::new();
            write_stored(&column.type_info, Place::Column, ty, stored, &mut by_bytes).unwrap();
            prop_assert_eq!(by_bytes, by_value);
        }
    }

    #[test]
    fn messages_come_back_for_any_packet_size(
        packet_bytes in 512u16..=32_767,
        sizes in prop::collection::vec(0usize..20_000, 0..5),
        step in 1usize..9000,
    ) {
        let mut writer = PacketWriter::new(packet_bytes, 0);
        for size in &sizes {
            writer.begin(PacketKind::SqlBatch, 0);
            writer.body().extend((0..*size).map(|at| at as u8));
            writer.end();
        }
        let mut decoder = MessageDecoder::new(LIMITS, BulkDelivery::Whole);
        let mut found = Vec::new();
        for mut piece in writer.ready().chunks(step) {
            while let Some(event) = decoder.decode(&mut piece).unwrap() {
                let Event::Message(message) = event else { panic!() };
                let expected: Vec<u8> = (0..message.body.len()).map(|at| at as u8).collect();
                prop_assert_eq!(&message.body, &expected);
                found.push(message.body.len());
            }
        }
        prop_assert_eq!(found, sizes);
    }
}

#[test]
fn every_type_has_been_tried_in_every_version() {
    for version in TdsVersion::ALL {
        let protocol = Protocol::new(version, LATIN1);
        let mut rng = SplitMix64::new(1);
        for ty in every_type() {
            for _ in 0..20 {
                let value = value_of(ty, &mut rng);
                let info = TypeInfo::of(ty, Nullability::NotNull, &protocol);
                let columns = [Column::new("c", info)];
                let mut out = Vec::new();
                col_metadata::write(&columns, version, ColumnSource::Result, &mut out).unwrap();
                row::write(&columns, std::slice::from_ref(&value), &mut out).unwrap();
                let mut decoder = TokenDecoder::new(protocol, ColumnSource::Result, 1 << 26);
                decoder.push(&out);
                assert!(matches!(decoder.next_token(), Ok(Some(Token::Columns(_)))));
                let Ok(Some(Token::Row(row))) = decoder.next_token() else { panic!("{ty}") };
                let expected = seen(ty, value, version);
                assert_eq!(row.to_values().unwrap(), [expected], "{ty} {version:?}");
            }
        }
    }
    let udt = SqlType::Udt { len: None, kind: UdtKind::Other };
    assert_eq!(down_level::replaced(udt, TdsVersion::V7_1, LATIN1), SqlType::Image);
}
