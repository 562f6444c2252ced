//! Writing compression information: the counterpart of [`CiView`](super::CiView).

use super::{HAS_ANCHOR, HAS_DICTIONARY};
use crate::record::compressed::row::{CdColumn, CdKind, CdParts};

/// Bytes before the first offset: flags and number of changes.
const FIXED_BYTES: usize = 3;

/// Appends compression information with an anchor record, and a dictionary when there are entries.
/// `anchors`: NULL for columns without an anchor.
pub fn write_information(anchors: &[CdColumn<'_>], dictionary: &[Vec<u8>], out: &mut Vec<u8>) {
    let mut record = Vec::new();
    CdParts::new(CdKind::Primary, anchors).write(&mut record);
    let has_dictionary = !dictionary.is_empty();
    let anchor_end = FIXED_BYTES + 2 + if has_dictionary { 2 } else { 0 } + record.len();
    out.push(HAS_ANCHOR | if has_dictionary { HAS_DICTIONARY } else { 0 });
    out.extend_from_slice(&0u16.to_le_bytes());
    out.extend_from_slice(&(anchor_end as u16).to_le_bytes());
    if !has_dictionary {
        out.extend_from_slice(&record);
        return;
    }
    let bytes: usize = dictionary.iter().map(Vec::len).sum();
    let dictionary_end = anchor_end + 2 + 2 * dictionary.len() + bytes;
    out.extend_from_slice(&(dictionary_end as u16).to_le_bytes());
    out.extend_from_slice(&record);
    out.extend_from_slice(&(dictionary.len() as u16).to_le_bytes());
    let mut end = 2 + 2 * dictionary.len();
    for entry in dictionary {
        end += entry.len();
        out.extend_from_slice(&(end as u16).to_le_bytes());
    }
    dictionary.iter().for_each(|entry| out.extend_from_slice(entry));
}

#[cfg(test)]
mod tests {
    use super::super::CiView;
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let anchors =
            [CdColumn::Short(b"PALETTE"), CdColumn::Null, CdColumn::of_bytes(b"a long anchor")];
        for dictionary in [Vec::new(), vec![b"\x01ILL".to_vec(), Vec::new(), b"\x01OX".to_vec()]] {
            let mut out = vec![0xee; 2];
            write_information(&anchors, &dictionary, &mut out);
            let view = CiView::parse(&out[2..]);
            assert_eq!((view.fault(), view.size()), (None, out.len() - 2));
            assert_eq!(view.anchors(), anchors);
            let read: Vec<Vec<u8>> = (0..view.dictionary().len())
                .map(|at| view.dictionary().entry(at).unwrap().to_vec())
                .collect();
            assert_eq!(read, dictionary);
        }
    }
}
