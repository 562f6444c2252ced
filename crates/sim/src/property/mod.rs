//! Properties that hold after every run.

pub(crate) mod counters;
pub(crate) mod detected;
pub(crate) mod reach;
pub(crate) mod rows;
pub(crate) mod sound;
