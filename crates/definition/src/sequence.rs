//! CREATE, ALTER and DROP SEQUENCE.

use extentdb_engine::model::ObjectBody;
use extentdb_engine::{Error, SequenceDefinition, Unsupported};
use extentdb_tsql::syntax::{Cache, Expr, Limit, Sequence};
use extentdb_types::SqlType;

use super::column::{integer, named_type};
use super::problem::{Defined, Problem};
use super::{Ddl, Define, written};
use extentdb_connection::cause::{Cause, DefinitionCause};
use extentdb_connection::data_type::TypedColumn;
use extentdb_connection::objects::QualifiedName;

impl Define for Sequence {
    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        if self.is_alter {
            return ddl.alter_sequence(self);
        }
        let at = ddl.place_of(&self.name)?;
        if ddl.connection().object_at(&at)?.is_some() {
            return Err(DefinitionCause::ObjectExists { name: at.name }.into());
        }
        let definition = ddl.new_sequence(self, &at)?;
        ddl.in_scope(&at.database, |ddl| {
            Ok(ddl.session().create_sequence(&at.schema, &at.name, &definition)?)
        })
    }
}

impl Ddl<'_, '_> {
    fn new_sequence(
        &mut self,
        sequence: &Sequence,
        at: &QualifiedName,
    ) -> Defined<SequenceDefinition> {
        let name = written(&sequence.name);
        let model = self.model(&at.database)?;
        let ty = match &sequence.data_type {
            None => SqlType::BigInt,
            Some(data_type) => {
                let column = TypedColumn { name: &at.name, position: 1 };
                named_type(&model, data_type, column, model.collation())?.ty
            }
        };
        let range = SequenceDefinition::range(&ty);
        let (least, most) =
            range.ok_or_else(|| DefinitionCause::SequenceType { name: name.clone() })?;
        let increment = number(&sequence.increment)?.unwrap_or(1);
        let minimum = limit(&sequence.minimum)?.unwrap_or(least);
        let maximum = limit(&sequence.maximum)?.unwrap_or(most);
        let start = number(&sequence.start)?;
        let definition = SequenceDefinition {
            ty,
            start: start.unwrap_or(if increment < 0 { maximum } else { minimum }),
            increment,
            minimum,
            maximum,
            is_cycling: sequence.is_cycle == Some(true),
            cache: cache(&sequence.cache, &name)?.unwrap_or(SequenceDefinition::DEFAULT_CACHE),
        };
        verify(&definition, &name)?;
        Ok(definition)
    }

    fn alter_sequence(&mut self, sequence: &Sequence) -> Defined {
        let name = written(&sequence.name);
        let missing = || DefinitionCause::UnknownObject { name: name.clone() };
        let found = self.connection().object(&sequence.name)?.ok_or_else(missing)?;
        let ObjectBody::Sequence(old) = &found.object.body else { return Err(missing().into()) };
        let (least, most) = SequenceDefinition::range(&old.ty).ok_or_else(missing)?;
        let changed = |limit_of: &Option<Limit>, own: i128, whole: i128| match limit_of {
            None => Ok(own),
            other => limit(other).map(|limit| limit.unwrap_or(whole)),
        };
        let restart = match &sequence.restart {
            None => None,
            Some(None) => Some(old.start),
            Some(Some(value)) => Some(whole(value)?),
        };
        let definition = SequenceDefinition {
            start: restart.unwrap_or(old.start),
            increment: number(&sequence.increment)?.unwrap_or(old.increment),
            minimum: changed(&sequence.minimum, old.minimum, least)?,
            maximum: changed(&sequence.maximum, old.maximum, most)?,
            is_cycling: sequence.is_cycle.unwrap_or(old.is_cycling),
            cache: cache(&sequence.cache, &name)?.unwrap_or(old.cache),
            ty: old.ty,
        };
        verify(&definition, &name)?;
        let schema = found.schema_name();
        let own = found.object.object.name.clone();
        self.in_scope(&found.database, |ddl| {
            let altered = ddl.session().alter_sequence(&schema, &own, &definition, restart);
            altered.map_err(|error| match error {
                Error::NotSupported(Unsupported::SequenceValue { value }) => {
                    let value = value.to_string();
                    DefinitionCause::SequenceValue { value, name: name.clone() }.into()
                }
                error => Problem::from(error),
            })
        })
    }
}

/// Refuses a definition that no sequence can have.
fn verify(definition: &SequenceDefinition, name: &str) -> Defined {
    let SequenceDefinition { ty, start, increment, minimum, maximum, .. } = definition;
    let name = || name.to_owned();
    let (least, most) = SequenceDefinition::range(ty).unwrap_or((0, 0));
    if *increment == 0 {
        return Err(DefinitionCause::SequenceIncrement { name: name() }.into());
    }
    if minimum >= maximum || *minimum < least || *maximum > most {
        return Err(DefinitionCause::SequenceLimits { name: name() }.into());
    }
    if !(minimum..=maximum).contains(&start) {
        return Err(DefinitionCause::SequenceStart { name: name() }.into());
    }
    if increment.unsigned_abs() > maximum.abs_diff(*minimum) {
        return Err(DefinitionCause::SequenceStep { name: name() }.into());
    }
    Ok(())
}

fn whole(expr: &Expr) -> Result<i128, Cause> {
    integer(expr).ok_or_else(|| Cause::not_supported("a sequence by values that are not constant"))
}

fn number(expr: &Option<Expr>) -> Result<Option<i128>, Cause> {
    expr.as_ref().map(whole).transpose()
}

/// A limit; `None` for that of the type.
fn limit(limit: &Option<Limit>) -> Result<Option<i128>, Cause> {
    match limit {
        None | Some(Limit::None) => Ok(None),
        Some(Limit::Value(value)) => whole(value).map(Some),
    }
}

/// How many values are reserved at once; `None` where it is not said.
fn cache(cache: &Option<Cache>, name: &str) -> Result<Option<u32>, Cause> {
    match cache {
        None => Ok(None),
        Some(Cache::Default) => Ok(Some(SequenceDefinition::DEFAULT_CACHE)),
        Some(Cache::None) => Ok(Some(0)),
        Some(Cache::Size(size)) => {
            let size = u32::try_from(whole(size)?).ok().filter(|size| *size > 0);
            let none = || DefinitionCause::SequenceCache { name: name.to_owned() }.into();
            size.map(Some).ok_or_else(none)
        }
    }
}
