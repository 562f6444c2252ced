//! `sys.fn_builtin_permissions`: permissions, and those that cover them.
//!
//! ```text
//! OBJECT SELECT ◀─ OBJECT CONTROL        in its class
//!        ◀─ SCHEMA SELECT                in the class above
//! ```

use extentdb_types::Datum;

use super::text;
use crate::code::{classes_of_permissions, permissions_of};
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;

const SERVER: &str = "SERVER";
const DATABASE: &str = "DATABASE";
const SCHEMA: &str = "SCHEMA";
const CONTROL: &str = "CONTROL";

/// A permission of a class.
struct Item {
    class: &'static str,
    code: &'static str,
    name: &'static str,
}

/// `sys.fn_builtin_permissions`: those of a class; of all for NULL, DEFAULT and an empty text.
pub(in crate::view) fn permissions(
    _: &Source<'_>,
    arguments: &[Datum<'_>],
    rows: &mut Rows,
) -> Result<(), Error> {
    let wanted = text(arguments, 0).filter(|class| !class.is_empty());
    let is_wanted = |class: &&'static str| {
        wanted.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(class))
    };
    let of_class = |class: &'static str| {
        let item = move |(code, name)| Item { class, code, name };
        permissions_of(class).into_iter().map(item)
    };
    let items = classes_of_permissions().into_iter().filter(is_wanted).flat_map(of_class);
    let columns = Columns::new()
        .put("class_desc", |it: &Item| it.class.into())
        .put("permission_name", |it| it.name.into())
        .put("type", |it| it.code.into())
        .put("covering_permission_name", |it| it.covering().into())
        .put("parent_class_desc", |it| parent_of(it.class).into())
        .put("parent_covering_permission_name", |it| it.covering_above().into());
    rows.add(&columns, items)
}

/// The class that securables of a class are in.
fn parent_of(class: &str) -> Option<&'static str> {
    match class {
        SERVER => None,
        "DATABASE" | "LOGIN" | "ENDPOINT" | "SERVER ROLE" | "AVAILABILITY GROUP" => Some(SERVER),
        "OBJECT" | "TYPE" | "XML SCHEMA COLLECTION" => Some(SCHEMA),
        _ => Some(DATABASE),
    }
}

/// A permission of a class by its name.
fn named(class: &str, name: &str) -> Option<&'static str> {
    permissions_of(class).into_iter().map(|(_, own)| own).find(|own| *own == name)
}

fn control_of(class: &str) -> &'static str {
    if class == SERVER { "CONTROL SERVER" } else { CONTROL }
}

impl Item {
    /// The permission of its class that covers it.
    fn covering(&self) -> Option<&'static str> {
        let control = control_of(self.class);
        if self.name == control {
            return None;
        }
        if !matches!(self.class, SERVER | DATABASE) {
            return Some(control);
        }
        let alter = if self.class == DATABASE { "ALTER" } else { control };
        if let Some(what) = self.name.strip_prefix("CREATE ") {
            let what = what.strip_prefix("ANY ").unwrap_or(what);
            return named(self.class, &format!("ALTER ANY {what}")).or(Some(alter));
        }
        Some(if self.name.starts_with("ALTER ANY ") { alter } else { control })
    }

    /// The permission of the class above that covers it.
    fn covering_above(&self) -> Option<&'static str> {
        let above = parent_of(self.class)?;
        let control = control_of(above);
        let wanted = match (self.class, self.name) {
            (DATABASE, "ALTER") => "ALTER ANY DATABASE".to_owned(),
            (DATABASE, "CREATE DATABASE") => "CREATE ANY DATABASE".to_owned(),
            (DATABASE, "AUTHENTICATE") => "AUTHENTICATE SERVER".to_owned(),
            (DATABASE, "VIEW DATABASE STATE") => "VIEW SERVER STATE".to_owned(),
            (_, "VIEW DEFINITION") if above == SERVER => "VIEW ANY DEFINITION".to_owned(),
            (SCHEMA, "CREATE SEQUENCE") => "ALTER ANY SCHEMA".to_owned(),
            (_, "ALTER") if above != SCHEMA => format!("ALTER ANY {}", self.class),
            (_, "TAKE OWNERSHIP") => control.to_owned(),
            (_, name) => name.to_owned(),
        };
        named(above, &wanted).or(Some(control))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_covered_in_their_class_and_above() {
        let item = |class, name| Item { class, code: "", name };
        let cases = [
            (item("OBJECT", "SELECT"), Some("CONTROL"), Some("SELECT")),
            (item("OBJECT", "ALTER"), Some("CONTROL"), Some("ALTER")),
            (item("OBJECT", "CONTROL"), None, Some("CONTROL")),
            (item("SCHEMA", "ALTER"), Some("CONTROL"), Some("ALTER ANY SCHEMA")),
            (item("USER", "IMPERSONATE"), Some("CONTROL"), Some("CONTROL")),
            (item("DATABASE", "CREATE TABLE"), Some("ALTER"), Some("CONTROL SERVER")),
            (item("DATABASE", "CREATE ROLE"), Some("ALTER ANY ROLE"), Some("CONTROL SERVER")),
            (item("DATABASE", "VIEW DEFINITION"), Some("CONTROL"), Some("VIEW ANY DEFINITION")),
            (item("SERVER", "SHUTDOWN"), Some("CONTROL SERVER"), None),
            (item("SERVER", "CONTROL SERVER"), None, None),
        ];
        for (item, covering, above) in cases {
            assert_eq!(item.covering(), covering, "{} {}", item.class, item.name);
            assert_eq!(item.covering_above(), above, "{} {}", item.class, item.name);
        }
    }
}
