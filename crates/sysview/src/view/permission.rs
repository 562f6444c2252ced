//! Permissions: `sys.database_permissions`, `sys.server_permissions`, `sys.securable_classes`.

use extentdb_engine::model::Permission;

use crate::code;
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;

/// Class of permissions on the server.
const CLASS_SERVER: u8 = 100;
/// CONNECT SQL.
const CONNECT_SQL: &str = "COSQ";

/// The permissions of a database: those on objects, and those on all else.
pub(super) fn permissions<'s>(source: &Source<'s>) -> Vec<&'s Permission> {
    let own = source.objects().into_iter().flat_map(|model| &model.permissions);
    let of_database = source.model.permissions().iter().filter(|it| it.class < CLASS_SERVER);
    let all = of_database.chain(own).filter(|it| source.sees_principal(it.grantee));
    let mut all: Vec<&Permission> = all.collect();
    all.sort_by(|a, b| {
        let key = |it: &'s Permission| (it.class, it.id, it.sub_id, it.grantee, &it.kind);
        key(a).cmp(&key(b))
    });
    all
}

fn shared<T: std::borrow::Borrow<Permission>>() -> Columns<T> {
    Columns::new()
        .put("class", |it: &T| it.borrow().class.into())
        .put("class_desc", |it| code::securable_class(it.borrow().class).into())
        .put("major_id", |it| it.borrow().id.into())
        .put("minor_id", |it| it.borrow().sub_id.into())
        .put("grantee_principal_id", |it| it.borrow().grantee.into())
        .put("grantor_principal_id", |it| it.borrow().grantor.into())
        .put("type", |it| it.borrow().kind.as_str().into())
        .put("permission_name", |it| code::permission(&it.borrow().kind).into())
        .put("state", |it| it.borrow().state.as_str().into())
        .put("state_desc", |it| code::permission_state(&it.borrow().state).into())
}

/// `sys.database_permissions`.
pub(super) fn of_database(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    rows.add(&shared::<&Permission>(), permissions(source))
}

/// `sys.server_permissions`: each login may connect.
pub(super) fn of_server(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let items = source.logins().into_iter().map(|login| Permission {
        class: CLASS_SERVER,
        id: 0,
        sub_id: 0,
        grantee: login.id,
        grantor: 1,
        kind: CONNECT_SQL.to_owned(),
        state: "G".to_owned(),
    });
    let master = source.instance.database_by_id(extentdb_base::DatabaseId::MASTER)?.model()?;
    let stored = master.permissions().iter().filter(|it| it.class >= CLASS_SERVER).cloned();
    rows.add(&shared::<Permission>(), items.chain(stored))
}

/// `sys.securable_classes`.
pub(super) fn securable_classes(_: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("class_desc", |it: &(u8, &str)| it.1.into())
        .put("class", |it| it.0.into());
    rows.add(&columns, code::SECURABLE_CLASSES)
}
