//! The columns of a table as the catalog describes them: those that are read, and those that are
//! not, with the reason of each.

use extentdb_base::sync::Arc;
use extentdb_catalog::layout::Cell;
use extentdb_catalog::model::{self, Catalog, Rowset, Unreadable};
use extentdb_catalog::table::Computed;

use crate::catalog::bound::body_of;
use crate::catalog::definition::position_of;
use crate::catalog::{ColumnDefault, Formula, TableColumn, UnreadableColumn};

/// The columns of a table of the catalog.
pub(crate) struct FoundColumns {
    pub(crate) columns: Vec<TableColumn>,
    pub(crate) unreadable: Vec<UnreadableColumn>,
    /// The first sparse one: they are read, not written.
    pub(crate) sparse: Option<String>,
}

impl FoundColumns {
    pub(crate) fn of(table: &model::Table, rowset: &Rowset, catalog: &Catalog) -> FoundColumns {
        let mut found = FoundColumns {
            columns: Vec::new(),
            unreadable: Vec::new(),
            sparse: table.columns.iter().find(|own| own.sparse).map(|own| own.name.clone()),
        };
        let mut computed = Vec::new();
        let mut after = rowset.layout.columns.len()..;
        for column in &table.columns {
            match table_column(table, column, rowset, catalog, &mut after) {
                Ok(own) => {
                    found.columns.push(own);
                    computed.push(
                        column
                            .computed
                            .clone()
                            .map(|text| Computed { text, persisted: column.persisted }),
                    );
                }
                Err(why) => {
                    found.unreadable.push(UnreadableColumn { name: column.name.clone(), why })
                }
            }
        }
        with_formulas(&mut found.columns, &computed);
        found.hide_what_cannot_be_computed();
        found
    }

    /// What is computed from columns that are not read is not read either.
    fn hide_what_cannot_be_computed(&mut self) {
        if self.unreadable.is_empty() {
            return;
        }
        let is_unknown = |own: &TableColumn| {
            !own.is_stored() && own.formula.as_ref().is_some_and(|it| it.unknown().is_some())
        };
        for column in self.columns.extract_if(.., |own| is_unknown(own)) {
            let why = Unreadable::Computed;
            self.unreadable.push(UnreadableColumn { name: column.name, why });
        }
    }
}

fn table_column(
    table: &model::Table,
    column: &model::Column,
    rowset: &Rowset,
    catalog: &Catalog,
    after: &mut std::ops::RangeFrom<usize>,
) -> Result<TableColumn, Unreadable> {
    if let Some(why) = column.unreadable_in(rowset, catalog) {
        return Err(why);
    }
    let at =
        if column.is_virtual() { after.next() } else { position_of(&rowset.layout, column.id) };
    Ok(TableColumn {
        id: column.id,
        name: column.name.clone(),
        ty: column.ty.ok_or(Unreadable::UnknownType { xtype: column.xtype })?,
        nullable: column.nullable,
        default: default_of(table, column, catalog),
        formula: None,
        at: at.ok_or(Unreadable::NotInRows)?,
    })
}

/// What rows from before a column was added have in it, by its `hbcolid`.
pub(crate) fn stored_defaults(rowset: &Rowset, catalog: &Catalog) -> Vec<(i32, Cell<'static>)> {
    let columns = rowset.layout.columns.iter().filter(|column| !column.is_dropped());
    let default = |column: &extentdb_catalog::PhysicalColumn| {
        let cell = catalog.added_default(rowset.id, column)?.cell(&column.ty?)?;
        Some((column.ordinal, cell))
    };
    columns.filter_map(default).collect()
}

fn default_of(
    table: &model::Table,
    column: &model::Column,
    catalog: &Catalog,
) -> Option<ColumnDefault> {
    let is_it = |default: &&model::Constraint| default.object.id == column.default_object;
    let default = catalog.defaults.iter().find(is_it).filter(|it| it.object.id.0 != 0)?;
    let is_own = default.object.parent == table.id;
    let text = default.definition.as_deref();
    let text = if is_own { text } else { text.and_then(body_of) };
    Some(ColumnDefault {
        id: default.object.id,
        name: default.object.name.clone(),
        is_own,
        // A default whose text cannot be read is one that cannot be evaluated.
        text: text.unwrap_or_default().to_owned(),
    })
}

/// Says which columns are computed, and how.
pub(crate) fn with_formulas(columns: &mut [TableColumn], computed: &[Option<Computed>]) {
    // Columns are computed of those that are not, whose names alone count.
    let mut plain = columns.to_vec();
    let hidden = plain.iter_mut().zip(computed).filter(|(_, computed)| computed.is_some());
    hidden.for_each(|(column, _)| column.name.clear());
    for (column, computed) in columns.iter_mut().zip(computed) {
        let compiled = computed.as_ref().map(|it| Formula::compile(it, column.ty, &plain));
        column.formula = compiled.map(Arc::new);
    }
}
