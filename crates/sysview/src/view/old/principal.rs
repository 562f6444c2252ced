//! `sys.sysusers`, `sys.sysmembers`.

use crate::base::{ListedPrincipal, principals};
use crate::columns::Columns;
use crate::error::Error;
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
