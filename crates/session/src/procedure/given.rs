//! Arguments of a system procedure by name or position.

use extentdb_types::Datum;

use extentdb_connection::cause::Cause;
use extentdb_connection::request::Argument;
use extentdb_connection::variant;

/// The arguments of a call.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub(crate) procedure: &'static str,
    pub(crate) arguments: &'a [Argument],
}

impl<'a> Given<'a> {
    /// The argument of a parameter; `None` when it is left out.
    pub(crate) fn argument(&self, place: usize, name: &str) -> Option<&'a Argument> {
        let named = self.arguments.iter().find(|it| it.name.eq_ignore_ascii_case(name));
        let placed = self.arguments.get(place).filter(|it| it.name.is_empty());
        named.or(placed).filter(|argument| !argument.is_default)
    }

    /// Its position among the arguments.
    pub(crate) fn place(&self, place: usize, name: &str) -> Option<usize> {
        let named = self.arguments.iter().position(|it| it.name.eq_ignore_ascii_case(name));
        named.or_else(|| (place < self.arguments.len()).then_some(place))
    }

    /// It as text; `None` for NULL.
    pub(crate) fn text(&self, place: usize, name: &str) -> Option<String> {
        variant::text(&self.argument(place, name)?.value)
    }

    /// It as a whole number.
    pub(crate) fn number(&self, place: usize, name: &str) -> Option<i64> {
        let value = &self.argument(place, name)?.value;
        if let Datum::Binary(bytes) = value {
            // As 0x10 is one.
            let add = |number: i64, byte: &u8| number << u8::BITS | i64::from(*byte);
            return Some(bytes.iter().fold(0, add));
        }
        let text = || variant::text(value).and_then(|text| text.trim().parse().ok());
        variant::integer(value).or_else(text)
    }

    /// The cause when a parameter has no value.
    pub(crate) fn missing(&self, parameter: &str) -> Cause {
        Cause::MissingParameter {
            procedure: self.procedure.to_owned(),
            parameter: parameter.to_owned(),
        }
    }
}
