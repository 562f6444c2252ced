//! TRUNCATE TABLE.

use extentdb_engine::{Error, Unsupported};
use extentdb_tsql::syntax::Truncate;

use super::problem::{Defined, Problem};
use super::{Ddl, Define, written};
use extentdb_connection::cause::{Cause, DefinitionCause};

impl Define for Truncate {
    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        if !self.partitions.is_empty() {
            return Err(Cause::not_supported("partitions").into());
        }
        let target = ddl.target(&self.table, |name| DefinitionCause::CannotFind { name })?;
        let name = written(&self.table);
        ddl.in_scope(&target.database.clone(), |ddl| {
            ddl.session().truncate_table(&target.table).map_err(|error| match error {
                Error::NotSupported(Unsupported::ReferencedTable { .. }) => {
                    DefinitionCause::TruncateReferenced { name }.into()
                }
                error => Problem::from(error),
            })
        })
    }
}
