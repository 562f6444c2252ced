//! The units of a rowset that have values off its rows.
//!
//! ```text
//! LOB_DATA            text, ntext, image under a text pointer of 16 bytes
//!                     (max), xml, large UDT under an in-row root of 12 + 12 n bytes
//! ROW_OVERFLOW_DATA   what was pushed off a row that is too long, under the same root
//! ```
//!
//! A tree belongs to the one row that has its pointer, and the lock of that row protects it.

use extentdb_base::sync::Arc;
use extentdb_catalog::model::{AllocUnitKind, Rowset};
use extentdb_rowset::LobUnit;
use extentdb_rowset::lob::{LobCursor, LobForm, LobRoot};
use extentdb_rowset::version::Versions;
use extentdb_space::{Space, Unit};
use extentdb_types::SqlType;

use crate::catalog::units::Units;
use crate::error::Error;

/// Bytes of a value that are held in memory; a longer one is read by its reader.
pub(crate) const VALUE_IN_MEMORY_MAX: u64 = 64 << 20;

/// The units of a rowset that have values off its rows.
#[derive(Clone, Default, Debug)]
pub(crate) struct OffRowUnits {
    pub(crate) lob: Option<Arc<LobUnit>>,
    pub(crate) overflow: Option<Arc<LobUnit>>,
}

impl OffRowUnits {
    /// Those of a rowset of the catalog.
    pub(crate) fn open(rowset: &Rowset, space: &Arc<Space>, units: &Units) -> OffRowUnits {
        let unit = |kind| {
            let unit = units.get(rowset.unit(kind)?.id)?;
            Some(Arc::new(LobUnit::new(space.clone(), unit)))
        };
        OffRowUnits {
            lob: unit(AllocUnitKind::Lob),
            overflow: unit(AllocUnitKind::RowOverflow),
        }
    }

    /// Has the rowset none of them?
    pub(crate) fn is_empty(&self) -> bool {
        self.lob.is_none() && self.overflow.is_none()
    }

    /// Those that there are.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<LobUnit>> {
        self.lob.iter().chain(&self.overflow)
    }

    /// Their allocation units.
    pub(crate) fn units(&self) -> impl Iterator<Item = &Arc<Unit>> {
        self.all().map(|lob| lob.unit())
    }

    /// Where values of this form lie.
    pub(crate) fn of_form(&self, form: LobForm) -> Result<&Arc<LobUnit>, Error> {
        let unit = match form {
            LobForm::InRow | LobForm::Text => &self.lob,
            LobForm::Overflow => &self.overflow,
        };
        unit.as_ref().ok_or_else(|| Error::catalog("a rowset has no unit for values off its rows"))
    }

    /// Begins to read the value that a pointer leads to.
    pub(crate) fn cursor(&self, root: &LobRoot) -> Result<LobCursor<'_>, Error> {
        Ok(self.of_form(root.form())?.read(root)?)
    }

    /// The same; with versions, of a row that was read by its snapshot.
    pub(crate) fn cursor_seen<'u>(
        &'u self,
        root: &LobRoot,
        versions: Option<Versions<'u>>,
    ) -> Result<LobCursor<'u>, Error> {
        match versions {
            Some(versions) => Ok(self.of_form(root.form())?.read_seen(root, versions)?),
            None => self.cursor(root),
        }
    }

    /// The whole value that a pointer of a column of this type leads to.
    ///
    /// # Errors
    /// [`Error::ValueTooLong`]: it has more than `most` bytes. The tree is damaged.
    pub(crate) fn value(&self, ty: &SqlType, pointer: &[u8], most: u64) -> Result<Vec<u8>, Error> {
        self.value_seen(ty, pointer, most, None)
    }

    /// The same; with versions, of a row that was read by its snapshot.
    pub(crate) fn value_seen(
        &self,
        ty: &SqlType,
        pointer: &[u8],
        most: u64,
        versions: Option<Versions<'_>>,
    ) -> Result<Vec<u8>, Error> {
        let mut cursor = self.cursor_seen(&root_of(ty, pointer)?, versions)?;
        let bytes = cursor.len();
        if bytes > most {
            return Err(Error::ValueTooLong { bytes, most });
        }
        let mut value = Vec::with_capacity(bytes as usize);
        while cursor.read_chunk(&mut value)? {}
        Ok(value)
    }

    /// Bytes of the value that a pointer leads to.
    pub(crate) fn value_len(&self, root: &LobRoot) -> Result<u64, Error> {
        match root {
            LobRoot::InRow(root) => Ok(root.links.last().map_or(0, |link| link.end)),
            LobRoot::Text(_) => Ok(self.cursor(root)?.len()),
        }
    }
}

/// What a pointer in a column of this type leads to.
pub(crate) fn root_of(ty: &SqlType, pointer: &[u8]) -> Result<LobRoot, Error> {
    Ok(LobRoot::parse(pointer, ty.may_have_text_pointer())?)
}
