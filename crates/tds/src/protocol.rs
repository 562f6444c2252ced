//! What both sides of a session agreed on and must know to read bytes: version and collation.

use extentdb_types::Collation;

use crate::collation::WireCollation;
use crate::version::TdsVersion;

/// Version of the session and default collation of its database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protocol {
    version: TdsVersion,
    collation: Collation,
    wire_collation: WireCollation,
}

impl Protocol {
    /// A session of `version` in a database of `collation`.
    #[must_use]
    pub fn new(version: TdsVersion, collation: Collation) -> Protocol {
        Protocol {
            version,
            collation,
            wire_collation: WireCollation::of(collation),
        }
    }

    /// The version.
    #[must_use]
    pub fn version(&self) -> TdsVersion {
        self.version
    }

    /// The default collation.
    #[must_use]
    pub fn collation(&self) -> Collation {
        self.collation
    }

    /// The default collation as bytes: what five zero bytes mean.
    #[must_use]
    pub fn wire_collation(&self) -> WireCollation {
        self.wire_collation
    }
}
