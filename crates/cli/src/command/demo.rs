//! `demo`: the first five minutes, on a database of its own.
//!
//! The first steps are told to a server by SQL (`shop`); the others run this very program with the
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
use shop::Server;

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
/// Orders that one transaction brings.
const BATCH: u32 = 1000;
/// Orders that the transaction that never commits deletes and inserts.
const UNFINISHED: u32 = 500;
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
    #[command(flatten)]
    pub(crate) common: CommonOptions,
}

/// Runs the verb.
pub(crate) fn run(args: &DemoArgs, context: &Context) -> anyhow::Result<Exit> {
    let start = context.clock.monotonic();
    let mut output = context.output(&[])?;
    let folder = Folder::create(args.keep.as_deref())?;
    let mut story = Story {
        folder: &folder.path,
        rows: args.rows,
        password: shop::password(),
        out: &mut output,
    };
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
    /// Of the server.
    password: String,
    out: &'a mut Output,
}

impl Story<'_> {
    fn tell(&mut self) -> anyhow::Result<()> {
        self.say(
            "The first five minutes with ExtentDB. No SQL Server is needed, here or later.\n",
        )?;
        let server = self.create()?;
        self.fill(&server)?;
        self.kill(server)?;
        let server = self.recover()?;
        self.query(&server)?;
        server.shut_down()?;
        self.look()?;
        self.export()?;
        self.check_sound()?;
        let page = self.damage()?;
        let error = self.find(&page)?;
        self.show(&page, &error)
    }

    /// Starts the server, and creates the database with its table.
    fn create(&mut self) -> anyhow::Result<Server> {
        self.say(
            "\n1. A server on a free port of this machine, and a database in SQL Server's own format: three data\n   \
             files of 4, 8 and 32 MB, and a log. Clients of SQL Server connect; here it is our own.\n",
        )?;
        for (name, _) in shop::FILES {
            let path = self.folder.join(name);
            ensure!(!path.exists(), "{} exists: it will not be overwritten", path.display());
        }
        let folder = self.folder.canonicalize()?;
        let server = Server::start(&folder, &self.password)?;
        self.tell_sql(&shop::create(""))?;
        let place = format!("{}/", folder.display()).replace('\'', "''");
        server.connect("master")?.run(&shop::create(&place))?;
        self.tell_sql(shop::TABLE)?;
        server.connect("shop")?.run(shop::TABLE)?;
        Ok(server)
    }

    /// Orders before the last tenth, which comes in the next step.
    fn rows_first(&self) -> u32 {
        self.rows - self.rows / 10
    }

    fn fill(&mut self, server: &Server) -> anyhow::Result<()> {
        let rows = self.rows_first();
        self.say(&format!(
            "\n2. {} orders in one heap, a transaction for each thousand. The files shall be full at the same\n   \
             time, so a larger one gets more: proportional fill.\n",
            grouped(rows)
        ))?;
        let used = "SELECT name, CAST(FILEPROPERTY(name, 'SpaceUsed') AS int), size FROM sys.database_files \
                    WHERE type = 0 ORDER BY size";
        let mut client = server.connect("shop")?;
        let before = client.run(used)?;
        self.insert(&mut client, 1, rows)?;
        self.tell_sql(
            "SELECT name, FILEPROPERTY(name, 'SpaceUsed'), size FROM sys.database_files",
        )?;
        let after = client.run(used)?;
        ensure!(after.len() == shop::FILES.len(), "{after:?}");
        for (before, after) in before.iter().zip(&after) {
            let number = |row: &[String], at: usize| {
                let text = row.get(at).context("a column")?;
                text.parse::<u32>().with_context(|| format!("{text} is no number of pages"))
            };
            let (first, last) = (number(before, 1)?, number(after, 1)?);
            let (taken, free) =
                (last.saturating_sub(first), number(before, 2)?.saturating_sub(first));
            let percent = f64::from(taken) * 100.0 / f64::from(free.max(1));
            let name = after.first().map_or("", String::as_str);
            self.say(&format!("   {name:8}{taken:5} of {free:4} free pages, {percent:3.0} %\n"))?;
        }
        Ok(())
    }

    /// Inserts orders, a thousand in each transaction.
    fn insert(&mut self, client: &mut shop::Client, first: u32, last: u32) -> anyhow::Result<u32> {
        let mut next = first;
        while next <= last {
            let end = (next + BATCH - 1).min(last);
            client.insert(next, end)?;
            next = end + 1;
        }
        Ok(next - 1)
    }

    fn kill(&mut self, server: Server) -> anyhow::Result<()> {
        let (first, last) = (self.rows_first(), self.rows);
        self.say(&format!(
            "\n3. A second client brings the last {} orders. The first has deleted 500 others, inserted new ones,\n   \
             and not committed: then the server is killed.\n",
            grouped(last - first)
        ))?;
        let unfinished = "BEGIN TRANSACTION; DELETE TOP (500) FROM orders;";
        self.tell_sql(unfinished)?;
        let mut open = server.connect("shop")?;
        open.run(unfinished)?;
        open.insert(last + 1, last + UNFINISHED)?;
        let acknowledged = self.insert(&mut server.connect("shop")?, first + 1, last)?;
        server.kill()?;
        self.say(&format!(
            "   kill -9. The last order that was acknowledged: {}\n",
            grouped(acknowledged)
        ))
    }

    fn recover(&mut self) -> anyhow::Result<Server> {
        self.say("\n4. The server starts again and recovers: what was committed is there, and nothing else.\n")?;
        let server = Server::start(&self.folder.canonicalize()?, &self.password)?;
        let count = "SELECT COUNT(*), COUNT(DISTINCT id), MAX(id) FROM orders";
        self.tell_sql(count)?;
        let found = server.connect("shop")?.run(count)?;
        let all = self.rows.to_string();
        ensure!(found == [[all.clone(), all.clone(), all.clone()]], "{found:?}");
        self.say(&format!("   {all} rows, {all} different orders, the last is {all}\n"))?;
        Ok(server)
    }

    fn query(&mut self, server: &Server) -> anyhow::Result<()> {
        self.say("\n5. Who bought most?\n")?;
        let query = "SELECT TOP (3) customer, COUNT(*) AS orders, SUM(price) AS total, \
                     RANK() OVER (ORDER BY SUM(price) DESC) AS place FROM orders GROUP BY customer ORDER BY place";
        self.tell_sql(query)?;
        let rows = server.connect("shop")?.run(query)?;
        ensure!(rows.len() == 3, "{rows:?}");
        for row in rows {
            let cells: Vec<String> = row.iter().map(|cell| format!("{cell:12}")).collect();
            self.say(&format!("   {}\n", cells.join("").trim_end()))?;
        }
        Ok(())
    }

    /// Shows a statement as one types it.
    fn tell_sql(&mut self, text: &str) -> anyhow::Result<()> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        self.say(&format!("   {}", wrapped(&format!("> {text}"), 1).replace("\n  ", "\n     ")))
    }

    fn look(&mut self) -> anyhow::Result<()> {
        self.say("\n6. What is in it? The catalog inside the files knows.\n")?;
        let tables = self.step_on("tables", &FILES, &[], 0)?;
        let orders = from_line(&tables.text, TABLE);
        ensure!(!orders.is_empty(), "the catalog does not list {TABLE}");
        self.quote(orders, 7)
    }

    fn export(&mut self) -> anyhow::Result<()> {
        self.say("\n7. Its rows, exactly as they are stored, as JSON lines (or CSV, or SQL).\n")?;
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
        self.say("\n8. Is it healthy? Every allocated page is read, as DBCC CHECKDB does.\n")?;
        let check = self.step_on("check", &FILES, &["--no-infomsgs"], 0)?;
        ensure!(check.text.starts_with("clean:"), "the check of a sound database is not clean");
        // The time it took differs from run to run.
        let line = check.text.lines().next().unwrap_or_default();
        self.quote(line, 1)
    }

    /// Damages a copy; gives the page.
    fn damage(&mut self) -> anyhow::Result<String> {
        self.say("\n9. Now a bit rots: one byte of a row changes, in a copy.\n")?;
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
            "\n10. Does a check see it? It must name this page, and nothing that does not follow from it.\n",
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
        self.say("\n11. What does the page look like, and what does the message mean?\n")?;
        let shown = self.step_on("page", &BROKEN, &[page], 2)?;
        let protection = from_line(&shown.text, "Protection:");
        ensure!(protection.contains("INVALID"), "page {page} is shown without its fault");
        self.quote(protection, 1)?;
        let meaning = self.step(&["explain", error], 0)?;
        self.quote(from_line(&meaning.text, "Next step"), 3)
    }

    fn end(&mut self, keep: Option<&Path>, seconds: f64) -> anyhow::Result<()> {
        self.say(&format!("\nAll eleven steps did what they promised, in {seconds:.1} s.\n"))?;
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
