//! Users and roles of the current database: what statements and old procedures do with them.
//!
//! | statement | procedures |
//! |---|---|
//! | CREATE USER, DROP USER | sp_adduser, sp_grantdbaccess, sp_dropuser, sp_revokedbaccess |
//! | CREATE ROLE, DROP ROLE | sp_addrole, sp_droprole |
//! | CREATE, ALTER, DROP APPLICATION ROLE | sp_addapprole, sp_approlepassword, sp_dropapprole |
//! | ALTER ROLE … MEMBER | sp_addrolemember, sp_droprolemember |

pub(crate) mod app_role;
pub(crate) mod role;
pub(crate) mod server_role;
pub(crate) mod user;

use extentdb_base::sync::Arc;
use extentdb_connection::cause::Cause;
use extentdb_connection::security::Rights;
use extentdb_connection::security::permission::role as fixed;
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;
use extentdb_engine::model::Permission;

/// dbo, guest, INFORMATION_SCHEMA and sys.
pub(crate) const SYSTEM_USERS: std::ops::RangeInclusive<i32> = 1..=4;
/// Begins the security identifiers of users without login, of application roles, and of roles.
const WITHOUT_LOGIN: [u8; 12] = [1, 5, 0, 0, 0, 0, 0, 9, 3, 0, 0, 0];
const OF_APPLICATION: [u8; 12] = [1, 5, 0, 0, 0, 0, 0, 9, 2, 0, 0, 0];
const OF_ROLE: [u8; 12] = [1, 5, 0, 0, 0, 0, 0, 9, 4, 0, 0, 0];

/// A message of principals.
pub(crate) fn denied(number: i32, text: impl Into<String>) -> Cause {
    Cause::Denied { number, text: text.into() }
}

/// 15151
pub(crate) fn cannot(action: &str, kind: &str, name: &str) -> Cause {
    denied(
        15151,
        format!(
            "Cannot {action} the {kind} '{name}', because it does not exist or you do not have \
             permission."
        ),
    )
}

/// 15247
pub(crate) fn not_permitted() -> Cause {
    denied(15247, "User does not have permission to perform this action.")
}

/// 15023
pub(crate) fn exists(name: &str) -> Cause {
    let text = format!("User, group, or role '{name}' already exists in the current database.");
    denied(15023, text)
}

/// A definition begins; what the session may do in the current database.
pub(crate) fn begin(run: &mut Run<'_>) -> Result<Arc<Rights>, Stop> {
    if run.connection.transaction.is_doomed {
        return Err(Cause::Doomed.into());
    }
    let database = run.connection.session.database().clone();
    if database.is_read_only() {
        let name = database.name().to_owned();
        let error = extentdb_engine::Error::ReadOnly { database: name };
        return Err(run.connection.engine_cause(&error).into());
    }
    run.connection.begin_implicit(run.output)?;
    Ok(run.connection.rights(&database)?)
}

/// Does something with the engine's session.
pub(crate) fn change<T>(
    run: &mut Run<'_>,
    work: impl FnOnce(&mut extentdb_engine::Session) -> Result<T, extentdb_engine::Error>,
) -> Result<T, Stop> {
    let done = work(&mut run.connection.session);
    Ok(done.map_err(|error| run.connection.engine_cause(&error))?)
}

/// A new security identifier.
fn security_id(run: &Run<'_>, of: [u8; 12]) -> Vec<u8> {
    let mut random = [0; 16];
    run.connection.server.hooks.random(&mut random);
    // Where random bytes are none, the identifiers still differ.
    let count = run.connection.session.database().model_version();
    random.iter_mut().zip(count.to_le_bytes()).for_each(|(own, byte)| *own ^= byte);
    of.into_iter().chain(random).collect()
}

/// Refuses to drop a principal that owns something, or has granted something.
fn verify_owns_nothing(rights: &Rights, id: i32) -> Result<(), Cause> {
    let model = rights.model();
    if model.schemas().any(|own| own.owner == id) {
        let text = "The database principal owns a schema in the database, and cannot be dropped.";
        return Err(denied(15138, text));
    }
    let is_role = |own: &extentdb_engine::model::Principal| {
        own.kind == "R" && own.id != id && !fixed::FIXED.contains(&own.id)
    };
    if model.principals().iter().any(|own| is_role(own) && model.role_owner(own.id) == id) {
        let text = "The database principal owns a database role and cannot be dropped.";
        return Err(denied(15421, text));
    }
    let is_grantor = |own: &Permission| own.grantor == id;
    let of_objects = model.objects().any(|own| own.permissions.iter().any(is_grantor));
    if of_objects || model.permissions().iter().any(is_grantor) {
        let text = "The database principal has granted or denied permissions to objects in the \
                    database and cannot be dropped.";
        return Err(denied(15284, text));
    }
    Ok(())
}
