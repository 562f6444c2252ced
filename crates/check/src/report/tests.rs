//! Reports of known findings.
