//! Answers to approvals.

use std::borrow::Cow;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};
use scorpiox_approvals::{Answer, Decision, Extent, Request, Requests, Way, proven};
use scorpiox_plugin_manager::install::sign_text;
use scorpiox_policy::{CallRule, Policy};
use scorpiox_terminal::{self as terminal, Shown};
use scorpiox_workspace_config::Operator;

use super::{Signing, show};

/// Maximum length of the words to a denial, in characters.
const MAX_WORDS: usize = 500;

/// A person's choice.
#[derive(Debug, Clone)]
pub(super) enum Choice {
    /// The call may run.
    Approve {
        /// Extent of the approval.
        extent: Extent,
        /// `true` if the person was shown the request, and need not be asked.
        is_certain: bool,
    },
    /// The call is refused.
    Deny {
        /// Words for the model.
        reason: Option<String>,
    },
}

/// Answers a request, with a signature if its rules need one. This value is shown and signed: the store may have
/// another request of its number by now.
pub(super) fn answer(
    operator: &Operator,
    requests: &Requests,
    request: &Request,
    choice: Choice,
    signing: &Signing,
) -> Result<ExitCode> {
    let (number, now) = (request.number, requests.now());
    if let Some(answer) = request.answer() {
        bail!("approval {number} was already answered ({})", answer.decision);
    }
    ensure!(request.is_open(now), "the time to answer approval {number} is over; the call can be repeated");
    let rules = request.wanted.is_strong.then(|| Rules::of(operator, request)).transpose()?;
    ensure!(
        rules.is_none() || signing.key.is_some(),
        "approval {number} needs the proof of an approver: name your key with --key"
    );
    let (decision, extent, words) = match choice {
        Choice::Approve { extent, is_certain } => {
            if !is_certain {
                terminal::print(&show::whole(request, now)?);
                if !is_confirmed()? {
                    terminal::print(&Shown::line("Nothing was answered."));
                    return Ok(ExitCode::FAILURE);
                }
            }
            (Decision::Approve, extent, None)
        }
        Choice::Deny { reason } => (Decision::Deny, Extent::Once, reason),
    };
    if let Some(words) = &words {
        let chars = words.chars().count();
        ensure!(chars <= MAX_WORDS, "the reason has {chars} characters; write at most {MAX_WORDS}");
    }
    let mut answer = Answer {
        decision,
        extent,
        by: String::new(),
        channel: Way::Command,
        at: requests.now(),
        words,
        signature: None,
    };
    if let (Some(rules), Some(key)) = (&rules, signing.key()) {
        let statement = request.statement(&request.wanted, &answer);
        let signature = sign_text(key, &statement, "answer to an approval of scorpiox-code")?;
        answer.signature = Some(signature.text().to_owned());
        answer.by = rules.signer(request, &answer)?;
        answer.channel = Way::Key;
    }
    requests.answer(request, answer)?;
    let done = match decision {
        Decision::Approve => "The call runs. If its client gave up, it has to repeat the call.",
        Decision::Deny => "The call is refused.",
    };
    terminal::print(&Shown::line(&format!("Approval {number}: {done}")));
    Ok(ExitCode::SUCCESS)
}

/// Asks whether this is the call.
fn is_confirmed() -> Result<bool> {
    ensure!(terminal::can_ask(), "add --yes to approve without a terminal");
    terminal::ask("Let this call run? [y/N] ")
}

/// The policy's rules that ask.
struct Rules<'a> {
    policy: &'a Policy,
    rules: Vec<Cow<'a, CallRule>>,
}

impl<'a> Rules<'a> {
    /// Finds the rules that asked. Fails if the policy has none of them any more.
    fn of(operator: &'a Operator, request: &Request) -> Result<Self> {
        let policy = operator.policy()?;
        let find = |asked: &str| policy.asking().find(|rule| rule.definition() == asked);
        // Rules of a repository are known in its folder alone. The server knows all of them when it verifies.
        let rules: Vec<_> = request.wanted.rules.iter().filter_map(|rule| find(&rule.definition)).collect();
        ensure!(
            !rules.is_empty(),
            "the rules were changed since approval {} was asked for; the call has to be repeated",
            request.number
        );
        Ok(Self { policy, rules })
    }

    /// Returns the name of the approver who signed an answer.
    fn signer(&self, request: &Request, answer: &Answer) -> Result<String> {
        let names: Vec<_> = self.policy.approvers.iter().map(|(name, _)| name).collect();
        let rules: Vec<_> = self.rules.iter().map(Cow::as_ref).collect();
        let proof = proven(&request.wanted, request, answer, &rules, &self.policy.approvers);
        let proof = proof.with_context(|| {
            format!("the answer would not be accepted. The policy's approvers are: {}", names.join(", "))
        })?;
        Ok(proof.map(|proof| proof.by).unwrap_or_default())
    }
}
