//! What only several pages together can tell.
//!
//! The scan leaves a fact for each page of a B-tree and one for each child pointer; here they are put side by side.

mod index;
mod links;

pub(crate) use links::verify_links;

#[cfg(test)]
mod tests;
