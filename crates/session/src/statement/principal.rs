//! CREATE, ALTER and DROP of users, roles and members of server roles.

use extentdb_tsql::syntax::{AdminStatement, Clause, Literal, Part};

use super::Compiled;
use crate::principal::app_role::{self, AppRoleChange};
use crate::principal::role::{self, Membership};
use crate::principal::server_role;
use crate::principal::user::{self, NewUser, UserChange, UserLogin};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::output::StatementCode;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

/// What is done.
enum PrincipalStep {
    CreateUser(NewUser),
    AlterUser { name: String, to: UserChange },
    DropUser { name: String, if_exists: bool },
    CreateRole { name: String, owner: Option<String> },
    RenameRole { name: String, new: String },
    DropRole { name: String, if_exists: bool },
    Member { role: String, member: String, membership: Membership },
    CreateAppRole { name: String, to: AppRoleChange },
    AlterAppRole { name: String, to: AppRoleChange },
    DropAppRole { name: String },
    ServerMember { role: String, login: String, membership: Membership },
}

pub(super) fn compile(admin: &AdminStatement) -> Compiled {
    let clause = &admin.clause;
    let names: Vec<String> = all_names(clause);
    let name = names.first().cloned().unwrap_or_default();
    let second = names.get(1).cloned().unwrap_or_default();
    let if_exists = clause.has("EXISTS");
    let membership = if clause.has("ADD") { Membership::Add } else { Membership::Drop };
    Ok(Box::new(match admin.head {
        "CREATE USER" => PrincipalStep::CreateUser(new_user(name, clause)?),
        "ALTER USER" => PrincipalStep::AlterUser { name, to: user_change(clause)? },
        "DROP USER" => PrincipalStep::DropUser { name, if_exists },
        "CREATE ROLE" => PrincipalStep::CreateRole { name, owner: names.get(1).cloned() },
        "ALTER ROLE" if clause.has("WITH") => PrincipalStep::RenameRole { name, new: second },
        "ALTER ROLE" => PrincipalStep::Member { role: name, member: second, membership },
        "DROP ROLE" => PrincipalStep::DropRole { name, if_exists },
        "CREATE APPLICATION ROLE" => {
            PrincipalStep::CreateAppRole { name, to: app_role_change(clause) }
        }
        "ALTER APPLICATION ROLE" => {
            PrincipalStep::AlterAppRole { name, to: app_role_change(clause) }
        }
        "DROP APPLICATION ROLE" => PrincipalStep::DropAppRole { name },
        "ALTER SERVER ROLE" if !clause.has("WITH") => {
            PrincipalStep::ServerMember { role: name, login: second, membership }
        }
        head => return Err(Cause::StatementNotSupported { name: head.to_owned() }),
    }))
}

/// All names of a clause and of those within it, in order; `public` is one.
fn all_names(clause: &Clause) -> Vec<String> {
    let mut names = Vec::new();
    for part in &clause.parts {
        match part {
            Part::Name(name) => names.push(name.text.to_string()),
            Part::Clause(inner) if inner.rule == "principal" => match inner.has("PUBLIC") {
                true => names.push("public".to_owned()),
                false => names.extend(all_names(inner)),
            },
            _ => {}
        }
    }
    names
}

fn new_user(name: String, clause: &Clause) -> Result<NewUser, Cause> {
    let mut user = NewUser {
        login: UserLogin::Named(name.clone()),
        name,
        default_schema: None,
    };
    if clause.has("WITHOUT") {
        user.login = UserLogin::Without;
    }
    if let Some(source) = clause.first("user_source") {
        let login = source.names().next().map(|name| name.text.to_string());
        match login.filter(|_| source.has("LOGIN")) {
            Some(login) => user.login = UserLogin::Named(login),
            None => return Err(Cause::not_supported("a user of a certificate, key or provider")),
        }
    }
    for option in clause.all("user_option") {
        if option.has("PASSWORD") {
            return Err(Cause::Denied {
                number: 33_233,
                text: "You can only create a user with a password in a contained database."
                    .to_owned(),
            });
        }
        if !option.has("DEFAULT_SCHEMA") {
            return Err(Cause::not_supported("this option of CREATE USER"));
        }
        user.default_schema = option.names().next().map(|name| name.text.to_string());
    }
    Ok(user)
}

fn user_change(clause: &Clause) -> Result<UserChange, Cause> {
    let mut to = UserChange::default();
    for option in clause.all("alter_user_option") {
        let name = option.names().next().map(|name| name.text.to_string());
        if option.has("NAME") {
            to.name = name;
        } else if option.has("DEFAULT_SCHEMA") {
            to.default_schema = Some(name.unwrap_or_else(|| "dbo".to_owned()));
        } else if option.has("LOGIN") {
            to.login = name;
        } else {
            return Err(Cause::not_supported("this option of ALTER USER"));
        }
    }
    Ok(to)
}

fn app_role_change(clause: &Clause) -> AppRoleChange {
    let mut to = AppRoleChange::default();
    for option in clause.all("application_role_option") {
        let name = option.names().next().map(|name| name.text.to_string());
        if option.has("PASSWORD") {
            to.password = option.literals().next().and_then(text_of).map(str::to_owned);
        } else if option.has("DEFAULT_SCHEMA") {
            to.default_schema = name;
        } else {
            to.name = name;
        }
    }
    to
}

fn text_of(literal: &Literal) -> Option<&str> {
    match literal {
        Literal::String(text) => Some(&text.value),
        _ => None,
    }
}

impl Step for PrincipalStep {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        match self {
            PrincipalStep::CreateUser(user) => user.create(run)?,
            PrincipalStep::AlterUser { name, to } => user::alter(run, name, to)?,
            PrincipalStep::DropUser { name, if_exists } => user::drop(run, name, *if_exists)?,
            PrincipalStep::CreateRole { name, owner } => role::create(run, name, owner.as_deref())?,
            PrincipalStep::RenameRole { name, new } => role::rename(run, name, new)?,
            PrincipalStep::DropRole { name, if_exists } => role::drop(run, name, *if_exists)?,
            PrincipalStep::Member { role, member, membership } => {
                role::set_member(run, role, member, *membership)?;
            }
            PrincipalStep::CreateAppRole { name, to } => app_role::create(run, name, to)?,
            PrincipalStep::AlterAppRole { name, to } => app_role::alter(run, name, to)?,
            PrincipalStep::DropAppRole { name } => app_role::drop(run, name)?,
            PrincipalStep::ServerMember { role, login, membership } => {
                server_role::set_member(run, role, login, *membership)?;
            }
        }
        run.done(frame.scope, StatementCode::Other, None, false)?;
        Ok(RowCount::Rows(0))
    }
}
