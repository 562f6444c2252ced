//! What can be wrong with a value.

use extentdb_base::Rid;

use crate::Error;

/// The record at this RID is not what its parent, or the row, says.
pub(super) fn damaged(at: Rid, what: &'static str) -> Error {
    Error::Corrupt { page: at.page, what }
}
