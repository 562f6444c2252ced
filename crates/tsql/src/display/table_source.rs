//! Table sources.

use std::fmt::{self, Display, Formatter};

use super::name::{names, parenthesised};
use super::{Joined, comma, flag, list, optional};
use crate::syntax::{
    BulkOption, BulkOrder, ChangeTable, Expr, FullTextTable, Join, JoinHint, JoinKind, OpenRowset,
    OpenXml, OpenXmlSchema, Pivot, Predict, RowsetColumn, RowsetTarget, SystemTime, TableAlias,
    TableFunction, TableReference, TableSample, TableSource, TableSourceKind, Unpivot,
};

impl Display for TableSource {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let alias = optional(" AS ", self.alias.as_ref(), "");
        match &self.kind {
            TableSourceKind::Table(reference) => {
                write!(f, "{}{alias}{}", Head(reference), Tail(reference))
            }
            TableSourceKind::Variable { name, hints } => {
                write!(f, "{name}{alias}{}", list(" WITH (", hints, ")"))
            }
            kind => write!(f, "{kind}{alias}"),
        }
    }
}

impl Display for TableAlias {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, names(&self.columns))
    }
}

/// A table up to its alias.
struct Head<'a>(&'a TableReference);

impl Display for Head<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let time = optional(" FOR SYSTEM_TIME ", self.0.system_time.as_ref(), "");
        write!(f, "{}{time}{}", self.0.name, flag(self.0.is_for_path, " FOR PATH"))
    }
}

/// A table after its alias.
struct Tail<'a>(&'a TableReference);

impl Display for Tail<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let hints = list(" WITH (", &self.0.hints, ")");
        write!(f, "{}{hints}", optional(" ", self.0.sample.as_ref(), ""))
    }
}

impl Display for SystemTime {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            SystemTime::AsOf(time) => write!(f, "AS OF {time}"),
            SystemTime::FromTo { from, to } => write!(f, "FROM {from} TO {to}"),
            SystemTime::Between { from, to } => write!(f, "BETWEEN {from} AND {to}"),
            SystemTime::ContainedIn { from, to } => write!(f, "CONTAINED IN ({from}, {to})"),
            SystemTime::All => f.write_str("ALL"),
        }
    }
}

impl Display for TableSample {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let unit = if self.is_rows { "ROWS" } else { "PERCENT" };
        let seed = optional(" REPEATABLE (", self.seed.as_ref(), ")");
        write!(f, "TABLESAMPLE ({} {unit}){seed}", self.count)
    }
}

/// A row of VALUES.
struct Row<'a>(&'a [Expr]);

impl Display for Row<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "({})", comma(self.0))
    }
}

/// `( value , … ) , …`
pub(super) fn rows(rows: &[Vec<Expr>]) -> String {
    let rows: Vec<Row<'_>> = rows.iter().map(|row| Row(row)).collect();
    comma(&rows).to_string()
}

impl Display for TableSourceKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TableSourceKind::Table(reference) => {
                write!(f, "{}{}", Head(reference), Tail(reference))
            }
            TableSourceKind::Variable { name, .. } => write!(f, "{name}"),
            TableSourceKind::Function(function) => write!(f, "{function}"),
            TableSourceKind::Method(method) => {
                let method = crate::syntax::ExprKind::Method(method.clone());
                write!(f, "{method}")
            }
            TableSourceKind::Derived(query) => write!(f, "({query})"),
            TableSourceKind::Values(values) => write!(f, "(VALUES {})", rows(values)),
            TableSourceKind::Dml(dml) => write!(f, "({dml})"),
            TableSourceKind::Pivot(pivot) => write!(f, "{pivot}"),
            TableSourceKind::Unpivot(unpivot) => write!(f, "{unpivot}"),
            TableSourceKind::Joined { first, joins } => {
                write!(f, "{}{}", Side(first), Joined { items: joins, separator: "" })
            }
            _ => self.fmt_rowset(f),
        }
    }
}

/// A side of a join: joins are in parentheses.
struct Side<'a>(&'a TableSource);

impl Display for Side<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0.kind {
            TableSourceKind::Joined { .. } => write!(f, "({})", self.0),
            _ => write!(f, "{}", self.0),
        }
    }
}

impl TableSourceKind {
    fn fmt_rowset(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TableSourceKind::OpenXml(open) => write!(f, "{open}"),
            TableSourceKind::OpenQuery { server, query } => {
                write!(f, "OPENQUERY({server}, {query})")
            }
            TableSourceKind::OpenRowset(open) => write!(f, "{open}"),
            TableSourceKind::OpenDatasource { provider, connection, object } => {
                write!(f, "OPENDATASOURCE({provider}, {connection}).{object}")
            }
            TableSourceKind::ChangeTable(table) => write!(f, "{table}"),
            TableSourceKind::FullText(table) => write!(f, "{table}"),
            TableSourceKind::Predict(predict) => write!(f, "{predict}"),
            _ => Ok(()),
        }
    }
}

impl Display for Join {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let hint = match self.hint {
            None => "",
            Some(JoinHint::Loop) => " LOOP",
            Some(JoinHint::Hash) => " HASH",
            Some(JoinHint::Merge) => " MERGE",
            Some(JoinHint::Remote) => " REMOTE",
        };
        let kind = match self.kind {
            JoinKind::Inner => "INNER",
            JoinKind::Left => "LEFT",
            JoinKind::Right => "RIGHT",
            JoinKind::Full => "FULL",
            JoinKind::Cross => "CROSS",
            JoinKind::CrossApply => "CROSS APPLY",
            JoinKind::OuterApply => "OUTER APPLY",
        };
        let is_apply = matches!(self.kind, JoinKind::CrossApply | JoinKind::OuterApply);
        let join = flag(!is_apply, " JOIN");
        write!(f, " {kind}{hint}{join} {}", Side(&self.right))?;
        write!(f, "{}", optional(" ON ", self.on.as_ref(), ""))
    }
}

impl Display for Pivot {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let aggregate = &self.aggregate;
        write!(f, "{} PIVOT ({aggregate} FOR {} IN ", Side(&self.source), self.column)?;
        write!(f, "{})", parenthesised(&self.values))
    }
}

impl Display for Unpivot {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} UNPIVOT ({} FOR {} IN ", Side(&self.source), self.value, self.column)?;
        write!(f, "{})", parenthesised(&self.columns))
    }
}

impl Display for TableFunction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let hints = list(" WITH (", &self.hints, ")");
        write!(f, "{}{}{hints}", self.call, list(" WITH (", &self.columns, ")"))
    }
}

impl Display for RowsetColumn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let collation = optional(" COLLATE ", self.collation.as_ref(), "");
        let path = optional(" ", self.path.as_ref(), "");
        let json = flag(self.is_json, " AS JSON");
        write!(f, "{} {}{collation}{path}{json}", self.name, self.data_type)
    }
}

impl Display for OpenXml {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "OPENXML({})", comma(&self.arguments))?;
        match &self.schema {
            OpenXmlSchema::None => Ok(()),
            OpenXmlSchema::Columns(columns) => write!(f, " WITH ({})", comma(columns)),
            OpenXmlSchema::Table(table) => write!(f, " WITH ({table})"),
        }
    }
}

impl Display for OpenRowset {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            OpenRowset::Provider { provider, connection, target } => {
                let connection = Joined { items: connection, separator: ";" };
                write!(f, "OPENROWSET({provider}, {connection}, {target})")
            }
            OpenRowset::Bulk { files, options, columns } => {
                write!(f, "OPENROWSET(BULK {}", parenthesised(files))?;
                write!(f, "{}){}", list(", ", options, ""), list(" WITH (", columns, ")"))
            }
            OpenRowset::Internal { name, arguments } => {
                write!(f, "OPENROWSET(TABLE {name}{})", list(", ", arguments, ""))
            }
        }
    }
}

impl Display for RowsetTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            RowsetTarget::Object(object) => write!(f, "{object}"),
            RowsetTarget::Query(query) => write!(f, "{query}"),
        }
    }
}

impl Display for BulkOption {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, optional(" = ", self.value.as_ref(), ""))?;
        write!(f, "{}{}", list(" (", &self.order, ")"), flag(self.is_unique, " UNIQUE"))
    }
}

impl Display for BulkOrder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.column, flag(self.is_descending, " DESC"))
    }
}

impl Display for ChangeTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ChangeTable::Changes { table, version, option } => {
                let option = optional(", ", option.as_ref(), "");
                write!(f, "CHANGETABLE(CHANGES {table}, {version}{option})")
            }
            ChangeTable::Version { table, columns, values, option } => {
                let option = optional(", ", option.as_ref(), "");
                write!(f, "CHANGETABLE(VERSION {table}, ({}), ", comma(columns))?;
                write!(f, "({}){option})", comma(values))
            }
        }
    }
}

impl Display for FullTextTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}, ", self.function.text, self.table)?;
        if self.columns.is_empty() {
            f.write_str("*")?;
        } else {
            write!(f, "{}", list("(", &self.columns, ")"))?;
        }
        write!(f, "{}", list(", ", &self.arguments, ""))?;
        write!(f, "{}", optional(", LANGUAGE ", self.language.as_ref(), ""))?;
        write!(f, "{})", optional(", ", self.top.as_ref(), ""))
    }
}

impl Display for Predict {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let runtime = optional(", RUNTIME = ", self.runtime.as_ref(), "");
        write!(f, "PREDICT(MODEL = {}, DATA = {}{runtime})", self.model, self.data)?;
        write!(f, " WITH {}", parenthesised(&self.columns))
    }
}
