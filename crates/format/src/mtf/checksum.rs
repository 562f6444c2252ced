//! The two checksums of a backup.
//!
//! - Descriptor blocks and stream headers: XOR of all little-endian u16 before the checksum field.
//! - Records of a compressed backup: for each little-endian u32, rotate the sum left by one bit and
//!   XOR the word in; a last partial word is filled up with zero bytes.

/// XOR of the little-endian u16 words of `bytes`; an odd last byte counts as the low half of a
/// word.
pub fn xor_words(bytes: &[u8]) -> u16 {
    let (words, rest) = bytes.as_chunks::<2>();
    let sum = words.iter().fold(0, |sum, word| sum ^ u16::from_le_bytes(*word));
    rest.first().map_or(sum, |byte| sum ^ u16::from(*byte))
}

/// Rotating XOR of the little-endian u32 words of `bytes`.
pub fn rotate_xor(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<4>();
    let sum = words.iter().fold(0u32, |sum, word| sum.rotate_left(1) ^ u32::from_le_bytes(*word));
    if rest.is_empty() {
        return sum;
    }
    let mut last = [0; 4];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    sum.rotate_left(1) ^ u32::from_le_bytes(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_xor_is_blind_to_nothing_but_pairs() {
        assert_eq!(xor_words(&[]), 0);
        assert_eq!(xor_words(&[0x34, 0x12]), 0x1234);
        assert_eq!(xor_words(&[0x34, 0x12, 0x34, 0x12, 0xFF]), 0x00FF);
    }

    #[test]
    fn rotating_xor_sees_the_order_of_words() {
        assert_eq!(rotate_xor(&[]), 0);
        assert_eq!(rotate_xor(&[1, 0, 0, 0]), 1);
        assert_eq!(rotate_xor(&[1, 0, 0, 0, 0, 0, 0, 0x80]), 0x8000_0002);
        assert_eq!(rotate_xor(&[0, 0, 0, 0x80, 1]), 0);
    }
}
