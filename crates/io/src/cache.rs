//! How much of a file the page cache already holds, estimated by samples.
//!
//! A check of a file in the page cache should read it from there; a check of another file should
//! bypass the cache and leave it unchanged. The probe costs 64 system calls of one byte each that
//! return at once instead of reading (`RWF_NOWAIT`), so it is done before every scan.

use crate::file::File;
use crate::platform;
use crate::read_at::ReadAt;

/// Places looked at, spread evenly over the file.
const SAMPLES: u64 = 64;

/// The share of `file` that is in the page cache, from 0 to 1; `None` where the system does not
/// support it, and for a file without data. Holes are not probed: they are never read.
pub fn cached_fraction(file: &File) -> Option<f64> {
    let len = file.len();
    let step = (len / SAMPLES).max(1);
    let mut seen = 0_u32;
    let mut cached = 0_u32;
    for sample in 0..SAMPLES.min(len) {
        // The middle of each stretch: both ends of a file are read whenever it is opened and would
        // look better than the rest.
        let offset = sample * step + step / 2;
        if file.next_data(offset).is_some_and(|range| range.start == offset) {
            seen += 1;
            cached += u32::from(platform::is_cached(file.handle(), offset)?);
        }
    }
    (seen > 0).then(|| f64::from(cached) / f64::from(seen))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_file_just_written_is_cached_and_a_hole_is_not_looked_at() {
        let dir = tempfile::tempdir().unwrap();
        let file = File::create_new(dir.path().join("fresh")).unwrap();
        assert_eq!(cached_fraction(&file), None, "no data, no share");
        file.write_all_at(0, &vec![7; 1 << 20]).unwrap();
        if let Some(share) = cached_fraction(&file) {
            assert_eq!(share, 1.0);
            file.set_len(1 << 40).unwrap();
            assert_eq!(cached_fraction(&file), None, "every sample lies in the hole");
        }
    }
}
