//! Procedures of principals that older scripts call, in the place of statements.
//!
//! | procedure | statement |
//! |---|---|
//! | sp_adduser, sp_grantdbaccess | CREATE USER |
//! | sp_dropuser, sp_revokedbaccess | DROP USER |
//! | sp_addrole, sp_droprole | CREATE ROLE, DROP ROLE |
//! | sp_addrolemember, sp_droprolemember | ALTER ROLE … MEMBER |
//! | sp_addsrvrolemember, sp_dropsrvrolemember | ALTER SERVER ROLE … MEMBER |
//! | sp_addlogin, sp_droplogin, sp_password, sp_defaultdb | CREATE, DROP, ALTER LOGIN |
//! | sp_addapprole, sp_approlepassword, sp_dropapprole | CREATE, ALTER, DROP APPLICATION ROLE |
//! | sp_setapprole, sp_unsetapprole | EXECUTE AS, REVERT: the password says who |
//! | sp_changedbowner | ALTER AUTHORIZATION ON DATABASE |

use super::given::Given;
use super::{Caller, Finished, nested};
use crate::principal::app_role::{self, AppRoleChange};
use crate::principal::role::{self, Membership};
use crate::principal::server_role;
use crate::principal::user::{self, NewUser, UserLogin};
use extentdb_connection::output::Scope;
use extentdb_connection::request::Argument;
use extentdb_connection::step::{Run, Source, Text};
use extentdb_connection::stop::Stop;

/// A procedure of principals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    AddUser,
    DropUser,
    AddRole,
    DropRole,
    Member(Membership),
    ServerMember(Membership),
    AddLogin,
    DropLogin,
    Password,
    DefaultDatabase,
    ChangeOwner,
    AddAppRole,
    AppRolePassword,
    DropAppRole,
    SetAppRole,
    UnsetAppRole,
}

const TABLE: [(&str, Action); 21] = [
    ("sp_adduser", Action::AddUser),
    ("sp_grantdbaccess", Action::AddUser),
    ("sp_dropuser", Action::DropUser),
    ("sp_revokedbaccess", Action::DropUser),
    ("sp_addrole", Action::AddRole),
    ("sp_droprole", Action::DropRole),
    ("sp_addrolemember", Action::Member(Membership::Add)),
    ("sp_droprolemember", Action::Member(Membership::Drop)),
    ("sp_addsrvrolemember", Action::ServerMember(Membership::Add)),
    ("sp_dropsrvrolemember", Action::ServerMember(Membership::Drop)),
    ("sp_addlogin", Action::AddLogin),
    ("sp_droplogin", Action::DropLogin),
    ("sp_password", Action::Password),
    ("sp_defaultdb", Action::DefaultDatabase),
    ("sp_changedbowner", Action::ChangeOwner),
    ("sp_dropalias", Action::DropUser),
    ("sp_addapprole", Action::AddAppRole),
    ("sp_approlepassword", Action::AppRolePassword),
    ("sp_dropapprole", Action::DropAppRole),
    ("sp_setapprole", Action::SetAppRole),
    ("sp_unsetapprole", Action::UnsetAppRole),
];

/// The procedure of a name.
pub(super) fn named(name: &str) -> Option<(&'static str, Action)> {
    TABLE.iter().find(|own| own.0 == name).copied()
}

pub(super) fn run(
    run: &mut Run<'_>,
    arguments: &[Argument],
    (procedure, action): (&'static str, Action),
) -> Result<Finished, Stop> {
    let given = Given { procedure, arguments };
    let required = |place: usize, name: &str| {
        given.text(place, name).ok_or_else(|| Stop::from(given.missing(name)))
    };
    match action {
        Action::AddUser => add_user(run, given)?,
        Action::DropUser => user::drop(run, &required(0, "@name_in_db")?, false)?,
        Action::AddRole => {
            let name = required(0, "@rolename")?;
            role::create(run, &name, given.text(1, "@ownername").as_deref())?;
        }
        Action::DropRole => role::drop(run, &required(0, "@rolename")?, false)?,
        Action::Member(membership) => {
            let role_name = required(0, "@rolename")?;
            role::set_member(run, &role_name, &required(1, "@membername")?, membership)?;
        }
        Action::ServerMember(membership) => {
            let login = required(0, "@loginame")?;
            server_role::set_member(run, &required(1, "@rolename")?, &login, membership)?;
        }
        Action::AddLogin => {
            let name = required(0, "@loginame")?;
            let password = given.text(1, "@passwd").unwrap_or_default();
            let database = given.text(2, "@defdb");
            let database = database.map(|own| format!(", DEFAULT_DATABASE = {}", quoted(&own)));
            statement(
                run,
                &format!(
                    "CREATE LOGIN {} WITH PASSWORD = {}, CHECK_POLICY = OFF{}",
                    quoted(&name),
                    literal(&password),
                    database.unwrap_or_default()
                ),
            )?;
        }
        Action::DropLogin => {
            statement(run, &format!("DROP LOGIN {}", quoted(&required(0, "@loginame")?)))?;
        }
        Action::Password => {
            let old = given.text(0, "@old");
            let new = required(1, "@new")?;
            let own = run.connection.client.login.clone();
            let name = given.text(2, "@loginame").unwrap_or(own);
            let old = old.map(|old| format!(" OLD_PASSWORD = {}", literal(&old)));
            statement(
                run,
                &format!(
                    "ALTER LOGIN {} WITH PASSWORD = {}{}",
                    quoted(&name),
                    literal(&new),
                    old.unwrap_or_default()
                ),
            )?;
        }
        Action::DefaultDatabase => {
            let name = required(0, "@loginame")?;
            let database = required(1, "@defdb")?;
            statement(
                run,
                &format!(
                    "ALTER LOGIN {} WITH DEFAULT_DATABASE = {}",
                    quoted(&name),
                    quoted(&database)
                ),
            )?;
        }
        Action::AddAppRole | Action::AppRolePassword => {
            let name = required(0, "@rolename")?;
            let parameter = if action == Action::AddAppRole { "@password" } else { "@newpwd" };
            let password = Some(required(1, parameter)?);
            let to = AppRoleChange { password, ..AppRoleChange::default() };
            match action {
                Action::AddAppRole => app_role::create(run, &name, &to)?,
                _ => app_role::alter(run, &name, &to)?,
            }
        }
        Action::DropAppRole => app_role::drop(run, &required(0, "@rolename")?)?,
        Action::SetAppRole => return app_role::set(run, given),
        Action::UnsetAppRole => app_role::unset(run, given)?,
        Action::ChangeOwner => {
            let login = required(0, "@loginame")?;
            let database = run.connection.database.clone();
            statement(
                run,
                &format!(
                    "ALTER AUTHORIZATION ON DATABASE::{} TO {}",
                    quoted(&database),
                    quoted(&login)
                ),
            )?;
        }
    }
    Ok(Finished::default())
}

/// sp_adduser and sp_grantdbaccess: a login, the name that it gets, and a role.
fn add_user(run: &mut Run<'_>, given: Given<'_>) -> Result<(), Stop> {
    let login = given.text(0, "@loginame").ok_or_else(|| given.missing("@loginame"))?;
    let name = given.text(1, "@name_in_db").unwrap_or_else(|| login.clone());
    let has_schema = given.procedure == "sp_adduser";
    let user = NewUser {
        name: name.clone(),
        login: UserLogin::Named(login),
        default_schema: None,
    };
    user.create(run)?;
    match given.text(2, "@grpname").filter(|_| has_schema) {
        Some(group) => role::set_member(run, &group, &name, Membership::Add),
        None => Ok(()),
    }
}

/// A name in brackets.
fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

fn literal(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

/// Runs the statement that does the same.
fn statement(run: &mut Run<'_>, text: &str) -> Result<(), Stop> {
    let caller = Caller::default();
    let text = Text {
        source: Source::Text(text),
        scope: Scope::Procedure,
        parameters: Vec::new(),
        values: Vec::new(),
        inherited: caller.inherited,
        has_outer_handler: true,
        trigger: None,
    };
    nested(run, |run| run.text(text).map(|_| ()))
}
