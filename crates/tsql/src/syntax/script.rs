//! A parsed batch.

use extentdb_base::sync::Arc;

use super::statement::Statement;
use crate::span::Span;

/// The statements of a batch with its text, which spans refer to.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// The batch as it was sent.
    pub text: Arc<str>,
    pub statements: Vec<Statement>,
}

impl Script {
    /// The part of the text that a span covers.
    #[must_use]
    pub fn source(&self, span: Span) -> &str {
        span.of(&self.text)
    }
}
