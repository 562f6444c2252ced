//! PIVOT and UNPIVOT.

use extentdb_tsql::Span;
use extentdb_tsql::syntax::{Pivot, TableAlias, Unpivot};

use crate::binder::Binder;
use crate::error::{Result, not_supported};
use crate::from::Named;

impl Binder<'_> {
    pub(crate) fn pivot(&mut self, _: &Pivot, _: Option<&TableAlias>, span: Span) -> Result<Named> {
        not_supported("PIVOT", span)
    }

    pub(crate) fn unpivot(
        &mut self,
        _: &Unpivot,
        _: Option<&TableAlias>,
        span: Span,
    ) -> Result<Named> {
        not_supported("UNPIVOT", span)
    }
}
