//! Hints.

use std::fmt::{self, Display, Formatter};

use super::name::quoted;
use super::{comma, flag, list};
use crate::syntax::{
    IndexReference, OptimizeFor, QueryHint, QueryHintKind, SignedLiteral, TableHint, TableHintKind,
};

impl Display for TableHint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            TableHintKind::Index(indexes) => write!(f, "INDEX ({})", comma(indexes)),
            TableHintKind::ForceSeek(None) => f.write_str("FORCESEEK"),
            TableHintKind::ForceSeek(Some(seek)) => {
                write!(f, "FORCESEEK ({} ({}))", seek.index, comma(&seek.columns))
            }
            TableHintKind::SpatialWindowMaxCells(cells) => {
                write!(f, "SPATIAL_WINDOW_MAX_CELLS = {cells}")
            }
            TableHintKind::Word(word) => f.write_str(word),
        }
    }
}

impl Display for IndexReference {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            IndexReference::Name(name) => write!(f, "{name}"),
            IndexReference::Number(number) => write!(f, "{number}"),
        }
    }
}

impl Display for QueryHint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            QueryHintKind::Words(words) => f.write_str(words),
            QueryHintKind::Number { name, value } => {
                let equal = flag(name.ends_with("_PERCENT"), " =");
                write!(f, "{name}{equal} {value}")
            }
            QueryHintKind::Text { name: "LABEL", value } => write!(f, "LABEL = {}", quoted(value)),
            QueryHintKind::Text { name, value } => write!(f, "{name} N{}", quoted(value)),
            QueryHintKind::OptimizeFor(items) => write!(f, "OPTIMIZE FOR ({})", comma(items)),
            QueryHintKind::UseHint(hints) => {
                let hints: Vec<String> = hints.iter().map(|hint| quoted(hint)).collect();
                write!(f, "USE HINT ({})", comma(&hints))
            }
            QueryHintKind::Table { name, hints } => {
                write!(f, "TABLE HINT ({name}{})", list(", ", hints, ""))
            }
            QueryHintKind::ForTimestamp(time) => {
                write!(f, "FOR TIMESTAMP AS OF {}", quoted(time))
            }
        }
    }
}

impl Display for OptimizeFor {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.value {
            None => write!(f, "{} UNKNOWN", self.variable),
            Some(value) => write!(f, "{} = {value}", self.variable),
        }
    }
}

impl Display for SignedLiteral {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", flag(self.is_negative, "-"), self.value)
    }
}
