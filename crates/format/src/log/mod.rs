//! The transaction log on disk.
