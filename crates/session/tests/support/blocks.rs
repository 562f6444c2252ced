//! Golden files of batches.
//!
//! Blocks with a blank line between them: a comment line `# …` where there is one, the text, `---`,
//! and what the text gives. `UPDATE_GOLDENFILES=1` writes what texts give now.

/// Asks `given` about each text of `tests/FOLDER/NAME.batches`, and compares.
pub(crate) fn compare(folder: &str, name: &str, given: &mut dyn FnMut(&str) -> String) {
    let path = format!("{}/tests/{folder}/{name}.batches", env!("CARGO_MANIFEST_DIR"));
    let golden = std::fs::read_to_string(&path).unwrap();
    let mut found = String::new();
    for block in golden.split("\n\n") {
        let (comment, text) = block
            .strip_prefix('#')
            .filter(|rest| rest.starts_with(' '))
            .and_then(|rest| rest.split_once('\n'))
            .map_or(("", block), |(comment, text)| (comment, text));
        if !comment.is_empty() {
            found.push_str(&format!("#{comment}\n"));
        }
        let text = text.split_once("\n---").map_or(text, |(text, _)| text).trim_end();
        let told = given(text);
        let told = if told.is_empty() { told } else { format!("{told}\n") };
        found.push_str(&format!("{text}\n---\n{told}\n"));
    }
    let found = format!("{}\n", found.trim_end());
    if std::env::var_os("UPDATE_GOLDENFILES").is_some() {
        std::fs::write(&path, &found).unwrap();
        return;
    }
    assert_eq!(found, golden, "{name}");
}
