//! Expressions.

use std::fmt::{self, Display, Formatter};

use super::name::parenthesised;
use super::{blank, comma, flag, list, optional};
use crate::is_reserved;
use crate::lexer::{begins_word, continues_word};
use crate::syntax::{
    Arguments, AssignOperator, Assignment, BinaryOperator, Column, Direction, Expr, ExprKind,
    Frame, FrameBound, FunctionCall, JsonMember, JsonNulls, Link, NullTreatment, ObjectName,
    OrderItem, Over, SearchedArm, SimpleArm, TrimSide, UnaryOperator, Window,
};

/// Functions whose first argument is a part of a date.
const DATE_FUNCTIONS: [&str; 7] =
    ["DATEPART", "DATENAME", "DATEADD", "DATEDIFF", "DATEDIFF_BIG", "DATETRUNC", "DATE_BUCKET"];

/// Words with a grammar of their own before a parenthesis: functions of these names are in
/// brackets.
const SPECIAL: [&str; 5] = ["IIF", "CAST", "PARSE", "TRY_CAST", "TRY_PARSE"];

/// Reserved words that are names of functions.
const RESERVED_FUNCTIONS: [&str; 12] = [
    "COALESCE",
    "NULLIF",
    "LEFT",
    "RIGHT",
    "USER",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "SESSION_USER",
    "SYSTEM_USER",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CONVERT",
];

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)
    }
}

/// An operand in parentheses unless it is a value without operators.
struct Operand<'a>(&'a Expr);

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0.kind {
            ExprKind::Chain { .. } | ExprKind::Unary { .. } => write!(f, "({})", self.0),
            _ => write!(f, "{}", self.0),
        }
    }
}

/// A value before a point: in parentheses unless a point may follow it.
struct Whole<'a>(&'a Expr);

impl Display for Whole<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let is_whole = matches!(
            self.0.kind,
            ExprKind::Variable(_)
                | ExprKind::Function(_)
                | ExprKind::Subquery(_)
                | ExprKind::Method(_)
                | ExprKind::StaticMember(_)
        );
        if is_whole { write!(f, "{}", self.0) } else { write!(f, "({})", self.0) }
    }
}

impl Display for ExprKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ExprKind::Literal(literal) => write!(f, "{literal}"),
            ExprKind::Column(column) => write!(f, "{column}"),
            ExprKind::Variable(name) | ExprKind::GlobalVariable(name) => f.write_str(name),
            ExprKind::Default => f.write_str("DEFAULT"),
            ExprKind::Unary { operator, operand } => {
                write!(f, "{operator}{}", Operand(operand))
            }
            ExprKind::Chain { first, rest } => {
                write!(f, "{}{}", Operand(first), blank_before(rest))
            }
            ExprKind::Function(call) => write!(f, "{call}"),
            ExprKind::OdbcFunction(call) => write!(f, "{{fn {}}}", OdbcCall(call)),
            ExprKind::Collate { operand, collation } => {
                write!(f, "{} COLLATE {collation}", Operand(operand))
            }
            ExprKind::AtTimeZone { operand, zone } => {
                write!(f, "{} AT TIME ZONE {}", Operand(operand), Zone(zone))
            }
            ExprKind::Subquery(query) => write!(f, "({query})"),
            _ => self.fmt_special(f),
        }
    }
}

/// A function of an ODBC escape: EXTRACT has FROM between its arguments.
struct OdbcCall<'a>(&'a Expr);

impl Display for OdbcCall<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let ExprKind::Function(call) = &self.0.kind
            && call.name.name.text.eq_ignore_ascii_case("EXTRACT")
            && let Arguments::List(values) = &call.arguments
            && let [part, value] = values.as_slice()
        {
            return write!(f, "EXTRACT({part} FROM {value})");
        }
        write!(f, "{}", self.0)
    }
}

/// A time zone: in parentheses unless it is whole without postfix operators.
struct Zone<'a>(&'a Expr);

impl Display for Zone<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0.kind {
            ExprKind::Literal(_) | ExprKind::Variable(_) | ExprKind::Subquery(_) => {
                write!(f, "{}", self.0)
            }
            _ => write!(f, "({})", self.0),
        }
    }
}

/// Links with a blank before each.
fn blank_before(links: &[Link]) -> String {
    links.iter().map(|link| format!(" {} {}", link.operator, Operand(&link.operand))).collect()
}

impl ExprKind {
    /// CASE, conversions and members.
    fn fmt_special(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ExprKind::SimpleCase(case) => {
                write!(f, "CASE {} {}", case.operand, blank(&case.arms))?;
                write!(f, "{} END", optional(" ELSE ", case.otherwise.as_ref(), ""))
            }
            ExprKind::SearchedCase(case) => {
                write!(f, "CASE {}", blank(&case.arms))?;
                write!(f, "{} END", optional(" ELSE ", case.otherwise.as_ref(), ""))
            }
            ExprKind::Iif(iif) => write!(f, "IIF({}, {}, {})", iif.condition, iif.yes, iif.no),
            ExprKind::Cast { is_try, operand, data_type } => {
                write!(f, "{}CAST({operand} AS {data_type})", flag(*is_try, "TRY_"))
            }
            ExprKind::Convert(convert) => {
                let style = optional(", ", convert.style.as_ref(), "");
                let word = flag(convert.is_try, "TRY_");
                write!(f, "{word}CONVERT({}, {}{style})", convert.data_type, convert.operand)
            }
            ExprKind::Parse(parse) => {
                let culture = optional(" USING ", parse.culture.as_ref(), "");
                let word = flag(parse.is_try, "TRY_");
                write!(f, "{word}PARSE({} AS {}{culture})", parse.operand, parse.data_type)
            }
            ExprKind::Method(method) => {
                write!(f, "{}.{}", Whole(&method.operand), method.name)?;
                method.arguments.as_ref().map_or(Ok(()), |it| f.write_str(&parenthesised(it)))
            }
            ExprKind::StaticMember(member) => {
                write!(f, "{}::{}", member.data_type, member.name)?;
                member.arguments.as_ref().map_or(Ok(()), |it| f.write_str(&parenthesised(it)))
            }
            ExprKind::NextValue(next) => {
                let over = optional(" OVER (", next.over.as_ref(), ")");
                write!(f, "NEXT VALUE FOR {}{over}", next.sequence)
            }
            ExprKind::Identity(identity) => {
                write!(f, "IDENTITY({}", identity.data_type)?;
                write!(f, "{}", optional(", ", identity.seed.as_ref(), ""))?;
                write!(f, "{})", optional(", ", identity.increment.as_ref(), ""))
            }
            _ => Ok(()),
        }
    }
}

impl Display for SimpleArm {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "WHEN {} THEN {}", self.value, self.result)
    }
}

impl Display for SearchedArm {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "WHEN {} THEN {}", self.condition, self.result)
    }
}

impl Display for UnaryOperator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UnaryOperator::Plus => "+",
            UnaryOperator::Minus => "-",
            UnaryOperator::BitNot => "~",
        })
    }
}

impl Display for BinaryOperator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BinaryOperator::Multiply => "*",
            BinaryOperator::Divide => "/",
            BinaryOperator::Modulo => "%",
            BinaryOperator::Add => "+",
            BinaryOperator::Subtract => "-",
            BinaryOperator::BitAnd => "&",
            BinaryOperator::BitOr => "|",
            BinaryOperator::BitXor => "^",
            BinaryOperator::ShiftLeft => "<<",
            BinaryOperator::ShiftRight => ">>",
        })
    }
}

impl Display for AssignOperator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            AssignOperator::Set => f.write_str("="),
            AssignOperator::Compound(operator) => write!(f, "{operator}="),
        }
    }
}

impl Display for Assignment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.variable, self.operator, self.value)
    }
}

/// The name of a function: bare where it can be.
struct FunctionName<'a>(&'a ObjectName);

impl Display for FunctionName<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = &*self.0.name.text;
        let is = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
        let is_regular = is_bare(text) || is(&RESERVED_FUNCTIONS);
        if self.0.is_simple() && is_regular && !is(&SPECIAL) {
            f.write_str(text)
        } else {
            write!(f, "{}", self.0)
        }
    }
}

/// True for a name that needs no brackets.
fn is_bare(text: &str) -> bool {
    text.starts_with(begins_word) && text.chars().all(continues_word) && !is_reserved(text)
}

impl Display for FunctionCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Arguments::Partition(arguments) = &self.arguments {
            write!(f, "{}", optional("", self.name.database(), "."))?;
            return write!(f, "$PARTITION.{}({})", self.name.name, comma(arguments));
        }
        write!(f, "{}", FunctionName(&self.name))?;
        self.fmt_arguments(f)?;
        write!(f, "{}", list(" WITHIN GROUP (ORDER BY ", &self.within_group, ")"))?;
        f.write_str(match self.nulls {
            None => "",
            Some(NullTreatment::Ignore) => " IGNORE NULLS",
            Some(NullTreatment::Respect) => " RESPECT NULLS",
        })?;
        write!(f, "{}", optional(" OVER ", self.over.as_ref(), ""))
    }
}

impl FunctionCall {
    fn fmt_arguments(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.arguments {
            Arguments::None => Ok(()),
            Arguments::Star => f.write_str("(*)"),
            Arguments::List(values) => {
                let part = self.date_part(values);
                let rest = values.get(usize::from(part.is_some())..).unwrap_or_default();
                write!(f, "({}", part.unwrap_or_default())?;
                write!(f, "{}{})", flag(part.is_some() && !rest.is_empty(), ", "), comma(rest))
            }
            Arguments::Distinct(values) => write!(f, "(DISTINCT {})", comma(values)),
            Arguments::Trim { side, characters, operand } => {
                let side = match side {
                    None => "",
                    Some(TrimSide::Leading) => "LEADING ",
                    Some(TrimSide::Trailing) => "TRAILING ",
                    Some(TrimSide::Both) => "BOTH ",
                };
                write!(f, "({side}{}", optional("", characters.as_deref(), " "))?;
                write!(f, "FROM {operand})")
            }
            Arguments::JsonObject { members, nulls } => {
                write!(f, "({}{})", comma(members), optional(" ", nulls.as_ref(), ""))
            }
            Arguments::JsonArray { values, nulls } => write!(f, "({} {nulls})", comma(values)),
            Arguments::Partition(_) => Ok(()),
        }
    }

    /// The bare word that is the first argument of a date function.
    fn date_part<'a>(&self, values: &'a [Expr]) -> Option<&'a str> {
        let name = &self.name.name.text;
        let is_date = DATE_FUNCTIONS.iter().any(|known| known.eq_ignore_ascii_case(name));
        match values.first().map(|value| &value.kind) {
            Some(ExprKind::Column(column)) if is_date && column.qualifier.is_none() => {
                match &column.column {
                    Column::Named(name) if is_bare(&name.text) => Some(&name.text),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

impl Display for JsonMember {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.key, self.value)
    }
}

impl Display for JsonNulls {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JsonNulls::NullOnNull => "NULL ON NULL",
            JsonNulls::AbsentOnNull => "ABSENT ON NULL",
        })
    }
}

impl Display for OrderItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.value, optional(" ", self.direction.as_ref(), ""))
    }
}

impl Display for Direction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Ascending => "ASC",
            Direction::Descending => "DESC",
        })
    }
}

impl Display for Over {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Over::Named(name) => write!(f, "{name}"),
            Over::Window(window) => write!(f, "({window})"),
        }
    }
}

impl Display for Window {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", optional("", self.base.as_ref(), " "))?;
        write!(f, "{}", list("PARTITION BY ", &self.partition_by, " "))?;
        write!(f, "{}", list("ORDER BY ", &self.order_by, " "))?;
        write!(f, "{}", optional("", self.frame.as_ref(), ""))
    }
}

impl Display for Frame {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_range { "RANGE " } else { "ROWS " })?;
        match &self.end {
            None => write!(f, "{}", self.start),
            Some(end) => write!(f, "BETWEEN {} AND {end}", self.start),
        }
    }
}

impl Display for FrameBound {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            FrameBound::UnboundedPreceding => f.write_str("UNBOUNDED PRECEDING"),
            FrameBound::Preceding(count) => write!(f, "{count} PRECEDING"),
            FrameBound::CurrentRow => f.write_str("CURRENT ROW"),
            FrameBound::Following(count) => write!(f, "{count} FOLLOWING"),
            FrameBound::UnboundedFollowing => f.write_str("UNBOUNDED FOLLOWING"),
        }
    }
}
