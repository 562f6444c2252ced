//! Every type, compressed as the published descriptions say, comes back as the bytes that an
//! uncompressed row has.

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_format::record::compressed::value::{compress_value, decompress_value};
use extentdb_format::record::vardecimal::{Magnitude, write_vardecimal};
use extentdb_types::{Collation, SqlType};

const COLLATION: Collation = Collation(0x0000_d008);

/// Big-endian in the fewest bytes, biased.
fn signed(value: i64) -> Vec<u8> {
    if value == 0 {
        return Vec::new();
    }
    let bytes =
        (1..8).find(|n| (-(1i64 << (8 * n - 1))..1 << (8 * n - 1)).contains(&value)).unwrap_or(8);
    let biased = i128::from(value) + (1i128 << (8 * bytes - 1));
    biased.to_be_bytes()[16 - bytes..].to_vec()
}

fn without_end(bytes: &[u8], filler: &[u8]) -> Vec<u8> {
    let mut bytes = bytes;
    while let Some(rest) = bytes.strip_suffix(filler) {
        bytes = rest;
    }
    bytes.to_vec()
}

fn without_start(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().skip_while(|byte| *byte == 0).collect()
}

/// UTF-16 as compressed text where that is shorter, in an odd number of bytes.
fn text(utf16: &[u8]) -> Vec<u8> {
    let units: Vec<u16> =
        utf16.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    let is_plain = |unit: &u16| (0x20..0x100).contains(unit) || matches!(unit, 0 | 9 | 10 | 13);
    let mut out: Vec<u8> = Vec::new();
    if units.iter().all(is_plain) {
        out.extend(units.iter().map(|unit| *unit as u8));
    } else {
        out.push(0x0f);
        for unit in &units {
            let quote = (0xe000..0xf300).contains(unit);
            out.extend(quote.then_some(0xf0));
            out.extend_from_slice(&unit.to_be_bytes());
        }
    }
    if out.len().is_multiple_of(2) && !out.is_empty() {
        out.push(0x10);
    }
    if out.len() < utf16.len() { out } else { utf16.to_vec() }
}

fn compress(ty: &SqlType, plain: &[u8]) -> Vec<u8> {
    let integer = || {
        let mut bytes = [if plain.last().is_some_and(|b| b & 0x80 != 0) { 0xff } else { 0 }; 8];
        bytes[..plain.len()].copy_from_slice(plain);
        i64::from_le_bytes(bytes)
    };
    match *ty {
        SqlType::SmallInt
        | SqlType::Int
        | SqlType::BigInt
        | SqlType::Money
        | SqlType::SmallMoney
        | SqlType::DateTime => signed(integer()),
        SqlType::TinyInt | SqlType::Binary { .. } => without_end(plain, &[0]),
        SqlType::Date
        | SqlType::Time { .. }
        | SqlType::DateTime2 { .. }
        | SqlType::DateTimeOffset { .. } => without_end(plain, &[0]),
        SqlType::RowVersion | SqlType::Float | SqlType::Real | SqlType::SmallDateTime => {
            without_start(plain)
        }
        SqlType::Char { .. } => without_end(plain, b" "),
        SqlType::NChar { .. } => text(&without_end_of_pairs(plain)),
        SqlType::NVarChar { len: Some(_), .. } => text(plain),
        SqlType::UniqueIdentifier if plain.iter().all(|byte| *byte == 0) => Vec::new(),
        SqlType::Decimal { scale, .. } => {
            let mut digits = [0; 16];
            digits[..plain.len() - 1].copy_from_slice(&plain[1..]);
            let mut out = Vec::new();
            let value = Magnitude {
                is_negative: plain[0] == 0,
                digits: u128::from_le_bytes(digits),
            };
            write_vardecimal(value, scale, &mut out);
            out
        }
        _ => plain.to_vec(),
    }
}

fn without_end_of_pairs(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes;
    while let Some(rest) = bytes.strip_suffix(b" \0") {
        bytes = rest;
    }
    bytes.to_vec()
}

/// Bytes of an uncompressed value: often small, with runs of what compression leaves out.
fn plain(ty: &SqlType, rng: &mut SplitMix64) -> Vec<u8> {
    let len = ty.fixed_bytes().unwrap_or_else(|| 2 * rng.below(20) as usize);
    if let SqlType::Decimal { precision, .. } = *ty {
        let wide = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
        let digits = wide % 10u128.pow(rng.below(u64::from(precision) + 1) as u32);
        let sign = u8::from(digits == 0 || rng.below(2) == 0);
        return std::iter::once(sign).chain(digits.to_le_bytes()).take(len).collect();
    }
    let from = rng.below(len as u64 + 1) as usize;
    let to = rng.below(len as u64 + 1) as usize;
    let filler = [0u8, b' ', 0xff][rng.below(3) as usize];
    let mut bytes: Vec<u8> = (0..len)
        .map(|at| if (from..to).contains(&at) { rng.next_u64() as u8 } else { filler })
        .collect();
    if matches!(ty, SqlType::NChar { .. } | SqlType::NVarChar { .. }) && rng.below(3) > 0 {
        // Mostly Latin text, some of it with characters beyond.
        for pair in bytes.chunks_mut(2) {
            pair[1] = if rng.below(40) == 0 { 0x4e } else { 0 };
            pair[0] = pair[0].max(0x20);
        }
    }
    bytes
}

#[test]
fn values_of_every_type_survive_compression() {
    let mut types = vec![
        SqlType::TinyInt,
        SqlType::SmallInt,
        SqlType::Int,
        SqlType::BigInt,
        SqlType::Money,
        SqlType::SmallMoney,
        SqlType::Float,
        SqlType::Real,
        SqlType::DateTime,
        SqlType::SmallDateTime,
        SqlType::Date,
        SqlType::Char { len: 30, collation: COLLATION },
        SqlType::VarChar { len: Some(60), collation: COLLATION },
        SqlType::NChar { len: 30, collation: COLLATION },
        SqlType::NVarChar { len: Some(60), collation: COLLATION },
        SqlType::NVarChar { len: None, collation: COLLATION },
        SqlType::Binary { len: 12 },
        SqlType::VarBinary { len: Some(60) },
        SqlType::RowVersion,
        SqlType::UniqueIdentifier,
        SqlType::SqlVariant,
        SqlType::Xml,
    ];
    types.extend((0..8).flat_map(|scale| {
        [SqlType::Time { scale }, SqlType::DateTime2 { scale }, SqlType::DateTimeOffset { scale }]
    }));
    types.extend(
        [(1, 0), (9, 4), (19, 19), (28, 3), (38, 20)]
            .map(|(precision, scale)| SqlType::Decimal { precision, scale }),
    );
    let mut rng = SplitMix64::new(21);
    let mut before = 0;
    let mut after = 0;
    for ty in &types {
        for _ in 0..2_000 {
            let plain = plain(ty, &mut rng);
            let compressed = compress(ty, &plain);
            (before, after) = (before + plain.len(), after + compressed.len());
            let back = decompress_value(ty, &compressed);
            assert_eq!(back.as_deref(), Ok(&plain[..]), "{ty} from {compressed:02x?}");
            let mut written = Vec::new();
            compress_value(ty, &plain, &mut written);
            let back = decompress_value(ty, &written);
            assert_eq!(back.as_deref(), Ok(&plain[..]), "{ty} from {written:02x?}");
            assert!(written.len() <= compressed.len(), "{ty}: {written:02x?}");
        }
    }
    assert!(after < before * 9 / 10, "{before} bytes became {after}: nothing was compressed");
}
