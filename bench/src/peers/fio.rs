//! `fio`: how fast the device delivers a file.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::child;

/// `fio` over an existing file: 1 MiB direct reads through io_uring, depth 8. Bytes per second;
/// `None` when fio is absent.
///
/// # Errors
/// fio failed.
pub fn fio_read(path: &Path) -> Result<Option<f64>> {
    if Command::new("fio").arg("--version").output().is_err() {
        return Ok(None);
    }
    let mut command = Command::new("fio");
    command.args([
        "--name=read",
        "--rw=read",
        "--bs=1M",
        "--ioengine=io_uring",
        "--iodepth=8",
        "--direct=1",
    ]);
    command
        .args(["--readonly", "--output-format=terse", "--terse-version=3"])
        .arg(format!("--filename={}", path.display()));
    bytes_per_s(&child::run(&mut command)?).context("no bandwidth in fio's output").map(Some)
}

/// Terse format 3: field 7 (from 1) is the read bandwidth in KiB/s.
fn bytes_per_s(output: &str) -> Option<f64> {
    let line = output.lines().find(|line| line.starts_with("3;"))?;
    let kib: f64 = line.split(';').nth(6)?.parse().ok()?;
    Some(kib * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidth_is_the_seventh_field() {
        let output = "fio: a warning\n3;fio-3.33;read;0;0;1048576;900000;878;1165;0;0\n";
        assert_eq!(bytes_per_s(output), Some(900_000.0 * 1024.0));
        assert_eq!(bytes_per_s("fio: failed\n"), None);
    }
}
