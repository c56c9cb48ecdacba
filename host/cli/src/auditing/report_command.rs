//! The command `scorpiox-code audit report`: sums of calls for written reports.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;
use scorpiox_audit::read::{Line, Reader};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Table;
use scorpiox_terminal::{Shown, columns, wrapped};
use scorpiox_text::line::escaped;

use super::chosen::Chosen;
use super::installed::Installed;
use super::report::{Decided, Ended, Report, Used};
use super::sentences::left_out;

/// Default number of rows of a table.
const ROWS: usize = 20;
/// Number of users and workspaces named in the header.
const NAMED: usize = 5;

#[derive(Args)]
pub(super) struct ReportArguments {
    #[command(flatten)]
    chosen: Chosen,
    /// Rows of each table; 0 shows all
    #[arg(long, value_name = "N", default_value_t = ROWS)]
    rows: usize,
    /// Show which user has which plugin, by name, version and hash, instead of sums
    #[arg(long)]
    plugins: bool,
    /// With --plugins: print a line of JSON for each plugin of a user
    #[arg(long, requires = "plugins")]
    json: bool,
    /// With --plugins: read these files, such as the exported audits of many machines
    #[arg(value_name = "FILE", requires = "plugins", conflicts_with = "file")]
    files: Vec<PathBuf>,
}

pub(super) fn run(folder: &Path, arguments: &ReportArguments, workspace: Option<String>) -> Result<ExitCode> {
    let (chosen, filter) = (&arguments.chosen, arguments.chosen.filter(workspace));
    let (mut report, mut installed, mut damaged) = (Report::default(), Installed::default(), 0_u64);
    let mut take = |line| match line {
        Line::Whole(record, text) if arguments.plugins => {
            installed.add(&record, &text, filter.wants(&record));
        }
        Line::Whole(record, _) if record.lost > 0 || filter.wants(&record) => report.add(&record),
        Line::Whole(..) => {}
        Line::Damaged => damaged += 1,
    };
    if !arguments.files.is_empty() || chosen.is_of_files() {
        chosen.read_files_and(&arguments.files, take)?;
        // Other content of a log server's file is not missing in the report.
        if let Some(said) = left_out(std::mem::take(&mut damaged), true) {
            terminal::complain(&said);
        }
    } else {
        let mut reader = Reader::new(folder);
        while let Some(line) =
            reader.next().with_context(|| format!("{} cannot be read", folder.display()))?
        {
            take(line);
        }
    }
    let rows = if arguments.rows == 0 { usize::MAX } else { arguments.rows };
    if arguments.plugins {
        let (found, more) = installed.finish();
        let shown = if arguments.json {
            super::plugins::json(&found)?
        } else {
            Shown::text(&super::plugins::told(&found, rows, more))
        };
        terminal::print(&shown);
        return Ok(ExitCode::SUCCESS);
    }
    terminal::print(&Shown::text(&told(&report, damaged, rows)));
    Ok(ExitCode::SUCCESS)
}

fn told(report: &Report, damaged: u64, rows: usize) -> String {
    let mut text = String::new();
    beginning(&mut text, report, damaged);
    if report.calls() == 0 {
        return text;
    }
    for (title, what, ended) in
        [("By tool", "tool", &report.tools), ("By principal", "principal", &report.principals)]
    {
        let ended = sorted(ended.iter().map(|(name, ended)| (ended.calls, ended_row(name, ended))));
        let table =
            Table::new([what, "calls", "ok", "errors", "cancelled", "refused", "stopped", "denied"], &[0]);
        if !ended.is_empty() {
            section(&mut text, title, table, ended, rows);
        }
    }
    let rules = report.rules.iter().map(|(rule, Decided { allowed, denied })| {
        (allowed + denied, [shown(rule), allowed.to_string(), denied.to_string()])
    });
    section(&mut text, "By rule", Table::new(["rule", "allowed", "denied"], &[0]), sorted(rules), rows);
    // Subjects stand in the last column, where a long path can have a row to itself.
    let used = report.used.iter().filter(|((_, what), _)| !what.is_empty());
    let used = used.map(|(used, Decided { allowed, denied })| {
        (allowed + denied, [allowed.to_string(), denied.to_string(), name(used)])
    });
    let table = Table::new(["allowed", "denied", "host or folder"], &[]);
    section(&mut text, "By host and folder", table, sorted(used), rows);
    let denied = report.denied.iter();
    let denied = denied.map(|((used, rule), times)| (*times, [times.to_string(), shown(rule), name(used)]));
    let table = Table::new(["times", "rule", "what"], &[]);
    section(&mut text, "Denied most", table, sorted(denied), rows);
    text
}

fn beginning(text: &mut String, report: &Report, damaged: u64) {
    let Some((from, to)) = &report.times else {
        text.push_str("no recorded call matches\n");
        return;
    };
    // Cut to the minute.
    let time = |time: &str| shown(time.get(..16).unwrap_or(time)).replace('T', " ");
    push(text, &format!("Audit report: {} calls, from {} to {} UTC", report.calls(), time(from), time(to)));
    let user = |(user, machine): &(String, String)| {
        if machine.is_empty() { user.clone() } else { format!("{user} on {machine}") }
    };
    push(text, &format!("Users: {}", most(report.users.iter().map(|(who, calls)| (*calls, user(who))))));
    let folders = report.workspaces.iter().map(|(folder, calls)| (*calls, folder.clone()));
    push(text, &format!("Workspaces: {}", most(folders)));
    let (left_out, left_out_denied) = report.left_out;
    for (count, what) in [
        (report.lost, "lost calls".to_owned()),
        (
            report.hidden,
            "refused names of files, whose content may have been read elsewhere; see audit --hidden"
                .to_owned(),
        ),
        (report.reported, "outcomes of rules that only report; see audit --line".to_owned()),
        (damaged, "damaged lines; see audit verify".to_owned()),
        (left_out, format!("uses that lines had no room for, {left_out_denied} of them denied")),
    ] {
        if count > 0 {
            push(text, &format!("Not in the tables: {count} {what}"));
        }
    }
}

/// Lists the names with the most calls.
fn most(named: impl Iterator<Item = (u64, String)>) -> String {
    let mut named: Vec<_> = named.filter(|(_, name)| !name.is_empty()).collect();
    named.sort_by_key(|(calls, _)| Reverse(*calls));
    let others = named.len().saturating_sub(NAMED);
    let told = named.iter().take(NAMED).map(|(calls, name)| format!("{} ({calls})", shown(name)));
    let mut told: Vec<_> = told.collect();
    if others > 0 {
        told.push(format!("and {others} more"));
    }
    if told.is_empty() { "not recorded".to_owned() } else { told.join(", ") }
}

fn ended_row(name: &str, ended: &Ended) -> [String; 8] {
    let Ended { calls, ok, error, cancelled, refused, fault, denied } = *ended;
    let [calls, ok, error, cancelled, refused, fault, denied] =
        [calls, ok, error, cancelled, refused, fault, denied].map(|count| count.to_string());
    [shown(name), calls, ok, error, cancelled, refused, fault, denied]
}

fn name((capability, what): &Used) -> String {
    shown(format!("{capability} {what}").trim_end())
}

fn shown(text: &str) -> String {
    escaped(text).into_owned()
}

/// Sorts rows by descending number.
fn sorted<const N: usize>(rows: impl Iterator<Item = (u64, [String; N])>) -> Vec<[String; N]> {
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by(|(a, first), (b, second)| b.cmp(a).then_with(|| first.cmp(second)));
    rows.into_iter().map(|(_, row)| row).collect()
}

fn section<const N: usize>(
    text: &mut String,
    title: &str,
    mut table: Table<N>,
    mut rows: Vec<[String; N]>,
    most: usize,
) {
    let _ = writeln!(text, "\n{title}");
    if rows.is_empty() {
        text.push_str("  none\n");
        return;
    }
    let more = rows.len().saturating_sub(most);
    rows.truncate(most);
    text.push_str(&table.render(&rows));
    if more > 0 {
        let _ = writeln!(text, "and {more} more; --rows 0 shows all");
    }
}

/// Appends a sentence, wrapped to indented rows.
fn push(text: &mut String, sentence: &str) {
    for (index, row) in wrapped(sentence, columns() - 2).into_iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}{row}", if index == 0 { "" } else { "  " });
    }
}

#[cfg(test)]
mod tests {
    use scorpiox_audit::Record;

    use super::*;

    #[test]
    fn a_report_fits_and_has_the_most_first() {
        let line = |tool: &str, outcome: &str, uses: &str| {
            let line = format!(
                r#"{{"time":"2026-11-22T02:08:36.123Z","tool":"{tool}","user":"ana","machine":"m1","workspace":"/home/ana/w","outcome":"{outcome}","uses":[{uses}]}}"#
            );
            Record::parse(&line).expect("a record")
        };
        let long = format!("/home/ana/{}", "folder/".repeat(8));
        let denied = |what: &str, rule: &str, count: u64| {
            format!(
                r#"{{"capability":"files","what":"{what}","allowed":false,"why":"no","rule":"{rule}","count":{count}}}"#
            )
        };
        let mut report = Report::default();
        for _ in 0..3 {
            report.add(&line("BackgroundBash", "ok", &denied(&long, "policy.toml line 12", 5)));
        }
        report.add(&line(
            "Bash\\u001b[2J",
            "refused",
            &denied("/etc", "/etc/scorpiox/policy.toml line 7", 1),
        ));
        let text = told(&report, 1, 20);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(
            text.starts_with("Audit report: 4 calls, from 2026-11-22 02:08 to 2026-11-22 02:08 UTC\n"),
            "{text}"
        );
        for piece in [
            "Users: ana on m1 (4)\nWorkspaces: /home/ana/w (4)\nNot in the tables: 1 damaged",
            "\n\nBy tool\ntool ",
            "\nBackgroundBash  3 ",
            "Bash\\u{1b}[2J",
            "\n\nBy rule\n",
            "\n\nBy host and folder\n",
            "\n\nDenied most\n",
            "15     policy.toml line 12\n    files /home/ana/folder/",
        ] {
            assert!(text.contains(piece), "{piece:?}:\n{text}");
        }
        let first = told(&report, 0, 1);
        assert!(first.contains("and 1 more; --rows 0 shows all") && !first.contains("line 7"), "{first}");
        assert_eq!(told(&Report::default(), 0, 20), "no recorded call matches\n");
    }
}
