//! `demo`: the first five minutes, on a database of its own.
//!
//! The first steps write, with the engine (`shop`); the others run this very program with the
//! command line that is shown. Every step is held to its promise: the story only reaches its end
//! when each did what the text says.

mod shop;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow, bail, ensure};
use clap::Args;
use extentdb_base::env::Clock;
use serde_json::Value;

use crate::context::Context;
use crate::exit::Exit;
use crate::options::CommonOptions;
use crate::output::Output;
use crate::scratch::{self, Scratch};

/// The files of the shop.
const FILES: [&str; 3] = [shop::FILES[0].0, shop::FILES[1].0, shop::FILES[2].0];
/// The damaged copy, file by file, and what was done to it.
const BROKEN: [&str; 3] = ["broken.mdf", "broken_2.ndf", "broken_3.ndf"];
const TRUTH: &str = "truth.json";
/// The table whose rows are shown.
const TABLE: &str = "dbo.orders";
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
    /// Orders that the shop gets
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(3000..=1_000_000))]
    rows: u32,
    /// The process of step 3 that is killed: writes orders in this folder.
    #[arg(long, hide = true, requires_all = ["first", "last"])]
    writer: Option<PathBuf>,
    #[arg(long, hide = true)]
    first: Option<u32>,
    #[arg(long, hide = true)]
    last: Option<u32>,
    #[command(flatten)]
    pub(crate) common: CommonOptions,
}

/// Runs the verb.
pub(crate) fn run(args: &DemoArgs, context: &Context) -> anyhow::Result<Exit> {
    if let (Some(folder), Some(first), Some(last)) = (&args.writer, args.first, args.last) {
        shop::write_until_killed(folder, first, last)?;
        return Ok(Exit::Done);
    }
    let start = context.clock.monotonic();
    let mut output = context.output(&[])?;
    let folder = Folder::create(args.keep.as_deref())?;
    let mut story = Story { folder: &folder.path, rows: args.rows, out: &mut output };
    story.tell()?;
    let seconds = context.clock.monotonic().saturating_sub(start).as_secs_f64();
    story.end(args.keep.as_deref(), seconds)?;
    output.finish()?;
    Ok(Exit::Done)
}

/// A folder of our own; removed at the end, and after a signal, unless it is to be kept.
struct Folder {
    path: PathBuf,
    _scratch: Option<Scratch>,
}

impl Folder {
    fn create(keep: Option<&Path>) -> anyhow::Result<Folder> {
        let Some(path) = keep else {
            let path = std::env::temp_dir().join(format!("extentdb-demo-{}", std::process::id()));
            fs::create_dir(&path).with_context(|| format!("cannot create {}", path.display()))?;
            let scratch = Some(Scratch::new(path.clone()));
            return Ok(Folder { path, _scratch: scratch });
        };
        fs::create_dir_all(path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Folder { path: path.to_path_buf(), _scratch: None })
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
    /// Orders that there are at last.
    rows: u32,
    out: &'a mut Output,
}

impl Story<'_> {
    fn tell(&mut self) -> anyhow::Result<()> {
        self.say(
            "The first five minutes with ExtentDB. No SQL Server is needed, here or later.\n",
        )?;
        self.create()?;
        self.fill()?;
        self.kill()?;
        self.recover()?;
        self.look()?;
        self.export()?;
        self.check_sound()?;
        let page = self.damage()?;
        let error = self.find(&page)?;
        self.show(&page, &error)
    }

    fn create(&mut self) -> anyhow::Result<()> {
        self.say(
            "\n1. A new database in SQL Server's own format: three data files of 4, 8 and 32 MB, and a log.\n   \
             They shall be full at the same time, so a larger file gets more: it is skipped less often.\n   \
             These are the lines that SQL Server prints with trace flag 1165:\n",
        )?;
        for (name, _) in shop::FILES {
            let path = self.folder.join(name);
            ensure!(!path.exists(), "{} exists: it will not be overwritten", path.display());
        }
        let lines = shop::create(self.folder)?;
        ensure!(lines.iter().filter(|line| line.contains("skip target")).count() == 3, "{lines:?}");
        lines.iter().try_for_each(|line| {
            self.say(&format!("   {}\n", line.trim_end().replace('\t', "   ")))
        })
    }

    /// Orders before the last tenth, which comes in the next step.
    fn rows_first(&self) -> u32 {
        self.rows - self.rows / 10
    }

    fn fill(&mut self) -> anyhow::Result<()> {
        let rows = self.rows_first();
        self.say(&format!(
            "\n2. {} orders in one heap, a transaction for each thousand. Where did their extents come from?\n",
            grouped(rows)
        ))?;
        for file in shop::fill(self.folder, rows)? {
            let percent = f64::from(file.taken) * 100.0 / f64::from(file.free.max(1));
            self.say(&format!(
                "   {:8}{:4} of {:3} free extents, {percent:3.0} %\n",
                file.name, file.taken, file.free
            ))?;
        }
        Ok(())
    }

    fn kill(&mut self) -> anyhow::Result<()> {
        let first = self.rows_first();
        let last = self.rows;
        self.say(&format!(
            "\n3. A second process brings the last {} orders. Another transaction of it has deleted 500 others,\n   \
             and inserts new ones: then it is killed. Half of this is in the data files, the rest in the log.\n",
            grouped(last - first)
        ))?;
        let acknowledged = shop::write_and_die(self.folder, first, last)?;
        ensure!(
            acknowledged == last,
            "order {acknowledged} was the last to be acknowledged, not {last}"
        );
        self.say(&format!(
            "   kill -9. The last order that was acknowledged: {}\n",
            grouped(acknowledged)
        ))
    }

    fn recover(&mut self) -> anyhow::Result<()> {
        self.say("\n4. Opening the database recovers it: what was committed is there, and nothing else.\n")?;
        let (recovered, rows) = shop::recover(self.folder)?;
        ensure!(recovered.undone == 1, "{recovered:?}");
        ensure!(rows == i64::from(self.rows), "{rows} rows, not {}", self.rows);
        self.say(&format!(
            "   log records read: {}, changes made again: {}, transactions undone: {}\n   rows: {}\n",
            recovered.records, recovered.redone, recovered.undone, rows
        ))
    }

    fn look(&mut self) -> anyhow::Result<()> {
        self.say("\n5. What is in it? The catalog inside the files knows.\n")?;
        let tables = self.step_on("tables", &FILES, &[], 0)?;
        let orders = from_line(&tables.text, TABLE);
        ensure!(!orders.is_empty(), "the catalog does not list {TABLE}");
        self.quote(orders, 7)
    }

    fn export(&mut self) -> anyhow::Result<()> {
        self.say("\n6. Its rows, exactly as they are stored, as JSON lines (or CSV, or SQL).\n")?;
        let rows = self.step_on("export", &FILES, &["--table", TABLE], 0)?;
        let mut count = 0;
        let mut sum = 0;
        for line in rows.text.lines() {
            let row: Value = serde_json::from_str(line).context("a row is not JSON")?;
            count += 1;
            sum += row["id"].as_u64().context("a row has no id")?;
        }
        self.quote(&rows.text, ROWS)?;
        let all = u64::from(self.rows);
        ensure!((count, sum) == (all, all * (all + 1) / 2), "{count} orders with a sum of {sum}");
        self.say(&format!("   {} rows: every order from 1 to {}, once.\n", count, count))
    }

    fn check_sound(&mut self) -> anyhow::Result<()> {
        self.say("\n7. Is it healthy? Every allocated page is read, as DBCC CHECKDB does.\n")?;
        let check = self.step_on("check", &FILES, &["--no-infomsgs"], 0)?;
        ensure!(check.text.starts_with("clean:"), "the check of a sound database is not clean");
        // The time it took differs from run to run.
        let line = check.text.lines().next().unwrap_or_default();
        self.quote(line, 1)
    }

    /// Damages a copy; gives the page.
    fn damage(&mut self) -> anyhow::Result<String> {
        self.say("\n8. Now a bit rots: one byte of a row changes, in a copy.\n")?;
        let mut arguments = vec!["--kind", KIND, "--seed", "7", "--truth", TRUTH, "--to"];
        arguments.extend(BROKEN);
        let damage = self.step_on("damage", &FILES, &arguments, 0)?;
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
            "\n9. Does a check see it? It must name this page, and nothing that does not follow from it.\n",
        )?;
        let check = self.step_on("check", &BROKEN, &["--no-infomsgs"], 2)?;
        self.quote(&wrapped(&check.text, 2), LINES_OF_FINDINGS)?;
        let report = self.run(&line("check", &BROKEN, &["--json"]))?.json()?;
        let findings = report["findings"].as_array().cloned().unwrap_or_default();
        let is_on_page =
            |finding: &&Value| format!("{}:{}", finding["file"], finding["page"]) == page;
        let cause = format!("({page})");
        let follows = |finding: &&Value| {
            finding["derived_from"].as_str().is_some_and(|from| from.contains(&cause))
        };
        let (own, others): (Vec<&Value>, Vec<&Value>) = findings.iter().partition(is_on_page);
        let first = own
            .first()
            .ok_or_else(|| anyhow!("the check did not find the damage in page {page}"))?;
        let stray = others.iter().find(|finding| !follows(finding));
        ensure!(stray.is_none(), "the check found something else: {}", stray.unwrap_or(first));
        let rest = if others.is_empty() {
            String::new()
        } else {
            format!(", {} elsewhere because of it", others.len())
        };
        self.say(&format!(
            "   Found: {} findings about page {cause}{rest}; nothing else.\n",
            own.len()
        ))?;
        Ok(first["error"].to_string())
    }

    fn show(&mut self, page: &str, error: &str) -> anyhow::Result<()> {
        self.say("\n10. What does the page look like, and what does the message mean?\n")?;
        let shown = self.step_on("page", &BROKEN, &[page], 2)?;
        let protection = from_line(&shown.text, "Protection:");
        ensure!(protection.contains("INVALID"), "page {page} is shown without its fault");
        self.quote(protection, 1)?;
        let meaning = self.step(&["explain", error], 0)?;
        self.quote(from_line(&meaning.text, "Next step"), 3)
    }

    fn end(&mut self, keep: Option<&Path>, seconds: f64) -> anyhow::Result<()> {
        self.say(&format!("\nAll ten steps did what they promised, in {seconds:.1} s.\n"))?;
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
        self.say(&format!("   $ {}\n", command_line(arguments)))?;
        let printed = self.run(arguments)?;
        let line = || format!("`extentdb {}`", arguments.join(" "));
        ensure!(
            printed.code == code,
            "{} ended with {}, not {code}: {}",
            line(),
            printed.code,
            printed.text
        );
        Ok(printed)
    }

    /// A step that is about the files of a database.
    fn step_on(
        &mut self,
        verb: &str,
        files: &[&str],
        rest: &[&str],
        code: i32,
    ) -> anyhow::Result<Printed> {
        self.step(&line(verb, files, rest), code)
    }

    fn run(&self, arguments: &[&str]) -> anyhow::Result<Printed> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .args(["--progress", "never"])
            .current_dir(self.folder)
            .stdin(Stdio::null());
        let output = scratch::output(&mut command).context("cannot run this program")?;
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

/// A command line.
fn line<'t>(verb: &'t str, files: &[&'t str], rest: &[&'t str]) -> Vec<&'t str> {
    std::iter::once(verb).chain(files.iter().copied()).chain(rest.iter().copied()).collect()
}

/// A command line as a shell takes it, on as many lines as it needs.
fn command_line(arguments: &[&str]) -> String {
    let mut out = String::from("extentdb");
    let mut width = 8;
    for word in arguments {
        if width + word.len() > LINE - 8 {
            out.push_str(" \\\n       ");
            width = 4;
        } else {
            out.push(' ');
        }
        out.push_str(word);
        width += word.len() + 1;
    }
    out
}

/// A number with a comma for each thousand.
fn grouped(number: u32) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1000), number % 1000),
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
    fn numbers_are_read_by_thousands() {
        assert_eq!(
            [0, 999, 1000, 100_000, 1_234_005].map(grouped),
            ["0", "999", "1,000", "100,000", "1,234,005"]
        );
    }

    #[test]
    fn a_long_command_line_goes_on_in_the_next() {
        let words = vec!["0123456789"; 12];
        let line = command_line(&words);
        assert!(line.contains(" \\\n") && line.lines().all(|line| line.len() <= LINE), "{line}");
        assert_eq!(line.replace("\\\n", "").split_whitespace().count(), 13);
    }

    #[test]
    fn long_lines_are_broken_at_words() {
        let text = wrapped(&format!("{}\nsecond\nthird", "word ".repeat(50)), 2);
        assert!(text.lines().all(|line| line.chars().count() <= LINE));
        assert_eq!(text.split_whitespace().count(), 51);
    }
}
