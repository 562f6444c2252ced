//! Names of one and of several parts.

use crate::span::Span;

/// An identifier, without its delimiters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name {
    pub text: Box<str>,
    pub span: Span,
}

/// `[[[server.][database].][schema].]name`; parts that are left out are `None`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectName {
    pub server: Option<Name>,
    pub database: Option<Name>,
    pub schema: Option<Name>,
    pub name: Name,
    pub span: Span,
}

impl ObjectName {
    /// True when there is no part but the last.
    #[must_use]
    pub fn is_simple(&self) -> bool {
        self.server.is_none() && self.database.is_none() && self.schema.is_none()
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
