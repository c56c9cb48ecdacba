//! The command `policy init`: creates a first policy.toml.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use scorpiox_fs::home::private;
use scorpiox_policy::{Policy, changed_sections};
use scorpiox_server::READ_AT_START;
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;

use crate::cli::environment::Environment;

/// An example policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Example {
    /// Commands see only the workspace, nothing is fetched, and no call runs unless it is recorded
    Locked,
    /// For a developer's own machine
    Developer,
    /// For the machines of a team
    Team,
}

const EXAMPLES: [(Example, &str, &str); 3] = [
    (
        Example::Locked,
        "locked: no network, no pages, no plugins, each call recorded",
        include_str!("locked.toml"),
    ),
    (
        Example::Developer,
        "developer: pages of every host, commands that reach only listed hosts",
        include_str!("developer.toml"),
    ),
    (
        Example::Team,
        "team: listed hosts alone, plugins that the policy lists, each call recorded",
        include_str!("team.toml"),
    ),
];

pub(super) fn run(environment: &Environment, example: Option<Example>, print: bool) -> Result<ExitCode> {
    let path = environment.site().own_policy();
    if !print && path.symlink_metadata().is_ok() {
        let name = example.and_then(|example| example.to_possible_value());
        let name = name.map_or_else(|| "developer".to_owned(), |name| name.get_name().to_owned());
        bail!(
            "{} exists already. `scorpiox-code policy init --example {name} --print` prints the example, to copy from it, \
             and `scorpiox-code policy show` shows the policy in use",
            path.display()
        );
    }
    let example = match example {
        Some(example) => example,
        None if io::stdin().is_terminal() && io::stdout().is_terminal() => choose()?,
        None => bail!("there is no terminal to ask at; name one: --example locked, developer or team"),
    };
    let Some((_, what, text)) = EXAMPLES.iter().find(|(known, ..)| *known == example) else {
        bail!("there is no such example");
    };
    if print {
        terminal::print(&Shown::text(text));
        return Ok(ExitCode::SUCCESS);
    }
    // The file takes effect at once, so it must be valid.
    let policy = Policy::parse(text, &path)?;
    write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
    terminal::print(&wrote(&path, what, &policy));
    Ok(ExitCode::SUCCESS)
}

/// Names the file that takes effect, and when it does.
fn wrote(path: &Path, what: &str, policy: &Policy) -> Shown {
    let lines = [
        format!("Wrote {}, from the example {what}.", path.display()),
        followed(policy),
        "`scorpiox-code policy check` finds mistakes in the file, and `scorpiox-code policy diff` shows what it changes."
            .to_owned(),
    ];
    lines.iter().fold(Shown::text(""), |shown, line| shown.and(&Shown::line(line)))
}

/// Says when running servers follow a new policy.
fn followed(policy: &Policy) -> String {
    let is_fixed = |header: &String| READ_AT_START.contains(&header.trim_matches(['[', ']']));
    let fixed: Vec<_> = changed_sections(&Policy::builtin(), policy).into_iter().filter(is_fixed).collect();
    if fixed.is_empty() {
        return "Servers that run now follow it from their next call on.".to_owned();
    }
    format!(
        "Restart the servers that run now, in most clients by restarting the client: they read {} when they start, \
         and refuse every tool until then.",
        fixed.join(" and ")
    )
}

fn choose() -> Result<Example> {
    let list = EXAMPLES.iter().enumerate().map(|(index, (_, what, _))| format!("  {}  {what}", index + 1));
    let list: Vec<_> = list.collect();
    terminal::print(&Shown::text(&format!(
        "Which policy do you want to start with?\n{}\n1, 2 or 3: ",
        list.join("\n")
    )));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    let chosen = answer.trim().parse::<usize>().ok().and_then(|number| EXAMPLES.get(number.checked_sub(1)?));
    chosen
        .map(|(example, ..)| *example)
        .with_context(|| format!("{:?} is not 1, 2 or 3; nothing was written", answer.trim()))
}

/// Creates a file that must not exist yet.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().ok_or(ErrorKind::NotFound)?;
    private::folder(folder)?;
    let mut file = private::options().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_and_the_time_when_it_takes_effect_are_named() {
        let path = Path::new("/home/me/.scorpiox/policy.toml");
        for (_, what, text) in EXAMPLES {
            let policy = Policy::parse(text, path).expect("a policy");
            let wrote = wrote(path, what, &policy);
            let when = if text.contains("[audit]") { "they read [audit]" } else { "from their next call on" };
            for word in ["/home/me/.scorpiox/policy.toml", what, when, "policy check"] {
                let told = wrote.as_str().split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(told.contains(word), "{word}: {told}");
            }
        }
    }

    #[test]
    fn every_example_is_a_policy() {
        for (example, _, text) in EXAMPLES {
            let read = Policy::parse(text, Path::new("policy.toml"));
            assert!(read.is_ok(), "{example:?}: {read:?}");
        }
    }
}
