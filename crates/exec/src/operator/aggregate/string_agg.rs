//! STRING_AGG: texts one after the other, with separators between them.

use std::borrow::Cow;

use extentdb_engine::Vector;
use extentdb_plan::physical::AggregateCall;
use extentdb_types::{Datum, NText, SqlType};

use crate::batch::Batch;
use crate::error::Error;
use crate::evaluate::datum;
use crate::key::{KeyEncoder, KeyRows};
use crate::operator::aggregate::accumulator::Accumulator;
use crate::operator::aggregate::fold::Groups;

/// Most bytes of a result that is not of a (max) type.
const MOST_BYTES: usize = 8000;

/// STRING_AGG; NULL without values. A NULL is skipped with its separator.
#[derive(Debug)]
pub(super) struct StringAgg {
    column: usize,
    separator: Option<usize>,
    order: Option<KeyEncoder>,
    ty: SqlType,
    most: usize,
    states: Vec<Texts>,
    /// Bytes of all texts.
    bytes: usize,
}

/// The texts of a group.
#[derive(Debug, Default)]
struct Texts {
    /// Each separator and text.
    bytes: Vec<u8>,
    /// Where each of them is; only where an order is asked for.
    parts: Vec<Part>,
    keys: KeyRows,
    /// Bytes of the first separator, which is left out.
    first: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    start: usize,
    text: usize,
    end: usize,
}

impl StringAgg {
    /// `None`: the result is no text.
    pub(super) fn new(call: &AggregateCall, column: usize, types: &[SqlType]) -> Option<StringAgg> {
        let argument = types.get(column).copied().unwrap_or(call.argument_type);
        if is_national(&argument)? != is_national(&call.ty)? {
            return None;
        }
        let is_max = matches!(
            call.ty,
            SqlType::VarChar { len: None, .. } | SqlType::NVarChar { len: None, .. }
        );
        Some(StringAgg {
            column,
            separator: call.separator,
            order: (!call.order.is_empty()).then(|| KeyEncoder::new(call.order.clone())),
            ty: call.ty,
            most: if is_max { i32::MAX as usize } else { MOST_BYTES },
            states: Vec::new(),
            bytes: 0,
        })
    }

    /// The separator before a row's text, as the result has its texts.
    fn separator<'b>(&self, input: &'b Batch, row: usize) -> Result<Cow<'b, [u8]>, Error> {
        let vector = self.separator.and_then(|column| input.columns.get(column));
        let Some(vector) = vector.filter(|vector| !vector.is_null(row)) else {
            return Ok(Cow::Borrowed(&[]));
        };
        if is_national(&vector.ty) == is_national(&self.ty) {
            return Ok(Cow::Borrowed(vector.bytes(row)));
        }
        converted(vector, row, self.ty)
    }
}

/// Are its texts UTF-16? `None`: it has no texts.
fn is_national(ty: &SqlType) -> Option<bool> {
    match ty {
        SqlType::Char { .. } | SqlType::VarChar { .. } => Some(false),
        SqlType::NChar { .. } | SqlType::NVarChar { .. } => Some(true),
        _ => None,
    }
}

/// A text of a code page as UTF-16; an ASCII text the other way.
fn converted(vector: &Vector, row: usize, ty: SqlType) -> Result<Cow<'static, [u8]>, Error> {
    match datum(vector, row)? {
        Datum::Char(text) => Ok(NText::from_text(&text.decode().0).bytes),
        Datum::NChar(text) if text.decode().0.is_ascii() => {
            Ok(Cow::Owned(text.decode().0.into_bytes()))
        }
        _ => Err(Error::NotSupported(format!("a separator of {} for {ty}", vector.ty))),
    }
}

impl Texts {
    fn push(&mut self, separator: &[u8], text: &[u8]) {
        self.first.get_or_insert(separator.len());
        self.bytes.extend_from_slice(separator);
        self.bytes.extend_from_slice(text);
    }

    fn push_ordered(&mut self, separator: &[u8], text: &[u8], key: &[u8]) {
        let start = self.bytes.len();
        self.push(separator, text);
        self.parts.push(Part { start, text: start + separator.len(), end: self.bytes.len() });
        self.keys.push(key);
    }

    fn unordered(&self) -> Option<&[u8]> {
        self.bytes.get(self.first?..)
    }

    fn ordered(&self) -> Option<Vec<u8>> {
        self.first?;
        let mut result = Vec::with_capacity(self.bytes.len());
        for (at, row) in self.keys.sorted().into_iter().enumerate() {
            let Some(part) = self.parts.get(row as usize) else { continue };
            let from = if at == 0 { part.text } else { part.start };
            result.extend_from_slice(self.bytes.get(from..part.end).unwrap_or_default());
        }
        Some(result)
    }
}

impl Accumulator for StringAgg {
    fn grow(&mut self, groups: usize) {
        self.states.resize_with(groups, Texts::default);
    }

    fn update(&mut self, input: &Batch, groups: Groups<'_>) -> Result<(), Error> {
        let Some(vector) = input.columns.get(self.column) else { return Ok(()) };
        let mut key = Vec::new();
        for row in (0..groups.rows()).filter(|row| !vector.is_null(*row)) {
            let separator = self.separator(input, row)?;
            let Some(state) = self.states.get_mut(groups.of(row)) else { continue };
            self.bytes += separator.len() + vector.bytes(row).len();
            match &mut self.order {
                None => state.push(&separator, vector.bytes(row)),
                Some(order) => {
                    key.clear();
                    order.push(input, row, &mut key);
                    state.push_ordered(&separator, vector.bytes(row), &key);
                }
            }
            if state.bytes.len().saturating_sub(state.first.unwrap_or_default()) > self.most
                && self.order.is_none()
            {
                return Err(Error::StringAggLength);
            }
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        self.states.len() * size_of::<Texts>() + self.bytes
    }

    fn finish(&mut self) -> Result<Vector, Error> {
        let mut vector = Vector::computed(self.ty);
        for state in &self.states {
            let result = match &self.order {
                None => state.unordered().map(Cow::Borrowed),
                Some(_) => state.ordered().map(Cow::Owned),
            };
            if result.as_ref().is_some_and(|bytes| bytes.len() > self.most) {
                return Err(Error::StringAggLength);
            }
            let pushed = vector.push_stored(result.as_deref());
            pushed.map_err(|error| Error::NotSupported(error.to_string()))?;
        }
        Ok(vector)
    }
}
