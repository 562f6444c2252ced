//! Options of indexes, keys and tables: what is kept, what changes nothing here, what is refused.
//!
//! | option | here |
//! |---|---|
//! | FILLFACTOR, PAD_INDEX | kept |
//! | DROP_EXISTING | done |
//! | SORT_IN_TEMPDB, ONLINE, RESUMABLE, MAX_DURATION, MAXDOP, WAIT_AT_LOW_PRIORITY, OPTIMIZE_FOR_SEQUENTIAL_KEY | how it is done: accepted |
//! | STATISTICS_NORECOMPUTE, STATISTICS_INCREMENTAL, ALLOW_ROW_LOCKS, ALLOW_PAGE_LOCKS, IGNORE_DUP_KEY | their defaults are accepted, else refused |
//! | DATA_COMPRESSION, XML_COMPRESSION | NONE and OFF are accepted |
//! | LOCK_ESCALATION | TABLE, the default, is accepted |

use extentdb_tsql::syntax::{Clause, Literal, Part};

use extentdb_connection::cause::Cause;

/// Options of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct IndexOptions {
    /// FILLFACTOR in percent.
    pub(super) fill_factor: Option<u8>,
    pub(super) pad_index: bool,
    pub(super) drop_existing: bool,
}

/// Options that say how something is done.
const HOW: [&str; 7] = [
    "SORT_IN_TEMPDB",
    "ONLINE",
    "RESUMABLE",
    "MAX_DURATION",
    "MAXDOP",
    "OPTIMIZE_FOR_SEQUENTIAL_KEY",
    "WAIT_AT_LOW_PRIORITY",
];
/// Options that are off unless they are turned on.
const OFF: [&str; 4] =
    ["IGNORE_DUP_KEY", "STATISTICS_NORECOMPUTE", "STATISTICS_INCREMENTAL", "XML_COMPRESSION"];
/// Options that are on unless they are turned off.
const ON: [&str; 2] = ["ALLOW_ROW_LOCKS", "ALLOW_PAGE_LOCKS"];

impl IndexOptions {
    /// The options that clauses of a statement set.
    ///
    /// # Errors
    /// One that is not kept here, by its name.
    pub(super) fn of(clauses: &[Clause]) -> Result<IndexOptions, Cause> {
        let mut options = IndexOptions::default();
        for clause in clauses {
            options.set(clause)?;
        }
        Ok(options)
    }

    fn set(&mut self, clause: &Clause) -> Result<(), Cause> {
        let name = head(clause);
        match name {
            "FILLFACTOR" => self.fill_factor = Some(percent(clause)?),
            "PAD_INDEX" => self.pad_index = is_on(clause),
            "DROP_EXISTING" => self.drop_existing = is_on(clause),
            _ if HOW.contains(&name) => {}
            _ if OFF.contains(&name) && !is_on(clause) => {}
            _ if ON.contains(&name) && is_on(clause) => {}
            "DATA_COMPRESSION" if is_uncompressed(clause) => {}
            _ => return Err(refused(clause)),
        }
        Ok(())
    }
}

/// Refuses options of DROP INDEX and DROP CONSTRAINT that move something.
pub(super) fn verify_drop_options(clauses: &[Clause]) -> Result<(), Cause> {
    verify_how(clauses)
}

/// The same of ALTER INDEX … REORGANIZE.
pub(super) fn verify_reorganize_options(clauses: &[Clause]) -> Result<(), Cause> {
    match clauses.iter().find(|clause| !matches!(head(clause), "LOB_COMPACTION")) {
        Some(clause) => Err(refused(clause)),
        None => Ok(()),
    }
}

/// The same of ALTER COLUMN.
pub(super) fn verify_alter_column_options(clauses: &[Clause]) -> Result<(), Cause> {
    verify_how(clauses)
}

/// The same of ALTER TABLE … REBUILD.
pub(super) fn verify_rebuild_options(clauses: &[Clause]) -> Result<(), Cause> {
    let options = IndexOptions::of(clauses)?;
    match options.fill_factor {
        Some(_) => Err(Cause::not_supported("another FILLFACTOR in REBUILD")),
        None => Ok(()),
    }
}

fn verify_how(clauses: &[Clause]) -> Result<(), Cause> {
    match clauses.iter().find(|clause| !HOW.contains(&head(clause))) {
        Some(clause) => Err(refused(clause)),
        None => Ok(()),
    }
}

/// Refuses an option of a table that is not kept here.
pub(super) fn verify_table_options(clauses: &[Clause]) -> Result<(), Cause> {
    for clause in clauses {
        match head(clause) {
            "DATA_COMPRESSION" if is_uncompressed(clause) => {}
            "XML_COMPRESSION" | "MEMORY_OPTIMIZED" | "IGNORE_DUP_KEY" if !is_on(clause) => {}
            "SYSTEM_VERSIONING" | "LEDGER" if is_off(clause) => {}
            "LOCK_ESCALATION" if clause.has("TABLE") => {}
            _ => return Err(refused(clause)),
        }
    }
    Ok(())
}

/// The first word of a clause.
fn head(clause: &Clause) -> &'static str {
    let first = clause.parts.first();
    match first {
        Some(Part::Word(word)) => word,
        Some(Part::Clause(inner)) => head(inner),
        _ => clause.rule,
    }
}

/// Is a switch on? In the old form the word alone is.
fn is_on(clause: &Clause) -> bool {
    let has_value = clause.parts.len() > 1;
    !has_value || clause.has("ON") || clause.all("switch").any(|switch| switch.has("ON"))
}

fn is_off(clause: &Clause) -> bool {
    clause.has("OFF")
        || clause.parts.iter().any(|part| matches!(part, Part::Clause(inner) if inner.has("OFF")))
}

fn is_uncompressed(clause: &Clause) -> bool {
    clause.first("compression").is_some_and(|compression| compression.has("NONE"))
}

fn percent(clause: &Clause) -> Result<u8, Cause> {
    let number = clause.literals().find_map(|literal| match literal {
        Literal::Integer(text) => text.parse::<u8>().ok(),
        _ => None,
    });
    let valid = number.filter(|percent| (1..=100).contains(percent));
    valid.ok_or_else(|| Cause::not_supported("a fill factor that is no percentage"))
}

fn refused(clause: &Clause) -> Cause {
    Cause::not_supported(format!("the option {}", head(clause)))
}
