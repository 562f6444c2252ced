//! Which characters two tables order alike: the heaviest chain of primary weights that rises in
//! both.
//!
//! A longest increasing subsequence, weighted by the number of characters that share a pair of
//! ranks, found with a Fenwick tree of maxima. Characters outside the chain moved from one table to
//! the other.

use std::collections::{BTreeMap, BTreeSet};

/// What a pair of ranks weighs when an ASCII character has it: ASCII is known to be ordered alike.
const ASCII: u64 = 1_000_000;
/// The same for letters of alphabets, which come before their presentation forms.
const ALPHABET: u64 = 10;

/// A pair of ranks, with the weight and the characters that have it.
type Node<'a> = (&'a [u32; 2], &'a (u64, Vec<u16>));

/// The characters of the chain, given their ranks in both tables.
pub(super) fn alike(ranks: &BTreeMap<u16, [u32; 2]>) -> BTreeSet<u16> {
    let mut pairs: BTreeMap<[u32; 2], (u64, Vec<u16>)> = BTreeMap::new();
    for (&code, &pair) in ranks {
        let (weight, codes) = pairs.entry(pair).or_default();
        *weight += match code {
            0..0x80 => ASCII,
            0x80..0x2000 => ALPHABET,
            _ => 1,
        };
        codes.push(code);
    }
    let seconds: Vec<u32> =
        pairs.keys().map(|pair| pair[1]).collect::<BTreeSet<u32>>().into_iter().collect();
    let nodes: Vec<Node<'_>> = pairs.iter().collect();
    let mut chains = Chains { best: vec![None; seconds.len() + 1] };
    let mut totals: Vec<u64> = vec![0; nodes.len()];
    let mut before: Vec<Option<usize>> = vec![None; nodes.len()];
    let mut from = 0;
    while from < nodes.len() {
        // Pairs with the same first rank cannot follow each other.
        let to =
            from + nodes[from..].iter().take_while(|node| node.0[0] == nodes[from].0[0]).count();
        for at in from..to {
            let rank = seconds.partition_point(|second| *second < nodes[at].0[1]);
            let best = chains.best_below(rank);
            before[at] = best.map(|chain| chain.last);
            totals[at] = best.map_or(0, |chain| chain.weight) + nodes[at].1.0;
        }
        for at in from..to {
            let rank = seconds.partition_point(|second| *second < nodes[at].0[1]);
            chains.raise(rank, Chain { weight: totals[at], last: at });
        }
        from = to;
    }
    let mut chain = BTreeSet::new();
    let mut at = (0..nodes.len()).max_by_key(|at| totals[*at]);
    while let Some(node) = at {
        chain.extend(&nodes[node].1.1);
        at = before[node];
    }
    chain
}

/// For each prefix of the second ranks, the heaviest chain that ends in it.
struct Chains {
    best: Vec<Option<Chain>>,
}

/// A chain, ordered by its weight.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Chain {
    weight: u64,
    /// The node that it ends with.
    last: usize,
}

impl Chains {
    fn best_below(&self, rank: usize) -> Option<Chain> {
        let mut at = rank;
        let mut best = None;
        while at > 0 {
            best = best.max(self.best[at]);
            at &= at - 1;
        }
        best
    }

    fn raise(&mut self, rank: usize, chain: Chain) {
        let mut at = rank + 1;
        while at < self.best.len() {
            self.best[at] = self.best[at].max(Some(chain));
            at += at & at.wrapping_neg();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_character_that_moved_is_left_out() {
        let ranks = BTreeMap::from([
            (300, [1, 1]),
            (301, [2, 9]),
            (302, [3, 2]),
            (303, [4, 3]),
            (304, [4, 3]),
        ]);
        assert_eq!(alike(&ranks), BTreeSet::from([300, 302, 303, 304]));
    }

    #[test]
    fn characters_equal_in_one_table_alone_are_not_alike() {
        let ranks = BTreeMap::from([(97, [1, 1]), (300, [1, 2])]);
        assert_eq!(alike(&ranks), BTreeSet::from([97]));
    }
}
