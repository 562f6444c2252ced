//! The four flag bytes of LOGIN7.
//!
//! ```text
//! OptionFlags1  0x01 big-endian, 0x02 EBCDIC, 0x0C float format, 0x10 dump and load off,
//!               0x20 announce the database, 0x40 the database must exist,
//!               0x80 announce the language
//! OptionFlags2  0x01 the language must exist, 0x02 ODBC, 0x70 kind of user, 0x80 integrated
//! TypeFlags     0x0F kind of SQL, 0x10 OLE DB, 0x20 read-only intent
//! OptionFlags3  0x01 change the password, 0x02 user instance, 0x04 binary XML,
//!               0x08 unknown collations, 0x10 extension block
//! ```

/// The flags; bits without a name here are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoginFlags {
    /// OptionFlags1.
    pub option1: u8,
    /// OptionFlags2.
    pub option2: u8,
    /// TypeFlags.
    pub kind: u8,
    /// OptionFlags3.
    pub option3: u8,
}

impl LoginFlags {
    pub(super) fn from_bytes(bytes: [u8; 4]) -> LoginFlags {
        let [option1, option2, kind, option3] = bytes;
        LoginFlags { option1, option2, kind, option3 }
    }

    pub(super) fn to_bytes(self) -> [u8; 4] {
        [self.option1, self.option2, self.kind, self.option3]
    }

    /// The client writes integers big-endian or text as EBCDIC, or floats other than IEEE: no
    /// client of this protocol does.
    #[must_use]
    pub fn has_foreign_number_formats(self) -> bool {
        self.option1 & 0x0F != 0
    }

    /// The client wants a message about the database it is in.
    #[must_use]
    pub fn announces_database(self) -> bool {
        self.option1 & 0x20 != 0
    }

    /// Without the database the login fails; else it falls back to the default database.
    #[must_use]
    pub fn requires_database(self) -> bool {
        self.option1 & 0x40 != 0
    }

    /// The client wants a message about its language.
    #[must_use]
    pub fn announces_language(self) -> bool {
        self.option1 & 0x80 != 0
    }

    /// Without the language the login fails.
    #[must_use]
    pub fn requires_language(self) -> bool {
        self.option2 & 0x01 != 0
    }

    /// The session starts with the ANSI options on.
    #[must_use]
    pub fn is_odbc(self) -> bool {
        self.option2 & 0x02 != 0
    }

    /// The login is that of the operating system.
    #[must_use]
    pub fn has_integrated_security(self) -> bool {
        self.option2 & 0x80 != 0
    }

    /// OLE DB.
    #[must_use]
    pub fn is_ole_db(self) -> bool {
        self.kind & 0x10 != 0
    }

    /// The client only reads.
    #[must_use]
    pub fn has_read_only_intent(self) -> bool {
        self.kind & 0x20 != 0
    }

    /// The password is to be changed to the new one.
    #[must_use]
    pub fn changes_password(self) -> bool {
        self.option3 & 0x01 != 0
    }

    /// The client takes collations that it does not know.
    #[must_use]
    pub fn takes_unknown_collations(self) -> bool {
        self.option3 & 0x08 != 0
    }
}
