//! HASHBYTES with the algorithms that are public standards.

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use crate::arena::Arena;
use crate::lane::{Lane, Lanes, Reg, Span, map};

/// The algorithms of HASHBYTES.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "variants are the names of the algorithms")]
pub enum Algorithm {
    Md5,
    Sha1,
    Sha256,
    Sha512,
}

impl Algorithm {
    /// By the name HASHBYTES takes. `SHA` is SHA-1.
    pub fn named(name: &str) -> Option<Algorithm> {
        Some(match name.to_ascii_uppercase().as_str() {
            "MD5" => Algorithm::Md5,
            "SHA" | "SHA1" => Algorithm::Sha1,
            "SHA2_256" => Algorithm::Sha256,
            "SHA2_512" => Algorithm::Sha512,
            _ => return None,
        })
    }
}

/// A hash of bytes.
#[derive(Debug, Clone)]
pub struct Op {
    /// The bytes.
    pub a: Reg,
    /// How they are hashed.
    pub algorithm: Algorithm,
}

impl Op {
    pub(crate) fn run(&self, lanes: &Lanes, arena: &mut Arena, out: &mut Lane) {
        map(out, lanes.at(self.a), |a: Span| {
            arena.build(|arena, to| {
                let text = arena.get(a);
                match self.algorithm {
                    Algorithm::Md5 => to.extend(Md5::digest(text)),
                    Algorithm::Sha1 => to.extend(Sha1::digest(text)),
                    Algorithm::Sha256 => to.extend(Sha256::digest(text)),
                    Algorithm::Sha512 => to.extend(Sha512::digest(text)),
                }
                Ok(())
            })
        });
    }
}
