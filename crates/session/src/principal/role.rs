//! Roles of a database, and their members.

use extentdb_connection::cause::Cause;
use extentdb_connection::security::permission::{code, role as fixed};
use extentdb_connection::security::{DBO, Rights};
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;
use extentdb_engine::{PrincipalChange, PrincipalSpec};

use super::{OF_ROLE, begin, cannot, change, denied, exists, security_id, verify_owns_nothing};

pub(crate) fn create(run: &mut Run<'_>, name: &str, owner: Option<&str>) -> Result<(), Stop> {
    let rights = begin(run)?;
    if !rights.has_on_database("CRRL") {
        return Err(super::not_permitted().into());
    }
    if rights.model().principal(name).is_some() {
        return Err(exists(name).into());
    }
    let owner = match owner {
        None => rights.user.unwrap_or(DBO),
        Some(owner) => match rights.model().principal(owner) {
            Some(own) if rights.is(own.id) || rights.has_on_principal(own.id, "IM") => own.id,
            _ => return Err(cannot("find", "principal", owner).into()),
        },
    };
    let spec = PrincipalSpec {
        name: name.to_owned(),
        kind: 'R',
        sid: security_id(run, OF_ROLE),
        default_schema: None,
        owner: Some(owner),
        password: None,
    };
    change(run, |session| session.create_principal(&spec).map(drop_id))
}

fn drop_id(_: i32) {}

/// A role by its name, and whether it is one of the system.
fn role(rights: &Rights, action: &str, name: &str) -> Result<i32, Cause> {
    let found = rights.model().principal(name).filter(|own| own.kind == "R");
    found.map(|own| own.id).ok_or_else(|| cannot(action, "role", name))
}

fn is_fixed(id: i32) -> bool {
    id == fixed::PUBLIC || fixed::FIXED.contains(&id)
}

pub(crate) fn rename(run: &mut Run<'_>, name: &str, new: &str) -> Result<(), Stop> {
    let rights = begin(run)?;
    let id = role(&rights, "alter", name)?;
    if is_fixed(id) {
        return Err(denied(15150, format!("Cannot alter the role '{name}'.")).into());
    }
    if !rights.has_on_principal(id, code::ALTER) {
        return Err(cannot("alter", "role", name).into());
    }
    if !new.eq_ignore_ascii_case(name) && rights.model().principal(new).is_some() {
        return Err(exists(new).into());
    }
    let to = PrincipalChange { name: Some(new.to_owned()), ..PrincipalChange::default() };
    change(run, |session| session.alter_principal(id, &to))
}

pub(crate) fn drop(run: &mut Run<'_>, name: &str, if_exists: bool) -> Result<(), Stop> {
    let rights = begin(run)?;
    let found = rights.model().principal(name).filter(|own| own.kind == "R");
    let Some(id) = found.map(|own| own.id) else {
        return if if_exists { Ok(()) } else { Err(cannot("drop", "role", name).into()) };
    };
    if is_fixed(id) {
        return Err(denied(15150, format!("Cannot drop the role '{name}'.")).into());
    }
    if !rights.has_on_principal(id, code::ALTER) {
        return Err(cannot("drop", "role", name).into());
    }
    if rights.model().role_members().iter().any(|(role, _)| *role == id) {
        let text = "The role has members. It must be empty before it can be dropped.";
        return Err(denied(15144, text).into());
    }
    verify_owns_nothing(&rights, id)?;
    change(run, |session| session.drop_principal(id))
}

/// What becomes of a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Membership {
    Add,
    Drop,
}

pub(crate) fn set_member(
    run: &mut Run<'_>,
    role_name: &str,
    member: &str,
    membership: Membership,
) -> Result<(), Stop> {
    let rights = begin(run)?;
    let id = role(&rights, "alter", role_name)?;
    if id == fixed::PUBLIC {
        return Err(denied(15081, "Membership of the public role cannot be changed.").into());
    }
    let may = match fixed::FIXED.contains(&id) {
        true => rights.is_dbo() || rights.is(fixed::OWNER),
        false => rights.has_on_principal(id, code::ALTER),
    };
    if !may {
        return Err(cannot("alter", "role", role_name).into());
    }
    let action = match membership {
        Membership::Add => "add",
        Membership::Drop => "drop",
    };
    let found = rights.model().principal(member);
    let found = found.ok_or_else(|| cannot(action, "principal", member))?;
    if matches!(found.id, 1 | 3 | 4) {
        return Err(denied(15405, format!("Cannot use the special principal '{member}'.")).into());
    }
    if found.id == fixed::PUBLIC || fixed::FIXED.contains(&found.id) {
        return Err(cannot(action, "principal", member).into());
    }
    let member = found.id;
    let is_member = rights.model().role_members().contains(&(id, member));
    if membership == Membership::Add && (member == id || contains(&rights, member, id)) {
        return Err(denied(15413, "Cannot make a role a member of itself.").into());
    }
    match (membership, is_member) {
        (Membership::Add, false) => change(run, |session| session.add_role_member(id, member)),
        (Membership::Drop, true) => change(run, |session| session.drop_role_member(id, member)),
        _ => Ok(()),
    }
}

/// Is a principal among the members of a role, and of theirs?
fn contains(rights: &Rights, role: i32, principal: i32) -> bool {
    let mut open = vec![role];
    let mut seen = Vec::new();
    while let Some(role) = open.pop() {
        if seen.contains(&role) {
            continue;
        }
        seen.push(role);
        let members = rights.model().role_members().iter().filter(|(own, _)| *own == role);
        open.extend(members.map(|(_, member)| *member));
    }
    seen.contains(&principal)
}
