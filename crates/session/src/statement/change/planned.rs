//! What a planned change is made of, and whether its plan may be kept.
//!
//! Invariant: the statement has no OUTPUT clause and no check of a view, and its table has no
//! enabled trigger of any kind: the engine takes changes of one that has from a caller only that
//! says so for each statement. Definitions are as they were, so that there is still none.

use super::output::Outputs;
use extentdb_connection::query::{Basis, Ground, Prepared};
use extentdb_plan::physical::Node;

/// What a plan is made of.
pub(super) struct PlanParts<'p> {
    pub(super) prepared: &'p Prepared,
    pub(super) node: &'p Node,
    pub(super) outputs: &'p Outputs,
}

impl PlanParts<'_> {
    /// What the plan stands on; `None` of one that is not kept.
    pub(super) fn ground(&self, basis: Basis) -> Option<Ground> {
        let table = &self.prepared.change.as_ref()?.stored.table;
        let is_plain = self.outputs.is_empty() && table.enabled_triggers().is_empty();
        Ground::of(basis, self.prepared, self.node).filter(|_| is_plain)
    }
}
