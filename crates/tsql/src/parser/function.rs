//! Functions: those with a grammar of their own, and all others.

use super::{Parsed, Parser, odbc};
use crate::span::Span;
use crate::syntax::{
    Arguments, Column, ColumnName, Convert, Direction, Expr, ExprKind, Frame, FrameBound,
    FunctionCall, IdentityFunction, Iif, JsonMember, JsonNulls, Name, NextValue, NullTreatment,
    ObjectName, OrderItem, Over, Parse, TrimSide, Window,
};
use crate::token::TokenKind;

/// Pseudo columns that begin with a dollar sign.
pub(super) const PSEUDO_COLUMNS: [&str; 7] =
    ["$action", "$identity", "$rowguid", "$node_id", "$edge_id", "$from_id", "$to_id"];

/// Reserved words that are functions without parentheses.
const WITHOUT_PARENTHESES: [&str; 7] = [
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "SESSION_USER",
    "SYSTEM_USER",
    "USER",
    "CURRENT_DATE",
    "CURRENT_TIME",
];

/// Reserved words that are functions with parentheses.
const WITH_PARENTHESES: [&str; 4] = ["COALESCE", "NULLIF", "LEFT", "RIGHT"];

impl Parser<'_> {
    /// A value that begins with a reserved word.
    pub(super) fn reserved_function(&mut self) -> Parsed<ExprKind> {
        if self.accept("CASE") {
            return self.case();
        }
        let has_arguments = self.kind_at(1) == TokenKind::LeftParen;
        if self.is_any(&["CONVERT", "TRY_CONVERT"]) && has_arguments {
            return self.convert();
        }
        if self.is("IDENTITY") && has_arguments {
            return self.identity_function();
        }
        if self.is_any(&["IDENTITYCOL", "ROWGUIDCOL"]) {
            let column = Column::Pseudo(self.word().to_ascii_lowercase().into());
            self.at += 1;
            return Ok(ExprKind::Column(Box::new(ColumnName { qualifier: None, column })));
        }
        if self.is_any(&WITHOUT_PARENTHESES) {
            let name = self.function_name()?;
            return Ok(call(name, Arguments::None));
        }
        if self.is_any(&WITH_PARENTHESES) && has_arguments {
            let name = self.function_name()?;
            return self.function_call(name).map(|call| ExprKind::Function(Box::new(call)));
        }
        Err(self.unexpected())
    }

    fn function_name(&mut self) -> Parsed<ObjectName> {
        self.any_word().map(ObjectName::simple)
    }

    /// Functions with a grammar of their own that begin with a word that is not reserved.
    pub(super) fn special_function(&mut self) -> Parsed<Option<ExprKind>> {
        if self.are(&["NEXT", "VALUE", "FOR"]) {
            return self.next_value().map(Some);
        }
        if self.kind() != TokenKind::Word || self.kind_at(1) != TokenKind::LeftParen {
            return Ok(None);
        }
        let kind = match self.word().len() {
            3 if self.is("IIF") => self.iif()?,
            4 if self.is("CAST") => self.cast(false)?,
            4 if self.is("TRIM") => self.trim()?,
            5 if self.is("PARSE") => self.parse_function(false)?,
            8 if self.is("TRY_CAST") => self.cast(true)?,
            9 if self.is("TRY_PARSE") => self.parse_function(true)?,
            10 if self.is("JSON_ARRAY") => self.json_array()?,
            11 if self.is("JSON_OBJECT") => self.json_object()?,
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    fn convert(&mut self) -> Parsed<ExprKind> {
        let is_try = self.is("TRY_CONVERT");
        self.at += 1;
        self.expect_kind(TokenKind::LeftParen)?;
        let data_type = self.data_type()?;
        self.expect_kind(TokenKind::Comma)?;
        let operand = self.expression()?;
        let has_style = self.accept_kind(TokenKind::Comma);
        let style = self.when(has_style, Parser::expression)?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(ExprKind::Convert(Box::new(Convert { is_try, data_type, operand, style })))
    }

    fn cast(&mut self, is_try: bool) -> Parsed<ExprKind> {
        self.at += 1;
        self.parenthesised(|parser| {
            let operand = Box::new(parser.expression()?);
            parser.expect("AS")?;
            let data_type = Box::new(parser.data_type()?);
            Ok(ExprKind::Cast { is_try, operand, data_type })
        })
    }

    fn parse_function(&mut self, is_try: bool) -> Parsed<ExprKind> {
        self.at += 1;
        self.parenthesised(|parser| {
            let operand = parser.expression()?;
            parser.expect("AS")?;
            let data_type = parser.data_type()?;
            let has_culture = parser.accept("USING");
            let culture = parser.when(has_culture, Parser::expression)?;
            Ok(ExprKind::Parse(Box::new(Parse { is_try, operand, data_type, culture })))
        })
    }

    fn iif(&mut self) -> Parsed<ExprKind> {
        self.at += 1;
        self.parenthesised(|parser| {
            let condition = parser.condition()?;
            parser.expect_kind(TokenKind::Comma)?;
            let yes = parser.expression()?;
            parser.expect_kind(TokenKind::Comma)?;
            let no = parser.expression()?;
            Ok(ExprKind::Iif(Box::new(Iif { condition, yes, no })))
        })
    }

    fn identity_function(&mut self) -> Parsed<ExprKind> {
        self.at += 1;
        self.parenthesised(|parser| {
            let data_type = parser.data_type()?;
            let mut seed = None;
            let mut increment = None;
            if parser.accept_kind(TokenKind::Comma) {
                seed = Some(parser.expression()?);
                parser.expect_kind(TokenKind::Comma)?;
                increment = Some(parser.expression()?);
            }
            Ok(ExprKind::Identity(Box::new(IdentityFunction { data_type, seed, increment })))
        })
    }

    fn next_value(&mut self) -> Parsed<ExprKind> {
        self.at += 3;
        let sequence = self.object_name()?;
        let has_over = self.accept("OVER");
        let over = self.when(has_over, |parser| parser.parenthesised(Parser::window))?;
        Ok(ExprKind::NextValue(Box::new(NextValue { sequence, over })))
    }

    fn trim(&mut self) -> Parsed<ExprKind> {
        const SIDES: [(&str, TrimSide); 3] = [
            ("LEADING", TrimSide::Leading),
            ("TRAILING", TrimSide::Trailing),
            ("BOTH", TrimSide::Both),
        ];
        let name = self.function_name()?;
        self.expect_kind(TokenKind::LeftParen)?;
        let is_side = !matches!(self.kind_at(1), TokenKind::RightParen | TokenKind::Dot);
        let side = if is_side { self.choose(&SIDES) } else { None };
        let mut characters = None;
        if !self.is("FROM") {
            characters = Some(self.expression()?);
        }
        let arguments = if side.is_some() || self.is("FROM") {
            self.expect("FROM")?;
            let operand = Box::new(self.expression()?);
            Arguments::Trim { side, characters: characters.map(Box::new), operand }
        } else {
            let mut values: Vec<Expr> = characters.into_iter().collect();
            while self.accept_kind(TokenKind::Comma) {
                values.push(self.expression()?);
            }
            Arguments::List(values)
        };
        self.expect_kind(TokenKind::RightParen)?;
        Ok(call(name, arguments))
    }

    /// `NULL ON NULL | ABSENT ON NULL`
    fn json_nulls(&mut self) -> Option<JsonNulls> {
        if self.accept_all(&["NULL", "ON", "NULL"]) {
            Some(JsonNulls::NullOnNull)
        } else if self.accept_all(&["ABSENT", "ON", "NULL"]) {
            Some(JsonNulls::AbsentOnNull)
        } else {
            None
        }
    }

    fn json_object(&mut self) -> Parsed<ExprKind> {
        let name = self.function_name()?;
        self.expect_kind(TokenKind::LeftParen)?;
        let is_empty = self.is_kind(TokenKind::RightParen) || self.is("ABSENT");
        let is_empty = is_empty || self.are(&["NULL", "ON"]);
        let members = if is_empty { Vec::new() } else { self.list(Parser::json_member)? };
        let nulls = self.json_nulls();
        self.expect_kind(TokenKind::RightParen)?;
        Ok(call(name, Arguments::JsonObject { members, nulls }))
    }

    fn json_member(&mut self) -> Parsed<JsonMember> {
        let key = self.expression()?;
        self.expect_kind(TokenKind::Colon)?;
        Ok(JsonMember { key, value: self.expression()? })
    }

    fn json_array(&mut self) -> Parsed<ExprKind> {
        let name = self.function_name()?;
        self.expect_kind(TokenKind::LeftParen)?;
        let is_empty = self.is_kind(TokenKind::RightParen)
            || self.are(&["ABSENT", "ON"])
            || self.are(&["NULL", "ON"]);
        let values = if is_empty { Vec::new() } else { self.list(Parser::expression)? };
        let arguments = match self.json_nulls() {
            Some(nulls) => Arguments::JsonArray { values, nulls },
            None => Arguments::List(values),
        };
        self.expect_kind(TokenKind::RightParen)?;
        Ok(call(name, arguments))
    }

    /// `$action`, `$identity` …, or `$PARTITION.function ( value )`.
    pub(super) fn dollar_word(&mut self) -> Parsed<ExprKind> {
        let word = self.word().to_ascii_lowercase();
        if word == "$partition" {
            self.at += 1;
            self.expect_kind(TokenKind::Dot)?;
            return self.partition_function(None);
        }
        if !PSEUDO_COLUMNS.contains(&word.as_str()) {
            return Err(self.unexpected());
        }
        self.at += 1;
        let column = Column::Pseudo(word.into());
        Ok(ExprKind::Column(Box::new(ColumnName { qualifier: None, column })))
    }

    /// `function ( value )` after `[ database. ] $PARTITION .`
    pub(super) fn partition_function(&mut self, database: Option<Name>) -> Parsed<ExprKind> {
        let start = self.span();
        let name = self.name()?;
        let arguments = self.arguments()?;
        let name = self.qualified(vec![database, None], name, start);
        Ok(call(name, Arguments::Partition(arguments)))
    }

    /// `{ fn call }`, or a literal.
    pub(super) fn odbc_escape(&mut self) -> Parsed<ExprKind> {
        self.expect_kind(TokenKind::LeftBrace)?;
        let kind = match self.odbc_literal()? {
            Some(literal) => ExprKind::Literal(literal),
            None => {
                self.expect("FN")?;
                ExprKind::OdbcFunction(Box::new(self.odbc_function()?))
            }
        };
        self.expect_kind(TokenKind::RightBrace)?;
        Ok(kind)
    }

    /// A function of ODBC: its name may be reserved, and some have other arguments.
    fn odbc_function(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let name = self.function_name()?;
        if name.name.text.eq_ignore_ascii_case("CONVERT") {
            let arguments = self.parenthesised_list(Parser::expression)?;
            return Ok(self.called(name, Arguments::List(arguments), start));
        }
        if name.name.text.eq_ignore_ascii_case("EXTRACT") {
            let arguments = self.parenthesised(|parser| {
                let part = parser.expression()?;
                parser.expect("FROM")?;
                Ok(vec![part, parser.expression()?])
            })?;
            return Ok(self.called(name, Arguments::List(arguments), start));
        }
        if !self.is_kind(TokenKind::LeftParen) {
            return Ok(self.called(name, Arguments::None, start));
        }
        let mut call = self.function_call(name)?;
        let span = self.since(start);
        if let Some(expr) = odbc::value(&call) {
            return Ok(Expr { kind: expr.kind, span });
        }
        odbc::rename(&mut call);
        Ok(Expr { kind: ExprKind::Function(Box::new(call)), span })
    }

    fn called(&self, name: ObjectName, arguments: Arguments, start: Span) -> Expr {
        Expr { kind: call(name, arguments), span: self.since(start) }
    }

    /// The arguments of a function, and what may follow them.
    pub(super) fn function_call(&mut self, name: ObjectName) -> Parsed<FunctionCall> {
        let arguments = self.function_arguments()?;
        let mut call = plain(name, arguments);
        if self.accept_all(&["WITHIN", "GROUP"]) {
            call.within_group = self.parenthesised(Parser::order_by)?;
        }
        if self.are(&["IGNORE", "NULLS"]) || self.are(&["RESPECT", "NULLS"]) {
            let is_ignore = self.is("IGNORE");
            self.at += 2;
            let nulls = if is_ignore { NullTreatment::Ignore } else { NullTreatment::Respect };
            call.nulls = Some(nulls);
        }
        if self.accept("OVER") {
            call.over = Some(self.over()?);
        }
        Ok(call)
    }

    fn function_arguments(&mut self) -> Parsed<Arguments> {
        self.expect_kind(TokenKind::LeftParen)?;
        let arguments = if self.is_kind(TokenKind::RightParen) {
            Arguments::List(Vec::new())
        } else if self.is_kind(TokenKind::Star) && self.kind_at(1) == TokenKind::RightParen {
            self.at += 1;
            Arguments::Star
        } else if self.accept("DISTINCT") {
            Arguments::Distinct(self.list(Parser::expression)?)
        } else {
            self.accept("ALL");
            Arguments::List(self.list(Parser::expression_or_default)?)
        };
        self.expect_kind(TokenKind::RightParen)?;
        Ok(arguments)
    }

    /// What follows OVER.
    fn over(&mut self) -> Parsed<Over> {
        if self.is_name() {
            return self.name().map(Over::Named);
        }
        self.parenthesised(Parser::window).map(Over::Window)
    }

    /// What stands in the parentheses of OVER.
    pub(super) fn window(&mut self) -> Parsed<Window> {
        let has_base = self.is_name() && !self.are(&["PARTITION", "BY"]) && !self.is_frame();
        let base = self.when(has_base, Parser::name)?;
        let has_partition = self.accept_all(&["PARTITION", "BY"]);
        let partition_by = if has_partition { self.list(Parser::expression)? } else { Vec::new() };
        let order_by = if self.is("ORDER") { self.order_by()? } else { Vec::new() };
        let has_frame = self.is_frame();
        let frame = self.when(has_frame, Parser::frame)?;
        Ok(Window { base, partition_by, order_by, frame })
    }

    fn is_frame(&self) -> bool {
        self.is_any(&["ROWS", "RANGE"]) && self.kind_at(1) != TokenKind::RightParen
    }

    fn frame(&mut self) -> Parsed<Frame> {
        let is_range = self.expect_choice(&[("ROWS", false), ("RANGE", true)])?;
        if !self.accept("BETWEEN") {
            return Ok(Frame { is_range, start: self.frame_bound()?, end: None });
        }
        let start = self.frame_bound()?;
        self.expect("AND")?;
        Ok(Frame { is_range, start, end: Some(self.frame_bound()?) })
    }

    fn frame_bound(&mut self) -> Parsed<FrameBound> {
        if self.accept_all(&["CURRENT", "ROW"]) {
            return Ok(FrameBound::CurrentRow);
        }
        if self.accept("UNBOUNDED") {
            return self.expect_choice(&[("PRECEDING", true), ("FOLLOWING", false)]).map(
                |is_preceding| match is_preceding {
                    true => FrameBound::UnboundedPreceding,
                    false => FrameBound::UnboundedFollowing,
                },
            );
        }
        let count = Box::new(self.expression()?);
        if self.accept("PRECEDING") {
            return Ok(FrameBound::Preceding(count));
        }
        self.expect("FOLLOWING")?;
        Ok(FrameBound::Following(count))
    }

    /// `ORDER BY item , …`
    pub(super) fn order_by(&mut self) -> Parsed<Vec<OrderItem>> {
        self.expect_all(&["ORDER", "BY"])?;
        self.list(Parser::order_item)
    }

    fn order_item(&mut self) -> Parsed<OrderItem> {
        let value = self.expression()?;
        Ok(OrderItem { value, direction: self.direction() })
    }

    /// `[ ASC | DESC ]`
    pub(super) fn direction(&mut self) -> Option<Direction> {
        self.choose(&[("ASC", Direction::Ascending), ("DESC", Direction::Descending)])
    }
}

fn plain(name: ObjectName, arguments: Arguments) -> FunctionCall {
    FunctionCall {
        name,
        arguments,
        within_group: Vec::new(),
        nulls: None,
        over: None,
    }
}

fn call(name: ObjectName, arguments: Arguments) -> ExprKind {
    ExprKind::Function(Box::new(plain(name, arguments)))
}
