//! What every verb is handed: the common options, the clock, the signals, and the way to say something.

use std::path::PathBuf;

use extentdb_base::env::SystemClock;
use extentdb_base::sync::Arc;
use extentdb_reader::{Database, OpenOptions, Opened, Origin};

use crate::cli::Common;
use crate::interrupt::Interrupt;
use crate::output::{Existing, Output};
use crate::progress::Progress;

/// The surroundings of a command.
pub(crate) struct Context {
    /// Options of every verb.
    pub(crate) common: Common,
    /// Ctrl-C and SIGTERM.
    pub(crate) interrupt: Interrupt,
    /// The clock of the machine.
    pub(crate) clock: Arc<SystemClock>,
}

impl Context {
    /// Takes over the signals.
    pub(crate) fn new(common: Common) -> anyhow::Result<Context> {
        Ok(Context { common, interrupt: Interrupt::install()?, clock: Arc::default() })
    }

    /// Opens files without reading the catalogue.
    pub(crate) fn open(&self, paths: &[PathBuf]) -> Result<Opened, extentdb_reader::Error> {
        Opened::open(paths, &self.options())
    }

    fn options(&self) -> OpenOptions {
        OpenOptions { set: self.common.set, jobs: self.common.jobs(), ..OpenOptions::default() }
    }

    /// Opens a database, and says what is odd about it.
    pub(crate) fn open_database(&self, paths: &[PathBuf]) -> Result<Database, extentdb_reader::Error> {
        let database = Database::from_opened(self.open(paths)?)?;
        let version = database.catalog().boot.database_version();
        if version.is_unknown_newer() {
            self.warn(&format!(
                "the database is of version {version}: read by its own description, unverified"
            ));
        }
        if let Origin::Backup(backup) = database.opened().origin() {
            backup.set.findings().kept().iter().for_each(|finding| self.warn(&finding.to_string()));
        }
        for file in database.missing_files() {
            self.warn(&format!(
                "data file {} ({}, on the server {}) is not here",
                file.id, file.name, file.path
            ));
        }
        for fault in &database.catalog().faults {
            self.warn(&format!("the catalogue is damaged: {}", crate::exit::chain(fault)));
        }
        Ok(database)
    }

    /// Where the result goes; `inputs` are never replaced.
    pub(crate) fn output(&self, inputs: &[PathBuf]) -> anyhow::Result<Output> {
        Output::open(self.common.output.as_deref(), inputs, self.existing())
    }

    /// What to do with an output file that exists.
    pub(crate) fn existing(&self) -> Existing {
        if self.common.force { Existing::Replace } else { Existing::Refuse }
    }

    /// A progress line over `total` units of work.
    pub(crate) fn progress(&self, what: &str, total: u64) -> Progress {
        let when = if self.common.quiet { crate::cli::When::Never } else { self.common.progress };
        Progress::new(Arc::clone(&self.clock) as Arc<_>, when, what, total)
    }

    /// Says something that matters whatever the options.
    pub(crate) fn warn(&self, text: &str) {
        crate::exit::say(text);
    }

    /// Says something that `--quiet` leaves out.
    pub(crate) fn note(&self, text: &str) {
        if !self.common.quiet {
            crate::exit::say(text);
        }
    }
}
