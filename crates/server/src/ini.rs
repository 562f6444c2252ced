//! `mssql.conf`: sections in brackets, `name = value`, comments behind `#` or `;`.

/// A setting: `section.name` in small letters, its value, its line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// The settings of a file; the line of the first one that is none.
pub(crate) fn read(text: &str) -> Result<Vec<Entry>, usize> {
    let mut section = String::new();
    let mut entries = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.trim().to_lowercase();
            continue;
        }
        let (name, value) = line.split_once('=').ok_or(at + 1)?;
        let name = format!("{section}.{}", name.trim().to_lowercase());
        entries.push(Entry { name, value: value.trim().to_owned() });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_names_and_values() {
        let text = "# mine\n[network]\nTcpPort = 1500\n\n[memory]\nmemorylimitmb=512\n";
        let entries = read(text).unwrap();
        let shown: Vec<_> = entries.iter().map(|it| format!("{}={}", it.name, it.value)).collect();
        assert_eq!(shown, ["network.tcpport=1500", "memory.memorylimitmb=512"]);
        assert_eq!(read("[a]\nnonsense"), Err(2));
    }
}
