//! The methods of xml: `value`, `query`, `exist`, `nodes`, `modify`, over a subset of XQuery.
//!
//! ```text
//! stored xml ── document ──▶ nodes ◀── evaluate ── parser ◀── text of the query
//!                              │
//!                              └──▶ modify: edited and stored again
//! ```
//!
//! Invariants
//! - A query is parsed when its statement is compiled, so that what is not known is refused then;
//!   a row parses it again only when another query came between.
//! - Rows of `nodes` are numbers of nodes; a method of such a row is given the document and the
//!   number, so that no document is copied for each of its nodes.
//! - What fails for a value (a cast, a division by zero) is empty, as in the product.

mod document;
mod evaluate;
mod modify;
mod parser;
mod query;

use std::cell::RefCell;
use std::rc::Rc;

use extentdb_kernel::error::{EvalError, EvalResult};
use extentdb_kernel::operator::codec;
use extentdb_kernel::operator::row::{self, Call, Cell, Outcome};
use extentdb_types::{SqlType, xml};

pub use document::escape;
use document::{Document, ROOT};
use evaluate::{Evaluator, Item};
pub(crate) use parser::ParseError;
pub(crate) use query::Outside;
use query::{Body, Query};

/// Documents and queries that a thread keeps, the last ones used.
const KEPT: usize = 4;
/// Longest document that is kept.
const KEPT_BYTES: usize = 16 << 20;

/// What is wrong with a query that its form alone tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum QueryError {
    Parse(ParseError),
    /// 2389: more than one item, perhaps, where one is asked for.
    NotSingle,
    /// 2226: a target of `insert`, by its type.
    InsertTarget(String),
    /// 2337: a target of `replace`, by its type.
    ReplaceTarget(String),
    /// 2356: an element cannot be replaced by a value.
    ReplaceElement(String),
}

/// The methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Value,
    Query,
    Exist,
    Nodes,
    Modify,
}

impl Method {
    /// The method of a name; their names are in small letters.
    pub(crate) fn named(name: &str) -> Option<Method> {
        Some(match name {
            "value" => Method::Value,
            "query" => Method::Query,
            "exist" => Method::Exist,
            "nodes" => Method::Nodes,
            "modify" => Method::Modify,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Value => "value",
            Method::Query => "query",
            Method::Exist => "exist",
            Method::Nodes => "nodes",
            Method::Modify => "modify",
        }
    }
}

/// The values of the statement that a query names, once it is known to be one of the method.
pub(crate) fn verify(method: Method, text: &str) -> Result<Vec<Outside>, QueryError> {
    let query = parser::parse(text, method == Method::Modify).map_err(QueryError::Parse)?;
    match &query.body {
        Body::Value(expr) if method == Method::Value && !expr.is_single() => {
            return Err(QueryError::NotSingle);
        }
        Body::Insert { target, .. } if !target.is_single() => {
            return Err(QueryError::InsertTarget(target.type_name()));
        }
        Body::Replace { target, .. } if !target.is_single() => {
            return Err(QueryError::ReplaceTarget(target.type_name()));
        }
        Body::Replace { target, .. } if target.is_element() => {
            return Err(QueryError::ReplaceElement(target.type_name()));
        }
        _ => {}
    }
    Ok(query.outside)
}

/// How a value of the statement is compared: by the type that it has there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutsideKind {
    Text = 0,
    Number = 1,
    Boolean = 2,
}

/// Bits of [`Call::number`] for each value of the statement.
pub(crate) const KIND_BITS: usize = 2;
/// Values of the statement that a query names at most.
pub(crate) const OUTSIDE_MAX: usize = 30;

fn item_of(kind: i64, text: String) -> Item {
    match kind {
        1 => text.trim().parse().map_or(Item::Text(text), Item::Number),
        2 => Item::Boolean(matches!(text.trim(), "1" | "true")),
        _ => Item::Text(text),
    }
}

/// Values by their keys, the one used last at the end.
type Kept<K, V> = RefCell<Vec<(K, Rc<V>)>>;
/// A text, and whether it is one of `modify`.
type QueryKey = (String, bool);

thread_local! {
    static DOCUMENTS: Kept<Vec<u8>, Document> = const { RefCell::new(Vec::new()) };
    static QUERIES: Kept<QueryKey, Query> = const { RefCell::new(Vec::new()) };
}

/// What a key is known as, made where it is not.
fn kept<K: PartialEq, V>(
    known: &Kept<K, V>,
    is_own: impl Fn(&K) -> bool,
    made: impl FnOnce() -> Option<(K, V)>,
) -> Option<Rc<V>> {
    let mut known = known.borrow_mut();
    if let Some(at) = known.iter().position(|(key, _)| is_own(key)) {
        let own = known.remove(at);
        let value = Rc::clone(&own.1);
        known.push(own);
        return Some(value);
    }
    let (key, value) = made()?;
    let value = Rc::new(value);
    if known.len() >= KEPT {
        known.remove(0);
    }
    known.push((key, Rc::clone(&value)));
    Some(value)
}

fn document_of(bytes: &[u8]) -> EvalResult<Rc<Document>> {
    if bytes.len() > KEPT_BYTES {
        return Document::decode(bytes).map(Rc::new).ok_or(EvalError::Xml);
    }
    let made = || Document::decode(bytes).map(|document| (bytes.to_vec(), document));
    DOCUMENTS.with(|known| kept(known, |own| own == bytes, made)).ok_or(EvalError::Xml)
}

fn query_of(text: &str, is_modify: bool) -> EvalResult<Rc<Query>> {
    let made = || {
        let query = parser::parse(text, is_modify).ok()?;
        Some(((text.to_owned(), is_modify), query))
    };
    let is_own = |own: &(String, bool)| own.0 == text && own.1 == is_modify;
    QUERIES.with(|known| kept(known, is_own, made)).ok_or(EvalError::Xml)
}

/// What a method is called with: name of the operand, document, node, query, values.
struct Asked {
    document: Rc<Document>,
    node: usize,
    query: Rc<Query>,
    outside: Vec<Option<Item>>,
}

impl Asked {
    /// `None` where the document, or its node, is NULL.
    fn of(call: &Call, cells: &[Cell<'_>], is_modify: bool) -> EvalResult<Option<Asked>> {
        let [_, document, node, query] = row::first::<4>(cells);
        let (Cell::Bytes(document), Cell::Int(node)) = (document, node) else { return Ok(None) };
        let text = codec::decode(call.ty(3), query.bytes());
        let outside = cells.iter().enumerate().skip(4).map(|(at, cell)| match cell {
            Cell::Bytes(bytes) => {
                let kind = call.number >> ((at - 4) * KIND_BITS) & 3;
                Some(item_of(kind, codec::decode(call.ty(at), bytes).into_owned()))
            }
            _ => None,
        });
        Ok(Some(Asked {
            document: document_of(document)?,
            node: usize::try_from(node).unwrap_or(ROOT),
            query: query_of(&text, is_modify)?,
            outside: outside.collect(),
        }))
    }

    /// The items of the query, given to `then`; none where it fails.
    fn items<T>(&self, then: impl FnOnce(&Evaluator<'_>, Vec<Item>) -> T) -> T {
        let mut evaluator = Evaluator::new(&self.document, &self.outside);
        let items = match &self.query.body {
            Body::Value(expr) => evaluator.of_node(expr, self.node).unwrap_or_default(),
            _ => Vec::new(),
        };
        then(&evaluator, items)
    }
}

/// `value`: the text of the one item.
pub(crate) fn value(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let Some(asked) = Asked::of(call, cells, false)? else { return Ok(Outcome::Null) };
    let text = asked.items(|evaluator, items| items.first().map(|item| evaluator.text(item)));
    let Some(text) = text else { return Ok(Outcome::Null) };
    to.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    Ok(Outcome::Bytes)
}

/// `exist`: is there any item?
pub(crate) fn exist(call: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let Some(asked) = Asked::of(call, cells, false)? else { return Ok(Outcome::Null) };
    Ok(Outcome::Int(asked.items(|_, items| i64::from(!items.is_empty()))))
}

/// `query`: nodes as they are, values with a blank between them.
pub(crate) fn query(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let Some(asked) = Asked::of(call, cells, false)? else { return Ok(Outcome::Null) };
    let text = asked.items(|evaluator, items| evaluator.written(&items));
    to.extend(xml::encode_text(&text).map_err(|_| EvalError::Xml)?);
    Ok(Outcome::Bytes)
}

/// `modify`: the document after the change.
pub(crate) fn modify(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let Some(asked) = Asked::of(call, cells, true)? else { return Err(EvalError::NullMutator) };
    let text = modify::changed(&asked.document, &asked.query.body, &asked.outside);
    to.extend(xml::encode_text(&text).map_err(|_| EvalError::Xml)?);
    Ok(Outcome::Bytes)
}

/// The rows of `nodes`: a query whose text was verified.
#[derive(Debug, Clone)]
pub struct XmlNodes {
    query: String,
    kinds: i64,
}

impl XmlNodes {
    /// The query, with the types of the values that it names.
    pub fn new(query: String, outside: impl Iterator<Item = SqlType>) -> XmlNodes {
        let bits = |(at, ty): (usize, SqlType)| (kind_of(&ty) as i64) << (at * KIND_BITS);
        let kinds = outside.take(OUTSIDE_MAX).enumerate().map(bits).sum();
        XmlNodes { query, kinds }
    }

    /// Numbers of the nodes that the query finds in a stored document, from a node of it or from
    /// the document itself; `outside` are the values that the query names.
    ///
    /// # Errors
    /// The bytes are no xml.
    pub fn rows(
        &self,
        document: &[u8],
        node: Option<i32>,
        outside: &[Option<String>],
    ) -> EvalResult<Vec<i32>> {
        let value = |(at, text): (usize, &Option<String>)| {
            let kind = self.kinds >> (at * KIND_BITS) & 3;
            text.clone().map(|text| item_of(kind, text))
        };
        let asked = Asked {
            document: document_of(document)?,
            node: node.and_then(|node| usize::try_from(node).ok()).unwrap_or(ROOT),
            query: query_of(&self.query, false)?,
            outside: outside.iter().enumerate().map(value).collect(),
        };
        let number = |item: &Item| match item {
            Item::Node(node) if node.document == 0 => i32::try_from(node.id).ok(),
            _ => None,
        };
        Ok(asked.items(|_, items| items.iter().filter_map(number).collect()))
    }
}

/// How a value of a type is compared.
pub(crate) fn kind_of(ty: &SqlType) -> OutsideKind {
    match ty {
        SqlType::Bit => OutsideKind::Boolean,
        ty if crate::typing::digits(ty).is_some() || crate::typing::is_float(ty) => {
            OutsideKind::Number
        }
        _ => OutsideKind::Text,
    }
}

#[cfg(test)]
mod tests;
