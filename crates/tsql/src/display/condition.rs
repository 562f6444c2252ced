//! Conditions.

use std::fmt::{self, Display, Formatter};

use super::name::quoted;
use super::{Joined, comma, flag, optional};
use crate::syntax::{
    Comparison, Condition, ConditionKind, FullText, FullTextColumns, GraphMatch, GraphNode,
    GraphPath, GraphPattern, GraphStep,
};

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)
    }
}

/// A condition in parentheses when it is one of several.
struct Inner<'a>(&'a Condition);

impl Display for Inner<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0.kind {
            ConditionKind::And(_) | ConditionKind::Or(_) => write!(f, "({})", self.0),
            _ => write!(f, "{}", self.0),
        }
    }
}

fn connected(f: &mut Formatter<'_>, parts: &[Condition], separator: &'static str) -> fmt::Result {
    let items: Vec<Inner<'_>> = parts.iter().map(Inner).collect();
    write!(f, "{}", Joined { items: &items, separator })
}

impl Display for ConditionKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let not = |is_negated: bool| flag(is_negated, "NOT ");
        match self {
            ConditionKind::And(parts) => connected(f, parts, " AND "),
            ConditionKind::Or(parts) => connected(f, parts, " OR "),
            ConditionKind::Not(operand) => write!(f, "NOT {}", Inner(operand)),
            ConditionKind::Comparison { left, comparison, right } => {
                write!(f, "{left} {comparison} {right}")
            }
            ConditionKind::Quantified(it) => {
                let word = if it.is_all { "ALL" } else { "ANY" };
                write!(f, "{} {} {word} ({})", it.left, it.comparison, it.query)
            }
            ConditionKind::IsNull { operand, is_negated } => {
                write!(f, "{operand} IS {}NULL", not(*is_negated))
            }
            ConditionKind::IsDistinct { left, right, is_negated } => {
                write!(f, "{left} IS {}DISTINCT FROM {right}", not(*is_negated))
            }
            ConditionKind::Between(it) => {
                let word = not(it.is_negated);
                write!(f, "{} {word}BETWEEN {} AND {}", it.operand, it.low, it.high)
            }
            ConditionKind::InList { operand, values, is_negated } => {
                write!(f, "{operand} {}IN ({})", not(*is_negated), comma(values))
            }
            ConditionKind::InQuery { operand, query, is_negated } => {
                write!(f, "{operand} {}IN ({query})", not(*is_negated))
            }
            ConditionKind::Like(it) => {
                let escape = optional(" ESCAPE ", it.escape.as_ref(), "");
                write!(f, "{} {}LIKE {}{escape}", it.operand, not(it.is_negated), it.pattern)
            }
            ConditionKind::Exists(query) => write!(f, "EXISTS ({query})"),
            ConditionKind::FullText(full_text) => write!(f, "{full_text}"),
            ConditionKind::Update(column) => write!(f, "UPDATE({column})"),
            ConditionKind::Match(graph) => write!(f, "{graph}"),
        }
    }
}

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Comparison::Equal => "=",
            Comparison::NotEqual => "<>",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        })
    }
}

impl Display for FullText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let word = if self.is_freetext { "FREETEXT" } else { "CONTAINS" };
        let language = optional(", LANGUAGE ", self.language.as_ref(), "");
        write!(f, "{word}({}, {}{language})", self.columns, self.search)
    }
}

impl Display for FullTextColumns {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            FullTextColumns::All(None) => f.write_str("*"),
            FullTextColumns::All(Some(table)) => write!(f, "{table}.*"),
            FullTextColumns::Columns(columns) => write!(f, "({})", comma(columns)),
            FullTextColumns::Property { column, property } => {
                write!(f, "PROPERTY({column}, {})", quoted(property))
            }
        }
    }
}

impl Display for GraphMatch {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "MATCH({})", Joined { items: &self.patterns, separator: " AND " })
    }
}

impl Display for GraphPattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            GraphPattern::Path(path) => write!(f, "{path}"),
            GraphPattern::ShortestPath(path) => write!(f, "SHORTEST_PATH({path})"),
            GraphPattern::SameLastNode { left, right } => {
                write!(f, "LAST_NODE({left}) = LAST_NODE({right})")
            }
        }
    }
}

impl Display for GraphPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let begins_with_group =
            matches!(self.steps.first(), Some(GraphStep::Repeated { start: Some(_), .. }));
        if begins_with_group {
            return write!(f, "{}{}", Joined { items: &self.steps, separator: "" }, self.start);
        }
        write!(f, "{}{}", self.start, Joined { items: &self.steps, separator: "" })
    }
}

impl Display for GraphNode {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.is_last_node {
            write!(f, "LAST_NODE({})", self.name)
        } else {
            write!(f, "{}", self.name)
        }
    }
}

impl Display for GraphStep {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            GraphStep::Edge { edge, is_reversed, node } => {
                let before = if *is_reversed { "<-" } else { "-" };
                let after = if *is_reversed { "-" } else { "->" };
                write!(f, "{before}({edge}){after}{}", optional("", node.as_ref(), ""))
            }
            GraphStep::Repeated { start, steps, limits } => {
                let start = optional("", start.as_ref(), "");
                write!(f, "({start}{})", Joined { items: steps, separator: "" })?;
                match limits {
                    None => f.write_str("+"),
                    Some((low, high)) => write!(f, "{{{low},{high}}}"),
                }
            }
        }
    }
}
