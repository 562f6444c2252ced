//! The plan of a query as text, for tests of access paths.

use extentdb_tsql::syntax::StatementKind;
use extentdb_tsql::{Options, parse};

use crate::cause::Cause;
use crate::connection::Connection;
use crate::frame::Frame;
use crate::output::{Discard, Scope};
use crate::query::Prepared;
use crate::step::Run;

impl Connection {
    /// The plan of a query, one operator a line; the query does not run. The form may change.
    ///
    /// # Errors
    /// The text is no query, or has no meaning here.
    pub fn plan_text(&mut self, text: &str) -> Result<String, Cause> {
        let options = Options { quoted_identifier: self.options.quoted_identifier };
        let script = parse(text, options).map_err(|error| Cause::Syntax(error.cause))?;
        let select = match script.statements.as_slice() {
            [statement] => match &statement.kind {
                StatementKind::Select(select) => select,
                _ => return Err(Cause::not_supported("the plan of what is no query")),
            },
            _ => return Err(Cause::not_supported("the plan of more than one statement")),
        };
        let frame = Frame::new(Scope::Batch, Vec::new().into());
        let mut output = Discard;
        let mut run =
            Run::new(
                self,
                &mut output,
                |_, _| Err(Cause::not_supported("a text in a plan").into()),
            );
        let (prepared, bound) =
            Prepared::bind(&mut run, &frame, |binder| binder.statement(&select.query))?;
        let ids: Vec<usize> = bound.outputs.iter().map(|it| it.column.id).collect();
        Ok(prepared.parallel_node(bound.relation, &ids)?.to_string())
    }
}
