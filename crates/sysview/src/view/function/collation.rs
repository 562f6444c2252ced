//! `sys.fn_helpcollations`.
//!
//! `_UTF8` collations are not among them: how their ids say so is not published.

use extentdb_types::{Collation, Datum};

use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;

/// A collation by its name.
type Item = (String, Collation);

/// `sys.fn_helpcollations`: by name.
pub(in crate::view) fn all(_: &Source<'_>, _: &[Datum<'_>], rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("name", |it: &Item| (&it.0).into())
        .put("description", |it| description(&it.0, it.1).into());
    let mut named: Vec<Item> =
        Collation::named().filter_map(|collation| Some((collation.name()?, collation))).collect();
    named.sort();
    rows.add(&columns, named)
}

/// The designator, what the order distinguishes, and the SQL sort order.
fn description(name: &str, collation: Collation) -> String {
    let order = match (collation.is_bin2(), collation.is_binary()) {
        (true, _) => "binary code point comparison sort".to_owned(),
        (false, true) => "binary sort".to_owned(),
        (false, false) => sensitivities(collation),
    };
    let designator = designator(name).replace('_', "-");
    match (collation.sort_order(), collation.code_page()) {
        (0, _) | (_, None) => format!("{designator}, {order}"),
        (id, Some(page)) => {
            let page = format!("{page:?}");
            let page = page.trim_start_matches("Cp");
            format!(
                "{designator}, {order} for Unicode Data, SQL Server Sort Order {id} on Code Page {page} for non-Unicode Data"
            )
        }
    }
}

/// The name up to its style, without `SQL_` and code page.
fn designator(name: &str) -> String {
    let is_style =
        |part: &&str| matches!(*part, "CI" | "CS" | "BIN" | "BIN2" | "Pref") || is_code_page(part);
    let parts: Vec<&str> = name.split('_').filter(|part| *part != "SQL").collect();
    let designator = parts.iter().take_while(|part| !is_style(part));
    designator.copied().collect::<Vec<_>>().join("_")
}

fn is_code_page(part: &str) -> bool {
    let digits = part.strip_prefix("CP");
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn sensitivities(collation: Collation) -> String {
    let word = |ignores: bool| if ignores { "insensitive" } else { "sensitive" };
    let mut text = format!(
        "case-{}, accent-{}, kanatype-{}, width-{}",
        word(collation.ignores_case()),
        word(collation.ignores_accents()),
        word(collation.ignores_kana()),
        word(collation.ignores_width()),
    );
    if collation.is_supplementary() {
        text.push_str(", supplementary characters");
    }
    if collation.is_supplementary() && !collation.ignores_variation_selectors() {
        let is_140 = collation.name().is_some_and(|name| name.contains("_140_"));
        text.push_str(if is_140 { ", variation selector sensitive" } else { "" });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_say_what_the_order_distinguishes() {
        let cases = [
            (
                "Latin1_General_CI_AS",
                "Latin1-General, case-insensitive, accent-sensitive, kanatype-insensitive, \
                 width-insensitive",
            ),
            ("Albanian_BIN", "Albanian, binary sort"),
            ("Albanian_BIN2", "Albanian, binary code point comparison sort"),
            (
                "SQL_Latin1_General_CP1_CI_AS",
                "Latin1-General, case-insensitive, accent-sensitive, kanatype-insensitive, \
                 width-insensitive for Unicode Data, SQL Server Sort Order 52 on Code Page 1252 \
                 for non-Unicode Data",
            ),
            (
                "Latin1_General_100_CS_AI_KS_WS_SC",
                "Latin1-General-100, case-sensitive, accent-insensitive, kanatype-sensitive, \
                 width-sensitive, supplementary characters",
            ),
        ];
        for (name, expected) in cases {
            assert_eq!(description(name, Collation::from_name(name).unwrap()), expected);
        }
    }
}
