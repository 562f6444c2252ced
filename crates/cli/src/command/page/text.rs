//! A page as DBCC PAGE prints it.

use std::fmt::Write;

use extentdb_format::page::checksum::Protection;
use extentdb_format::page::{PageHeader, PageRef};

use super::columns::{ColumnShown, ShownValue};
use super::content::Content;
use super::faults::PageFault;
use super::fields::{in_columns, lines, plain};
use super::rows::RecordShown;
use super::system::PageRun;
use super::{ShownPage, hex};

/// The whole text.
pub(super) fn document(shown: &ShownPage<'_>) -> String {
    let mut out = head(shown);
    match &shown.content {
        Content::None => {}
        Content::Slots(records) => slots(&mut out, records),
        Content::Rows(records) => rows(&mut out, records),
        Content::Entries(records) => entries(&mut out, shown, records),
        Content::Lob(records) => {
            for line in records
                .iter()
                .flat_map(|record| [""].into_iter().chain(record.lines.iter().map(String::as_str)))
            {
                out += line;
                out.push('\n');
            }
        }
        Content::Map { name, head, runs } => map(&mut out, name, head, runs),
        Content::Fields(name, fields) => {
            out += &format!("\n{name}\n\n");
            fields.iter().for_each(|(name, value)| out += &format!("{name} = {}\n", plain(value)));
        }
    }
    match shown.style {
        1 => offset_table(&mut out, PageRef::new(shown.page)),
        2 => out += &format!("\nDATA:\n\n{}", hex::dump(&shown.raw[..], 0)),
        _ => {}
    }
    out
}

/// Header, owner, allocation status, faults.
fn head(shown: &ShownPage<'_>) -> String {
    let kind = PageHeader::of(shown.page).kind();
    let mut out = format!(
        "PAGE: {}  {} page of {}\n\nPAGE HEADER:\n\n",
        shown.id,
        kind,
        shown.path.display()
    );
    out += &lines(&shown.header, "");
    out += &lines(&shown.metadata, "Metadata: ");
    out += &format!("\nProtection: {}\n\nAllocation Status\n\n", protection(shown.protection));
    let maps = shown.allocation.maps.iter();
    out += &in_columns(maps.map(|map| format!("{} {} = {}", map.map, map.page, map.status)));
    if !shown.faults.is_empty() {
        let words = match shown.allocation.is_allocated {
            Some(false) => {
                "What a page in use could not have (this one is not allocated: it may hold anything)"
            }
            _ => "Faults",
        };
        out += &format!("\n{words}\n\n");
        shown.faults.iter().for_each(|fault| out += &fault_line(fault));
    }
    out
}

fn fault_line(fault: &PageFault) -> String {
    let mut line = String::new();
    if let Some(slot) = fault.slot {
        line += &format!("slot {slot}, ");
    }
    if let Some(at) = fault.byte_offset {
        line += &format!("byte {at}, ");
    }
    line.truncate(line.trim_end_matches(", ").len());
    if !line.is_empty() {
        line += ": ";
    }
    format!("  {line}{}\n", fault.what)
}

/// What the protection of a page says, in words.
pub(super) fn protection(protection: Protection) -> String {
    match protection {
        Protection::None => "none".to_owned(),
        Protection::Checksum { stored, computed } if stored == computed => {
            format!("checksum {stored:#010x}, valid")
        }
        Protection::Checksum { stored, computed } => {
            format!("checksum {stored:#010x}, INVALID: {computed:#010x} computed")
        }
        Protection::Torn { signature, torn_sectors: 0 } => {
            format!("torn-page signature {signature}, valid")
        }
        Protection::Torn { signature, torn_sectors } => {
            format!(
                "torn-page signature {signature}, INVALID in {} sectors",
                torn_sectors.count_ones()
            )
        }
    }
}

fn slots(out: &mut String, records: &[RecordShown]) {
    for record in records {
        record_head(out, record);
        if !record.bytes.is_empty() {
            *out += &format!("\n{}", hex::dump(&record.bytes, 0));
        }
    }
}

fn record_head(out: &mut String, record: &RecordShown) {
    let Some(kind) = record.kind else {
        let what = if record.offset == 0 { "is empty" } else { "points to no record" };
        *out += &format!("\nSlot {} Offset {:#x} {what}\n", record.slot, record.offset);
        return;
    };
    let len = record.bytes.len();
    *out += &format!("\nSlot {} Offset {:#x} Length {len}\n\n", record.slot, record.offset);
    let mut words = vec![format!("Record Type = {kind}")];
    if !record.attributes.is_empty() {
        words.push(format!("Record Attributes = {}", record.attributes.join(" ")));
    }
    words.push(format!("Record Size = {len}"));
    words.extend(record.child.map(|child| format!("Child = {child}")));
    words.extend(record.other_end.map(|(name, rid)| format!("{name} = {rid}")));
    *out += &in_columns(words.into_iter());
}

fn rows(out: &mut String, records: &[RecordShown]) {
    for record in records {
        record_head(out, record);
        match &record.columns {
            Some(columns) => {
                columns.iter().for_each(|column| column_lines(out, record.slot, column))
            }
            // Without a catalog the bytes must do.
            None if record.other_end.is_none() && !record.bytes.is_empty() => {
                *out += &format!("\n{}", hex::dump(&record.bytes, 0));
            }
            None => {}
        }
    }
}

fn column_lines(out: &mut String, slot: u16, column: &ColumnShown) {
    let id = column.id;
    let ty = &column.ty;
    let len = column.physical_len;
    // Writing to a string does not fail.
    let _ = match column.offset {
        Some(at) => writeln!(
            out,
            "\nSlot {slot} Column {id} Offset {at:#x} Length (physical) {len}  {ty}\n"
        ),
        None => {
            writeln!(out, "\nSlot {slot} Column {id} Offset 0x0 Length (physical) {len}  {ty}\n")
        }
    };
    let name = &column.name;
    let _ = match &column.value {
        ShownValue::Null => writeln!(out, "{name} = [NULL]"),
        ShownValue::Added(_, text) => {
            writeln!(out, "{name} = {} (not in the row: added later)", printable(text))
        }
        ShownValue::Here(_, text) => writeln!(out, "{name} = {}", printable(text)),
        ShownValue::Elsewhere(_, lines) => writeln!(out, "{name} = {}", lines.join("\n  ")),
        ShownValue::Broken(why, bytes) => writeln!(out, "{name} = ? {why} {}", hex::word(bytes)),
    };
}

/// Index entries as a table: one line per slot.
fn entries(out: &mut String, shown: &ShownPage<'_>, records: &[RecordShown]) {
    if records.iter().all(|record| record.columns.is_none()) {
        return rows(out, records);
    }
    let header = PageHeader::of(shown.page);
    let has_children = records.iter().any(|record| record.child.is_some());
    let mut table = vec![table_head(records, has_children)];
    for record in records {
        let mut line =
            vec![shown.id.file.to_string(), shown.id.page.to_string(), record.slot.to_string()];
        line.push(header.level.to_string());
        if has_children {
            line.push(record.child.map_or_else(String::new, |child| child.file.to_string()));
            line.push(record.child.map_or_else(String::new, |child| child.page.to_string()));
        }
        match (&record.columns, record.kind) {
            (Some(columns), Some(kind)) => {
                line.extend(columns.iter().map(entry_value));
                line.push(kind.to_owned());
            }
            _ => line.push("(no record)".to_owned()),
        }
        table.push(line);
    }
    out.push('\n');
    *out += &aligned(&table);
}

fn table_head(records: &[RecordShown], has_children: bool) -> Vec<String> {
    let mut head: Vec<String> = ["FileId", "PageId", "Row", "Level"].map(str::to_owned).into();
    if has_children {
        head.extend(["ChildFileId", "ChildPageId"].map(str::to_owned));
    }
    let columns = records.iter().find_map(|record| record.columns.as_ref());
    for column in columns.into_iter().flatten() {
        head.push(if column.is_key {
            format!("{} (key)", column.name)
        } else {
            column.name.clone()
        });
    }
    head.push("Record Type".to_owned());
    head
}

fn entry_value(column: &ColumnShown) -> String {
    match &column.value {
        ShownValue::Null => "NULL".to_owned(),
        ShownValue::Added(_, text) | ShownValue::Here(_, text) => printable(text),
        ShownValue::Elsewhere(_, lines) => lines.join("; "),
        ShownValue::Broken(why, bytes) => format!("? {why} {}", hex::word(bytes)),
    }
}

/// Lines of cells under each other; what is very wide is not waited for.
fn aligned(table: &[Vec<String>]) -> String {
    const WIDEST: usize = 40;
    let mut widths: Vec<usize> = Vec::new();
    for line in table {
        for (column, cell) in line.iter().enumerate() {
            let width = cell.chars().count().min(WIDEST);
            match widths.get_mut(column) {
                Some(widest) => *widest = width.max(*widest),
                None => widths.push(width),
            }
        }
    }
    let mut out = String::new();
    for line in table {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        out += cells.collect::<Vec<_>>().join("  ").trim_end();
        out.push('\n');
    }
    out
}

fn map(out: &mut String, name: &str, head: &[(String, serde_json::Value)], runs: &[PageRun]) {
    if !head.is_empty() {
        *out += &format!("\nIAM: Header\n\n{}", lines(head, ""));
    }
    *out += &format!("\n{name}\n\n");
    for run in runs {
        *out += &if run.first == run.last {
            format!("{} = {}\n", run.first, run.status)
        } else {
            format!("{} - {} = {}\n", run.first, run.last, run.status)
        };
    }
}

fn offset_table(out: &mut String, view: PageRef<'_>) {
    *out += "\nOFFSET TABLE:\n\nRow - Offset\n";
    for (slot, offset) in view.slot_offsets().enumerate().rev() {
        *out += &format!("{slot} ({slot:#x}) - {offset} ({offset:#x})\n");
    }
}

/// A value on one line: line ends and other control characters as escapes.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}
