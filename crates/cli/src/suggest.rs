//! "Did you mean": the known names that are nearest to what was typed, by edit distance
//! (Levenshtein, with the exchange of two neighbours as one edit; case does not count).

/// Most names that are suggested.
const NAMES_MAX: usize = 3;

/// ` (did you mean Orders or OrderLines?)`, or nothing when no name is near.
pub(crate) fn did_you_mean<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let near = nearest(typed, names);
    if near.is_empty() { String::new() } else { format!(" (did you mean {}?)", near.join(" or ")) }
}

/// The nearest names, nearest first; none that differs in more than a third of its letters.
fn nearest<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let typed: Vec<char> = typed.chars().flat_map(char::to_lowercase).collect();
    let mut near: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let letters: Vec<char> = name.chars().flat_map(char::to_lowercase).collect();
            let most = typed.len().max(letters.len()).div_ceil(3);
            // A name of another length needs at least as many edits.
            let is_near = typed.len().abs_diff(letters.len()) <= most;
            let distance = if is_near { distance(&typed, &letters) } else { usize::MAX };
            (distance <= most).then_some((distance, name))
        })
        .collect();
    near.sort();
    near.dedup();
    let best = near.first().map_or(0, |(distance, _)| *distance);
    near.into_iter()
        .filter(|(distance, _)| *distance <= best + 1)
        .map(|(_, name)| name)
        .take(NAMES_MAX)
        .collect()
}

/// Insertions, deletions, replacements and exchanges of neighbours that make one of the other.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut least = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_are_suggested_and_far_ones_are_not() {
        let names = ["check", "tables", "export", "explain", "schema"];
        for (typed, expected) in [
            ("chekc", " (did you mean check?)"),
            ("TABEL", " (did you mean tables?)"),
            ("exprot", " (did you mean export?)"),
            ("nonsense", ""),
            ("", ""),
        ] {
            assert_eq!(did_you_mean(typed, names), expected, "{typed}");
        }
    }

    #[test]
    fn an_exchange_of_neighbours_is_one_edit() {
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        assert_eq!(distance(&letters("ab"), &letters("ba")), 1);
        assert_eq!(distance(&letters("kitten"), &letters("sitting")), 3);
        assert_eq!(distance(&letters(""), &letters("abc")), 3);
    }
}
