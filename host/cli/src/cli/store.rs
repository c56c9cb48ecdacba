//! The command `scorpiox-code store`: checks, migrates and copies the data that tools store.

use std::process::ExitCode;

use crate::state::{Found, Kept};
use anyhow::{Context as _, Result, bail};
use clap::{Subcommand, ValueEnum};
use scorpiox_executor::Cancel;
use scorpiox_store::{Contents, Mode, Store, WorkspaceName, copy};
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, Working};

use super::environment::Environment;

#[derive(Subcommand)]
pub(super) enum StoreCommand {
    /// Create the tables of the database, or migrate them to the format of this version
    Migrate,
    /// Show the location and size of all data, and check its integrity; exit with code 1 if it is damaged
    Check,
    /// Copy the stored data to the database or back to files, and compare each row of both
    Copy {
        /// The destination
        #[arg(long, value_name = "PLACE")]
        to: Place,
        /// Copy all workspaces, not only this one
        #[arg(long)]
        all: bool,
    },
}

/// Location of stored data.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Place {
    /// The database of `[store]` in policy.toml
    Database,
    /// Files in the program's own folder
    Files,
}

const NO_DATABASE: &str =
    "policy.toml names no database: write a table [store] with `kind = \"postgres\"` and its `address`";

pub(super) fn run(environment: &Environment, command: &StoreCommand) -> Result<ExitCode> {
    let kept = environment.kept()?;
    let own = environment.workspace.name();
    match command {
        StoreCommand::Migrate => migrate(&kept)?,
        StoreCommand::Check => return check(&kept, &own),
        StoreCommand::Copy { to, all: false } => copy_all(&kept, *to, vec![WorkspaceName::parse(&own)])?,
        StoreCommand::Copy { to: Place::Database, .. } => copy_all(&kept, Place::Database, kept.in_files()?)?,
        StoreCommand::Copy { to: Place::Files, .. } => copy_all(&kept, Place::Files, kept.in_database()?)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn say(text: &str) {
    terminal::print(&Shown::line(text));
}

fn migrate(kept: &Kept) -> Result<()> {
    let Some(database) = kept.database() else { bail!(NO_DATABASE) };
    let when = if database.migrate()? { "now" } else { "already" };
    say(&format!("{} has format {} {when}.", database.location(), scorpiox_store_postgres::FORMAT));
    if !database.is_open_to_others()? {
        return Ok(());
    }
    say(if database.close_to_others()? {
        "Roles that were given nothing in it can connect to it no more (REVOKE CONNECT … FROM PUBLIC)."
    } else {
        OPEN
    });
    Ok(())
}

/// Note about a database with PostgreSQL's default permissions, such as a newly created or restored one.
pub(super) const OPEN: &str = "Every role of this PostgreSQL can connect to the database. Run `scorpiox-code store migrate` as the role \
     that owns it, or let its owner run REVOKE CONNECT, TEMPORARY ON DATABASE … FROM PUBLIC (docs/team.md).";

/// Prefix of the note about another role with write permission. The statement that revokes it follows.
pub(super) const CAN_WRITE: &str =
    "Another role can write the tables; unless servers use it, take that away: ";

fn check(kept: &Kept, own: &str) -> Result<ExitCode> {
    let mut problems = Vec::new();
    let look = |name: &WorkspaceName, store: &dyn Store, problems: &mut Vec<String>| -> Result<()> {
        let own = if name.as_str() == own { " (this workspace)" } else { "" };
        let working = Working::on(&format!("checking {name}"));
        let (damaged, contents) = (damaged(store)?, Contents::of(store)?);
        drop(working);
        say(&format!("{name}{own}: {}", shown(&contents)));
        problems.extend(damaged.into_iter().map(|what| format!("{name}: {what}")));
        Ok(())
    };
    if let Some(database) = kept.database() {
        let format = database.format()?;
        let told = format.map_or("no tables yet".to_owned(), |format| format!("format {format}"));
        say(&format!("Tools keep what they store in {} ({told}).", database.location()));
        if database.is_open_to_others()? {
            say(OPEN);
        }
        for name in kept.in_database()? {
            match name {
                Ok(name) => {
                    let store = kept.row(&name).context(NO_DATABASE)?;
                    look(&name, &*store, &mut problems)?;
                }
                Err(error) => problems.push(error.to_string()),
            }
        }
        if format.is_some() {
            problems.extend(database.miscounted()?.into_iter().map(|(name, namespace, counted, used)| {
                format!("{name}: {namespace} uses {used} bytes, and {counted} were counted")
            }));
            problems.extend(database.oversized()?);
            let writers = database.writers()?;
            for role in writers.roles {
                say(&format!("{CAN_WRITE}{role}"));
            }
            problems
                .extend(writers.foreign.into_iter().map(|found| format!("{}: {found}", database.location())));
        }
    }
    let files = kept.in_files()?;
    match (kept.database(), files.is_empty()) {
        (None, _) => say("Tools keep what they store in files of this machine."),
        (Some(_), false) => say("Files of before, which nothing uses now:"),
        (Some(_), true) => {}
    }
    for name in files {
        let name = match name {
            Ok(name) => name,
            Err(error) => {
                problems.push(error.to_string());
                continue;
            }
        };
        let store = kept.file(&name);
        look(&name, &store, &mut problems)?;
        problems
            .extend(store.problems()?.into_iter().map(|problem| format!("{}: {problem}", store.location())));
    }
    for problem in &problems {
        say(problem);
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the rows that cannot be decoded.
fn damaged(store: &dyn Store) -> Result<Vec<String>> {
    Ok(store.begin(Mode::ReadFirst, &Cancel::default(), &mut || ())?.damaged()?)
}

fn shown(contents: &Contents) -> String {
    let Contents { entries, bytes, timers, messages, .. } = contents;
    format!("{entries} keys with {bytes} bytes, {timers} timers, {messages} messages")
}

fn copy_all(kept: &Kept, to: Place, names: Vec<Found>) -> Result<()> {
    if kept.database().is_none() {
        bail!(NO_DATABASE);
    }
    let (count, mut left) = (names.len(), 0);
    for (index, name) in names.into_iter().enumerate() {
        let name = match name {
            Ok(name) => name,
            Err(error) => {
                left += 1;
                say(&format!("not copied: {error}"));
                continue;
            }
        };
        let (file, row) = (kept.file(&name), kept.row(&name).context(NO_DATABASE)?);
        let (from, target): (&dyn Store, &dyn Store) = match to {
            Place::Database => (&file, &*row),
            Place::Files => (&*row, &file),
        };
        if from.is_absent()? {
            say(&format!("{name}: there is nothing in {}", from.location()));
            continue;
        }
        let working = Working::on(&format!("copying {name}, {} of {count}", index + 1));
        let copied = copy(from, target);
        drop(working);
        let copied = match copied {
            Ok(copied) => copied,
            // The other workspaces are unaffected.
            Err(error) => {
                left += 1;
                say(&format!("{name} was not copied: {error:#}"));
                continue;
            }
        };
        say(&format!("{name}: {} copied to {}, and compared", shown(&copied), target.location()));
    }
    if left > 0 {
        bail!("not copied: {left} of {count}");
    }
    Ok(())
}
