//! Values that are written in parts, in a column: PLP, and text pointers for old clients.
//!
//! ```text
//! start      PLP: total u64             text pointer: length 16, pointer, timestamp, length u32
//! part       PLP: length u32, bytes     bytes
//! end        PLP: 0 u32                 –
//! ```

use super::encode::write_text_pointer;
use super::layout::ValueLayout;
use super::plp::{BYTES_MAX, write_plp_chunk, write_plp_end, write_plp_start};
use crate::error::EncodeError;
use crate::type_info::{Place, TypeInfo};

/// Begins a value; `bytes` is its length where it is known.
pub fn write_large_start(
    info: &TypeInfo,
    bytes: Option<u64>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let length = bytes.unwrap_or(0);
    if length > BYTES_MAX as u64 {
        let found = usize::try_from(length).unwrap_or(usize::MAX);
        return Err(EncodeError::Length { wire: info.name(), max: BYTES_MAX, found });
    }
    match ValueLayout::of(info, Place::Column) {
        ValueLayout::Plp => write_plp_start(bytes, out),
        ValueLayout::TextPointer if bytes.is_none() => {
            return Err(EncodeError::NotInVersion { what: "a value of unknown length" });
        }
        ValueLayout::TextPointer => {
            write_text_pointer(out);
            out.extend((length as u32).to_le_bytes());
        }
        _ => {
            let value = "large";
            return Err(EncodeError::TypeMismatch { wire: info.name(), value });
        }
    }
    Ok(())
}

/// Appends a part of the value.
pub fn write_large_part(info: &TypeInfo, bytes: &[u8], out: &mut Vec<u8>) {
    if info.is_plp() {
        write_plp_chunk(bytes, out);
    } else {
        out.extend_from_slice(bytes);
    }
}

/// Ends the value.
pub fn write_large_end(info: &TypeInfo, out: &mut Vec<u8>) {
    if info.is_plp() {
        write_plp_end(out);
    }
}
