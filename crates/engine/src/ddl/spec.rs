//! Specifications of new tables and columns.

use extentdb_base::ObjectId;
use extentdb_catalog::table::{ColumnDefinition, Computed, IndexDefinition};
use extentdb_types::SqlType;

use crate::catalog::columns::with_formulas;
use crate::catalog::definition::plain_column;
use crate::catalog::identity::{IdentitySpec, identity_value};
use crate::catalog::{ColumnDefault, TableColumn};
use crate::ddl::index::IndexSpec;
use crate::ddl::table::heap_definition;
use crate::error::invalid::verify_name;
use crate::error::{Error, Unsupported};

pub(crate) const COLUMNS_MAX: usize = 1024;

/// Does a column take NULL?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nullability {
    /// NULL.
    Nullable,
    /// NOT NULL.
    NotNull,
}

/// A column of a new table.
#[derive(Clone, Debug)]
pub struct ColumnSpec {
    /// Name, 1 to 128 UTF-16 units.
    pub name: String,
    /// Type, with its length, precision, scale and collation.
    pub ty: SqlType,
    /// May be NULL.
    pub nullable: bool,
    /// IDENTITY: values that the engine gives out.
    pub identity: Option<IdentitySpec>,
    /// DEFAULT of a constraint that is made with the column.
    pub default: Option<DefaultSpec>,
    /// AS: the column is computed.
    pub computed: Option<Computed>,
    /// `user_type_id` of an alias type, or of `sysname`; `ty` is the type behind it.
    pub user_type: Option<i32>,
    /// ROWGUIDCOL.
    pub row_guid: bool,
    /// WITH VALUES: rows that exist get the default of an added column that takes NULL.
    pub with_values: bool,
}

/// A default constraint of a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DefaultSpec {
    /// Name of the constraint, 1 to 128 UTF-16 units.
    pub name: String,
    /// The expression as the catalog keeps it, in brackets: `((0))`.
    pub text: String,
}

impl DefaultSpec {
    /// A default constraint by its name and expression.
    pub fn new(name: &str, text: &str) -> DefaultSpec {
        DefaultSpec { name: name.to_owned(), text: text.to_owned() }
    }

    /// The default as statements know it.
    pub(crate) fn column_default(&self, id: ObjectId) -> ColumnDefault {
        ColumnDefault {
            id,
            name: self.name.clone(),
            text: self.text.clone(),
            is_own: true,
        }
    }
}

impl ColumnSpec {
    /// A column that takes NULL.
    pub fn new(name: &str, ty: SqlType) -> ColumnSpec {
        ColumnSpec {
            name: name.to_owned(),
            ty,
            nullable: true,
            identity: None,
            default: None,
            computed: None,
            user_type: None,
            row_guid: false,
            with_values: false,
        }
    }

    /// A column of this type that is computed, and not in the rows: `([quantity]*[price])`.
    pub fn computed(name: &str, ty: SqlType, text: &str) -> ColumnSpec {
        ColumnSpec {
            computed: Some(Computed { text: text.to_owned(), persisted: false }),
            ..ColumnSpec::new(name, ty)
        }
    }

    /// The same, PERSISTED: rows have its values.
    #[must_use]
    pub fn persisted(mut self) -> ColumnSpec {
        self.computed.iter_mut().for_each(|computed| computed.persisted = true);
        self
    }

    /// Does it take NULL?
    pub fn nullability(&self) -> Nullability {
        if self.nullable { Nullability::Nullable } else { Nullability::NotNull }
    }

    /// As statements know it, without its offset and its formula.
    pub(crate) fn table_column(&self, id: i32, default: ObjectId) -> TableColumn {
        TableColumn {
            id,
            name: self.name.clone(),
            ty: self.ty,
            nullable: self.nullable,
            default: self.default.as_ref().map(|spec| spec.column_default(default)),
            formula: None,
            at: 0,
        }
    }

    fn is_valued_rowversion(&self) -> bool {
        let has_value = self.computed.is_some() || self.default.is_some();
        self.ty == SqlType::RowVersion && has_value
    }

    /// Refuses a column that is of a kind that is not made here.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        verify_name("column", &self.name)?;
        if let Some(default) = &self.default {
            verify_name("default", &default.name)?;
        }
        let refused = |why| Err(Unsupported::Column { column: self.name.clone(), why }.into());
        match &self.computed {
            Some(_) | None if self.is_valued_rowversion() => {
                refused("rowversion, and computed or with a default")
            }
            Some(_) if self.identity.is_some() || self.default.is_some() => {
                refused("computed, and an identity or with a default")
            }
            Some(computed) if !computed.persisted && !self.nullable => {
                refused("computed and NOT NULL, but not PERSISTED")
            }
            _ => Ok(()),
        }
    }

    /// The same, NOT NULL.
    #[must_use]
    pub fn not_null(mut self) -> ColumnSpec {
        self.nullable = false;
        self
    }
}

/// A new table.
#[derive(Clone, Debug)]
pub struct TableSpec {
    /// Schema; `dbo` for none.
    pub schema: Option<String>,
    /// Name, 1 to 128 UTF-16 units.
    pub name: String,
    /// Columns, in order.
    pub columns: Vec<ColumnSpec>,
    /// The clustered index of its rows; a heap for none.
    pub clustered: Option<IndexSpec>,
    /// Filegroup; PRIMARY for none.
    pub filegroup: Option<String>,
}

impl TableSpec {
    /// A heap in schema dbo and filegroup PRIMARY.
    pub fn heap(name: &str, columns: Vec<ColumnSpec>) -> TableSpec {
        TableSpec {
            schema: None,
            name: name.to_owned(),
            columns,
            clustered: None,
            filegroup: None,
        }
    }

    /// The same with its rows in a clustered index.
    #[must_use]
    pub fn clustered(self, index: IndexSpec) -> TableSpec {
        TableSpec { clustered: Some(index.clustered()), ..self }
    }

    /// The columns as statements know them, without their offsets in rows.
    pub(crate) fn table_columns(
        &self,
        definitions: &[ColumnDefinition],
    ) -> Result<Vec<TableColumn>, Error> {
        let columns = (1..).zip(self.columns.iter().zip(definitions));
        let mut columns: Vec<TableColumn> =
            columns.map(|(id, (spec, own))| spec.table_column(id, own.default_object)).collect();
        let computed: Vec<_> = self.columns.iter().map(|column| column.computed.clone()).collect();
        with_formulas(&mut columns, &computed);
        columns.iter().try_for_each(verify_formula)?;
        Ok(columns)
    }

    /// The heap or clustered index of its rows.
    pub(crate) fn base_definition(
        &self,
        columns: &[TableColumn],
    ) -> Result<IndexDefinition, Error> {
        let Some(clustered) = &self.clustered else { return Ok(heap_definition()) };
        clustered.verify_columns(columns)?;
        if clustered.filegroup.is_some() && clustered.filegroup != self.filegroup {
            return Err(Unsupported::IndexElsewhere { index: clustered.name.clone() }.into());
        }
        clustered.base_definition(columns)
    }

    pub(crate) fn verify(&self) -> Result<(), Error> {
        verify_name("table", &self.name)?;
        self.columns.iter().try_for_each(ColumnSpec::verify)?;
        if self.columns.is_empty() || self.columns.len() > COLUMNS_MAX {
            return Err(Unsupported::ColumnCount { columns: self.columns.len() }.into());
        }
        let row_versions = self.columns.iter().filter(|column| column.ty == SqlType::RowVersion);
        if let Some(column) = row_versions.skip(1).map(|column| column.name.clone()).next() {
            return Err(Unsupported::SecondRowVersion { column }.into());
        }
        for (at, column) in self.columns.iter().enumerate() {
            if self.columns[..at].iter().any(|other| other.name.eq_ignore_ascii_case(&column.name))
            {
                return Err(Error::Exists { name: column.name.clone() });
            }
        }
        Ok(())
    }
}

/// Refuses a column that is computed by what cannot be evaluated.
pub(crate) fn verify_formula(column: &TableColumn) -> Result<(), Error> {
    match column.formula.as_ref().and_then(|formula| formula.unknown()) {
        None => Ok(()),
        Some(why) => {
            let why = why.to_owned();
            Err(Unsupported::ComputedColumn { column: column.name.clone(), why }.into())
        }
    }
}

/// The column as the catalog describes it.
pub(crate) fn column_definition(
    spec: &ColumnSpec,
    default_object: ObjectId,
) -> Result<ColumnDefinition, Error> {
    let identity =
        spec.identity.map(|identity| identity_value(&spec.ty, identity.seed, identity.increment));
    let refused = |why| Unsupported::Identity { column: spec.name.clone(), why };
    let plain = plain_column(&spec.name, spec.ty, spec.nullable);
    Ok(ColumnDefinition {
        identity: identity.transpose().map_err(refused)?,
        default_object,
        computed: spec.computed.clone(),
        user_type: spec.user_type.unwrap_or(plain.user_type),
        row_guid: spec.row_guid,
        ..plain
    })
}
