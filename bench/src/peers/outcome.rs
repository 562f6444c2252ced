//! Whether a peer could be measured.

use anyhow::Result;

/// The result of a peer.
#[derive(Debug)]
pub enum Outcome<T> {
    /// Ran, with its measurements.
    Measured(T),
    /// Not installed: the program that was searched for.
    Missing(&'static str),
}

/// The measurements; prints a line when there are none.
pub(super) fn measured_or_reported<T>(name: &str, outcome: Result<Outcome<T>>) -> Option<T> {
    match outcome {
        Ok(Outcome::Measured(measured)) => return Some(measured),
        Ok(Outcome::Missing(program)) => {
            println!("SKIPPED: {name} is not installed: {program} not found")
        }
        Err(error) => println!("FAILED: {name}: {error:#}"),
    }
    None
}
