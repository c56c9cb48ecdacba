//! The command `policy why`: shows which line decides about an access, and what would allow it.

use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Args;
use scorpiox_metering::records::rule_texts;
use scorpiox_policy::{Profile, Verdict};
use scorpiox_shell::{DEFAULT_PROFILE, Shell};
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, Style};
use scorpiox_workspace_config::Operator;
use serde_json::{Value, json};

use super::calls::{CallVerdict, Given, Outcome};
use super::judge::{Judge, Names};
use super::tools::Tools;
use super::{BASH, Caller, What, reads, shell_for};
use crate::cli::environment::Environment;

/// Arguments of `policy why`.
#[derive(Args)]
pub(in crate::cli) struct Question {
    /// The kind of question
    what: What,
    /// The path, the host (with :port), the name or the command
    subject: String,
    /// For a call: its arguments, as a JSON object, or each as NAME=TEXT or NAME:=JSON
    arguments: Vec<String>,
    /// For a call: the name of the client
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// The profile that commands run under
    #[arg(long, default_value = DEFAULT_PROFILE)]
    profile: String,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    caller: Caller,
}

pub(super) fn run(environment: &Environment, question: Question) -> Result<ExitCode> {
    let Question { what, subject, arguments, client, profile, json, caller } = question;
    ensure!(
        what == What::Call || arguments.is_empty() && client.is_none(),
        "arguments and --client belong to `policy why call`"
    );
    let (shell, principal) = shell_for(environment, &caller, |policy, known| {
        reads::add_of(&Tools::default(), environment, policy, what, &subject, known);
    })?;
    let mut judge = Judge::new(environment, &shell, Names::LookedUp)?;
    judge.principal = principal;
    let answer = if what == What::Call {
        of_call(&judge, &subject, &arguments, &Given { client, ..Given::default() })?
    } else if what == What::Command {
        let profile = shell.operator().profile(&profile)?;
        let off = judge.switched_off(BASH).map(Verdict::denied);
        match judge.closed(what).or(off) {
            Some(verdict) => Answer::of(verdict, format!("`{subject}`")),
            None => of_command(&judge, &shell, &profile, &subject)?,
        }
    } else {
        let verdict = judge.verdict(what, &subject, &profile)?;
        Answer::of(verdict, judge.shown(what, &subject))
    };
    let operator = shell.operator();
    terminal::print(&if json {
        Shown::json(&answer.as_json(operator).to_string())
    } else {
        answer.shown(operator)
    });
    Ok(if answer.outcome == Outcome::Deny { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Answer to a question.
struct Answer {
    /// Subject, as it was understood.
    subject: String,
    outcome: Outcome,
    /// Deciding rule, with its source.
    because: String,
    /// Sentence of the answer.
    sentence: String,
    /// Change that would allow the access, and the file to make it in.
    would_allow: Option<(String, String)>,
    /// Circumstances under which an allowed command runs.
    command: Option<Circumstances>,
}

/// Circumstances of a command, each with its source.
struct Circumstances {
    tier: String,
    min_tier: (String, String),
    profile: (String, String),
    network: (String, String),
    timeout_ms: (u128, String),
    max_timeout_ms: (u128, String),
}

impl Answer {
    fn of(verdict: Verdict, subject: String) -> Self {
        let outcome = if verdict.allowed { Outcome::Allow } else { Outcome::Deny };
        let sentence = format!("{subject}: {outcome}: {}", to_person(&verdict.because));
        let (because, file) = (verdict.because, verdict.file.to_string());
        let would_allow = verdict.would_allow.map(|line| (to_person(&line), to_person(&file)));
        Self { subject, outcome, because, sentence, would_allow, command: None }
    }

    fn shown(&self, operator: &Operator) -> Shown {
        let (word, style) = match self.outcome {
            Outcome::Allow => ("allowed", Style::Good),
            Outcome::Ask => ("asked about", Style::Note),
            Outcome::Deny => ("denied", Style::Bad),
        };
        // The subject stands before the word, and may contain it.
        let word = if self.subject.contains(word) { "" } else { word };
        let mut shown = Shown::line_with(&self.sentence, word, style);
        if let Some(command) = &self.command {
            return shown.and(&command.shown());
        }
        // A line number is useless to a reader without the file, so the rule's text is printed too.
        for (rule, words) in rule_texts(operator).cited(&self.because) {
            shown = shown.and(&Shown::line(&format!("  {rule}: {words}")));
        }
        if let Some((line, file)) = &self.would_allow {
            shown = shown.and(&Shown::line(&format!("  to allow it, write in {file}: {line}")));
        }
        shown
    }

    /// Returns the answer in the form that docs/json.md defines.
    fn as_json(&self, operator: &Operator) -> Value {
        let rules = rule_texts(operator).cited(&self.because);
        let rules: Vec<_> = rules.iter().map(|(rule, text)| json!({ "rule": rule, "text": text })).collect();
        let would_allow = self.would_allow.as_ref().map(|(line, file)| json!({ "line": line, "file": file }));
        json!({
            "subject": self.subject,
            "outcome": self.outcome.word(),
            "because": to_person(&self.because),
            "rules": rules,
            "would_allow": would_allow,
            "command": self.command.as_ref().map(Circumstances::as_json),
        })
    }
}

impl Circumstances {
    fn shown(&self) -> Shown {
        let Self { tier, min_tier, profile, network, timeout_ms, max_timeout_ms } = self;
        Shown::lines(&format!(
            "\
             - in a sandbox of tier {tier}; at least {} is required ({})\n\
             - under profile {} ({}), whose network is {} ({})\n\
             - for at most {} ms unless the call says otherwise ({}), and never more than {} ms ({})\n\
             `policy why read|write PATH` and `policy why host NAME` say what it may touch.\n",
            min_tier.0,
            min_tier.1,
            profile.0,
            profile.1,
            network.0,
            network.1,
            timeout_ms.0,
            timeout_ms.1,
            max_timeout_ms.0,
            max_timeout_ms.1,
        ))
    }

    fn as_json(&self) -> Value {
        let number = |ms: u128| u64::try_from(ms).unwrap_or(u64::MAX);
        let value = |value: Value, from: &str| json!({ "value": value, "from": from });
        let text = |(text, from): &(String, String)| value(text.as_str().into(), from);
        let time = |(ms, from): &(u128, String)| value(number(*ms).into(), from);
        json!({
            "tier": self.tier,
            "min_tier": text(&self.min_tier),
            "profile": text(&self.profile),
            "network": text(&self.network),
            "timeout_ms": time(&self.timeout_ms),
            "max_timeout_ms": time(&self.max_timeout_ms),
        })
    }
}

fn of_call(judge: &Judge<'_>, tool: &str, arguments: &[String], given: &Given) -> Result<Answer> {
    let arguments = crate::cli::call::parsed_for(tool, arguments)?;
    ensure!(arguments.is_object(), "the arguments of a call are a JSON object");
    let CallVerdict { outcome, because } = judge.call(tool, &arguments, given)?;
    let subject = format!("{tool} {arguments}");
    let sentence = format!("{subject}: {outcome}: {because}");
    Ok(Answer { subject, outcome, because, sentence, would_allow: None, command: None })
}

fn of_command(judge: &Judge<'_>, shell: &Shell, profile: &Profile, command: &str) -> Result<Answer> {
    let tier = shell.tier()?;
    shell.shut_down();
    let rules = &shell.operator().loaded()?.policy.shell;
    let arguments = json!({ "command": command });
    let CallVerdict { outcome, because } = judge.call(BASH, &arguments, &Given::default())?;
    let circumstances = || Circumstances {
        tier: tier.to_string(),
        min_tier: (rules.min_tier.value.to_string(), rules.min_tier.source.to_string()),
        profile: (profile.name.clone(), profile.origins.profile.to_string()),
        network: (profile.network.value.to_string(), profile.network.source.to_string()),
        timeout_ms: (rules.default_timeout.value.as_millis(), rules.default_timeout.source.to_string()),
        max_timeout_ms: (rules.max_timeout.value.as_millis(), rules.max_timeout.source.to_string()),
    };
    let subject = format!("`{command}`");
    let sentence = match outcome {
        Outcome::Allow => format!("{subject} is allowed: no rule covers its text. It runs"),
        Outcome::Ask => format!("{subject} is allowed after a person approved the call ({because}). It runs"),
        Outcome::Deny => format!("{subject} is denied: {because}"),
    };
    let command = (outcome != Outcome::Deny).then(circumstances);
    Ok(Answer { subject, outcome, because, sentence, would_allow: None, command })
}

/// Addresses the person at the terminal, whom reasons for models call "the person".
fn to_person(reason: &str) -> String {
    reason
        .replace("the person can run `", "you can run `")
        .replace("the user's own policy.toml", "your policy.toml")
}
