//! Changes whose plan is kept from one execution to the next. Which may be kept: `planned.rs`.

use super::delete::DeletePlan;
use super::insert::InsertPlan;
use super::update::UpdatePlan;
use extentdb_connection::frame::Frame;
use extentdb_connection::query::{Basis, Ground, OnGround};
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;

/// A change that is planned, and what its plan was made from.
pub(super) struct KeptChange {
    plan: Plan,
    ground: Ground,
}

enum Plan {
    Insert(InsertPlan),
    Update(UpdatePlan),
    Delete(DeletePlan),
}

impl KeptChange {
    pub(super) fn insert(plan: InsertPlan, basis: Basis) -> Option<KeptChange> {
        let ground = plan.parts().ground(basis)?;
        Some(KeptChange { plan: Plan::Insert(plan), ground })
    }

    pub(super) fn update(plan: UpdatePlan, basis: Basis) -> Option<KeptChange> {
        let ground = plan.parts().ground(basis)?;
        Some(KeptChange { plan: Plan::Update(plan), ground })
    }

    pub(super) fn delete(plan: DeletePlan, basis: Basis) -> Option<KeptChange> {
        let ground = plan.parts().ground(basis)?;
        Some(KeptChange { plan: Plan::Delete(plan), ground })
    }

    /// Runs it; says how many rows it has changed.
    pub(super) fn run(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<u64, Stop> {
        let changed = match &mut self.plan {
            Plan::Insert(plan) => plan.run(run, frame),
            Plan::Update(plan) => plan.run(run, frame),
            Plan::Delete(plan) => plan.run(run, frame),
        };
        changed.map(|changed| changed.count)
    }
}

impl OnGround for KeptChange {
    fn ground(&self) -> &Ground {
        &self.ground
    }
}
