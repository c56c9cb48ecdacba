//! Looks for names that commands are denied in git's objects, which commands can read.
//!
//! The sandbox hides files, and git keeps copies of those that were ever committed. git itself is asked, by a command
//! that runs as a client's would, so that nothing else than the sandbox reads what a repository says.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use scorpiox_audit::Uses;
use scorpiox_cell::Status;
use scorpiox_executor::Cancel;
use scorpiox_policy::{DenyRule, Profile};
use scorpiox_shell::{As, DEFAULT_PROFILE, Request, Shell};
use scorpiox_text::line::escaped;

/// The time for which git may look: somebody who checks a policy waits for it.
const LOOK_TIME: Duration = Duration::from_secs(5);
/// Output that is read: a commit and a few names.
const MAX_CHARS: usize = 2000;
/// Names that are told.
const MAX_NAMES: usize = 3;
/// Alternatives that the braces of one glob stand for.
const MAX_ALTERNATIVES: usize = 32;
/// The separator between the parts of the output.
const MARK: &str = "scorpiox:";

/// Returns what a person should know of denied names that git keeps for a workspace; nothing if it keeps none.
pub(super) fn note(shell: &Shell) -> Option<String> {
    let site = shell.operator().site();
    site.workspace.join(".git").symlink_metadata().ok()?;
    let profile = shell.operator().profile(DEFAULT_PROFILE).ok()?;
    let pathspecs = pathspecs(&profile, &site.workspace, site.home.as_deref());
    if pathspecs.is_empty() {
        return None;
    }
    let request = Request {
        command: script(&pathspecs),
        run_as: As::Client { read_only: true },
        timeout: Some(LOOK_TIME),
        uses: Uses::default(),
    };
    match shell.run(&request, &Cancel::default(), MAX_CHARS) {
        Ok(done) => told(&done.output.text, done.outcome.status == Status::Code(0)),
        Err(error) => Some(format!("whether git keeps denied files is not known: {error}")),
    }
}

/// Prints names that are in the index, the newest commit with such a name, and whether all commits are there.
fn script(pathspecs: &[String]) -> String {
    let quoted: Vec<_> = pathspecs.iter().map(|spec| format!("'{}'", spec.replace('\'', "'\\''"))).collect();
    let specs = quoted.join(" ");
    let git = "git --no-pager -c core.quotePath=true";
    format!(
        "command -v git >/dev/null || exit 0\n\
         {git} rev-parse --git-dir >/dev/null || exit 1\n\
         echo {MARK}tracked; {git} ls-files -- {specs} | head -n 20\n\
         echo {MARK}shallow $({git} rev-parse --is-shallow-repository)\n\
         echo {MARK}history; {git} log --all -1 --format=%h --name-only --no-renames -m -- {specs} | head -n 20\n\
         echo {MARK}end\n"
    )
}

/// The note, from what git said; `ended` if it came to its end.
fn told(output: &str, ended: bool) -> Option<String> {
    let part = |name: &str| {
        let rest = output.split_once(&format!("{MARK}{name}"))?.1;
        Some(rest.split(MARK).next().unwrap_or_default().trim().to_owned())
    };
    let lines = |text: Option<String>| -> Vec<String> {
        text.unwrap_or_default()
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let is_whole = ended && output.contains(&format!("{MARK}end"));
    let unseen = match (is_whole, part("shallow").as_deref()) {
        (false, _) => "git's history was not looked at whole: it took longer, or git failed",
        (true, Some("true")) => "the repository is shallow: older commits were not looked at",
        (true, _) => "",
    };
    let (tracked, mut history) = (lines(part("tracked")), lines(part("history")));
    let mut said = String::new();
    if !tracked.is_empty() {
        // Writing to a string does not fail.
        let _ = write!(said, "git tracks denied files ({})", named(&tracked));
    } else if history.len() > 1 {
        let commit = history.remove(0);
        let _ = write!(said, "git's history has denied files ({}, in commit {commit})", named(&history));
    }
    if !said.is_empty() {
        said += ": `deny` hides files and not git's objects, so that commands can print them (`git show`)";
    } else if unseen.is_empty() || output.is_empty() && ended {
        return None;
    } else {
        said += "whether git's history has denied files is not known";
    }
    let more = if unseen.is_empty() { String::new() } else { format!("; {unseen}") };
    Some(said + &more)
}

fn named(names: &[String]) -> String {
    let mut told: Vec<_> = names.iter().take(MAX_NAMES).map(|name| escaped(name).into_owned()).collect();
    if names.len() > MAX_NAMES {
        told.push("and others".to_owned());
    }
    told.join(", ")
}

/// The names that a profile denies, as git takes them, relative to the workspace.
fn pathspecs(profile: &Profile, workspace: &Path, home: Option<&Path>) -> Vec<String> {
    let outer = std::iter::successors(Some(profile), |profile| profile.outer.as_deref());
    let globs = outer.flat_map(|profile| profile.deny.iter().map(DenyRule::glob));
    let mut found: Vec<String> = globs
        .filter_map(|glob| relative(glob, workspace, home))
        .flat_map(|glob| alternatives(&glob))
        .flat_map(|glob| [format!(":(glob,icase){glob}"), format!(":(glob,icase){glob}/**")])
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// A glob of `deny` as one relative to the workspace; nothing if it is about what lies elsewhere.
fn relative(glob: &str, workspace: &Path, home: Option<&Path>) -> Option<String> {
    let glob = glob.trim_end_matches('/');
    if let Some(rest) = glob.strip_prefix("~/") {
        let inside = workspace.strip_prefix(home?).ok()?.to_str()?;
        return rest.strip_prefix(inside)?.strip_prefix('/').map(str::to_owned);
    }
    if let Some(rest) = glob.strip_prefix('/') {
        let inside = workspace.to_str()?.trim_start_matches('/');
        let below = rest.strip_prefix(inside).and_then(|below| below.strip_prefix('/'));
        return Some(below.unwrap_or(rest).to_owned());
    }
    Some(if glob.contains('/') { glob.to_owned() } else { format!("**/{glob}") })
}

/// The globs that the braces of a glob stand for: git knows none.
fn alternatives(glob: &str) -> Vec<String> {
    let mut found = vec![glob.to_owned()];
    while found.len() <= MAX_ALTERNATIVES
        && let Some(at) = found.iter().position(|glob| braces(glob).is_some())
    {
        let glob = found.swap_remove(at);
        let Some((before, inside, after)) = braces(&glob) else { break };
        found.extend(inside.split(',').map(|one| format!("{before}{one}{after}")));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The first innermost braces, with what stands around them.
fn braces(glob: &str) -> Option<(&str, &str, &str)> {
    let end = glob.find('}')?;
    let begin = glob[..end].rfind('{')?;
    Some((&glob[..begin], &glob[begin + 1..end], &glob[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_those_of_git_relative_to_the_workspace() {
        let relative = |glob: &str| relative(glob, Path::new("/home/me/shop"), Some(Path::new("/home/me")));
        for (glob, expected) in [
            ("finance/", Some("**/finance")),
            ("**/.env*", Some("**/.env*")),
            ("conf/*.key", Some("conf/*.key")),
            ("/secrets/", Some("secrets")),
            ("/home/me/shop/x", Some("x")),
            ("~/shop/keys", Some("keys")),
            ("~/private", None),
        ] {
            assert_eq!(relative(glob).as_deref(), expected, "{glob}");
        }
        assert_eq!(alternatives("a.{key,p{em,12}}"), ["a.key", "a.p12", "a.pem"]);
        assert_eq!(alternatives("a}b{"), ["a}b{"]);
    }

    #[test]
    fn what_git_keeps_is_told_and_what_was_not_looked_at() {
        let output = |tracked: &str, shallow: &str, history: &str| {
            format!("{MARK}tracked\n{tracked}{MARK}shallow {shallow}\n{MARK}history\n{history}{MARK}end\n")
        };
        assert_eq!(told(&output("", "false", ""), true), None);
        assert_eq!(told("", true), None, "there is no git");
        let tracked = told(&output("finance/q4.csv\n", "false", ""), true).expect("a note");
        assert!(tracked.starts_with("git tracks denied files (finance/q4.csv)"), "{tracked}");
        let history = told(&output("", "true", "abc1234\n\nfinance/q4.csv\n"), true).expect("a note");
        assert!(
            history.contains("(finance/q4.csv, in commit abc1234)") && history.contains("shallow"),
            "{history}"
        );
        for (output, ended) in
            [(format!("{MARK}tracked\n{MARK}shallow false\n{MARK}history\n"), false), (String::new(), false)]
        {
            assert!(told(&output, ended).expect("a note").contains("not looked at whole"), "{output}");
        }
    }
}
