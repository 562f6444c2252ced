//! Logins: rows of `sysxlgns` in master.
//!
//! The bits of `status` are ours but for those of the fixed server roles, which are the ones that
//! the product documented for its old table of logins.

use std::collections::BTreeMap;

use extentdb_base::DatabaseId;
use extentdb_base::sync::lock;
use extentdb_catalog::layout::Cell;
use extentdb_catalog::table::values::RowValues;
use extentdb_txn::log_time;

use super::Instance;
use crate::catalog::system_table::{Cells, bytes, number, text};
use crate::database::Database;
use crate::error::Error;

/// Columns of `sysxlgns`.
const ID: usize = 0;
const NAME: usize = 1;
const SID: usize = 2;
const STATUS: usize = 3;
const CREATED: usize = 5;
const MODIFIED: usize = 6;
const DATABASE: usize = 7;
const PASSWORD: usize = 9;
/// `sysxlgns.type` of a login with a password.
const SQL_LOGIN: u8 = b'S';
const LANGUAGE: &str = "us_english";

/// A login as master keeps it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LoginRow {
    /// Principal id; 1 is sa.
    pub id: i32,
    /// Name.
    pub name: String,
    /// Security identifier.
    pub sid: Vec<u8>,
    /// Bits, which are the caller's.
    pub status: i32,
    /// Database that its sessions begin in.
    pub database: String,
    /// Hash of its password.
    pub password: Vec<u8>,
    /// When it was made and changed: days since 1900, and ticks of a 300th of a second.
    pub dates: Option<[(i32, u32); 2]>,
}

impl Instance {
    /// The logins by id; `None` where master was made before it kept them.
    ///
    /// # Errors
    /// A page of master cannot be read.
    pub fn logins(&self) -> Result<Option<Vec<LoginRow>>, Error> {
        let master = self.database_by_id(DatabaseId::MASTER)?;
        let Ok(table) = master.catalog.system("sysxlgns") else { return Ok(None) };
        Ok(Some(table.rows(&[])?.iter().filter_map(row_to_login).collect()))
    }

    /// Says in master who owns a database.
    ///
    /// # Errors
    /// A page of master cannot be written.
    pub fn set_owner(&self, database: &Database, sid: &[u8]) -> Result<(), Error> {
        let master = self.database_by_id(DatabaseId::MASTER)?;
        super::registry::set_owner(&master, database.locks().database(), sid)
    }

    /// Stores the logins: these, and no others. One transaction of master.
    ///
    /// # Errors
    /// master cannot keep them, or a page cannot be written.
    pub fn store_logins(&self, logins: &[LoginRow]) -> Result<(), Error> {
        let master = self.database_by_id(DatabaseId::MASTER)?;
        let now = log_time(&*master.options.clock);
        let now = (now.days as i32, now.ticks);
        let mut session = master.try_session()?;
        session.statement("ALTER LOGIN", |context| {
            let _ddl = lock(&master.ddl);
            let table = master.catalog.system("sysxlgns")?;
            let mut wanted: BTreeMap<i32, &LoginRow> =
                logins.iter().map(|login| (login.id, login)).collect();
            for row in table.rows(&[])? {
                let Some(old) = row_to_login(&row) else { continue };
                if wanted.get(&old.id).is_some_and(|new| is_same(new, &old)) {
                    wanted.remove(&old.id);
                } else {
                    table.delete(context.tx()?, &row)?;
                }
            }
            for login in wanted.values() {
                table.insert(context.tx()?, &login_to_row(login, now))?;
            }
            Ok(())
        })
    }
}

fn is_same(a: &LoginRow, b: &LoginRow) -> bool {
    LoginRow { dates: None, ..a.clone() } == LoginRow { dates: None, ..b.clone() }
}

fn row_to_login(row: &Cells) -> Option<LoginRow> {
    Some(LoginRow {
        id: i32::try_from(row.get(ID).and_then(number)?).ok()?,
        name: text(row.get(NAME)),
        sid: row.get(SID).map(bytes).unwrap_or_default().to_vec(),
        status: i32::try_from(row.get(STATUS).and_then(number)?).ok()?,
        database: text(row.get(DATABASE)),
        password: row.get(PASSWORD).map(bytes).unwrap_or_default().to_vec(),
        dates: Some([time(row.get(CREATED)?), time(row.get(MODIFIED)?)]),
    })
}

/// A datetime: ticks, then days.
fn time(cell: &Cell<'_>) -> (i32, u32) {
    let Some((ticks, days)) = bytes(cell).split_first_chunk::<4>() else { return (0, 0) };
    let days = days.first_chunk::<4>().map_or(0, |days| i32::from_le_bytes(*days));
    (days, u32::from_le_bytes(*ticks))
}

fn login_to_row(login: &LoginRow, now: (i32, u32)) -> RowValues {
    let created = login.dates.map_or(now, |[created, _]| created);
    let mut row = RowValues::new();
    row.int(login.id).ntext(&login.name).raw(&login.sid).int(login.status).raw(&[SQL_LOGIN]);
    row.datetime(created.0, created.1).datetime(now.0, now.1);
    row.ntext(&login.database).ntext(LANGUAGE).raw(&login.password);
    row
}
