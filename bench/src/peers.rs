//! Other programs on the same machine, in the same run. Each is left out, and said so, where it is not installed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::report::best_of;

/// Where PostgreSQL's programs are: on the path, or in Debian's versioned folders.
pub fn postgres_bin() -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
        folders.extend(versions.flatten().map(|entry| entry.path().join("bin")));
    }
    folders
        .into_iter()
        .find(|folder| folder.join("pg_checksums").is_file() && folder.join("initdb").is_file())
}

/// A PostgreSQL cluster with data checksums and about `bytes` of heap pages, and how long `pg_checksums --check` takes on
/// it when it is cached. Returns the bytes it read.
///
/// # Errors
/// A step failed; its output is in the error.
pub fn pg_checksums(bin: &Path, dir: &Path, bytes: u64) -> Result<(u64, Duration)> {
    let cluster = dir.join("pg");
    let as_user = |program: &str| {
        let path = bin.join(program);
        let mut command = if is_root() { Command::new("runuser") } else { Command::new(&path) };
        if is_root() {
            command.args(["-u", "postgres", "--"]).arg(&path);
        }
        command
    };
    run(Command::new("mkdir").arg("-p").arg(&cluster))?;
    if is_root() {
        run(Command::new("chown").arg("postgres").arg(&cluster))?;
    }
    run(as_user("initdb").args(["-k", "-A", "trust", "-U", "postgres", "-N", "-D"]).arg(&cluster))?;
    load(&cluster, bytes, &as_user)?;
    let size = cluster_bytes(&cluster.join("base"))? + cluster_bytes(&cluster.join("global"))?;
    let (time, result) = best_of(3, || run(as_user("pg_checksums").args(["--check", "-D"]).arg(&cluster)));
    result?;
    Ok((size, time))
}

/// Fills a table through a single-user backend: no port, no socket.
fn load(cluster: &Path, bytes: u64, as_user: &dyn Fn(&str) -> Command) -> Result<()> {
    // A row of 170 bytes with its header and pointer: 45 on a page of 8 KiB.
    let rows = bytes / 8192 * 44;
    let sql = format!(
        "create unlogged table sales as select g as id, g % 1000 as customer, repeat('x', 120) as note \
         from generate_series(1, {rows}) g;\n"
    );
    let mut command = as_user("postgres");
    command.args(["--single", "-F", "-c", "max_wal_size=16GB", "-D"]).arg(cluster).arg("postgres");
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    let mut child = command.spawn().context("postgres --single")?;
    if let Some(mut stdin) = child.stdin.take() {
        std::io::Write::write_all(&mut stdin, sql.as_bytes())?;
    }
    if !child.wait()?.success() {
        bail!("loading the PostgreSQL table failed");
    }
    Ok(())
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout.starts_with(b"0\n"))
}

fn cluster_bytes(dir: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        sum += if meta.is_dir() { cluster_bytes(&entry.path())? } else { meta.len() };
    }
    Ok(sum)
}

fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `fio` over an existing file: 1 MiB direct reads through io_uring, depth 8. Bytes per second; `None` when fio is absent.
///
/// # Errors
/// fio failed.
pub fn fio_read(path: &Path) -> Result<Option<f64>> {
    let mut command = Command::new("fio");
    command.args(["--name=read", "--rw=read", "--bs=1M", "--ioengine=io_uring", "--iodepth=8", "--direct=1"]);
    command
        .args(["--readonly", "--output-format=terse", "--terse-version=3"])
        .arg(format!("--filename={}", path.display()));
    if Command::new("fio").arg("--version").output().is_err() {
        return Ok(None);
    }
    let output = run(&mut command)?;
    // Terse format 3: field 7 (from 1) is the read bandwidth in KiB/s.
    let field = output.lines().find(|line| line.starts_with("3;")).and_then(|line| line.split(';').nth(6));
    let kib: f64 = field.context("no bandwidth in fio's output")?.parse()?;
    Ok(Some(kib * 1024.0))
}
