//! Damage in the tables that describe all others, found by the scan: 7995 (`docs/check.md` 1 and
//! 14).
//!
//! SQL Server checks these tables first, and goes on only when they are sound. Here everything is
//! checked in one pass, so the verdict comes afterwards: findings of other tables are withdrawn,
//! since their rows were read by a wrong description. Findings about allocation stay: SQL Server
//! reports them before, too. Nothing in these tables can be repaired.
//!
//! The walk along their leaves (7984 to 7988) ends a run before it begins; nothing is added to
//! that.

use extentdb_base::ObjectId;
use extentdb_catalog::system::object;
use extentdb_messages::{Counts, RepairLevel};

use crate::coverage::NotChecked;
use crate::finding::{Finding, Findings, Location};
use crate::plan::Plan;

/// Tables that describe the others.
const CRITICAL: [ObjectId; 6] = [
    object::SYSRSCOLS,
    object::SYSROWSETCOLUMNS,
    object::SYSROWSETS,
    object::SYSALLOCUNITS,
    object::SYSHOBTCOLUMNS,
    object::SYSHOBTS,
];
/// The catalog contradicts itself: it ends a run, too.
const INCONSISTENT: u32 = 8930;
/// System tables against each other: a phase of its own, after all others.
const CATALOG: u32 = 8992;

/// Ends a run after the fact: 7995, and what is left out for it.
pub(crate) fn verify_critical(
    plan: &Plan,
    command: &str,
    findings: &mut Findings,
) -> Option<NotChecked> {
    let is_critical = |finding: &Finding| {
        let object = finding.location.owner.map(|owner| owner.object);
        finding.counts() == Counts::Consistency
            && object.is_some_and(|object| CRITICAL.contains(&object))
    };
    let is_damaged = findings.iter_mut().any(|finding| is_critical(finding));
    let is_incomplete = findings.iter_mut().any(|finding| finding.error == INCONSISTENT);
    if !plan.owners_are_known || !(is_damaged || is_incomplete) {
        return None;
    }
    let follows = |finding: &Finding| {
        let is_owned = finding.location.owner.is_some();
        let is_counted = finding.counts() == Counts::Consistency;
        let is_told = is_critical(finding) || finding.error == INCONSISTENT;
        finding.error == CATALOG || (is_owned && is_counted && !is_told)
    };
    let left_out = findings.extract(follows).len();
    for mut finding in findings.extract(is_critical) {
        finding.repair = RepairLevel::None;
        findings.push(finding);
    }
    if is_damaged {
        let args = [plan.database.as_str().into(), command.into()];
        findings.push(Finding::new(7995, Location::default(), args));
    }
    Some(NotChecked::asked(
        format!("all other tables ({left_out} findings) and system tables against each other"),
        if is_damaged {
            "the tables that describe them are damaged (7995)".to_owned()
        } else {
            "the tables that describe them are not complete (8930)".to_owned()
        },
    ))
}
