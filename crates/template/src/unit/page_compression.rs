//! Page compression: an anchor record with a prefix per column, and a dictionary.
//!
//! ```text
//! column          value                anchor          stored
//! prefix          PALETTE PALM PILL    PALETTE         (nothing) / 3 M / 1 ILL
//! dictionary      repeated stored forms are entries; the row keeps one byte
//! ```
//!
//! SQL Server chooses anchors and entries by rules that are not published; any choice reads back.
//! Here the anchor is the longest value, where that saves bytes, and the entries are those that
//! save most.

use std::collections::BTreeMap;

use extentdb_base::Rid;
use extentdb_format::record::compressed::page::write_information;
use extentdb_format::record::compressed::{CdColumn, CdKind, CdParts, CdRecord};
use extentdb_format::record::lob::LobPointer;

/// The form of longer prefixes is not published.
const ANCHOR_BYTES_MAX: usize = 127;
/// A symbol is one byte.
const ENTRIES_MAX: usize = 256;
/// The most bytes of a value in the short region.
const SHORT_MAX: usize = 8;

/// The common values of a page.
pub(crate) struct CompressionInfo {
    anchors: Vec<Option<Vec<u8>>>,
    /// Dictionary entries with their symbols.
    symbols: BTreeMap<Vec<u8>, u8>,
    information: Vec<u8>,
}

/// Bytes that a stored form takes in a record, besides its descriptor.
fn cost(len: usize) -> usize {
    if len > SHORT_MAX { len + 2 } else { len }
}

/// The compressed form of a column that may be shared.
fn bytes_of<'a>(column: CdColumn<'a>) -> Option<&'a [u8]> {
    match column {
        CdColumn::Empty => Some(&[]),
        CdColumn::Short(bytes) | CdColumn::Long { bytes, complex: false } => Some(bytes),
        _ => None,
    }
}

fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

impl CompressionInfo {
    /// Finds what saves bytes; `None` when nothing does.
    pub(crate) fn of<'r>(records: impl Iterator<Item = &'r [u8]>) -> Option<CompressionInfo> {
        let rows: Vec<CdRecord<'r>> = records.map(CdRecord::parse).filter(is_row).collect();
        let width = rows.iter().map(|row| usize::from(row.column_count())).max()?;
        let mut values: Vec<Vec<&'r [u8]>> = vec![Vec::new(); width];
        for row in &rows {
            for (column, stored) in values.iter_mut().zip(row.columns()) {
                column.extend(bytes_of(stored));
            }
        }
        let anchors: Vec<Option<Vec<u8>>> = values.iter().map(|values| anchor(values)).collect();
        let anchored = values.iter().zip(&anchors).flat_map(|(values, anchor)| {
            values.iter().map(move |value| against(value, anchor.as_deref()))
        });
        let symbols = dictionary(anchored);
        let mut shared = CompressionInfo { anchors, symbols, information: Vec::new() };
        shared.information = shared.write();
        let before: usize = rows.iter().map(CdRecord::len).sum();
        let after: usize = rows.iter().map(|row| shared.encode_row(row).len()).sum();
        (after + shared.information.len() < before).then_some(shared)
    }

    fn write(&self) -> Vec<u8> {
        let anchors: Vec<CdColumn<'_>> = self
            .anchors
            .iter()
            .map(|anchor| anchor.as_ref().map_or(CdColumn::Null, |bytes| CdColumn::of_bytes(bytes)))
            .collect();
        let mut entries = vec![Vec::new(); self.symbols.len()];
        for (entry, symbol) in &self.symbols {
            entries[usize::from(*symbol)].clone_from(entry);
        }
        let mut out = Vec::new();
        write_information(&anchors, &entries, &mut out);
        out
    }

    /// The compression information, as stored after the page header.
    pub(crate) fn information(&self) -> &[u8] {
        &self.information
    }

    /// A record against the common values; stubs stay as they are.
    pub(crate) fn encode(&self, record: &[u8]) -> Vec<u8> {
        let row = CdRecord::parse(record);
        if is_row(&row) { self.encode_row(&row) } else { record.to_vec() }
    }

    fn encode_row(&self, row: &CdRecord<'_>) -> Vec<u8> {
        let stored: Vec<(CdColumn<'_>, Option<Vec<u8>>)> = row
            .columns()
            .zip(self.anchors.iter().map(Option::as_deref).chain(std::iter::repeat(None)))
            .map(|(column, anchor)| (column, bytes_of(column).map(|bytes| against(bytes, anchor))))
            .collect();
        let columns: Vec<CdColumn<'_>> = stored
            .iter()
            .map(|(column, bytes)| match bytes {
                None => *column,
                Some(bytes) => match self.symbols.get(bytes) {
                    Some(symbol) => CdColumn::Symbol(*symbol),
                    None => CdColumn::of_bytes(bytes),
                },
            })
            .collect();
        let mut out = Vec::with_capacity(row.len());
        let back_pointer = back_pointer(row);
        let version_tag = row.version_tag();
        CdParts {
            kind: row.kind(),
            columns: &columns,
            back_pointer,
            version_tag,
        }
        .write(&mut out);
        out
    }
}

fn is_row(record: &CdRecord<'_>) -> bool {
    record.fault().is_none() && record.kind() != CdKind::ForwardingStub
}

fn back_pointer(row: &CdRecord<'_>) -> Option<Rid> {
    row.extra_long().find_map(|(bytes, _)| match LobPointer::parse(bytes, false) {
        LobPointer::BackPointer(home) => Some(home),
        _ => None,
    })
}

/// What a row stores of a value.
fn against(value: &[u8], anchor: Option<&[u8]>) -> Vec<u8> {
    match anchor {
        None => value.to_vec(),
        Some(anchor) if anchor == value => Vec::new(),
        Some(anchor) => {
            let prefix = common(value, anchor);
            let mut out = vec![prefix as u8];
            out.extend_from_slice(&value[prefix..]);
            out
        }
    }
}

/// The longest value of a column, when it saves more than it costs.
fn anchor(values: &[&[u8]]) -> Option<Vec<u8>> {
    let longest = values
        .iter()
        .filter(|value| value.len() <= ANCHOR_BYTES_MAX)
        .max_by_key(|value| value.len())?;
    let before: usize = values.iter().map(|value| cost(value.len())).sum();
    let after: usize = values.iter().map(|value| cost(stored_len(value, longest))).sum();
    (after + cost(longest.len()) < before).then(|| longest.to_vec())
}

fn stored_len(value: &[u8], anchor: &[u8]) -> usize {
    if value == anchor { 0 } else { 1 + value.len() - common(value, anchor) }
}

/// Entries that save bytes: those that save most, numbered in the order of their bytes.
fn dictionary(stored: impl Iterator<Item = Vec<u8>>) -> BTreeMap<Vec<u8>, u8> {
    let mut counts: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for bytes in stored.filter(|bytes| bytes.len() > 1) {
        *counts.entry(bytes).or_default() += 1;
    }
    let saved = |bytes: &[u8], count: usize| {
        (count * (cost(bytes.len()) - 1)).saturating_sub(bytes.len() + 2)
    };
    let mut entries: Vec<(usize, Vec<u8>)> = counts
        .into_iter()
        .map(|(bytes, count)| (saved(&bytes, count), bytes))
        .filter(|(saved, _)| *saved > 0)
        .collect();
    entries.sort_by(|a, b| b.cmp(a));
    entries.truncate(ENTRIES_MAX);
    let mut entries: Vec<Vec<u8>> = entries.into_iter().map(|(_, bytes)| bytes).collect();
    entries.sort_unstable();
    entries.into_iter().zip(0..=u8::MAX).collect()
}
