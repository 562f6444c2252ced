//! INSERT BULK: the rows come in the next message.

use extentdb_tsql::syntax::InsertBulk;

use super::Compiled;
use crate::frame::Frame;
use crate::output::StatementCode;
use crate::pending_load::PendingLoad;
use crate::step::{RowCount, Run, Step};
use crate::stop::Stop;

struct BulkStep(PendingLoad);

pub(super) fn compile(bulk: &InsertBulk) -> Compiled {
    Ok(Box::new(BulkStep(PendingLoad::new(bulk)?)))
}

impl Step for BulkStep {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        run.connection.pending_load = Some(self.0.clone());
        run.done(frame.scope, StatementCode::Other, None, false)?;
        Ok(RowCount::Rows(0))
    }
}
