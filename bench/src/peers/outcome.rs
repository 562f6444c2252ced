//! Whether a peer could be measured.

use anyhow::Result;

/// What came of a peer.
#[derive(Debug)]
pub enum Outcome<T> {
    /// It did what it could.
    Measured(T),
    /// It is not installed: this was looked for.
    Missing(&'static str),
}

/// What was measured; what was not is told.
pub(super) fn told<T>(name: &str, outcome: Result<Outcome<T>>) -> Option<T> {
    match outcome {
        Ok(Outcome::Measured(measured)) => return Some(measured),
        Ok(Outcome::Missing(program)) => {
            println!("SKIPPED: {name} is not installed: {program} not found")
        }
        Err(error) => println!("FAILED: {name}: {error:#}"),
    }
    None
}
