//! The command `policy test`: checks cases that a team stores next to its policy.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::ValueEnum as _;
use scorpiox_policy::{Loaded, Policy, ReadBefore};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;

use serde_json::{Value, json};

use super::calls::{CallVerdict, Given, Outcome, parse_case};
use super::judge::{Judge, Names};
use super::tools::Tools;
use super::{BASH, Caller, What, reads, restricted_shell, restrictions_in, shell, shell_under};
use crate::cli::environment::Environment;
use scorpiox_shell::DEFAULT_PROFILE;

pub(super) const HELP: &str = "\
Each line of the file is a case; `#` begins a comment:
  deny read .env
  allow write src/main.rs
  deny host git.example.com:22 as build
  allow url https://docs.example.com/
  deny tool AskUserQuestion
  deny tool Bash as ci
  allow workspace /srv/web as ann group web scope run
  ask call Bash command='git push'
  ask command git push
  deny call Bash command='git push' as ann remote github.com/acme/tools client cursor
  deny host git.example.com as build principal ann group web
`as PROFILE` is for read, write and host; `as PRINCIPAL`, with further groups and scopes, is for tool
and workspace. `principal NAME`, with further groups and scopes, is for read, write, host, url, file and
plugin: the restrictions for that caller over HTTP hold. A call is also asked about (`ask`), and may be
followed by circumstances: `as`, `group`, `scope`, `client`, `remote`, `unix_user`, `unix_group` and
`after`, each with a value. `command` is a call of Bash with the rest of the line. Host names are not
looked up.";

/// Word before the principal of a case that is not about a tool, a call or a workspace.
const PRINCIPAL: &str = " principal ";

/// A line of the file.
#[derive(Debug, PartialEq, Eq)]
struct Case<'a> {
    outcome: Outcome,
    what: What,
    subject: &'a str,
    profile: &'a str,
    /// Principal, with additional groups and scopes.
    caller: Option<Caller>,
    /// Tool, arguments and circumstances of a call.
    call: Option<(String, Value, Given)>,
}

pub(super) fn run(environment: &Environment, file: &Path, policy: Option<&Path>) -> Result<ExitCode> {
    let text = fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let shell = match policy {
        None => shell(environment),
        Some(other) => {
            ensure!(other.exists(), "{} does not exist", other.display());
            shell_under(environment, Loaded::of(Policy::load(other)?))
        }
    };
    let nobody = Caller::default();
    // The policy has to be usable, even for a file without cases.
    Judge::new(environment, &shell, Names::AsWritten)?;
    if let Some(found) = &environment.workspace.instead_of {
        terminal::complain(&format!(
            "scorpiox-code: {} is not a project, so that relative paths are those of {}; run it in a project's folder, \
             or name one with --workspace",
            found.display(),
            environment.workspace.path.display()
        ));
    }
    let (tools, mut cases, mut failed) = (Rc::new(Tools::default()), 0_usize, 0_usize);
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line)) {
        let at = || format!("{} line {number}", file.display());
        let Some(case) = Case::parse(line).map_err(|why| anyhow!("{}: {why}", at()))? else { continue };
        let caller = case.caller.as_ref().unwrap_or(&nobody);
        let client = case.call.as_ref().and_then(|(_, _, given)| given.client.as_deref());
        case.check(&shell.operator().loaded()?.policy).map_err(|why| anyhow!("{}: {why}", at()))?;
        let reads = |policy: &Policy, known: &mut ReadBefore| case.reads(&tools, environment, policy, known);
        let restricted = restricted_shell(&shell, &restrictions_in(&shell, caller, client, reads)?)?;
        let mut judge = Judge::new(environment, restricted.as_ref().unwrap_or(&shell), Names::AsWritten)?;
        (judge.principal, judge.tools) = (caller.principal(judge.http()), Rc::clone(&tools));
        let verdict = case.judged(&judge).with_context(at)?;
        cases += 1;
        if verdict.outcome != case.outcome {
            failed += 1;
            terminal::print(&Shown::line(&told(number, line, &verdict)));
        }
    }
    ensure!(cases > 0, "{} has no cases", file.display());
    let count = if cases == 1 { "1 case".to_owned() } else { format!("{cases} cases") };
    terminal::print(&Shown::line(&match failed {
        0 => format!("{count}, all as expected."),
        failed => format!("{count}, {failed} not as expected."),
    }));
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn told(number: usize, line: &str, verdict: &CallVerdict) -> String {
    format!("line {number}: {}: is {}: {}", line.trim(), verdict.outcome, verdict.because)
}

impl<'a> Case<'a> {
    /// Fails if files were read that no condition is about: the case would prove nothing.
    fn check(&self, policy: &Policy) -> Result<(), String> {
        let mut after = self.call.iter().flat_map(|(_, _, given)| &given.after);
        let Some(glob) = after.find(|glob| !policy.has_glob_read_before(glob)) else { return Ok(()) };
        let known = policy.globs_read_before();
        let near = scorpiox_text::nearest(glob, known.keys().copied());
        let near = near.map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"));
        Err(format!("no `after` in the policy has the glob \"{glob}\"{near}"))
    }

    /// Adds the files that count as read in the case.
    fn reads(&self, tools: &Tools, environment: &Environment, policy: &Policy, known: &mut ReadBefore) {
        match &self.call {
            Some((tool, _, given)) => {
                reads::add_given(&given.after, known);
                reads::add_of(tools, environment, policy, self.what, tool, known);
            }
            None => reads::add_of(tools, environment, policy, self.what, self.subject, known),
        }
    }

    fn judged(&self, judge: &Judge<'_>) -> Result<CallVerdict> {
        if let Some((tool, arguments, given)) = &self.call {
            return judge.call(tool, arguments, given);
        }
        let verdict = judge.verdict(self.what, self.subject, self.profile)?;
        let outcome = if verdict.allowed { Outcome::Allow } else { Outcome::Deny };
        Ok(CallVerdict { outcome, because: verdict.because })
    }

    /// Parses a line. Returns `None` for an empty line or a comment.
    fn parse(line: &'a str) -> Result<Option<Self>, String> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        let (decision, rest) = word_of(line);
        let outcome = Outcome::parse(decision)
            .ok_or_else(|| format!("{decision:?} is not `allow` or `deny`, or `ask` for a call"))?;
        let (kind, rest) = word_of(rest);
        let what = What::from_str(kind, false).map_err(|_| {
            format!(
                "{kind:?} is none of read, write, host, command, url, file, tool, call, plugin, workspace"
            )
        })?;
        if what == What::Command {
            if rest.is_empty() {
                return Err("names no command".to_owned());
            }
            let call = Some((BASH.to_owned(), json!({ "command": rest }), Given::default()));
            let (subject, profile) = (rest, DEFAULT_PROFILE);
            return Ok(Some(Self { outcome, what, subject, profile, caller: None, call }));
        }
        if what == What::Call {
            let (tool, arguments, caller, given) = parse_case(rest)?;
            let call = Some((tool, arguments, given));
            return Ok(Some(Self { outcome, what, subject: rest, profile: DEFAULT_PROFILE, caller, call }));
        }
        if outcome == Outcome::Ask {
            return Err(format!("only a call is asked about, and {kind} is not one"));
        }
        let is_of_commands = matches!(what, What::Read | What::Write | What::Host);
        let is_of_callers = matches!(what, What::Tool | What::Workspace);
        let (rest, named) = match rest.rsplit_once(PRINCIPAL) {
            Some((rest, who)) if !is_of_callers => (rest.trim_end(), Some(caller(who)?)),
            _ => (rest, None),
        };
        let (subject, profile) = match rest.rsplit_once(" as ") {
            Some((subject, profile)) if is_of_commands => (subject.trim(), profile.trim()),
            _ => (rest, DEFAULT_PROFILE),
        };
        let (subject, caller) = match rest.rsplit_once(" as ") {
            Some((subject, who)) if is_of_callers => (subject.trim(), Some(caller(who)?)),
            _ => (subject, named),
        };
        if is_of_commands && rest.ends_with(" as") {
            return Err("names no profile after `as`".to_owned());
        }
        if subject.is_empty() {
            return Err(format!("says nothing to {kind}"));
        }
        Ok(Some(Self { outcome, what, subject, profile, caller, call: None }))
    }
}

/// Parses a principal: its name, followed by pairs of words such as `group ops`.
fn caller(who: &str) -> Result<Caller, String> {
    let mut words = who.split_whitespace().map(str::to_owned);
    let name = words.next().ok_or("names no principal")?;
    let mut caller = Caller { name: Some(name), ..Caller::default() };
    while let Some(kind) = words.next() {
        let word = words.next().ok_or_else(|| format!("names no {kind} after `{kind}`"))?;
        match kind.as_str() {
            "group" => caller.group.push(word),
            "scope" => caller.scope.push(word),
            other => return Err(format!("{other:?} is neither `group` nor `scope`")),
        }
    }
    Ok(caller)
}

/// Returns the first word, and the rest.
fn word_of(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_case_or_nothing_or_an_error_that_names_the_word() {
        assert_eq!(Case::parse("  # note"), Ok(None));
        assert_eq!(
            Case::parse("deny  read  a file as build "),
            Ok(Some(Case {
                outcome: Outcome::Deny,
                what: What::Read,
                subject: "a file",
                profile: "build",
                caller: None,
                call: None
            }))
        );
        assert_eq!(
            Case::parse("allow url https://example.com/ as x"),
            Ok(Some(Case {
                outcome: Outcome::Allow,
                what: What::Url,
                subject: "https://example.com/ as x",
                profile: DEFAULT_PROFILE,
                caller: None,
                call: None
            }))
        );
        let who = Caller {
            name: Some("ann".to_owned()),
            group: vec!["web".to_owned()],
            scope: vec!["run".to_owned()],
        };
        assert_eq!(
            Case::parse("deny tool Bash as ann group web scope run"),
            Ok(Some(Case {
                outcome: Outcome::Deny,
                what: What::Tool,
                subject: "Bash",
                profile: DEFAULT_PROFILE,
                caller: Some(who),
                call: None
            }))
        );
        let (tool, arguments, _) = Case::parse("ask command git push 'a b'")
            .expect("valid")
            .and_then(|case| case.call)
            .expect("a call");
        assert_eq!((tool.as_str(), arguments), ("Bash", json!({"command": "git push 'a b'"})));
        let principals = |line: &'static str| {
            let case = Case::parse(line).expect("a case").expect("one");
            let caller = case.caller.unwrap_or_default();
            (case.subject, case.profile, caller.name.unwrap_or_default(), caller.group.concat())
        };
        for (line, subject, profile, group) in [
            ("deny read a principal file principal ann", "a principal file", DEFAULT_PROFILE, ""),
            (
                "deny host x.example.com:22 as build principal ann group web",
                "x.example.com:22",
                "build",
                "web",
            ),
            (
                "deny url https://example.com/ principal ann group web",
                "https://example.com/",
                DEFAULT_PROFILE,
                "web",
            ),
            ("deny file ~/a b principal ann", "~/a b", DEFAULT_PROFILE, ""),
            ("deny plugin weather principal ann", "weather", DEFAULT_PROFILE, ""),
        ] {
            assert_eq!(principals(line), (subject, profile, "ann".to_owned(), group.to_owned()), "{line}");
        }
        for (line, says) in [
            ("deny read x principal ann role y", "\"role\""),
            ("deny read x principal ann group", "no group"),
            ("permit read x", "\"permit\""),
            ("ask read x", "only a call"),
            ("ask call", "names no tool"),
            ("allow command", "names no command"),
            ("allow commands x", "\"commands\""),
            ("allow read", "nothing to read"),
            ("deny tool Bash as ann role x", "\"role\""),
            ("deny tool Bash as ann group", "no group"),
        ] {
            assert!(Case::parse(line).expect_err("refused").contains(says), "{line}");
        }
    }
}
