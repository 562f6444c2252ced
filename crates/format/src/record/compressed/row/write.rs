//! Writing CD records: the counterpart of [`CdRecord`](super::CdRecord).

use extentdb_base::Rid;

use super::{BIT_TRUE, WIDE_COUNT};
use super::{
    CLUSTER, CdColumn, CdKind, HAS_LONG_DATA, HAS_VERSION_TAG, IS_CD, LONG, LONG_OFFSETS_U16,
    SYMBOL,
};
use crate::record::row::{BACK_POINTER_TAG, COMPLEX_COLUMN, VersionTag};

/// Long data flag: some value is a pointer structure.
const HAS_COMPLEX: u8 = 0x02;
/// The most bytes of a short value.
const SHORT_MAX: usize = 8;

impl<'a> CdColumn<'a> {
    /// The column for a value in its compressed form, by its length.
    pub fn of_bytes(bytes: &'a [u8]) -> CdColumn<'a> {
        match bytes.len() {
            0 => CdColumn::Empty,
            1..=SHORT_MAX => CdColumn::Short(bytes),
            _ => CdColumn::Long { bytes, complex: false },
        }
    }

    fn write_code(self) -> u8 {
        match self {
            CdColumn::Null | CdColumn::Unreadable => 0,
            CdColumn::Empty => 1,
            CdColumn::Short(bytes) => (bytes.len() as u8).clamp(1, SHORT_MAX as u8) + 1,
            CdColumn::Long { .. } => LONG,
            CdColumn::BitTrue => BIT_TRUE,
            CdColumn::Symbol(_) => SYMBOL,
        }
    }
}

/// The parts of a record that is to be written.
#[derive(Clone, Copy, Debug)]
pub struct CdParts<'a> {
    /// What it is; not a forwarding stub, see [`stub`](Self::stub).
    pub kind: CdKind,
    /// Its columns; short values have one to eight bytes.
    pub columns: &'a [CdColumn<'a>],
    /// Where a forwarded row came from. Its form is inferred: one more long value, as in an
    /// uncompressed row.
    pub back_pointer: Option<Rid>,
    /// Closes the record.
    pub version_tag: Option<VersionTag>,
}

impl<'a> CdParts<'a> {
    /// A record of nothing but columns.
    pub fn new(kind: CdKind, columns: &'a [CdColumn<'a>]) -> Self {
        CdParts { kind, columns, back_pointer: None, version_tag: None }
    }

    /// The stub that a moved row leaves in its home slot.
    pub fn stub(target: Rid) -> [u8; 9] {
        let [a, b, c, d, e, f, g, h] = target.to_bytes();
        [IS_CD | CdKind::ForwardingStub.bits(), a, b, c, d, e, f, g, h]
    }

    /// Lays the record out after what `out` already holds.
    pub fn write(&self, out: &mut Vec<u8>) {
        let back_pointer = self.back_pointer.map(back_pointer_bytes);
        let mut longs: Vec<(&[u8], bool)> = self
            .columns
            .iter()
            .filter_map(|column| match column {
                CdColumn::Long { bytes, complex } => Some((*bytes, *complex)),
                _ => None,
            })
            .collect();
        longs.extend(back_pointer.as_ref().map(|bytes| (&bytes[..], true)));
        let mut header = IS_CD | self.kind.bits();
        header |= if longs.is_empty() { 0 } else { HAS_LONG_DATA };
        header |= if self.version_tag.is_some() { HAS_VERSION_TAG } else { 0 };
        out.push(header);
        self.write_descriptors(out);
        self.write_short(out);
        if !longs.is_empty() {
            self.write_long(&longs, out);
        }
        if let Some(tag) = &self.version_tag {
            out.extend_from_slice(&tag.previous.to_bytes());
            out.extend_from_slice(&tag.sequence);
        }
    }

    fn write_descriptors(&self, out: &mut Vec<u8>) {
        match u8::try_from(self.columns.len()) {
            Ok(count) if count < WIDE_COUNT => out.push(count),
            _ => {
                let [high, low] = (self.columns.len() as u16).to_be_bytes();
                out.extend_from_slice(&[high | WIDE_COUNT, low]);
            }
        }
        let mut codes = self.columns.iter().map(|column| column.write_code());
        while let Some(low) = codes.next() {
            out.push(low | codes.next().unwrap_or(0) << 4);
        }
    }

    /// All clusters of columns but the last, whose length follows from the others.
    fn counted_clusters(&self) -> impl Iterator<Item = &'a [CdColumn<'a>]> {
        let clusters = self.columns.chunks(usize::from(CLUSTER));
        let counted = clusters.len().saturating_sub(1);
        clusters.take(counted)
    }

    fn write_short(&self, out: &mut Vec<u8>) {
        let short_len = |column: &CdColumn<'_>| match column {
            CdColumn::Short(bytes) => bytes.len(),
            CdColumn::Symbol(_) => 1,
            _ => 0,
        };
        out.extend(
            self.counted_clusters()
                .map(|cluster| cluster.iter().map(short_len).sum::<usize>() as u8),
        );
        for column in self.columns {
            match column {
                CdColumn::Short(bytes) => out.extend_from_slice(bytes),
                CdColumn::Symbol(symbol) => out.push(*symbol),
                _ => {}
            }
        }
    }

    fn write_long(&self, longs: &[(&[u8], bool)], out: &mut Vec<u8>) {
        let has_complex = longs.iter().any(|(_, complex)| *complex);
        out.push(LONG_OFFSETS_U16 | if has_complex { HAS_COMPLEX } else { 0 });
        out.extend_from_slice(&(longs.len() as u16).to_le_bytes());
        let mut end = 0;
        for (bytes, complex) in longs {
            end += bytes.len();
            let flag = if *complex { COMPLEX_COLUMN } else { 0 };
            out.extend_from_slice(&(end as u16 | flag).to_le_bytes());
        }
        let is_long = |column: &&CdColumn<'_>| matches!(column, CdColumn::Long { .. });
        out.extend(
            self.counted_clusters().map(|cluster| cluster.iter().filter(is_long).count() as u8),
        );
        longs.iter().for_each(|(bytes, _)| out.extend_from_slice(bytes));
    }
}

fn back_pointer_bytes(home: Rid) -> [u8; 10] {
    let [tag, kind] = BACK_POINTER_TAG;
    let [a, b, c, d, e, f, g, h] = home.to_bytes();
    [tag, kind, a, b, c, d, e, f, g, h]
}

#[cfg(test)]
mod tests {
    use extentdb_base::PageId;
    use extentdb_base::env::{Rng, SplitMix64};

    use super::super::CdRecord;
    use super::*;
    use crate::record::lob::LobPointer;

    #[test]
    fn the_published_record_is_written_byte_by_byte() {
        let long = |bytes| CdColumn::Long { bytes, complex: false };
        let columns = [
            CdColumn::Empty,
            CdColumn::of_bytes(&[0xff; 4]),
            CdColumn::Null,
            CdColumn::Short(b"aaa"),
            long(&[b'b'; 1000]),
            CdColumn::Empty,
            CdColumn::BitTrue,
            CdColumn::Null,
            CdColumn::of_bytes(&[b'c'; 1000]),
            long(b"dddddddddd"),
        ];
        let mut out = Vec::new();
        CdParts::new(CdKind::Primary, &columns).write(&mut out);
        let start = [
            0x21, 0x0a, 0x51, 0x40, 0x1a, 0x0b, 0xaa, 0xff, 0xff, 0xff, 0xff, b'a', b'a', b'a', 1,
            3, 0, 0xe8, 3, 0xd0, 7, 0xda, 7,
        ];
        assert_eq!(out, [&start[..], &[b'b'; 1000], &[b'c'; 1000], b"dddddddddd"].concat());
    }

    #[test]
    fn what_is_written_is_read() {
        let mut rng = SplitMix64::new(1);
        for _ in 0..3_000 {
            let values: Vec<Vec<u8>> = (0..rng.below(300))
                .map(|_| vec![rng.next_u64() as u8; rng.below(12) as usize])
                .collect();
            let columns: Vec<CdColumn<'_>> = values
                .iter()
                .map(|value| match rng.below(8) {
                    0 => CdColumn::Null,
                    1 => CdColumn::BitTrue,
                    2 => CdColumn::Symbol(rng.next_u64() as u8),
                    3 => CdColumn::Long { bytes: value, complex: true },
                    _ => CdColumn::of_bytes(value),
                })
                .collect();
            let home = Rid::new(PageId::new(1, 77), 4);
            let tag = VersionTag { previous: home, sequence: [1, 2, 3, 4, 5, 6] };
            let is_moved = rng.below(2) == 0;
            let parts = CdParts {
                kind: if is_moved { CdKind::Forwarded } else { CdKind::GhostData },
                columns: &columns,
                back_pointer: is_moved.then_some(home),
                version_tag: (rng.below(2) == 0).then_some(tag),
            };
            let mut out = Vec::new();
            parts.write(&mut out);
            let record = CdRecord::parse(&out);
            assert_eq!(
                (record.fault(), record.kind(), record.len()),
                (None, parts.kind, out.len())
            );
            assert_eq!(
                (record.columns().collect::<Vec<_>>(), record.version_tag()),
                (columns.clone(), parts.version_tag)
            );
            let back = record.extra_long().map(|(bytes, _)| LobPointer::parse(bytes, false));
            assert_eq!(
                back.collect::<Vec<_>>(),
                is_moved.then_some(LobPointer::BackPointer(home)).into_iter().collect::<Vec<_>>()
            );
        }
        assert_eq!(
            CdRecord::parse(&CdParts::stub(Rid::new(PageId::new(3, 9), 1))).stub_target(),
            Some(Rid::new(PageId::new(3, 9), 1))
        );
    }
}
