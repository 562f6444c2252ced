//! What a statement is called when it is refused.

/// Words that need the next one to say what a statement is.
const INCOMPLETE: [&str; 12] = [
    "ADD", "ALTER", "BACKUP", "CREATE", "DECLARE", "DISABLE", "DROP", "ENABLE", "END", "OR",
    "REPLACE", "RESTORE",
];
/// Words between.
const BETWEEN: [&str; 6] = ["CLUSTERED", "NONCLUSTERED", "UNIQUE", "OR", "ALTER", "PRIMARY"];
/// Words at most.
const WORDS: usize = 5;

/// The first words of a statement, in capitals.
pub(super) fn of(text: &str) -> String {
    let mut name: Vec<String> = Vec::new();
    for word in text.split(|it: char| !it.is_alphanumeric() && it != '_') {
        if word.is_empty() {
            continue;
        }
        let word = word.to_uppercase();
        let goes_on = INCOMPLETE.contains(&word.as_str()) || BETWEEN.contains(&word.as_str());
        name.push(word);
        if !goes_on || name.len() == WORDS {
            break;
        }
    }
    name.join(" ")
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn a_statement_is_called_by_its_first_words() {
        assert_eq!(of("insert into t values (1)"), "INSERT");
        assert_eq!(of("create unique clustered index ix on t(a)"), "CREATE UNIQUE CLUSTERED INDEX");
        assert_eq!(of("Backup Database x"), "BACKUP DATABASE");
        assert_eq!(of("CREATE OR ALTER PROC p AS"), "CREATE OR ALTER PROC");
    }
}
