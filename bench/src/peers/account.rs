//! The user that a server runs as: servers refuse to be root.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::child;

/// A user; none when not root: then everything runs as the current user.
pub(super) struct Account(Option<String>);

impl Account {
    /// The user of the server's package if it exists, else `nobody`.
    pub(super) fn for_server(preferred: &str) -> Account {
        let exists = |user: &str| {
            Command::new("id").arg(user).output().is_ok_and(|out| out.status.success())
        };
        let user = || if exists(preferred) { preferred } else { "nobody" };
        Account(is_root().then(|| user().to_owned()))
    }

    /// A command of this user. It replaces `setpriv`, so that its process is the child we started.
    pub(super) fn command(&self, program: &Path) -> Command {
        self.command_with(&[], program)
    }

    /// A server of this user, which gets `signal` when we die without having stopped it.
    pub(super) fn server(&self, signal: &str, program: &Path) -> Command {
        self.command_with(&["--pdeathsig", signal], program)
    }

    fn command_with(&self, options: &[&str], program: &Path) -> Command {
        let Some(user) = &self.0 else { return Command::new(program) };
        let group = child::run(Command::new("id").args(["-g", user])).unwrap_or_default();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", user, "--regid", group.trim(), "--clear-groups"]);
        command.args(options).arg("--").arg(program);
        command
    }

    /// Gives a folder to this user.
    pub(super) fn give(&self, folder: &Path) -> Result<()> {
        match &self.0 {
            Some(user) => child::run(Command::new("chown").arg(user).arg(folder)).map(drop),
            None => Ok(()),
        }
    }
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout.starts_with(b"0\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_root_programs_run_as_the_current_user() {
        let command = Account(None).server("INT", Path::new("postgres"));
        assert_eq!(command.get_program(), "postgres");
        assert_eq!(command.get_args().count(), 0);
    }

    #[test]
    fn root_changes_the_user_before_the_program_starts() {
        let command = Account(Some("nobody".to_owned())).server("INT", Path::new("postgres"));
        let args: Vec<_> =
            command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        assert_eq!(command.get_program(), "setpriv");
        assert_eq!(args[..2], ["--reuid", "nobody"]);
        assert_eq!(args[args.len() - 4..], ["--pdeathsig", "INT", "--", "postgres"]);
    }
}
