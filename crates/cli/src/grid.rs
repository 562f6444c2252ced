//! Rows as a text table whose columns are as wide as their values.
//!
//! ```text
//! rows ─▶ kept until there are some hundred ─▶ widths ─▶ lines; later rows at once
//! ```
//!
//! Invariant: memory does not grow with the rows. A value that is longer than those that the widths
//! were taken from is written in full where nothing limits a line, and cut where something does.

use std::io::{self, Write};

use extentdb_types::plain::write_plain;
use extentdb_types::{Datum, SqlType};

/// Rows that widths are taken from.
const MEASURED_ROWS: usize = 500;
/// A column is not made narrower than this to fit a line.
const LEAST_WIDTH: usize = 4;
/// Stands for what is cut off.
const CUT: char = '…';

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct GridColumn {
    /// Its name.
    pub(crate) name: String,
    /// Numbers end where their column ends.
    pub(crate) is_number: bool,
}

/// How a table looks.
#[derive(Clone, Debug)]
pub(crate) struct GridStyle {
    /// Between columns.
    pub(crate) gap: String,
    /// Characters of a line, where something limits them.
    pub(crate) most: Option<usize>,
    /// Names above the rows, and a rule between.
    pub(crate) has_head: bool,
    /// Values one after the other, without columns.
    pub(crate) is_trimmed: bool,
}

impl Default for GridStyle {
    fn default() -> GridStyle {
        GridStyle {
            gap: "  ".to_owned(),
            most: None,
            has_head: true,
            is_trimmed: false,
        }
    }
}

/// A table on its way to a text.
pub(crate) struct Grid {
    columns: Vec<GridColumn>,
    style: GridStyle,
    kept: Vec<Vec<String>>,
    /// Known once there were enough rows.
    widths: Option<Vec<usize>>,
}

impl Grid {
    pub(crate) fn new(columns: Vec<GridColumn>, style: GridStyle) -> Grid {
        Grid { columns, style, kept: Vec::new(), widths: None }
    }

    /// Takes a row: a text for each column.
    pub(crate) fn push(&mut self, row: Vec<String>, out: &mut dyn Write) -> io::Result<()> {
        let row: Vec<String> = row.into_iter().map(one_line).collect();
        if self.widths.is_some() {
            return self.write_row(&row, out);
        }
        self.kept.push(row);
        let is_enough = self.style.is_trimmed || self.kept.len() >= MEASURED_ROWS;
        if is_enough { self.settle(out) } else { Ok(()) }
    }

    /// Writes what is still kept.
    pub(crate) fn finish(mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.widths.is_none() { self.settle(out) } else { Ok(()) }
    }

    /// Decides the widths, and writes the head and what was kept.
    fn settle(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let is_headed = self.style.has_head;
        let name = |column: &GridColumn| if is_headed { length(&column.name) } else { 0 };
        let mut widths: Vec<usize> = self.columns.iter().map(name).collect();
        let kept = std::mem::take(&mut self.kept);
        for row in kept.iter().filter(|_| !self.style.is_trimmed) {
            for (width, text) in widths.iter_mut().zip(row) {
                *width = length(text).max(*width);
            }
        }
        if let Some(most) = self.style.most.filter(|_| !self.style.is_trimmed) {
            narrow(&mut widths, length(&self.style.gap), most);
        }
        let rules = widths.iter().map(|width| "-".repeat((*width).max(1))).collect::<Vec<_>>();
        self.widths = Some(widths);
        if is_headed {
            let names: Vec<String> =
                self.columns.iter().map(|it| one_line(it.name.clone())).collect();
            self.write_row(&names, out)?;
            self.write_row(&rules, out)?;
        }
        kept.iter().try_for_each(|row| self.write_row(row, out))
    }

    fn write_row(&self, row: &[String], out: &mut dyn Write) -> io::Result<()> {
        if self.style.is_trimmed {
            return writeln!(out, "{}", row.join(&self.style.gap));
        }
        let widths = self.widths.as_deref().unwrap_or_default();
        let mut line = String::new();
        for (at, ((text, column), width)) in row.iter().zip(&self.columns).zip(widths).enumerate() {
            if at > 0 {
                line.push_str(&self.style.gap);
            }
            let text = if self.style.most.is_some() { cut(text, *width) } else { text.clone() };
            let rest = " ".repeat(width.saturating_sub(length(&text)));
            if column.is_number {
                line.push_str(&rest);
                line.push_str(&text);
            } else {
                line.push_str(&text);
                line.push_str(&rest);
            }
        }
        writeln!(out, "{}", line.trim_end())
    }
}

/// A value in a text table.
pub(crate) fn shown(value: &Datum<'_>) -> String {
    if value.is_null() {
        return "NULL".to_owned();
    }
    let mut text = String::new();
    // A String takes everything.
    let _ = write_plain(value, &mut text);
    text
}

/// Are values of a type numbers?
pub(crate) fn is_number(ty: &SqlType) -> bool {
    matches!(
        ty,
        SqlType::Bit
            | SqlType::TinyInt
            | SqlType::SmallInt
            | SqlType::Int
            | SqlType::BigInt
            | SqlType::Decimal { .. }
            | SqlType::Numeric { .. }
            | SqlType::Money
            | SqlType::SmallMoney
            | SqlType::Float
            | SqlType::Real
    )
}

/// Takes characters off the widest columns until a line fits, or all are narrow.
fn narrow(widths: &mut [usize], gap: usize, most: usize) {
    let gaps = gap * widths.len().saturating_sub(1);
    let mut total = widths.iter().sum::<usize>() + gaps;
    while total > most {
        let Some(widest) = widths.iter_mut().max() else { return };
        if *widest <= LEAST_WIDTH {
            return;
        }
        *widest -= 1;
        total -= 1;
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn cut(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push(CUT);
    short
}

/// A row is a line: line ends and other control characters become spaces.
fn one_line(text: String) -> String {
    if text.contains(char::is_control) { text.replace(char::is_control, " ") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(most: Option<usize>, rows: &[[&str; 2]]) -> String {
        drawn_so(GridStyle { most, ..GridStyle::default() }, rows)
    }

    fn drawn_so(style: GridStyle, rows: &[[&str; 2]]) -> String {
        let column = |name: &str, is_number| GridColumn { name: name.to_owned(), is_number };
        let mut out = Vec::new();
        let columns = vec![column("n", true), column("text", false)];
        let mut grid = Grid::new(columns, style);
        for row in rows {
            let row = row.iter().map(|text| (*text).to_owned()).collect();
            grid.push(row, &mut out).unwrap();
        }
        grid.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_as_wide_as_their_values() {
        let text = drawn(None, &[["1", "a\nb"], ["100", "a longer text"]]);
        assert_eq!(text, "  n  text\n---  -------------\n  1  a b\n100  a longer text\n");
        assert_eq!(drawn(None, &[]), "n  text\n-  ----\n");
    }

    #[test]
    fn trimmed_rows_are_values_and_separators() {
        let style = GridStyle {
            gap: ";".to_owned(),
            is_trimmed: true,
            ..GridStyle::default()
        };
        let headless = GridStyle { has_head: false, ..style.clone() };
        let rows = [["1", "a b"], ["20", ""]];
        assert_eq!(drawn_so(style, &rows), "n;text\n-;----\n1;a b\n20;\n");
        assert_eq!(drawn_so(headless, &rows), "1;a b\n20;\n");
    }

    #[test]
    fn what_does_not_fit_a_line_is_cut() {
        let text = drawn(Some(12), &[["1", "a longer text"]]);
        assert_eq!(text, "n  text\n-  ---------\n1  a longer…\n");
        let narrowest = drawn(Some(1), &[["1", "a longer text"]]);
        assert_eq!(narrowest, "n  text\n-  ----\n1  a l…\n");
    }

    #[test]
    fn rows_after_the_measured_ones_are_written_in_full() {
        let mut rows = vec![["1", "x"]; MEASURED_ROWS];
        rows.push(["2", "long after the rest"]);
        let text = drawn(None, &rows);
        assert!(text.ends_with("1  x\n2  long after the rest\n"), "{text}");
    }
}
