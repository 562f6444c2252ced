//! `cargo x hooks`: a git hook that runs `cargo x check` before each commit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

const HOOK: &str = "#!/bin/sh\n# Installed by `cargo x hooks`.\nexec cargo x check\n";

/// Writes the hook; one that somebody else wrote is left alone.
pub fn install(root: &Path) -> Result<()> {
    let path = hooks_folder(root)?.join("pre-commit");
    write_hook(&path)?;
    println!("installed {}", path.display());
    Ok(())
}

/// Where git looks for hooks, which a setting may have moved.
fn hooks_folder(root: &Path) -> Result<PathBuf> {
    let output = Command::new("git")
        .args(["rev-parse", "--git-path", "hooks"])
        .current_dir(root)
        .output()
        .context("cannot start git")?;
    if !output.status.success() {
        bail!("{} is not a git repository", root.display());
    }
    Ok(root.join(String::from_utf8(output.stdout)?.trim_end()))
}

fn write_hook(path: &Path) -> Result<()> {
    match fs::read_to_string(path) {
        Ok(existing) if existing != HOOK => bail!("{} exists and is not ours", path.display()),
        _ => {}
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, HOOK).with_context(|| format!("cannot write {}", path.display()))?;
    make_executable(path)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

#[cfg(not(unix))]
fn make_executable(_path: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_written_again_but_never_over_a_foreign_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hooks").join("pre-commit");
        write_hook(&path).unwrap();
        write_hook(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), HOOK);

        fs::write(&path, "#!/bin/sh\nexit 1\n").unwrap();
        assert!(write_hook(&path).unwrap_err().to_string().contains("not ours"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "#!/bin/sh\nexit 1\n");
    }
}
