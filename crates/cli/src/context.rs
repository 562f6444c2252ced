//! What every verb is handed: the common options, the clock, the signals, and the way to say
//! something.

use std::path::PathBuf;

use extentdb_base::env::SystemClock;
use extentdb_base::sync::Arc;
use extentdb_reader::backup::{BackupSet, LeftOut};
use extentdb_reader::recover::RecoverOptions;
use extentdb_reader::{Backup, Database, OpenOptions, OpenedFiles, Origin, Restart, TornRepair};

use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::options::CommonOptions;
use crate::output::{Existing, Output};
use crate::progress::Progress;

/// Why what was read may not be the database: its log is missing, or somebody has its files in use.
pub(crate) fn doubt(database: &Database) -> Option<String> {
    let in_use = database.opened().in_use().map(|found| found.to_string());
    in_use.or_else(|| database.shortfall())
}

/// The surroundings of a command.
pub(crate) struct Context {
    /// Options of every verb.
    pub(crate) common: CommonOptions,
    /// Ctrl-C and SIGTERM.
    pub(crate) interrupt: Interrupt,
    /// The clock of the machine.
    pub(crate) clock: Arc<SystemClock>,
}

impl Context {
    /// Takes over the signals.
    pub(crate) fn new(common: CommonOptions) -> anyhow::Result<Context> {
        Ok(Context {
            common,
            interrupt: Interrupt::install()?,
            clock: Arc::default(),
        })
    }

    /// Opens files without reading the catalog.
    pub(crate) fn open(&self, paths: &[PathBuf]) -> Result<OpenedFiles, extentdb_reader::Error> {
        self.noted(OpenedFiles::open(paths, &self.options())?)
    }

    /// What was opened, after it is said which of the backups are used.
    fn noted(&self, opened: OpenedFiles) -> Result<OpenedFiles, extentdb_reader::Error> {
        if let Origin::Backup(backup) = opened.origin() {
            self.note_chain(backup);
        }
        Ok(opened)
    }

    /// Which of the backups that were given are used, when there are several.
    fn note_chain(&self, backup: &Backup) {
        for LeftOut { path, position, why } in &backup.left_out {
            let set = if *position > 1 { format!(" set {position}") } else { String::new() };
            self.warn(&format!("{}{set}: not needed and left out: {why}", path.display()));
        }
        if backup.chain().count() > 1 {
            let name = |set: &Arc<BackupSet>| {
                let header = set.header();
                let path = set.path().map(|path| path.display().to_string()).unwrap_or_default();
                format!(
                    "{path} ({}, to {})",
                    header.kind.description().to_lowercase(),
                    header.last_lsn
                )
            };
            let chain: Vec<String> = backup.chain().map(name).collect();
            self.note(&format!("backup chain: {}", chain.join(", then ")));
        }
    }

    /// Opens files for their log alone: a backup may be of any kind, and stripes may be missing.
    pub(crate) fn open_for_log(
        &self,
        paths: &[PathBuf],
    ) -> Result<OpenedFiles, extentdb_reader::Error> {
        let options = OpenOptions {
            any_kind: true,
            allow_missing_stripes: true,
            ..self.options()
        };
        self.noted(OpenedFiles::open(paths, &options)?)
    }

    pub(crate) fn options(&self) -> OpenOptions {
        let CommonOptions { set, stop_at, .. } = self.common;
        OpenOptions {
            set,
            stop_at,
            jobs: self.common.jobs(),
            ..OpenOptions::default()
        }
    }

    /// Opens files and replays their log in memory, without reading the catalog. Says what was
    /// done.
    pub(crate) fn open_restarted(
        &self,
        paths: &[PathBuf],
    ) -> Result<OpenedFiles, extentdb_reader::Error> {
        self.restart(self.open(paths)?)
    }

    /// Replays the log in memory and says what was done.
    pub(crate) fn restart(
        &self,
        opened: OpenedFiles,
    ) -> Result<OpenedFiles, extentdb_reader::Error> {
        if opened.is_log_only() {
            return Ok(opened);
        }
        let opened = opened.restarted(&RecoverOptions::default())?;
        self.note_restart(&opened);
        Ok(opened)
    }

    /// What was done of a restart, for people. What was not is told by the verbs.
    fn note_restart(&self, opened: &OpenedFiles) {
        let Restart { log, torn } = opened.restart();
        match torn {
            TornRepair::NoArea => {}
            TornRepair::Foreign { area } => self.warn(&format!(
                "{}: not used: it belongs to another database or another state of this one",
                area.display()
            )),
            TornRepair::Used { area, pages } if pages.is_empty() => {
                self.note(&format!("{}: no page is torn", area.display()));
            }
            TornRepair::Used { area, pages } => {
                let count = pages.len();
                let area = area.display();
                self.note(&format!("{count} torn pages are read from their copies in {area}"));
            }
        }
        if let Some(summary) = log.summary().filter(|summary| summary.changes > 0) {
            let undone = summary.unfinished.iter().filter(|open| open.not_undone.is_none()).count();
            self.note(&format!(
                "the log was replayed in memory up to {}: {} changes, {} pages, {undone} open \
                 transactions rolled back",
                summary.end_lsn, summary.changes, summary.pages_changed
            ));
        }
        if let Some(found) = opened.in_use() {
            self.warn(&format!("{found}; close the database first"));
        }
    }

    /// Says that recovery would change the pages of the disk, for verbs that show those.
    pub(crate) fn note_unrecovered(&self, opened: &OpenedFiles) {
        if matches!(opened.origin(), Origin::Files) && opened.needs_restart() {
            self.note(
                "the database was not closed cleanly: this is what the disk holds, recovery would change it",
            );
        }
    }

    /// How a verb ends that has read a database: `read` is how the reading itself ended. What was
    /// not recovered, and whether the files are in use, is told here. What was found wrong in files
    /// that are in use is no damage: their pages were read at different moments.
    pub(crate) fn exit_of(&self, database: &Database, read: Exit) -> Exit {
        let catalog = if database.catalog().faults.is_empty() { Exit::Done } else { Exit::Found };
        let exit = read.and(catalog);
        let Some(why) = doubt(database) else { return exit };
        self.warn(&format!("incomplete: {why}"));
        match exit {
            Exit::Found if database.opened().in_use().is_some() => Exit::Incomplete,
            exit => exit.and(Exit::Incomplete),
        }
    }

    /// Opens a database as a restart of its server would make it, and says what is odd about it.
    pub(crate) fn open_database(
        &self,
        paths: &[PathBuf],
    ) -> Result<Database, extentdb_reader::Error> {
        let database = Database::from_opened(self.open_restarted(paths)?)?;
        let version = database.catalog().boot.database_version();
        if version.is_unknown_newer() {
            self.warn(&format!(
                "the database is of version {version}: read by its own description, unverified"
            ));
        }
        if let Origin::Backup(backup) = database.opened().origin() {
            let findings = backup.chain().flat_map(|set| set.findings().kept());
            findings.for_each(|finding| self.warn(&finding.to_string()));
        }
        for file in database.missing_files() {
            self.warn(&format!(
                "data file {} ({}, on the server {}) is not here",
                file.id, file.name, file.path
            ));
        }
        for fault in &database.catalog().faults {
            self.warn(&format!("the catalog is damaged: {}", crate::exit::chain(fault)));
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
        let when = if self.common.quiet {
            crate::options::ProgressMode::Never
        } else {
            self.common.progress
        };
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
