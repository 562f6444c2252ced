//! ALTER DATABASE … ADD, REMOVE and MODIFY FILE and FILEGROUP.
//!
//! Files of one ADD FILE are added one after another: when one fails, those before it stay, and the
//! message names the one that failed.

use std::path::PathBuf;

use extentdb_engine::{
    DatabaseFileChange, Error, FileChange, FileGrowth, FilegroupChange, FilesRefused,
};
use extentdb_tsql::syntax::{Clause, Part};

use super::Compiled;
use super::alter_database::no_database;
use super::database::verify_outside;
use super::file_spec::{File, Size, files_of, name_of, pages, place_here, size, text};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::message::Message;
use extentdb_connection::output::StatementCode;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

/// Files or filegroups of a database change.
struct AlterFiles {
    /// `None` for CURRENT.
    database: Option<String>,
    changes: Vec<DatabaseFileChange>,
    /// The message when it is done.
    done: Option<Message>,
}

/// The statement, when the action is about files or filegroups.
pub(super) fn compile(database: Option<String>, action: &Clause) -> Option<Compiled> {
    let is = |words: &[&str]| {
        let mut parts = action.parts.iter();
        words.iter().all(|word| matches!(parts.next(), Some(Part::Word(own)) if own == word))
    };
    let changes = if is(&["ADD", "LOG", "FILE"]) {
        Err(refused("ADD LOG FILE: a database has one file of log"))
    } else if is(&["ADD", "FILE"]) {
        add_files(action)
    } else if is(&["REMOVE", "FILE"]) {
        Ok(vec![DatabaseFileChange::Remove { name: name_of(action).unwrap_or_default() }])
    } else if is(&["MODIFY", "FILE"]) {
        modify_file(action)
    } else if is(&["ADD", "FILEGROUP"]) && action.has("CONTAINS") {
        Err(refused("ADD FILEGROUP … CONTAINS"))
    } else if is(&["ADD", "FILEGROUP"]) {
        Ok(filegroup(action, FilegroupChange::Add))
    } else if is(&["REMOVE", "FILEGROUP"]) {
        Ok(filegroup(action, FilegroupChange::Remove))
    } else if is(&["MODIFY", "FILEGROUP"]) {
        modify_filegroup(action)
    } else {
        return None;
    };
    Some(changes.map(|changes| -> Box<dyn Step> {
        let done = changes.last().and_then(done_message);
        Box::new(AlterFiles { database, changes, done })
    }))
}

fn refused(what: &str) -> Cause {
    Cause::not_supported(format!("ALTER DATABASE {what}"))
}

fn add_files(action: &Clause) -> Result<Vec<DatabaseFileChange>, Cause> {
    let filegroup = text(action.after("FILEGROUP"));
    let is_default = |name: &String| name.eq_ignore_ascii_case("default");
    let filegroup = filegroup.filter(|name| !is_default(name));
    let add = |file: &File| DatabaseFileChange::Add {
        file: file.data_file(),
        filegroup: filegroup.clone(),
    };
    Ok(files_of(action)?.iter().map(add).collect())
}

fn modify_file(action: &Clause) -> Result<Vec<DatabaseFileChange>, Cause> {
    let file = action.first("file").ok_or_else(|| refused("MODIFY FILE"))?;
    let given = |word: &str| file.all("file_option").find_map(|option| option.after(word));
    if file.all("file_option").any(|option| option.has("OFFLINE")) {
        return Err(refused("MODIFY FILE with OFFLINE"));
    }
    let missing = || failed(5036, 16, "MODIFY FILE failed. Specify logical name.".to_owned());
    let name = text(given("NAME")).ok_or_else(missing)?;
    let is_unlimited = file.all("file_option").any(|option| option.has("UNLIMITED"));
    let bytes = |word: &str| match size(given(word))? {
        Some(Size::Bytes(bytes)) => Ok(Some(bytes)),
        Some(Size::Percent(_)) => Err(refused("MODIFY FILE with a size in percent")),
        None => Ok(None),
    };
    let growth = size(given("FILEGROWTH"))?.map(|growth| match growth {
        Size::Bytes(bytes) => FileGrowth::Pages(pages(bytes)),
        Size::Percent(percent) => FileGrowth::Percent(percent),
    });
    let change = FileChange {
        name: text(given("NEWNAME")),
        bytes: bytes("SIZE")?,
        bytes_max: if is_unlimited { Some(None) } else { bytes("MAXSIZE")?.map(Some) },
        growth,
    };
    let path = text(given("FILENAME")).map(PathBuf::from);
    match (path, change == FileChange::default()) {
        (Some(path), true) => Ok(vec![DatabaseFileChange::Move { name, path }]),
        (Some(_), false) => Err(refused("MODIFY FILE of a path and of more at once")),
        (None, true) => Err(failed(
            5038,
            16,
            format!(
                "MODIFY FILE failed for file \"{name}\". At least one property per file must be \
                 specified."
            ),
        )),
        (None, false) => Ok(vec![DatabaseFileChange::Modify { name, change }]),
    }
}

fn filegroup(action: &Clause, change: FilegroupChange) -> Vec<DatabaseFileChange> {
    vec![DatabaseFileChange::Filegroup { name: name_of(action).unwrap_or_default(), change }]
}

fn modify_filegroup(action: &Clause) -> Result<Vec<DatabaseFileChange>, Cause> {
    let change = action.first("filegroup_change").ok_or_else(|| refused("MODIFY FILEGROUP"))?;
    let to = text(change.after("NAME"));
    Ok(filegroup(
        action,
        if let Some(to) = to {
            FilegroupChange::Rename(to)
        } else if change.has("DEFAULT") {
            FilegroupChange::Default
        } else if change.has("AUTOGROW_ALL_FILES") {
            FilegroupChange::AutogrowAllFiles(true)
        } else if change.has("AUTOGROW_SINGLE_FILE") {
            FilegroupChange::AutogrowAllFiles(false)
        } else if change.has("READ_ONLY") || change.has("READONLY") {
            FilegroupChange::ReadOnly(true)
        } else if change.has("READ_WRITE") || change.has("READWRITE") {
            FilegroupChange::ReadOnly(false)
        } else {
            return Err(refused("MODIFY FILEGROUP"));
        },
    ))
}

/// What is said when a change is done, with the numbers of the product.
fn done_message(change: &DatabaseFileChange) -> Option<Message> {
    let (number, text) = match change {
        DatabaseFileChange::Remove { name } => {
            (5044, format!("The file '{name}' has been removed."))
        }
        DatabaseFileChange::Move { name, .. } => (
            5018,
            format!(
                "The file \"{name}\" has been modified in the system catalog. The new path will \
                 be used the next time the database is started."
            ),
        ),
        DatabaseFileChange::Modify { change: FileChange { name: Some(name), .. }, .. } => {
            (5021, format!("The file name '{name}' has been set."))
        }
        DatabaseFileChange::Filegroup { name, change } => match change {
            FilegroupChange::Remove => (5044, format!("The filegroup '{name}' has been removed.")),
            FilegroupChange::Rename(to) => {
                (5021, format!("The filegroup name '{to}' has been set."))
            }
            FilegroupChange::Default => {
                (5046, "The filegroup property 'DEFAULT' has been set.".to_owned())
            }
            FilegroupChange::AutogrowAllFiles(is_on) => {
                let property = if *is_on { "AUTOGROW_ALL_FILES" } else { "AUTOGROW_SINGLE_FILE" };
                (5046, format!("The filegroup property '{property}' has been set."))
            }
            FilegroupChange::ReadOnly(is_on) => {
                let property = if *is_on { "READ_ONLY" } else { "READ_WRITE" };
                (5046, format!("The filegroup property '{property}' has been set."))
            }
            FilegroupChange::Add => return None,
        },
        DatabaseFileChange::Modify { .. } | DatabaseFileChange::Add { .. } => return None,
    };
    Some(Message::info(number, 1, 1, text))
}

fn failed(number: i32, severity: u8, text: String) -> Cause {
    Cause::Failed { number, severity, text }
}

/// What the product says to a refusal.
fn cause_of(why: &FilesRefused, change: &DatabaseFileChange) -> Cause {
    let is_modify =
        matches!(change, DatabaseFileChange::Modify { .. } | DatabaseFileChange::Move { .. });
    let (number, text) = match why {
        FilesRefused::NameTaken { name } => (
            1828,
            format!("The logical file name \"{name}\" is already in use. Choose a different name."),
        ),
        FilesRefused::NoFile { name } if is_modify => {
            (5041, format!("MODIFY FILE failed. File '{name}' does not exist."))
        }
        FilesRefused::NoFile { .. } => (
            5009,
            "One or more files listed in the statement could not be found or could not be \
             initialized."
                .to_owned(),
        ),
        FilesRefused::NoFilegroup { name, .. }
            if matches!(change, DatabaseFileChange::Add { .. }) =>
        {
            (1921, format!("Invalid filegroup '{name}' specified."))
        }
        FilesRefused::NoFilegroup { name, database } => {
            (5014, format!("The filegroup '{name}' does not exist in database '{database}'."))
        }
        FilesRefused::FilegroupTaken { name } => (
            5035,
            format!(
                "Filegroup '{name}' already exists in this database. Specify a different name or \
                 remove the conflicting filegroup if it is empty."
            ),
        ),
        FilesRefused::PrimaryFile => {
            (5020, "The primary data or log file cannot be removed from a database.".to_owned())
        }
        FilesRefused::PrimaryFilegroup => {
            (5012, "The name of the primary filegroup cannot be changed.".to_owned())
        }
        FilesRefused::OnlyFileOfDefault { name } => (
            5031,
            format!(
                "Cannot remove the file '{name}' because it is the only file in the DEFAULT \
                 filegroup."
            ),
        ),
        FilesRefused::NotEmpty { what, name } => {
            (5042, format!("The {what} '{name}' cannot be removed because it is not empty."))
        }
        FilesRefused::PropertySet { property } => {
            (5045, format!("The filegroup already has the '{property}' property set."))
        }
        FilesRefused::PrimaryReadOnly => {
            (5047, "Cannot change the READONLY property of the PRIMARY filegroup.".to_owned())
        }
        FilesRefused::ReadOnlyGroup { name } => (
            5048,
            format!(
                "Cannot add, remove, or modify files in filegroup '{name}'. The filegroup is \
                 read-only."
            ),
        ),
        FilesRefused::ReadOnlyFile { name } => {
            (5055, format!("Cannot add, remove, or modify file '{name}'. The file is read-only."))
        }
        FilesRefused::EmptyFilegroup { name } => (
            5050,
            format!(
                "Cannot change the properties of empty filegroup '{name}'. The filegroup must \
                 contain at least one file."
            ),
        ),
        FilesRefused::NotLarger => (
            5039,
            "MODIFY FILE failed. Specified size is less than or equal to current size.".to_owned(),
        ),
        FilesRefused::AboveMaximum => {
            (5040, "MODIFY FILE failed. Size is greater than MAXSIZE.".to_owned())
        }
        FilesRefused::GrowthAboveMaximum { name } => {
            (5169, format!("FILEGROWTH cannot be greater than MAXSIZE for file '{name}'."))
        }
        FilesRefused::Log { .. } => return refused("MODIFY FILE of a log"),
        other => return Cause::not_supported(format!("ALTER DATABASE {other}")),
    };
    failed(number, 16, text)
}

impl AlterFiles {
    fn cause(&self, run: &Run<'_>, error: &Error, change: &DatabaseFileChange) -> Cause {
        match error {
            Error::Files(why) => cause_of(why, change),
            Error::NoDatabase { name } => no_database(name),
            Error::FileExists { path } => failed(
                5170,
                16,
                format!(
                    "Cannot create file '{}' because it already exists. Change the file path or \
                     the file name, and retry the operation.",
                    path.display()
                ),
            ),
            Error::SystemDatabase { name } => {
                Cause::not_supported(format!("ALTER DATABASE of files of {name}"))
            }
            Error::NotSupported(extentdb_engine::Unsupported::NoFilegroup { name }) => {
                let database = self.database.clone();
                let database = database.unwrap_or_else(|| run.connection.database.clone());
                cause_of(&FilesRefused::NoFilegroup { name: name.clone(), database }, change)
            }
            other => run.connection.engine_cause(other),
        }
    }
}

impl Step for AlterFiles {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        verify_outside(run, "ALTER DATABASE")?;
        run.connection.server.forget_plans();
        let instance = run.connection.server.instance.clone();
        let database = self.database.clone();
        let database = database.unwrap_or_else(|| run.connection.database.clone());
        for change in &self.changes {
            let mut change = change.clone();
            match &mut change {
                DatabaseFileChange::Add { file, .. } => place_here(run, &mut file.path)?,
                DatabaseFileChange::Move { path, .. } => place_here(run, path)?,
                _ => {}
            }
            let by = Some(&*run.connection.session);
            let changed = instance.change_files(&database, &change, by);
            changed.map_err(|error| self.cause(run, &error, &change))?;
        }
        if let Some(done) = &self.done {
            run.output.message(done, false)?;
        }
        run.done(frame.scope, StatementCode::Other, None, false)?;
        Ok(RowCount::Rows(0))
    }
}
