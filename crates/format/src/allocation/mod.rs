//! Allocation maps and the fixed pages.
