//! Builds compressed records and pages after the published descriptions: the other side of the
//! readers under test.

#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::HashMap;

use extentdb_base::{AllocUnitId, PageId};
use extentdb_format::PageBytes;
use extentdb_format::page::{PageHeader, PageMut, PageType};

/// A column to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Cell {
    Null,
    BitTrue,
    Bytes(Vec<u8>),
    Pointer(Vec<u8>),
    Symbol(u8),
}

impl Cell {
    fn code(&self) -> u8 {
        match self {
            Cell::Null => 0,
            Cell::BitTrue => 11,
            Cell::Symbol(_) => 12,
            Cell::Pointer(_) => 10,
            Cell::Bytes(bytes) if bytes.len() > 8 => 10,
            Cell::Bytes(bytes) => bytes.len() as u8 + 1,
        }
    }

    fn short(&self) -> &[u8] {
        match self {
            Cell::Symbol(symbol) => std::slice::from_ref(symbol),
            Cell::Bytes(bytes) if bytes.len() <= 8 => bytes,
            _ => &[],
        }
    }

    fn long(&self) -> Option<(&[u8], bool)> {
        match self {
            Cell::Pointer(bytes) => Some((bytes, true)),
            Cell::Bytes(bytes) if bytes.len() > 8 => Some((bytes, false)),
            _ => None,
        }
    }
}

/// A record with these kind bits and columns.
pub(crate) fn record(kind_bits: u8, cells: &[Cell]) -> Vec<u8> {
    let longs: Vec<_> = cells.iter().filter_map(Cell::long).collect();
    let mut out = vec![1 | kind_bits | if longs.is_empty() { 0 } else { 0x20 }];
    match cells.len() {
        count @ 0..128 => out.push(count as u8),
        count => out.extend_from_slice(&(0x8000 | count as u16).to_be_bytes()),
    }
    out.extend(cells.chunks(2).map(|pair| pair[0].code() | pair.get(1).map_or(0, Cell::code) << 4));
    let clusters: Vec<&[Cell]> = cells.chunks(30).collect();
    let all_but_last = &clusters[..clusters.len().saturating_sub(1)];
    out.extend(
        all_but_last
            .iter()
            .map(|cluster| cluster.iter().map(|c| c.short().len()).sum::<usize>() as u8),
    );
    out.extend(cells.iter().flat_map(Cell::short));
    if longs.is_empty() {
        return out;
    }
    out.push(1 | if longs.iter().any(|(_, complex)| *complex) { 2 } else { 0 });
    out.extend_from_slice(&(longs.len() as u16).to_le_bytes());
    let mut end = 0;
    for (bytes, complex) in &longs {
        end += bytes.len();
        out.extend_from_slice(&(end as u16 | if *complex { 0x8000 } else { 0 }).to_le_bytes());
    }
    out.extend(
        all_but_last
            .iter()
            .map(|cluster| cluster.iter().filter(|c| c.long().is_some()).count() as u8),
    );
    out.extend(longs.iter().flat_map(|(bytes, _)| *bytes));
    out
}

/// Anchors of a page and what its rows look like with them and a dictionary.
pub(crate) struct Shared {
    pub(crate) anchors: Vec<Cell>,
    pub(crate) dictionary: Vec<Vec<u8>>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// Undoes nothing, shares everything: each column gets the longest value as its anchor where any
/// two values begin alike, and stored forms that occur twice go to the dictionary.
pub(crate) fn share(rows: &[Vec<Cell>], with_dictionary: bool) -> Shared {
    let columns = rows.first().map_or(0, Vec::len);
    let anchors: Vec<Cell> = (0..columns).map(|column| anchor_of(rows, column)).collect();
    let mut stored: Vec<Vec<Cell>> = rows
        .iter()
        .map(|row| row.iter().zip(&anchors).map(|(cell, anchor)| against(cell, anchor)).collect())
        .collect();
    let mut dictionary = Vec::new();
    if with_dictionary {
        let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
        for cell in stored.iter().flatten() {
            if let Cell::Bytes(bytes) = cell {
                *counts.entry(bytes.clone()).or_default() += 1;
            }
        }
        dictionary = counts
            .into_iter()
            .filter(|(bytes, n)| *n > 1 && bytes.len() > 1)
            .map(|(b, _)| b)
            .collect();
        dictionary.sort();
        dictionary.truncate(256);
        for cell in stored.iter_mut().flatten() {
            if let Cell::Bytes(bytes) = cell
                && let Ok(symbol) = dictionary.binary_search(bytes)
            {
                *cell = Cell::Symbol(symbol as u8);
            }
        }
    }
    Shared { anchors, dictionary, rows: stored }
}

fn anchor_of(rows: &[Vec<Cell>], column: usize) -> Cell {
    let values: Vec<&Vec<u8>> = rows
        .iter()
        .filter_map(|row| if let Cell::Bytes(b) = &row[column] { Some(b) } else { None })
        .collect();
    let is_shared =
        values.iter().enumerate().any(|(i, a)| values[..i].iter().any(|b| common(a, b) > 0));
    match values.iter().max_by_key(|value| value.len()) {
        Some(longest) if is_shared && longest.len() < 128 => Cell::Bytes((*longest).clone()),
        _ => Cell::Null,
    }
}

fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn against(cell: &Cell, anchor: &Cell) -> Cell {
    match (cell, anchor) {
        (Cell::Bytes(value), Cell::Bytes(anchor)) if value == anchor => Cell::Bytes(Vec::new()),
        (Cell::Bytes(value), Cell::Bytes(anchor)) => {
            let prefix = common(value, anchor);
            Cell::Bytes([&[prefix as u8], &value[prefix..]].concat())
        }
        _ => cell.clone(),
    }
}

/// Compression information.
pub(crate) fn compression_information(anchors: &[Cell], dictionary: &[Vec<u8>]) -> Vec<u8> {
    let anchor = record(0, anchors);
    let mut flags = 2;
    let mut body = anchor;
    let header = 5 + if dictionary.is_empty() { 0 } else { 2 };
    let anchor_end = header + body.len();
    if !dictionary.is_empty() {
        flags |= 4;
        body.extend_from_slice(&(dictionary.len() as u16).to_le_bytes());
        let mut end = 2 + 2 * dictionary.len();
        for entry in dictionary {
            end += entry.len();
            body.extend_from_slice(&(end as u16).to_le_bytes());
        }
        body.extend(dictionary.iter().flatten());
    }
    let mut out = vec![flags, 0, 0];
    out.extend_from_slice(&(anchor_end as u16).to_le_bytes());
    if !dictionary.is_empty() {
        out.extend_from_slice(&((header + body.len()) as u16).to_le_bytes());
    }
    out.extend_from_slice(&body);
    out
}

/// A page-compressed page. `None` when it does not fit.
pub(crate) fn page(shared: &Shared) -> Option<Box<PageBytes>> {
    let mut bytes = Box::new([0; 8192]);
    let ci = compression_information(&shared.anchors, &shared.dictionary);
    let mut page = PageMut::format(
        &mut bytes,
        PageId::new(1, 99),
        PageType::Data,
        AllocUnitId::from_header(1, 256),
    );
    page.header_mut().type_flag_bits = 0x80;
    page.header_mut().free_offset.set((96 + ci.len()) as u16);
    let is_full = shared.rows.iter().any(|row| page.push(&record(0, row)).is_none());
    if is_full || 96 + ci.len() > 4096 {
        return None;
    }
    bytes[96..96 + ci.len()].copy_from_slice(&ci);
    debug_assert_eq!(usize::from(PageHeader::of(&bytes).slot_count.get()), shared.rows.len());
    Some(bytes)
}
