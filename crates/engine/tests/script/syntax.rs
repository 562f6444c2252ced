//! Definitions in scripts, as they stand in SQL: columns, constraints, indexes, predicates, values.

use std::cmp::Ordering;
use std::collections::VecDeque;

use extentdb_engine::{
    ColumnSpec, Computed, DefaultSpec, IdentitySpec, IndexSpec, Isolation, ReferentialAction,
    ReferentialActions,
};
use extentdb_types::{Collation, Datum, SqlType};

use super::words::{Syntax, Words, list, split, syntax};

/// The collation of all texts.
const COLLATION: Collation = Collation(0x3400_d008);

/// A constraint of a new or altered table.
#[derive(Clone)]
pub(super) enum ConstraintSpec {
    Index(IndexSpec),
    Check { name: String, text: String },
    Default { name: String, text: String, column: String },
    ForeignKey(ForeignKeySpec),
}

#[derive(Clone)]
pub(super) struct ForeignKeySpec {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    pub(super) parent: String,
    pub(super) parent_columns: Vec<String>,
    pub(super) actions: ReferentialActions,
}

/// A line of a table's definition.
#[derive(Clone)]
pub(super) enum Element {
    Column(ColumnSpec),
    Constraint(ConstraintSpec),
}

pub(super) fn element(text: &str) -> Result<Element, Syntax> {
    let mut words = split(text);
    if words.front().is_some_and(|word| word == "constraint") {
        words.pop_front();
        return constraint(words).map(Element::Constraint);
    }
    column(words).map(Element::Column)
}

fn next(words: &mut VecDeque<String>) -> Result<String, Syntax> {
    words.pop_front().map_or_else(|| syntax("the definition ends too early"), Ok)
}

/// Takes these words when they come next.
fn take(words: &mut VecDeque<String>, expected: &str) -> bool {
    let expected: Vec<&str> = expected.split(' ').collect();
    let is_next = words.len() >= expected.len()
        && words.iter().zip(&expected).all(|(word, expected)| word == expected);
    if is_next {
        words.drain(..expected.len());
    }
    is_next
}

/// `name type [not null] [identity(1,1)] [default df ((7))] [as ([a]*[b]) [persisted]]`.
fn column(mut words: VecDeque<String>) -> Result<ColumnSpec, Syntax> {
    let name = next(&mut words)?;
    let mut spec = ColumnSpec::new(&name, sql_type(&next(&mut words)?)?);
    while !words.is_empty() {
        if take(&mut words, "not null") {
            spec = spec.not_null();
        } else if take(&mut words, "null") {
            spec.nullable = true;
        } else if take(&mut words, "default") {
            let name = next(&mut words)?;
            spec.default = Some(DefaultSpec { name, text: next(&mut words)? });
        } else if take(&mut words, "as") {
            spec.computed = Some(Computed { text: next(&mut words)?, persisted: false });
        } else if take(&mut words, "persisted") {
            spec = spec.persisted();
        } else {
            let word = next(&mut words)?;
            let numbers = word.strip_prefix("identity").map(list);
            let numbers = numbers.ok_or_else(|| Syntax(format!("column {name}: {word}")))?;
            let number = |at: usize| numbers.get(at).and_then(|it| it.parse().ok()).unwrap_or(1);
            spec.identity = Some(IdentitySpec { seed: number(0), increment: number(1) });
        }
    }
    Ok(spec)
}

/// What follows `constraint` in the definition of a table.
fn constraint(mut words: VecDeque<String>) -> Result<ConstraintSpec, Syntax> {
    let name = next(&mut words)?;
    if take(&mut words, "check") {
        return Ok(ConstraintSpec::Check { name, text: next(&mut words)? });
    }
    if take(&mut words, "default") {
        let text = next(&mut words)?;
        take(&mut words, "for");
        return Ok(ConstraintSpec::Default { name, text, column: next(&mut words)? });
    }
    if take(&mut words, "foreign key") {
        return foreign_key(name, words).map(ConstraintSpec::ForeignKey);
    }
    let is_primary_key = take(&mut words, "primary key");
    if !is_primary_key && !take(&mut words, "unique") {
        return syntax(format!("constraint {name}: {words:?}"));
    }
    let is_clustered = take(&mut words, "clustered");
    let spec = if is_primary_key {
        IndexSpec::primary_key(&name, &[])
    } else {
        IndexSpec::unique_constraint(&name, &[])
    };
    let keys = key_columns(&next(&mut words)?);
    Ok(ConstraintSpec::Index(IndexSpec { keys, clustered: is_clustered, ..spec }))
}

fn foreign_key(name: String, mut words: VecDeque<String>) -> Result<ForeignKeySpec, Syntax> {
    let columns = list(&next(&mut words)?);
    take(&mut words, "references");
    let parent = next(&mut words)?;
    let parent_columns = list(&next(&mut words)?);
    let mut actions = ReferentialActions::default();
    while take(&mut words, "on") {
        let event = next(&mut words)?;
        let action = action(&mut words)?;
        if event == "delete" {
            actions.on_delete = action;
        } else {
            actions.on_update = action;
        }
    }
    Ok(ForeignKeySpec { name, columns, parent, parent_columns, actions })
}

fn action(words: &mut VecDeque<String>) -> Result<ReferentialAction, Syntax> {
    let actions = [
        ("cascade", ReferentialAction::Cascade),
        ("set null", ReferentialAction::SetNull),
        ("set default", ReferentialAction::SetDefault),
        ("no action", ReferentialAction::NoAction),
    ];
    let found = actions.into_iter().find(|(name, _)| take(words, name));
    found.map_or_else(|| syntax(format!("an action, and not {words:?}")), |(_, it)| Ok(it))
}

/// `a, b desc`.
fn key_columns(text: &str) -> Vec<(String, bool)> {
    let key = |column: String| match column.strip_suffix(" desc") {
        Some(name) => (name.to_owned(), true),
        None => (column, false),
    };
    list(text).into_iter().map(key).collect()
}

/// What follows `create` of an index: `[unique] [clustered] index ix on t "a, b desc"
/// [include="c, d"] [where="([a]>(0))"] [fillfactor=80]`. Returns the table, too.
pub(super) fn index(words: &mut Words) -> Result<(String, IndexSpec), Syntax> {
    let unique = words.take("unique");
    let clustered = words.take("clustered");
    words.expect("index")?;
    let name = words.word()?;
    words.expect("on")?;
    let table = words.word()?;
    let keys = key_columns(&words.word()?);
    let included = words.option("include").map(|names| list(&names)).unwrap_or_default();
    let filter = words.option("where");
    let fill_factor = words.option("fillfactor").and_then(|it| it.parse().ok()).unwrap_or(0);
    let plain = IndexSpec::new(&name, &[]);
    Ok((
        table,
        IndexSpec {
            unique,
            clustered,
            keys,
            included,
            filter,
            fill_factor,
            ..plain
        },
    ))
}

pub(super) fn sql_type(text: &str) -> Result<SqlType, Syntax> {
    match text {
        "varchar(max)" => return Ok(SqlType::VarChar { len: None, collation: COLLATION }),
        "text" => return Ok(SqlType::Text { collation: COLLATION }),
        "datetime" => return Ok(SqlType::DateTime),
        _ => {}
    }
    let (name, len) = text.split_once('(').unwrap_or((text, "1)"));
    let len: u16 = len.trim_end_matches(')').parse().map_err(|_| Syntax(text.to_owned()))?;
    Ok(match name {
        "bit" => SqlType::Bit,
        "uniqueidentifier" => SqlType::UniqueIdentifier,
        "tinyint" => SqlType::TinyInt,
        "smallint" => SqlType::SmallInt,
        "int" => SqlType::Int,
        "bigint" => SqlType::BigInt,
        "char" => SqlType::Char { len, collation: COLLATION },
        "varchar" => SqlType::VarChar { len: Some(len), collation: COLLATION },
        "nvarchar" => SqlType::NVarChar { len: Some(2 * len), collation: COLLATION },
        _ => return syntax(format!("type {text}")),
    })
}

pub(super) fn isolation(name: &str) -> Option<Isolation> {
    Some(match name {
        "nolock" | "read_uncommitted" => Isolation::ReadUncommitted,
        "read_committed" => Isolation::ReadCommitted,
        "repeatable_read" => Isolation::RepeatableRead,
        "holdlock" | "serializable" => Isolation::Serializable,
        "snapshot" => Isolation::Snapshot,
        _ => return None,
    })
}

/// A value of a type; `null` is NULL, `x*400` a text of 400 letters. `None`: it is no value of the type.
pub(super) fn value(ty: &SqlType, text: &str) -> Option<Datum<'static>> {
    if text == "null" {
        return Some(Datum::Null);
    }
    let repeated = text
        .split_once('*')
        .and_then(|(part, times)| Some(part.repeat(times.parse::<usize>().ok()?)));
    let text = repeated.as_deref().unwrap_or(text);
    Some(match ty {
        SqlType::Bit => Datum::Bit(text == "1"),
        SqlType::TinyInt => Datum::TinyInt(text.parse().ok()?),
        SqlType::SmallInt => Datum::SmallInt(text.parse().ok()?),
        SqlType::Int => Datum::Int(text.parse().ok()?),
        SqlType::BigInt => Datum::BigInt(text.parse().ok()?),
        SqlType::NVarChar { .. } => {
            let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let ty = SqlType::NVarChar { len: Some(8000), collation: COLLATION };
            Datum::decode(&ty, &bytes).ok()?.into_owned()
        }
        // Whether it is too long for its column, the engine says.
        SqlType::VarChar { .. } | SqlType::Text { .. } => {
            let ty = SqlType::VarChar { len: None, collation: COLLATION };
            Datum::decode(&ty, text.as_bytes()).ok()?.into_owned()
        }
        _ => Datum::decode(ty, text.as_bytes()).ok()?.into_owned(),
    })
}

/// As it is printed.
pub(super) fn plain(value: &Datum<'_>) -> String {
    let mut text = String::new();
    match value {
        Datum::Null => text.push_str("NULL"),
        Datum::Bit(value) => text.push_str(if *value { "1" } else { "0" }),
        value => drop(extentdb_types::plain::write_plain(value, &mut text)),
    }
    text
}

/// A column compared with a value; all terms of a predicate hold.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) column: String,
    pub(super) operator: Operator,
    pub(super) value: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operator {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    IsNull,
}

/// What follows `where`: `id=1`, `"id >= 15 and id < 45"`, `"id between 15 and 45"`,
/// `"name is null"`.
pub(super) fn predicate(words: &mut Words) -> Result<Vec<Term>, Syntax> {
    let equal = |(column, value)| Term { column, operator: Operator::Equal, value };
    let pairs = words.pairs();
    if !pairs.is_empty() {
        return Ok(pairs.into_iter().map(equal).collect());
    }
    let text = words.word()?;
    let mut found = split(&text);
    let mut terms = Vec::new();
    while !found.is_empty() {
        let column = next(&mut found)?;
        let operator = next(&mut found)?;
        let mut term = |operator, value| {
            terms.push(Term { column: column.clone(), operator, value });
        };
        match operator.as_str() {
            "=" => term(Operator::Equal, next(&mut found)?),
            "<" => term(Operator::Less, next(&mut found)?),
            "<=" => term(Operator::LessOrEqual, next(&mut found)?),
            ">" => term(Operator::Greater, next(&mut found)?),
            ">=" => term(Operator::GreaterOrEqual, next(&mut found)?),
            "between" => {
                term(Operator::GreaterOrEqual, next(&mut found)?);
                take(&mut found, "and");
                term(Operator::LessOrEqual, next(&mut found)?);
            }
            "is" => {
                take(&mut found, "null");
                term(Operator::IsNull, String::new());
            }
            other => return syntax(format!("operator {other}")),
        }
        take(&mut found, "and");
    }
    Ok(terms)
}

impl Term {
    pub(super) fn holds(&self, found: &Datum<'_>, ty: &SqlType) -> bool {
        if self.operator == Operator::IsNull {
            return found.is_null();
        }
        let Some(order) = value(ty, &self.value).and_then(|sought| compare(found, &sought)) else {
            return false;
        };
        match self.operator {
            Operator::Equal => order == Ordering::Equal,
            Operator::Less => order == Ordering::Less,
            Operator::LessOrEqual => order != Ordering::Greater,
            Operator::Greater => order == Ordering::Greater,
            Operator::GreaterOrEqual => order != Ordering::Less,
            Operator::IsNull => false,
        }
    }
}

/// Numbers by value, texts by their bytes; NULL with nothing.
fn compare(a: &Datum<'_>, b: &Datum<'_>) -> Option<Ordering> {
    if a.is_null() || b.is_null() {
        return None;
    }
    let a = plain(a);
    let b = plain(b);
    match (a.parse::<i128>(), b.parse::<i128>()) {
        (Ok(a), Ok(b)) => Some(a.cmp(&b)),
        _ => Some(a.cmp(&b)),
    }
}
