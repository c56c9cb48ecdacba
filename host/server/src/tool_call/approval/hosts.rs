//! Asks about a host that the list of a profile does not cover, while a connection to it waits.
//!
//! Over stdio, the person is asked by the client's form, a terminal or a dialog. Over HTTP, and where the administrator's
//! file wants a proof, the question is an approval like that of a call: bound to principal, workspace, host, port and
//! profile, and answered by an approver; with `"ask-weak"`, the client's form asks too.

use scorpiox_approvals::{Wanted, shown};
use scorpiox_capabilities::ask::Asked;
use scorpiox_executor::Cancel;
use scorpiox_policy::{CONNECTION, CallRule, Channel, DEFAULT_PROFILE, Profile};
use scorpiox_questions::{Asker, Questions};
use scorpiox_shell::{HostAnswer, Target};
use scorpiox_text::line::escaped;
use scorpiox_text::shorten;
use serde_json::json;

use super::check_policy;
use super::question::{ALLOW, bound};
use super::waiting::{Ungiven, Waiting};
use crate::client::Client;
use crate::scope::Scope;

/// Maximum length of the shown beginning of a command in bytes.
const MAX_COMMAND_BYTES: usize = 400;
/// Labels of the answers to a question over stdio.
const ALLOW_HOST: &str = "Allow while the server runs";
const DENY: &str = "Deny";

/// Asks the question until the answer or until it is withdrawn.
pub(in crate::tool_call) fn ask(
    scope: &Scope<'_>,
    client: &Client,
    command: &str,
    target: &Target,
    withdrawn: &Cancel,
) -> HostAnswer {
    let not_asked = HostAnswer::NotAsked;
    let policy = match scope.workspace().operator().policy() {
        Ok(policy) => policy,
        Err(error) => return not_asked(error.to_string()),
    };
    // The client's commands run under this profile, or under one without a network.
    let rule = policy.shell.profiles.get(DEFAULT_PROFILE).and_then(Profile::host_rule);
    let Some(rule) = rule else { return not_asked("the policy asks about no host".to_owned()) };
    let principal = scope.session.principal.as_ref().map(|principal| principal.name.as_str());
    let is_strong = rule.channel_for(principal.is_some()) == Channel::Strong;
    if principal.is_none() && !is_strong {
        return ask_person(scope, client, command, target, withdrawn);
    }
    if is_strong && rule.answered_by(&policy.approvers, principal).next().is_none() {
        return not_asked(format!(
            "{rule} requires the answer of an approver, and the policy has none who may give it ([approvers])"
        ));
    }
    let (rules, client) = ([&rule], client.during_the_call(withdrawn));
    let wanted = wanted(scope, target, &rules);
    let questions = match question(&wanted, &rule, command) {
        Ok(questions) => questions,
        Err(why) => return not_asked(why),
    };
    let requests = scope.workspace().approvals();
    let waiting = Waiting {
        wanted: &wanted,
        scope,
        client: &client,
        cancel: withdrawn,
        is_repeated: true,
        first: &rule,
        rules: &rules,
        policy,
        requests,
    };
    match waiting.obtain(&questions) {
        // The call was permitted earlier, and the policy may have changed since.
        Ok(()) => check_policy(scope).map_or_else(not_asked, |()| HostAnswer::Allowed),
        Err(Ungiven::Denied(_)) => HostAnswer::Denied,
        Err(Ungiven::Waits(why)) => {
            HostAnswer::Waits(format!("{why}. Run the command again after the answer"))
        }
        Err(Ungiven::Cancelled) => not_asked("the question was withdrawn".to_owned()),
        Err(Ungiven::Refused { why, .. }) => not_asked(why),
    }
}

/// Returns the connection as approvals keep it.
fn wanted(scope: &Scope<'_>, (host, port): &Target, rules: &[&CallRule]) -> Wanted {
    let arguments = json!({ "host": host, "port": port }).to_string();
    bound(scope, CONNECTION.to_owned(), String::new(), arguments, rules)
}

/// Returns the question of the client's form over HTTP.
fn question(wanted: &Wanted, rule: &CallRule, command: &str) -> Result<Questions, String> {
    let target = shown(&wanted.arguments)?;
    let text =
        format!("May commands connect to this host?\n{target}\nAsked by {rule}.\n{}", running(command));
    let options = json!([ALLOW, { "label": DENY, "description": "Any other answer denies it, too." }]);
    parse(&json!([{"question": text, "header": "Network", "options": options}]).to_string())
}

/// Asks the person at this machine.
fn ask_person(
    scope: &Scope<'_>,
    client: &Client,
    command: &str,
    (host, port): &Target,
    withdrawn: &Cancel,
) -> HostAnswer {
    let text = format!(
        "May commands connect to {host}, port {port}? The policy does not list it.\n{}",
        running(command)
    );
    let questions = json!([{"question": text, "header": "Network", "options": [ALLOW_HOST, DENY]}]);
    let questions = match parse(&questions.to_string()) {
        Ok(questions) => questions,
        Err(why) => return HostAnswer::NotAsked(why),
    };
    let asked = client.during_the_call(withdrawn).ask(&questions, &scope.uses, "unknown_hosts");
    if let Err(why) = check_policy(scope) {
        return HostAnswer::NotAsked(why);
    }
    match asked {
        Asked::Answered(answers) if answers.is_only(ALLOW_HOST) => HostAnswer::Allowed,
        Asked::Answered(_) => HostAnswer::Denied,
        Asked::Cancelled | Asked::Later => HostAnswer::NotAsked("the question was withdrawn".to_owned()),
        Asked::NoWay(why) => HostAnswer::NotAsked(why),
    }
}

/// Returns the sentence on the running command.
fn running(command: &str) -> String {
    let command = shorten(escaped(command).into_owned(), MAX_COMMAND_BYTES);
    format!("This command runs; one in the background may be the one that connects: {command}")
}

fn parse(questions: &str) -> Result<Questions, String> {
    let questions = Questions::parse(questions).map_err(|error| error.to_string())?;
    Ok(questions.asked_by(Asker::Policy))
}
