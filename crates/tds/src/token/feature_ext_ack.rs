//! FEATUREEXTACK: which feature extensions the server takes.
//!
//! ```text
//! for each feature: id u8, length u32, data; then 0xFF
//! ```

use crate::error::DecodeError;
use crate::login::{Feature, read_features, write_features};
use crate::reader::ByteReader;

/// First byte.
pub const TOKEN: u8 = 0xAE;

/// Reads the features.
pub(crate) fn read(reader: &mut ByteReader<'_>) -> Result<Vec<Feature>, DecodeError> {
    read_features(reader)
}

/// Appends the token. Only for clients that sent an extension block.
pub fn write(features: &[Feature], out: &mut Vec<u8>) {
    out.push(TOKEN);
    write_features(features, out);
}
