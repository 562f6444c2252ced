//! The pieces of a compressed backup: which part of the stream lies where in the file.
//!
//! ```text
//! bit 63 … 56  kind  bit 55 … 48  units of 512 bytes in the stream  bit 47 … 0  offset in the file
//! ```
//!
//! Eight bytes per record. Where a piece begins in the stream is the sum of the units before it;
//! every 256th sum is kept.

/// How a piece is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PieceKind {
    /// A record to expand.
    Packed,
    /// A record whose payload is plain bytes.
    Stored,
    /// A filemark, without a record header.
    Clear,
    /// A record whose header is damaged: its length is a guess, its bytes are lost.
    Lost,
}

impl PieceKind {
    const ALL: [PieceKind; 4] =
        [PieceKind::Packed, PieceKind::Stored, PieceKind::Clear, PieceKind::Lost];
}

/// A piece of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamPiece {
    pub(crate) kind: PieceKind,
    /// Offset in the file of the record, header included.
    pub(crate) file_offset: u64,
    /// Where its bytes begin in the stream.
    pub(crate) start: u64,
    /// How many they are.
    pub(crate) bytes: usize,
}

impl StreamPiece {
    /// Where its bytes end in the stream.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.bytes as u64
    }
}

/// Offsets are kept in this many bits.
const OFFSET_BITS: u32 = 48;
/// The length lies in the byte after it, the kind in the last.
const KIND_SHIFT: u32 = OFFSET_BITS + u8::BITS;
const _: () = assert!(KIND_SHIFT + u8::BITS == u64::BITS, "offset, length and kind fill the word");
/// Longest file whose records can be indexed.
pub(crate) const FILE_BYTES_MAX: u64 = 1 << OFFSET_BITS;
/// Unit of lengths in the stream.
pub(crate) const UNIT_BYTES: usize = 512;
/// Distance in pieces between stored sums of lengths.
const STRIDE: usize = 256;

/// All pieces of a file, in order.
#[derive(Default)]
pub(crate) struct StreamPieces {
    packed: Vec<u64>,
    /// Start in the stream of pieces 0, 256, 512 …
    starts: Vec<u64>,
    end: u64,
}

impl StreamPieces {
    /// Appends a piece. `units`: its length in the stream, in units of [`UNIT_BYTES`].
    pub(crate) fn push(&mut self, kind: PieceKind, file_offset: u64, units: u8) {
        if self.packed.len().is_multiple_of(STRIDE) {
            self.starts.push(self.end);
        }
        self.packed
            .push((kind as u64) << KIND_SHIFT | u64::from(units) << OFFSET_BITS | file_offset);
        self.end += u64::from(units) * UNIT_BYTES as u64;
    }

    /// Marks the last piece as lost: its record turned out to be damaged.
    pub(crate) fn lose_last(&mut self) {
        if let Some(last) = self.packed.last_mut() {
            *last = *last & (u64::MAX >> u8::BITS) | (PieceKind::Lost as u64) << KIND_SHIFT;
        }
    }

    /// Length in the stream of the last piece.
    pub(crate) fn last_bytes(&self) -> usize {
        self.packed.last().map_or(0, |packed| unpack(*packed, 0).bytes)
    }

    /// Bytes of the stream.
    pub(crate) fn stream_bytes(&self) -> u64 {
        self.end
    }

    /// The piece that holds a byte of the stream, and its number.
    pub(crate) fn find(&self, offset: u64) -> Option<(usize, StreamPiece)> {
        if offset >= self.end {
            return None;
        }
        let stride = self.starts.partition_point(|start| *start <= offset).checked_sub(1)?;
        let mut start = *self.starts.get(stride)?;
        let first = stride * STRIDE;
        for (number, packed) in self.packed.iter().enumerate().skip(first).take(STRIDE) {
            let piece = unpack(*packed, start);
            if offset < piece.end() {
                return Some((number, piece));
            }
            start = piece.end();
        }
        None
    }

    /// Offset in the file of the piece after `number`; `None` for the last.
    pub(crate) fn next_file_offset(&self, number: usize) -> Option<u64> {
        self.packed.get(number + 1).map(|packed| unpack(*packed, 0).file_offset)
    }
}

fn unpack(packed: u64, start: u64) -> StreamPiece {
    let [kind, units, ..] = packed.to_be_bytes();
    StreamPiece {
        kind: PieceKind::ALL.get(usize::from(kind)).copied().unwrap_or(PieceKind::Lost),
        file_offset: packed & (FILE_BYTES_MAX - 1),
        start,
        bytes: usize::from(units) * UNIT_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_the_stream_maps_to_its_piece() {
        let mut pieces = StreamPieces::default();
        let mut expected = Vec::new();
        for n in 0..2000u64 {
            let units = (n % 128 + 1) as u8;
            let start = pieces.stream_bytes();
            pieces.push(PieceKind::ALL[(n % 4) as usize], n << 36 | n, units);
            expected.push((
                start,
                PieceKind::ALL[(n % 4) as usize],
                n << 36 | n,
                pieces.stream_bytes(),
            ));
        }
        for (number, (start, kind, file_offset, end)) in expected.iter().enumerate() {
            for offset in [*start, end - 1] {
                let (found, piece) = pieces.find(offset).expect("inside");
                assert_eq!((found, piece.kind, piece.file_offset), (number, *kind, *file_offset));
                assert_eq!((piece.start, piece.end()), (*start, *end));
            }
        }
        assert_eq!(pieces.find(pieces.stream_bytes()), None);
        pieces.lose_last();
        let (_, last) = pieces.find(pieces.stream_bytes() - 1).expect("inside");
        assert_eq!((last.kind, last.bytes), (PieceKind::Lost, pieces.last_bytes()));
        assert_eq!(StreamPieces::default().find(0), None);
    }
}
