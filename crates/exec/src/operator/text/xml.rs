//! FOR XML: rows as elements.
//!
//! ```text
//! RAW       <row a="1"/>
//! PATH      <row><a>1</a><b><c>x</c></b></row>   @a is an attribute, a/b a path, no name a text
//! AUTO      <t a="1"><u b="2"/><u b="3"/></t>    see `levels`
//! EXPLICIT  as the columns say                   see `explicit`
//! ```

use extentdb_bind::logical::{XmlForm, XmlRows};
use extentdb_types::Datum;

use super::explicit::Explicit;
use super::levels::Levels;
use super::{TextColumn, value_text};
use crate::error::Error;

/// Writes rows one after the other.
pub(super) struct XmlWriter {
    form: XmlForm,
    levels: Levels,
    explicit: Explicit,
    /// Does what was written last end with a value of `data()`?
    was_data: bool,
}

impl XmlWriter {
    pub(super) fn new(form: &XmlForm) -> XmlWriter {
        XmlWriter {
            form: form.clone(),
            levels: Levels::default(),
            explicit: Explicit::default(),
            was_data: false,
        }
    }

    pub(super) fn push_row(
        &mut self,
        columns: &[TextColumn],
        values: &[Datum<'_>],
        out: &mut String,
    ) -> Result<(), Error> {
        let form = &self.form;
        match &form.mode {
            XmlRows::Raw(row) => push_raw_row(form, row, columns, values, out),
            XmlRows::Path(row) => {
                push_path_row(form, row, columns, values, &mut self.was_data, out);
            }
            XmlRows::Auto { names, levels } => {
                self.levels.push_row(form, names, levels, columns, values, out);
            }
            XmlRows::Explicit(explicit) => {
                self.explicit.push_row(form, explicit, columns, values, out)?;
            }
        }
        Ok(())
    }

    /// Closes what is open after the last row.
    pub(super) fn end(&mut self, out: &mut String) {
        if let XmlRows::Auto { names, .. } = &self.form.mode {
            self.levels.close_to(0, names, out);
        }
        self.explicit.close_to(0, out);
    }
}

/// Declarations of namespaces, as attributes of the root or of each first element.
pub(super) fn declarations(form: &XmlForm) -> String {
    let xsi = match form.shows_nulls {
        true => " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"",
        false => "",
    };
    format!("{}{xsi}", form.namespaces)
}

/// The same for an element that no other one is around.
pub(super) fn own_declarations(form: &XmlForm) -> String {
    if form.root.is_some() { String::new() } else { declarations(form) }
}

/// `<row a="1"/>`, or with elements.
fn push_raw_row(
    form: &XmlForm,
    row: &str,
    columns: &[TextColumn],
    values: &[Datum<'_>],
    out: &mut String,
) {
    let mut attributes = String::new();
    let mut body = String::new();
    for (column, value) in columns.iter().zip(values) {
        push_column(form, column, value, &mut attributes, &mut body);
    }
    let declared = own_declarations(form);
    match row.is_empty() {
        true => out.push_str(&body),
        false => push_whole(row, &format!("{declared}{attributes}"), &body, out),
    }
}

/// A column as an attribute or an element.
pub(super) fn push_column(
    form: &XmlForm,
    column: &TextColumn,
    value: &Datum<'_>,
    attributes: &mut String,
    body: &mut String,
) {
    if form.has_elements || (column.is_raw && !value.is_null()) {
        push_element(&column.name, value, column.is_raw, form.shows_nulls, body);
    } else if !value.is_null() {
        push_attribute(&column.name, value, attributes);
    }
}

pub(super) fn push_attribute(name: &str, value: &Datum<'_>, out: &mut String) {
    let text = xml_escaped(&value_text(value), true);
    out.push_str(&format!(" {}=\"{text}\"", xml_name(name)));
}

/// An element as a whole.
fn push_whole(name: &str, attributes: &str, body: &str, out: &mut String) {
    match body.is_empty() {
        true => out.push_str(&format!("<{name}{attributes}/>")),
        false => out.push_str(&format!("<{name}{attributes}>{body}</{name}>")),
    }
}

pub(super) fn push_element(
    name: &str,
    value: &Datum<'_>,
    is_raw: bool,
    shows_null: bool,
    out: &mut String,
) {
    let name = xml_name(name);
    if value.is_null() {
        if shows_null {
            out.push_str(&format!("<{name} xsi:nil=\"true\"/>"));
        }
        return;
    }
    out.push_str(&format!("<{name}>{}</{name}>", element_text(value, is_raw)));
}

pub(super) fn element_text(value: &Datum<'_>, is_raw: bool) -> String {
    let text = value_text(value);
    if is_raw { text } else { xml_escaped(&text, false) }
}

/// A row of PATH.
fn push_path_row(
    form: &XmlForm,
    row: &str,
    columns: &[TextColumn],
    values: &[Datum<'_>],
    was_data: &mut bool,
    out: &mut String,
) {
    let mut attributes = own_declarations(form);
    let mut body = String::new();
    let mut open: Vec<String> = Vec::new();
    // Values of rows without an element stand beside each other.
    *was_data &= row.is_empty();
    for (column, value) in columns.iter().zip(values) {
        if let Some(name) = column.name.strip_prefix('@') {
            if !value.is_null() {
                push_attribute(name, value, &mut attributes);
            }
            continue;
        }
        let mut path: Vec<String> = column.name.split('/').map(str::to_owned).collect();
        let last = path.pop().unwrap_or_default();
        if value.is_null() && (!form.shows_nulls || last.starts_with('@')) {
            continue;
        }
        let common = open.iter().zip(&path).take_while(|(a, b)| a == b).count();
        close_to(&mut open, common, &mut body);
        for part in path.into_iter().skip(common) {
            body.push_str(&format!("<{}>", xml_name(&part)));
            open.push(part);
        }
        let is_data = last == "data()";
        if is_data && *was_data {
            body.push(' ');
        }
        *was_data = is_data;
        push_path_value(form, &last, column, value, &mut body);
    }
    close_to(&mut open, 0, &mut body);
    match row.is_empty() {
        true => out.push_str(&body),
        false => push_whole(row, &attributes, &body, out),
    }
}

/// The value of a column at the end of its path.
fn push_path_value(
    form: &XmlForm,
    last: &str,
    column: &TextColumn,
    value: &Datum<'_>,
    body: &mut String,
) {
    if let Some(name) = last.strip_prefix('@') {
        // The element was opened for this attribute, or for one before it.
        if body.ends_with('>') {
            body.pop();
            push_attribute(name, value, body);
            body.push('>');
        }
        return;
    }
    let instruction =
        last.strip_prefix("processing-instruction(").and_then(|rest| rest.strip_suffix(')'));
    match (last, instruction) {
        ("" | "*" | "text()" | "node()" | "data()" | "comment()", _) | (_, Some(_))
            if value.is_null() => {}
        ("comment()", _) => body.push_str(&format!("<!--{}-->", value_text(value))),
        (_, Some(name)) => body.push_str(&format!("<?{name} {}?>", value_text(value))),
        ("" | "*" | "text()" | "node()" | "data()", _) => {
            body.push_str(&element_text(value, column.is_raw));
        }
        (name, _) => push_element(name, value, column.is_raw, form.shows_nulls, body),
    }
}

fn close_to(open: &mut Vec<String>, depth: usize, out: &mut String) {
    while open.len() > depth {
        if let Some(name) = open.pop() {
            out.push_str(&format!("</{}>", xml_name(&name)));
        }
    }
}

fn xml_escaped(text: &str, is_attribute: bool) -> String {
    let mut out = String::with_capacity(text.len());
    extentdb_expr::escape_xml(text, is_attribute, &mut out);
    out
}

/// A name of a column as a name of XML: what is no letter there becomes `_xHHHH_`.
pub(super) fn xml_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (at, letter) in name.chars().enumerate() {
        let is_start = letter.is_alphabetic() || letter == '_';
        let is_other = letter.is_alphanumeric() || matches!(letter, '-' | '.' | ':');
        if is_start || (at > 0 && is_other) {
            out.push(letter);
        } else {
            out.push_str(&format!("_x{:04X}_", letter as u32));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::tests::{columns, nchar};
    use super::*;

    fn written(mode: XmlRows, names: &[&str], values: &[Datum<'_>]) -> String {
        let form = XmlForm {
            has_elements: matches!(mode, XmlRows::Path(_)),
            mode,
            root: None,
            shows_nulls: false,
            namespaces: String::new(),
        };
        let mut writer = XmlWriter::new(&form);
        let mut out = String::new();
        writer.push_row(&columns(names), values, &mut out).unwrap();
        writer.end(&mut out);
        out
    }

    #[test]
    fn paths_are_attributes_elements_and_texts() {
        let values = [Datum::Int(1), nchar("x<y"), nchar("z"), nchar("t")];
        let path = || XmlRows::Path("r".to_owned());
        assert_eq!(
            written(path(), &["@id", "a/b", "a/c", ""], &values),
            "<r id=\"1\"><a><b>x&lt;y</b><c>z</c></a>t</r>"
        );
        assert_eq!(
            written(path(), &["a/@id", "a/@x", "a/text()", "comment()"], &values),
            "<r><a id=\"1\" x=\"x&lt;y\">z</a><!--t--></r>"
        );
        assert_eq!(written(XmlRows::Path(String::new()), &[""], &[nchar(",a")]), ",a");
    }

    #[test]
    fn attributes_of_raw_rows() {
        let values = [Datum::Int(1), nchar("a\"b"), Datum::Null];
        assert_eq!(
            written(XmlRows::Raw("row".to_owned()), &["id", "first name", "c"], &values),
            "<row id=\"1\" first_x0020_name=\"a&quot;b\"/>"
        );
    }
}
