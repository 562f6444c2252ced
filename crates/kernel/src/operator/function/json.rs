//! ISJSON, JSON_VALUE, JSON_QUERY, JSON_MODIFY, JSON_PATH_EXISTS, JSON_OBJECT, JSON_ARRAY.
//!
//! A lax path that leads nowhere gives NULL; a strict one is an error. JSON_MODIFY changes the text
//! where its path leads and leaves the rest as it was written.

use extentdb_types::SqlType;

use super::json_path::{Path, Step, next};
use super::json_text::{Kind, Value, escaped, parse};
use crate::error::{EvalError, EvalResult};
use crate::operator::row::{Call, Cell, Outcome};
use crate::operator::{cast, codec, moment, moment_style, number_form};
use crate::type_facts;

/// Longest text of JSON_VALUE, in characters.
const LONGEST: usize = 4_000;

fn text_at(call: &Call, cells: &[Cell<'_>], at: usize) -> String {
    let cell = cells.get(at).copied().unwrap_or(Cell::Null);
    codec::decode(call.ty(at), cell.bytes()).into_owned()
}

fn path_at(call: &Call, cells: &[Cell<'_>], at: usize) -> EvalResult<Path> {
    match cells.get(at) {
        None => Path::parse("$").ok_or(EvalError::JsonPath),
        Some(_) => Path::parse(&text_at(call, cells, at)).ok_or(EvalError::JsonPath),
    }
}

fn text(call: &Call, value: &str, to: &mut Vec<u8>) -> EvalResult<Outcome> {
    codec::write(&call.result, value, to);
    Ok(Outcome::Bytes)
}

fn missing(path: &Path) -> EvalResult<Outcome> {
    if path.is_strict { Err(EvalError::JsonProperty) } else { Ok(Outcome::Null) }
}

/// ISJSON; [`Call::number`] says of which kind: 0 array or object, 1 any value, 2 array, 3 object,
/// 4 scalar.
pub fn is_json(call: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let value = parse(&text_at(call, cells, 0));
    let is_it = value.is_some_and(|value| match (call.number, &value.kind) {
        (1, _) => true,
        (2, kind) => matches!(kind, Kind::Array(_)),
        (3, kind) => matches!(kind, Kind::Object(_)),
        (4, kind) => matches!(kind, Kind::Plain | Kind::Text(_)),
        _ => !value.is_scalar(),
    });
    Ok(Outcome::Int(i64::from(is_it)))
}

/// JSON_VALUE: a scalar as text.
pub fn value(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let json = text_at(call, cells, 0);
    let path = path_at(call, cells, 1)?;
    let tree = parse(&json).ok_or(EvalError::Json)?;
    match path.find(&tree).map(|found| (found, &found.kind)) {
        Some((_, Kind::Null)) => Ok(Outcome::Null),
        Some((_, Kind::Text(own))) if own.encode_utf16().count() <= LONGEST => text(call, own, to),
        Some((found, Kind::Plain)) => {
            text(call, json.get(found.start..found.end).unwrap_or_default(), to)
        }
        Some((found, _)) if path.is_strict && !found.is_scalar() => Err(EvalError::JsonScalar),
        _ => missing(&path),
    }
}

/// JSON_QUERY: an array or object as it is written.
pub fn query(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let json = text_at(call, cells, 0);
    let path = path_at(call, cells, 1)?;
    let tree = parse(&json).ok_or(EvalError::Json)?;
    match path.find(&tree) {
        Some(found) if found.is_scalar() && path.is_strict => Err(EvalError::JsonObject),
        Some(found) if found.is_scalar() => Ok(Outcome::Null),
        Some(found) => text(call, json.get(found.start..found.end).unwrap_or_default(), to),
        None => missing(&path),
    }
}

/// JSON_PATH_EXISTS
pub fn path_exists(call: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let path = path_at(call, cells, 1)?;
    let tree = parse(&text_at(call, cells, 0)).ok_or(EvalError::Json)?;
    Ok(Outcome::Int(i64::from(path.find(&tree).is_some())))
}

/// A value as JSON; `is_fragment`: it is JSON already.
fn json_of(ty: &SqlType, cell: Cell<'_>, is_fragment: bool) -> EvalResult<String> {
    let quoted = |text: &str| format!("\"{}\"", escaped(text));
    Ok(match cell {
        Cell::Null => "null".to_owned(),
        Cell::Bytes(bytes) if is_fragment => codec::decode(ty, bytes).into_owned(),
        Cell::Int(bit) if *ty == SqlType::Bit => (bit != 0).to_string(),
        Cell::Float(value) => {
            let mut text = String::new();
            number_form::write_float(value, 2, &mut text)?;
            text
        }
        cell if type_facts::is_temporal(ty) => {
            let mut text = String::new();
            let style = if *ty == SqlType::Date { 23 } else { 126 };
            moment_style::write(ty, moment::read(ty, cell)?, style, &mut text)?;
            quoted(&text)
        }
        Cell::Int(value) if type_facts::is_money(ty) => {
            let mut bytes = Vec::new();
            crate::operator::number_text::write_decimal(value.into(), 4, &mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        }
        cell if type_facts::is_number(ty) => cast::text_of(ty, cell)?,
        cell => quoted(&cast::text_of(ty, cell)?),
    })
}

/// JSON_MODIFY: the JSON, the path, the value; bit 0 of [`Call::number`]: the value is JSON.
pub fn modify(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    if cells.first() == Some(&Cell::Null) || cells.get(1) == Some(&Cell::Null) {
        return Ok(Outcome::Null);
    }
    let json = text_at(call, cells, 0);
    let path = path_at(call, cells, 1)?;
    let tree = parse(&json).ok_or(EvalError::Json)?;
    let cell = cells.get(2).copied().unwrap_or(Cell::Null);
    let new = json_of(call.ty(2), cell, call.number & 1 == 1)?;
    let change = Change { json: &json, is_null: cell == Cell::Null, new };
    match change.at(&path, &tree) {
        Some(changed) => text(call, &changed, to),
        None if path.is_strict => Err(EvalError::JsonProperty),
        None => text(call, &json, to),
    }
}

struct Change<'a> {
    json: &'a str,
    new: String,
    is_null: bool,
}

impl Change<'_> {
    /// The text with the value set; `None` where the path leads nowhere.
    fn at(&self, path: &Path, tree: &Value) -> Option<String> {
        let (last, parents) = path.steps.split_last()?;
        let parent = parents.iter().try_fold(tree, next)?;
        let found = next(parent, last);
        if path.is_append {
            return match found.map(|found| (found, &found.kind)) {
                Some((found, Kind::Array(values))) => {
                    let comma = if values.is_empty() { "" } else { "," };
                    self.replaced(found.end - 1, found.end - 1, &format!("{comma}{}", self.new))
                }
                Some(_) => None,
                None => self.inserted(parent, last, &format!("[{}]", self.new)),
            };
        }
        match found {
            Some(found) if self.is_null && !path.is_strict => self.removed(parent, last, found),
            Some(found) => self.replaced(found.start, found.end, &self.new),
            None if path.is_strict || self.is_null => None,
            None => self.inserted(parent, last, &self.new),
        }
    }

    fn replaced(&self, start: usize, end: usize, new: &str) -> Option<String> {
        Some(format!("{}{new}{}", self.json.get(..start)?, self.json.get(end..)?))
    }

    /// A key that is not there goes to the end of its object.
    fn inserted(&self, parent: &Value, last: &Step, new: &str) -> Option<String> {
        let (Kind::Object(members), Step::Key(key)) = (&parent.kind, last) else { return None };
        let comma = if members.is_empty() { "" } else { "," };
        let member = format!("{comma}\"{}\":{new}", escaped(key));
        self.replaced(parent.end - 1, parent.end - 1, &member)
    }

    /// A member goes with its comma; an element of an array becomes null.
    fn removed(&self, parent: &Value, last: &Step, found: &Value) -> Option<String> {
        let (Kind::Object(members), Step::Key(key)) = (&parent.kind, last) else {
            return self.replaced(found.start, found.end, "null");
        };
        let at = members.iter().position(|member| member.key == *key)?;
        let start = members.get(at)?.start;
        match (members.get(at + 1), at.checked_sub(1).and_then(|before| members.get(before))) {
            (Some(after), _) => self.replaced(start, after.start, ""),
            (None, Some(before)) => self.replaced(before.value.end, found.end, ""),
            (None, None) => self.replaced(start, found.end, ""),
        }
    }
}

/// Is the value of an argument JSON? Arguments beyond 63 are none.
fn is_fragment(call: &Call, argument: usize) -> bool {
    argument < 63 && call.number >> argument & 1 == 1
}

/// Marks a call that leaves NULL out.
pub const ABSENT_ON_NULL: i64 = 1 << 62;

/// JSON_OBJECT: keys and values in turn.
pub fn object(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let is_absent = call.number & ABSENT_ON_NULL != 0;
    let mut members = Vec::new();
    for (pair, both) in cells.as_chunks::<2>().0.iter().enumerate() {
        let [key, value] = *both;
        if is_absent && value == Cell::Null {
            continue;
        }
        if key == Cell::Null {
            return Err(EvalError::Value);
        }
        let key = cast::text_of(call.ty(pair * 2), key)?;
        let at = pair * 2 + 1;
        let value = json_of(call.ty(at), value, is_fragment(call, at))?;
        members.push(format!("\"{}\":{value}", escaped(&key)));
    }
    text(call, &format!("{{{}}}", members.join(",")), to)
}

/// JSON_ARRAY
pub fn array(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let is_absent = call.number & ABSENT_ON_NULL != 0;
    let mut values = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        if !(is_absent && *cell == Cell::Null) {
            values.push(json_of(call.ty(at), *cell, is_fragment(call, at))?);
        }
    }
    text(call, &format!("[{}]", values.join(",")), to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modified(json: &str, path: &str, new: &str) -> Option<String> {
        let change = Change { json, is_null: new == "null", new: new.to_owned() };
        change.at(&Path::parse(path).unwrap(), &parse(json).unwrap())
    }

    #[test]
    fn a_change_leaves_the_rest_as_it_was() {
        let json = r#"{"a": 1, "b": [1, 2], "c":{}}"#;
        let cases = [
            ("$.a", "2", Some(r#"{"a": 2, "b": [1, 2], "c":{}}"#)),
            ("$.b[1]", "3", Some(r#"{"a": 1, "b": [1, 3], "c":{}}"#)),
            ("append $.b", "3", Some(r#"{"a": 1, "b": [1, 2,3], "c":{}}"#)),
            ("$.d", "3", Some(r#"{"a": 1, "b": [1, 2], "c":{},"d":3}"#)),
            ("$.c.x", "3", Some(r#"{"a": 1, "b": [1, 2], "c":{"x":3}}"#)),
            ("$.a", "null", Some(r#"{"b": [1, 2], "c":{}}"#)),
            ("$.c", "null", Some(r#"{"a": 1, "b": [1, 2]}"#)),
            ("$.x.y", "3", None),
            ("strict $.d", "3", None),
        ];
        for (path, new, expected) in cases {
            assert_eq!(modified(json, path, new).as_deref(), expected, "{path}");
        }
    }
}
