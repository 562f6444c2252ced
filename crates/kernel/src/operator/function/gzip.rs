//! COMPRESS and DECOMPRESS: GZIP.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use crate::error::{EvalError, EvalResult};
use crate::operator::cast;
use crate::operator::row::{Call, Cell, Outcome, first};

/// Longest value that DECOMPRESS gives; a short text may stand for any length.
const MOST_BYTES: u64 = 512 << 20;

/// COMPRESS: the stored bytes of a value.
pub fn compress(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [value] = first::<1>(cells);
    let bytes = match value {
        Cell::Bytes(bytes) => bytes.to_vec(),
        value => cast::binary_of(call.ty(0), value)?,
    };
    let mut encoder = GzEncoder::new(to, Compression::default());
    encoder.write_all(&bytes).and_then(|()| encoder.try_finish()).map_err(|_| EvalError::Space)?;
    Ok(Outcome::Bytes)
}

/// DECOMPRESS.
pub fn decompress(_: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [value] = first::<1>(cells);
    let mut decoder = MultiGzDecoder::new(value.bytes()).take(MOST_BYTES + 1);
    let read = decoder.read_to_end(to).map_err(|_| EvalError::Value)?;
    if read as u64 > MOST_BYTES { Err(EvalError::Space) } else { Ok(Outcome::Bytes) }
}
