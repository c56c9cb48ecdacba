//! The command `policy suggest`: names the smallest changes that would have allowed what was refused.
//!
//! Invariant: a suggestion allows exactly what a line of the audit names, and only if the change has that effect under
//! the policy as it is now. Names come from models and pages, so a name that could mislead a reader becomes no command.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use scorpiox_audit::read::{Line, Reader};
use scorpiox_audit::{Filter, Record, Use, time};
use scorpiox_metering::records::audit_folder;
use scorpiox_policy::HostRules;
use scorpiox_shell::DEFAULT_PROFILE;
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use scorpiox_text::{clean, is_deceptive};
use scorpiox_workspace_config::Operator;

use super::edit::{self, EMPTY, Editable, Wish};
use crate::cli::environment::Environment;

pub(super) const HELP: &str = "\
The suggestions concern hosts that commands, ReadDocs and WebSearch could not reach, tools that [tools]
closes, and folders of files that ReadDocs and ReadImage could not read. Each one allows only what was refused, and nothing is changed. Other refusals are counted:
`scorpiox-code audit --denied` lists them.";

/// Maximum number of different refusals that are counted apart.
const MAX_COUNTED: usize = 2000;
/// Maximum number of refusals, the most frequent first, that are judged under the policy.
const MAX_JUDGED: usize = 200;
/// Maximum number of suggestions that are printed.
const MAX_SHOWN: usize = 50;
/// Tools whose commands run under the default profile.
const COMMANDS: [&str; 3] = ["Bash", "BackgroundBash", "background command"];

/// Tools that read files of the machine.
const READERS: [&str; 2] = ["ReadDocs", "ReadImage"];
/// Advice for refused files.
const ONE_FILE: &str = "the audit names the folder alone: `scorpiox-code policy allow file FILE` opens one of its files, \
                        and says if a rule denies that one";

/// Lines of the audit to look at.
#[derive(Debug, Args)]
pub(in crate::cli) struct Chosen {
    /// Only refusals since this time (UTC): 90s, 30m, 2h, 7d, 2026-11-22, 2026-11-22T09:30
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = time::since)]
    since: u64,
}

/// Something that was refused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Refused {
    /// A host and a port, to a command.
    Host(String, u16),
    /// A host and a port, to ReadDocs or WebSearch.
    Page(String, u16),
    /// A tool, to everybody.
    Tool(String),
    /// Files of a folder, to ReadDocs or ReadImage. The audit does not name them.
    Files(String),
}

impl Refused {
    /// Returns what a use of a call was refused, if a change of the user's file may allow it.
    fn of(record: &Record, denied: &Use) -> Option<Self> {
        match &*denied.capability {
            "network" if COMMANDS.contains(&&*record.tool) => {
                let (host, port) = denied.what.rsplit_once(':')?;
                Some(Self::Host(host.to_owned(), port.parse().ok()?))
            }
            // The hosts of a plugin are approved, too.
            "web" if !record.tool.contains('.') => {
                let (host, port) = denied.what.rsplit_once(':')?;
                Some(Self::Page(host.to_owned(), port.parse().ok()?))
            }
            "tools" => Some(Self::Tool(denied.what.clone())),
            // The folders of a plugin are approved, too.
            "files" if READERS.contains(&&*record.tool) => Some(Self::Files(denied.what.clone())),
            _ => None,
        }
    }

    /// Returns the kind and the subject of the change that allows it, or the reason why none is suggested.
    fn change(&self) -> Result<(Editable, String), &'static str> {
        // An entry in `hosts` alone does not open an address of this machine or of a private network.
        let is_near = |host: &str| {
            let host = host.trim_end_matches('.').to_ascii_lowercase();
            host == "localhost" || [".localhost", ".internal", ".local"].iter().any(|end| host.ends_with(end))
        };
        match self {
            // The folder would open more than was refused.
            Self::Files(_) => Err(ONE_FILE),
            Self::Host(text, _) | Self::Page(text, _) | Self::Tool(text) if !is_plain(text) => {
                Err("its name could be mistaken for another, so that no command is printed")
            }
            Self::Host(host, _) | Self::Page(host, _) if is_near(host) => {
                Err("its addresses are those of this machine or its network; see `local` and `allow_private`")
            }
            Self::Host(host, port) => HostRules::entry(host, *port)
                .map(|entry| (Editable::Host, entry))
                .ok_or("no line of the policy allows it"),
            Self::Page(host, port) => HostRules::entry(host, *port)
                .map(|entry| (Editable::Page, entry))
                .ok_or("no line of the policy allows it"),
            Self::Tool(name) => Ok((Editable::Tool, name.clone())),
        }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Host(host, port) => write!(f, "{}:{port}, for commands", shown(host)),
            Self::Page(host, port) => write!(f, "{}:{port}, for pages", shown(host)),
            Self::Tool(name) => write!(f, "tool {}", shown(name)),
            Self::Files(folder) => write!(f, "files in {}, for ReadDocs and ReadImage", shown(folder)),
        }
    }
}

/// Returns the beginning of a name without characters that mislead.
fn shown(name: &str) -> String {
    let plain: String = clean(name).chars().filter(|&c| !is_deceptive(c) && c != '\n').take(100).collect();
    plain.escape_debug().to_string()
}

/// Returns `true` if a name reads as what it is and is one word of a shell. Labels that begin with `xn--` are shown in
/// other letters elsewhere.
fn is_plain(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    let labels = name.split('.').map(str::to_ascii_lowercase);
    (1..=253).contains(&name.len())
        && !name.starts_with('-')
        && name.bytes().all(is_word)
        && labels.into_iter().all(|label| !label.starts_with("xn--"))
}

/// Number of refusals and the time of the last one.
#[derive(Debug, Default)]
struct Count {
    calls: u64,
    last: String,
}

/// Refusals of the audit.
#[derive(Debug, Default)]
struct Counted {
    each: BTreeMap<Refused, Count>,
    /// Refusals that no change of the user's file is suggested for.
    others: u64,
    /// Refusals that were not counted apart, because too many differ.
    beyond: u64,
}

impl Counted {
    fn add(&mut self, record: &Record) {
        for denied in record.denied() {
            let calls = denied.count.max(1).saturating_add(record.more_calls);
            let Some(refused) = Refused::of(record, denied) else {
                self.others = self.others.saturating_add(calls);
                continue;
            };
            if self.each.len() >= MAX_COUNTED && !self.each.contains_key(&refused) {
                self.beyond = self.beyond.saturating_add(calls);
                continue;
            }
            let count = self.each.entry(refused).or_default();
            count.calls = count.calls.saturating_add(calls);
            count.last.clone_from(&record.time);
        }
    }
}

pub(super) fn run(environment: &Environment, chosen: &Chosen) -> Result<ExitCode> {
    let counted = read(environment, chosen.since)?;
    let operator = Operator::new(environment.site());
    let text = operator.own_text()?.unwrap_or_else(|| EMPTY.to_owned());
    let mut all: Vec<_> = counted.each.iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(count.calls));
    let mut page = Shown::text("");
    let (mut printed, mut allowed) = (0_usize, 0_usize);
    let unjudged = all.len().saturating_sub(MAX_JUDGED);
    for (refused, count) in all.iter().take(MAX_JUDGED) {
        let Some(advice) = advice(environment, &operator, &text, refused) else {
            allowed += 1;
            continue;
        };
        printed += 1;
        if printed <= MAX_SHOWN {
            let times = if count.calls == 1 { "once".to_owned() } else { format!("{} times", count.calls) };
            let head = format!("{refused}: refused {times}, last at {}", shown(&count.last));
            page = page.and(&Shown::line(&head)).and(&Shown::line(&format!("  {advice}")));
        }
    }
    if printed == 0 {
        page = page.and(&Shown::line("Nothing to suggest."));
    }
    for (count, words) in [
        ((printed.saturating_sub(MAX_SHOWN) + unjudged) as u64, "more, refused less often, are not shown"),
        (allowed as u64, "refused before are allowed now"),
        (counted.others, "other refusals: `scorpiox-code audit --denied` lists them"),
        (counted.beyond, "refusals of too many different names were not looked at"),
    ] {
        if count > 0 {
            page = page.and(&Shown::line(&format!("{count} {words}.")));
        }
    }
    terminal::print(&page);
    Ok(ExitCode::SUCCESS)
}

fn read(environment: &Environment, since: u64) -> Result<Counted> {
    let filter = Filter { since: Some(since), denied: true, ..Filter::default() };
    let mut reader = Reader::new(&audit_folder(&environment.own_home));
    let mut counted = Counted::default();
    while let Some(line) = reader.next()? {
        if let Line::Whole(record, _) = line
            && filter.wants(&record)
        {
            counted.add(&record);
        }
    }
    Ok(counted)
}

/// Returns the command that allows it, or the reason why there is none. `None` if it is allowed now.
fn advice(environment: &Environment, operator: &Operator, text: &str, refused: &Refused) -> Option<String> {
    let (what, subject) = match refused.change() {
        Ok(change) => change,
        Err(why) => return Some(format!("({why})")),
    };
    let wish = Wish::of(what, &subject, DEFAULT_PROFILE);
    match edit::changed(environment, operator, text.to_owned(), (&wish, true), &subject) {
        Ok((after, _)) if after == text => None,
        Ok(_) => {
            let kind = match what {
                Editable::Host => "host",
                Editable::Page => "page",
                _ => "tool",
            };
            let quote = if subject.contains(['[', ']']) { "'" } else { "" };
            Some(format!("scorpiox-code policy allow {kind} {quote}{subject}{quote}"))
        }
        Err(why) => Some(format!("({})", shown_reason(&format!("{why:#}")))),
    }
}

/// Returns a reason on one line.
fn shown_reason(why: &str) -> String {
    why.chars().filter(|&c| !is_deceptive(c) && c != '\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(capability: &str, what: &str) -> Use {
        Use { capability: capability.to_owned(), what: what.to_owned(), ..Use::default() }
    }

    fn record(tool: &str, uses: Vec<Use>) -> Record {
        Record {
            tool: tool.to_owned(),
            uses,
            time: "2026-11-22T02:08:36.123Z".to_owned(),
            ..Record::default()
        }
    }

    #[test]
    fn only_plain_names_become_commands() {
        for name in ["registry.example.com", "1.2.3.4", "[::1]", "weather.now", "a_b-c"] {
            assert!(is_plain(name), "{name}");
        }
        for name in [
            "",
            "-rf",
            "a b",
            "a;b",
            "a'b",
            "a\"b",
            "$(x)",
            "a\u{202e}b",
            "ex\u{430}mple.com",
            "xn--exmple-4nf.com",
            "a.XN--b",
            "a\nb",
            "`x`",
            &"a".repeat(254),
        ] {
            assert!(!is_plain(name), "{name:?}");
        }
        assert_eq!(shown("a\u{202e}b\u{1b}[0m\n\"c"), "ab\\\"c");
    }

    #[test]
    fn a_change_is_never_wider_than_what_was_refused() {
        let host = |port| Refused::Host("a.example.com".to_owned(), port).change().expect("a change");
        assert_eq!(host(443), (Editable::Host, "a.example.com".to_owned()));
        assert_eq!(host(22), (Editable::Host, "a.example.com:22".to_owned()));
        assert!(Refused::Host("a..b".to_owned(), 443).change().is_err());
        let folder = Refused::Files("/srv/reports".to_owned());
        assert_eq!(folder.change(), Err(ONE_FILE), "a folder has more than the file");
    }

    #[test]
    fn refusals_are_counted_and_bounded() {
        let mut counted = Counted::default();
        counted.add(&record("Bash", vec![denied("network", "a.example.com:443"), denied("files", "/x")]));
        counted.add(&record("Bash", vec![Use { count: 4, ..denied("network", "a.example.com:443") }]));
        counted.add(&record("weather.now", vec![denied("network", "a.example.com:443")]));
        counted.add(&record("WebSearch", vec![denied("tools", "WebSearch")]));
        counted.add(&record("Bash", vec![denied("network", "nonsense")]));
        let count = &counted.each[&Refused::Host("a.example.com".to_owned(), 443)];
        assert_eq!((count.calls, counted.each.len(), counted.others), (5, 2, 3));
        let mut pages = Counted::default();
        pages.add(&record("ReadDocs", vec![denied("web", "a.example.com:443")]));
        pages.add(&record("weather.now", vec![denied("web", "a.example.com:443")]));
        assert_eq!((pages.each.len(), pages.others), (1, 1));
        let page = Refused::Page("a.example.com".to_owned(), 443);
        assert_eq!(
            (pages.each[&page].calls, page.change()),
            (1, Ok((Editable::Page, "a.example.com".to_owned())))
        );
        let mut files = Counted::default();
        files
            .add(&record("ReadDocs", vec![denied("files", "/srv/reports"), denied("files", "/srv/reports")]));
        files.add(&record("weather.now", vec![denied("files", "/srv/reports")]));
        let folder = Refused::Files("/srv/reports".to_owned());
        assert_eq!((files.each[&folder].calls, files.others), (2, 1));
        for number in 0..3000 {
            counted.add(&record("Bash", vec![denied("network", &format!("h{number}.example.com:443"))]));
        }
        assert_eq!((counted.each.len(), counted.beyond), (MAX_COUNTED, 1002));
    }
}
