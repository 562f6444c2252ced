//! printf as RAISERROR and FORMATMESSAGE know it.
//!
//! ```text
//! % [flags - + 0 # blank] [width | *] [. precision | *] [h | l | I64] type d i o s u x X
//! ```

use extentdb_types::{Datum, SqlType};

use crate::cause::{Cause, type_name};
use crate::variant;

/// Characters of a message.
const MAX_TEXT: usize = 2_047;
const ELLIPSIS: &str = "...";

/// An argument.
pub struct Substitution {
    /// The value.
    pub value: Datum<'static>,
    /// Its type.
    pub ty: SqlType,
}

#[derive(Default)]
struct Specification {
    is_left: bool,
    has_sign: bool,
    is_zero: bool,
    is_alternate: bool,
    is_blank: bool,
    width: usize,
    precision: Option<usize>,
}

/// The text of a message.
pub fn format(template: &str, arguments: &[Substitution]) -> Result<String, Cause> {
    let mut out = String::new();
    let mut rest = template;
    let mut next = Arguments { arguments, used: 0 };
    while let Some(at) = rest.find('%') {
        out.push_str(rest.get(..at).unwrap_or_default());
        rest = rest.get(at + 1..).unwrap_or_default();
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        rest = one(rest, &mut next, &mut out)?;
    }
    out.push_str(rest);
    if out.chars().count() <= MAX_TEXT {
        return Ok(out);
    }
    let kept = MAX_TEXT - ELLIPSIS.len();
    Ok(out.chars().take(kept).chain(ELLIPSIS.chars()).collect())
}

struct Arguments<'a> {
    arguments: &'a [Substitution],
    used: usize,
}

impl Arguments<'_> {
    /// The next argument; too few are NULLs.
    fn next(&mut self) -> (usize, Option<&Substitution>) {
        self.used += 1;
        (self.used, self.arguments.get(self.used - 1))
    }

    fn number(&mut self) -> Result<i64, Cause> {
        let (position, argument) = self.next();
        let mismatch = Cause::SubstitutionMismatch { position };
        argument.and_then(|it| variant::integer(&it.value)).ok_or(mismatch)
    }
}

/// Formats one specification; what follows it.
fn one<'t>(
    text: &'t str,
    arguments: &mut Arguments<'_>,
    out: &mut String,
) -> Result<&'t str, Cause> {
    let mut specification = Specification::default();
    let mut rest = flags(text, &mut specification);
    rest = count(rest, arguments, &mut specification.width)?;
    if let Some(after) = rest.strip_prefix('.') {
        let mut precision = 0;
        rest = count(after, arguments, &mut precision)?;
        specification.precision = Some(precision);
    }
    let is_wide = rest.starts_with("I64");
    for prefix in ["I64", "h", "l"] {
        if let Some(after) = rest.strip_prefix(prefix) {
            rest = after;
            break;
        }
    }
    let mut letters = rest.chars();
    let kind = letters.next();
    let refused = || {
        let shown: String = text.chars().take(10).collect();
        Cause::FormatSpecification { specification: format!("%{shown}") }
    };
    match kind {
        Some('s') => string(&specification, arguments, out)?,
        Some(kind @ ('d' | 'i' | 'u' | 'o' | 'x' | 'X')) => {
            number(&specification, kind, is_wide, arguments, out)?;
        }
        _ => return Err(refused()),
    }
    Ok(letters.as_str())
}

fn flags<'t>(text: &'t str, specification: &mut Specification) -> &'t str {
    let mut rest = text;
    loop {
        let mut letters = rest.chars();
        match letters.next() {
            Some('-') => specification.is_left = true,
            Some('+') => specification.has_sign = true,
            Some('0') => specification.is_zero = true,
            Some('#') => specification.is_alternate = true,
            Some(' ') => specification.is_blank = true,
            _ => return rest,
        }
        rest = letters.as_str();
    }
}

/// A width or precision: digits, or `*` for the next argument.
fn count<'t>(
    text: &'t str,
    arguments: &mut Arguments<'_>,
    value: &mut usize,
) -> Result<&'t str, Cause> {
    if let Some(rest) = text.strip_prefix('*') {
        *value = usize::try_from(arguments.number()?).unwrap_or(0).min(MAX_TEXT);
        return Ok(rest);
    }
    let digits = text.len() - text.trim_start_matches(|it: char| it.is_ascii_digit()).len();
    let (number, rest) = text.split_at(digits);
    *value = number.parse::<usize>().unwrap_or(0).min(MAX_TEXT);
    Ok(rest)
}

fn string(
    specification: &Specification,
    arguments: &mut Arguments<'_>,
    out: &mut String,
) -> Result<(), Cause> {
    let (position, argument) = arguments.next();
    let text = match argument.map(|it| &it.value) {
        None | Some(Datum::Null) => "(null)".to_owned(),
        Some(value @ (Datum::Char(_) | Datum::NChar(_))) => {
            variant::text(value).unwrap_or_default()
        }
        Some(_) => return Err(mismatch(argument, position)),
    };
    let text: String = text.chars().take(specification.precision.unwrap_or(MAX_TEXT)).collect();
    pad(&text, specification, out);
    Ok(())
}

/// A type that no specification takes, or one that this one does not.
fn mismatch(argument: Option<&Substitution>, position: usize) -> Cause {
    match argument.map(|it| it.ty) {
        Some(
            ty @ (SqlType::Float
            | SqlType::Real
            | SqlType::Decimal { .. }
            | SqlType::Numeric { .. }
            | SqlType::Money
            | SqlType::SmallMoney
            | SqlType::DateTime
            | SqlType::Date
            | SqlType::Bit),
        ) => Cause::SubstitutionType { ty: type_name(&ty), position },
        _ => Cause::SubstitutionMismatch { position },
    }
}

fn number(
    specification: &Specification,
    kind: char,
    is_wide: bool,
    arguments: &mut Arguments<'_>,
    out: &mut String,
) -> Result<(), Cause> {
    let (position, argument) = arguments.next();
    let value = match argument.map(|it| &it.value) {
        None | Some(Datum::Null) => {
            pad("(null)", specification, out);
            return Ok(());
        }
        Some(Datum::TinyInt(value)) => i64::from(*value),
        Some(Datum::SmallInt(value)) => i64::from(*value),
        Some(Datum::Int(value)) => i64::from(*value),
        Some(Datum::BigInt(value)) if is_wide => *value,
        Some(_) => return Err(mismatch(argument, position)),
    };
    // Without I64 the number is one of 32 bits.
    let unsigned = if is_wide { value as u64 } else { u64::from(value as u32) };
    let digits = match kind {
        'd' | 'i' => value.unsigned_abs().to_string(),
        'u' => unsigned.to_string(),
        'o' => format!("{unsigned:o}"),
        'x' => format!("{unsigned:x}"),
        _ => format!("{unsigned:X}"),
    };
    let least = specification.precision.unwrap_or(1);
    let digits = format!("{digits:0>least$}");
    let prefix = match kind {
        'd' | 'i' if value < 0 => "-",
        'd' | 'i' if specification.has_sign => "+",
        'd' | 'i' if specification.is_blank => " ",
        'o' if specification.is_alternate => "0",
        'x' if specification.is_alternate && value != 0 => "0x",
        'X' if specification.is_alternate && value != 0 => "0X",
        _ => "",
    };
    if specification.is_zero && !specification.is_left && specification.precision.is_none() {
        let width = specification.width.saturating_sub(prefix.len());
        out.push_str(&format!("{prefix}{digits:0>width$}"));
        return Ok(());
    }
    pad(&format!("{prefix}{digits}"), specification, out);
    Ok(())
}

fn pad(text: &str, specification: &Specification, out: &mut String) {
    let width = specification.width;
    let padded =
        if specification.is_left { format!("{text:<width$}") } else { format!("{text:>width$}") };
    out.push_str(&padded);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, arguments: &[Datum<'static>], expected: &str) {
        let typed = |value: &Datum<'static>| Substitution {
            ty: if matches!(value, Datum::BigInt(_)) { SqlType::BigInt } else { SqlType::Int },
            value: value.clone(),
        };
        let arguments: Vec<_> = arguments.iter().map(typed).collect();
        assert_eq!(format(template, &arguments).unwrap(), expected, "{template}");
    }

    #[test]
    fn specifications_of_the_public_page() {
        let text = |it: &str| variant::nchar(it);
        check("<<%7.3s>>", &[text("abcde")], "<<    abc>>");
        check("<<%*.*s>>", &[Datum::Int(7), Datum::Int(3), text("abcde")], "<<    abc>>");
        check("%s %d%%", &[text("a"), Datum::Int(-5)], "a -5%");
        check(
            "%+d|%06d|%-5d|",
            &[Datum::Int(3), Datum::Int(-42), Datum::Int(7)],
            "+3|-00042|7    |",
        );
        check(
            "%x %X %#x %o",
            &[Datum::Int(255), Datum::Int(255), Datum::Int(255), Datum::Int(8)],
            "ff FF 0xff 10",
        );
        check("%I64d %u", &[Datum::BigInt(1 << 40), Datum::Int(-1)], "1099511627776 4294967295");
        check("%s", &[], "(null)");
    }

    #[test]
    fn wrong_arguments_and_specifications_have_their_messages() {
        let float = Substitution { value: Datum::Float(1.0), ty: SqlType::Float };
        let refused = format("%d", &[float]).unwrap_err();
        assert_eq!(refused, Cause::SubstitutionType { ty: "float", position: 1 });
        assert!(matches!(format("%q", &[]), Err(Cause::FormatSpecification { .. })));
        assert_eq!(format(&"x".repeat(3000), &[]).unwrap().len(), 2047);
    }
}
