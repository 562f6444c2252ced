//! `dbi_status`: options of a database as bits.

use std::fmt;

use crate::allocation::field::Field;

/// The option bits of the boot page. Prints the names of the bits that are set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[repr(transparent)]
pub struct DatabaseStatus(pub u32);

impl DatabaseStatus {
    /// Bits with a meaning, ascending. Torn-page detection, checksum and clean shutdown are
    /// observed (they agree with page flags and with how files were closed); the others are the
    /// documented bits of `sysdatabases.status`.
    pub const BITS: &'static [(u32, &'static str)] = &[
        (0x1, "autoclose"),
        (0x4, "select into/bulkcopy"),
        (0x8, "truncate log on checkpoint"),
        (0x10, "torn page detection"),
        (0x20, "loading"),
        (0x40, "pre recovery"),
        (0x80, "recovering"),
        (0x100, "not recovered"),
        (0x200, "offline"),
        (0x400, "read only"),
        (0x800, "dbo use only"),
        (0x1000, "single user"),
        (0x8000, "emergency mode"),
        (0x1_0000, "checksum"),
        (0x40_0000, "autoshrink"),
        (0x4000_0000, "cleanly shut down"),
    ];
    /// New pages get a checksum.
    pub const CHECKSUM: u32 = 0x1_0000;
    /// New pages get a torn-page signature.
    pub const TORN_PAGE_DETECTION: u32 = 0x10;
    /// `ALTER DATABASE … SET EMERGENCY`.
    pub const EMERGENCY: u32 = 0x8000;
    /// Closed so that no recovery is needed.
    pub const CLEAN_SHUTDOWN: u32 = 0x4000_0000;

    /// True when all bits of `mask` are set.
    pub const fn has(self, mask: u32) -> bool {
        self.0 & mask == mask
    }

    /// Was the database closed so that no recovery is needed?
    pub const fn is_clean(self) -> bool {
        self.has(Self::CLEAN_SHUTDOWN)
    }

    /// The recovery model that bits 2 and 3 name.
    pub const fn recovery_model(self) -> &'static str {
        if self.has(0x8) {
            "SIMPLE"
        } else if self.has(0x4) {
            "BULK_LOGGED"
        } else {
            "FULL"
        }
    }

    /// Names of the bits that are set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::BITS.iter().filter(move |(bit, _)| self.has(*bit)).map(|(_, name)| *name)
    }

    /// The bits without a name.
    pub fn unnamed(self) -> u32 {
        Self::BITS.iter().fold(self.0, |rest, (bit, _)| rest & !bit)
    }
}

impl fmt::Display for DatabaseStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for name in self.names() {
            write!(f, "{separator}{name}")?;
            separator = ", ";
        }
        match self.unnamed() {
            0 => Ok(()),
            rest => write!(f, "{separator}{rest:#x}"),
        }
    }
}

impl Field for DatabaseStatus {
    const BYTES: usize = 4;

    fn read(bytes: &[u8]) -> Option<Self> {
        u32::read(bytes).map(DatabaseStatus)
    }

    fn write(&self, out: &mut [u8]) {
        self.0.write(out);
    }
}
