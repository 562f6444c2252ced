//! Inserts into one table.

/// Clients insert rows into one table, all at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InsertWork {
    /// Number of clients.
    pub clients: u32,
    /// Rows of each client.
    pub rows: u32,
    /// Rows of a transaction.
    pub per_commit: u32,
    /// Bytes of the columns of a row: an int, and a char that takes the rest.
    pub row_bytes: u16,
}

impl InsertWork {
    /// Rows of all clients.
    pub fn all_rows(self) -> u64 {
        u64::from(self.clients) * u64::from(self.rows)
    }

    /// Characters of the second column.
    pub fn text_bytes(self) -> u16 {
        self.row_bytes.saturating_sub(4)
    }

    /// Does every row have a transaction of its own?
    pub fn is_autocommit(self) -> bool {
        self.per_commit == 1
    }
}
