//! OPENJSON: the members of an object or array as rows.
//!
//! ```text
//! OPENJSON(text [, path])              a row (key, value, type) for each member or element
//! OPENJSON(text [, path]) WITH (…)     a row for each element of an array, one for an object:
//!                                      a value for each path
//! ```

use super::json_path::Path;
use super::json_text::{Kind, Value, parse};
use crate::error::{EvalError, EvalResult};

/// A member of an object or an element of an array.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonMember {
    /// The key, or the place in the array.
    pub key: String,
    /// Texts without quotes, all else as it is written; `None`: null.
    pub value: Option<String>,
    /// 0 null, 1 text, 2 number, 3 true or false, 4 array, 5 object.
    pub kind: u8,
}

/// A value that each row is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonField {
    path: Path,
    is_fragment: bool,
}

impl JsonField {
    /// The value at a path; `is_fragment`: AS JSON, an array or object as it is written.
    ///
    /// # Errors
    /// The path is none.
    pub fn new(path: &str, is_fragment: bool) -> EvalResult<JsonField> {
        let path = Path::parse(path).ok_or(EvalError::JsonPath)?;
        Ok(JsonField { path, is_fragment })
    }

    fn value(&self, text: &str, row: &Value) -> EvalResult<Option<String>> {
        let found = self.path.find(row);
        let fits =
            |found: &&Value| found.kind == Kind::Null || found.is_scalar() != self.is_fragment;
        match found.filter(fits) {
            Some(found) => Ok(text_of(text, found)),
            None if self.path.is_strict => Err(EvalError::JsonProperty),
            None => Ok(None),
        }
    }
}

/// The members at a path of a JSON text; none where a lax path leads to nothing that has any.
///
/// # Errors
/// The text is no JSON, the path is none, or a strict path leads to nothing.
pub fn members(text: &str, path: &str) -> EvalResult<Vec<JsonMember>> {
    let tree = parse(text).ok_or(EvalError::Json)?;
    let Some(found) = found(&tree, path)? else { return Ok(Vec::new()) };
    let member = |key: String, value: &Value| JsonMember {
        key,
        value: text_of(text, value),
        kind: kind_of(text, value),
    };
    Ok(match &found.kind {
        Kind::Object(own) => own.iter().map(|it| member(it.key.clone(), &it.value)).collect(),
        Kind::Array(own) => {
            own.iter().enumerate().map(|(at, value)| member(at.to_string(), value)).collect()
        }
        _ => Vec::new(),
    })
}

/// The rows at a path of a JSON text with a value for each field.
///
/// # Errors
/// As for [`members`]; a strict path of a field leads to nothing.
pub fn rows(text: &str, path: &str, fields: &[JsonField]) -> EvalResult<Vec<Vec<Option<String>>>> {
    let tree = parse(text).ok_or(EvalError::Json)?;
    let Some(found) = found(&tree, path)? else { return Ok(Vec::new()) };
    let row = |value: &Value| fields.iter().map(|field| field.value(text, value)).collect();
    match &found.kind {
        Kind::Object(_) => Ok(vec![row(found)?]),
        Kind::Array(own) => own.iter().map(row).collect(),
        _ => Ok(Vec::new()),
    }
}

fn found<'v>(tree: &'v Value, path: &str) -> EvalResult<Option<&'v Value>> {
    let path = Path::parse(path).ok_or(EvalError::JsonPath)?;
    match path.find(tree).filter(|found| !found.is_scalar()) {
        None if path.is_strict => Err(EvalError::JsonProperty),
        found => Ok(found),
    }
}

fn text_of(text: &str, value: &Value) -> Option<String> {
    match &value.kind {
        Kind::Null => None,
        Kind::Text(own) => Some(own.clone()),
        _ => text.get(value.start..value.end).map(str::to_owned),
    }
}

fn kind_of(text: &str, value: &Value) -> u8 {
    match &value.kind {
        Kind::Null => 0,
        Kind::Text(_) => 1,
        Kind::Plain if text.get(value.start..).is_some_and(|it| it.starts_with(['t', 'f'])) => 3,
        Kind::Plain => 2,
        Kind::Array(_) => 4,
        Kind::Object(_) => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_have_keys_values_and_kinds() {
        let text = r#"{"a": null, "b": "x\"y", "c": 1.50, "d": true, "e": [1, 2], "f": {}}"#;
        let all = members(text, "$").unwrap();
        let shown: Vec<_> =
            all.iter().map(|it| (it.key.as_str(), it.value.as_deref(), it.kind)).collect();
        assert_eq!(
            shown,
            [
                ("a", None, 0),
                ("b", Some("x\"y"), 1),
                ("c", Some("1.50"), 2),
                ("d", Some("true"), 3),
                ("e", Some("[1, 2]"), 4),
                ("f", Some("{}"), 5),
            ]
        );
        let elements = members(text, "$.e").unwrap();
        assert_eq!(elements.iter().map(|it| it.key.as_str()).collect::<Vec<_>>(), ["0", "1"]);
    }

    #[test]
    fn paths_that_lead_nowhere_have_no_rows_or_are_errors() {
        assert_eq!(members("{}", "$.x"), Ok(Vec::new()));
        assert_eq!(members(r#"{"x": 1}"#, "$.x"), Ok(Vec::new()));
        assert_eq!(members("{}", "strict $.x"), Err(EvalError::JsonProperty));
        assert_eq!(members("{", "$"), Err(EvalError::Json));
        assert_eq!(members("{}", "x"), Err(EvalError::JsonPath));
    }

    #[test]
    fn fields_are_found_in_each_row() {
        let text = r#"[{"id": 1, "tags": ["a"]}, {"id": "2"}, {"tags": {"b": 3}}]"#;
        let fields = [
            JsonField::new("$.id", false).unwrap(),
            JsonField::new("$.tags", true).unwrap(),
            JsonField::new("$.tags", false).unwrap(),
        ];
        let own = |text: &str| Some(text.to_owned());
        assert_eq!(
            rows(text, "$", &fields).unwrap(),
            [
                [own("1"), own("[\"a\"]"), None],
                [own("2"), None, None],
                [None, own("{\"b\": 3}"), None],
            ]
        );
        let strict = [JsonField::new("strict $.id", false).unwrap()];
        assert_eq!(rows(text, "$", &strict), Err(EvalError::JsonProperty));
    }
}
