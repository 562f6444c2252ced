//! The units of values off rows: created with a table or with the column that needs them, and moved
//! to another rowset with its rows.
//!
//! ```text
//! LOB_DATA            a column of a LOB type
//! ROW_OVERFLOW_DATA   variable columns that together may be longer than a row
//! ```
//!
//! A table that is rewritten keeps its LOB unit, whose pointers move with the rows: its row in
//! `sysallocunits` names the new rowset before the rows of the old one are deleted, because a
//! restart reads no unit without a rowset.

use std::borrow::Cow;

use extentdb_base::size::ROW_BYTES_MAX;
use extentdb_base::sync::{Arc, lock};
use extentdb_base::{AllocUnitId, HobtId, IndexId, ObjectId};
use extentdb_catalog::layout::{Cell, RowLayout};
use extentdb_catalog::model::AllocUnitKind;
use extentdb_catalog::table::describe::{UnitAnchor, unit_row};
use extentdb_catalog::table::{IndexDefinition, UnitDefinition};
use extentdb_rowset::LobUnit;
use extentdb_rowset::lob::LobForm;
use extentdb_space::Unit;
use extentdb_types::SqlType;

use crate::catalog::storage::OffRowOptions;
use crate::catalog::system_table::{SystemTable, bigint, int};
use crate::catalog::{OffRowUnits, Storage, Table};
use crate::database::boot::Counter;
use crate::dml::off_row::{NewValue, OldPointer};
use crate::error::Error;
use crate::error::invalid::InvalidOption;
use crate::session::{Session, StatementContext};

/// Columns of `sysallocunits` and `sysidxstats`.
const OWNER: usize = 2;
const TEXT_IN_ROW: usize = 4;
const TEXT_IN_ROW_LIMITS: std::ops::RangeInclusive<u16> = 24..=7000;
/// The longest text that has room in a row of `sysobjvalues`, bytes as they are stored.
const SYSTEM_TEXT_BYTES_MAX: usize = 7900;
const LOB_DATA_SPACE: usize = 9;

impl Session {
    /// Says how long a text, ntext or image value may be that lies in its row, in bytes, as
    /// `sp_tableoption 'text in row'` does: 24 to 7,000, or 0 for none. Values that are there stay
    /// where they are until their row changes.
    ///
    /// # Errors
    /// The limit is out of range.
    pub fn set_text_in_row(&mut self, table: &Arc<Table>, limit: u16) -> Result<(), Error> {
        if limit != 0 && !TEXT_IN_ROW_LIMITS.contains(&limit) {
            let option = "text in row".to_owned();
            let value = limit.into();
            let least = (*TEXT_IN_ROW_LIMITS.start()).into();
            let most = (*TEXT_IN_ROW_LIMITS.end()).into();
            return Err(InvalidOption::OutOfRange { option, value, least, most }.into());
        }
        self.statement("ALTER TABLE", |context| {
            let old = context.lock_for_ddl(table)?;
            let _ddl = lock(&context.db().ddl);
            let base = old.base.clustered().map_or(IndexId(0), |index| index.id());
            let key = [int(table.id().0), int(base.0)];
            let changes = [(TEXT_IN_ROW, int(limit.into()))];
            context.change_system_row("sysidxstats", &key, &changes)?;
            let mut new = Storage::clone(&old);
            new.off_row_options.text_in_row = limit;
            context.store(table, new);
            Ok(())
        })
    }
}

impl StatementContext<'_> {
    /// An index with the units that values off its rows need.
    pub(crate) fn with_off_row_units(
        &mut self,
        mut index: IndexDefinition,
        layout: &RowLayout,
        max_leaf: u32,
    ) -> Result<IndexDefinition, Error> {
        if has_lob(layout) {
            index.units.push(self.new_definition(AllocUnitKind::Lob)?);
        }
        if max_leaf as usize > ROW_BYTES_MAX {
            index.units.push(self.new_definition(AllocUnitKind::RowOverflow)?);
        }
        Ok(index)
    }

    fn new_definition(&mut self, kind: AllocUnitKind) -> Result<UnitDefinition, Error> {
        let id = AllocUnitId((self.take_id(Counter::Unit)? << 16) as i64);
        Ok(UnitDefinition { kind, id })
    }

    /// The rows of the units of an index that is being made, after that of its rowset.
    pub(crate) fn insert_unit_rows(&mut self, index: &IndexDefinition) -> Result<(), Error> {
        for unit in &index.units {
            self.insert_unit_row(index.rowset, index.filegroup, *unit)?;
        }
        Ok(())
    }

    fn insert_unit_row(
        &mut self,
        rowset: HobtId,
        group: i16,
        unit: UnitDefinition,
    ) -> Result<(), Error> {
        let row = unit_row(rowset, group, unit, &UnitAnchor::default());
        self.db().catalog.system("sysallocunits")?.insert(self.tx()?, &row)
    }

    /// The empty units for values off the rows of an index that is being made.
    pub(crate) fn open_off_row(&self, index: &IndexDefinition) -> OffRowUnits {
        let open = |kind| {
            let unit = index.units.iter().find(|unit| unit.kind == kind)?;
            Some(self.lob_unit(self.add_unit(unit.id, index.rowset, index.filegroup)))
        };
        OffRowUnits {
            lob: open(AllocUnitKind::Lob),
            overflow: open(AllocUnitKind::RowOverflow),
        }
    }

    fn lob_unit(&self, unit: Arc<Unit>) -> Arc<LobUnit> {
        Arc::new(LobUnit::new(self.db().space.clone(), unit))
    }

    /// Empty units instead of these, whose pages are freed.
    /// The rowset is said: a unit that was moved knows its first one only.
    pub(crate) fn empty_off_row(
        &mut self,
        old: &OffRowUnits,
        rowset: HobtId,
    ) -> Result<OffRowUnits, Error> {
        let mut new = OffRowUnits::default();
        if let Some(lob) = &old.lob {
            new.lob = Some(self.empty_lob(lob, AllocUnitKind::Lob, rowset)?);
        }
        if let Some(overflow) = &old.overflow {
            new.overflow = Some(self.empty_lob(overflow, AllocUnitKind::RowOverflow, rowset)?);
        }
        Ok(new)
    }

    fn empty_lob(
        &mut self,
        old: &LobUnit,
        kind: AllocUnitKind,
        rowset: HobtId,
    ) -> Result<Arc<LobUnit>, Error> {
        let unit = self.replace_unit(old.unit(), kind, rowset)?;
        Ok(self.lob_unit(unit))
    }

    /// The units that rows of another layout need, those that there are among them.
    pub(crate) fn missing_off_row(
        &mut self,
        table: &Table,
        old: &Storage,
        layout: &RowLayout,
        max_leaf: u32,
    ) -> Result<OffRowUnits, Error> {
        let mut units = old.off_row.clone();
        if units.lob.is_none() && has_lob(layout) {
            units.lob = Some(self.add_off_row(old.base.unit(), AllocUnitKind::Lob)?);
            let base = old.base.clustered().map_or(0, |index| index.id().0);
            let space = int(old.base.unit().group().into());
            let key = [int(table.id().0), int(base)];
            self.change_system_row("sysidxstats", &key, &[(LOB_DATA_SPACE, space)])?;
        }
        if units.overflow.is_none() && max_leaf as usize > ROW_BYTES_MAX {
            units.overflow = Some(self.add_off_row(old.base.unit(), AllocUnitKind::RowOverflow)?);
        }
        Ok(units)
    }

    fn add_off_row(&mut self, of: &Unit, kind: AllocUnitKind) -> Result<Arc<LobUnit>, Error> {
        let unit = self.new_definition(kind)?;
        self.insert_unit_row(of.hobt(), of.group(), unit)?;
        self.tx()?.keep_reserves();
        Ok(self.lob_unit(self.add_unit(unit.id, of.hobt(), of.group())))
    }

    /// Writes long texts of a row of a system table off it.
    pub(crate) fn put_off_system_row(
        &mut self,
        table: &SystemTable,
        cells: &mut [Cell<'static>],
    ) -> Result<(), Error> {
        for (at, cell) in cells.iter_mut().enumerate() {
            if let Cell::Bytes(bytes) = cell
                && bytes.len() > SYSTEM_TEXT_BYTES_MAX
                && let Some(ty) = table.type_of(at).filter(SqlType::is_max)
            {
                let bytes: &mut &[u8] = &mut &**bytes;
                let value = NewValue { column: &table.name, ty, form: LobForm::InRow, bytes };
                *cell = Cell::Complex(Cow::Owned(self.write_value(&table.off_row, value)?));
            }
        }
        Ok(())
    }

    /// Frees what a deleted row of a system table had off it.
    pub(crate) fn free_off_system_row(
        &mut self,
        table: &SystemTable,
        cells: &[Cell<'_>],
    ) -> Result<(), Error> {
        for (at, cell) in cells.iter().enumerate() {
            if let (Cell::Complex(bytes), Some(ty)) = (cell, table.type_of(at)) {
                let pointer = OldPointer { ty, bytes: bytes.to_vec() };
                self.free_values(&table.off_row, &[pointer])?;
            }
        }
        Ok(())
    }

    /// Keeps how long text values may be that lie in their rows: `sysidxstats.intprop`.
    pub(crate) fn store_text_in_row(
        &mut self,
        table: ObjectId,
        index: IndexId,
        options: OffRowOptions,
    ) -> Result<(), Error> {
        if options.text_in_row == 0 {
            return Ok(());
        }
        let limit = [(TEXT_IN_ROW, int(options.text_in_row.into()))];
        self.change_system_row("sysidxstats", &[int(table.0), int(index.0)], &limit)
    }

    /// Makes a unit that of another rowset.
    pub(crate) fn move_unit(&mut self, unit: &Unit, rowset: HobtId) -> Result<(), Error> {
        let units = self.db().catalog.system("sysallocunits")?;
        let missing = || Error::catalog("sysallocunits lacks the row of a unit");
        let old = units.rows(&[bigint(unit.id().0)])?.pop().ok_or_else(missing)?;
        let mut new = old.clone();
        *new.get_mut(OWNER).ok_or_else(missing)? = bigint(rowset.0);
        units.replace_keys(self.tx()?, &old, &new)
    }
}

/// Has a layout a column whose values may lie in a LOB unit?
fn has_lob(layout: &RowLayout) -> bool {
    let is_lob = |ty: SqlType| ty.is_max() || ty.is_lob();
    layout.columns.iter().any(|column| !column.is_dropped() && column.ty.is_some_and(is_lob))
}
