//! B-trees: links, levels, separators and the order of keys (`checkdb.md` B.6 and D.4 to D.6).

mod column;
mod facts;
mod gather;
mod key;
mod look;
mod order;
mod part;
mod plan;
mod ranges;
mod run;
mod verify;

pub use key::Prefix;
pub use part::TreePart;
pub use run::{Children, Ends, Keys, Run, Runs};

pub(crate) use facts::TreeFacts;
pub(crate) use plan::Trees;
pub(crate) use verify::verify_trees;

#[cfg(test)]
mod model;
#[cfg(test)]
mod speed;
