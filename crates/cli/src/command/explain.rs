//! `explain`: what a message number means, its usual cause, and what to do next.

use std::io::Write;

use anyhow::bail;
use clap::Args;
use extentdb_messages::{Counts, Explanation, Family, Message, Repair, all, explain, lookup};
use serde_json::{Value, json};

use crate::context::Context;
use crate::exit::Exit;
use crate::options::{CommonOptions, FormatArgs};

/// Numbers that are offered instead of one that is not known.
const NEARBY: usize = 6;
/// Width of a paragraph.
const WIDTH: usize = 100;

/// Options of `explain`.
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// Numbers of messages, such as 8978 or DBCC8978
    #[arg(value_name = "NUMBER", required_unless_present = "list")]
    numbers: Vec<String>,
    /// All numbers, one on a line
    #[arg(long, conflicts_with = "numbers")]
    list: bool,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    pub(crate) common: CommonOptions,
}

/// Runs the verb.
pub(crate) fn run(args: &ExplainArgs, context: &Context) -> anyhow::Result<Exit> {
    let messages: Vec<Explained> = if args.list {
        let explained = all().iter().filter_map(|message| Explained::of(message.number));
        explained.collect()
    } else {
        args.numbers.iter().map(|number| find(number)).collect::<anyhow::Result<_>>()?
    };
    let mut output = context.output(&[])?;
    if args.format.is_json() {
        output.write_json(&messages.iter().map(json_of).collect::<Value>())?;
    } else if args.list {
        output.write_all(messages.iter().map(line_of).collect::<String>().as_bytes())?;
    } else {
        let texts: Vec<String> = messages.iter().map(text_of).collect();
        output.write_all(texts.join("\n").as_bytes())?;
    }
    output.finish()?;
    Ok(Exit::Done)
}

/// A message and its explanation.
struct Explained {
    message: &'static Message,
    explanation: Explanation,
}

impl Explained {
    fn of(number: u32) -> Option<Explained> {
        Some(Explained { message: lookup(number)?, explanation: explain(number)? })
    }
}

fn find(typed: &str) -> anyhow::Result<Explained> {
    let digits = typed
        .get(..4)
        .filter(|word| word.eq_ignore_ascii_case("dbcc"))
        .map_or(typed, |_| &typed[4..]);
    let Ok(number) = digits.trim().parse::<u32>() else {
        bail!("{typed} is not a number of a message")
    };
    match Explained::of(number) {
        Some(found) => Ok(found),
        None => {
            bail!(
                "message {number} is not known; near it: {} (`explain --list` lists all)",
                nearby(number)
            )
        }
    }
}

/// The known numbers that are closest, ascending.
fn nearby(number: u32) -> String {
    let mut numbers: Vec<u32> = all().iter().map(|message| message.number).collect();
    numbers.sort_by_key(|known| (known.abs_diff(number), *known));
    numbers.truncate(NEARBY);
    numbers.sort_unstable();
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

fn text_of(Explained { message, explanation }: &Explained) -> String {
    let Message { number, severity, text, .. } = message;
    let mut out = format!("Msg {number}, Level {severity}: {}\n", readable(text));
    out += &format!("{}. Repair: {}.\n", counted(message), repair(message.repair));
    let parts = [
        ("Meaning", explanation.meaning),
        ("Cause", explanation.cause),
        ("Next step", explanation.next_step),
    ];
    for (name, paragraph) in parts {
        out += &format!("\n{name}\n{}", wrapped(paragraph));
    }
    out
}

fn line_of(explained: &Explained) -> String {
    let Message { number, severity, text, .. } = explained.message;
    format!("{number:>6}  level {severity}  {}\n", readable(text))
}

fn json_of(Explained { message, explanation }: &Explained) -> Value {
    json!({
        "error": message.number,
        "severity": message.severity,
        "counts_as": match message.counts {
            Counts::Allocation => Value::from("allocation error"),
            Counts::Consistency => Value::from("consistency error"),
            Counts::Neither => Value::Null,
        },
        "repair": repair(message.repair),
        "raised_by": family(message.raised_by),
        "text": message.text,
        "meaning": explanation.meaning,
        "cause": explanation.cause,
        "next_step": explanation.next_step,
    })
}

fn counted(message: &Message) -> String {
    let what = match message.counts {
        Counts::Allocation => "Counted as an allocation error",
        Counts::Consistency => "Counted as a consistency error",
        Counts::Neither => "Not counted as an error",
    };
    format!("{what}; raised by {}", family(message.raised_by))
}

fn family(family: Family) -> &'static str {
    match family {
        Family::Open => "opening files and backups",
        Family::Read => "reading a page",
        Family::Options => "the options of a check",
        Family::System => "boot page, file headers and system tables",
        Family::Allocation => "allocation checks",
        Family::Page => "the audit of a page",
        Family::Record => "the audit of a record",
        Family::Index => "index structure checks",
        Family::Value => "checks of column values",
        Family::Heap => "checks of forwarded rows",
        Family::OffRow => "checks of LOB and row-overflow data",
        Family::Match => "the comparison of indexes with their table",
        Family::Catalog => "catalog checks",
        Family::Broker => "Service Broker checks",
        Family::Filestream => "FILESTREAM checks",
        Family::Columnstore => "columnstore checks",
        Family::Repair => "repairs of SQL Server",
        Family::Command => "other DBCC commands",
        Family::Summary => "the summary",
        Family::Note => "ExtentDB's own notes",
    }
}

fn repair(repair: Repair) -> String {
    match repair {
        Repair::Always(level) => level.to_string(),
        Repair::ByIndex => {
            "repair_rebuild for a nonclustered index, else repair_allow_data_loss".to_owned()
        }
    }
}

/// A template with its holes as people write them: `…`.
fn readable(template: &str) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('%') {
        out += &rest[..at];
        let hole = &rest[at..];
        let len = hole_len(hole);
        out += if hole.starts_with("%%") { "%" } else { "…" };
        rest = &hole[len..];
    }
    out + rest
}

/// Length of a hole: `%S_PGID`, `%.*ls`, `%I64d`, `%08x`.
fn hole_len(hole: &str) -> usize {
    const NAMED: &str = "%S_";
    if let Some(name) = hole.strip_prefix(NAMED) {
        let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        return NAMED.len() + name.find(|c| !is_name(c)).unwrap_or(name.len());
    }
    let last = |c: char| matches!(c, 's' | 'd' | 'x' | 'X' | 'u' | 'c' | 'p' | '%');
    hole[1..].find(last).map_or(hole.len(), |at| at + 2)
}

/// A paragraph in lines.
fn wrapped(paragraph: &str) -> String {
    let mut out = String::new();
    let mut width = 0;
    for word in paragraph.split_whitespace() {
        let len = word.chars().count();
        if width > 0 && width + 1 + len > WIDTH {
            out.push('\n');
            width = 0;
        }
        out += if width > 0 { " " } else { "  " };
        out += word;
        width += len + if width > 0 { 1 } else { 2 };
    }
    out + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_with_and_without_prefix() {
        for typed in ["8978", "DBCC8978", "dbcc8978", " 8978"] {
            assert_eq!(find(typed).unwrap().message.number, 8978, "{typed}");
        }
        assert!(find("many").is_err());
        let error = find("8979999").err().unwrap().to_string();
        assert!(error.contains("near it:"), "{error}");
    }

    #[test]
    fn holes_of_templates_become_dots() {
        assert_eq!(
            readable("Page %S_PGID of %.*ls: %I64d in %08x, 5%% off"),
            "Page … of …: … in …, 5% off"
        );
        for message in all() {
            assert!(
                !readable(message.text).contains('%') || message.text.contains("%%"),
                "{}",
                message.number
            );
        }
    }

    #[test]
    fn paragraphs_are_wrapped_at_words() {
        let text = wrapped(&"word ".repeat(60));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert_eq!(text.split_whitespace().count(), 60);
    }
}
