//! Binding: names to columns, types to nodes, nodes to steps.
//!
//! One loop over the nodes, operands first. Each node becomes a [`Value`]: the lane that will hold
//! it, its type, and what typing must know about it beyond the type:
//!
//! ```text
//! label      how strongly its collation binds: literal < column < COLLATE ("Collation precedence")
//! literal    the literal it is, since 5 is numeric(1,0) beside a decimal and '20000825' a date
//!            beside a date
//! is_settled the precision and scale of this decimal, or the length of this text as a type, are
//!            certain
//! ```
//!
//! Invariant: whatever is not certain ends in [`CompileError::Unsupported`] here, or in an
//! undecided row later.

use extentdb_kernel::constant::Constant;
use extentdb_kernel::disk::StorageForm;
use extentdb_kernel::lane::Reg;
use extentdb_kernel::operator::{Op, codec, logic, number_form};
use extentdb_types::{Collation, SqlType};

use crate::error::CompileError;
use crate::program::Environment;
use crate::resolver::Parameter;
use crate::syntax::{Id, Node, Syntax, Test};
use crate::typing;

mod bytes;
mod choice;
mod concat;
mod conversion;
mod date_function;
mod dates;
mod entry;
mod exact;
mod exact_operator;
mod function;
mod function_table;
mod json;
mod math;
mod operator;
mod pattern;
mod text_function;
mod texts;
mod write;
mod xml;

/// Type of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Ty {
    /// The literal NULL, which takes any type.
    Null,
    Truth,
    Sql(SqlType),
}

/// How strongly a collation binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Label {
    Default,
    Implicit,
    Explicit,
}

/// A literal as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    Integer(i64),
    Text(String),
}

/// A bound node.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    pub(crate) reg: Reg,
    pub(crate) ty: Ty,
    pub(crate) label: Label,
    pub(crate) literal: Option<Literal>,
    pub(crate) is_settled: bool,
    pub(crate) at: usize,
}

pub(crate) type BindResult<T = Value> = Result<T, CompileError>;

/// The compiler's state.
pub(crate) struct Binder<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) inputs: Vec<usize>,
    pub(crate) forms: Vec<(Reg, StorageForm)>,
    pub(crate) constants: Vec<(Reg, Constant)>,
    pub(crate) steps: Vec<(Op, Reg)>,
    pub(crate) lanes: u16,
    pub(crate) is_precise: bool,
    pub(crate) is_deterministic: bool,
    /// Of each step: what a message about it names.
    pub(crate) notes: Vec<Note>,
    /// Where the node at hand begins.
    at: usize,
    /// The operation at hand, for messages about collations.
    operation: &'static str,
    /// The function at hand, in small letters.
    function: &'static str,
    /// Lanes whose texts are JSON, made by functions of JSON.
    fragments: Vec<Reg>,
}

/// What a message about a step names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Note {
    /// Type of the operand, for conversions and functions.
    pub(crate) from: Option<SqlType>,
    pub(crate) to: SqlType,
    /// The function that has the step; empty for operators and conversions.
    pub(crate) function: &'static str,
    /// Byte offset in the expression.
    pub(crate) at: usize,
}

/// Most lanes of a program.
const MAX_LANES: u16 = 20_000;

impl<'a> Binder<'a> {
    pub(crate) fn new(environment: &'a Environment) -> Binder<'a> {
        Binder {
            environment,
            inputs: Vec::new(),
            forms: Vec::new(),
            constants: Vec::new(),
            steps: Vec::new(),
            lanes: 0,
            is_precise: true,
            is_deterministic: true,
            notes: Vec::new(),
            at: 0,
            operation: "",
            function: "",
            fragments: Vec::new(),
        }
    }

    /// Binds all nodes; the value of the last one.
    pub(crate) fn bind(&mut self, syntax: &Syntax) -> BindResult {
        let mut values: Vec<Value> = Vec::new();
        for (node, at) in syntax.nodes() {
            self.at = at;
            self.function = "";
            let mut value = self.node(node, &values)?;
            value.is_settled |= self.is_statement();
            values.push(value);
        }
        values.pop().ok_or_else(|| CompileError::Syntax { what: "a value".to_owned(), at: 0 })
    }

    fn node(&mut self, node: &Node, values: &[Value]) -> BindResult {
        let of = |id: &Id| {
            values
                .get(id.0)
                .cloned()
                .ok_or_else(|| CompileError::Syntax { what: "a value".to_owned(), at: 0 })
        };
        match node {
            Node::Null => self.null(Ty::Null),
            Node::Integer(digits) => self.integer(digits),
            Node::Decimal(digits) => self.decimal(digits),
            Node::Float(digits) => self.float(digits),
            Node::Money(digits) => self.money(digits),
            Node::Text { text, is_wide } => self.text(text, *is_wide),
            Node::Binary(bytes) => self.binary(bytes),
            Node::Column(name) => self.column(name),
            Node::Parameter(parameter) => self.parameter(*parameter),
            Node::Plus(a) => of(a),
            Node::Negate(a) => self.negate(of(a)?),
            Node::BitNot(a) => self.bit_not(of(a)?),
            Node::Infix(op, a, b) => self.infix(*op, of(a)?, of(b)?),
            Node::Compare(test, a, b) => self.compare(*test, of(a)?, of(b)?),
            Node::And(a, b) => {
                let a = self.truth(of(a)?)?;
                let b = self.truth(of(b)?)?;
                self.condition(Op::Logic(logic::Op::And { a, b }))
            }
            Node::Or(a, b) => {
                let a = self.truth(of(a)?)?;
                let b = self.truth(of(b)?)?;
                self.condition(Op::Logic(logic::Op::Or { a, b }))
            }
            Node::Not(a) => {
                let a = self.truth(of(a)?)?;
                self.condition(Op::Logic(logic::Op::Not { a }))
            }
            Node::IsNull(a) => {
                let a = of(a)?;
                match a.ty {
                    Ty::Truth => self.unsupported("a condition where a value is expected"),
                    _ => self.condition(Op::Logic(logic::Op::IsNull { a: a.reg })),
                }
            }
            Node::Like { of: a, pattern, escape } => {
                let escape = escape.as_ref().map(of).transpose()?;
                self.like(of(a)?, &of(pattern)?, escape.as_ref())
            }
            Node::Case { operand, arms, other } => {
                let operand = operand.as_ref().map(of).transpose()?;
                let other = other.as_ref().map(of).transpose()?;
                let arms: BindResult<Vec<(Value, Value)>> = arms
                    .iter()
                    .map(|(condition, value)| Ok((of(condition)?, of(value)?)))
                    .collect();
                self.case(operand.as_ref(), arms?, other)
            }
            Node::Call { name, part, args } => {
                let args: BindResult<Vec<Value>> = args.iter().map(of).collect();
                self.call(name, part.as_deref(), args?)
            }
            Node::Convert { to, of: a, style, is_try } => {
                let style = style.as_ref().map(of).transpose()?;
                let operand = of(a)?;
                let reg = operand.reg;
                let converted = self.convert(to, operand, style.as_ref())?;
                if *is_try { self.null_if_failed(converted, reg) } else { Ok(converted) }
            }
            Node::Collate(a, name) => self.collate(of(a)?, name),
            Node::Assigned(a, to) => {
                let value = of(a)?;
                if value.ty == Ty::Null { self.typed_null(*to) } else { self.assigned(value, *to) }
            }
            Node::TryAssigned(a, to) => {
                let value = of(a)?;
                if value.ty == Ty::Null {
                    return self.typed_null(*to);
                }
                let operand = value.reg;
                let converted = self.assigned(value, *to)?;
                self.null_if_failed(converted, operand)
            }
            Node::IsSet(a) => {
                let one = self.number(1)?;
                self.compare(Test::Equal, of(a)?, one)
            }
        }
    }

    /// An error at the node at hand.
    fn unsupported<T>(&self, what: impl Into<String>) -> BindResult<T> {
        Err(CompileError::Unsupported { what: what.into(), at: self.at })
    }

    fn lane(&mut self) -> BindResult<Reg> {
        if self.lanes >= MAX_LANES {
            return Err(CompileError::TooLarge { what: "steps", limit: MAX_LANES.into() });
        }
        self.lanes += 1;
        Ok(Reg(self.lanes - 1))
    }

    fn value(&mut self, reg: Reg, ty: Ty) -> Value {
        if let Ty::Sql(ty) = ty
            && typing::is_float(&ty)
        {
            self.is_precise = false;
        }
        Value {
            reg,
            ty,
            label: Label::Default,
            literal: None,
            is_settled: true,
            at: self.at,
        }
    }

    /// A step with a result.
    fn emit(&mut self, op: Op, ty: SqlType) -> BindResult {
        let reg = self.lane()?;
        self.note(ty);
        self.steps.push((op, reg));
        Ok(self.value(reg, Ty::Sql(ty)))
    }

    fn note(&mut self, to: SqlType) {
        let note = Note { from: None, to, function: self.function, at: self.at };
        self.notes.push(note);
    }

    /// The type of the operand of the last step.
    fn note_source(&mut self, from: SqlType) {
        if let Some(note) = self.notes.last_mut() {
            note.from = Some(from);
        }
    }

    /// A step whose result is a condition.
    fn condition(&mut self, op: Op) -> BindResult {
        let reg = self.lane()?;
        self.note(SqlType::Bit);
        self.steps.push((op, reg));
        Ok(self.value(reg, Ty::Truth))
    }

    fn constant(&mut self, constant: Constant, ty: Ty) -> BindResult {
        let reg = self.lane()?;
        self.constants.push((reg, constant));
        Ok(self.value(reg, ty))
    }

    fn null(&mut self, ty: Ty) -> BindResult {
        self.constant(Constant::Null, ty)
    }

    /// A number that the compiler needs.
    fn number(&mut self, value: i64) -> BindResult {
        self.constant(Constant::Int(value), Ty::Sql(SqlType::Int))
    }

    fn truth(&self, value: Value) -> BindResult<Reg> {
        if value.ty == Ty::Truth {
            Ok(value.reg)
        } else {
            self.unsupported("a value where a condition is expected")
        }
    }

    /// The type of a value that is not the literal NULL, and whose values are looked at.
    fn sql(&self, value: &Value) -> BindResult<SqlType> {
        match value.ty {
            Ty::Sql(ty) if !typing::is_opaque(&ty) || self.is_statement() => Ok(ty),
            Ty::Sql(ty) => self.unsupported(format!("a value of type {ty}")),
            Ty::Truth => self.unsupported("a condition where a value is expected"),
            Ty::Null => self.unsupported("NULL without a type"),
        }
    }

    fn integer(&mut self, digits: &str) -> BindResult {
        match digits.parse::<i32>() {
            Ok(value) => {
                let value = i64::from(value);
                let mut bound = self.constant(Constant::Int(value), Ty::Sql(SqlType::Int))?;
                bound.literal = Some(Literal::Integer(value));
                Ok(bound)
            }
            // Beyond int, digits are a numeric.
            Err(_) => {
                let mut bound = self.decimal(digits)?;
                // Its negative is an int.
                if self.is_statement() && digits.trim_start_matches('0') == "2147483648" {
                    bound.literal = Some(Literal::Integer(2_147_483_648));
                }
                Ok(bound)
            }
        }
    }

    fn decimal(&mut self, text: &str) -> BindResult {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let whole = whole.trim_start_matches('0');
        let digits: Option<u8> =
            u8::try_from(whole.len() + fraction.len()).ok().filter(|digits| *digits <= 38);
        let value = format!("0{whole}{fraction}").parse::<i128>().ok();
        let (Some(digits), Some(value)) = (digits, value) else {
            return self.unsupported("a number of more than 38 digits");
        };
        let ty = SqlType::Decimal { precision: digits.max(1), scale: fraction.len() as u8 };
        self.constant(Constant::Wide(value), Ty::Sql(ty))
    }

    fn float(&mut self, text: &str) -> BindResult {
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => {
                self.constant(Constant::Float(value), Ty::Sql(SqlType::Float))
            }
            _ => self.unsupported("a float out of range"),
        }
    }

    fn money(&mut self, text: &str) -> BindResult {
        if self.is_statement() {
            return match number_form::read_money(text) {
                Ok(value) => self.constant(Constant::Int(value), Ty::Sql(SqlType::Money)),
                Err(_) => self.unsupported("a money literal beyond its range"),
            };
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("0{whole}{fraction:0<4}");
        match (fraction.len() <= 4, digits.parse::<i64>()) {
            (true, Ok(value)) => self.constant(Constant::Int(value), Ty::Sql(SqlType::Money)),
            _ => self.unsupported("a money literal beyond four decimals or its range"),
        }
    }

    fn text(&mut self, text: &str, is_wide: bool) -> BindResult {
        let collation = self.environment.database_collation;
        let bytes = self.encode(text, is_wide, collation)?;
        let units = bytes.len() / if is_wide { 2 } else { 1 };
        if self.is_statement() && bytes.len() > usize::from(typing::MAX_BYTES) {
            let ty = typing::text_type(is_wide, None, collation);
            return self.constant(Constant::Bytes(bytes), Ty::Sql(ty));
        }
        let Some(units) =
            u16::try_from(units).ok().filter(|_| bytes.len() <= usize::from(typing::MAX_BYTES))
        else {
            return self.unsupported("a literal beyond 8000 bytes");
        };
        let ty = typing::text_type(is_wide, Some(units), collation);
        let mut bound = self.constant(Constant::Bytes(bytes), Ty::Sql(ty))?;
        bound.literal = Some(Literal::Text(text.to_owned()));
        Ok(bound)
    }

    /// The bytes of a literal under a collation.
    fn encode(&self, text: &str, is_wide: bool, collation: Collation) -> BindResult<Vec<u8>> {
        if is_wide {
            return Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect());
        }
        if text.is_ascii() {
            return Ok(text.as_bytes().to_vec());
        }
        match collation.code_page().and_then(|page| page.encode(text)) {
            Some(bytes) => Ok(bytes),
            None if self.is_statement() => {
                let mut bytes = Vec::new();
                let ty = SqlType::VarChar { len: None, collation };
                codec::encode(&ty, text, &mut bytes);
                Ok(bytes)
            }
            None => self.unsupported("a literal with characters outside its code page"),
        }
    }

    fn binary(&mut self, bytes: &[u8]) -> BindResult {
        let len = u16::try_from(bytes.len()).ok().filter(|len| *len <= typing::MAX_BYTES);
        match len {
            Some(len) => {
                let ty = SqlType::VarBinary { len: Some(len.max(1)) };
                self.constant(Constant::Bytes(bytes.to_vec()), Ty::Sql(ty))
            }
            None if self.is_statement() => {
                let ty = SqlType::VarBinary { len: None };
                self.constant(Constant::Bytes(bytes.to_vec()), Ty::Sql(ty))
            }
            None => self.unsupported("a literal beyond 8000 bytes"),
        }
    }

    fn column(&mut self, name: &str) -> BindResult {
        let columns = &self.environment.columns;
        let exact = columns.iter().position(|(known, _)| known == name);
        let Some(at) = exact.or_else(|| self.column_by_collation(name)) else {
            return Err(CompileError::UnknownColumn { name: name.to_owned(), at: self.at });
        };
        let Some(&(_, ty)) = columns.get(at) else { return self.unsupported("a column") };
        let mut value = self.input(at, ty)?;
        value.label = Label::Implicit;
        Ok(value)
    }

    /// A value from outside of the row: an input after the columns.
    pub(crate) fn parameter(&mut self, parameter: Parameter) -> BindResult {
        self.is_deterministic = false;
        let place = self.environment.columns.len() + parameter.place;
        let mut value = self.input(place, parameter.ty)?;
        // Variables have the collation of the database: another one is that of a column.
        let own = self.environment.database_collation;
        let is_column = parameter.ty.collation().is_some_and(|collation| collation != own);
        if is_column && self.is_statement() {
            value.label = Label::Implicit;
        }
        Ok(value)
    }

    /// The lane of an input, which all that name it share.
    fn input(&mut self, at: usize, ty: SqlType) -> BindResult {
        let known = self.inputs.iter().position(|input| *input == at);
        let reg = match known.and_then(|input| self.forms.get(input)) {
            Some((reg, _)) => *reg,
            None => {
                let reg = self.lane()?;
                self.inputs.push(at);
                let is_passed_by = typing::is_opaque(&ty) && !self.is_statement();
                let form = if is_passed_by { StorageForm::Opaque } else { StorageForm::of(&ty) };
                self.forms.push((reg, form));
                reg
            }
        };
        Ok(self.value(reg, Ty::Sql(ty)))
    }

    fn null_if_failed(&mut self, converted: Value, operand: Reg) -> BindResult {
        let ty = self.sql(&converted)?;
        let kind = typing::kind(&ty);
        let op = logic::Op::NullIfFailed { a: converted.reg, of: operand, kind };
        let value = self.emit(Op::Logic(op), ty)?;
        Ok(Value {
            label: converted.label,
            is_settled: converted.is_settled,
            ..value
        })
    }

    /// Names compare under the collation of the database; only one may be equal.
    fn column_by_collation(&self, name: &str) -> Option<usize> {
        let wide =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        let sought = wide(name);
        let is_equal = |known: &str| {
            let order =
                self.environment.database_collation.compare_nchar(&wide(known), &sought).ordering();
            order.is_some_and(std::cmp::Ordering::is_eq)
        };
        let mut equal = self
            .environment
            .columns
            .iter()
            .enumerate()
            .filter(|(_, (known, _))| is_equal(known))
            .map(|(at, _)| at);
        let first = equal.next()?;
        equal.next().is_none().then_some(first)
    }

    /// The literal integer of an argument that must be one.
    fn literal_integer(&self, value: &Value, what: &str) -> BindResult<i64> {
        match value.literal {
            Some(Literal::Integer(number)) => Ok(number),
            _ => self.unsupported(format!("{what} that is no literal")),
        }
    }
}
