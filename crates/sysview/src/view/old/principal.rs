//! `sys.sysusers`, `sys.sysmembers`, `sys.syslogins`.

use extentdb_types::DateTime;

use crate::base::{ListedPrincipal, principals};
use crate::columns::Columns;
use crate::error::Error;
use crate::facts::LoginFacts;
use crate::rows::Rows;
use crate::source::Source;

/// The principal guest, which may not connect unless it is granted.
const GUEST: i32 = 2;
/// INFORMATION_SCHEMA and sys: nobody connects as these.
const NOBODY: std::ops::RangeInclusive<i32> = 3..=4;

fn is_kind(it: &ListedPrincipal, kinds: &[&str]) -> bool {
    kinds.contains(&it.kind.as_str())
}

fn has_access(it: &ListedPrincipal) -> bool {
    is_kind(it, &["S", "U", "G"]) && it.id != GUEST && !NOBODY.contains(&it.id)
}

/// `sys.sysusers`.
pub(in crate::view) fn users(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("uid", |it: &ListedPrincipal| it.id.into())
        .put("name", |it| (&it.name).into())
        .put("sid", |it| it.sid.as_deref().into())
        .put("createdate", |it| it.created.into())
        .put("updatedate", |it| it.modified.into())
        .put("gid", |it| if is_kind(it, &["R"]) { it.id } else { 0 }.into())
        .put("hasdbaccess", |it| has_access(it).into())
        .put("islogin", |it| is_kind(it, &["S", "U", "G"]).into())
        .put("isntname", |it| is_kind(it, &["U", "G"]).into())
        .put("isntgroup", |it| is_kind(it, &["G"]).into())
        .put("isntuser", |it| is_kind(it, &["U"]).into())
        .put("issqluser", |it| is_kind(it, &["S"]).into())
        .put("issqlrole", |it| is_kind(it, &["R"]).into())
        .put("isapprole", |it| is_kind(it, &["A"]).into())
        .zero(&["status", "altuid", "isaliased"])
        .null(&["roles", "password", "environ"]);
    let listed = principals(source.database)?;
    // Those with greater ids cannot be told in a smallint.
    rows.add(&columns, listed.into_iter().filter(|it| it.id <= i16::MAX.into()))
}

/// `sys.sysmembers`.
pub(in crate::view) fn members(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("memberuid", |it: &(i32, i32)| it.1.into())
        .put("groupuid", |it| it.0.into());
    rows.add(&columns, source.model.role_members().iter().copied())
}

/// `status` of a login that may connect.
const MAY_CONNECT: i32 = 9;

/// `sys.syslogins`.
pub(in crate::view) fn logins(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("sid", |it: &LoginFacts| it.sid.as_slice().into())
        .put("status", |_| MAY_CONNECT.into())
        .put("createdate", |it| made(it).0.into())
        .put("updatedate", |it| made(it).1.into())
        .put("accdate", |it| made(it).0.into())
        .put("name", |it| (&it.name).into())
        .put("dbname", |it| (&it.database).into())
        .put("language", |_| "us_english".into())
        .put("loginname", |it| (&it.name).into())
        .put("sysadmin", |it| it.roles.contains(&3).into())
        .put("securityadmin", |it| it.roles.contains(&4).into())
        .put("serveradmin", |it| it.roles.contains(&5).into())
        .put("setupadmin", |it| it.roles.contains(&6).into())
        .put("processadmin", |it| it.roles.contains(&7).into())
        .put("diskadmin", |it| it.roles.contains(&8).into())
        .put("dbcreator", |it| it.roles.contains(&9).into())
        .put("bulkadmin", |it| it.roles.contains(&10).into())
        .one(&["hasaccess"])
        .zero(&["totcpu", "totio", "spacelimit", "timelimit", "resultlimit", "denylogin"])
        .zero(&["isntname", "isntgroup", "isntuser"])
        .zero(&["##MS_ServerStateReader##", "##MS_ServerStateManager##"])
        .zero(&["##MS_DefinitionReader##", "##MS_DatabaseConnector##"])
        .zero(&["##MS_DatabaseManager##", "##MS_LoginManager##"])
        .zero(&["##MS_SecurityDefinitionReader##", "##MS_PermissionDefinitionReader##"])
        .zero(&["##MS_ServerSecurityStateReader##", "##MS_ServerPermissionStateReader##"])
        .null(&["password"]);
    rows.add(&columns, source.logins())
}

fn made(login: &LoginFacts) -> (DateTime, DateTime) {
    login.dates.unwrap_or((DateTime::BASE, DateTime::BASE))
}
