//! What expressions may ask of a session: the time, names, new ids.
//!
//! The time is that of the clock, in UTC.

use extentdb_base::env::Clock;
use extentdb_expr::ContextFunction;
use extentdb_txn::log_time;
use extentdb_types::{Date, DateTime2, Time};

use crate::catalog::formula::ContextValues;
use crate::database::new_ids::{NewIds, TICKS_PER_SECOND, ticks_of};
use crate::session::StatementContext;

const SECONDS_PER_DAY: u64 = 86_400;
/// From 0001-01-01 to 1970-01-01.
const EPOCH_DAYS: u64 = 719_162;

/// Names of a session, as its login has set them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionNames {
    /// `SUSER_SNAME()`, `SYSTEM_USER`, `ORIGINAL_LOGIN()`.
    pub login: String,
    /// `USER_NAME()`, `CURRENT_USER`.
    pub user: String,
    /// `HOST_NAME()`; NULL when it is empty.
    pub host: String,
    /// `APP_NAME()`; NULL when it is empty.
    pub application: String,
}

impl Default for SessionNames {
    fn default() -> SessionNames {
        SessionNames {
            login: "sa".to_owned(),
            user: "dbo".to_owned(),
            host: String::new(),
            application: String::new(),
        }
    }
}

/// The time as datetime2(7).
pub(crate) fn date_time2(clock: &dyn Clock) -> Option<DateTime2> {
    let now = clock.since_epoch();
    let ticks = ticks_of(now) % (SECONDS_PER_DAY * TICKS_PER_SECOND);
    let days = EPOCH_DAYS + now.as_secs() / SECONDS_PER_DAY;
    let date = Date::new(u32::try_from(days).ok()?).ok()?;
    Some(DateTime2 { date, time: Time::new(ticks, 7).ok()? })
}

/// The values of a session.
pub(crate) struct SessionValues<'s> {
    pub(crate) clock: &'s dyn Clock,
    pub(crate) names: SessionNames,
    pub(crate) database: &'s str,
    pub(crate) ids: &'s NewIds,
}

impl StatementContext<'_> {
    pub(crate) fn session_values(&self) -> SessionValues<'_> {
        let db = self.db();
        SessionValues {
            clock: &*db.options.clock,
            names: self.names().clone(),
            database: db.name(),
            ids: &db.new_ids,
        }
    }
}

impl ContextValues for SessionValues<'_> {
    fn value(&self, function: ContextFunction) -> Option<Vec<u8>> {
        let name = |text: &str| {
            let units = text.encode_utf16().flat_map(u16::to_le_bytes);
            (!text.is_empty()).then(|| units.collect())
        };
        match function {
            ContextFunction::GetDate | ContextFunction::GetUtcDate => {
                let now = log_time(self.clock);
                Some([now.ticks, now.days].iter().flat_map(|part| part.to_le_bytes()).collect())
            }
            ContextFunction::SysDateTime | ContextFunction::SysUtcDateTime => {
                let mut bytes = Vec::new();
                let ty = extentdb_types::SqlType::DateTime2 { scale: 7 };
                let now = extentdb_types::Datum::DateTime2(date_time2(self.clock)?);
                now.encode(&ty, &mut bytes).ok()?;
                Some(bytes)
            }
            ContextFunction::NewId => Some(self.ids.random(self.clock).to_vec()),
            ContextFunction::NewSequentialId => Some(self.ids.sequential(self.clock).to_vec()),
            ContextFunction::LoginName | ContextFunction::OriginalLogin => name(&self.names.login),
            ContextFunction::UserName => name(&self.names.user),
            ContextFunction::HostName => name(&self.names.host),
            ContextFunction::ApplicationName => name(&self.names.application),
            ContextFunction::DatabaseName => name(self.database),
        }
    }
}
