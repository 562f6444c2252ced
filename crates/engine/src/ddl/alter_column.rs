//! ALTER COLUMN: another type, NULL or NOT NULL.
//!
//! ```text
//! another length, NULL, NOT NULL   rows stay as they are; they are read when the new column could
//!                                  be too short for them, or takes no NULL. Lengths: varchar,
//!                                  nvarchar, varbinary
//! any other type                   rows get a second column, and are rewritten with the converted
//!                                  value; the old column stays, as a dropped one
//! ```
//!
//! Texts and bytes become (max) values and back: `varchar(n)`, `varchar(max)` and `text` of one
//! collation have the same bytes, as have `nvarchar` and `ntext`, `varbinary` and `image`. A value
//! is read as a whole; where the new one lies is decided as for any changed row, which frees the
//! tree of the old one (`dml::placing`).
//!
//! Dependent objects refuse the change, except indexes whose texts may get longer: their entries
//! stay as they are. Between the delete of the old catalog row and the insert of the new one the
//! catalog has no such column: an interrupted restart reads the table without it.

use extentdb_base::sync::{Arc, lock};
use extentdb_catalog::layout::{Cell, RowLayout};
use extentdb_catalog::table::Computed;
use extentdb_catalog::table::describe::column_row;
use extentdb_types::SqlType;

use crate::catalog::definition::has_column;
use crate::catalog::off_row::VALUE_IN_MEMORY_MAX;
use crate::catalog::storage::definition_of;
use crate::catalog::system_table::{bigint, cells_of, int, number, owned, smallint};
use crate::catalog::{Constraint, Formula, Index, Storage, Table, TableColumn};
use crate::ddl::alter::{rowset, verify_in_no_rule};
use crate::ddl::index::column;
use crate::ddl::spec::Nullability;
use crate::dml::placing::OldRow;
use crate::dml::rows::FoundRow;
use crate::error::{Error, Unsupported};
use crate::session::{Session, StatementContext};

/// Columns of `syscolpars`: how many, those of the type, and the status with its bits for NOT NULL
/// and padding.
const COLPARS_COLUMNS: usize = 16;
const COLPARS_TYPE: std::ops::Range<usize> = 4..12;
const COLPARS_USER_TYPE: usize = 5;
const COLPARS_STATUS: usize = 10;
const STATUS_OF_TYPE: i64 = 0x3;
const STATUS_ROW_GUID: i64 = 0x8;

/// How a column gets another form.
#[derive(PartialEq, Eq, Debug)]
enum Method {
    /// Rows stay as they are.
    InPlace(ExistingRows),
    Rewrite,
}

/// What an alteration in place has to know of the rows that exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ExistingRows {
    /// The new column may be too short for one, or takes no NULL.
    Tested,
    Fit,
}

impl Session {
    /// Gives a column another type, or lets it take NULL or not. Values are converted as an
    /// assignment would: what does not fit is refused, and nothing is cut.
    ///
    /// # Errors
    /// Something else needs the column as it is: [`Error::Dependent`]. A value does not fit. The
    /// conversion is not known for certain: [`Error::NotSupported`].
    pub fn alter_column(
        &mut self,
        table: &Arc<Table>,
        name: &str,
        ty: SqlType,
        nullability: Nullability,
    ) -> Result<(), Error> {
        self.alter_column_as(table, name, ColumnType { ty, user_type: None }, nullability)
    }

    /// The same with an alias type.
    ///
    /// # Errors
    /// As for [`Session::alter_column`].
    pub fn alter_column_as(
        &mut self,
        table: &Arc<Table>,
        name: &str,
        new: ColumnType,
        nullability: Nullability,
    ) -> Result<(), Error> {
        let ColumnType { ty, user_type } = new;
        let nullable = nullability == Nullability::Nullable;
        self.statement("ALTER TABLE", |context| {
            let old = context.lock_for_ddl(table)?;
            let was = column(&old.columns, name)?.clone();
            if (was.ty, was.nullable) == (ty, nullable) {
                let _ddl = lock(&context.db().ddl);
                return context.name_type(table, &was, user_type);
            }
            let is = TableColumn { ty, nullable, ..was.clone() };
            let way = Method::of(&was, &is);
            verify_free(&old, &was, &is, &way)?;
            context.verify_no_dependent(table, &old, &was)?;
            match way {
                Method::InPlace(rows) => context.alter_in_place(table, &old, &is, rows)?,
                Method::Rewrite => context.alter_rows(table, &old, &was, &is)?,
            }
            let _ddl = lock(&context.db().ddl);
            context.name_type(table, &is, user_type)
        })
    }
}

impl Session {
    /// ALTER COLUMN … ADD or DROP ROWGUIDCOL: which column `$ROWGUID` names.
    ///
    /// # Errors
    /// There is no such column; another one is it already, or it is none of its type.
    pub fn set_row_guid(
        &mut self,
        table: &Arc<Table>,
        name: &str,
        is_row_guid: bool,
    ) -> Result<(), Error> {
        self.statement("ALTER TABLE", |context| {
            let old = context.lock_for_ddl(table)?;
            let own = column(&old.columns, name)?;
            let refused = |why| Unsupported::AlterColumn { column: own.name.clone(), why };
            if is_row_guid && own.ty != SqlType::UniqueIdentifier {
                return Err(refused("it is no uniqueidentifier").into());
            }
            let _ddl = lock(&context.db().ddl);
            let status = |row: &[Cell<'_>]| row.get(COLPARS_STATUS).and_then(number).unwrap_or(0);
            for other in &old.columns {
                let is_other = other.id != own.id && is_row_guid;
                let row = context.colpars_row(table, other.id)?;
                if is_other && status(&row) & STATUS_ROW_GUID != 0 {
                    return Err(refused("another column is the ROWGUIDCOL").into());
                }
            }
            let status = status(&context.colpars_row(table, own.id)?) & !STATUS_ROW_GUID;
            let status = if is_row_guid { status | STATUS_ROW_GUID } else { status };
            let key = [int(table.id().0), smallint(0), int(own.id)];
            let changes = [(COLPARS_STATUS, int(status as i32))];
            context.change_system_row("syscolpars", &key, &changes)
        })
    }
}

/// The type that a column gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnType {
    /// The system type.
    pub ty: SqlType,
    /// `user_type_id` of an alias type.
    pub user_type: Option<i32>,
}

impl StatementContext<'_> {
    /// What the catalog says the type of a column is called.
    fn name_type(
        &mut self,
        table: &Table,
        own: &TableColumn,
        user_type: Option<i32>,
    ) -> Result<(), Error> {
        if matches!(own.ty, SqlType::Udt { .. }) {
            return Ok(());
        }
        let user_type = user_type.unwrap_or_else(|| own.ty.xtype().into());
        let kept = self.colpars_row(table, own.id)?;
        if kept.get(COLPARS_USER_TYPE).and_then(number) == Some(user_type.into()) {
            return Ok(());
        }
        let key = [int(table.id().0), smallint(0), int(own.id)];
        self.change_system_row("syscolpars", &key, &[(COLPARS_USER_TYPE, int(user_type))])
    }

    fn alter_in_place(
        &mut self,
        table: &Arc<Table>,
        old: &Storage,
        is: &TableColumn,
        rows: ExistingRows,
    ) -> Result<(), Error> {
        let rows = match rows {
            ExistingRows::Tested => self.rows_for_ddl(old)?,
            ExistingRows::Fit => Vec::new(),
        };
        for FoundRow { record, .. } in rows {
            is.verify_cell(old.cells(&record)?.get(is.at).unwrap_or(&Cell::Missing))?;
        }
        let _ddl = lock(&self.db().ddl);
        let layout = old.shape.layout().with_type(is.id, is.ty, is.nullable);
        let off_row = self.change_layout(table, old, &layout)?;
        let kept = self.colpars_row(table, is.id)?;
        self.db()
            .catalog
            .system("syscolpars")?
            .redefine(self.tx()?, &described(table, is, kept))?;
        let altered = Storage { off_row, ..with_column(old, is) };
        let mut new = self.with_layout(old, altered, layout)?;
        self.describe_key(table, &new)?;
        let uses = |index: &Index| {
            index.uses(is.id) || old.base.clustered().is_some_and(|base| base.uses(is.id))
        };
        for at in 0..new.indexes.len() {
            if uses(&new.indexes[at]) {
                let index = self.describe_longer(table, &new, &new.indexes[at])?;
                new.indexes[at] = Arc::new(index);
            }
        }
        self.store(table, new);
        Ok(())
    }

    /// How long the upper records of a clustered index may be by now.
    fn describe_key(&mut self, table: &Table, new: &Storage) -> Result<(), Error> {
        let Some(base) = new.base.clustered() else { return Ok(()) };
        let layout = definition_of(table.id(), table.name(), new).layout(base.definition());
        let longest = [(rowset::MAX_INTERIOR, smallint(layout.max_interior as i16))];
        self.change_system_row("sysrowsets", &[bigint(base.hobt().0)], &longest)
    }

    /// An index whose entries may be longer from now on.
    fn describe_longer(
        &mut self,
        table: &Table,
        new: &Storage,
        index: &Index,
    ) -> Result<Index, Error> {
        let hobt = index.hobt();
        let layout = definition_of(table.id(), table.name(), new).layout(index.definition());
        let numbers = [
            (rowset::MAX_LEAF, int(layout.max_leaf as i32)),
            (rowset::MAX_INTERIOR, smallint(layout.max_interior as i16)),
        ];
        self.change_system_row("sysrowsets", &[bigint(hobt.0)], &numbers)?;
        let was = index.tree().shape().layout().columns.clone();
        for (was, is) in was.iter().zip(&layout.row.columns).filter(|(was, is)| was != is) {
            self.change_layout_column(hobt, was, is)?;
        }
        let space = self.db().space.clone();
        let unit = index.tree().unit().clone();
        let own = Index::new(index.definition().clone(), &layout, new, space, unit)?;
        Ok(own.with_order_of(index))
    }

    fn alter_rows(
        &mut self,
        table: &Arc<Table>,
        old: &Storage,
        was: &TableColumn,
        is: &TableColumn,
    ) -> Result<(), Error> {
        let conversion = Conversion::of(was, is);
        let new = {
            let _ddl = lock(&self.db().ddl);
            self.drop_statistics(table, was)?;
            let kept = self.colpars_row(table, is.id)?;
            let columns = self.db().catalog.system("syscolpars")?;
            columns.delete(self.tx()?, &kept)?;
            let layout = with_second_column(old, is)?;
            let off_row = self.change_layout(table, old, &layout)?;
            columns.insert_cells(self.tx()?, &described(table, is, kept))?;
            self.with_layout(old, Storage { off_row, ..with_column(old, is) }, layout)?
        };
        let storage = self.store(table, new);
        let own = column(&storage.columns, &is.name)?;
        for FoundRow { at, record } in self.rows_for_ddl(&storage)? {
            let row = old.cells(&record)?;
            let value = match row.get(was.at) {
                Some(Cell::Complex(pointer)) => {
                    let bytes = old.off_row.value(&was.ty, pointer, VALUE_IN_MEMORY_MAX)?;
                    conversion.convert(&Cell::Bytes(bytes.into()))?
                }
                cell => conversion.convert(cell.unwrap_or(&Cell::Missing))?,
            };
            let mut cells = storage.adopt(old, row)?;
            cells[own.at] = value;
            let of = table.with(&storage);
            self.update_row(of, &at, &OldRow::of(&storage, &record)?, &mut cells)?;
        }
        Ok(())
    }

    fn colpars_row(&self, table: &Table, id: i32) -> Result<Vec<Cell<'static>>, Error> {
        let key = [int(table.id().0), smallint(0), int(id)];
        let row = self.db().catalog.system("syscolpars")?.rows(&key)?.into_iter().next();
        row.ok_or_else(|| Error::catalog("syscolpars lacks a row"))
    }
}

impl Method {
    fn of(was: &TableColumn, is: &TableColumn) -> Method {
        use SqlType::{NVarChar, VarBinary, VarChar};
        let (shorter, is_same_kind) = match (was.ty, is.ty) {
            (VarChar { len: Some(a), collation: x }, VarChar { len: Some(b), collation: y }) => {
                (b < a, x == y)
            }
            (NVarChar { len: Some(a), collation: x }, NVarChar { len: Some(b), collation: y }) => {
                (b < a, x == y)
            }
            (VarBinary { len: Some(a) }, VarBinary { len: Some(b) }) => (b < a, true),
            (a, b) => (false, a == b),
        };
        if is_same_kind {
            let may_not_fit = shorter || (was.nullable && !is.nullable);
            Method::InPlace(if may_not_fit { ExistingRows::Tested } else { ExistingRows::Fit })
        } else {
            Method::Rewrite
        }
    }
}

/// Refuses where something needs the column as it is.
fn verify_free(
    storage: &Storage,
    was: &TableColumn,
    is: &TableColumn,
    way: &Method,
) -> Result<(), Error> {
    let needed = |object: &str| {
        Err(Error::Dependent { object: object.to_owned(), column: was.name.clone() })
    };
    let refused = |why| Err(Unsupported::AlterColumn { column: was.name.clone(), why }.into());
    if was.formula.is_some() {
        return refused("it is computed");
    }
    let is_lob = |ty: &SqlType| ty.is_max() || ty.is_lob();
    let is_other = was.ty != is.ty && !has_same_bytes(&was.ty, &is.ty);
    if is_other && (is_lob(&was.ty) || is_lob(&is.ty)) {
        return refused("a value off its row keeps its bytes, and becomes none of another kind");
    }
    let is_identity = storage.identity.as_ref().is_some_and(|identity| identity.column() == was.id);
    if is_identity && (is.nullable || *way == Method::Rewrite) {
        return refused("it is an identity");
    }
    // Texts may get longer under an index, but for that of a primary key.
    let may_stay = |index: &Index| {
        let is_longer = *way == Method::InPlace(ExistingRows::Fit) && was.nullable == is.nullable;
        index.filter().is_none() && is_longer && index.constraint() != Constraint::PrimaryKey
    };
    if let Some(index) = storage.all_indexes().find(|index| index.uses(was.id) && !may_stay(index))
    {
        return needed(index.name());
    }
    if let Some(index) = storage.disabled.iter().find(|index| has_column(index, was.id)) {
        return needed(index.name.as_deref().unwrap_or_default());
    }
    match &was.default {
        Some(default) if *way == Method::Rewrite => needed(&default.name),
        _ => verify_in_no_rule(storage, was),
    }
}

/// The columns with one of them in another form.
fn with_column(old: &Storage, is: &TableColumn) -> Storage {
    let mut new = old.clone();
    new.columns.iter_mut().filter(|own| own.id == is.id).for_each(|own| own.clone_from(is));
    new
}

/// A second offset for a column, after all others.
fn with_second_column(old: &Storage, is: &TableColumn) -> Result<RowLayout, Error> {
    let layout = old.shape.layout().with_dropped(is.id).with_column(is.id, is.ty, is.nullable);
    layout.ok_or(Unsupported::RowLayout.into())
}

/// The row of `syscolpars` of a column in another form.
fn described(table: &Table, is: &TableColumn, mut kept: Vec<Cell<'static>>) -> Vec<Cell<'static>> {
    let fresh = cells_of(&column_row(table.id(), is.id, &is.definition()), COLPARS_COLUMNS);
    let status = |row: &[Cell<'_>]| row.get(COLPARS_STATUS).and_then(number).unwrap_or(0);
    let bits = (status(&kept) & !STATUS_OF_TYPE) | (status(&fresh) & STATUS_OF_TYPE);
    for (kept, fresh) in kept.iter_mut().zip(fresh).take(COLPARS_TYPE.end).skip(COLPARS_TYPE.start)
    {
        *kept = fresh;
    }
    kept[COLPARS_STATUS] = int(bits as i32);
    kept
}

/// Have values of both types the same bytes, but for how long they may be?
fn has_same_bytes(a: &SqlType, b: &SqlType) -> bool {
    use SqlType::{Image, NText, NVarChar, Text, VarBinary, VarChar};
    match (*a, *b) {
        (
            VarChar { collation: a, .. } | Text { collation: a },
            VarChar { collation: b, .. } | Text { collation: b },
        )
        | (
            NVarChar { collation: a, .. } | NText { collation: a },
            NVarChar { collation: b, .. } | NText { collation: b },
        ) => a == b,
        (VarBinary { .. } | Image, VarBinary { .. } | Image) => true,
        _ => false,
    }
}

/// From the values of one column to those of another, as an assignment converts them.
struct Conversion {
    /// The bytes stay, if they are not too many.
    keeps_bytes: bool,
    /// The column that is converted, alone in its row.
    from: [TableColumn; 1],
    to: TableColumn,
    formula: Formula,
    /// The longest type of the same texts: what it has more bytes of than the column takes would be
    /// cut.
    whole: Option<(TableColumn, Formula, usize)>,
}

impl Conversion {
    fn of(was: &TableColumn, is: &TableColumn) -> Conversion {
        let from = [TableColumn { name: "value".to_owned(), at: 0, ..was.clone() }];
        let formula = |ty: SqlType| {
            let text = format!("(CAST([value] AS {ty}))");
            Formula::conversion(&Computed { text, persisted: false }, ty, &from)
        };
        let whole = widest(&is.ty).map(|(ty, most)| {
            let column = TableColumn { ty, nullable: true, ..is.clone() };
            (column, formula(ty), most)
        });
        let keeps_bytes = has_same_bytes(&was.ty, &is.ty);
        Conversion {
            keeps_bytes,
            formula: formula(is.ty),
            to: is.clone(),
            whole,
            from,
        }
    }

    fn convert(&self, value: &Cell<'_>) -> Result<Cell<'static>, Error> {
        if self.keeps_bytes {
            self.to.verify_cell(value)?;
            return Ok(owned(value.clone()));
        }
        let row = std::slice::from_ref(value);
        if let Some((column, formula, most)) = &self.whole
            && let Cell::Bytes(bytes) = formula.evaluate(column, &self.from, row)?
            && bytes.len() > *most
        {
            return Err(self
                .to
                .refused(format!("a value of {} bytes would be truncated", bytes.len())));
        }
        self.formula.evaluate(&self.to, &self.from, row)
    }
}

/// The longest type of the same texts, and the bytes that there are in a column of this one.
pub(crate) fn widest(ty: &SqlType) -> Option<(SqlType, usize)> {
    match *ty {
        SqlType::Char { len, collation } | SqlType::VarChar { len: Some(len), collation } => {
            Some((SqlType::VarChar { len: Some(8000), collation }, len.into()))
        }
        SqlType::NChar { len, collation } | SqlType::NVarChar { len: Some(len), collation } => {
            Some((SqlType::NVarChar { len: Some(8000), collation }, len.into()))
        }
        SqlType::Binary { len } | SqlType::VarBinary { len: Some(len) } => {
            Some((SqlType::VarBinary { len: Some(8000) }, len.into()))
        }
        _ => None,
    }
}
