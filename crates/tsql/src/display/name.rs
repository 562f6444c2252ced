//! Names, literals and types.

use std::fmt::{self, Display, Formatter, Write};

use super::{comma, list};
use crate::syntax::{
    ColumnName, CursorName, DataType, Literal, Name, NameOrVariable, ObjectName, OdbcKind,
    StringLiteral, TypeParameter, VariableName,
};

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.text.replace(']', "]]"))
    }
}

impl Display for ObjectName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let parts = [self.server(), self.database(), self.schema()];
        let first = parts.iter().position(|part| part.is_some()).unwrap_or(parts.len());
        for part in parts.iter().skip(first) {
            match part {
                Some(name) => write!(f, "{name}.")?,
                None => f.write_char('.')?,
            }
        }
        write!(f, "{}", self.name)
    }
}

impl Display for VariableName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Display for NameOrVariable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            NameOrVariable::Name(name) => write!(f, "{name}"),
            NameOrVariable::Variable(variable) => write!(f, "{variable}"),
        }
    }
}

impl Display for CursorName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", super::flag(self.is_global, "GLOBAL "), self.name)
    }
}

impl Display for ColumnName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(qualifier) = &self.qualifier {
            write!(f, "{qualifier}.")?;
        }
        match &self.column {
            crate::syntax::Column::Named(name) => write!(f, "{name}"),
            crate::syntax::Column::Pseudo(word) => f.write_str(word),
        }
    }
}

/// A string between quotation marks; a backslash at the end of a line is protected.
pub(super) fn quoted(text: &str) -> String {
    let text = text.replace('\'', "''");
    let text = text.replace("\\\r\n", "\\\\\r\n\r\n").replace("\\\n", "\\\\\n\n");
    format!("'{text}'")
}

impl Display for StringLiteral {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(super::flag(self.is_national, "N"))?;
        f.write_str(&quoted(&self.value))
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Null => f.write_str("NULL"),
            Literal::Integer(text)
            | Literal::Decimal(text)
            | Literal::Float(text)
            | Literal::Money(text) => f.write_str(text),
            Literal::Binary(bytes) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02X}"))
            }
            Literal::String(string) => write!(f, "{string}"),
            Literal::Odbc { kind, value } => {
                let word = match kind {
                    OdbcKind::Date => "d",
                    OdbcKind::Time => "t",
                    OdbcKind::Timestamp => "ts",
                    OdbcKind::Guid => "guid",
                };
                write!(f, "{{{word} {}}}", quoted(value))
            }
        }
    }
}

impl Display for DataType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        if let Some(schema) = &self.xml_schema {
            let kind = if schema.is_document { "DOCUMENT" } else { "CONTENT" };
            return write!(f, "({kind} {})", schema.collection);
        }
        write!(f, "{}", list("(", &self.parameters, ")"))
    }
}

impl Display for TypeParameter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TypeParameter::Number(number) => write!(f, "{number}"),
            TypeParameter::Max => f.write_str("MAX"),
        }
    }
}

/// `( name , … )`, or nothing.
pub(super) fn names(names: &[Name]) -> impl Display + '_ {
    list(" (", names, ")")
}

/// `( name , … )`, also when it is empty.
pub(super) fn parenthesised<T: Display>(items: &[T]) -> String {
    format!("({})", comma(items))
}
