//! Damaged and truncated backups: what is there is read, what is missing is named, nothing panics or hangs.
