//! The command `scorpiox-code audit`: shows, verifies and summarizes recorded tool calls.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod against;
mod against_told;
mod audits;
mod chosen;
mod copied;
mod installed;
mod plugins;
mod report;
mod report_command;
mod sentences;
mod verify;

pub(crate) use sentences::waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use scorpiox_audit::read::{Line, Reader, Use};
use scorpiox_audit::{Filter, Glob, LineHash, Record};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use scorpiox_terminal::Table;
use scorpiox_text::line::escaped;
use scorpiox_text::nearest;

use chosen::Chosen;
use sentences::left_out;

/// Number of displayed records without `--last`.
const SHOWN: usize = 100;
/// Interval between checks for new records with `--follow`.
const LOOK_TIME: Duration = Duration::from_millis(200);
/// Maximum number of known names for a suggestion.
const MAX_NAMES: usize = 1000;
/// Maximum number of denied uses in a row of the table.
const MAX_DENIED: usize = 3;

/// Arguments of `audit`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AuditArguments {
    #[command(subcommand)]
    command: Option<AuditCommand>,
    #[command(flatten)]
    chosen: Chosen,
    /// Only the newest N calls; 0 shows all [default: 100; all with --json]
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Keep running, and show calls as they are recorded
    #[arg(long, conflicts_with = "file")]
    follow: bool,
    /// Print the lines as they are stored, in JSON
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum AuditCommand {
    /// Check that no line was changed, removed, moved or added; exit with code 1 if one was
    Verify {
        /// Check a copy of an audit, as written by `export` in [audit], instead of your own audit
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// Check that your own audit contains all records of this copy. Can be repeated
        #[arg(long, value_name = "FILE", conflicts_with = "file")]
        against: Vec<PathBuf>,
        /// Accept a chain in a copy that belongs to another audit of yours, by the SHA-256 of its last line.
        /// Can be repeated
        #[arg(long, value_name = "HASH", requires = "against")]
        elsewhere: Vec<LineHash>,
        /// Accept a chain that begins after the line with this SHA-256, because that line is in an older
        /// copy. Can be repeated
        #[arg(long, value_name = "HASH", requires = "file")]
        from: Vec<LineHash>,
    },
    /// Sum up calls by tool, by rule, and by host and folder, and show what was denied most
    Report(report_command::ReportArguments),
}

/// Runs `audit` on the records in a directory. `workspace` restricts them to a workspace. `account` supplies
/// the user and machine of records that this account would write.
///
/// # Errors
///
/// Returns an error if a file cannot be read.
pub fn run(
    folder: &Path,
    arguments: &AuditArguments,
    workspace: Option<&Path>,
    account: &Record,
) -> Result<ExitCode> {
    match &arguments.command {
        Some(AuditCommand::Verify { file: Some(file), from, .. }) => return verify::run_copy(file, from),
        Some(AuditCommand::Verify { file: None, against, elsewhere, .. }) => {
            return verify::run(folder, against, elsewhere, account);
        }
        Some(AuditCommand::Report(report)) => {
            return report_command::run(folder, report, workspace.map(resolved));
        }
        None => {}
    }
    let failed = || format!("{} cannot be read", folder.display());
    let mut show = Show::new(arguments, workspace.map(resolved));
    if arguments.chosen.is_of_files() {
        arguments.chosen.read_files(|line| show.take(line))?;
        show.finish();
        return Ok(ExitCode::SUCCESS);
    }
    let mut reader = Reader::new(folder);
    while let Some(line) = reader.next().with_context(failed)? {
        show.take(line);
    }
    show.finish();
    if !arguments.follow {
        return Ok(ExitCode::SUCCESS);
    }
    while !terminal::is_unread() {
        thread::sleep(LOOK_TIME);
        while let Some(line) = reader.next().with_context(failed)? {
            show.follow(line);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Resolves a workspace to the form used in records, even if it no longer exists.
fn resolved(workspace: &Path) -> String {
    let absolute = || std::path::absolute(workspace).unwrap_or_else(|_| workspace.to_owned());
    dunce::canonicalize(workspace).unwrap_or_else(|_| absolute()).display().to_string()
}

/// Records to display.
struct Show {
    filter: Filter,
    is_json: bool,
    /// Maximum number of newest records; 0 for all.
    last: usize,
    /// Selected records, ordered by time if they come from several files, and by position otherwise.
    kept: BTreeMap<(String, u64), (Record, String)>,
    taken: u64,
    /// `true` if the records come from files named by the user instead of the own audit.
    is_of_files: bool,
    left_out: u64,
    damaged: u64,
    table: Table<6>,
    /// Names given for the tool and client filters, with the known names.
    tool: Asked,
    client: Asked,
}

impl Show {
    fn new(arguments: &AuditArguments, workspace: Option<String>) -> Self {
        let Chosen { tool, client, .. } = &arguments.chosen;
        let is_of_files = arguments.chosen.is_of_files();
        let who = if is_of_files { "user, client" } else { "client" };
        Self {
            filter: arguments.chosen.filter(workspace),
            is_json: arguments.json,
            last: arguments.last.unwrap_or(if arguments.json { 0 } else { SHOWN }),
            kept: BTreeMap::new(),
            taken: 0,
            is_of_files,
            left_out: 0,
            damaged: 0,
            // Tools and outcomes are never cut, since auditors search for them.
            table: Table::new(["time (UTC)", who, "tool", "outcome", "took", "denied, hidden, asked"], &[1])
                .with_details(),
            tool: Asked::new("--tool", tool.as_ref()),
            client: Asked::new("--client", client.as_ref()),
        }
    }

    /// Returns the record if it matches the filter.
    fn wanted(&mut self, line: Line) -> Option<(Record, String)> {
        match line {
            Line::Damaged => {
                self.damaged += 1;
                None
            }
            // Reports of lost records concern every reader, regardless of the filter.
            Line::Whole(record, text) => {
                self.tool.met(&record.tool);
                self.client.met(record.client.as_ref().map_or("", |client| &client.name));
                (record.lost > 0 || self.filter.wants(&record)).then_some((record, text))
            }
        }
    }

    fn take(&mut self, line: Line) {
        let Some((record, text)) = self.wanted(line) else { return };
        // Without a limit, JSON lines are printed immediately and need not be stored.
        if self.is_json && self.last == 0 {
            return print_json(&text);
        }
        self.taken += 1;
        let time = if self.is_of_files { record.time.clone() } else { String::new() };
        self.kept.insert((time, self.taken), (record, text));
        if self.last > 0 && self.kept.len() > self.last {
            self.kept.pop_first();
            self.left_out += 1;
        }
    }

    /// Prints the selected records.
    fn finish(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        if self.is_json {
            for (_, text) in kept.values() {
                print_json(text);
            }
        } else if kept.is_empty() {
            let meant = self.tool.meant().or_else(|| self.client.meant()).unwrap_or_default();
            terminal::print(&Shown::line(&format!("no recorded call matches{meant}")));
        } else {
            let rows: Vec<_> = kept.values().map(|(record, _)| row(record, self.is_of_files)).collect();
            terminal::print(&Shown::headed(&self.table.render(&rows)));
        }
        if self.left_out > 0 {
            terminal::complain(&format!("{} older ones; --last 0 shows all", self.left_out));
        }
        if let Some(said) = left_out(self.damaged, self.is_of_files) {
            terminal::complain(&said);
        }
    }

    /// Prints a new record.
    fn follow(&mut self, line: Line) {
        match self.wanted(line) {
            Some((_, text)) if self.is_json => print_json(&text),
            Some((record, _)) => {
                terminal::print(&Shown::text(&self.table.next(row(&record, self.is_of_files))));
            }
            None => {}
        }
    }
}

/// Name given for a filter, with the names seen in records.
struct Asked {
    option: &'static str,
    name: Option<String>,
    known: BTreeSet<String>,
}

impl Asked {
    fn new(option: &'static str, name: Option<&String>) -> Self {
        Self { option, name: name.cloned(), known: BTreeSet::new() }
    }

    fn met(&mut self, name: &str) {
        let is_new = self.name.is_some() && !name.is_empty() && !self.known.contains(name);
        if is_new && self.known.len() < MAX_NAMES {
            self.known.insert(name.to_owned());
        }
    }

    /// Returns a suggestion if no record has the given name.
    fn meant(&self) -> Option<String> {
        let asked = self.name.as_deref()?;
        if self.known.iter().any(|name| Glob::new(asked).fits(name)) {
            return None;
        }
        let near = nearest(asked, self.known.iter().map(String::as_str))?;
        Some(format!("; did you mean {} {near}?", self.option))
    }
}

fn print_json(text: &str) {
    terminal::print(&Shown::json(text));
}

/// Formats a record as a row, with its user if the records come from several users.
fn row(record: &Record, with_user: bool) -> [String; 6] {
    // Fractions of a second are only in `--json`.
    let time = record.time.split('.').next().unwrap_or_default().replace('T', " ").replace('Z', "");
    if record.lost > 0 {
        let lost = format!("({} calls could not be recorded)", record.lost);
        let user = if with_user { user(record) } else { String::new() };
        return [time, user, String::new(), String::new(), String::new(), lost]
            .map(|text| escaped(&text).into_owned());
    }
    let client = record
        .client
        .as_ref()
        .map_or(String::new(), |client| format!("{} {}", client.name, client.version).trim().to_owned());
    let client = match record.principal.as_str() {
        "" => client,
        // The principal comes first, since the end of the cell may be cut.
        principal if client.is_empty() => principal.to_owned(),
        principal => format!("{principal} with {client}"),
    };
    let client = if with_user { format!("{}: {client}", user(record)) } else { client };
    let took = millis(record.duration_ms);
    [time, client, record.tool.clone(), record.ended(), took, denied(record)]
        .map(|text| escaped(&text).into_owned())
}

fn user(record: &Record) -> String {
    match (&*record.user, record.uid) {
        ("", Some(uid)) => uid.to_string(),
        (name, _) => name.to_owned(),
    }
}

/// Lists denied, hidden, reported and approved uses, each reason once.
fn denied(record: &Record) -> String {
    let all = || record.denied().chain(record.hidden()).chain(record.reported()).chain(record.approved());
    let mut groups: Vec<Group<'_>> = Vec::new();
    for used in all() {
        let reason = reason(used);
        let is_same = |group: &&mut Group<'_>| group.capability == used.capability && group.reason == reason;
        match groups.iter_mut().find(is_same) {
            Some(group) => group.what.push(&used.what),
            None => groups.push(Group { capability: &used.capability, what: vec![&used.what], reason }),
        }
    }
    let shown: usize = groups.iter().take(MAX_DENIED).map(|group| group.what.len()).sum();
    let mut told: Vec<_> = groups.iter().take(MAX_DENIED).map(Group::shown).collect();
    let more = (all().count() - shown) as u64 + record.more_denied;
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    told.join("; ")
}

/// Uses of a capability with the same reason.
struct Group<'a> {
    capability: &'a str,
    what: Vec<&'a str>,
    reason: String,
}

impl Group<'_> {
    fn shown(&self) -> String {
        let Self { capability, what, reason } = self;
        if reason.starts_with('(') {
            return format!("{capability} {} {reason}", named(what)).replace("  ", " ");
        }
        // The reason of a closed tool names it.
        match what.as_slice() {
            [what] if what.is_empty() || *capability == "tools" && reason.contains(what) => {
                format!("{capability}: {reason}")
            }
            what => format!("{capability} {}: {reason}", named(what)),
        }
    }
}

fn named(what: &[&str]) -> String {
    let mut named: Vec<_> = what.iter().take(MAX_DENIED).map(|what| (*what).to_owned()).collect();
    if what.len() > MAX_DENIED {
        named.push(format!("and {} more", what.len() - MAX_DENIED));
    }
    named.join(", ")
}

/// Returns the reason of a use with its rule; that of an allowed use is its rule in parentheses.
fn reason(used: &Use) -> String {
    if used.allowed {
        return format!("({})", used.cited());
    }
    let rule = if used.why.contains(&used.rule) { String::new() } else { format!(" ({})", used.cited()) };
    let would = match &*used.reported {
        "" => String::new(),
        outcome => format!("would {outcome} by "),
    };
    format!("{would}{}{rule}", used.why)
}

/// Formats a duration for users.
pub fn millis(millis: f64) -> String {
    match millis {
        ms if ms < 10.0 => format!("{ms:.3} ms"),
        ms if ms < 10_000.0 => format!("{ms:.0} ms"),
        ms => format!("{:.1} s", ms / 1000.0),
    }
}

/// Formats a size for users.
#[allow(clippy::cast_precision_loss)] // rounded anyway
pub fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / (1024.0 * 1024.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_said_once() {
        let used = |capability: &str, what: &str, why: &str, rule: &str| Use {
            capability: capability.to_owned(),
            what: what.to_owned(),
            why: why.to_owned(),
            rule: rule.to_owned(),
            ..Use::default()
        };
        let outside = |what: &str| used("files", what, "outside what may be read", "built-in");
        let closed = "tool T is denied by \"T\" in `deny` of [tools] (policy.toml line 4)";
        let mut record = Record {
            uses: vec![
                outside("/etc"),
                used("tools", "T", closed, "policy.toml line 4"),
                outside("/root"),
                outside("/a"),
                outside("/b"),
            ],
            ..Record::default()
        };
        assert_eq!(
            denied(&record),
            format!(
                "files /etc, /root, /a, and 1 more: outside what may be read (built-in); tools: {closed}"
            )
        );
        record.uses = vec![
            Use { allowed: true, ..used("approval", "by ann", "", "rule \"push\"") },
            used("web", "", "off", "x"),
        ];
        assert_eq!(denied(&record), "web: off (x); approval by ann (rule \"push\")");
    }
}
