//! Root causes: the findings that others follow from.
//!
//! One bad page makes its parents, neighbours and children report it. Those findings name it as
//! their cause; here they are counted per cause.

use std::collections::BTreeMap;

use extentdb_check::{Cause, Finding, Report};

/// Damage that other findings follow from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RootCause<'r> {
    /// The page and the number.
    pub cause: Cause,
    /// The finding itself, when it is listed.
    pub finding: Option<&'r Finding>,
    /// Listed findings that follow from it.
    pub derived: u64,
}

/// What other findings follow from, the widest consequences first.
pub(crate) fn root_causes(report: &Report) -> Vec<RootCause<'_>> {
    let mut derived: BTreeMap<Cause, u64> = BTreeMap::new();
    for cause in report.findings.iter().filter_map(|finding| finding.derived_from) {
        *derived.entry(cause).or_default() += 1;
    }
    let mut own: BTreeMap<Cause, &Finding> = BTreeMap::new();
    for finding in report.findings.iter().filter(|finding| finding.derived_from.is_none()) {
        if let Some(page) = finding.location.page {
            own.entry(Cause { page, error: finding.error }).or_insert(finding);
        }
    }
    let cause = |(cause, derived)| RootCause { cause, finding: own.get(&cause).copied(), derived };
    let mut causes: Vec<RootCause<'_>> = derived.into_iter().map(cause).collect();
    causes.sort_by_key(|it| (std::cmp::Reverse(it.derived), it.cause));
    causes
}

/// Listed findings that follow from others.
pub(crate) fn derived_count(report: &Report) -> u64 {
    report.findings.iter().filter(|finding| finding.derived_from.is_some()).count() as u64
}
