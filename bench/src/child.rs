//! Child processes: their output, their input, how much memory they
//! needed.

use std::fs;
use std::io::{BufWriter, Write};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Time between two samples of the memory of a program.
const LOOK: Duration = Duration::from_millis(1);

/// Runs a program to its end and returns what it wrote to stdout.
///
/// # Errors
/// It cannot be started, or failed: the error has its output.
pub fn run(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("{command:?}"))?;
    text_of(command, &output)
}

/// Runs programs at the same time and returns what each wrote to stdout.
///
/// # Errors
/// One cannot be started, or failed; the others are awaited.
pub fn run_all(commands: Vec<Command>) -> Result<Vec<String>> {
    let mut started = Vec::new();
    for mut command in commands {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().with_context(|| format!("{command:?}"));
        started.push((command, child));
    }
    let done: Vec<Result<String>> = started
        .into_iter()
        .map(|(command, child)| text_of(&command, &child?.wait_with_output()?))
        .collect();
    done.into_iter().collect()
}

/// Runs a program that reads from stdin what `write` writes.
///
/// # Errors
/// As [`run`], or `write` failed.
pub fn feed(
    command: &mut Command,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
    let written = child.stdin.take().map_or(Ok(()), |stdin| {
        let mut stdin = BufWriter::with_capacity(1 << 20, stdin);
        write(&mut stdin)?;
        stdin.flush().context("writing to it")
    });
    // A program that stops closes its input: its own error is the cause, not the closed pipe.
    let said = text_of(command, &child.wait_with_output()?)?;
    written.with_context(|| format!("{command:?}"))?;
    Ok(said)
}

/// Runs a program and returns the most memory it held, in bytes; `None` where the system does not
/// tell.
///
/// The kernel keeps the high-water mark, so looking at it now and then misses at most the last
/// millisecond. Sampling takes time: timed runs are separate.
///
/// # Errors
/// As [`run`].
pub fn peak_memory(command: &mut Command) -> Result<Option<u64>> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().with_context(|| format!("{command:?}"))?;
    let id = child.id();
    let done = AtomicBool::new(false);
    let (output, peak) = thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut peak = None;
            while !done.load(Ordering::Relaxed) {
                peak = peak_of(id).max(peak);
                thread::sleep(LOOK);
            }
            peak
        });
        let output = child.wait_with_output();
        done.store(true, Ordering::Relaxed);
        (output, watcher.join().unwrap_or(None))
    });
    text_of(command, &output?)?;
    Ok(peak)
}

/// The most memory that a running process has held, in bytes; `None` where the system does not
/// tell.
pub fn peak_of(process: u32) -> Option<u64> {
    high_water(&fs::read_to_string(format!("/proc/{process}/status")).ok()?)
}

/// `VmHWM` of a process's status file, in bytes.
fn high_water(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

fn text_of(command: &Command, output: &Output) -> Result<String> {
    let stdout = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?}: {}\n{}{}", output.status, last_lines(&stdout), last_lines(&stderr));
    }
    Ok(stdout.into_owned())
}

/// The last output of a program, as the reason why it stopped.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(10)..].iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn high_water_mark_is_read_in_bytes() {
        assert_eq!(
            high_water("Name:\tx\nVmPeak:\t  9 kB\nVmHWM:\t    1234 kB\n"),
            Some(1234 * 1024)
        );
        assert_eq!(high_water("Name:\tx\nState:\tZ (zombie)\n"), None);
        assert_eq!(high_water("VmHWM:\tmany kB\n"), None);
    }

    #[test]
    fn memory_of_a_running_program_is_sampled() {
        let peak = peak_memory(&mut shell("sleep 0.2")).unwrap();
        if fs::exists("/proc/self/status").unwrap() {
            assert!(peak.is_some_and(|bytes| bytes > 100_000 && bytes < 1 << 30), "{peak:?}");
        }
    }

    #[test]
    fn a_failure_has_the_output_of_the_program() {
        let error = run(&mut shell("echo half; echo no room >&2; exit 3")).unwrap_err().to_string();
        assert!(
            error.contains("half") && error.contains("no room") && error.contains('3'),
            "{error}"
        );
    }

    #[test]
    fn programs_run_together_and_one_failure_is_reported() {
        let said = run_all(vec![shell("echo one"), shell("echo two")]).unwrap();
        assert_eq!(said, ["one\n", "two\n"]);
        let error = run_all(vec![shell("echo one"), shell("echo why >&2; exit 4")]).unwrap_err();
        assert!(error.to_string().contains("why"), "{error}");
    }

    #[test]
    fn a_program_reads_its_input() {
        let said = feed(&mut shell("wc -c"), |out| Ok(out.write_all(&[b'x'; 3_000_000])?)).unwrap();
        assert_eq!(said.trim(), "3000000");
    }

    #[test]
    fn a_program_that_stops_reading_reports_its_own_error() {
        let error = feed(&mut shell("echo bad line 1 >&2; exit 1"), |out| {
            Ok(out.write_all(&[b'x'; 3_000_000])?)
        });
        assert!(error.unwrap_err().to_string().contains("bad line 1"));
    }
}
