//! Statistics: this engine creates none, and drops those of other products with their column.
//!
//! ```text
//! sysidxstats     type 0 and an id above 0        their name; automatic ones begin with _WA_Sys_
//! sysiscols       their columns
//! sysobjvalues    class 60: the histogram
//! ```

use crate::catalog::system_table::{Cells, byte, int, number, text};
use crate::catalog::{Table, TableColumn};
use crate::error::Error;
use crate::session::StatementContext;

/// `sysobjvalues.valclass` of histograms.
pub(crate) const STATISTICS: u8 = 60;
/// Prefix of the names of automatic statistics.
const AUTOMATIC: &str = "_WA_Sys_";
/// Columns of `sysiscols`, `sysidxstats` and `sysobjvalues`.
const ISCOLS_INDEX: usize = 1;
const ISCOLS_COLUMN: usize = 4;
const IDXSTATS_NAME: usize = 2;
const IDXSTATS_TYPE: usize = 6;

impl StatementContext<'_> {
    /// Drops the statistics of a dropped column.
    ///
    /// # Errors [`Error::Dependent`]: they were created by a user, or belong to an index, perhaps a
    /// disabled one.
    pub(crate) fn drop_statistics(
        &mut self,
        table: &Table,
        column: &TableColumn,
    ) -> Result<(), Error> {
        let id = int(table.id().0);
        for row in self.db().catalog.system("sysiscols")?.rows(std::slice::from_ref(&id))? {
            if row.get(ISCOLS_COLUMN).and_then(number) != Some(column.id.into()) {
                continue;
            }
            let own = row.get(ISCOLS_INDEX).and_then(number).unwrap_or(0) as i32;
            let described =
                self.db().catalog.system("sysidxstats")?.rows(&[id.clone(), int(own)])?;
            if let Some(described) = described.first() {
                verify_automatic(described, column)?;
                self.delete_where("sysobjvalues", &[byte(STATISTICS), id.clone(), int(own)])?;
                self.delete_where("sysidxstats", &[id.clone(), int(own)])?;
            }
            self.delete_where("sysiscols", &[id.clone(), int(own)])?;
        }
        Ok(())
    }
}

fn verify_automatic(described: &Cells, column: &TableColumn) -> Result<(), Error> {
    let name = text(described.get(IDXSTATS_NAME));
    let is_statistics = described.get(IDXSTATS_TYPE).and_then(number) == Some(0);
    if is_statistics && name.starts_with(AUTOMATIC) {
        Ok(())
    } else {
        Err(Error::Dependent { object: name, column: column.name.clone() })
    }
}
