//! CREATE, UPDATE and DROP STATISTICS.

use extentdb_engine::{Error, StatisticsScan, StatisticsSpec, Unsupported};
use extentdb_tsql::syntax::{
    Clause, CreateStatistics, Expr, ObjectName, Part, Qualifier, UpdateStatistics,
};

use super::column::integer;
use super::problem::{Defined, Problem};
use super::{Ddl, Define, written};
use extentdb_connection::cause::{Cause, DefinitionCause};

impl Define for CreateStatistics {
    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        if self.filter.is_some() {
            return Err(Cause::not_supported("filtered statistics").into());
        }
        let scan = scan_of(&self.options)?;
        let missing = |name| DefinitionCause::NoTableOfIndex { name };
        let target = ddl.target(&self.table, missing)?;
        let columns: Vec<&str> = self.columns.iter().map(|name| &*name.text).collect();
        let spec = StatisticsSpec { scan, ..StatisticsSpec::new(&self.name.text, &columns) };
        let table = target.qualified();
        ddl.in_scope(&target.database.clone(), |ddl| {
            let made = ddl.session().create_statistics(&target.table, &spec);
            made.map(drop).map_err(|error| match error {
                Error::Exists { name } => DefinitionCause::StatisticsExist { table, name }.into(),
                Error::NotSupported(Unsupported::NoColumn { column }) => {
                    DefinitionCause::NoColumnInIndex { column }.into()
                }
                Error::NotSupported(Unsupported::ColumnTwiceInIndex { column }) => {
                    DefinitionCause::ColumnTwice { kind: "statistics", column }.into()
                }
                error => Problem::from(error),
            })
        })
    }
}

impl Define for UpdateStatistics {
    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        let scan = scan_of(&self.options)?;
        let missing = |name| DefinitionCause::NoTableOfStatistics { name };
        let target = ddl.target(&self.table, missing)?;
        ddl.in_scope(&target.database.clone(), |ddl| {
            let table = &target.table;
            if self.names.is_empty() {
                return Ok(ddl.session().update_statistics(table, None, scan)?);
            }
            for name in &self.names {
                let updated = ddl.session().update_statistics(table, Some(&name.text), scan);
                updated.map_err(|error| match error {
                    Error::NotSupported(Unsupported::NoStatistics { name, .. }) => {
                        DefinitionCause::NoIndexNamed { name }.into()
                    }
                    error => Problem::from(error),
                })?;
            }
            Ok(())
        })
    }
}

impl Ddl<'_, '_> {
    /// DROP STATISTICS `table.name`.
    pub(super) fn drop_statistics(&mut self, name: &ObjectName) -> Defined {
        let shown = written(name);
        let missing = || DefinitionCause::NoTableInDrop {
            action: "drop",
            kind: "statistics",
            name: shown.clone(),
        };
        let table = table_of(name).ok_or_else(missing)?;
        let target = self.table_if_there(&table)?.ok_or_else(missing)?;
        self.in_scope(&target.database.clone(), |ddl| {
            let dropped = ddl.session().drop_statistics(&target.table, &name.name.text);
            dropped.map_err(|error| match error {
                Error::NotSupported(Unsupported::StatisticsOfIndex { .. }) => {
                    DefinitionCause::NotStatistics { action: "drop", name: shown.clone() }.into()
                }
                Error::NotSupported(Unsupported::NoStatistics { .. }) => missing().into(),
                error => Problem::from(error),
            })
        })
    }
}

/// The table of `[schema.]table.statistics`.
fn table_of(name: &ObjectName) -> Option<ObjectName> {
    let table = name.schema()?.clone();
    let schema = name.database().cloned();
    let database = name.server().cloned();
    let qualifier = Qualifier { server: None, database, schema };
    let has_qualifier = qualifier != Qualifier::default();
    Some(ObjectName {
        name: table,
        qualifier: has_qualifier.then(|| Box::new(qualifier)),
        span: name.span,
    })
}

/// How much of the table is read.
fn scan_of(options: &[Clause]) -> Result<StatisticsScan, Cause> {
    let mut scan = StatisticsScan::default();
    for option in options {
        match option.parts.first() {
            Some(Part::Word("FULLSCAN")) => scan = StatisticsScan::Full,
            Some(Part::Word("SAMPLE")) => scan = sample(option)?,
            Some(Part::Word("RESAMPLE" | "ALL" | "COLUMNS" | "INDEX" | "MAXDOP")) => {}
            Some(Part::Word("INCREMENTAL" | "AUTO_DROP")) if is_off(option) => {}
            Some(Part::Word(word)) => {
                return Err(Cause::not_supported(format!("the option {word}")));
            }
            _ => return Err(Cause::not_supported("an option of statistics")),
        }
    }
    Ok(scan)
}

fn is_off(option: &Clause) -> bool {
    option.first("switch").is_some_and(|switch| switch.has("OFF"))
}

fn sample(option: &Clause) -> Result<StatisticsScan, Cause> {
    let number = option.parts.iter().find_map(|part| match part {
        Part::Expr(expr) => whole(expr),
        _ => None,
    });
    let refused = || Cause::not_supported("SAMPLE … ROWS, or a sample that is no whole number");
    let percent = number.filter(|_| option.has("PERCENT")).ok_or_else(refused)?;
    Ok(StatisticsScan::Percent(f64::from(percent)))
}

fn whole(expr: &Expr) -> Option<u8> {
    integer(expr).and_then(|number| u8::try_from(number).ok()).filter(|percent| *percent <= 100)
}
