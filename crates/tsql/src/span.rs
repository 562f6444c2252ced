//! Where something stands in a text.

/// A range of bytes and the line it begins on.
///
/// Spans are positions, not meaning: all spans are equal, so that syntax trees compare by what
/// they say and not by how it was laid out.
#[derive(Debug, Clone, Copy, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset past the last byte.
    pub end: u32,
    /// Line of the first byte, counted from 1.
    pub line: u32,
}

impl Span {
    /// From the beginning of this span to the end of `last`.
    #[must_use]
    pub fn to(self, last: Span) -> Span {
        Span { end: last.end.max(self.start), ..self }
    }

    /// The part of `text` that the span covers; empty when it is not a part of `text`.
    #[must_use]
    pub fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl Eq for Span {}

impl std::hash::Hash for Span {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}
