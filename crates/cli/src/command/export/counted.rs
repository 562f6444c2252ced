//! The last step before the output: counts the bytes, and hashes them when the manifest wants it.

use std::io::{self, Write};

use sha2::{Digest, Sha256};

/// A writer that knows what went through it.
pub(super) struct Counted<'o> {
    out: &'o mut (dyn Write + Send),
    bytes: u64,
    hash: Option<Sha256>,
}

impl<'o> Counted<'o> {
    pub(super) fn new(out: &'o mut (dyn Write + Send), is_hashed: bool) -> Counted<'o> {
        Counted { out, bytes: 0, hash: is_hashed.then(Sha256::new) }
    }

    /// Number of bytes, and their SHA-256 when it was asked for.
    pub(super) fn finish(self) -> io::Result<(u64, Option<String>)> {
        self.out.flush()?;
        let digits =
            |hash: Sha256| hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok((self.bytes, self.hash.map(digits)))
    }
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        if let (Some(hash), Some(bytes)) = (&mut self.hash, bytes.get(..written)) {
            hash.update(bytes);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
