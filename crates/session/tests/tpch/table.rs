//! Tables whose rows are text, fields parted by tabs, and their values for a bulk load.

#![allow(unreachable_pub, reason = "the bench uses this file, too")]
#![allow(dead_code, reason = "test and bench use their own part of it")]

use extentdb_types::{CharText, Collation, Date, Datum, Decimal, SqlType};

const COLLATION: Collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
/// Digits of all decimals: those of TPC-H.
const DIGITS: u8 = 15;
const SCALE: u8 = 2;

/// Type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// int
    Int,
    /// decimal(15, 2)
    Decimal,
    /// date
    Date,
    /// char(n)
    Char(u16),
    /// varchar(n)
    VarChar(u16),
}

impl Type {
    /// Of the text after a column's name; `None` when it is not one of these.
    fn of_text(text: &str) -> Option<Type> {
        let length = |rest: &str| rest.split(')').next()?.parse().ok();
        Some(match text {
            text if text.starts_with("int") => Type::Int,
            text if text.starts_with("decimal(15, 2)") => Type::Decimal,
            text if text.starts_with("date") => Type::Date,
            text => match text.strip_prefix("char(") {
                Some(rest) => Type::Char(length(rest)?),
                None => Type::VarChar(length(text.strip_prefix("varchar(")?)?),
            },
        })
    }

    fn name(self) -> String {
        match self {
            Type::Int => "int".to_owned(),
            Type::Decimal => format!("decimal({DIGITS}, {SCALE})"),
            Type::Date => "date".to_owned(),
            Type::Char(len) => format!("char({len})"),
            Type::VarChar(len) => format!("varchar({len})"),
        }
    }

    /// The type of its values in a message.
    pub fn to_sql_type(self) -> SqlType {
        match self {
            Type::Int => SqlType::Int,
            Type::Decimal => SqlType::Decimal { precision: DIGITS, scale: SCALE },
            Type::Date => SqlType::Date,
            Type::Char(len) | Type::VarChar(len) => {
                SqlType::VarChar { len: Some(len), collation: COLLATION }
            }
        }
    }

    /// The value of a field; `None` when it is none of this type.
    fn datum(self, field: &str) -> Option<Datum<'_>> {
        Some(match self {
            Type::Int => Datum::Int(field.parse().ok()?),
            Type::Decimal => Datum::Decimal(decimal(field)?),
            Type::Date => Datum::Date(date(field)?),
            Type::Char(_) | Type::VarChar(_) => Datum::Char(CharText {
                bytes: field.as_bytes().into(),
                code_page: COLLATION.code_page()?,
            }),
        })
    }
}

fn decimal(field: &str) -> Option<Decimal> {
    let digits = field.strip_prefix('-').unwrap_or(field);
    let (whole, cents) = digits.split_once('.').unwrap_or((digits, "00"));
    let cents = whole.parse::<u128>().ok()? * 100 + cents.parse::<u128>().ok()?;
    Decimal::new(field.starts_with('-'), cents, SCALE)
}

fn date(field: &str) -> Option<Date> {
    let mut parts = field.split('-');
    let year = parts.next()?.parse().ok()?;
    let month = parts.next()?.parse().ok()?;
    Date::from_ymd(year, month, parts.next()?.parse().ok()?)
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Names and types of its columns.
    pub columns: Vec<(String, Type)>,
}

impl Table {
    /// A table of these columns.
    pub fn of(name: &str, columns: &[(&str, Type)]) -> Table {
        let columns = columns.iter().map(|(name, ty)| ((*name).to_owned(), *ty)).collect();
        Table { name: name.to_owned(), columns }
    }

    /// The table of a CREATE TABLE statement on a line of its own; `None` when a type is not one of
    /// ours.
    pub fn parse(statement: &str) -> Option<Table> {
        let rest = statement.strip_prefix("CREATE TABLE ")?;
        let (name, rest) = rest.split_once(" (")?;
        let mut table = Table::of(name, &[]);
        for column in split(rest.strip_suffix(')')?) {
            let (name, ty) = column.split_once(' ')?;
            if name != "PRIMARY" {
                table.columns.push((name.to_owned(), Type::of_text(ty)?));
            }
        }
        Some(table)
    }

    /// INSERT BULK of all columns.
    pub fn insert_bulk(&self) -> String {
        let column = |(name, ty): &(String, Type)| format!("{name} {}", ty.name());
        let columns: Vec<String> = self.columns.iter().map(column).collect();
        format!("INSERT BULK {} ({}) WITH (TABLOCK)", self.name, columns.join(", "))
    }

    /// The values of a line without its end; `None` when a field is no value of its type.
    pub fn values<'l>(&self, line: &'l str) -> Option<Vec<Datum<'l>>> {
        let fields = line.split('\t').zip(&self.columns);
        let values: Option<Vec<_>> = fields.map(|(field, (_, ty))| ty.datum(field)).collect();
        values.filter(|values| values.len() == self.columns.len())
    }
}

/// A line of literals that are parted by commas, parted by tabs.
pub fn fields(literals: &str) -> String {
    let mut line = String::with_capacity(literals.len());
    let mut is_text = false;
    for c in literals.chars() {
        match c {
            '\'' => is_text = !is_text,
            ',' if !is_text => line.push('\t'),
            c => line.push(c),
        }
    }
    line
}

/// At commas outside of brackets.
fn split(columns: &str) -> Vec<&str> {
    let mut depth = 0;
    let at_comma = |c: char| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        c == ',' && depth == 0
    };
    columns.split(at_comma).map(str::trim).collect()
}
