//! Which SQL Server a version number belongs to.

use std::fmt;

use crate::allocation::field::Field;

/// Version of the database format. Prints the product: `SQL Server 2008 R2 (661)`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DatabaseVersion(pub u16);

/// First version of each product, previews counted to the product they led to. Published lists of
/// internal version numbers; those of released products are also in the files this was tested with.
const PRODUCTS: &[(u16, &str)] = &[
    (515, "SQL Server 7.0"),
    (516, "SQL Server 2000 (preview)"),
    (539, "SQL Server 2000"),
    (540, "SQL Server 2005 (preview)"),
    (611, "SQL Server 2005"),
    (612, "SQL Server 2005 SP2 with vardecimal"),
    (613, "SQL Server 2008 (preview)"),
    (655, "SQL Server 2008"),
    (656, "SQL Server 2008 R2 (preview)"),
    (660, "SQL Server 2008 R2"),
    (666, "SQL Server 2012 (preview)"),
    (706, "SQL Server 2012"),
    (707, "SQL Server 2014 (preview)"),
    (782, "SQL Server 2014"),
    (783, "SQL Server 2016 (preview)"),
    (852, "SQL Server 2016"),
    (853, "SQL Server 2017 (preview)"),
    (868, "SQL Server 2017"),
    (870, "SQL Server 2019 (preview)"),
    (904, "SQL Server 2019"),
    (905, "SQL Server 2022 (preview)"),
    (957, "SQL Server 2022"),
    (958, "SQL Server 2025 (preview)"),
    (998, "SQL Server 2025"),
];

impl DatabaseVersion {
    /// The oldest version whose catalog ExtentDB knows: SQL Server 2005.
    pub const OLDEST_READ: DatabaseVersion = DatabaseVersion(611);
    /// The newest version whose catalog was checked against real files.
    pub const NEWEST_VERIFIED: DatabaseVersion = DatabaseVersion(904);
    /// The newest version with a name.
    pub const NEWEST_NAMED: DatabaseVersion = DatabaseVersion(998);

    /// The product; `None` when the number is older or newer than all that are known.
    pub fn product(self) -> Option<&'static str> {
        let known = PRODUCTS.iter().rev().find(|(first, _)| *first <= self.0)?;
        (self <= Self::NEWEST_NAMED).then_some(known.1)
    }

    /// Newer than anything with a name: read the same way, and said so.
    pub fn is_unknown_newer(self) -> bool {
        self > Self::NEWEST_NAMED
    }
}

impl fmt::Display for DatabaseVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.product() {
            Some(product) => write!(f, "{product} ({})", self.0),
            None if self.is_unknown_newer() => {
                let newest = Self::NEWEST_NAMED;
                write!(f, "unknown, newer than {newest} ({})", self.0)
            }
            None => write!(f, "unknown ({})", self.0),
        }
    }
}

/// Build of an engine: major, minor, build. Prints `10.50.1600`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct EngineBuild(pub u32);

impl EngineBuild {
    /// A build from its numbers.
    pub const fn new(major: u8, minor: u8, build: u16) -> Self {
        let [low, high] = build.to_le_bytes();
        EngineBuild(u32::from_le_bytes([low, high, minor, major]))
    }

    /// Major, minor, build.
    pub const fn parts(self) -> (u8, u8, u16) {
        let [low, high, minor, major] = self.0.to_le_bytes();
        (major, minor, u16::from_le_bytes([low, high]))
    }
}

impl fmt::Display for EngineBuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, build) = self.parts();
        write!(f, "{major}.{minor}.{build}")
    }
}

impl Field for EngineBuild {
    const BYTES: usize = 4;

    fn read(bytes: &[u8]) -> Option<Self> {
        u32::read(bytes).map(EngineBuild)
    }

    fn write(&self, out: &mut [u8]) {
        self.0.write(out);
    }
}
