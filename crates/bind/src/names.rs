//! Columns by their names.

use extentdb_tsql::Span;
use extentdb_tsql::syntax::{Column as ColumnSyntax, ColumnName, ObjectName};

use crate::access;
use crate::binder::{Binder, shown};
use crate::error::{Cause, Result};
use crate::scope::{NamedColumn, Source};

/// A column that a name stands for.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) named: NamedColumn,
    /// The scope that it belongs to.
    pub(crate) scope: usize,
    /// The name as messages show it: `source.column`.
    pub(crate) shown: String,
    /// The source, as the query names it.
    pub(crate) source: String,
}

impl Binder<'_> {
    /// The column of a name, in the innermost query that has one.
    pub(crate) fn column(&self, name: &ColumnName, span: Span) -> Result<Found> {
        for (depth, scope) in self.scopes.iter().enumerate().rev() {
            let mut found: Option<(&Source, &NamedColumn)> = None;
            for source in &scope.sources {
                let matches = name.qualifier.as_ref().is_none_or(|it| self.exposes(source, it));
                if !matches {
                    continue;
                }
                for column in source.columns.iter().filter(|it| self.is_meant(name, it)) {
                    if found.is_some() {
                        let name = column_text(name);
                        return Err(Cause::AmbiguousColumn { name }.at(span));
                    }
                    found = Some((source, column));
                }
            }
            if let Some((source, named)) = found {
                access::verify_readable(named, span)?;
                let shown = format!("{}.{}", source.name, named.name);
                let source = source.name.clone();
                return Ok(Found { named: named.clone(), scope: depth, shown, source });
            }
            let is_source = name
                .qualifier
                .as_ref()
                .is_some_and(|it| scope.sources.iter().any(|own| self.exposes(own, it)));
            if is_source {
                return Err(Cause::InvalidColumn { name: column_text(name) }.at(span));
            }
        }
        Err(match &name.qualifier {
            Some(qualifier) => {
                let name = format!("{}.{}", shown(qualifier), column_text(name));
                Cause::MultiPart { name }.at(span)
            }
            None => Cause::InvalidColumn { name: column_text(name) }.at(span),
        })
    }

    fn is_meant(&self, name: &ColumnName, column: &NamedColumn) -> bool {
        match &name.column {
            ColumnSyntax::Named(text) => self.is_named(text, &column.name),
            ColumnSyntax::Pseudo(text) => match &**text {
                "$identity" | "identitycol" => column.is_identity,
                "$rowguid" | "rowguidcol" => column.is_row_guid,
                other => other == column.name,
            },
        }
    }

    /// Is a source meant by this qualifier?
    pub(crate) fn exposes(&self, source: &Source, qualifier: &ObjectName) -> bool {
        let part = |given: Option<&extentdb_tsql::syntax::Name>, own: &Option<String>| match given {
            None => true,
            Some(given) => own.as_ref().is_some_and(|own| self.is_named(given, own)),
        };
        self.is_named(&qualifier.name, &source.name)
            && part(qualifier.schema(), &source.schema)
            && part(qualifier.database(), &source.database)
    }
}

/// The last part of the name of a column.
pub(crate) fn column_text(name: &ColumnName) -> String {
    match &name.column {
        ColumnSyntax::Named(name) => name.text.to_string(),
        ColumnSyntax::Pseudo(text) => text.to_string(),
    }
}
