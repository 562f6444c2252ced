//! "Did you mean": the known name nearest to one that was typed.

/// `; did you mean X?`, or nothing when no name is near.
pub(super) fn did_you_mean<'n>(typed: &str, known: impl Iterator<Item = &'n str>) -> String {
    let typed_folded = folded(typed);
    let distances = known.map(|name| (distance(&typed_folded, &folded(name)), name));
    // A third of the letters may be wrong.
    let limit = (typed_folded.len() / 3).max(1);
    let nearest = distances.filter(|(distance, _)| *distance <= limit).min_by_key(|(distance, _)| *distance);
    nearest.map(|(_, name)| format!("; did you mean {name}?")).unwrap_or_default()
}

fn folded(name: &str) -> Vec<char> {
    name.chars().flat_map(char::to_lowercase).collect()
}

/// Levenshtein distance: insertions, deletions and replacements of characters.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, to) in row.iter_mut().skip(1).zip(b) {
            let replaced = diagonal + usize::from(from != to);
            diagonal = *cell;
            left = replaced.min(left + 1).min(*cell + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested_and_no_far_one() {
        let known = ["OrderID", "OrderDate", "Freight"];
        assert_eq!(did_you_mean("OrderDat", known.into_iter()), "; did you mean OrderDate?");
        assert_eq!(did_you_mean("freigt", known.into_iter()), "; did you mean Freight?");
        assert_eq!(did_you_mean("Customer", known.into_iter()), "");
    }

    #[test]
    fn the_distance_counts_edits() {
        let of = |a: &str, b: &str| distance(&folded(a), &folded(b));
        assert_eq!(of("kitten", "sitting"), 3);
        assert_eq!(of("", "abc"), 3);
        assert_eq!(of("abc", "abc"), 0);
    }
}
