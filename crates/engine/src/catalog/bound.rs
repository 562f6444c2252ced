//! Defaults and rules that are objects by themselves, as columns have them.
//!
//! ```text
//! sysschobjs        D or R, without a parent
//! sysobjvalues      CREATE DEFAULT d AS 'x'        CREATE RULE r AS @v > 0
//! syscolpars        dflt, chk: the ids of the objects that a column is bound to
//! ```
//!
//! The catalog keeps whole statements. What stands after AS is the value of a default, and the
//! condition of a rule, in which a column takes the place of the variable.

use std::ops::Range;

use extentdb_base::sync::Arc;
use extentdb_catalog::layout::Cell;
use extentdb_catalog::model::{self, Catalog};

use crate::catalog::formula::ContextValues;
use crate::catalog::{Condition, TableColumn};
use crate::error::{Error, Unsupported};

/// A rule that a column is bound to.
#[derive(Clone, Debug)]
pub(crate) struct BoundRule {
    pub(crate) name: String,
    /// Id of the column.
    pub(crate) column: i32,
    condition: Condition,
}

impl BoundRule {
    /// Compiles a rule for a column; `text` is the statement that made it.
    ///
    /// # Errors
    /// Why it cannot be evaluated.
    pub(crate) fn compile(
        name: &str,
        text: &str,
        column: &TableColumn,
        columns: &[TableColumn],
    ) -> Result<BoundRule, String> {
        let body = body_of(text).ok_or_else(|| "its text has no condition".to_owned())?;
        let condition = Condition::compile_check(&condition_over(body, &column.name), columns)?;
        Ok(BoundRule { name: name.to_owned(), column: column.id, condition })
    }

    /// Has its column another value than before? In a new row it has.
    pub(crate) fn is_changed(
        &self,
        columns: &[TableColumn],
        old: &[Cell<'_>],
        row: &[Cell<'_>],
    ) -> bool {
        let at = columns.iter().find(|column| column.id == self.column).map(|column| column.at);
        at.is_none_or(|at| old.get(at).is_none() || old.get(at) != row.get(at))
    }

    /// Refuses a row whose value it does not allow.
    pub(crate) fn verify(
        &self,
        table: &str,
        columns: &[TableColumn],
        row: &[Cell<'_>],
        context: &dyn ContextValues,
    ) -> Result<(), Error> {
        match self.condition.truth(columns, row, Some(context)) {
            Ok(Some(false)) => {
                let own = columns.iter().find(|column| column.id == self.column);
                Err(Error::Rule {
                    table: table.to_owned(),
                    column: own.map(|column| column.name.clone()).unwrap_or_default(),
                })
            }
            Ok(_) => Ok(()),
            Err(why) if why.is_undecided() => {
                Err(Unsupported::UndecidedCheck { constraint: self.name.clone(), why }.into())
            }
            Err(error) => Err(Error::Value { column: self.name.clone(), what: error.to_string() }),
        }
    }
}

/// The rules of the columns of a table. The second is why the table is only read here.
pub(super) fn rules_of(
    table: &model::Table,
    columns: &[TableColumn],
    catalog: &Catalog,
) -> (Vec<Arc<BoundRule>>, Option<String>) {
    let mut rules = Vec::new();
    let mut read_only = None;
    for own in table.columns.iter().filter(|own| own.rule_object.0 != 0) {
        let rule = catalog.modules.iter().find(|module| module.object.id == own.rule_object);
        let column = columns.iter().find(|column| column.id == own.id);
        let compiled = match (rule.and_then(|rule| Some((rule, rule.text.as_deref()?))), column) {
            (Some((rule, text)), Some(column)) => {
                BoundRule::compile(&rule.object.name, text, column, columns)
            }
            _ => Err("its text cannot be read".to_owned()),
        };
        match compiled {
            Ok(rule) => rules.push(Arc::new(rule)),
            Err(why) => read_only = Some(format!("a rule for column {}: {why}", own.name)),
        }
    }
    (rules, read_only)
}

/// What stands after AS in the text of a default or rule.
pub(crate) fn body_of(text: &str) -> Option<&str> {
    let word =
        words(text).into_iter().find(|word| text[word.clone()].eq_ignore_ascii_case("AS"))?;
    let body = text[word.end..].trim();
    let body = body.strip_suffix(';').unwrap_or(body).trim();
    (!body.is_empty()).then_some(body)
}

/// The condition of a rule over a column in the place of its variable.
fn condition_over(body: &str, column: &str) -> String {
    let column = format!("[{}]", column.replace(']', "]]"));
    let mut condition = String::with_capacity(body.len());
    let mut at = 0;
    for word in words(body) {
        let is_variable =
            body[word.clone()].starts_with('@') && !body[word.clone()].starts_with("@@");
        if is_variable {
            condition.push_str(&body[at..word.start]);
            condition.push_str(&column);
            at = word.end;
        }
    }
    condition.push_str(&body[at..]);
    condition
}

/// The words of a text outside of strings, quoted names and comments.
fn words(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let is_part =
        |byte: u8| byte.is_ascii_alphanumeric() || byte >= 0x80 || b"_@#$".contains(&byte);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &text[at..];
        at += match byte {
            b'\'' | b'"' => quoted_len(rest, char::from(byte)),
            b'[' => quoted_len(rest, ']'),
            _ if rest.starts_with("--") => rest.find('\n').map_or(rest.len(), |end| end + 1),
            _ if rest.starts_with("/*") => comment_len(rest),
            _ if is_part(byte) => {
                let len = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
                found.push(at..at + len);
                len
            }
            _ => 1,
        };
    }
    found
}

/// Bytes of what is quoted, with its first and last mark; a doubled last mark is none.
fn quoted_len(text: &str, last: char) -> usize {
    let mut at = 1;
    while let Some(end) = text[at..].find(last) {
        at += end + 1;
        if !text[at..].starts_with(last) {
            return at;
        }
        at += 1;
    }
    text.len()
}

/// Bytes of a comment, which may have comments within.
fn comment_len(text: &str) -> usize {
    let mut depth = 0u32;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_what_stands_after_as() {
        let cases = [
            ("create default d as 'x as y';", Some("'x as y'")),
            ("CREATE RULE [as] /* as /* as */ */ AS\n@v > 0 -- as", Some("@v > 0 -- as")),
            ("create default d as", None),
            ("create default \"as\"", None),
        ];
        for (text, body) in cases {
            assert_eq!(body_of(text), body, "{text}");
        }
    }

    #[test]
    fn a_column_takes_the_place_of_the_variable_of_a_rule() {
        let cases = [
            ("@v>0 and @v<'@v'", "[a]]b]>0 and [a]]b]<'@v'"),
            ("@x = [@x] or @@dbts is null", "[a]]b] = [@x] or @@dbts is null"),
            ("@ü like 'it''s @ü%'", "[a]]b] like 'it''s @ü%'"),
        ];
        for (body, condition) in cases {
            assert_eq!(condition_over(body, "a]b"), condition);
        }
    }
}
