//! Random bytes that nobody can guess, from the cryptographic provider.

/// Fills a buffer.
///
/// # Panics
/// When the system has no random bytes: a server without them has no secrets.
pub(crate) fn fill(bytes: &mut [u8]) {
    let provider = rustls::crypto::ring::default_provider();
    let filled = provider.secure_random.fill(bytes);
    assert!(filled.is_ok(), "the system gives random bytes");
}

/// A password of so many letters and digits, none of which looks like another, with a sign that
/// makes it strong.
pub(crate) fn password() -> String {
    const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyzABCDEFGH2";
    const LENGTH: usize = 20;
    let mut bytes = [0; LENGTH];
    fill(&mut bytes);
    let letters = bytes.iter().map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]));
    letters.chain("-X7".chars()).collect()
}
