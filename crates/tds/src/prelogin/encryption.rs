//! What is encrypted, from what both sides say in PRELOGIN.
//!
//! | client | server has a certificate | server forces encryption | no certificate |
//! |---|---|---|---|
//! | off | off: TLS for LOGIN7 alone | on: TLS for all | not supported: clear text |
//! | on | on: TLS for all | on | not supported; most clients leave |
//! | not supported | not supported: clear text | required; the client must leave | not supported |
//! | required | on | on | not supported; most clients leave |
//!
//! Other values count as required: nobody who asks for more than is known here gets clear text.
//!
//! TDS 8.0 does not ask: there TLS is below everything, and the option is ignored. Some clients
//! send 4 ("strict") in it.

/// The ENCRYPTION option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encryption {
    /// LOGIN7 alone.
    Off,
    /// Everything.
    On,
    /// Nothing.
    NotSupported,
    /// Everything, or no connection.
    Required,
    /// Another value: 4 from clients of TDS 8.0, bits for client certificates.
    Other(u8),
}

impl Encryption {
    /// By the byte of the option.
    #[must_use]
    pub fn from_byte(byte: u8) -> Encryption {
        match byte {
            0 => Encryption::Off,
            1 => Encryption::On,
            2 => Encryption::NotSupported,
            3 => Encryption::Required,
            other => Encryption::Other(other),
        }
    }

    /// The byte of the option.
    #[must_use]
    pub fn byte(self) -> u8 {
        match self {
            Encryption::Off => 0,
            Encryption::On => 1,
            Encryption::NotSupported => 2,
            Encryption::Required => 3,
            Encryption::Other(other) => other,
        }
    }
}

/// What a server can and wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServerEncryption {
    /// It has no certificate.
    Unavailable,
    /// It encrypts when asked.
    Available,
    /// It refuses clear text.
    Forced,
}

/// How much of a connection is inside TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TlsScope {
    /// Nothing.
    None,
    /// The LOGIN7 message; both sides then drop TLS.
    LoginOnly,
    /// Everything after PRELOGIN.
    All,
}

/// The server's part of the negotiation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Negotiation {
    /// ENCRYPTION option of the answer.
    pub answer: Encryption,
    /// What follows when the client goes on.
    pub scope: TlsScope,
    /// False when the server does not go on: it forces encryption and the client has none.
    pub is_acceptable: bool,
}

/// What a server answers. A client without the option counts as one that has no encryption.
#[must_use]
pub fn negotiate(client: Option<Encryption>, server: ServerEncryption) -> Negotiation {
    let client = client.unwrap_or(Encryption::NotSupported);
    let agreed = |answer, scope| Negotiation { answer, scope, is_acceptable: true };
    match (client, server) {
        (_, ServerEncryption::Unavailable) => agreed(Encryption::NotSupported, TlsScope::None),
        (Encryption::NotSupported, ServerEncryption::Forced) => Negotiation {
            answer: Encryption::Required,
            scope: TlsScope::None,
            is_acceptable: false,
        },
        (Encryption::NotSupported, ServerEncryption::Available) => {
            agreed(Encryption::NotSupported, TlsScope::None)
        }
        (Encryption::Off, ServerEncryption::Available) => {
            agreed(Encryption::Off, TlsScope::LoginOnly)
        }
        _ => agreed(Encryption::On, TlsScope::All),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(client: Encryption, server: ServerEncryption, answer: u8, scope: TlsScope) {
        let negotiation = negotiate(Some(client), server);
        assert_eq!(negotiation.answer.byte(), answer);
        assert_eq!(negotiation.scope, scope);
    }

    #[test]
    fn the_table_row_by_row() {
        use ServerEncryption::{Available, Forced, Unavailable};
        check(Encryption::Off, Available, 0, TlsScope::LoginOnly);
        check(Encryption::Off, Forced, 1, TlsScope::All);
        check(Encryption::Off, Unavailable, 2, TlsScope::None);
        check(Encryption::On, Available, 1, TlsScope::All);
        check(Encryption::On, Forced, 1, TlsScope::All);
        check(Encryption::On, Unavailable, 2, TlsScope::None);
        check(Encryption::NotSupported, Available, 2, TlsScope::None);
        check(Encryption::NotSupported, Forced, 3, TlsScope::None);
        check(Encryption::NotSupported, Unavailable, 2, TlsScope::None);
        check(Encryption::Required, Available, 1, TlsScope::All);
        check(Encryption::Required, Forced, 1, TlsScope::All);
        check(Encryption::Required, Unavailable, 2, TlsScope::None);
        check(Encryption::Other(4), Available, 1, TlsScope::All);
    }

    #[test]
    fn only_clear_text_against_force_is_refused() {
        for byte in 0..=255 {
            for server in [
                ServerEncryption::Unavailable,
                ServerEncryption::Available,
                ServerEncryption::Forced,
            ] {
                let negotiation = negotiate(Some(Encryption::from_byte(byte)), server);
                let is_refused = byte == 2 && server == ServerEncryption::Forced;
                assert_eq!(negotiation.is_acceptable, !is_refused);
            }
        }
    }
}
