//! Long values.

/// One client inserts long values, each in a transaction of its own, and reads all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LobWork {
    /// Number of values.
    pub values: u32,
    /// Bytes of each; a multiple of 16.
    pub bytes: u64,
}

impl LobWork {
    /// Bytes of all values.
    pub fn all_bytes(self) -> u64 {
        u64::from(self.values) * self.bytes
    }
}
