//! The bytes of a batch's texts: inputs, constants and results one after another.
//!
//! Invariants
//! - A span that was handed out stays valid until the batch is reset; a part of a text is a span
//!   inside its span, so `left`, `substring` and `rtrim` copy nothing.
//! - At most [`MAX_BYTES`] bytes; what would go beyond is [`EvalError::Space`] for its row.

use crate::error::{EvalError, EvalResult};
use crate::lane::Span;

/// Most bytes of text in one batch.
pub(crate) const MAX_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Arena {
    bytes: Vec<u8>,
    scratch: Vec<u8>,
}

impl Arena {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// The bytes of a span.
    #[inline]
    pub(crate) fn get(&self, span: Span) -> &[u8] {
        let start = span.start as usize;
        self.bytes.get(start..start + span.len as usize).unwrap_or_default()
    }

    /// Appends a text.
    #[inline]
    pub(crate) fn push(&mut self, text: &[u8]) -> EvalResult<Span> {
        let start = self.bytes.len();
        if text.len() > MAX_BYTES - start.min(MAX_BYTES) {
            return Err(EvalError::Space);
        }
        self.bytes.extend_from_slice(text);
        // Both are at most MAX_BYTES.
        Ok(Span { start: start as u32, len: text.len() as u32 })
    }

    /// Appends the text that `write` builds from others.
    #[inline]
    pub(crate) fn build(
        &mut self,
        write: impl FnOnce(&Arena, &mut Vec<u8>) -> EvalResult<()>,
    ) -> EvalResult<Span> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let span = write(self, &mut scratch).and_then(|()| self.push(&scratch));
        self.scratch = scratch;
        span
    }
}

/// A part of a span, cut to it.
pub(crate) fn part(span: Span, start: usize, len: usize) -> Span {
    let whole = span.len as usize;
    let start = start.min(whole);
    Span {
        start: span.start + start as u32,
        len: len.min(whole - start) as u32,
    }
}
