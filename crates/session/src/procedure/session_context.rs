//! sp_set_session_context: `@key`, `@value`, `@read_only`.

use super::Finished;
use super::given::Given;
use extentdb_connection::cause::Cause;
use extentdb_connection::request::Argument;
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;
use extentdb_connection::variant;

const NAME: &str = "sp_set_session_context";

pub(super) fn run(run: &mut Run<'_>, arguments: &[Argument]) -> Result<Finished, Stop> {
    let given = Given { procedure: NAME, arguments };
    let key = given.text(0, "@key").filter(|key| !key.is_empty());
    let key = key.ok_or_else(|| given.missing("@key"))?;
    let value = given.argument(1, "@value").ok_or_else(|| given.missing("@value"))?;
    let is_read_only = given.number(2, "@read_only").is_some_and(|it| it != 0);
    let ty = value.ty;
    let value = match (value.value.clone(), ty) {
        (value @ extentdb_types::Datum::Variant(_), _) => value,
        (_, Some(ty)) if ty.is_max() || ty.is_lob() => {
            return Err(Cause::not_supported("a value of this type in the session context").into());
        }
        (value, Some(ty)) => variant::wrap(value, ty),
        (_, None) => extentdb_types::Datum::Null,
    };
    run.connection.context.set(&key, value, is_read_only)?;
    Ok(Finished::default())
}
