//! Functions in FROM.

use extentdb_bind::logical::{Column, RowsSource};
use extentdb_bind::provider::push_value;
use extentdb_engine::Vector;
use extentdb_expr::json_rows::{self, JsonField};
use extentdb_expr::{EvalError, XmlNodes};
use extentdb_plan::physical::Expression;
use extentdb_types::{Datum, Decimal, NText, SqlType};

use crate::batch::{BATCH_ROWS, Batch};
use crate::context::Context;
use crate::error::Error;
use crate::evaluate::Evaluator;
use crate::operator::{Operator, poll};

/// A function in FROM.
pub(crate) struct Function {
    source: RowsSource,
    arguments: Vec<Evaluator>,
    types: Vec<SqlType>,
    rows: std::vec::IntoIter<Vec<Datum<'static>>>,
}

impl Function {
    pub(crate) fn new(
        source: &RowsSource,
        arguments: &[Expression],
        columns: &[Column],
    ) -> Function {
        Function {
            source: source.clone(),
            arguments: arguments.iter().map(Evaluator::new).collect(),
            types: columns.iter().map(|column| column.ty).collect(),
            rows: Vec::new().into_iter(),
        }
    }

    fn made(&mut self, context: &mut Context<'_>) -> Result<Vec<Vec<Datum<'static>>>, Error> {
        let mut values = Vec::new();
        for argument in &mut self.arguments {
            values.push(argument.datum(&context.outer)?);
        }
        match &self.source {
            // A plan has an operator of its own for them.
            RowsSource::Provider(_) => Ok(Vec::new()),
            RowsSource::Called { provider, .. } => {
                provider.rows(&values).map_err(Error::NotSupported)
            }
            RowsSource::User { function, .. } => context.call_rows(*function, &values),
            RowsSource::StringSplit(_) => self.split(&values),
            RowsSource::GenerateSeries(_) => self.series(&values, context),
            RowsSource::OpenJson { fields, .. } => self.json(&values, fields.as_deref()),
            RowsSource::XmlNodes { nodes, .. } => xml_nodes(&values, nodes),
        }
    }

    /// OPENJSON: members, or a value for each field.
    fn json(
        &self,
        values: &[Datum<'static>],
        fields: Option<&[JsonField]>,
    ) -> Result<Vec<Vec<Datum<'static>>>, Error> {
        let Some(text) = values.first().and_then(text_of) else { return Ok(Vec::new()) };
        let path = match values.get(1) {
            None => "$".to_owned(),
            Some(path) => match text_of(path) {
                Some(path) => path,
                None => return Ok(Vec::new()),
            },
        };
        let own = |value: Option<String>| {
            value.map_or(Datum::Null, |text| Datum::NChar(NText::from_text(&text)))
        };
        if let Some(fields) = fields {
            let rows = json_rows::rows(&text, &path, fields).map_err(json_error)?;
            return Ok(rows.into_iter().map(|row| row.into_iter().map(own).collect()).collect());
        }
        let members = json_rows::members(&text, &path).map_err(json_error)?;
        let row = |it: json_rows::JsonMember| {
            vec![own(Some(it.key)), own(it.value), Datum::TinyInt(it.kind)]
        };
        Ok(members.into_iter().map(row).collect())
    }

    /// STRING_SPLIT: the parts between separators, empty ones among them; none of NULL.
    fn split(&self, values: &[Datum<'static>]) -> Result<Vec<Vec<Datum<'static>>>, Error> {
        let (Some(text), Some(separator)) = (
            values.first().and_then(text_of),
            values.get(1).and_then(text_of).filter(|it| it.chars().count() == 1),
        ) else {
            return Ok(Vec::new());
        };
        let ty = self.types.first().copied().unwrap_or(SqlType::Int);
        let mut rows = Vec::new();
        for (ordinal, part) in (1..).zip(text.split(&separator)) {
            let mut row = vec![text_value(part, &ty)?];
            if self.types.len() > 1 {
                row.push(Datum::BigInt(ordinal));
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// GENERATE_SERIES: up or down by the step, ends included.
    fn series(
        &self,
        values: &[Datum<'static>],
        context: &Context<'_>,
    ) -> Result<Vec<Vec<Datum<'static>>>, Error> {
        let ty = self.types.first().copied().unwrap_or(SqlType::Int);
        let number = |at: usize| values.get(at).and_then(number_of);
        let (Some(start), Some(stop)) = (number(0), number(1)) else { return Ok(Vec::new()) };
        let one = match ty {
            SqlType::Decimal { scale, .. } => 10i128.pow(u32::from(scale.min(38))),
            _ => 1,
        };
        let step = match values.get(2) {
            None if start <= stop => one,
            None => -one,
            Some(_) => match number(2) {
                None => return Ok(Vec::new()),
                Some(0) => {
                    let text = "Argument value 0 is invalid for argument 3 of generate_series \
                                function.";
                    return Err(Error::Message { number: 4199, text: text.to_owned() });
                }
                Some(step) => step,
            },
        };
        let mut rows = Vec::new();
        let mut value = start;
        while if step > 0 { value <= stop } else { value >= stop } {
            if rows.len() % (64 * BATCH_ROWS) == 0 {
                poll(context)?;
            }
            rows.push(vec![number_value(value, &ty)]);
            let Some(next) = value.checked_add(step) else { break };
            value = next;
        }
        Ok(rows)
    }
}

/// nodes(): numbers of the nodes of a document, or below a node of it.
fn xml_nodes(
    values: &[Datum<'static>],
    nodes: &XmlNodes,
) -> Result<Vec<Vec<Datum<'static>>>, Error> {
    let (Some(Datum::Xml(document)), Some(Datum::Int(node))) = (values.first(), values.get(1))
    else {
        return Ok(Vec::new());
    };
    let outside: Vec<Option<String>> = values.iter().skip(2).map(text_of).collect();
    let rows = nodes.rows(document, Some(*node), &outside);
    let rows = rows.map_err(|error| Error::NotSupported(error.to_string()))?;
    Ok(rows.into_iter().map(|node| vec![Datum::Int(node)]).collect())
}

impl Operator for Function {
    fn open(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        self.rows = self.made(context)?.into_iter();
        Ok(())
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        poll(context)?;
        let mut columns: Vec<Vector> = self.types.iter().map(|ty| Vector::computed(*ty)).collect();
        let mut rows = 0;
        let mut bytes = Vec::new();
        for row in self.rows.by_ref().take(BATCH_ROWS) {
            rows += 1;
            for (column, value) in columns.iter_mut().zip(&row) {
                push_value(column, value, &mut bytes).map_err(Error::NotSupported)?;
            }
        }
        Ok((rows > 0).then_some(Batch { rows, columns }))
    }
}

/// An error of JSON as the server tells of it.
fn json_error(error: EvalError) -> Error {
    let number = match error {
        EvalError::JsonPath => 13607,
        EvalError::JsonProperty => 13608,
        _ => 13609,
    };
    Error::Json { number }
}

fn text_of(value: &Datum<'_>) -> Option<String> {
    match value {
        Datum::NChar(text) => Some(text.decode().0),
        Datum::Char(text) => Some(text.decode().0.into_owned()),
        _ => None,
    }
}

/// A text as a value of a text type.
fn text_value(text: &str, ty: &SqlType) -> Result<Datum<'static>, Error> {
    match ty {
        SqlType::VarChar { collation, .. } => {
            let page = collation.code_page();
            let bytes = page.and_then(|page| page.encode(text));
            let missing = || Error::NotSupported("a text outside of its code page".to_owned());
            let bytes = bytes.ok_or_else(missing)?;
            Datum::decode(ty, &bytes)
                .map(Datum::into_owned)
                .map_err(|error| Error::NotSupported(error.to_string()))
        }
        _ => Ok(Datum::NChar(NText::from_text(text))),
    }
}

/// An exact number in units of its scale.
fn number_of(value: &Datum<'_>) -> Option<i128> {
    Some(match value {
        Datum::TinyInt(value) => i128::from(*value),
        Datum::SmallInt(value) => i128::from(*value),
        Datum::Int(value) => i128::from(*value),
        Datum::BigInt(value) => i128::from(*value),
        Datum::Decimal(value) => value.unscaled(),
        _ => return None,
    })
}

fn number_value(value: i128, ty: &SqlType) -> Datum<'static> {
    match ty {
        SqlType::TinyInt => Datum::TinyInt(value as u8),
        SqlType::SmallInt => Datum::SmallInt(value as i16),
        SqlType::Int => Datum::Int(value as i32),
        SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => {
            Decimal::new(value < 0, value.unsigned_abs(), *scale)
                .map_or(Datum::Null, Datum::Decimal)
        }
        _ => Datum::BigInt(value as i64),
    }
}
