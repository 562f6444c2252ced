//! Building records: the counterpart of [`row`](super::row).

use extentdb_base::{PageId, Rid};

use super::row::{
    BACK_POINTER_TAG, COMPLEX_COLUMN, DATA_HEADER_BYTES, INDEX_HEADER_BYTES, STUB_BYTES, VersionTag,
};
use super::status::{HAS_NULL_BITMAP, HAS_VARIABLE, HAS_VERSION_TAG, RecordKind};

/// Collects the parts of a record and lays them out. One builder serves many records:
/// [`clear`](Self::clear) keeps the memory.
#[derive(Clone, Debug)]
pub struct RecordBuilder {
    kind: RecordKind,
    status_b: u8,
    header_bytes: usize,
    /// The record from its first byte to the end of the fixed part.
    fixed: Vec<u8>,
    null_bits: Option<(u16, Vec<u8>)>,
    /// Bytes of all variable columns, one after the other.
    var_bytes: Vec<u8>,
    /// End of each column in `var_bytes`, and the complex bit.
    var_ends: Vec<(usize, bool)>,
    version_tag: Option<VersionTag>,
}

impl RecordBuilder {
    /// A record of a data page whose fixed part ends at `fixed_end`.
    pub fn data(kind: RecordKind, fixed_end: usize) -> Self {
        Self::with_header(kind, DATA_HEADER_BYTES, fixed_end)
    }

    /// A record of an index page with this `pminlen`.
    pub fn index(kind: RecordKind, pminlen: usize) -> Self {
        Self::with_header(kind, INDEX_HEADER_BYTES, pminlen)
    }

    fn with_header(kind: RecordKind, header_bytes: usize, fixed_end: usize) -> Self {
        RecordBuilder {
            kind,
            status_b: 0,
            header_bytes,
            fixed: vec![0; fixed_end.max(header_bytes)],
            null_bits: None,
            var_bytes: Vec::new(),
            var_ends: Vec::new(),
            version_tag: None,
        }
    }

    /// Forgets all columns; kind and length of the fixed part stay.
    pub fn clear(&mut self) {
        self.fixed.fill(0);
        if let Some((_, bits)) = &mut self.null_bits {
            bits.fill(0);
        }
        self.var_bytes.clear();
        self.var_ends.clear();
        self.version_tag = None;
    }

    /// The second status byte of a data record.
    pub fn status_b(&mut self, status_b: u8) -> &mut Self {
        self.status_b = status_b;
        self
    }

    /// Writes a fixed column. What does not fit in the fixed part is not written: a wrong layout is
    /// the caller's bug and shows as a record that does not round-trip.
    pub fn fixed(&mut self, offset: usize, bytes: &[u8]) -> &mut Self {
        debug_assert!(offset >= self.header_bytes && offset + bytes.len() <= self.fixed.len());
        if let Some(target) = self.fixed.get_mut(offset..offset + bytes.len()) {
            target.copy_from_slice(bytes);
        }
        self
    }

    /// Sets one bit of the fixed part, for bit columns.
    pub fn fixed_bit(&mut self, offset: usize, bit: u8, value: bool) -> &mut Self {
        if let Some(byte) = self.fixed.get_mut(offset) {
            *byte = *byte & !(1 << (bit & 7)) | u8::from(value) << (bit & 7);
        }
        self
    }

    /// Gives the record a null bitmap for `count` columns, all not null.
    pub fn columns(&mut self, count: u16) -> &mut Self {
        let bytes = usize::from(count).div_ceil(8);
        match &mut self.null_bits {
            Some((n, bits)) if *n == count => bits.fill(0),
            other => *other = Some((count, vec![0; bytes])),
        }
        self
    }

    /// Marks the column with null bit `null_bit` (from 1) as NULL.
    pub fn null(&mut self, null_bit: u16) -> &mut Self {
        let bit = usize::from(null_bit).wrapping_sub(1);
        if let Some(byte) = self.null_bits.as_mut().and_then(|(_, bits)| bits.get_mut(bit / 8)) {
            *byte |= 1 << (bit % 8);
        }
        self
    }

    /// Appends the next variable column.
    pub fn var(&mut self, bytes: &[u8], complex: bool) -> &mut Self {
        self.var_bytes.extend_from_slice(bytes);
        self.var_ends.push((self.var_bytes.len(), complex));
        self
    }

    /// Appends the column that leads from a forwarded record back to its stub.
    pub fn back_pointer(&mut self, home: Rid) -> &mut Self {
        self.var_bytes.extend_from_slice(&BACK_POINTER_TAG);
        self.var(&home.to_bytes(), true)
    }

    /// Closes the record with a versioning tag.
    pub fn version_tag(&mut self, tag: VersionTag) -> &mut Self {
        self.version_tag = Some(tag);
        self
    }

    /// Writes the child page of a non-leaf index record: the last six bytes of the fixed part.
    pub fn child(&mut self, child: PageId) -> &mut Self {
        let at = self.fixed.len().saturating_sub(PageId::BYTES);
        self.fixed(at, &child.to_bytes())
    }

    /// Lays the record out after what `out` already holds. Trailing empty variable columns are
    /// left out, and with them the whole variable part, as the real product does.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.fixed);
        if let Some((count, bits)) = &self.null_bits {
            out.extend_from_slice(&count.to_le_bytes());
            out.extend_from_slice(bits);
        }
        let stored = self.stored_columns();
        if stored > 0 {
            self.write_variable(stored, start, out);
        }
        if let Some(tag) = &self.version_tag {
            out.extend_from_slice(&tag.previous.to_bytes());
            out.extend_from_slice(&tag.sequence);
        }
        self.write_header(stored, start, out);
    }

    /// The record as a vector of its own.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    /// Variable columns up to the last one that is not empty.
    fn stored_columns(&self) -> usize {
        let mut stored = self.var_ends.len();
        while let Some((end, complex)) = stored.checked_sub(1).and_then(|i| self.var_ends.get(i)) {
            let start =
                stored.checked_sub(2).and_then(|i| self.var_ends.get(i)).map_or(0, |(end, _)| *end);
            if *end > start || *complex {
                break;
            }
            stored -= 1;
        }
        stored
    }

    fn write_variable(&self, stored: usize, start: usize, out: &mut Vec<u8>) {
        let base = out.len() - start + 2 + 2 * stored;
        out.extend_from_slice(&(stored as u16).to_le_bytes());
        for (end, complex) in self.var_ends.iter().take(stored) {
            let flag = if *complex { COMPLEX_COLUMN } else { 0 };
            out.extend_from_slice(&((base + end) as u16 | flag).to_le_bytes());
        }
        out.extend_from_slice(&self.var_bytes);
    }

    fn write_header(&self, stored: usize, start: usize, out: &mut [u8]) {
        let mut status = self.kind.bits();
        if self.null_bits.is_some() {
            status |= HAS_NULL_BITMAP;
        }
        if stored > 0 {
            status |= HAS_VARIABLE;
        }
        if self.version_tag.is_some() {
            status |= HAS_VERSION_TAG;
        }
        let [end_low, end_high] = (self.fixed.len() as u16).to_le_bytes();
        let header = [status, self.status_b, end_low, end_high];
        let header = header.get(..self.header_bytes).unwrap_or_default();
        if let Some(target) = out.get_mut(start..start + header.len()) {
            target.copy_from_slice(header);
        }
    }
}

/// The stub that a moved row leaves in its home slot.
pub fn forwarding_stub(target: Rid) -> [u8; STUB_BYTES] {
    let [a, b, c, d, e, f, g, h] = target.to_bytes();
    [RecordKind::ForwardingStub.bits(), a, b, c, d, e, f, g, h]
}

#[cfg(test)]
mod tests;
