//! Variables of scripts: `:setvar NAME VALUE`, `$(NAME)`.

use std::collections::BTreeMap;

use anyhow::bail;

/// The variables of a run; names do not differ in case. The environment stands behind them.
#[derive(Debug, Default)]
pub(super) struct Variables {
    values: BTreeMap<String, String>,
}

impl Variables {
    pub(super) fn set(&mut self, name: &str, value: &str) -> anyhow::Result<()> {
        if !is_name(name) {
            bail!("`{name}` is no name of a variable");
        }
        self.values.insert(name.to_uppercase(), unquoted(value));
        Ok(())
    }

    pub(super) fn unset(&mut self, name: &str) {
        self.values.remove(&name.to_uppercase());
    }

    /// `NAME="value"` for each.
    pub(super) fn list(&self) -> impl Iterator<Item = String> + '_ {
        self.values.iter().map(|(name, value)| format!("{name}=\"{value}\""))
    }

    /// A line with the values of its variables.
    ///
    /// # Errors
    /// One is not defined.
    pub(super) fn substituted(&self, line: &str) -> anyhow::Result<String> {
        let mut out = String::new();
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("$(") {
            out.push_str(before);
            match after.split_once(')') {
                Some((name, after)) if is_name(name) => {
                    out.push_str(&self.value(name)?);
                    rest = after;
                }
                _ => {
                    out.push_str("$(");
                    rest = after;
                }
            }
        }
        out.push_str(rest);
        Ok(out)
    }

    fn value(&self, name: &str) -> anyhow::Result<String> {
        let known = self.values.get(&name.to_uppercase()).cloned();
        match known.or_else(|| std::env::var(name).ok()) {
            Some(value) => Ok(value),
            None => bail!("'{name}' scripting variable not defined."),
        }
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

/// A value without the quotes around it.
fn unquoted(value: &str) -> String {
    let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.map_or_else(|| value.to_owned(), |inner| inner.replace("\"\"", "\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced() {
        let mut variables = Variables::default();
        variables.set("Table", "\"order \"\"x\"\"\"").unwrap();
        variables.set("n", "5").unwrap();
        let cases = [
            ("SELECT $(N) FROM [$(table)]", "SELECT 5 FROM [order \"x\"]"),
            ("SELECT '$(', $(a b), $", "SELECT '$(', $(a b), $"),
        ];
        for (line, expected) in cases {
            assert_eq!(variables.substituted(line).unwrap(), expected);
        }
        let error = variables.substituted("$(no_such_variable)").unwrap_err();
        assert_eq!(error.to_string(), "'no_such_variable' scripting variable not defined.");
        variables.unset("N");
        assert!(variables.substituted("$(n)").is_err());
        assert!(variables.set("a b", "1").is_err());
    }
}
