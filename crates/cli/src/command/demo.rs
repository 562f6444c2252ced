//! `demo`: the first five minutes, on a database of its own.
//!
//! Every step runs this very program with the command line that is shown, in a temporary folder, and is held to its promise:
//! the story only reaches its end when each command did what the text says.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow, bail, ensure};
use clap::Args;
use extentdb_base::env::Clock;
use serde_json::Value;

use crate::cli::Common;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;

/// The database, its damaged copy, and what was done to it.
const SHOP: &str = "shop.mdf";
const BROKEN: &str = "broken.mdf";
const TRUTH: &str = "truth.json";
/// The table whose rows are shown.
const TABLE: &str = "dbo.customers";
/// Rows that are shown of it.
const ROWS: usize = 3;
/// The fault: nothing but the checksum of the page gives it away.
const KIND: &str = "flipped-byte";
/// Longest line of output that is shown whole.
const LINE: usize = 104;
/// Lines that the first two findings take.
const LINES_OF_FINDINGS: usize = 6;

/// Options of `demo`.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Make the files in this folder and keep them
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Runs the verb.
pub(crate) fn run(args: &DemoArgs, context: &Context) -> anyhow::Result<Exit> {
    let start = context.clock.monotonic();
    let mut output = context.output(&[])?;
    let folder = Folder::create(args.keep.as_deref())?;
    let mut story = Story { folder: &folder.path, out: &mut output };
    story.tell()?;
    let seconds = context.clock.monotonic().saturating_sub(start).as_secs_f64();
    story.end(args.keep.as_deref(), seconds)?;
    output.finish()?;
    Ok(Exit::Done)
}

/// A folder of our own; removed at the end unless it is to be kept.
struct Folder {
    path: PathBuf,
    is_kept: bool,
}

impl Folder {
    fn create(keep: Option<&Path>) -> anyhow::Result<Folder> {
        let Some(path) = keep else {
            let path = std::env::temp_dir().join(format!("extentdb-demo-{}", std::process::id()));
            fs::create_dir(&path).with_context(|| format!("cannot create {}", path.display()))?;
            return Ok(Folder { path, is_kept: false });
        };
        fs::create_dir_all(path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Folder { path: path.to_path_buf(), is_kept: true })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_kept {
            // What is left of a demo in the system's folder for such things does no harm.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// What a command of the story printed.
struct Printed {
    code: i32,
    text: String,
}

impl Printed {
    fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_str(&self.text).context("the output is not JSON")
    }
}

struct Story<'a> {
    folder: &'a Path,
    out: &'a mut Output,
}

impl Story<'_> {
    fn tell(&mut self) -> anyhow::Result<()> {
        self.say("The first five minutes with ExtentDB. No SQL Server is needed, here or later.\n")?;
        self.make()?;
        self.look()?;
        self.export()?;
        self.check_sound()?;
        let page = self.damage()?;
        let error = self.find(&page)?;
        self.show(&page, &error)
    }

    fn make(&mut self) -> anyhow::Result<()> {
        self.say(
            "\n1. A database to try things on, made from a seed: customers, their sales, and a heap.\n",
        )?;
        let made = self.step(&["make", SHOP, "--shape", "demo", "--size", "4MB", "--seed", "42"], 0)?;
        self.quote(&made.text, 5)
    }

    fn look(&mut self) -> anyhow::Result<()> {
        self.say("\n2. What is in it? The catalogue inside the file knows.\n")?;
        let tables = self.step(&["tables", SHOP], 0)?;
        let customers = from_line(&tables.text, TABLE);
        ensure!(!customers.is_empty(), "the catalogue does not list {TABLE}");
        self.quote(customers, 6)
    }

    fn export(&mut self) -> anyhow::Result<()> {
        self.say("\n3. Its rows, exactly as they are stored, as JSON lines (or CSV, or SQL).\n")?;
        let rows = self.step(&["export", SHOP, "--table", TABLE], 0)?;
        let first = rows.text.lines().next().unwrap_or_default();
        let is_row = serde_json::from_str::<Value>(first).is_ok_and(|row| row.is_object());
        ensure!(is_row, "the first row of {TABLE} is not a JSON object");
        self.quote(&rows.text, ROWS)
    }

    fn check_sound(&mut self) -> anyhow::Result<()> {
        self.say("\n4. Is it healthy? Every allocated page is read: the physical part of DBCC CHECKDB.\n")?;
        let check = self.step(&["check", SHOP, "--no-infomsgs"], 0)?;
        ensure!(check.text.starts_with("clean:"), "the check of a sound database is not clean");
        self.quote(&check.text, 1)
    }

    /// Damages a copy; gives the page.
    fn damage(&mut self) -> anyhow::Result<String> {
        self.say("\n5. Now a bit rots: one byte of a row changes, in a copy.\n")?;
        let arguments = ["damage", SHOP, "--kind", KIND, "--seed", "7", "--to", BROKEN, "--truth", TRUTH];
        let damage = self.step(&arguments, 0)?;
        self.quote(&damage.text, 3)?;
        let truth: Value = serde_json::from_slice(&fs::read(self.folder.join(TRUTH))?)?;
        match (truth["file"].as_u64(), truth["page"].as_u64()) {
            (Some(file), Some(page)) => Ok(format!("{file}:{page}")),
            _ => bail!("the truth file names no page"),
        }
    }

    /// Checks the copy; gives the number of the first finding about the page.
    fn find(&mut self, page: &str) -> anyhow::Result<String> {
        self.say(
            "\n6. Does a check see it? It must name this page, and nothing that does not follow from it.\n",
        )?;
        let check = self.step(&["check", BROKEN, "--no-infomsgs"], 2)?;
        self.quote(&wrapped(&check.text, 2), LINES_OF_FINDINGS)?;
        let report = self.run(&["check", BROKEN, "--json"])?.json()?;
        let findings = report["findings"].as_array().cloned().unwrap_or_default();
        let is_on_page = |finding: &&Value| format!("{}:{}", finding["file"], finding["page"]) == page;
        let cause = format!("({page})");
        let follows =
            |finding: &&Value| finding["derived_from"].as_str().is_some_and(|from| from.contains(&cause));
        let (own, others): (Vec<&Value>, Vec<&Value>) = findings.iter().partition(is_on_page);
        let first = own.first().ok_or_else(|| anyhow!("the check did not find the damage in page {page}"))?;
        let stray = others.iter().find(|finding| !follows(finding));
        ensure!(stray.is_none(), "the check found something else: {}", stray.unwrap_or(first));
        let rest = if others.is_empty() {
            String::new()
        } else {
            format!(", {} elsewhere because of it", others.len())
        };
        self.say(&format!("   Found: {} findings about page {cause}{rest}; nothing else.\n", own.len()))?;
        Ok(first["error"].to_string())
    }

    fn show(&mut self, page: &str, error: &str) -> anyhow::Result<()> {
        self.say("\n7. What does the page look like, and what does the message mean?\n")?;
        let shown = self.step(&["page", BROKEN, page], 2)?;
        let protection = from_line(&shown.text, "Protection:");
        ensure!(protection.contains("INVALID"), "page {page} is shown without its fault");
        self.quote(protection, 1)?;
        let meaning = self.step(&["explain", error], 0)?;
        self.quote(from_line(&meaning.text, "Next step"), 3)
    }

    fn end(&mut self, keep: Option<&Path>, seconds: f64) -> anyhow::Result<()> {
        self.say(&format!("\nAll seven steps did what they promised, in {seconds:.1} s.\n"))?;
        if let Some(folder) = keep {
            self.say(&format!("The files are in {}.\n", folder.display()))?;
        }
        self.say(
            "\nNow with a file of your own, a backup or data files. They are only read:\n\
             \n   extentdb info   Sales.bak                  what it is\
             \n   extentdb check  Sales.bak                  is it healthy?\
             \n   extentdb tables Sales.mdf Sales_2.ndf      what is in it\
             \n   extentdb export Sales.bak --tables 'dbo.*' --out sales\
             \n   extentdb --help                            everything else\n",
        )
    }

    fn say(&mut self, text: &str) -> anyhow::Result<()> {
        Ok(self.out.write_all(text.as_bytes())?)
    }

    /// Shows a command line, runs it, and holds it to its exit code.
    fn step(&mut self, arguments: &[&str], code: i32) -> anyhow::Result<Printed> {
        self.say(&format!("   $ extentdb {}\n", arguments.join(" ")))?;
        let printed = self.run(arguments)?;
        let line = || format!("`extentdb {}`", arguments.join(" "));
        ensure!(printed.code == code, "{} ended with {}, not {code}: {}", line(), printed.code, printed.text);
        Ok(printed)
    }

    fn run(&self, arguments: &[&str]) -> anyhow::Result<Printed> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command.args(arguments).args(["--progress", "never"]).current_dir(self.folder).stdin(Stdio::null());
        let output = command.output().context("cannot run this program")?;
        let code = output.status.code().unwrap_or(-1);
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        if text.is_empty() {
            text = String::from_utf8_lossy(&output.stderr).into_owned();
        }
        Ok(Printed { code, text })
    }

    /// The first lines of what a command printed.
    fn quote(&mut self, text: &str, lines: usize) -> anyhow::Result<()> {
        for line in text.lines().take(lines) {
            let shown: String = line.chars().take(LINE).collect();
            let more = if shown.len() < line.len() { " …" } else { "" };
            self.say(&format!("   {shown}{more}\n"))?;
        }
        let is_more = text.lines().nth(lines).is_some();
        self.say(if is_more { "   …\n" } else { "" })
    }
}

/// The first lines of a text, broken at words.
fn wrapped(text: &str, lines: usize) -> String {
    let mut out = String::new();
    for line in text.lines().take(lines) {
        let mut width = 0;
        for word in line.split(' ') {
            let len = word.chars().count();
            if width > 0 && width + 1 + len > LINE {
                out.push_str("\n  ");
                width = 2;
            } else if width > 0 {
                out.push(' ');
                width += 1;
            }
            out.push_str(word);
            width += len;
        }
        out.push('\n');
    }
    out
}

/// The text from the first line on that begins with `word`.
fn from_line<'t>(text: &'t str, word: &str) -> &'t str {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with(word) {
            return &text[at..];
        }
        at += line.len();
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_taken_from_the_line_that_begins_with_a_word() {
        assert_eq!(from_line("a\nbc\nd\n", "b"), "bc\nd\n");
        assert_eq!(from_line("a\nbc", "x"), "");
    }

    #[test]
    fn long_lines_are_broken_at_words() {
        let text = wrapped(&format!("{}\nsecond\nthird", "word ".repeat(50)), 2);
        assert!(text.lines().all(|line| line.chars().count() <= LINE));
        assert_eq!(text.split_whitespace().count(), 51);
    }
}
