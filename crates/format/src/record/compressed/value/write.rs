//! From the form of an uncompressed row to the compressed form: the counterpart of
//! [`decompress_value`](super::decompress_value).

use extentdb_types::SqlType;

use crate::record::compressed::scsu::encode_scsu;
use crate::record::vardecimal::{Magnitude, write_vardecimal};

/// Appends the compressed form of a value that is not NULL and no bit; nothing for zero or blank.
pub fn compress_value(ty: &SqlType, plain: &[u8], out: &mut Vec<u8>) {
    match *ty {
        SqlType::SmallInt
        | SqlType::Int
        | SqlType::BigInt
        | SqlType::Money
        | SqlType::SmallMoney
        | SqlType::DateTime => signed(plain, out),
        SqlType::RowVersion | SqlType::Float | SqlType::Real | SqlType::SmallDateTime => {
            out.extend(plain.iter().skip_while(|byte| **byte == 0));
        }
        SqlType::TinyInt
        | SqlType::Date
        | SqlType::Time { .. }
        | SqlType::DateTime2 { .. }
        | SqlType::DateTimeOffset { .. }
        | SqlType::Binary { .. } => out.extend_from_slice(without_end(plain, &[0])),
        SqlType::Char { .. } => out.extend_from_slice(without_end(plain, b" ")),
        SqlType::NChar { .. } => text(without_end(plain, b" \0"), out),
        SqlType::NVarChar { len: Some(_), .. } => text(plain, out),
        SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => {
            decimal(plain, scale, out)
        }
        SqlType::UniqueIdentifier if plain.iter().all(|byte| *byte == 0) => {}
        _ => out.extend_from_slice(plain),
    }
}

/// Big-endian in the fewest bytes, where *n* bytes reach from -2^(8n-1) to 2^(8n-1) - 1; nothing
/// for 0.
fn signed(plain: &[u8], out: &mut Vec<u8>) {
    let is_negative = plain.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut wide = [if is_negative { 0xff } else { 0 }; 8];
    wide.iter_mut().zip(plain).for_each(|(to, from)| *to = *from);
    let value = i64::from_le_bytes(wide);
    if value == 0 {
        return;
    }
    let fits = |bytes: &usize| (-(1i64 << (8 * bytes - 1))..1 << (8 * bytes - 1)).contains(&value);
    let bytes = (1..8usize).find(fits).unwrap_or(8);
    let biased = i128::from(value) + (1i128 << (8 * bytes - 1));
    out.extend(biased.to_be_bytes().iter().skip(16 - bytes));
}

fn without_end<'a>(bytes: &'a [u8], filler: &[u8]) -> &'a [u8] {
    let mut bytes = bytes;
    while let Some(rest) = bytes.strip_suffix(filler) {
        bytes = rest;
    }
    bytes
}

/// Compressed where that is shorter: its number of bytes is odd, that of UTF-16 is even.
fn text(utf16: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    encode_scsu(utf16, out);
    if out.len() - start >= utf16.len() {
        out.truncate(start);
        out.extend_from_slice(utf16);
    }
}

fn decimal(plain: &[u8], scale: u8, out: &mut Vec<u8>) {
    let Some((sign, magnitude)) = plain.split_first() else { return };
    let mut digits = [0; 16];
    digits.iter_mut().zip(magnitude).for_each(|(to, from)| *to = *from);
    write_vardecimal(
        Magnitude { is_negative: *sign == 0, digits: u128::from_le_bytes(digits) },
        scale,
        out,
    );
}
