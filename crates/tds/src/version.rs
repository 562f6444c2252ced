//! Protocol versions, and what differs between them.
//!
//! ```text
//! version  LOGIN7 (u32 LE)  LOGINACK (u32 BE)  new in it
//! 7.1      0x71000001       71 00 00 01        –
//! 7.2      0x72090002       72 09 00 02        ALL_HEADERS, u32 user types, u64 row counts,
//!                                              (max), xml
//! 7.3.A    0x730A0003       73 0A 00 03        date, time, datetime2, datetimeoffset, table-valued
//!                                              parameters
//! 7.3.B    0x730B0003       73 0B 00 03        NBCROW
//! 7.4      0x74000004       74 00 00 04        feature extensions
//! 8.0      0x08000000       08 00 00 00        TLS outside of TDS; the tokens of 7.4
//! ```

/// A protocol version, ascending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TdsVersion {
    /// SQL Server 2000.
    V7_1,
    /// SQL Server 2005.
    V7_2,
    /// SQL Server 2008.
    V7_3A,
    /// SQL Server 2008 R2.
    V7_3B,
    /// SQL Server 2012.
    V7_4,
    /// SQL Server 2022, "strict" encryption.
    V8_0,
}

impl TdsVersion {
    /// Ascending.
    pub const ALL: [TdsVersion; 6] = [
        TdsVersion::V7_1,
        TdsVersion::V7_2,
        TdsVersion::V7_3A,
        TdsVersion::V7_3B,
        TdsVersion::V7_4,
        TdsVersion::V8_0,
    ];

    /// The version to speak with a client that asks for `raw`: the highest one here that is not
    /// above it; `None` for clients before 7.1.
    #[must_use]
    pub fn from_raw(raw: u32) -> Option<TdsVersion> {
        match raw {
            0x0800_0000..=0x0FFF_FFFF => Some(TdsVersion::V8_0),
            0x7100_0000..=0x71FF_FFFF => Some(TdsVersion::V7_1),
            0x7200_0000..=0x72FF_FFFF => Some(TdsVersion::V7_2),
            0x7300_0000..=0x730A_FFFF => Some(TdsVersion::V7_3A),
            0x730B_0000..=0x73FF_FFFF => Some(TdsVersion::V7_3B),
            0x7400_0000.. => Some(TdsVersion::V7_4),
            _ => None,
        }
    }

    /// The number in LOGIN7 and LOGINACK.
    #[must_use]
    pub fn raw(self) -> u32 {
        match self {
            TdsVersion::V7_1 => 0x7100_0001,
            TdsVersion::V7_2 => 0x7209_0002,
            TdsVersion::V7_3A => 0x730A_0003,
            TdsVersion::V7_3B => 0x730B_0003,
            TdsVersion::V7_4 => 0x7400_0004,
            TdsVersion::V8_0 => 0x0800_0000,
        }
    }

    /// Do requests begin with ALL_HEADERS, and are user types u32 and row counts u64?
    #[must_use]
    pub fn is_7_2_or_later(self) -> bool {
        self >= TdsVersion::V7_2
    }

    /// Are there date, time, datetime2, datetimeoffset and table-valued parameters?
    #[must_use]
    pub fn is_7_3_or_later(self) -> bool {
        self >= TdsVersion::V7_3A
    }

    /// May rows be sent as NBCROW?
    #[must_use]
    pub fn has_nbc_row(self) -> bool {
        self >= TdsVersion::V7_3B
    }

    /// May LOGIN7 have an extension block, and the answer FEATUREEXTACK?
    #[must_use]
    pub fn has_feature_extensions(self) -> bool {
        self >= TdsVersion::V7_4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_read_back_as_its_version() {
        for version in TdsVersion::ALL {
            assert_eq!(TdsVersion::from_raw(version.raw()), Some(version));
        }
    }

    #[test]
    fn later_clients_are_answered_with_the_highest_version_below_theirs() {
        assert_eq!(TdsVersion::from_raw(0x7500_0000), Some(TdsVersion::V7_4));
        assert_eq!(TdsVersion::from_raw(0x7100_0000), Some(TdsVersion::V7_1));
        assert_eq!(TdsVersion::from_raw(0x7000_0000), None);
        assert_eq!(TdsVersion::from_raw(0), None);
    }
}
