//! Work on a table with indexes.
//!
//! ```text
//! t   id int        key of the row: its number, or a scattered number                 v char(60)
//!     g int         its group: number / 100
//!     k int         something to change; indexed where it is changed
//!
//! Insert, Select, Update    unique key (id)     Update    index (k), too
//! Range                     unique key (g, id)
//! ```

/// Where the rows of a table are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TableKind {
    /// A heap, and a unique nonclustered index over the key.
    Heap,
    /// The leaves of the primary key.
    Clustered,
}

/// The order of inserted keys.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KeyOrder {
    /// Each larger than all before it: all clients take the next number of one counter.
    Ascending,
    /// Scattered, as if random.
    Random,
}

/// The operation on each row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// Inserts it, in this key order.
    Insert(KeyOrder),
    /// Reads it by its key.
    Select,
    /// Reads its group: all rows of one value of the first key column.
    Range,
    /// Updates an indexed column, found by its key.
    Update,
}

/// Clients execute the same operation on rows of one table, all at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TreeWork {
    /// Where the rows are.
    pub kind: TableKind,
    /// The operation on each row.
    pub action: Action,
    /// Number of clients.
    pub clients: u32,
    /// Operations of each client.
    pub count: u32,
    /// Operations of a transaction.
    pub per_commit: u32,
    /// Rows of the table before the work.
    pub rows: u32,
}

/// Rows of a group.
pub const GROUP: u32 = 100;
/// Characters of the last column.
pub const TEXT_CHARS: u16 = 60;
/// A prime. The fifth power is a permutation of the numbers below it, for five does not divide it
/// less one.
const PRIME: u64 = (1 << 31) - 1;
/// Added before: small numbers would have small powers.
const OFFSET: u64 = 1_000_000_000;
/// Steps in which clients visit rows; primes, so that all rows are visited.
const STEPS: (u64, u64) = (7919, 104_729);

impl TableKind {
    /// Its name in a table.
    pub fn name(self) -> &'static str {
        match self {
            TableKind::Heap => "heap + unique index",
            TableKind::Clustered => "clustered primary key",
        }
    }
}

impl TreeWork {
    /// All that is done.
    pub fn total(self) -> u64 {
        u64::from(self.clients) * u64::from(self.count)
    }

    /// Columns of the unique key.
    pub fn key_columns(self) -> &'static [&'static str] {
        if self.action == Action::Range { &["g", "id"] } else { &["id"] }
    }

    /// True with an index over `k`.
    pub fn has_second_index(self) -> bool {
        self.action == Action::Update
    }

    /// Does it leave the table as it was, for the next work of the same kind?
    pub fn only_reads(self) -> bool {
        matches!(self.action, Action::Select | Action::Range)
    }

    /// Is a table for the other work as good for this one?
    pub fn shares_table_with(self, other: TreeWork) -> bool {
        let own = (self.kind, self.action, self.rows);
        self.only_reads() && own == (other.kind, other.action, other.rows)
    }

    /// The key of the row with this number.
    pub fn key_of(self, number: u32) -> i32 {
        if self.action == Action::Insert(KeyOrder::Ascending) {
            number as i32
        } else {
            scattered(number)
        }
    }

    /// The number of the row that a client deals with in its turn, both from 0. Those who take
    /// numbers from a counter ask that.
    pub fn number_of(self, client: u32, turn: u32) -> u32 {
        let client = u64::from(client);
        let turn = u64::from(turn);
        let number = match self.action {
            Action::Insert(_) | Action::Update => client * u64::from(self.count) + turn,
            Action::Select | Action::Range => {
                (turn * STEPS.0 + client * STEPS.1) % u64::from(self.rows.max(1))
            }
        };
        number as u32
    }

    /// [`number_of`](Self::number_of) in SQL.
    pub fn number_sql(self, client: &str, turn: &str) -> String {
        match self.action {
            Action::Insert(_) | Action::Update => format!("({client} * {} + {turn})", self.count),
            Action::Select | Action::Range => {
                format!("(({turn} * {} + {client} * {}) % {})", STEPS.0, STEPS.1, self.rows.max(1))
            }
        }
    }

    /// [`key_of`](Self::key_of) in SQL; `number` is a name of 64 bits.
    pub fn key_sql(self, number: &str) -> String {
        if self.action == Action::Insert(KeyOrder::Ascending) {
            return number.to_owned();
        }
        let n = format!("({number} + {OFFSET})");
        let square = format!("({n} * {n} % {PRIME})");
        format!("({square} * {square} % {PRIME} * {n} % {PRIME})")
    }
}

/// The fifth power of a number, modulo a prime: never the same for two of them.
fn scattered(number: u32) -> i32 {
    let n = u64::from(number) + OFFSET;
    let square = n * n % PRIME;
    (square * square % PRIME * n % PRIME) as i32
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn work(action: Action) -> TreeWork {
        TreeWork {
            kind: TableKind::Heap,
            action,
            clients: 4,
            count: 250,
            per_commit: 100,
            rows: 1000,
        }
    }

    #[test]
    fn scattered_keys_differ_and_are_evenly_spread() {
        let keys: Vec<i32> = (0..100_000).map(scattered).collect();
        assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len());
        assert!(keys.iter().all(|key| (0..PRIME as i32).contains(key)));
        // A tenth of them in each tenth of the range, and neighbours as often up as down.
        let low = keys.iter().filter(|key| **key < (PRIME / 10) as i32).count();
        let ups = keys.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((9_700..10_300).contains(&low) && (49_000..51_000).contains(&ups), "{low} {ups}");
    }

    #[test]
    fn clients_share_the_rows_that_they_change() {
        for action in [Action::Insert(KeyOrder::Random), Action::Update] {
            let work = work(action);
            let turns =
                (0..4).flat_map(|client| (0..250).map(move |turn| work.number_of(client, turn)));
            assert_eq!(turns.collect::<HashSet<_>>().len(), 1000);
        }
        let look = work(Action::Select);
        let found: HashSet<u32> = (0..1000).map(|turn| look.number_of(3, turn)).collect();
        assert_eq!(found.len(), 1000, "every row has its turn");
    }

    #[test]
    fn tables_are_kept_for_read_only_work() {
        let select = work(Action::Select);
        assert!(select.shares_table_with(TreeWork { clients: 64, ..select }));
        assert!(!select.shares_table_with(TreeWork { kind: TableKind::Clustered, ..select }));
        assert!(!select.shares_table_with(work(Action::Range)));
        assert!(!work(Action::Update).shares_table_with(work(Action::Update)));
    }
}
