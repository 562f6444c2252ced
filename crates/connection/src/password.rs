//! Passwords: salted SHA-512 in the product's own form, and what a strong one is.
//!
//! ```text
//! 0x0200, salt 4, SHA-512(password in UTF-16LE, salt) 64
//! ```

use sha2::{Digest, Sha512};

const VERSION: [u8; 2] = [2, 0];
/// Bytes of the salt.
pub const SALT_BYTES: usize = 4;
const HASH_BYTES: usize = 64;
/// Characters of a strong password at least.
const STRONG_CHARACTERS: usize = 8;
/// Of capital letters, small letters, digits and others a strong password has three.
const STRONG_CLASSES: usize = 3;

/// A password as it is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash {
    salt: [u8; SALT_BYTES],
    hash: [u8; HASH_BYTES],
}

/// Why a password is not strong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordWeakness {
    /// Too short.
    #[error("it has fewer than 8 characters")]
    Short,
    /// Too few kinds of characters.
    #[error("it has not three of capital letters, small letters, digits and other characters")]
    Plain,
    /// It has the name of the login in it.
    #[error("it contains the name of the login")]
    Name,
}

impl PasswordHash {
    /// The hash of a password under a salt.
    #[must_use]
    pub fn new(password: &str, salt: [u8; SALT_BYTES]) -> PasswordHash {
        let mut digest = Sha512::new();
        for unit in password.encode_utf16() {
            digest.update(unit.to_le_bytes());
        }
        digest.update(salt);
        PasswordHash { salt, hash: digest.finalize().into() }
    }

    /// Is it this password? The time does not depend on where they differ.
    #[must_use]
    pub fn is(&self, password: &str) -> bool {
        let other = PasswordHash::new(password, self.salt);
        self.hash.iter().zip(other.hash).fold(0, |all, (a, b)| all | (a ^ b)) == 0
    }

    /// The bytes, as the product stores them.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        [&VERSION[..], &self.salt, &self.hash].concat()
    }

    /// The hash behind stored bytes; `None` for another form.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<PasswordHash> {
        let rest = bytes.strip_prefix(&VERSION)?;
        let (salt, hash) = rest.split_first_chunk()?;
        Some(PasswordHash { salt: *salt, hash: hash.try_into().ok()? })
    }
}

impl std::fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}

/// Is it strong enough for a login that a network can reach?
///
/// # Errors
/// What it lacks.
pub fn verify_strength(login: &str, password: &str) -> Result<(), PasswordWeakness> {
    if password.chars().count() < STRONG_CHARACTERS {
        return Err(PasswordWeakness::Short);
    }
    let has = |test: fn(char) -> bool| usize::from(password.chars().any(test));
    let classes = has(char::is_uppercase)
        + has(char::is_lowercase)
        + has(char::is_numeric)
        + has(|it| !it.is_alphanumeric());
    if classes < STRONG_CLASSES {
        return Err(PasswordWeakness::Plain);
    }
    if login.chars().count() > 2 && password.to_lowercase().contains(&login.to_lowercase()) {
        return Err(PasswordWeakness::Name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_knows_its_password_and_survives_its_bytes() {
        let hash = PasswordHash::new("Pä$$w0rd", [1, 2, 3, 4]);
        assert!(hash.is("Pä$$w0rd") && !hash.is("pä$$w0rd"));
        let bytes = hash.to_bytes();
        assert_eq!((bytes.len(), &bytes[..6]), (70, &[2, 0, 1, 2, 3, 4][..]));
        assert_eq!(PasswordHash::from_bytes(&bytes), Some(hash));
        assert_eq!(PasswordHash::from_bytes(&bytes[1..]), None);
    }

    #[test]
    fn strength_is_length_and_variety() {
        assert_eq!(verify_strength("sa", "yourStrong(!)Password"), Ok(()));
        assert_eq!(verify_strength("sa", "Ab1!"), Err(PasswordWeakness::Short));
        assert_eq!(verify_strength("sa", "abcdefgh1"), Err(PasswordWeakness::Plain));
        assert_eq!(verify_strength("anna", "Anna12345!"), Err(PasswordWeakness::Name));
    }
}
