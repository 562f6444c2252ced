//! Whether the pages that are read contain all of the log.

use extentdb_base::sync::Arc;

use super::RecoverySummary;

/// Transactions and pages that are named one by one.
const NAMED_MAX: usize = 3;

/// Whether the pages of a database contain all of its log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LogState {
    /// The pages are those of the disk; the log was not requested.
    #[default]
    NotReplayed,
    /// The database was closed cleanly: the pages of the disk are complete.
    Closed,
    /// The log is needed, and was not given.
    Missing,
    /// The log is needed; one was given and cannot be used, with the reason.
    Unusable(String),
    /// The log was replayed over the pages.
    Replayed(Arc<RecoverySummary>),
}

impl LogState {
    /// Why the rows may not be those of the database, as a sentence without its full stop. `None`
    /// where they are.
    pub fn shortfall(&self) -> Option<String> {
        const NOT_CLOSED: &str = "the database was not closed cleanly";
        const DOUBT: &str =
            "committed changes may be missing, and changes that were not committed may be there";
        match self {
            LogState::NotReplayed | LogState::Closed => None,
            LogState::Missing => Some(format!("{NOT_CLOSED} and its log is not given: {DOUBT}")),
            LogState::Unusable(why) => {
                Some(format!("{NOT_CLOSED} and its log cannot be used ({why}): {DOUBT}"))
            }
            LogState::Replayed(summary) => replayed_in_part(summary),
        }
    }

    /// The log was replayed.
    pub fn summary(&self) -> Option<&RecoverySummary> {
        match self {
            LogState::Replayed(summary) => Some(summary),
            _ => None,
        }
    }
}

/// The shortfall of a replay.
fn replayed_in_part(summary: &RecoverySummary) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(why) = &summary.ends_early {
        parts.push(format!("the log was replayed only up to {}: {why}", summary.end_lsn));
    }
    parts.extend(summary.stop_not_reached.clone());
    if let Some(first) = summary.stopped.first() {
        let more = if summary.has_more_stopped { "more than " } else { "" };
        parts.push(format!(
            "{more}{} pages could not be brought up to date, the first is {} at log record {}: {}",
            summary.stopped.len(),
            first.page,
            first.lsn,
            first.why
        ));
    }
    let open = summary.unfinished.iter().filter_map(|open| Some((open, open.not_undone.as_ref()?)));
    for (open, why) in open.clone().take(NAMED_MAX) {
        parts.push(format!("transaction {} could not be rolled back: {why}", open.id));
    }
    let unnamed = open.count().saturating_sub(NAMED_MAX);
    if unnamed > 0 {
        parts.push(format!("{unnamed} more transactions could not be rolled back"));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use extentdb_base::Lsn;

    #[test]
    fn only_a_log_replayed_to_its_end_leaves_no_shortfall() {
        let whole = RecoverySummary::default();
        assert_eq!(LogState::Replayed(Arc::new(whole.clone())).shortfall(), None);
        let end_lsn = Lsn::new(49, 16, 2);
        let ends_early = Some("block 5 is damaged".to_owned());
        let cut = RecoverySummary { end_lsn, ends_early, ..whole };
        let shortfall = LogState::Replayed(Arc::new(cut)).shortfall().unwrap();
        assert!(shortfall.contains("00000031:00000010:0002: block 5 is damaged"), "{shortfall}");
    }

    #[test]
    fn a_missing_log_is_reported_and_a_clean_close_is_not() {
        assert!(LogState::Missing.shortfall().is_some_and(|why| why.contains("not given")));
        assert_eq!(LogState::Closed.shortfall(), None);
    }
}
