//! The bytes of a batch's texts: inputs, constants and results one after another.
//!
//! Invariants
//! - A span that was handed out stays valid until the batch is reset; a part of a text is a span
//!   inside its span, so `left`, `substring` and `rtrim` copy nothing.
//! - At most [`MAX_BYTES`] bytes, or [`MAX_STATEMENT_BYTES`] for a program of a statement; what
//!   would go beyond is [`EvalError::Space`] for its row.

use crate::error::{EvalError, EvalResult};
use crate::lane::Span;

/// Most bytes of text in one batch.
pub const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Most bytes of text in one batch of a statement, whose values may be large.
pub const MAX_STATEMENT_BYTES: usize = 8 * MAX_BYTES;

// A span counts in 32 bits.
const _: () = assert!(MAX_STATEMENT_BYTES <= u32::MAX as usize);

/// The texts of a batch.
#[derive(Debug)]
pub struct Arena {
    bytes: Vec<u8>,
    scratch: Vec<u8>,
    limit: usize,
}

impl Default for Arena {
    fn default() -> Arena {
        Arena { bytes: Vec::new(), scratch: Vec::new(), limit: MAX_BYTES }
    }
}

impl Arena {
    /// Forgets all texts, to take at most `limit` bytes of others.
    pub fn clear(&mut self, limit: usize) {
        self.bytes.clear();
        self.limit = limit;
    }

    /// Most bytes of text.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// The bytes of a span.
    #[inline]
    pub fn get(&self, span: Span) -> &[u8] {
        let start = span.start as usize;
        self.bytes.get(start..start + span.len as usize).unwrap_or_default()
    }

    /// Appends a text.
    #[inline]
    pub fn push(&mut self, text: &[u8]) -> EvalResult<Span> {
        let start = self.bytes.len();
        if text.len() > self.limit - start.min(self.limit) {
            return Err(EvalError::Space);
        }
        self.bytes.extend_from_slice(text);
        // Both are at most the limit, which has 32 bits.
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
