//! What a run covered, and what it left out.

/// Something that was left out, and why.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NotChecked {
    /// Pages, objects or a kind of check.
    pub what: String,
    /// The reason, as a clause without a period.
    pub why: String,
    /// False for what is outside the scope of the run, or was left out by an option: it does not
    /// make the run incomplete.
    pub was_asked_for: bool,
}

impl NotChecked {
    /// Something that was asked for: the run is incomplete.
    pub(crate) fn asked(what: impl Into<String>, why: impl Into<String>) -> NotChecked {
        NotChecked { what: what.into(), why: why.into(), was_asked_for: true }
    }

    /// Something outside of the scope, or left out by an option.
    pub(crate) fn skipped(what: impl Into<String>, why: impl Into<String>) -> NotChecked {
        NotChecked { what: what.into(), why: why.into(), was_asked_for: false }
    }
}

/// What was covered.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Coverage {
    /// Pages that had to be checked: allocated, of objects that were not left out.
    pub pages_planned: u64,
    /// Pages that were.
    pub pages_checked: u64,
    /// Objects with pages among them.
    pub objects: u64,
    /// Nonclustered indexes whose rows were compared with their tables.
    pub indexes_compared: u64,
    /// Entries of those indexes.
    pub entries_compared: u64,
    /// Rows of system tables that were compared with each other.
    pub catalog_entries: u64,
    /// What was left out.
    pub not_checked: Vec<NotChecked>,
}
