//! Lines that are commands, not T-SQL: GO, and those that begin with a colon.

use anyhow::bail;

/// Most executions of a batch by one GO.
const COUNT_MAX: u32 = 1_000_000;

/// A command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Command {
    /// `GO [n]`: run what was typed, so many times.
    Go(u32),
    /// `:r FILE`: take lines from a file.
    Read(String),
    /// `:setvar NAME [VALUE]`; without a value the variable is forgotten.
    SetVariable(String, Option<String>),
    /// `:listvar`
    ListVariables,
    /// `:list`: show what was typed.
    List,
    /// `:reset`: forget what was typed.
    Reset,
    /// `:on error exit|ignore`
    OnError(OnError),
    /// `:help`
    Help,
    /// `:quit`, `:exit`, `QUIT`, `EXIT`
    Quit,
}

/// What an error of a batch ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum OnError {
    /// Nothing.
    #[default]
    Ignore,
    /// The run.
    Exit,
}

/// What `:help` shows.
pub(super) const HELP: &str = "\
GO [n]                 run what was typed, n times
:r FILE                take lines from a file
:setvar NAME [VALUE]   set a variable, or forget it; $(NAME) stands for its value
:listvar               show the variables
:list                  show what was typed
:reset                 forget what was typed
:on error exit|ignore  end at the first error, or go on
:quit, :exit           end
";

/// The command of a line; `None` for T-SQL.
///
/// # Errors
/// It is a command that is not there, or whose arguments are wrong.
pub(super) fn command(line: &str) -> anyhow::Result<Option<Command>> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    Ok(Some(match word.to_lowercase().as_str() {
        "go" => return go(rest),
        "quit" | "exit" | ":quit" | ":exit" if rest.is_empty() => Command::Quit,
        ":r" if !rest.is_empty() => Command::Read(rest.trim_matches('"').to_owned()),
        ":setvar" if !rest.is_empty() => set_variable(rest),
        ":listvar" => Command::ListVariables,
        ":list" => Command::List,
        ":reset" => Command::Reset,
        ":help" => Command::Help,
        ":on" => match rest.to_lowercase().split_whitespace().collect::<Vec<_>>().as_slice() {
            ["error", "exit"] => Command::OnError(OnError::Exit),
            ["error", "ignore"] => Command::OnError(OnError::Ignore),
            _ => bail!("`{line}`: :on error exit, or :on error ignore"),
        },
        ":r" | ":setvar" => bail!("`{line}`: an argument is missing"),
        other if other.starts_with(':') || other.starts_with("!!") => {
            bail!("not supported: the command {word}; :help lists those that are")
        }
        _ => return Ok(None),
    }))
}

fn go(rest: &str) -> anyhow::Result<Option<Command>> {
    let rest = rest.split_once("--").map_or(rest, |(before, _)| before.trim());
    if rest.is_empty() {
        return Ok(Some(Command::Go(1)));
    }
    match rest.parse() {
        Ok(count) if count <= COUNT_MAX => Ok(Some(Command::Go(count))),
        _ => bail!("`GO {rest}`: how many times? A number up to {COUNT_MAX}"),
    }
}

fn set_variable(rest: &str) -> Command {
    match rest.split_once(char::is_whitespace) {
        Some((name, value)) => Command::SetVariable(name.to_owned(), Some(value.trim().to_owned())),
        None => Command::SetVariable(rest.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_commands_or_not() {
        let set =
            |value: Option<&str>| Command::SetVariable("a".to_owned(), value.map(str::to_owned));
        let cases = [
            ("GO", Some(Command::Go(1))),
            ("  go 3 -- three times", Some(Command::Go(3))),
            ("GOTO x", None),
            (":r \"a b.sql\"", Some(Command::Read("a b.sql".to_owned()))),
            (":setvar a \"x y\"", Some(set(Some("\"x y\"")))),
            (":SETVAR a", Some(set(None))),
            (":on  error EXIT", Some(Command::OnError(OnError::Exit))),
            ("exit", Some(Command::Quit)),
            ("SELECT 1", None),
            ("", None),
        ];
        for (line, expected) in cases {
            assert_eq!(command(line).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn other_commands_are_refused_by_their_names() {
        let cases = [
            (":xml on", "not supported: the command :xml; :help lists those that are"),
            ("!!dir", "not supported: the command !!dir; :help lists those that are"),
            (":r", "`:r`: an argument is missing"),
            ("GO x", "`GO x`: how many times? A number up to 1000000"),
            (":on error retry", "`:on error retry`: :on error exit, or :on error ignore"),
        ];
        for (line, expected) in cases {
            assert_eq!(command(line).unwrap_err().to_string(), expected);
        }
    }
}
