//! Names of one and of several parts.

use crate::span::Span;

/// An identifier, without its delimiters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name {
    pub text: Box<str>,
    pub span: Span,
}

/// `[[[server.][database].][schema].]name`
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectName {
    pub name: Name,
    /// `None` when there is no part but the last.
    pub qualifier: Option<Box<Qualifier>>,
    pub span: Span,
}

/// The parts before the last; those that are left out are `None`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Qualifier {
    pub server: Option<Name>,
    pub database: Option<Name>,
    pub schema: Option<Name>,
}

impl ObjectName {
    /// A name of one part.
    #[must_use]
    pub fn simple(name: Name) -> ObjectName {
        let span = name.span;
        ObjectName { name, qualifier: None, span }
    }

    /// True when there is no part but the last.
    #[must_use]
    pub fn is_simple(&self) -> bool {
        self.qualifier.is_none()
    }

    #[must_use]
    pub fn schema(&self) -> Option<&Name> {
        self.qualifier.as_ref().and_then(|qualifier| qualifier.schema.as_ref())
    }

    #[must_use]
    pub fn database(&self) -> Option<&Name> {
        self.qualifier.as_ref().and_then(|qualifier| qualifier.database.as_ref())
    }

    #[must_use]
    pub fn server(&self) -> Option<&Name> {
        self.qualifier.as_ref().and_then(|qualifier| qualifier.server.as_ref())
    }

    /// The parts before the last, innermost last.
    pub(crate) fn into_parts(self) -> (Vec<Option<Name>>, Name) {
        let qualifier = self.qualifier.map(|qualifier| *qualifier).unwrap_or_default();
        let mut parts = vec![qualifier.server, qualifier.database, qualifier.schema];
        let first = parts.iter().position(Option::is_some).unwrap_or(parts.len());
        parts.drain(..first);
        (parts, self.name)
    }
}

/// `@name`: the text begins with the sign.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VariableName {
    pub text: Box<str>,
    pub span: Span,
}

/// `name | @variable`, where a statement takes either.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameOrVariable {
    Name(Name),
    Variable(VariableName),
}

/// `[ GLOBAL ] cursor | @cursor`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CursorName {
    pub is_global: bool,
    pub name: NameOrVariable,
}
