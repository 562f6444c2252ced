//! A permutation of the numbers below a bound by constant steps: its inverse is known without
//! sorting.

/// Maps number *n* to `n * step % len`.
pub(super) struct Permutation {
    len: u64,
    step: u64,
    inverse: u64,
}

impl Permutation {
    pub(super) fn new(len: u64, wish: u64) -> Permutation {
        let step =
            (wish % len.max(1)..).find(|step| gcd(*step, len) == 1).unwrap_or(1) % len.max(1);
        let inverse = (0..len).find(|inverse| (inverse * step) % len == 1 % len).unwrap_or(0);
        Permutation { len, step, inverse }
    }

    /// A permutation of 0 .. `len` that looks random.
    pub(super) fn shuffle(len: u64) -> Permutation {
        Permutation::new(len, len / 1000 * 618 + len % 1000 * 618 / 1000)
    }

    pub(super) fn at(&self, number: u64) -> u64 {
        number % self.len * self.step % self.len
    }

    /// All numbers below `count`, ordered by their image, then by themselves.
    pub(super) fn order(&self, count: u64) -> impl Iterator<Item = u64> + '_ {
        (0..self.len).flat_map(move |image| self.with_image(image, count))
    }

    /// The same with images in descending order.
    pub(super) fn descending(&self, count: u64) -> impl Iterator<Item = u64> + '_ {
        (0..self.len).rev().flat_map(move |image| self.with_image(image, count))
    }

    fn with_image(&self, image: u64, count: u64) -> impl Iterator<Item = u64> + use<> {
        (image * self.inverse % self.len..count).step_by(self.len as usize)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_a_walk_is_that_of_its_places() {
        for len in [1, 2, 7, 997] {
            let walk = Permutation::shuffle(len);
            let count = 2_000;
            let order: Vec<u64> = walk.order(count).collect();
            assert_eq!(order.len() as u64, count);
            assert!(order.is_sorted_by_key(|number| (walk.at(*number), *number)), "{len}");
            let order: Vec<u64> = walk.descending(count).collect();
            assert!(order.is_sorted_by_key(|number| (len - walk.at(*number), *number)), "{len}");
        }
        assert_eq!(Permutation::shuffle(0).order(0).count(), 0);
    }
}
