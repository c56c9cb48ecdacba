//! Searches git's objects, which commands can read, for denied names.
//!
//! The sandbox hides files, but git keeps copies of committed ones. The search runs git in the sandbox like a
//! client's command, so that nothing outside the sandbox reads the repository.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use scorpiox_audit::Uses;
use scorpiox_executor::Cancel;
use scorpiox_policy::{DenyRule, Profile};
use scorpiox_sandbox::Status;
use scorpiox_shell::{As, DEFAULT_PROFILE, Request, Shell};
use scorpiox_text::line::escaped;

/// Timeout of the search. The user waits for it.
const LOOK_TIME: Duration = Duration::from_secs(5);
/// Maximum length of the output: a commit and a few names.
const MAX_CHARS: usize = 2000;
/// Maximum number of reported names.
const MAX_NAMES: usize = 3;
/// Maximum number of alternatives that the braces of a glob expand to.
const MAX_ALTERNATIVES: usize = 32;
/// Status of the script if git does not work.
const GIT_FAILED: i32 = 3;
/// Separator between the parts of the output.
const MARK: &str = "scorpiox:";

/// Returns a note if git does not work in a workspace, or about denied names that it keeps there. Returns `None` if there
/// is nothing to say.
pub(super) fn note(shell: &Shell) -> Option<String> {
    let site = shell.operator().site();
    // A home folder is never opened for a folder in it.
    let is_around_home = |tree: &Path| site.home.as_ref().is_some_and(|home| home.starts_with(tree));
    let mut trees =
        site.workspace.ancestors().take_while(|tree| *tree == site.workspace || !is_around_home(tree));
    trees.find(|tree| tree.join(".git").symlink_metadata().is_ok())?;
    let profile = shell.operator().profile(DEFAULT_PROFILE).ok()?;
    let request = Request {
        command: script(&pathspecs(&profile, &site.workspace, site.home.as_deref())),
        run_as: As::Client { read_only: true },
        timeout: Some(LOOK_TIME),
        uses: Uses::default(),
    };
    match shell.run(&request, &Cancel::default(), MAX_CHARS) {
        Ok(done) if done.outcome.status == Status::Code(GIT_FAILED) => {
            let advice = done.notes.into_iter().find(|note| note.starts_with("git: "));
            let complaint = || done.output.text.lines().find(|line| line.starts_with("fatal: ")).map(escaped);
            Some(advice.unwrap_or_else(|| match complaint() {
                Some(complaint) => format!("commands cannot use git here: {complaint}"),
                None => "commands cannot use git here".to_owned(),
            }))
        }
        Ok(done) => told(&done.output.text, done.outcome.status == Status::Code(0)),
        Err(error) => Some(format!("whether git keeps denied files is not known: {error}")),
    }
}

/// Returns a script that exits with `GIT_FAILED` if git does not work, and prints names in the index, the newest commit
/// with one, and whether history is complete.
fn script(pathspecs: &[String]) -> String {
    let quoted: Vec<_> = pathspecs.iter().map(|spec| format!("'{}'", spec.replace('\'', "'\\''"))).collect();
    let specs = quoted.join(" ");
    let git = "git --no-pager -c core.quotePath=true";
    let works = format!(
        "command -v git >/dev/null || exit 0\n\
         {git} rev-parse --git-dir >/dev/null && {git} rev-list --all -n 1 >/dev/null || exit {GIT_FAILED}\n"
    );
    if specs.is_empty() {
        return works;
    }
    // A failure of git ends the part with a mark, so that its messages are not taken for names.
    let part = |name: &str, arguments: &str| {
        format!(
            "echo {MARK}{name}; {{ {git} {arguments} -- {specs} 2>/dev/null || echo {MARK}failed; }} | head -n 20\n"
        )
    };
    format!(
        "{works}{}echo {MARK}shallow $({git} rev-parse --is-shallow-repository)\n{}echo {MARK}end\n",
        part("tracked", "ls-files"),
        part("history", "log --all -1 --format=%h --name-only --no-renames -m"),
    )
}

/// Formats the note from git's output. `ended` means that the script succeeded.
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
    let has = |name: &str| output.contains(&format!("{MARK}{name}"));
    let is_whole = ended && has("end") && !has("failed");
    let unseen = match (is_whole, part("shallow").as_deref()) {
        (false, _) => "git's history was not looked at whole: it took longer, or git failed",
        (true, Some("true")) => "the repository is shallow: older commits were not looked at",
        (true, _) => "",
    };
    let (tracked, mut history) = (lines(part("tracked")), lines(part("history")));
    let mut said = String::new();
    if !tracked.is_empty() {
        // Writing to a string cannot fail.
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

/// Returns the names that a profile denies as git pathspecs, relative to the workspace.
fn pathspecs(profile: &Profile, workspace: &Path, home: Option<&Path>) -> Vec<String> {
    let outer = std::iter::successors(Some(profile), |profile| profile.outer.as_deref());
    let globs = outer.flat_map(|profile| profile.deny.iter().map(DenyRule::glob));
    let mut found: Vec<String> = globs
        .filter_map(|glob| relative(glob, workspace, home))
        .flat_map(|glob| alternatives(&glob))
        .flat_map(|glob| specs(&glob))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the pathspecs for a glob. Git knows no `!(a|b)`, so the names are excluded, from all globs.
fn specs(glob: &str) -> Vec<String> {
    let of = |words: &str, glob: &str| [format!(":({words}){glob}"), format!(":({words}){glob}/**")];
    let Some((before, list)) = glob.split_once("!(") else { return of("glob,icase", glob).into() };
    let list = list.trim_end_matches(')').split('|');
    let excluded = list.flat_map(|rest| of("exclude,glob,icase", &format!("{before}{rest}")));
    of("glob,icase", &format!("{before}*")).into_iter().chain(excluded).collect()
}

/// Converts a glob of `deny` to one relative to the workspace. Returns `None` if it only applies elsewhere.
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

/// Expands the braces of a glob, since git does not support them.
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

/// Returns the first innermost braces: the text before, inside and after them.
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
        let specs = specs("**/.env!(*.dist)");
        assert_eq!(specs[..2], [":(glob,icase)**/.env*", ":(glob,icase)**/.env*/**"]);
        assert_eq!(
            specs[2..],
            [":(exclude,glob,icase)**/.env*.dist", ":(exclude,glob,icase)**/.env*.dist/**"]
        );
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
        for (output, ended) in [
            (format!("{MARK}tracked\n{MARK}shallow false\n{MARK}history\n"), false),
            (String::new(), false),
            (output("scorpiox:failed\n", "false", ""), true),
        ] {
            assert!(told(&output, ended).expect("a note").contains("not looked at whole"), "{output}");
        }
    }
}
