//! Where the bytes of a log come from.
//!
//! The views of this crate open no files. A caller that has a log (a file, a slice, the log part of
//! a backup) hands it over as [`LogBytes`], addressed by offset in the log file.

/// Bytes of a log file.
pub trait LogBytes {
    /// What can go wrong while reading.
    type Error;

    /// Length of the log file in bytes.
    fn len(&self) -> u64;

    /// Fills `buf` with the bytes from `offset` on. Callers stay below [`len`](Self::len).
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), Self::Error>;

    /// True when there is nothing to read.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first offset from `offset` on that may hold something else than zeros. A source that
    /// knows its holes spares searches the way through them.
    fn next_data(&self, offset: u64) -> u64 {
        offset
    }
}

impl<S: LogBytes + ?Sized> LogBytes for &S {
    type Error = S::Error;

    fn len(&self) -> u64 {
        (**self).len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), Self::Error> {
        (**self).read_at(offset, buf)
    }

    fn next_data(&self, offset: u64) -> u64 {
        (**self).next_data(offset)
    }
}

/// A read went past the end of the bytes at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes at {offset} are not at hand")]
pub struct OutOfBytes {
    /// Where the read began.
    pub offset: u64,
    /// How many bytes it asked for.
    pub bytes: usize,
}

impl LogBytes for [u8] {
    type Error = OutOfBytes;

    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), OutOfBytes> {
        let missing = OutOfBytes { offset, bytes: buf.len() };
        let start = usize::try_from(offset).map_err(|_| missing)?;
        let bytes = self.get(start..).and_then(|rest| rest.get(..buf.len())).ok_or(missing)?;
        buf.copy_from_slice(bytes);
        Ok(())
    }
}

impl LogBytes for Vec<u8> {
    type Error = OutOfBytes;

    fn len(&self) -> u64 {
        LogBytes::len(self.as_slice())
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), OutOfBytes> {
        self.as_slice().read_at(offset, buf)
    }
}

/// A part of a log file as a backup carries it: the bytes around it read as zeros, which mean
/// "never written".
///
/// The log part of a backup (its MSTL blocks name the offsets) begins with the block that holds the
/// backup's first LSN, in the middle of a VLF, and has no VLF headers:
/// [`VlfDescription`](super::vlf::VlfDescription) takes their place.
#[derive(Clone, Copy, Debug)]
pub struct CarriedLog<S> {
    /// The bytes carried, from offset 0 on.
    pub bytes: S,
    /// Their offset in the log file.
    pub first: u64,
    /// Length of the log file they were taken from.
    pub file_len: u64,
}

impl<S: LogBytes> LogBytes for CarriedLog<S> {
    type Error = S::Error;

    fn len(&self) -> u64 {
        self.file_len
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), S::Error> {
        buf.fill(0);
        let wanted = offset..offset.saturating_add(buf.len() as u64);
        let start = wanted.start.max(self.first);
        let end = wanted.end.min(self.first.saturating_add(self.bytes.len()));
        if start >= end {
            return Ok(());
        }
        let skip = (start - wanted.start) as usize;
        let part = buf.get_mut(skip..).and_then(|rest| rest.get_mut(..(end - start) as usize));
        self.bytes.read_at(start - self.first, part.unwrap_or_default())
    }

    fn next_data(&self, offset: u64) -> u64 {
        let end = self.first.saturating_add(self.bytes.len());
        if offset < self.first {
            self.first
        } else if offset < end {
            self.first + self.bytes.next_data(offset - self.first)
        } else {
            self.file_len.max(offset)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_carried_log_is_zero_around_what_it_carries() {
        let log = CarriedLog { bytes: vec![1, 2, 3], first: 4, file_len: 10 };
        let mut all = [9; 10];
        log.read_at(0, &mut all).unwrap();
        assert_eq!(all, [0, 0, 0, 0, 1, 2, 3, 0, 0, 0]);
        let mut part = [9; 2];
        log.read_at(5, &mut part).unwrap();
        assert_eq!(part, [2, 3]);
        log.read_at(8, &mut part).unwrap();
        assert_eq!(part, [0, 0]);
        assert_eq!([0, 5, 7, 9].map(|at| log.next_data(at)), [4, 5, 10, 10]);
    }

    #[test]
    fn a_slice_does_not_read_past_its_end() {
        let bytes = vec![0; 8];
        assert_eq!(bytes.read_at(6, &mut [0; 4]), Err(OutOfBytes { offset: 6, bytes: 4 }));
        assert_eq!(
            bytes.read_at(u64::MAX, &mut [0; 4]),
            Err(OutOfBytes { offset: u64::MAX, bytes: 4 })
        );
    }
}
