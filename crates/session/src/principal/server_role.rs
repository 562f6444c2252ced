//! Members of the fixed server roles.

use extentdb_connection::cause::Cause;
use extentdb_connection::login::ServerRoles;
use extentdb_connection::security::Identity;
use extentdb_connection::security::permission::code;
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;

use super::role::Membership;
use super::{cannot, denied};

/// ALTER SERVER ROLE … MEMBER, sp_addsrvrolemember, sp_dropsrvrolemember.
pub(crate) fn set_member(
    run: &mut Run<'_>,
    role_name: &str,
    login: &str,
    membership: Membership,
) -> Result<(), Stop> {
    let connection = &run.connection;
    let Some(role) = ServerRoles::named(role_name) else {
        return Err(cannot("alter", "server role", role_name).into());
    };
    // Who acts as a user of one database, dbo among them, is nobody on the server.
    let is_member = match connection.identity() {
        Identity::Login(own) => own.roles.has(role) || connection.is_sysadmin(),
        Identity::User { .. } => false,
    };
    if !is_member && !connection.has_on_server(code::ALTER_ANY_SERVER_ROLE) {
        return Err(cannot("alter", "server role", role_name).into());
    }
    if login.eq_ignore_ascii_case("sa") {
        return Err(denied(15405, "Cannot use the special principal 'sa'.").into());
    }
    let server = connection.server.clone();
    verify_kept(run)?;
    if server.with_logins(|logins| logins.named(login).is_none()) {
        let action = if membership == Membership::Add { "add" } else { "drop" };
        return Err(cannot(action, "principal", login).into());
    }
    let stored = server.change_logins(|logins| {
        if let Some(own) = logins.named_mut(login) {
            own.roles = match membership {
                Membership::Add => own.roles.with(role),
                Membership::Drop => own.roles.without(role),
            };
        }
    });
    Ok(stored.map_err(|text| Cause::Engine { text })?)
}

/// Refuses what a master of an earlier version cannot keep: its logins are all of sysadmin.
pub(crate) fn verify_kept(run: &Run<'_>) -> Result<(), Cause> {
    let kept = run.connection.server.keeps_logins().map_err(|text| Cause::Engine { text })?;
    match kept {
        true => Ok(()),
        false => Err(Cause::not_supported(
            "other logins than those there are, in a data folder of an earlier version",
        )),
    }
}
