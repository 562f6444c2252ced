//! `cargo x tidy`: the rules of the house that no compiler knows. Also an ordinary test, so a
//! branch cannot drift.
//!
//! One module per family of rules. Each looks at the house as text and adds complaints; a complaint
//! names the line and what to do instead.

use std::path::Path;

use anyhow::{Result, bail};

use crate::house::{Complaint, House};

mod cycles;
mod doors;
mod duplicates;
mod format_pages;
mod manifests;
mod reachable;
mod shape;
mod words;

/// Prints complaints and warnings; fails on complaints.
pub fn run(root: &Path) -> Result<()> {
    let house = House::read(root)?;
    for warning in shape::warnings(&house) {
        eprintln!("warning: {warning}");
    }
    let complaints = complaints(&house);
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    if !complaints.is_empty() {
        bail!("{} complaints about tidiness", complaints.len());
    }
    println!("tidy: {} files", house.files().len());
    Ok(())
}

/// Everything that breaks a rule, in order of files and lines.
pub fn complaints(house: &House) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    shape::verify(house, &mut complaints);
    words::verify(house, &mut complaints);
    cycles::verify(house, &mut complaints);
    doors::verify(house, &mut complaints);
    duplicates::verify(house, &mut complaints);
    reachable::verify(house, &mut complaints);
    manifests::verify(house, &mut complaints);
    format_pages::verify(house, &mut complaints);
    complaints.sort();
    complaints
}
