//! DROP of objects, with IF EXISTS and lists.

use extentdb_engine::{Error, Unsupported};
use extentdb_tsql::syntax::{DropClass, DropObjects, ObjectName};

use super::problem::{Defined, Problem};
use super::{Ddl, Define, written};
use extentdb_connection::cause::{Cause, DefinitionCause};
use extentdb_connection::objects::ResolvedObject;
use extentdb_connection::output::StatementCode;

/// How often a name is looked up before a table that is gone is an error.
const TRIES_MAX: u32 = 16;

/// A class of objects: its word in statements and in messages, and codes of `sys.objects.type`.
struct Class {
    statement: &'static str,
    kind: &'static str,
    codes: &'static [&'static str],
}

const TABLE: Class = Class { statement: "TABLE", kind: "table", codes: &["U"] };
const CLASSES: [Class; 7] = [
    TABLE,
    Class { statement: "VIEW", kind: "view", codes: &["V"] },
    Class { statement: "PROCEDURE", kind: "procedure", codes: &["P"] },
    Class {
        statement: "FUNCTION",
        kind: "function",
        codes: &["FN", "IF", "TF"],
    },
    Class { statement: "TRIGGER", kind: "trigger", codes: &["TR"] },
    Class { statement: "SYNONYM", kind: "synonym", codes: &["SN"] },
    Class {
        statement: "SEQUENCE",
        kind: "sequence object",
        codes: &["SO"],
    },
];

impl Define for DropObjects {
    fn code(&self) -> StatementCode {
        match self.class {
            DropClass::Table => StatementCode::DropTable,
            DropClass::Procedure => StatementCode::DropProcedure,
            _ => StatementCode::Other,
        }
    }

    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        // One after the other: what cannot be dropped does not keep the others.
        let mut problem: Option<Problem> = None;
        for name in &self.names {
            let dropped = ddl.drop_object(self, name);
            if let Err(next) = dropped {
                problem = Some(match problem {
                    Some(before) => before.followed_by(next),
                    None => next,
                });
            }
        }
        problem.map_or(Ok(()), Err)
    }
}

impl Ddl<'_, '_> {
    fn drop_object(&mut self, drop: &DropObjects, name: &ObjectName) -> Defined {
        if let Some(scope) = &drop.scope {
            return self.drop_database_trigger(scope, name, drop.if_exists);
        }
        match drop.class {
            DropClass::Table => self.drop_table(name, drop.if_exists),
            DropClass::Schema => self.drop_schema(name, drop.if_exists),
            DropClass::Type => self.drop_type(name, drop.if_exists),
            DropClass::Statistics => self.drop_statistics(name),
            DropClass::View
            | DropClass::Procedure
            | DropClass::Function
            | DropClass::Trigger
            | DropClass::Sequence
            | DropClass::Synonym => self.drop_module(drop, name),
            DropClass::Default | DropClass::Rule => {
                self.drop_bound(drop.class, name, drop.if_exists)
            }
            DropClass::Aggregate | DropClass::Database => {
                Err(Cause::not_supported("DROP of this class").into())
            }
        }
    }

    fn drop_module(&mut self, drop: &DropObjects, name: &ObjectName) -> Defined {
        let statement = match drop.class {
            DropClass::View => "VIEW",
            DropClass::Procedure => "PROCEDURE",
            DropClass::Function => "FUNCTION",
            DropClass::Trigger => "TRIGGER",
            DropClass::Sequence => "SEQUENCE",
            _ => "SYNONYM",
        };
        let Some(class) = CLASSES.iter().find(|class| class.statement == statement) else {
            return Ok(());
        };
        let Some(found) = self.dropped(name, class, drop.if_exists)? else { return Ok(()) };
        if drop.class == DropClass::Trigger {
            return self.drop_trigger(&found);
        }
        let schema = found.schema_name();
        let own = found.object.object.name.clone();
        if drop.class == DropClass::Sequence {
            verify_not_drawn(&found, &schema)?;
        }
        self.in_scope(&found.database, |ddl| {
            let session = ddl.session();
            let dropped = match drop.class {
                DropClass::Sequence => session.drop_sequence(&schema, &own),
                DropClass::Synonym => session.drop_synonym(&schema, &own),
                _ => session.drop_module(&schema, &own),
            };
            Ok(dropped?)
        })
    }

    /// What is to be dropped; `None` when it is not there and need not be.
    fn dropped(
        &mut self,
        name: &ObjectName,
        class: &Class,
        if_exists: bool,
    ) -> Defined<Option<ResolvedObject>> {
        let found = self.connection().object(name)?;
        let written = || written(name);
        let Some(found) = found else {
            if if_exists {
                return Ok(None);
            }
            let kind = class.kind;
            return Err(
                DefinitionCause::NoTableInDrop { action: "drop", kind, name: written() }.into()
            );
        };
        if class.codes.contains(&found.kind()) {
            return Ok(Some(found));
        }
        Err(match CLASSES.iter().find(|other| other.codes.contains(&found.kind())) {
            Some(other) => DefinitionCause::WrongKindInDrop {
                statement: class.statement,
                name: written(),
                kind: other.kind,
                other: other.advice(),
            },
            None => {
                DefinitionCause::NoTableInDrop { action: "drop", kind: class.kind, name: written() }
            }
        }
        .into())
    }

    /// A table may be gone once its lock is granted: the session that has made it rolled back. Then
    /// its name is looked up again.
    fn drop_table(&mut self, name: &ObjectName, if_exists: bool) -> Defined {
        for _ in 1..TRIES_MAX {
            let dropped = self.drop_table_once(name, if_exists);
            let Err(problem) = dropped else { return Ok(()) };
            match problem.into_engine()? {
                Error::Gone { .. } => {}
                error => return Err(error.into()),
            }
        }
        self.drop_table_once(name, if_exists)
    }

    fn drop_table_once(&mut self, name: &ObjectName, if_exists: bool) -> Defined {
        let Some(found) = self.dropped(name, &TABLE, if_exists)? else { return Ok(()) };
        let Some(found) = found.into_table()? else { return Ok(()) };
        let shown = written(name);
        self.in_scope(&found.database, |ddl| {
            ddl.session().drop_table(&found.table).map_err(|error| match error {
                Error::NotSupported(Unsupported::ReferencedTable { .. }) => {
                    DefinitionCause::ReferencedTable { name: shown }.into()
                }
                error => error.into(),
            })
        })
    }
}

impl Class {
    fn advice(&self) -> &'static str {
        match self.statement {
            "TABLE" => "DROP TABLE",
            "VIEW" => "DROP VIEW",
            "PROCEDURE" => "DROP PROCEDURE",
            "FUNCTION" => "DROP FUNCTION",
            "TRIGGER" => "DROP TRIGGER",
            "SEQUENCE" => "DROP SEQUENCE",
            _ => "DROP SYNONYM",
        }
    }
}

/// Refuses a sequence that a default draws from.
fn verify_not_drawn(found: &ResolvedObject, schema: &str) -> Result<(), Cause> {
    let name = &found.object.object.name;
    // As defaults are stored: with the schema where it was written.
    let calls = [
        format!("NEXT VALUE FOR [{schema}].[{name}]").to_lowercase(),
        format!("NEXT VALUE FOR [{name}]").to_lowercase(),
    ];
    let draws = |text: &Option<String>| {
        let text = text.as_ref().map(|text| text.to_lowercase());
        text.is_some_and(|text| calls.iter().any(|call| text.contains(call)))
    };
    let tables = found.model.user_tables();
    let mut defaults = tables.flat_map(|(_, table)| &table.defaults);
    let Some(default) = defaults.find(|default| draws(&default.definition)) else { return Ok(()) };
    let text = format!(
        "Cannot DROP SEQUENCE '{schema}.{name}' because it is being referenced by object '{}'.",
        default.object.name
    );
    Err(Cause::Failed { number: 3729, severity: 16, text })
}
