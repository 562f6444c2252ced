//! Feature extensions of LOGIN7, and what of them FEATUREEXTACK answers.

use crate::error::DecodeError;
use crate::reader::ByteReader;

/// End of the list.
pub(crate) const TERMINATOR: u8 = 0xFF;

/// A feature that a client can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FeatureId {
    /// The session survives a lost connection.
    SessionRecovery,
    /// A token instead of a password.
    FederatedAuthentication,
    /// Always Encrypted.
    ColumnEncryption,
    /// Distributed transactions.
    GlobalTransactions,
    /// Azure SQL.
    AzureSqlSupport,
    /// Sensitivity labels with results.
    DataClassification,
    /// Char types in UTF-8.
    Utf8Support,
    /// Azure SQL's DNS caching.
    DnsCaching,
    /// The json type.
    Json,
    /// The vector type.
    Vector,
    /// Routing with a database name.
    EnhancedRouting,
    /// Text that describes the client.
    UserAgent,
}

impl FeatureId {
    /// The feature of a number.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<FeatureId> {
        Some(match byte {
            0x01 => FeatureId::SessionRecovery,
            0x02 => FeatureId::FederatedAuthentication,
            0x04 => FeatureId::ColumnEncryption,
            0x05 => FeatureId::GlobalTransactions,
            0x08 => FeatureId::AzureSqlSupport,
            0x09 => FeatureId::DataClassification,
            0x0A => FeatureId::Utf8Support,
            0x0B => FeatureId::DnsCaching,
            0x0D => FeatureId::Json,
            0x0E => FeatureId::Vector,
            0x0F => FeatureId::EnhancedRouting,
            0x10 => FeatureId::UserAgent,
            _ => return None,
        })
    }

    /// The number in the extension block.
    #[must_use]
    pub fn byte(self) -> u8 {
        match self {
            FeatureId::SessionRecovery => 0x01,
            FeatureId::FederatedAuthentication => 0x02,
            FeatureId::ColumnEncryption => 0x04,
            FeatureId::GlobalTransactions => 0x05,
            FeatureId::AzureSqlSupport => 0x08,
            FeatureId::DataClassification => 0x09,
            FeatureId::Utf8Support => 0x0A,
            FeatureId::DnsCaching => 0x0B,
            FeatureId::Json => 0x0D,
            FeatureId::Vector => 0x0E,
            FeatureId::EnhancedRouting => 0x0F,
            FeatureId::UserAgent => 0x10,
        }
    }
}

/// A feature with its data, known or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    /// Number; [`FeatureId::from_byte`] names the known ones.
    pub id: u8,
    /// As it came.
    pub data: Vec<u8>,
}

impl Feature {
    /// A known feature.
    #[must_use]
    pub fn new(id: FeatureId, data: &[u8]) -> Feature {
        Feature { id: id.byte(), data: data.to_vec() }
    }
}

/// Reads a list up to its terminator.
pub(crate) fn read(reader: &mut ByteReader<'_>) -> Result<Vec<Feature>, DecodeError> {
    let mut features = Vec::new();
    loop {
        let id = reader.u8()?;
        if id == TERMINATOR {
            return Ok(features);
        }
        let length = reader.length_u32()?;
        features.push(Feature { id, data: reader.take(length)?.to_vec() });
    }
}

/// Appends a list and its terminator.
pub(crate) fn write(features: &[Feature], out: &mut Vec<u8>) {
    for feature in features {
        out.push(feature.id);
        out.extend((feature.data.len() as u32).to_le_bytes());
        out.extend_from_slice(&feature.data);
    }
    out.push(TERMINATOR);
}
