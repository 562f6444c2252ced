//! FOR XML AUTO: an element for each table, within that of the table before it.
//!
//! Invariants
//! - A row closes the open elements from the first level on whose columns differ from those of the
//!   row before; the last level always begins a new element.
//! - Only the last level can be without anything in it.

use extentdb_bind::logical::XmlForm;
use extentdb_types::Datum;

use super::TextColumn;
use super::xml::{own_declarations, push_column, xml_name};

/// The open elements.
#[derive(Default)]
pub(super) struct Levels {
    /// Attributes and elements of the columns of each level.
    open: Vec<(String, String)>,
}

impl Levels {
    pub(super) fn push_row(
        &mut self,
        form: &XmlForm,
        names: &[String],
        levels: &[usize],
        columns: &[TextColumn],
        values: &[Datum<'_>],
        out: &mut String,
    ) {
        let mut row = vec![(String::new(), String::new()); names.len()];
        for ((column, value), level) in columns.iter().zip(values).zip(levels) {
            if let Some((attributes, body)) = row.get_mut(*level) {
                push_column(form, column, value, attributes, body);
            }
        }
        let same = row.iter().zip(&self.open).take_while(|(own, open)| own == open).count();
        let from = same.min(names.len().saturating_sub(1));
        self.close_to(from, names, out);
        for (level, (name, own)) in names.iter().zip(row).enumerate().skip(from) {
            let (attributes, body) = &own;
            let declared = if level == 0 { own_declarations(form) } else { String::new() };
            let is_empty = level + 1 == names.len() && body.is_empty();
            let end = if is_empty { "/" } else { "" };
            out.push_str(&format!("<{}{declared}{attributes}{end}>{body}", xml_name(name)));
            if level + 1 < names.len() {
                self.open.push(own);
            } else if !is_empty {
                out.push_str(&format!("</{}>", xml_name(name)));
            }
        }
    }

    pub(super) fn close_to(&mut self, depth: usize, names: &[String], out: &mut String) {
        while self.open.len() > depth {
            self.open.pop();
            if let Some(name) = names.get(self.open.len()) {
                out.push_str(&format!("</{}>", xml_name(name)));
            }
        }
    }
}
