//! The catalog as it was read at the opening, from which tables and indexes get their pages.

use extentdb_base::sync::Arc;
use extentdb_catalog::model::{AllocUnitKind, Catalog, Rowset};
use extentdb_rowset::heap::Placement;
use extentdb_space::{Space, Unit};

use crate::catalog::units::Units;
use crate::database::options::Purpose;

/// The catalog as it was read, with the allocation units that it describes.
#[derive(Clone, Copy)]
pub(crate) struct LoadedCatalog<'c> {
    pub(crate) catalog: &'c Catalog,
    pub(crate) space: &'c Arc<Space>,
    pub(crate) units: &'c Units,
    pub(crate) placement: Placement,
    pub(crate) purpose: Purpose,
}

impl LoadedCatalog<'_> {
    /// The in-row unit of a rowset: the pages of its rows or entries.
    pub(crate) fn unit(self, rowset: &Rowset) -> Option<Arc<Unit>> {
        self.units.get(rowset.unit(AllocUnitKind::InRow)?.id)
    }
}
