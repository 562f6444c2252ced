//! INSERT BULK: the rows come in the next message.

use extentdb_tsql::syntax::InsertBulk;

use super::Compiled;
use extentdb_connection::frame::Frame;
use extentdb_connection::output::StatementCode;
use extentdb_connection::pending_load::PendingLoad;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

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
