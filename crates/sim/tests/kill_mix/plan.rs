//! What a transaction does: from its session, its number and what the session has in the tables.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::env::{Rng, SplitMix64};

/// Sessions of the child.
pub(crate) const SESSIONS: u64 = 8;
/// Tables that all sessions share: a heap, a clustered table, and a heap with two indexes.
pub(crate) const SHARED: [&str; 3] = ["heap", "tree", "wide"];
/// Ids of rows in shared tables, per session: `session * IDS_APART + 0..IDS`.
pub(crate) const IDS_APART: i32 = 1_000_000;
const IDS: u64 = 250;
/// Tables of its own that a session may have.
const OWN_TABLES: u64 = 3;
/// Statements of one transaction, at most: of usual ones, and of those that change many pages.
const STATEMENTS_MAX: [u64; 2] = [6, 60];
const INDEXES: [&str; 2] = ["by_version", "by_text"];

/// Which statements there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mix {
    /// Those that change rows.
    Rows,
    /// DDL, too.
    RowsAndTables,
}

impl Mix {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mix::Rows => "rows",
            Mix::RowsAndTables => "rows and tables",
        }
    }

    pub(crate) fn of_name(name: &str) -> Mix {
        if name == Mix::Rows.name() { Mix::Rows } else { Mix::RowsAndTables }
    }
}

/// The values of a row beside its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Values {
    pub(crate) version: i64,
    /// Length of the text.
    pub(crate) len: usize,
}

/// What a session has in a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) rows: BTreeMap<i32, Values>,
    /// Indexes that the session made.
    pub(crate) indexes: BTreeSet<String>,
}

/// What a session has, by table.
pub(crate) type Parts = BTreeMap<String, Part>;

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Statement {
    Insert { table: String, id: i32, values: Values },
    Update { table: String, id: i32, values: Values },
    Delete { table: String, id: i32 },
    CreateTable { table: String, is_clustered: bool },
    DropTable { table: String },
    Truncate { table: String },
    CreateIndex { table: String, index: String },
    DropIndex { table: String, index: String },
    Rebuild { table: String, index: String },
    Save,
    RollBackToSave,
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Commit,
    Rollback,
}

/// A transaction.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) statements: Vec<Statement>,
    pub(crate) end: End,
    /// What the session has afterwards.
    pub(crate) after: Parts,
}

/// A plan in the making.
struct Planner {
    rng: SplitMix64,
    session: u64,
    /// The number of the transaction: the version of what it writes.
    number: i64,
    parts: Parts,
    saved: Option<Parts>,
    statements: Vec<Statement>,
}

/// The transaction with this number, of a session that has these parts.
pub(crate) fn plan(mix: Mix, session: u64, number: i64, parts: &Parts) -> Plan {
    let rng = SplitMix64::new(session << 40 ^ number as u64);
    let parts = parts.clone();
    let saved = None;
    let statements = Vec::new();
    let mut planner = Planner { rng, session, number, parts, saved, statements };
    let most = STATEMENTS_MAX[planner.below(STATEMENTS_MAX.len())];
    for _ in 0..1 + planner.rng.below(most) {
        if mix == Mix::RowsAndTables && planner.rng.below(4) == 0 {
            planner.change_tables()
        } else {
            planner.change_row()
        }
    }
    let end = if planner.rng.below(4) == 0 { End::Rollback } else { End::Commit };
    Plan { statements: planner.statements, end, after: planner.parts }
}

impl Planner {
    fn below(&mut self, bound: usize) -> usize {
        self.rng.below(bound as u64) as usize
    }

    fn part(&mut self, table: &str) -> &mut Part {
        self.parts.entry(table.to_owned()).or_default()
    }

    fn values(&mut self) -> Values {
        let len = match self.rng.below(8) {
            0 => self.below(3500),
            _ => self.below(600),
        };
        Values { version: self.number, len }
    }

    fn change_row(&mut self) {
        match self.rng.below(16) {
            0 => return self.save(),
            1 => return self.roll_back_to_save(),
            _ => {}
        }
        let table = SHARED[self.below(SHARED.len())].to_owned();
        let id = self.session as i32 * IDS_APART + self.rng.below(IDS) as i32;
        self.change_row_of(table, id);
    }

    fn change_row_of(&mut self, table: String, id: i32) {
        let is_there = self.part(&table).rows.contains_key(&id);
        if is_there && self.rng.below(3) == 0 {
            self.part(&table).rows.remove(&id);
            self.statements.push(Statement::Delete { table, id });
            return;
        }
        let values = self.values();
        self.part(&table).rows.insert(id, values);
        self.statements.push(if is_there {
            Statement::Update { table, id, values }
        } else {
            Statement::Insert { table, id, values }
        });
    }

    fn save(&mut self) {
        self.saved = Some(self.parts.clone());
        self.statements.push(Statement::Save);
    }

    fn roll_back_to_save(&mut self) {
        if let Some(saved) = &self.saved {
            self.parts = saved.clone();
            self.statements.push(Statement::RollBackToSave);
        }
    }

    fn change_tables(&mut self) {
        let table = format!("own{}_{}", self.session, self.rng.below(OWN_TABLES));
        let Some(part) = self.parts.get(&table) else { return self.create_table(table) };
        let index = INDEXES[self.rng.below(INDEXES.len() as u64) as usize].to_owned();
        let has_index = part.indexes.contains(&index);
        match self.rng.below(8) {
            0 => {
                self.parts.remove(&table);
                self.statements.push(Statement::DropTable { table });
            }
            1 => {
                self.part(&table).rows.clear();
                self.statements.push(Statement::Truncate { table });
            }
            2 if has_index => {
                self.part(&table).indexes.remove(&index);
                self.statements.push(Statement::DropIndex { table, index });
            }
            3 if has_index => self.statements.push(Statement::Rebuild { table, index }),
            2..=4 if !has_index => {
                self.part(&table).indexes.insert(index.clone());
                self.statements.push(Statement::CreateIndex { table, index });
            }
            _ => {
                let id = self.rng.below(40) as i32;
                self.change_row_of(table, id);
            }
        }
    }

    fn create_table(&mut self, table: String) {
        let is_clustered = self.rng.below(2) == 0;
        self.part(&table);
        self.statements.push(Statement::CreateTable { table: table.clone(), is_clustered });
        for id in 0..self.below(30) as i32 {
            self.change_row_of(table.clone(), id);
        }
    }
}
