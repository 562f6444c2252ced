//! FOR XML EXPLICIT: each row is an element by its tag, within the open element that has the tag of
//! its parent.

use extentdb_bind::logical::{ExplicitColumn, ExplicitDirective, XmlForm};
use extentdb_types::Datum;

use super::xml::{element_text, own_declarations, push_attribute, push_element, xml_name};
use super::{TextColumn, value_text};
use crate::error::Error;

/// The open elements.
#[derive(Default)]
pub(super) struct Explicit {
    open: Vec<Open>,
}

struct Open {
    tag: i32,
    name: String,
    /// Is the start tag to be ended yet?
    is_bare: bool,
}

fn failed<T>(number: i32, text: impl Into<String>) -> Result<T, Error> {
    Err(Error::Message { number, text: text.into() })
}

impl Explicit {
    pub(super) fn push_row(
        &mut self,
        form: &XmlForm,
        explicit: &[ExplicitColumn],
        columns: &[TextColumn],
        values: &[Datum<'_>],
        out: &mut String,
    ) -> Result<(), Error> {
        let Some(tag) = values.first().and_then(number_of).filter(|tag| *tag > 0) else {
            let text = "FOR XML EXPLICIT requires the first column to hold positive integers that \
                        represent XML tag IDs.";
            return failed(6803, text);
        };
        let parent = match values.get(1) {
            None | Some(Datum::Null) => 0,
            Some(value) => match number_of(value).filter(|parent| *parent >= 0) {
                Some(parent) => parent,
                None => {
                    let text = "FOR XML EXPLICIT requires the second column to hold NULL or \
                                nonnegative integers that represent XML parent tag IDs.";
                    return failed(6804, text);
                }
            },
        };
        let Some(first) = explicit.iter().find(|column| column.tag == tag) else {
            let text = format!("Undeclared tag ID {tag} is used in a FOR XML EXPLICIT query.");
            return failed(6806, text);
        };
        let depth = match (parent, self.open.iter().rposition(|own| own.tag == parent)) {
            (0, _) => 0,
            (_, Some(at)) => at + 1,
            (_, None) => {
                let text = format!(
                    "Parent tag ID {parent} is not among the open tags. FOR XML EXPLICIT requires \
                     parent tags to be opened first. Check the ordering of the result set."
                );
                return failed(6833, text);
            }
        };
        self.close_to(depth, out);
        if let Some(last) = self.open.last_mut()
            && std::mem::take(&mut last.is_bare)
        {
            out.push('>');
        }
        let name = xml_name(&first.element);
        let declared = if depth == 0 { own_declarations(form) } else { String::new() };
        out.push_str(&format!("<{name}{declared}"));
        let own = explicit.iter().zip(columns.iter().zip(values).skip(2));
        let (mut attributes, mut body) = (String::new(), String::new());
        for (explicit, (column, value)) in own.filter(|(explicit, _)| explicit.tag == tag) {
            push_value(explicit, column, value, &mut attributes, &mut body);
        }
        out.push_str(&attributes);
        let is_bare = body.is_empty();
        if !is_bare {
            out.push_str(&format!(">{body}"));
        }
        self.open.push(Open { tag, name, is_bare });
        Ok(())
    }

    pub(super) fn close_to(&mut self, depth: usize, out: &mut String) {
        while self.open.len() > depth {
            match self.open.pop() {
                Some(Open { is_bare: true, .. }) => out.push_str("/>"),
                Some(Open { name, .. }) => out.push_str(&format!("</{name}>")),
                None => {}
            }
        }
    }
}

fn push_value(
    explicit: &ExplicitColumn,
    column: &TextColumn,
    value: &Datum<'_>,
    attributes: &mut String,
    body: &mut String,
) {
    let name = &explicit.attribute;
    let shows_null = explicit.directive == ExplicitDirective::ElementXsiNil;
    match explicit.directive {
        ExplicitDirective::Hide => {}
        _ if value.is_null() && !shows_null => {}
        ExplicitDirective::Attribute if name.is_empty() => {
            body.push_str(&element_text(value, column.is_raw));
        }
        ExplicitDirective::Attribute => push_attribute(name, value, attributes),
        ExplicitDirective::Cdata => {
            body.push_str(&format!("<![CDATA[{}]]>", value_text(value)));
        }
        ExplicitDirective::Xml if name.is_empty() => body.push_str(&element_text(value, true)),
        ExplicitDirective::Element | ExplicitDirective::ElementXsiNil if name.is_empty() => {
            if !value.is_null() {
                body.push_str(&element_text(value, column.is_raw));
            }
        }
        directive => {
            let is_raw = column.is_raw || directive == ExplicitDirective::Xml;
            push_element(name, value, is_raw, shows_null, body);
        }
    }
}

fn number_of(value: &Datum<'_>) -> Option<i32> {
    match value {
        Datum::TinyInt(value) => Some(i32::from(*value)),
        Datum::SmallInt(value) => Some(i32::from(*value)),
        Datum::Int(value) => Some(*value),
        Datum::BigInt(value) => i32::try_from(*value).ok(),
        _ => None,
    }
}
