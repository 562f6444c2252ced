//! Random bytes, hashes of passwords, and keys and certificates, of which there are none.

use extentdb_types::Datum;

use super::catalog::{number, text};
use super::{Definition, Kind};
use crate::cause::Cause;
use crate::frame::Values;
use crate::password::{PasswordHash, SALT_BYTES};

type Arguments<'a> = &'a [Datum<'static>];
type Given = Result<Datum<'static>, Cause>;

/// Bytes that CRYPT_GEN_RANDOM gives at most.
const RANDOM_MOST: i64 = 8_000;

fn random(at: Values<'_>, it: Arguments<'_>) -> Given {
    let length = number(it, 0).filter(|length| (1..=RANDOM_MOST).contains(length));
    let Some(length) = length.and_then(|length| usize::try_from(length).ok()) else {
        return Ok(Datum::Null);
    };
    let mut bytes = vec![0; length];
    at.connection.server.hooks.random(&mut bytes);
    Ok(Datum::Binary(bytes.into()))
}

fn encrypted(at: Values<'_>, it: Arguments<'_>) -> Given {
    let Some(password) = text(it, 0) else { return Ok(Datum::Null) };
    let mut salt = [0; SALT_BYTES];
    at.connection.server.hooks.random(&mut salt);
    Ok(Datum::Binary(PasswordHash::new(&password, salt).to_bytes().into()))
}

fn compared(_: Values<'_>, it: Arguments<'_>) -> Given {
    let (Some(password), Some(Datum::Binary(hash))) = (text(it, 0), it.get(1)) else {
        return Ok(Datum::Null);
    };
    let is_it = PasswordHash::from_bytes(hash).is_some_and(|hash| hash.is(&password));
    Ok(Datum::Int(is_it.into()))
}

fn nothing(_: Values<'_>, _: Arguments<'_>) -> Given {
    Ok(Datum::Null)
}

pub(super) static TABLE: &[Definition] = &[
    Definition::new("crypt_gen_random", Kind::Binary(8_000), random)
        .nullable()
        .of_some(1, &[Kind::Int, Kind::Binary(8_000)]),
    Definition::new("pwdencrypt", Kind::Binary(128), encrypted).nullable().of(&[Kind::Name]),
    Definition::new("pwdcompare", Kind::Int, compared)
        .nullable()
        .of_some(2, &[Kind::Name, Kind::Binary(128), Kind::Int]),
    Definition::new("cert_id", Kind::Int, nothing).nullable().of(&[Kind::Name]),
    Definition::new("asymkey_id", Kind::Int, nothing).nullable().of(&[Kind::Name]),
    Definition::new("symkeyproperty", Kind::Variant, nothing)
        .nullable()
        .of(&[Kind::Int, Kind::Name]),
    Definition::new("asymkeyproperty", Kind::Variant, nothing)
        .nullable()
        .of(&[Kind::Int, Kind::Name]),
    Definition::new("certproperty", Kind::Variant, nothing).nullable().of(&[Kind::Int, Kind::Name]),
    Definition::new("certencoded", Kind::Binary(8_000), nothing).nullable().of(&[Kind::Int]),
    Definition::new("certprivatekey", Kind::Binary(8_000), nothing)
        .nullable()
        .of_some(2, &[Kind::Int, Kind::Name, Kind::Name]),
    Definition::new("change_tracking_current_version", Kind::BigInt, nothing).nullable(),
    Definition::new("change_tracking_min_valid_version", Kind::BigInt, nothing)
        .nullable()
        .of(&[Kind::Int]),
    Definition::new("get_filestream_transaction_context", Kind::Binary(16), nothing).nullable(),
];
