//! EXECUTE AS and REVERT.

use extentdb_tsql::syntax::{ExecuteAs, ExecuteContext, Expr, Revert as RevertSyntax};
use extentdb_types::{Datum, SqlType};

use super::{Compiled, Context};
use crate::principal::denied;
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::{Frame, variable_named};
use extentdb_connection::output::StatementCode;
use extentdb_connection::scalar::Scalar;
use extentdb_connection::security::permission::{CLASS_LOGIN, code, role};
use extentdb_connection::security::{Identity, LoginToken, Revert, cannot_execute_as};
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;
use extentdb_connection::variant;

const COOKIE_BYTES: usize = 32;

struct ExecuteAsStep {
    who: Who,
    is_no_revert: bool,
    /// Variable that takes the cookie.
    cookie: Option<usize>,
}

enum Who {
    Caller,
    Login(Scalar),
    User(Scalar),
}

struct RevertStep(Option<usize>);

pub(super) fn execute_as(context: &Context<'_>, statement: &ExecuteAs) -> Compiled {
    let name = |expr: &Expr| {
        let collation = context.compiler.collation;
        context.compiler.assigned(expr, SqlType::NVarChar { len: Some(256), collation })
    };
    let who = match &statement.context {
        ExecuteContext::Caller => Who::Caller,
        ExecuteContext::Login(expr) => Who::Login(name(expr)?),
        ExecuteContext::User(expr) => Who::User(name(expr)?),
        _ => return Err(Cause::not_supported("EXECUTE AS SELF or OWNER as a statement")),
    };
    let cookie = statement.cookie.as_ref().map(|name| slot(context, &name.text)).transpose()?;
    Ok(Box::new(ExecuteAsStep { who, is_no_revert: statement.is_no_revert, cookie }))
}

pub(super) fn revert(context: &Context<'_>, statement: &RevertSyntax) -> Compiled {
    let cookie = statement.cookie.as_ref().map(|name| slot(context, &name.text)).transpose()?;
    Ok(Box::new(RevertStep(cookie)))
}

fn slot(context: &Context<'_>, name: &str) -> Result<usize, Cause> {
    let slot = variable_named(context.compiler.variables, name);
    slot.ok_or_else(|| Cause::UnknownVariable { name: name.to_owned() })
}

/// The identity of a login, which the session may take on.
pub(crate) fn login_identity(run: &Run<'_>, name: &str) -> Result<Identity, Cause> {
    let refused = || {
        denied(
            15406,
            format!(
                "Cannot execute as the server principal because the principal \"{name}\" does not \
                 exist, this type of principal cannot be impersonated, or you do not have \
                 permission."
            ),
        )
    };
    let connection = &run.connection;
    let login = LoginToken::named(&connection.server, name).ok_or_else(refused)?;
    let is_own = connection.acting_login().is_some_and(|own| own.id == login.id);
    let may = is_own
        || connection.has_on_server(code::CONTROL)
        || connection.has_on_server("IAL")
        || may_impersonate_login(run, login.id);
    if may { Ok(Identity::Login(login)) } else { Err(refused()) }
}

fn may_impersonate_login(run: &Run<'_>, login: i32) -> bool {
    let Identity::Login(own) = run.connection.identity() else { return false };
    let Ok(master) = run.connection.server.instance.database("master") else { return false };
    let Ok(model) = master.model() else { return false };
    let is_about = |it: &&extentdb_engine::model::Permission| {
        it.class == CLASS_LOGIN
            && it.id == login
            && (it.grantee == own.id || it.grantee == 2)
            && matches!(it.kind.trim_end(), code::IMPERSONATE | code::CONTROL)
    };
    let mut all = model.permissions().iter().filter(is_about);
    let is_denied = all.clone().any(|it| it.state == "D");
    !is_denied && all.any(|it| matches!(&*it.state, "G" | "W"))
}

/// The identity of a user of the current database, which the session may take on.
pub(crate) fn user_identity(run: &Run<'_>, name: &str) -> Result<Identity, Cause> {
    let database = run.connection.session.database().clone();
    let rights = run.connection.rights(&database)?;
    let user = rights.model().principal(name).filter(|own| !matches!(&*own.kind, "R" | "A"));
    let user = user.ok_or_else(|| cannot_execute_as(name))?;
    let may = rights.user == Some(user.id)
        || rights.is(role::OWNER)
        || rights.has_on_principal(user.id, code::IMPERSONATE);
    if !may || matches!(user.id, 3 | 4) {
        return Err(cannot_execute_as(name));
    }
    let login = LoginToken::of_sid(&run.connection.server, &user.sid);
    Ok(Identity::User { database: database.locks().database(), user: user.id, login })
}

impl Step for ExecuteAsStep {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        let name = |scalar: &Scalar, run: &Run<'_>, frame: &Frame| -> Result<String, Stop> {
            Ok(variant::text(&scalar.value(run.values(frame))?).unwrap_or_default())
        };
        let identity = match &self.who {
            // The caller of a text is who acts already.
            Who::Caller => run.connection.identity(),
            Who::Login(scalar) => login_identity(run, &name(scalar, run, frame)?)?,
            Who::User(scalar) => user_identity(run, &name(scalar, run, frame)?)?,
        };
        let mut revert = if self.is_no_revert { Revert::Never } else { Revert::Plain };
        if let Some(slot) = self.cookie {
            let mut cookie = vec![0; COOKIE_BYTES];
            run.connection.server.hooks.random(&mut cookie);
            if let Some(place) = frame.values.get_mut(slot) {
                *place = Datum::Binary(cookie.clone().into());
            }
            revert = Revert::Cookie(cookie);
        }
        let before = run.connection.security_depth();
        run.connection.impersonate(identity, revert);
        let database = run.connection.session.database().clone();
        if let Err(cause) = run.connection.verify_access(&database) {
            run.connection.restore_security(before);
            return Err(cause.into());
        }
        run.done(frame.scope, StatementCode::Other, None, false)?;
        Ok(RowCount::Unchanged)
    }
}

impl Step for RevertStep {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        let cookie = match self.0.and_then(|slot| frame.values.get(slot)) {
            Some(Datum::Binary(bytes)) => Some(bytes.to_vec()),
            _ => None,
        };
        if !run.connection.revert(cookie.as_deref()) {
            let text = "The current security context cannot be reverted. Please switch to the \
                        original database where 'Execute As' was called and try it again.";
            return Err(denied(15357, text).into());
        }
        run.done(frame.scope, StatementCode::Other, None, false)?;
        Ok(RowCount::Unchanged)
    }
}
