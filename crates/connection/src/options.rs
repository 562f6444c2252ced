//! SET options of a session: what each is, what it is at the login, and @@OPTIONS.
//!
//! ```text
//! @@OPTIONS  2 implicit transactions  4 cursor close  8 warnings  16 padding  32 nulls
//!            64 arithabort  128 arithignore  256 quoted identifier  512 nocount
//!            1024 null default on  2048 null default off  4096 concat null
//!            8192 numeric roundabort  16384 xact abort
//! ```

use extentdb_expr::{DateFormat, Settings, StatementOptions};

use crate::request::Isolation;

/// Longest text that DB-Library sessions get at first.
const SMALL_TEXT: i32 = 4_096;
const ALL_TEXT: i32 = i32::MAX;

/// The options.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is the option it names")]
pub struct SetOptions {
    pub ansi_nulls: bool,
    pub ansi_padding: bool,
    pub ansi_warnings: bool,
    pub ansi_null_dflt_on: bool,
    pub ansi_null_dflt_off: bool,
    pub arithabort: bool,
    pub arithignore: bool,
    pub concat_null_yields_null: bool,
    pub cursor_close_on_commit: bool,
    pub fmtonly: bool,
    pub forceplan: bool,
    pub implicit_transactions: bool,
    pub nocount: bool,
    pub noexec: bool,
    pub no_browsetable: bool,
    pub numeric_roundabort: bool,
    pub parseonly: bool,
    pub quoted_identifier: bool,
    pub remote_proc_transactions: bool,
    pub xact_abort: bool,
    pub statistics_io: bool,
    pub statistics_time: bool,
    pub datefirst: u8,
    pub dateformat: &'static str,
    pub language: String,
    /// Milliseconds; -1 = for ever.
    pub lock_timeout: i32,
    pub deadlock_priority: i8,
    pub rowcount: u64,
    pub textsize: i32,
    pub query_governor_cost_limit: i64,
    pub isolation: Isolation,
    pub context_info: Option<Vec<u8>>,
    /// The table of SET IDENTITY_INSERT.
    pub identity_insert: Option<IdentityInsert>,
}

/// The table whose identity column takes values from INSERT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityInsert {
    /// Its database.
    pub database: String,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its id in the database.
    pub table: extentdb_base::ObjectId,
}

impl IdentityInsert {
    /// Is it this table?
    #[must_use]
    pub fn is(&self, database: &str, table: extentdb_base::ObjectId) -> bool {
        self.table == table && self.database == database
    }
}

impl SetOptions {
    /// At the login of a client: of ODBC and its kin with the ANSI options, of DB-Library without.
    #[must_use]
    pub fn at_login(is_odbc: bool) -> SetOptions {
        SetOptions {
            ansi_nulls: is_odbc,
            ansi_padding: is_odbc,
            ansi_warnings: is_odbc,
            ansi_null_dflt_on: is_odbc,
            ansi_null_dflt_off: false,
            arithabort: false,
            arithignore: false,
            concat_null_yields_null: is_odbc,
            cursor_close_on_commit: false,
            fmtonly: false,
            forceplan: false,
            implicit_transactions: false,
            nocount: false,
            noexec: false,
            no_browsetable: false,
            numeric_roundabort: false,
            parseonly: false,
            quoted_identifier: is_odbc,
            remote_proc_transactions: false,
            xact_abort: false,
            statistics_io: false,
            statistics_time: false,
            datefirst: 7,
            dateformat: "mdy",
            language: "us_english".to_owned(),
            lock_timeout: -1,
            deadlock_priority: 0,
            rowcount: 0,
            textsize: if is_odbc { ALL_TEXT } else { SMALL_TEXT },
            query_governor_cost_limit: 0,
            isolation: Isolation::ReadCommitted,
            context_info: None,
            identity_insert: None,
        }
    }

    /// What values of expressions depend on.
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings::statement(StatementOptions {
            date_format: DateFormat::named(self.dateformat).unwrap_or_default(),
            first_day: self.datefirst,
            ansi_warnings: self.ansi_warnings,
            arith_abort: self.arithabort,
            concat_null_yields_null: self.concat_null_yields_null,
            ansi_nulls: self.ansi_nulls,
        })
    }

    /// The switch of a name in capitals.
    pub fn switch(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "ANSI_NULLS" => &mut self.ansi_nulls,
            "ANSI_PADDING" => &mut self.ansi_padding,
            "ANSI_WARNINGS" => &mut self.ansi_warnings,
            "ANSI_NULL_DFLT_ON" => &mut self.ansi_null_dflt_on,
            "ANSI_NULL_DFLT_OFF" => &mut self.ansi_null_dflt_off,
            "ARITHABORT" => &mut self.arithabort,
            "ARITHIGNORE" => &mut self.arithignore,
            "CONCAT_NULL_YIELDS_NULL" => &mut self.concat_null_yields_null,
            "CURSOR_CLOSE_ON_COMMIT" => &mut self.cursor_close_on_commit,
            "FMTONLY" => &mut self.fmtonly,
            "FORCEPLAN" => &mut self.forceplan,
            "IMPLICIT_TRANSACTIONS" => &mut self.implicit_transactions,
            "NOCOUNT" => &mut self.nocount,
            "NOEXEC" => &mut self.noexec,
            "NO_BROWSETABLE" => &mut self.no_browsetable,
            "NUMERIC_ROUNDABORT" => &mut self.numeric_roundabort,
            "PARSEONLY" => &mut self.parseonly,
            "QUOTED_IDENTIFIER" => &mut self.quoted_identifier,
            "REMOTE_PROC_TRANSACTIONS" => &mut self.remote_proc_transactions,
            "XACT_ABORT" => &mut self.xact_abort,
            _ => return None,
        })
    }

    /// SET ANSI_DEFAULTS.
    pub fn set_ansi_defaults(&mut self, is_on: bool) {
        for name in [
            "ANSI_NULLS",
            "ANSI_NULL_DFLT_ON",
            "ANSI_PADDING",
            "ANSI_WARNINGS",
            "CURSOR_CLOSE_ON_COMMIT",
            "IMPLICIT_TRANSACTIONS",
            "QUOTED_IDENTIFIER",
        ] {
            if let Some(switch) = self.switch(name) {
                *switch = is_on;
            }
        }
    }

    /// The options that filtered indexes and indexes over computed columns need otherwise.
    pub fn wrong_for_indexes(&self) -> Vec<&'static str> {
        let options = [
            (self.ansi_nulls, "ANSI_NULLS"),
            (self.ansi_padding, "ANSI_PADDING"),
            (self.ansi_warnings, "ANSI_WARNINGS"),
            // ANSI_WARNINGS supplies it.
            (self.arithabort || self.ansi_warnings, "ARITHABORT"),
            (self.concat_null_yields_null, "CONCAT_NULL_YIELDS_NULL"),
            (self.quoted_identifier, "QUOTED_IDENTIFIER"),
            (!self.numeric_roundabort, "NUMERIC_ROUNDABORT"),
        ];
        options.iter().filter(|(is_right, _)| !is_right).map(|(_, name)| *name).collect()
    }

    /// `@@OPTIONS`.
    #[must_use]
    pub fn bits(&self) -> i32 {
        let bits = [
            (self.implicit_transactions, 2),
            (self.cursor_close_on_commit, 4),
            (self.ansi_warnings, 8),
            (self.ansi_padding, 16),
            (self.ansi_nulls, 32),
            (self.arithabort, 64),
            (self.arithignore, 128),
            (self.quoted_identifier, 256),
            (self.nocount, 512),
            (self.ansi_null_dflt_on, 1_024),
            (self.ansi_null_dflt_off, 2_048),
            (self.concat_null_yields_null, 4_096),
            (self.numeric_roundabort, 8_192),
            (self.xact_abort, 16_384),
        ];
        bits.iter().filter(|(is_on, _)| *is_on).map(|(_, bit)| bit).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::SetOptions;

    #[test]
    fn options_of_an_odbc_login_are_those_published() {
        assert_eq!(SetOptions::at_login(true).bits(), 5432);
        assert_eq!(SetOptions::at_login(false).bits(), 0);
    }
}
