//! Users and roles: rows of `sysowners`. Members, owners, permissions.
//!
//! ```text
//! sysowners                       id, name, type S or R, sid, default schema
//! syssingleobjrefs  50, 51        the owner of a schema, of a role
//! sysmultiobjrefs   25            depid = member, indepid = role
//! sysprivs                        class, id, sub id, grantee, grantor, type: state
//! ```
//!
//! Whether somebody may do any of this is decided by the caller, from the model.

use extentdb_base::sync::lock;
use extentdb_catalog::load::{CLASS_ROLE_MEMBER, CLASS_ROLE_OWNER};
use extentdb_catalog::model::Permission;
use extentdb_catalog::table::values::RowValues;
use extentdb_txn::log_time;

use crate::catalog::system_table::{Cells, byte, int, name_cell, number, text};
use crate::error::Error;
use crate::error::invalid::verify_name;
use crate::session::{Session, StatementContext};

/// From here on ids are those of the fixed roles, below are those of users and their roles.
const FIRST_FIXED_ROLE: i64 = 16_384;
/// `sysprivs.class` of users and roles.
const PRINCIPAL_CLASS: u8 = 4;
/// Columns of `sysowners`.
const ID: usize = 0;
const NAME: usize = 1;
const SID: usize = 3;
const PASSWORD: usize = 4;
const DEFAULT_SCHEMA: usize = 5;
const MODIFIED: usize = 8;
/// Length of `sysprivs.type`.
const PERMISSION_BYTES: usize = 4;

/// A new user or role.
#[derive(Clone, Debug)]
pub struct PrincipalSpec {
    /// Name, 1 to 128 UTF-16 units.
    pub name: String,
    /// `S` user, `R` role, `A` application role.
    pub kind: char,
    /// Security identifier: of a user that of its login.
    pub sid: Vec<u8>,
    /// Schema that the names of a user are looked up in first.
    pub default_schema: Option<String>,
    /// The owner of a role.
    pub owner: Option<i32>,
    /// The hash of the password of an application role.
    pub password: Option<Vec<u8>>,
}

/// What ALTER USER and ALTER ROLE change.
#[derive(Clone, Default, Debug)]
pub struct PrincipalChange {
    /// The new name.
    pub name: Option<String>,
    /// The security identifier of another login.
    pub sid: Option<Vec<u8>>,
    /// The schema that names are looked up in first.
    pub default_schema: Option<String>,
    /// The hash of another password of an application role.
    pub password: Option<Vec<u8>>,
}

impl Session {
    /// Makes a user or role; returns its id.
    ///
    /// # Errors
    /// There is a principal of this name.
    pub fn create_principal(&mut self, spec: &PrincipalSpec) -> Result<i32, Error> {
        self.statement("CREATE PRINCIPAL", |context| {
            let db = context.db();
            let _ddl = lock(&db.ddl);
            let id = context.free_principal_id(&spec.name)?;
            let now = log_time(&*db.options.clock);
            let (days, ticks) = (now.days as i32, now.ticks);
            let mut row = RowValues::new();
            row.int(id).ntext(&spec.name).raw(&[spec.kind as u8]).raw(&spec.sid);
            match &spec.password {
                Some(password) => row.raw(password),
                None => row.null(),
            };
            match &spec.default_schema {
                Some(schema) => row.ntext(schema),
                None => row.null(),
            };
            row.int(0).datetime(days, ticks).datetime(days, ticks);
            db.catalog.system("sysowners")?.insert(context.tx()?, &row)?;
            if let Some(owner) = spec.owner {
                context.insert_owner(CLASS_ROLE_OWNER, id, owner)?;
            }
            Ok(id)
        })
    }

    /// Gives a user or role another name, login or schema.
    ///
    /// # Errors
    /// The new name is taken.
    pub fn alter_principal(&mut self, id: i32, change: &PrincipalChange) -> Result<(), Error> {
        self.statement("ALTER PRINCIPAL", |context| {
            let db = context.db();
            let _ddl = lock(&db.ddl);
            if let Some(name) = &change.name {
                context.verify_free_name(name, id)?;
            }
            let owners = db.catalog.system("sysowners")?;
            let now = log_time(&*db.options.clock);
            let mut stamp = RowValues::new();
            stamp.datetime(now.days as i32, now.ticks);
            let stamp = crate::catalog::system_table::cells_of(&stamp, 1).remove(0);
            for old in owners.rows(&[int(id)])? {
                let mut new = old.clone();
                if let Some(name) = &change.name {
                    new[NAME] = name_cell(name);
                }
                if let Some(sid) = &change.sid {
                    new[SID] = extentdb_catalog::layout::Cell::Bytes(sid.clone().into());
                }
                if let Some(password) = &change.password {
                    new[PASSWORD] = extentdb_catalog::layout::Cell::Bytes(password.clone().into());
                }
                if let Some(schema) = &change.default_schema {
                    new[DEFAULT_SCHEMA] = name_cell(schema);
                }
                new[MODIFIED] = stamp.clone();
                owners.delete(context.tx()?, &old)?;
                owners.insert_cells(context.tx()?, &new)?;
            }
            Ok(())
        })
    }

    /// Drops a user or role that owns nothing, with its memberships and permissions.
    ///
    /// # Errors
    /// A page of the catalog cannot be read or written.
    pub fn drop_principal(&mut self, id: i32) -> Result<(), Error> {
        self.statement("DROP PRINCIPAL", |context| {
            let db = context.db();
            let _ddl = lock(&db.ddl);
            let is_of = |row: &&Cells| {
                let class = row.first().and_then(number);
                class == Some(CLASS_ROLE_MEMBER.into())
                    && (row.get(1).and_then(number) == Some(id.into())
                        || row.get(3).and_then(number) == Some(id.into()))
            };
            let members = db.catalog.system("sysmultiobjrefs")?;
            for row in members.rows(&[])?.iter().filter(is_of) {
                members.delete(context.tx()?, row)?;
            }
            let permissions = db.catalog.system("sysprivs")?;
            let is_of = |row: &&Cells| row.get(3).and_then(number) == Some(id.into());
            for row in permissions.rows(&[])?.iter().filter(is_of) {
                permissions.delete(context.tx()?, row)?;
            }
            context.delete_where("sysprivs", &[byte(PRINCIPAL_CLASS), int(id)])?;
            context.delete_where("sysxprops", &[byte(PRINCIPAL_CLASS), int(id)])?;
            context.delete_where("syssingleobjrefs", &[int(id), byte(CLASS_ROLE_OWNER)])?;
            context.delete_where("sysowners", &[int(id)])
        })
    }

    /// Makes a principal a member of a role.
    ///
    /// # Errors
    /// A page of the catalog cannot be read or written.
    pub fn add_role_member(&mut self, role: i32, member: i32) -> Result<(), Error> {
        self.statement("ADD MEMBER", |context| {
            let db = context.db();
            let _ddl = lock(&db.ddl);
            let mut row = RowValues::new();
            row.tinyint(CLASS_ROLE_MEMBER).int(member).int(0).int(role).int(0).int(0);
            db.catalog.system("sysmultiobjrefs")?.insert(context.tx()?, &row)
        })
    }

    /// A principal is no member of a role any more.
    ///
    /// # Errors
    /// As for [`Session::add_role_member`].
    pub fn drop_role_member(&mut self, role: i32, member: i32) -> Result<(), Error> {
        self.statement("DROP MEMBER", |context| {
            let _ddl = lock(&context.db().ddl);
            let key = [int(member), byte(CLASS_ROLE_MEMBER), int(0), int(role)];
            context.delete_where("sysmultiobjrefs", &key)
        })
    }

    /// Gives a schema (class 50) or role (class 51) another owner.
    ///
    /// # Errors
    /// As for [`Session::add_role_member`].
    pub fn set_owner(&mut self, class: u8, id: i32, owner: i32) -> Result<(), Error> {
        self.statement("ALTER AUTHORIZATION", |context| {
            let _ddl = lock(&context.db().ddl);
            context.delete_where("syssingleobjrefs", &[int(id), byte(class)])?;
            context.insert_owner(class, id, owner)
        })
    }

    /// Takes permissions away, then stores others.
    ///
    /// # Errors
    /// As for [`Session::add_role_member`].
    pub fn change_permissions(
        &mut self,
        removed: &[Permission],
        added: &[Permission],
    ) -> Result<(), Error> {
        self.statement("GRANT", |context| {
            let db = context.db();
            let _ddl = lock(&db.ddl);
            let table = db.catalog.system("sysprivs")?;
            for own in removed {
                let row = table.cells_of(&row_of(own));
                table.delete(context.tx()?, &row)?;
            }
            added.iter().try_for_each(|own| table.insert(context.tx()?, &row_of(own)))
        })
    }
}

impl StatementContext<'_> {
    pub(crate) fn insert_owner(&mut self, class: u8, id: i32, owner: i32) -> Result<(), Error> {
        let db = self.db();
        let mut row = RowValues::new();
        row.tinyint(class).int(id).int(0).int(owner).int(0).int(0);
        db.catalog.system("syssingleobjrefs")?.insert(self.tx()?, &row)
    }

    fn free_principal_id(&self, name: &str) -> Result<i32, Error> {
        self.verify_free_name(name, -1)?;
        let rows = self.db().catalog.system("sysowners")?.rows(&[])?;
        let ids = rows.iter().filter_map(|row| row.get(ID).and_then(number));
        let last = ids.filter(|id| *id < FIRST_FIXED_ROLE).max().unwrap_or(0);
        match last + 1 {
            id if id < FIRST_FIXED_ROLE => Ok(id as i32),
            _ => Err(Error::catalog("there are as many principals as there may be")),
        }
    }

    /// No other principal has this name.
    fn verify_free_name(&self, name: &str, own: i32) -> Result<(), Error> {
        verify_name("principal", name)?;
        let model = self.db().catalog.system("sysowners")?.rows(&[])?;
        let is_it = |row: &&Cells| {
            text(row.get(NAME)).eq_ignore_ascii_case(name)
                && row.get(ID).and_then(number) != Some(own.into())
        };
        match model.iter().find(is_it) {
            Some(_) => Err(Error::Exists { name: name.to_owned() }),
            None => Ok(()),
        }
    }
}

fn row_of(permission: &Permission) -> RowValues {
    let mut kind = [b' '; PERMISSION_BYTES];
    kind.iter_mut().zip(permission.kind.bytes()).for_each(|(place, byte)| *place = byte);
    let state = permission.state.as_bytes().first().copied().unwrap_or(b'G');
    let mut row = RowValues::new();
    row.tinyint(permission.class).int(permission.id).int(permission.sub_id);
    row.int(permission.grantee).int(permission.grantor).raw(&kind).raw(&[state]);
    row
}
