//! Expressions as the catalog stores them: the text of computed columns, checks, defaults and
//! filters.
//!
//! ```text
//! a + 1 > b            [a]+(1)>[b]            numbers in parentheses, no blanks around operators
//! CAST(a AS int)       CONVERT([int],[a])     names of functions and types in small letters
//! a BETWEEN 1 AND 5    [a]>=(1) AND [a]<=(5)
//! a IN (1, 2)          [a]=(2) OR [a]=(1)     from the last to the first
//! a IS NOT NULL        [a] IS NOT NULL
//! ```
//!
//! Facts are from texts in public databases and documentation. What has no such form is displayed
//! as canonical T-SQL. Invariant: what is written means the same as what was read.

use std::fmt::Write;

use crate::syntax::{
    Arguments, Between, BinaryOperator, Column, Comparison, Condition, ConditionKind, DataType,
    Expr, ExprKind, FunctionCall, Like, Literal, TypeParameter, UnaryOperator,
};

/// The text of a value in the catalog, with the parentheses around it: `([a]+(1))`.
#[must_use]
pub fn stored_expression(expr: &Expr) -> String {
    let mut writer = Writer::default();
    writer.value(expr);
    format!("({})", writer.text)
}

/// The text of a condition in the catalog, with the parentheses around it: `([a]>(0))`.
#[must_use]
pub fn stored_condition(condition: &Condition) -> String {
    let mut writer = Writer::default();
    writer.condition(condition);
    format!("({})", writer.text)
}

/// How tightly a value holds together, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Sum,
    Product,
    Whole,
}

/// The same of conditions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Or,
    And,
    Not,
}

#[derive(Default)]
struct Writer {
    text: String,
}

impl Writer {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// What has no form of its own.
    fn display(&mut self, what: impl std::fmt::Display) {
        // Writing to a text does not fail.
        let _ = write!(self.text, "{what}");
    }

    fn name(&mut self, name: &str) {
        self.display(format_args!("[{}]", name.replace(']', "]]")));
    }

    fn value(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Literal(literal) => self.literal(literal),
            ExprKind::Column(column) => match &column.column {
                Column::Named(name) => self.name(&name.text),
                Column::Pseudo(word) => self.push(word),
            },
            ExprKind::Unary { operator, operand } => self.unary(*operator, operand),
            ExprKind::Chain { first, rest } => self.chain(expr, first, rest),
            ExprKind::Function(call) => self.call(call),
            ExprKind::Cast { is_try, operand, data_type } => {
                self.conversion(*is_try, data_type, operand, None);
            }
            ExprKind::Convert(convert) => {
                let style = convert.style.as_ref();
                self.conversion(convert.is_try, &convert.data_type, &convert.operand, style);
            }
            ExprKind::Collate { operand, collation } => {
                self.operand(operand, Level::Whole);
                self.display(format_args!(" collate {}", collation.text));
            }
            ExprKind::SimpleCase(_) | ExprKind::SearchedCase(_) | ExprKind::Iif(_) => {
                self.case(&expr.kind);
            }
            other => self.display(other),
        }
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Integer(_) | Literal::Decimal(_) | Literal::Float(_) | Literal::Money(_) => {
                self.display(format_args!("({literal})"));
            }
            other => self.display(other),
        }
    }

    fn unary(&mut self, operator: UnaryOperator, operand: &Expr) {
        let is_number = matches!(
            operand.kind,
            ExprKind::Literal(
                Literal::Integer(_) | Literal::Decimal(_) | Literal::Float(_) | Literal::Money(_)
            )
        );
        if let ExprKind::Literal(literal) = &operand.kind
            && is_number
        {
            self.display(format_args!("({operator}{literal})"));
            return;
        }
        self.display(operator);
        self.operand(operand, Level::Whole);
    }

    fn chain(&mut self, whole: &Expr, first: &Expr, rest: &[crate::syntax::Link]) {
        let level = level_of(whole);
        self.operand(first, level);
        for link in rest {
            self.display(link.operator);
            // Operators of one level go from left to right.
            let right = if level == Level::Sum { Level::Product } else { Level::Whole };
            self.operand(&link.operand, right);
        }
    }

    /// An operand, in parentheses where it would fall apart.
    fn operand(&mut self, expr: &Expr, least: Level) {
        if level_of(expr) < least {
            self.push("(");
            self.value(expr);
            self.push(")");
        } else {
            self.value(expr);
        }
    }

    fn values(&mut self, values: &[Expr]) {
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                self.push(",");
            }
            self.value(value);
        }
    }

    fn call(&mut self, call: &FunctionCall) {
        let is_plain = call.within_group.is_empty() && call.nulls.is_none() && call.over.is_none();
        match &call.arguments {
            _ if !is_plain => self.display(call),
            Arguments::None if call.name.is_simple() => {
                let name = call.name.name.text.to_lowercase();
                let name = if name == "current_timestamp" { "getdate()".to_owned() } else { name };
                self.push(&name);
            }
            Arguments::List(values) => {
                match call.name.is_simple() {
                    true => self.push(&call.name.name.text.to_lowercase()),
                    false => self.display(&call.name),
                }
                self.push("(");
                let part = date_part(call, values);
                self.push(&part.unwrap_or_default());
                let rest = values.get(usize::from(part_is_there(call, values))..);
                let rest = rest.unwrap_or_default();
                if rest.len() < values.len() && !rest.is_empty() {
                    self.push(",");
                }
                self.values(rest);
                self.push(")");
            }
            _ => self.display(call),
        }
    }

    fn conversion(
        &mut self,
        is_try: bool,
        data_type: &DataType,
        operand: &Expr,
        style: Option<&Expr>,
    ) {
        self.push(if is_try { "TRY_CONVERT(" } else { "CONVERT(" });
        self.data_type(data_type);
        self.push(",");
        self.value(operand);
        if let Some(style) = style {
            self.push(",");
            self.value(style);
        }
        self.push(")");
    }

    fn data_type(&mut self, data_type: &DataType) {
        if data_type.xml_schema.is_some() {
            self.display(data_type);
            return;
        }
        if let Some(schema) = data_type.name.schema() {
            self.name(&schema.text);
            self.push(".");
            self.name(&data_type.name.name.text);
        } else {
            self.name(&data_type.name.name.text.to_lowercase());
        }
        let parameters: Vec<String> = data_type.parameters.iter().map(parameter).collect();
        if !parameters.is_empty() {
            self.display(format_args!("({})", parameters.join(",")));
        }
    }

    fn case(&mut self, kind: &ExprKind) {
        self.push("case");
        let otherwise = match kind {
            ExprKind::SimpleCase(case) => {
                self.push(" ");
                self.value(&case.operand);
                for arm in &case.arms {
                    self.push(" when ");
                    self.value(&arm.value);
                    self.push(" then ");
                    self.value(&arm.result);
                }
                case.otherwise.as_ref()
            }
            ExprKind::SearchedCase(case) => {
                for arm in &case.arms {
                    self.arm(&arm.condition, &arm.result);
                }
                case.otherwise.as_ref()
            }
            ExprKind::Iif(iif) => {
                self.arm(&iif.condition, &iif.yes);
                Some(&iif.no)
            }
            _ => None,
        };
        if let Some(otherwise) = otherwise {
            self.push(" else ");
            self.value(otherwise);
        }
        self.push(" end");
    }

    fn arm(&mut self, condition: &Condition, result: &Expr) {
        self.push(" when ");
        self.condition(condition);
        self.push(" then ");
        self.value(result);
    }

    fn condition(&mut self, condition: &Condition) {
        match &condition.kind {
            ConditionKind::And(parts) => self.joined(parts, " AND ", Binding::And),
            ConditionKind::Or(parts) => self.joined(parts, " OR ", Binding::Or),
            ConditionKind::Not(operand) => {
                self.push("NOT ");
                self.bound(operand, Binding::Not);
            }
            ConditionKind::Comparison { left, comparison, right } => {
                self.compared(left, *comparison, right);
            }
            ConditionKind::IsNull { operand, is_negated } => {
                self.value(operand);
                self.push(if *is_negated { " IS NOT NULL" } else { " IS NULL" });
            }
            ConditionKind::Between(between) => self.between(between),
            ConditionKind::InList { operand, values, is_negated } => {
                self.listed(operand, values, *is_negated);
            }
            ConditionKind::Like(like) => self.like(like),
            other => self.display(other),
        }
    }

    fn joined(&mut self, parts: &[Condition], separator: &str, binding: Binding) {
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                self.push(separator);
            }
            self.bound(part, binding);
        }
    }

    /// A condition, in parentheses where it would fall apart.
    fn bound(&mut self, condition: &Condition, least: Binding) {
        if binding_of(condition) < least {
            self.push("(");
            self.condition(condition);
            self.push(")");
        } else {
            self.condition(condition);
        }
    }

    fn compared(&mut self, left: &Expr, comparison: Comparison, right: &Expr) {
        self.value(left);
        self.display(comparison);
        self.value(right);
    }

    fn between(&mut self, between: &Between) {
        let Between { operand, low, high, is_negated } = between;
        let (least, word, most) = match is_negated {
            false => (Comparison::GreaterOrEqual, " AND ", Comparison::LessOrEqual),
            true => (Comparison::Less, " OR ", Comparison::Greater),
        };
        self.compared(operand, least, low);
        self.push(word);
        self.compared(operand, most, high);
    }

    fn listed(&mut self, operand: &Expr, values: &[Expr], is_negated: bool) {
        let (comparison, word) = match is_negated {
            false => (Comparison::Equal, " OR "),
            true => (Comparison::NotEqual, " AND "),
        };
        for (at, value) in values.iter().rev().enumerate() {
            if at > 0 {
                self.push(word);
            }
            self.compared(operand, comparison, value);
        }
    }

    fn like(&mut self, like: &Like) {
        if like.is_negated {
            self.push("NOT ");
        }
        self.value(&like.operand);
        self.push(" like ");
        self.value(&like.pattern);
        if let Some(escape) = &like.escape {
            self.push(" escape ");
            self.value(escape);
        }
    }
}

fn parameter(parameter: &TypeParameter) -> String {
    match parameter {
        TypeParameter::Number(number) => number.to_string(),
        TypeParameter::Max => "max".to_owned(),
    }
}

/// The first argument of a date function, which is a word.
fn date_part(call: &FunctionCall, values: &[Expr]) -> Option<String> {
    let shown = call.to_string();
    if !part_is_there(call, values) {
        return None;
    }
    let (_, arguments) = shown.split_once('(')?;
    let word = arguments.split([',', ')']).next()?;
    Some(word.to_lowercase())
}

/// Does a function have such an argument? It is displayed without brackets.
fn part_is_there(call: &FunctionCall, values: &[Expr]) -> bool {
    let Some(ExprKind::Column(column)) = values.first().map(|value| &value.kind) else {
        return false;
    };
    let Column::Named(name) = &column.column else { return false };
    let start = format!("({}", name.text);
    column.qualifier.is_none() && call.to_string().contains(&start)
}

fn level_of(expr: &Expr) -> Level {
    match &expr.kind {
        ExprKind::Chain { rest, .. } => match rest.first().map(|link| link.operator) {
            Some(BinaryOperator::Multiply | BinaryOperator::Divide | BinaryOperator::Modulo) => {
                Level::Product
            }
            _ => Level::Sum,
        },
        // A sign is on the level of sums.
        ExprKind::Unary { operand, .. } => match operand.kind {
            ExprKind::Literal(_) => Level::Whole,
            _ => Level::Sum,
        },
        _ => Level::Whole,
    }
}

fn binding_of(condition: &Condition) -> Binding {
    match &condition.kind {
        ConditionKind::Or(_) => Binding::Or,
        ConditionKind::And(_) => Binding::And,
        ConditionKind::Between(between) if between.is_negated => Binding::Or,
        ConditionKind::Between(_) => Binding::And,
        ConditionKind::InList { values, is_negated, .. } if values.len() > 1 => {
            if *is_negated {
                Binding::And
            } else {
                Binding::Or
            }
        }
        _ => Binding::Not,
    }
}

#[cfg(test)]
mod tests {
    use crate::{Options, parse_condition, parse_expression};

    use super::{stored_condition, stored_expression};

    #[test]
    fn values_are_stored_as_in_catalogs() {
        let cases = [
            ("0", "((0))"),
            ("-1", "((-1))"),
            ("'new'", "('new')"),
            ("N'new'", "(N'new')"),
            ("NULL", "(NULL)"),
            ("0x00FF", "(0x00FF)"),
            ("(1)", "((1))"),
            ("GETDATE()", "(getdate())"),
            ("CURRENT_TIMESTAMP", "(getdate())"),
            ("a + 1", "([a]+(1))"),
            ("(a + b) * 2", "(([a]+[b])*(2))"),
            ("a * 2 + b", "([a]*(2)+[b])"),
            ("a - (b - c)", "([a]-([b]-[c]))"),
            ("-a", "(-[a])"),
            ("t.[a b]", "([a b])"),
            ("CAST(a AS VARCHAR(10))", "(CONVERT([varchar](10),[a]))"),
            ("CONVERT(nvarchar(max), d, 121)", "(CONVERT([nvarchar](max),[d],(121)))"),
            ("DATEADD(Day, 1, GetDate())", "(dateadd(day,(1),getdate()))"),
            ("DATEPART(year, d)", "(datepart(year,[d]))"),
            ("LEN(name)", "(len([name]))"),
            ("dbo.f(a, 1)", "([dbo].[f]([a],(1)))"),
            ("CASE WHEN a > 1 THEN 'x' ELSE 'y' END", "(case when [a]>(1) then 'x' else 'y' end)"),
            ("CASE a WHEN 1 THEN 2 END", "(case [a] when (1) then (2) end)"),
            ("a COLLATE Latin1_General_BIN", "([a] collate Latin1_General_BIN)"),
        ];
        for (text, stored) in cases {
            let expr = parse_expression(text, Options::default()).unwrap();
            assert_eq!(stored_expression(&expr), stored, "{text}");
        }
    }

    #[test]
    fn conditions_are_stored_as_in_catalogs() {
        let cases = [
            ("a > 0", "([a]>(0))"),
            ("a !< 0 AND b <> 'x'", "([a]>=(0) AND [b]<>'x')"),
            ("a = 1 OR a = 2", "([a]=(1) OR [a]=(2))"),
            ("(a = 1 OR a = 2) AND b = 3", "(([a]=(1) OR [a]=(2)) AND [b]=(3))"),
            ("a BETWEEN 1 AND 5", "([a]>=(1) AND [a]<=(5))"),
            ("a NOT BETWEEN 1 AND 5", "([a]<(1) OR [a]>(5))"),
            ("a IN ('x', 'y', 'z')", "([a]='z' OR [a]='y' OR [a]='x')"),
            ("a NOT IN (1, 2)", "([a]<>(2) AND [a]<>(1))"),
            ("b = 1 AND a IN (1, 2)", "([b]=(1) AND ([a]=(2) OR [a]=(1)))"),
            ("a LIKE '[0-9]%'", "([a] like '[0-9]%')"),
            ("a NOT LIKE 'x'", "(NOT [a] like 'x')"),
            ("a IS NOT NULL", "([a] IS NOT NULL)"),
            ("NOT (a = 1 AND b = 2)", "(NOT ([a]=(1) AND [b]=(2)))"),
        ];
        for (text, stored) in cases {
            let condition = parse_condition(text, Options::default()).unwrap();
            assert_eq!(stored_condition(&condition), stored, "{text}");
        }
    }

    #[test]
    fn a_stored_text_is_stored_as_itself() {
        let cases = [
            "([a]+(1))",
            "([a]-([b]-[c]))",
            "(CONVERT([int],[a]))",
            "(case when [a]>(1) then 'x' end)",
        ];
        for text in cases {
            let expr = parse_expression(text, Options::default()).unwrap();
            assert_eq!(stored_expression(&expr), text);
        }
    }
}
