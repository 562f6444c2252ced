//! Bits, checksums and digests.

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use extentdb_types::SqlType;

use crate::constant::Constant;
use crate::error::{EvalError, EvalResult};
use crate::operator::digest::Algorithm;
use crate::operator::row::{Call, Cell, Outcome, first};
use crate::operator::{cast, codec};
use crate::type_facts;

/// Bits of an integer type.
fn width(ty: &SqlType) -> u32 {
    match ty {
        SqlType::Bit => 1,
        SqlType::TinyInt => 8,
        SqlType::SmallInt => 16,
        SqlType::Int => 32,
        _ => 64,
    }
}

/// The low bits of an integer.
fn low_bits(value: i64, ty: &SqlType) -> u64 {
    value as u64 & (u64::MAX >> (64 - width(ty)))
}

/// Bits as a value of an integer type.
fn signed(bits: u64, ty: &SqlType) -> i64 {
    match ty {
        SqlType::Bit | SqlType::TinyInt => bits as i64,
        _ => {
            let unused = 64 - width(ty);
            (bits << unused) as i64 >> unused
        }
    }
}

/// LEFT_SHIFT and RIGHT_SHIFT; [`Call::number`] is 1 or -1. A negative count shifts the other way.
pub fn shift(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [value, count] = first::<2>(cells);
    let left = count.int() * call.number;
    let ty = call.ty(0);
    if let Cell::Bytes(bytes) = value {
        shift_bytes(bytes, left, to);
        return Ok(Outcome::Bytes);
    }
    let bits = low_bits(value.int(), ty);
    let by = u32::try_from(left.unsigned_abs()).unwrap_or(u32::MAX);
    let shifted = if left >= 0 { bits.checked_shl(by) } else { bits.checked_shr(by) };
    let shifted = shifted.unwrap_or(0) & (u64::MAX >> (64 - width(ty)));
    Ok(Outcome::Int(signed(shifted, ty)))
}

fn shift_bytes(bytes: &[u8], left: i64, to: &mut Vec<u8>) {
    let count = bytes.len() as i64 * 8;
    let bit = |at: i64| {
        let byte = usize::try_from(at / 8).ok().filter(|_| (0..count).contains(&at));
        byte.and_then(|byte| bytes.get(byte)).map_or(0, |byte| byte >> (7 - at % 8) & 1)
    };
    for byte in 0..bytes.len() as i64 {
        to.push((0..8).fold(0, |value, at| value << 1 | bit(byte * 8 + at + left)));
    }
}

/// BIT_COUNT.
pub fn bit_count(call: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [value] = first::<1>(cells);
    let count = match value {
        Cell::Bytes(bytes) => bytes.iter().map(|byte| i64::from(byte.count_ones())).sum(),
        value => i64::from(low_bits(value.int(), call.ty(0)).count_ones()),
    };
    Ok(Outcome::Int(count))
}

/// A bit's byte from the end and its place there; an error outside of the value.
fn place(offset: Cell<'_>, bits: usize) -> EvalResult<usize> {
    let offset = usize::try_from(offset.int()).map_err(|_| EvalError::Value)?;
    if offset < bits { Ok(offset) } else { Err(EvalError::Value) }
}

/// GET_BIT.
pub fn bit_at(call: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [value, offset] = first::<2>(cells);
    let bit = match value {
        Cell::Bytes(bytes) => {
            let at = place(offset, bytes.len() * 8)?;
            bytes.iter().nth_back(at / 8).map_or(0, |byte| byte >> (at % 8) & 1)
        }
        value => {
            let at = place(offset, width(call.ty(0)) as usize)?;
            (low_bits(value.int(), call.ty(0)) >> at & 1) as u8
        }
    };
    Ok(Outcome::Int(bit.into()))
}

/// SET_BIT: the value, the offset, the bit.
pub fn set_bit(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [value, offset, bit] = first::<3>(cells);
    let is_set = bit.int() != 0;
    match value {
        Cell::Bytes(bytes) => {
            let at = place(offset, bytes.len() * 8)?;
            to.extend_from_slice(bytes);
            let mask = 1u8 << (at % 8);
            if let Some(byte) = to.iter_mut().nth_back(at / 8) {
                *byte = if is_set { *byte | mask } else { *byte & !mask };
            }
            Ok(Outcome::Bytes)
        }
        value => {
            let ty = call.ty(0);
            let mask = 1u64 << place(offset, width(ty) as usize)?;
            let bits = low_bits(value.int(), ty);
            Ok(Outcome::Int(signed(if is_set { bits | mask } else { bits & !mask }, ty)))
        }
    }
}

/// BINARY_CHECKSUM, and with [`Call::number`] 1 CHECKSUM, whose texts count by their sort key. The
/// values are not those of SQL Server but for single integers.
pub fn checksum(call: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let mut sum = 0u32;
    for (cell, ty) in cells.iter().zip(&call.types) {
        let own = match (cell, ty) {
            (Cell::Null, _) => 0x7FFF_FFFF,
            (Cell::Int(value), _) if width(ty) <= 32 => *value as u32,
            (Cell::Bytes(bytes), ty) if type_facts::is_text(ty) => {
                text_checksum(ty, bytes, call.number == 1)
            }
            (cell, ty) => bytes_checksum(&cast::binary_of(ty, *cell)?),
        };
        sum = sum.rotate_left(4) ^ own;
    }
    Ok(Outcome::Int(i64::from(sum as i32)))
}

fn bytes_checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0u32, |sum, byte| sum.rotate_left(4) ^ u32::from(*byte))
}

fn text_checksum(ty: &SqlType, bytes: &[u8], is_collated: bool) -> u32 {
    match ty.collation().filter(|_| is_collated) {
        Some(collation) if type_facts::is_wide_text(ty) => {
            bytes_checksum(collation.sort_key_nchar(bytes).bytes())
        }
        Some(collation) => bytes_checksum(collation.sort_key_char(bytes).bytes()),
        None => {
            let unit: &[u8] = if type_facts::is_wide_text(ty) { b" \0" } else { b" " };
            let mut rest = bytes;
            while let Some(shorter) = rest.strip_suffix(unit) {
                rest = shorter;
            }
            bytes_checksum(rest)
        }
    }
}

/// The name of an algorithm that is not here, MD2 and MD4.
pub fn old_algorithm(name: &Constant) -> Option<String> {
    let Constant::Bytes(bytes) = name else { return None };
    let name: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
    let name = String::from_utf8_lossy(&name).to_ascii_uppercase();
    matches!(name.as_str(), "MD2" | "MD4").then_some(name)
}

/// HASHBYTES: the algorithm, the value; NULL for an algorithm that is none.
pub fn hash_bytes(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [algorithm, value] = first::<2>(cells);
    let name = codec::decode(call.ty(0), algorithm.bytes());
    let bytes = value.bytes();
    match Algorithm::named(name.trim_end()) {
        Some(Algorithm::Md5) => to.extend(Md5::digest(bytes)),
        Some(Algorithm::Sha1) => to.extend(Sha1::digest(bytes)),
        Some(Algorithm::Sha256) => to.extend(Sha256::digest(bytes)),
        Some(Algorithm::Sha512) => to.extend(Sha512::digest(bytes)),
        None => return Ok(Outcome::Null),
    }
    Ok(Outcome::Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_shift_within_their_type() {
        assert_eq!(signed(low_bits(-1, &SqlType::Int) >> 1, &SqlType::Int), i64::from(i32::MAX));
        let mut shifted = Vec::new();
        shift_bytes(&[0x12, 0x34], 4, &mut shifted);
        assert_eq!(shifted, [0x23, 0x40]);
        shifted.clear();
        shift_bytes(&[0x12, 0x34], -4, &mut shifted);
        assert_eq!(shifted, [0x01, 0x23]);
    }
}
