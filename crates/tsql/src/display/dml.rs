//! Statements that change rows, which may be table sources, and what they use.

use std::fmt::{self, Display, Formatter};

use super::name::names;
use super::table_source::rows;
use super::{comma, flag, list, optional};
use crate::syntax::{
    Argument, Delete, Dml, DmlFilter, Execute, Executed, Insert, InsertSource, Matching, Merge,
    MergeAction, MergeClause, Output, OutputInto, ProcedureName, ResultColumn, ResultSet,
    ResultSets, SelectStatement, SetItem, Target, TargetKind, Update,
};

impl Display for SelectStatement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.query, list(" OPTION (", &self.option, ")"))
    }
}

impl Display for Dml {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Dml::Insert(insert) => write!(f, "{insert}"),
            Dml::Update(update) => write!(f, "{update}"),
            Dml::Delete(delete) => write!(f, "{delete}"),
            Dml::Merge(merge) => write!(f, "{merge}"),
        }
    }
}

impl Display for Insert {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}INSERT ", optional("", self.with.as_ref(), " "))?;
        write!(f, "{}INTO {}", optional("", self.top.as_ref(), " "), self.target)?;
        write!(f, "{}", list(" (", &self.columns, ")"))?;
        self.outputs.iter().try_for_each(|output| write!(f, " {output}"))?;
        write!(f, " {}{}", self.source, list(" OPTION (", &self.option, ")"))
    }
}

impl Display for InsertSource {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            InsertSource::DefaultValues => f.write_str("DEFAULT VALUES"),
            InsertSource::Values(values) => write!(f, "VALUES {}", rows(values)),
            InsertSource::Query(query) => write!(f, "{query}"),
            InsertSource::Execute(execute) => write!(f, "{execute}"),
        }
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind, list(" WITH (", &self.hints, ")"))
    }
}

impl Display for TargetKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TargetKind::Object(object) => write!(f, "{object}"),
            TargetKind::Variable(variable) => write!(f, "{variable}"),
            TargetKind::Rowset(source) => write!(f, "{source}"),
        }
    }
}

impl Display for Output {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "OUTPUT {}{}", comma(&self.items), optional(" INTO ", self.into.as_ref(), ""))
    }
}

impl Display for OutputInto {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.target, names(&self.columns))
    }
}

impl Display for Update {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}UPDATE ", optional("", self.with.as_ref(), " "))?;
        write!(f, "{}{} SET ", optional("", self.top.as_ref(), " "), self.target)?;
        write!(f, "{}", comma(&self.sets))?;
        self.outputs.iter().try_for_each(|output| write!(f, " {output}"))?;
        write!(f, "{}", list(" FROM ", &self.from, ""))?;
        write!(f, "{}", optional(" WHERE ", self.filter.as_ref(), ""))?;
        write!(f, "{}", list(" OPTION (", &self.option, ")"))
    }
}

impl Display for SetItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            SetItem::Column { variable, column, operator, value } => {
                write!(f, "{}", optional("", variable.as_ref(), " = "))?;
                write!(f, "{column} {operator} {value}")
            }
            SetItem::Variable(assignment) => write!(f, "{assignment}"),
            SetItem::Method { column, method, arguments } => {
                write!(f, "{column}.{}({})", method, comma(arguments))
            }
        }
    }
}

impl Display for DmlFilter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            DmlFilter::Condition(condition) => write!(f, "{condition}"),
            DmlFilter::CurrentOf(cursor) => write!(f, "CURRENT OF {cursor}"),
        }
    }
}

impl Display for Delete {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}DELETE ", optional("", self.with.as_ref(), " "))?;
        write!(f, "{}FROM {}", optional("", self.top.as_ref(), " "), self.target)?;
        self.outputs.iter().try_for_each(|output| write!(f, " {output}"))?;
        write!(f, "{}", list(" FROM ", &self.from, ""))?;
        write!(f, "{}", optional(" WHERE ", self.filter.as_ref(), ""))?;
        write!(f, "{}", list(" OPTION (", &self.option, ")"))
    }
}

impl Display for Merge {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}MERGE ", optional("", self.with.as_ref(), " "))?;
        write!(f, "{}INTO {}", optional("", self.top.as_ref(), " "), self.target)?;
        write!(f, "{} USING {}", optional(" AS ", self.alias.as_ref(), ""), self.source)?;
        write!(f, " ON {}", self.on)?;
        self.clauses.iter().try_for_each(|clause| write!(f, " {clause}"))?;
        self.outputs.iter().try_for_each(|output| write!(f, " {output}"))?;
        write!(f, "{}", list(" OPTION (", &self.option, ")"))
    }
}

impl Display for MergeClause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let matching = match self.matching {
            Matching::Matched => "MATCHED",
            Matching::NotMatchedByTarget => "NOT MATCHED",
            Matching::NotMatchedBySource => "NOT MATCHED BY SOURCE",
        };
        let condition = optional(" AND ", self.condition.as_ref(), "");
        write!(f, "WHEN {matching}{condition} THEN {}", self.action)
    }
}

impl Display for MergeAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            MergeAction::Update(sets) => write!(f, "UPDATE SET {}", comma(sets)),
            MergeAction::Delete => f.write_str("DELETE"),
            MergeAction::Insert { columns, values } => {
                write!(f, "INSERT{}", names(columns))?;
                match values {
                    None => f.write_str(" DEFAULT VALUES"),
                    Some(values) => write!(f, " VALUES ({})", comma(values)),
                }
            }
        }
    }
}

impl Display for Execute {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "EXEC {}", optional("", self.status.as_ref(), " = "))?;
        match &self.what {
            Executed::Procedure { name, number } => {
                write!(f, "{name}{}", optional(";", number.as_ref(), ""))?;
                write!(f, "{}", list(" ", &self.arguments, ""))?;
            }
            Executed::Text { text, principal, at } => {
                write!(f, "({text}{})", list(", ", &self.arguments, ""))?;
                if let Some(principal) = principal {
                    let word = if principal.is_login { "LOGIN" } else { "USER" };
                    write!(f, " AS {word} = {}", principal.name)?;
                }
                if let Some(at) = at {
                    write!(f, " AT {}{}", flag(at.is_data_source, "DATA_SOURCE "), at.name)?;
                }
            }
        }
        let has_both = self.is_recompile && self.result_sets.is_some();
        f.write_str(flag(self.is_recompile, " WITH RECOMPILE"))?;
        let before = if has_both { ", RESULT SETS " } else { " WITH RESULT SETS " };
        write!(f, "{}", optional(before, self.result_sets.as_ref(), ""))
    }
}

impl Display for ProcedureName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ProcedureName::Object(object) => write!(f, "{object}"),
            ProcedureName::Variable(variable) => write!(f, "{variable}"),
        }
    }
}

impl Display for Argument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let output = flag(self.is_output, " OUTPUT");
        write!(f, "{}{}{output}", optional("", self.name.as_ref(), " = "), self.value)
    }
}

impl Display for ResultSets {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ResultSets::Undefined => f.write_str("UNDEFINED"),
            ResultSets::None => f.write_str("NONE"),
            ResultSets::Sets(sets) => write!(f, "({})", comma(sets)),
        }
    }
}

impl Display for ResultSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ResultSet::Columns(columns) => write!(f, "({})", comma(columns)),
            ResultSet::AsObject(object) => write!(f, "AS OBJECT {object}"),
            ResultSet::AsType(name) => write!(f, "AS TYPE {name}"),
            ResultSet::AsForXml => f.write_str("AS FOR XML"),
        }
    }
}

impl Display for ResultColumn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let collation = optional(" COLLATE ", self.collation.as_ref(), "");
        let nullability = match self.is_nullable {
            None => "",
            Some(true) => " NULL",
            Some(false) => " NOT NULL",
        };
        write!(f, "{} {}{collation}{nullability}", self.name, self.data_type)
    }
}
