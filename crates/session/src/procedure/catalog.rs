//! Procedures of the catalog: each is a text over system views, in `catalog/NAME.sql`.
//!
//! ```text
//! -- @table_name nvarchar(384), @table_owner nvarchar(384) = NULL    parameters, on the first line
//! SELECT … FROM sys.objects …
//! ```
//!
//! `{types}` in a text is the table of types of `catalog/types.sql`; `{data_type}`, `{precision}`
//! and `{length}` are what ODBC says of a column `c` of a type of it. A line after `--new` is part
//! of the procedures whose names end in a version alone, which know the types of version 2008.

use super::parameters::{self, Callee, Parameter};
use super::{Caller, Finished, nested};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::output::Scope;
use extentdb_connection::request::Argument;
use extentdb_connection::step::{Run, Source, Text};
use extentdb_connection::stop::Stop;

const TYPES: &str = include_str!("catalog/types.sql");

/// Lengths in characters or bytes; digits of numbers and times.
const PRECISION: &str = "CAST(CASE WHEN ty.id IN (167, 175, 231, 239, 165, 173) \
    THEN CASE WHEN c.max_length = -1 THEN 0 WHEN ty.id IN (231, 239) THEN c.max_length / 2 \
    ELSE c.max_length END \
    WHEN ty.id IN (106, 108, 41, 42, 43) THEN c.[precision] ELSE ty.digits END AS int)";
/// Bytes of a value as ODBC transfers it.
const LENGTH: &str = "CAST(CASE WHEN ty.id IN (167, 175, 231, 239, 165, 173) \
    THEN CASE WHEN c.max_length = -1 THEN 0 ELSE c.max_length END \
    WHEN ty.id IN (106, 108) THEN c.[precision] + 2 \
    WHEN ty.id IN (41, 42, 43) THEN c.[precision] * 2 ELSE ty.bytes END AS int)";

/// An object that a procedure is about does not exist.
const NO_OBJECT: i32 = 15_009;

/// What must exist before a procedure runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    Anything,
    /// The object that `@objname` names, unless it is NULL.
    Object,
}

struct CatalogProcedure {
    name: &'static str,
    /// Names of the same with types of version 2008.
    newer: &'static [&'static str],
    text: &'static str,
    about: About,
}

macro_rules! procedures {
    ($($name:literal $newer:tt $about:ident)*) => {
        &[$(CatalogProcedure {
            name: $name,
            newer: &$newer,
            text: include_str!(concat!("catalog/", $name, ".sql")),
            about: About::$about,
        }),*]
    };
}

const PROCEDURES: &[CatalogProcedure] = procedures! {
    "sp_addtype" [] Anything
    "sp_changeobjectowner" [] Anything
    "sp_column_privileges" [] Anything
    "sp_columns" ["sp_columns_100", "sp_columns_170"] Anything
    "sp_configure" [] Anything
    "sp_databases" [] Anything
    "sp_datatype_info" ["sp_datatype_info_100", "sp_datatype_info_170"] Anything
    "sp_dbcmptlevel" [] Anything
    "sp_droptype" [] Anything
    "sp_fkeys" [] Anything
    "sp_help" [] Object
    "sp_helpconstraint" [] Object
    "sp_helpdb" [] Anything
    "sp_helpdbfixedrole" [] Anything
    "sp_helpfile" [] Anything
    "sp_helpfilegroup" [] Anything
    "sp_helpindex" [] Object
    "sp_helplogins" [] Anything
    "sp_helprole" [] Anything
    "sp_helprolemember" [] Anything
    "sp_helprotect" [] Anything
    "sp_helpserver" [] Anything
    "sp_helpsort" [] Anything
    "sp_helpsrvrole" [] Anything
    "sp_helpsrvrolemember" [] Anything
    "sp_helpstats" [] Object
    "sp_helptrigger" [] Object
    "sp_helpuser" [] Anything
    "sp_linkedservers" [] Anything
    "sp_lock" [] Anything
    "sp_msforeachdb" [] Anything
    "sp_msforeachtable" [] Anything
    "sp_pkeys" [] Anything
    "sp_recompile" [] Object
    "sp_refreshsqlmodule" [] Object
    "sp_refreshview" [] Object
    "sp_server_info" [] Anything
    "sp_spaceused" [] Object
    "sp_special_columns" ["sp_special_columns_100", "sp_special_columns_170"] Anything
    "sp_sproc_columns" ["sp_sproc_columns_100", "sp_sproc_columns_170"] Anything
    "sp_statistics" ["sp_statistics_100"] Anything
    "sp_stored_procedures" [] Anything
    "sp_table_privileges" [] Anything
    "sp_tablecollations_100" ["sp_tablecollations_90"] Anything
    "sp_tables" [] Anything
    "sp_updatestats" [] Anything
    "sp_validname" [] Anything
    "sp_who" [] Anything
    "sp_who2" [] Anything
    "xp_instance_regread" [] Anything
    "xp_msver" [] Anything
    "xp_regread" [] Anything
};

/// A call of a procedure of the catalog.
pub(super) struct CatalogCall {
    procedure: &'static CatalogProcedure,
    is_newer: bool,
}

/// The procedure of a name in small letters.
pub(super) fn named(name: &str) -> Option<CatalogCall> {
    PROCEDURES.iter().find_map(|procedure| {
        let is_newer = procedure.newer.contains(&name);
        (is_newer || procedure.name == name).then_some(CatalogCall { procedure, is_newer })
    })
}

impl CatalogCall {
    /// The declarations of its parameters, and its text.
    fn texts(&self) -> (String, String) {
        let (first, body) = self.procedure.text.split_once('\n').unwrap_or_default();
        let scope = if self.is_newer { "@NameScope int = 0, " } else { "" };
        let declarations = first.trim_start_matches("--").replace("{scope}", scope);
        let mut text = String::new();
        for line in body.lines() {
            match line.strip_prefix("--new") {
                Some(_) if !self.is_newer => continue,
                Some(line) => text.push_str(line),
                None => text.push_str(line),
            }
            text.push('\n');
        }
        let suffix = if self.is_newer { "_100" } else { "" };
        let data_type =
            format!("CASE WHEN @ODBCVer >= 3 THEN ty.d3{suffix} ELSE ty.d2{suffix} END");
        let text = text
            .replace("{types}", TYPES.trim_end())
            .replace("{data_type}", &data_type)
            .replace("{precision}", PRECISION)
            .replace("{length}", LENGTH);
        (declarations, text)
    }

    pub(super) fn run(
        &self,
        run: &mut Run<'_>,
        arguments: &[Argument],
        caller: &Caller,
    ) -> Result<Finished, Stop> {
        let (declarations, text) = self.texts();
        let collation = run.connection.collation();
        let parameters = parameters::declared(&declarations, collation)?;
        self.verify(&parameters, arguments)?;
        let bound = parameters::bind(
            run,
            &parameters,
            arguments,
            0,
            Callee::Procedure(self.procedure.name),
        )?;
        let values: Vec<_> = bound.into_iter().map(|bound| bound.value).collect();
        if self.procedure.about == About::Object
            && let Some(name) = values.first().and_then(extentdb_connection::variant::text)
        {
            verify_object(run, &name)?;
        }
        let text = Text {
            source: Source::Text(&text),
            scope: Scope::Procedure,
            parameters: parameters.iter().map(|parameter| parameter.variable.clone()).collect(),
            values,
            inherited: caller.inherited.clone(),
            has_outer_handler: caller.has_outer_handler,
            trigger: None,
        };
        let _: Frame = nested(run, |run| run.text(text))?;
        Ok(Finished::default())
    }

    /// Parameters without a default have an argument, and no argument is left over.
    fn verify(&self, parameters: &[Parameter], arguments: &[Argument]) -> Result<(), Cause> {
        let procedure = || self.procedure.name.to_owned();
        if arguments.len() > parameters.len() {
            return Err(Cause::TooManyArguments { procedure: procedure() });
        }
        let is_given = |place: usize, parameter: &Parameter| {
            let name = &parameter.variable.name;
            let named = |own: &&Argument| own.name.eq_ignore_ascii_case(name);
            let placed = arguments.get(place).filter(|own| own.name.is_empty());
            let given = arguments.iter().find(named).or(placed);
            given.is_some_and(|own| !own.is_default)
        };
        let mut missing = parameters
            .iter()
            .enumerate()
            .filter(|(place, parameter)| !parameter.has_default() && !is_given(*place, parameter));
        match missing.next() {
            Some((_, parameter)) => Err(Cause::MissingParameter {
                procedure: procedure(),
                parameter: parameter.variable.name.to_string(),
            }),
            None => Ok(()),
        }
    }
}

/// 15009 when nothing has the name.
pub(super) fn verify_object(run: &Run<'_>, name: &str) -> Result<(), Stop> {
    let frame = Frame::new(Scope::Procedure, extentdb_base::sync::Arc::from([]));
    if extentdb_connection::function::object_exists(run.values(&frame), name)? {
        return Ok(());
    }
    Err(no_object(run, name).into())
}

/// Message 15009.
pub(super) fn no_object(run: &Run<'_>, name: &str) -> Cause {
    let database = &run.connection.database;
    let text = format!(
        "The object '{name}' does not exist in database '{database}' or is invalid for this operation."
    );
    Cause::Failed { number: NO_OBJECT, severity: 16, text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use extentdb_types::Collation;

    #[test]
    fn texts_have_parameters_and_no_places_left() {
        for procedure in PROCEDURES {
            for is_newer in [false, true] {
                let (declarations, text) = CatalogCall { procedure, is_newer }.texts();
                let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
                assert!(parameters::declared(&declarations, collation).is_ok(), "{declarations}");
                assert!(!text.contains('{') && !text.contains("--"), "{}", procedure.name);
            }
        }
    }

    #[test]
    fn a_version_in_the_name_adds_columns() {
        let columns = |name: &str| named(name).unwrap().texts().1.matches(" AS SS_").count();
        assert_eq!((columns("sp_columns"), columns("sp_columns_100")), (1, 11));
        assert!(named("sp_none").is_none());
    }
}
