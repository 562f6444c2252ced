//! Date and time of the tape format.
//!
//! ```text
//! 40 bits, most significant first: year 14, month 4, day 5, hour 5, minute 6, second 6
//! ```
//!
//! Local time of the machine that wrote it. All zero means "none".

use std::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The five bytes of a date. Any bits are a value; [`MtfDate::is_plausible`] tells whether a
/// calendar has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct MtfDate(pub [u8; 5]);

impl MtfDate {
    /// All zero: no date.
    pub const NONE: MtfDate = MtfDate([0; 5]);

    /// A date from its parts; each is cut to the bits of its field.
    pub const fn new(year: u16, month: u8, day: u8, hour: u8, minute: u8, second: u8) -> Self {
        let bits = (year as u64 & 0x3FFF) << 26
            | (month as u64 & 0xF) << 22
            | (day as u64 & 0x1F) << 17
            | (hour as u64 & 0x1F) << 12
            | (minute as u64 & 0x3F) << 6
            | (second as u64 & 0x3F);
        let [_, _, _, b0, b1, b2, b3, b4] = bits.to_be_bytes();
        MtfDate([b0, b1, b2, b3, b4])
    }

    fn bits(self) -> u64 {
        let [b0, b1, b2, b3, b4] = self.0;
        u64::from_be_bytes([0, 0, 0, b0, b1, b2, b3, b4])
    }

    /// Year, 0 to 16383.
    pub fn year(self) -> u16 {
        (self.bits() >> 26) as u16 & 0x3FFF
    }

    /// Month, 1 to 12 in a real date.
    pub fn month(self) -> u8 {
        (self.bits() >> 22) as u8 & 0xF
    }

    /// Day of the month.
    pub fn day(self) -> u8 {
        (self.bits() >> 17) as u8 & 0x1F
    }

    /// Hour, 0 to 23 in a real time.
    pub fn hour(self) -> u8 {
        (self.bits() >> 12) as u8 & 0x1F
    }

    /// Minute of the hour, 0 to 59.
    pub fn minute(self) -> u8 {
        (self.bits() >> 6) as u8 & 0x3F
    }

    /// Second of the minute, 0 to 59.
    pub fn second(self) -> u8 {
        self.bits() as u8 & 0x3F
    }

    /// True for the all-zero value.
    pub fn is_none(self) -> bool {
        self == MtfDate::NONE
    }

    /// True when every field lies in its calendar range.
    pub fn is_plausible(self) -> bool {
        (1..=12).contains(&self.month())
            && (1..=31).contains(&self.day())
            && self.hour() < 24
            && self.minute() < 60
            && self.second() < 60
    }
}

impl fmt::Display for MtfDate {
    /// `2024-05-05T19:15:01`, or nothing for "none".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            return Ok(());
        }
        let year = self.year();
        let month = self.month();
        let day = self.day();
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}",
            self.hour(),
            self.minute(),
            self.second()
        )
    }
}

impl fmt::Debug for MtfDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() { f.write_str("none") } else { fmt::Display::fmt(self, f) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_real_backups_read_back() {
        for (bytes, text) in [
            ([0x1F, 0xA1, 0x4B, 0x33, 0xC1], "2024-05-05T19:15:01"),
            ([0x1F, 0x8D, 0x25, 0x21, 0xD0], "2019-04-18T18:07:16"),
            ([0; 5], ""),
        ] {
            assert_eq!(MtfDate(bytes).to_string(), text);
        }
        assert_eq!(MtfDate::new(2024, 5, 5, 19, 15, 1).0, [0x1F, 0xA1, 0x4B, 0x33, 0xC1]);
    }

    #[test]
    fn a_thirteenth_month_is_not_plausible() {
        assert!(MtfDate::new(2024, 5, 5, 19, 15, 1).is_plausible());
        assert!(!MtfDate::new(2024, 13, 5, 19, 15, 1).is_plausible());
        assert!(!MtfDate::NONE.is_plausible());
    }
}
