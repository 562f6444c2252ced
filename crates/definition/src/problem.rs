//! Why a definition fails: one message, or several of which the last one ends the statement.

use extentdb_engine::{Error, Unsupported};

use extentdb_connection::cause::{Cause, DefinitionCause};
use extentdb_connection::connection::Connection;
use extentdb_connection::output::Gone;
use extentdb_connection::stop::Stop;

/// Result of a part of a definition.
pub(super) type Defined<T = ()> = Result<T, Problem>;

/// Why a definition fails.
#[derive(Debug)]
pub(super) struct Problem {
    /// Messages before the last.
    before: Vec<Cause>,
    last: Box<Last>,
}

#[derive(Debug)]
enum Last {
    Cause(Cause),
    Engine(Error),
    Stop(Stop),
}

impl Problem {
    /// The same, followed by another message: `See previous errors.`
    pub(super) fn then(self, next: impl Into<Cause>) -> Problem {
        self.followed_by(Problem::from(next.into()))
    }

    /// The error of the engine that it is; anything else as it is.
    pub(super) fn into_engine(self) -> Result<Error, Problem> {
        match *self.last {
            Last::Engine(error) if self.before.is_empty() => Ok(error),
            last => Err(Problem { before: self.before, last: Box::new(last) }),
        }
    }

    /// Both, the other one last.
    pub(super) fn followed_by(self, next: Problem) -> Problem {
        let mut before = self.before;
        match *self.last {
            Last::Cause(cause) => before.push(cause),
            Last::Engine(error) => match of_engine(&error) {
                Some(cause) => before.push(cause),
                None => return Problem { before, last: Box::new(Last::Engine(error)) },
            },
            Last::Stop(stop) => return stop.into(),
        }
        before.extend(next.before);
        Problem { before, last: next.last }
    }

    /// Is it that rows there are do not fit, which has no second message?
    pub(super) fn is_conflict_of_rows(&self) -> bool {
        let Last::Cause(Cause::Definition(cause)) = &*self.last else { return false };
        matches!(**cause, DefinitionCause::DefinitionConflict { .. })
    }

    /// The messages before the last, and the last as what ends the statement.
    pub(super) fn into_causes(self, connection: &Connection) -> (Vec<Cause>, Stop) {
        let last = match *self.last {
            Last::Cause(cause) => cause.into(),
            Last::Stop(stop) => stop,
            Last::Engine(error) if error.cause() == extentdb_engine::Cause::Cancelled => {
                Stop::Interrupted
            }
            Last::Engine(error) => {
                of_engine(&error).unwrap_or_else(|| connection.engine_cause(&error)).into()
            }
        };
        // What an earlier message ends, the statement ends.
        let most = self.before.iter().map(Cause::effect).max();
        let last = match (last, most) {
            (Stop::Raised(mut raised), Some(most)) => {
                raised.effect = raised.effect.max(most);
                Stop::Raised(raised)
            }
            (last, _) => last,
        };
        (self.before, last)
    }
}

/// What errors of the engine mean for a definition; `None` where they mean what they always do.
fn of_engine(error: &Error) -> Option<Cause> {
    let cause = match error {
        Error::Exists { name } => DefinitionCause::ObjectExists { name: name.clone() },
        Error::DuplicateKey { table, index, key, .. } => DefinitionCause::DuplicateInBuild {
            table: format!("dbo.{table}"),
            index: index.clone(),
            key: key.clone(),
        },
        Error::NotSupported(Unsupported::NoSchema { name }) => {
            DefinitionCause::NoSchema { name: name.clone() }
        }
        Error::NotSupported(Unsupported::NoFilegroup { name }) => {
            DefinitionCause::NoFilegroup { name: name.clone() }
        }
        Error::NotSupported(what) => return Some(Cause::not_supported(what.to_string())),
        _ => return None,
    };
    Some(cause.into())
}

impl From<Cause> for Problem {
    fn from(cause: Cause) -> Problem {
        Problem { before: Vec::new(), last: Box::new(Last::Cause(cause)) }
    }
}

impl From<DefinitionCause> for Problem {
    fn from(cause: DefinitionCause) -> Problem {
        Cause::from(cause).into()
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        Problem { before: Vec::new(), last: Box::new(Last::Engine(error)) }
    }
}

impl From<Stop> for Problem {
    fn from(stop: Stop) -> Problem {
        Problem { before: Vec::new(), last: Box::new(Last::Stop(stop)) }
    }
}

impl From<Gone> for Problem {
    fn from(gone: Gone) -> Problem {
        Stop::from(gone).into()
    }
}
