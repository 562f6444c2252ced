//! Names of tables as people type them, and as T-SQL writes them.
//!
//! | typed | means |
//! | --- | --- |
//! | `dbo.Orders`, `[dbo].[Orders]`, `"dbo"."Orders"` | one table |
//! | `Order Details` | the table of this name, in whatever schema |
//! | `sales.*`, `*.Order?` | `*` any characters, `?` one; not within brackets or quotes |
//!
//! Whether `orders` finds `Orders` is for the database's collation to say.

use std::fmt;

use anyhow::bail;
use extentdb_catalog::model::ObjectType;
use extentdb_catalog::{Catalog, Table};
use extentdb_types::Collation;

use crate::suggest::did_you_mean;

/// A name of one or two parts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    schema: Option<NamePart>,
    name: NamePart,
}

/// A name as one table has it: schema, when there is one, and name. Stars stand for themselves.
pub(crate) fn parse_exact(typed: &str) -> anyhow::Result<(Option<String>, String)> {
    let Pattern { schema, name } = Pattern::parse(typed)?;
    Ok((schema.map(|part| part.text), name.text))
}

/// A part of a name; literal when it was quoted.
#[derive(Debug, PartialEq, Eq)]
struct NamePart {
    text: String,
    is_quoted: bool,
}

impl Pattern {
    /// Reads what was typed. Only the first dot outside of quotes separates: names may contain
    /// dots.
    pub(crate) fn parse(typed: &str) -> anyhow::Result<Pattern> {
        let (first, rest) = NamePart::parse(typed, true)?;
        match rest {
            None => Ok(Pattern { schema: None, name: first }),
            Some(rest) => {
                Ok(Pattern { schema: Some(first), name: NamePart::parse(rest, false)?.0 })
            }
        }
    }

    fn matches(&self, schema: &str, name: &str, ignores_case: bool) -> bool {
        self.schema.as_ref().is_none_or(|part| part.matches(schema, ignores_case))
            && self.name.matches(name, ignores_case)
    }
}

impl NamePart {
    /// Takes a part off the front; what follows its dot is returned when `may_split`.
    fn parse(typed: &str, may_split: bool) -> anyhow::Result<(NamePart, Option<&str>)> {
        let close = match typed.chars().next() {
            Some('[') => ']',
            Some('"') => '"',
            None => bail!("a table name is empty"),
            Some(_) => return Ok(NamePart::plain(typed, may_split)),
        };
        let mut text = String::new();
        let mut chars = typed.char_indices().skip(1).peekable();
        while let Some((at, c)) = chars.next() {
            if c != close {
                text.push(c);
            } else if chars.next_if(|(_, next)| *next == close).is_some() {
                text.push(close);
            } else {
                let rest = typed.get(at + 1..).unwrap_or_default();
                return match (rest.strip_prefix('.'), rest.is_empty()) {
                    (_, true) => Ok((NamePart { text, is_quoted: true }, None)),
                    (Some(rest), _) if may_split => {
                        Ok((NamePart { text, is_quoted: true }, Some(rest)))
                    }
                    _ => bail!("`{typed}` is no table name: something follows the `{close}`"),
                };
            }
        }
        bail!("`{typed}` is no table name: `{close}` is missing")
    }

    fn plain(typed: &str, may_split: bool) -> (NamePart, Option<&str>) {
        let (text, rest) = match typed.split_once('.') {
            Some((text, rest)) if may_split && !rest.is_empty() => (text, Some(rest)),
            _ => (typed, None),
        };
        (NamePart { text: text.to_owned(), is_quoted: false }, rest)
    }

    fn matches(&self, name: &str, ignores_case: bool) -> bool {
        let fold = |text: &str| -> Vec<char> {
            if ignores_case {
                text.chars().flat_map(char::to_lowercase).collect()
            } else {
                text.chars().collect()
            }
        };
        let pattern = fold(&self.text);
        let name = fold(name);
        if self.is_quoted { pattern == name } else { matches_wild(&pattern, &name) }
    }
}

/// Matches `*` and `?`, going back to the last `*` when it gets stuck.
fn matches_wild(pattern: &[char], name: &[char]) -> bool {
    let mut p = 0;
    let mut n = 0;
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || Some(&c) == name.get(n) => (p, n) = (p + 1, n + 1),
            _ => {
                let Some((star_p, star_n)) = star else { return false };
                star = Some((star_p, star_n + 1));
                (p, n) = (star_p + 1, star_n + 1);
            }
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}

/// The tables that users made: not those of the system, some of which are of the same kind.
pub(crate) fn user_tables(catalog: &Catalog) -> Vec<&Table> {
    catalog.user_tables().into_iter().filter(|table| is_user_table(table)).collect()
}

fn is_user_table(table: &Table) -> bool {
    // From 2012 on the system lists tables of its own as user tables, under negative ids.
    table.kind == ObjectType::USER_TABLE && table.id.0 > 0
}

/// Does the database hold names equal that differ in case?
fn ignores_case(catalog: &Catalog) -> bool {
    Collation(catalog.boot.collation_id).ignores_case()
}

/// The tables that one typed name means: user tables, or system tables when no user table matches.
fn matching<'c>(catalog: &'c Catalog, typed: &str) -> anyhow::Result<Vec<&'c Table>> {
    let pattern = Pattern::parse(typed)?;
    let ignores_case = ignores_case(catalog);
    let all = |pattern: &Pattern, users: bool| -> Vec<&'c Table> {
        let tables = catalog.tables.values().filter(|table| is_user_table(table) == users);
        let mut found: Vec<_> = tables
            .filter(|table| pattern.matches(&table.schema, &table.name, ignores_case))
            .collect();
        found.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
        found
    };
    // `a.b` may also be a table whose name has a dot.
    let whole = Pattern {
        schema: None,
        name: NamePart { text: typed.to_owned(), is_quoted: true },
    };
    let attempts = [(&pattern, true), (&whole, true), (&pattern, false)];
    let found = attempts
        .into_iter()
        .map(|(pattern, users)| all(pattern, users))
        .find(|found| !found.is_empty());
    match found {
        Some(found) => Ok(found),
        None => {
            let meant = nearest_tables(catalog, typed);
            let database = &catalog.boot.name;
            bail!("database {database} has no table {typed}{meant}; `extentdb tables` lists them")
        }
    }
}

/// Names that may have been meant: with the schema when one was typed.
fn nearest_tables(catalog: &Catalog, typed: &str) -> String {
    let has_schema = Pattern::parse(typed).is_ok_and(|pattern| pattern.schema.is_some());
    let name = |table: &&Table| if has_schema { table.full_name() } else { table.name.clone() };
    let names: Vec<String> = user_tables(catalog).iter().map(name).collect();
    let plain = typed.replace(['[', ']', '"'], "");
    did_you_mean(&plain, names.iter().map(String::as_str))
}

/// The one table that a name means.
pub(crate) fn find_table<'c>(catalog: &'c Catalog, typed: &str) -> anyhow::Result<&'c Table> {
    let found = matching(catalog, typed)?;
    match &found[..] {
        [table] => Ok(table),
        tables => {
            let names: Vec<String> = tables.iter().take(5).map(|table| table.full_name()).collect();
            let more = if tables.len() > names.len() { ", …" } else { "" };
            bail!("{typed} means {} tables: {}{more}", tables.len(), names.join(", "))
        }
    }
}

/// All tables that any of the names means, ordered by schema and name, each once.
pub(crate) fn find_tables<'c>(
    catalog: &'c Catalog,
    typed: &[String],
) -> anyhow::Result<Vec<&'c Table>> {
    let mut found = Vec::new();
    for name in typed {
        found.extend(matching(catalog, name)?);
    }
    found.sort_by(|a, b| (&a.schema, &a.name, a.id).cmp(&(&b.schema, &b.name, b.id)));
    found.dedup_by_key(|table| table.id);
    Ok(found)
}

/// A name between brackets, as T-SQL reads it back.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.0.replace(']', "]]"))
    }
}

/// Schema and name as T-SQL writes them, `[schema].[name]`.
pub(crate) fn quoted(schema: &str, name: &str) -> String {
    format!("{}.{}", Quoted(schema), Quoted(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(typed: &str, schema: &str, name: &str, ignores_case: bool) -> bool {
        Pattern::parse(typed).unwrap().matches(schema, name, ignores_case)
    }

    #[test]
    fn names_match_with_and_without_schema_brackets_and_case() {
        for typed in [
            "Order Details",
            "dbo.Order Details",
            "[dbo].[Order Details]",
            "\"dbo\".\"Order Details\"",
            "dbo.[Order Details]",
        ] {
            assert!(check(typed, "dbo", "Order Details", false), "{typed}");
            assert!(!check(typed, "dbo", "Orders", false), "{typed}");
        }
        assert!(check("DBO.ORDERS", "dbo", "Orders", true));
        assert!(!check("DBO.ORDERS", "dbo", "Orders", false));
        assert!(check("[a]]b].[c.d]", "a]b", "c.d", false));
        assert!(check("dbo.c.d", "dbo", "c.d", false));
    }

    #[test]
    fn stars_match_runs_and_only_outside_of_brackets() {
        assert!(check("sales.*", "sales", "Orders", false));
        assert!(!check("sales.*", "dbo", "Orders", false));
        assert!(check("*.Or*er?", "dbo", "Orders", false));
        assert!(!check("*.Or*er?", "dbo", "Order", false));
        assert!(check("*", "dbo", "anything", false));
        assert!(check("[*]", "dbo", "*", false));
        assert!(!check("[*]", "dbo", "x", false));
        assert!(check("a*a*a*b", "dbo", &format!("{}b", "a".repeat(60)), false));
    }

    #[test]
    fn broken_quotes_are_refused() {
        for typed in ["", "[dbo", "[dbo]x", "\"a", "[dbo].", "[a].[b].[c]"] {
            assert!(Pattern::parse(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn a_bracket_in_a_name_is_doubled() {
        assert_eq!(quoted("dbo", "a]b"), "[dbo].[a]]b]");
    }
}
