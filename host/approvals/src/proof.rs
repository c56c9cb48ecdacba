//! Verification of signed answers.

use scorpiox_policy::{ApproverKey, Approvers, CallRule, Channel};
use scorpiox_signature::Signature;

use crate::request::{Answer, Request, Way};
use crate::wanted::Wanted;

/// Reason why an answer does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// The answer came through a weak channel.
    #[error("it needs the signature of an approver, and has none")]
    Unsigned,
    /// The signature is no signature of an approver whom the rules accept.
    #[error("its signature is not by an approver whom {0} accepts")]
    Stranger(String),
}

/// Approver who proved an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Name in the policy.
    pub by: String,
    /// Way on which the answer was given, as its key shows: the one in the store is not signed.
    pub way: Way,
}

/// Checks that the rules accept an answer for a call, and returns the proof; `None` if none is needed. Only `wanted` and `rules` are what they claim to be: the request comes from the store, where somebody else
/// may have written it.
///
/// # Errors
///
/// Fails if a rule needs the signature of an approver, and the answer does not have it.
pub fn proven(
    wanted: &Wanted,
    request: &Request,
    answer: &Answer,
    rules: &[&CallRule],
    approvers: &Approvers,
) -> Result<Option<Proof>, Unproven> {
    let Wanted { principal, caller, .. } = wanted;
    let statement = request.statement(wanted, answer);
    let is_strong = |rule: &&&CallRule| rule.channel_for(principal.is_some()) == Channel::Strong;
    let mut proof = None;
    for rule in rules.iter().filter(is_strong) {
        let text = answer.signature.as_deref().ok_or(Unproven::Unsigned)?;
        let stranger = || Unproven::Stranger(format!("rule \"{}\"", rule.name));
        let signature = Signature::parse(text).map_err(|_| stranger())?;
        let signed = rule.answered_by(approvers, caller.as_deref()).find_map(|(name, approver)| {
            let way = match approver.value.verifies(statement.as_bytes(), &signature)? {
                ApproverKey::Key => Way::Key,
                ApproverKey::Credential => Way::Page,
            };
            Some(Proof { by: name.to_owned(), way })
        });
        proof = Some(signed.ok_or_else(stranger)?);
    }
    Ok(proof)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use scorpiox_policy::Policy;
    use scorpiox_signature::{NewKey, generate, sign_text};

    use super::*;
    use crate::credential::Credential;
    use crate::request::{Decision, Extent, State};

    fn policy(ann: &NewKey, bob: &NewKey) -> Policy {
        let text = format!(
            "version = 1\n[[rules]]\nname = \"deploy\"\ntools = [\"Bash\"]\nthen = \"ask\"\nwho = [\"ann\", \
             \"bob\"]\n[approvers.ann]\nkey = \"{}\"\nprincipal = \"ann@example.com\"\n[approvers.eve]\nkey = \"{}\"\n",
            ann.public.as_str(),
            bob.public.as_str()
        );
        Policy::parse(&text, Path::new("p")).expect("a policy")
    }

    fn by_ann(way: Way) -> Proof {
        Proof { by: "ann".to_owned(), way }
    }

    fn request(principal: Option<&str>, rules: &[&CallRule]) -> Request {
        let mut wanted = Wanted {
            workspace: "/w".to_owned(),
            principal: principal.map(str::to_owned),
            caller: principal.map(str::to_owned),
            client: String::new(),
            tool: "Bash".to_owned(),
            component: String::new(),
            arguments: "{}".to_owned(),
            rules: Vec::new(),
            is_strong: false,
            within_ms: 0,
            remember: Vec::new(),
        };
        wanted.ask_like(rules);
        let state = State::Open { seats: Vec::new(), away: 1 };
        Request { number: 1, id: "7f".to_owned(), wanted, asked: 5, until: 6, state }
    }

    fn signed(request: &Request, key: &NewKey) -> Answer {
        let answer = Answer {
            decision: Decision::Approve,
            extent: Extent::Once,
            by: "ann".to_owned(),
            channel: Way::Key,
            at: 5,
            words: None,
            signature: None,
        };
        let statement = request.statement(&request.wanted, &answer);
        let signature = sign_text(&key.secret, None, &statement, "approval").expect("a key");
        Answer { signature: Some(signature.text().to_owned()), ..answer }
    }

    #[test]
    fn only_the_signature_of_an_accepted_approver_over_this_very_request_counts() {
        let (ann, eve) = (generate(None).expect("a key"), generate(None).expect("a key"));
        let policy = policy(&ann, &eve);
        let rules: Vec<_> = policy.calls.0.iter().collect();
        let request = request(None, &rules);
        assert!(request.wanted.is_strong, "`who` needs a proof");
        let good = signed(&request, &ann);
        let check = |request: &Request, answer: &Answer| {
            proven(&request.wanted, request, answer, &rules, &policy.approvers)
        };
        assert_eq!(check(&request, &good), Ok(Some(by_ann(Way::Key))));
        assert_eq!(check(&request, &Answer { signature: None, ..good.clone() }), Err(Unproven::Unsigned));

        let stranger = Err(Unproven::Stranger("rule \"deploy\"".to_owned()));
        assert_eq!(check(&request, &signed(&request, &eve)), stranger, "not in `who`");
        let others = [
            Answer { extent: Extent::Workspace, ..good.clone() },
            Answer { decision: Decision::Deny, ..good.clone() },
            Answer { words: Some("not today".to_owned()), ..good.clone() },
            Answer { signature: Some("untrusted comment: x".to_owned()), ..good.clone() },
        ];
        assert!(others.iter().all(|other| check(&request, other) == stranger));
        let again = [
            Request { id: "80".to_owned(), ..request.clone() },
            Request { number: 2, ..request.clone() },
            Request { asked: 6, ..request.clone() },
            Request {
                wanted: Wanted { arguments: "[]".to_owned(), ..request.wanted.clone() },
                ..request.clone()
            },
        ];
        assert!(again.iter().all(|other| check(other, &good) == stranger));
        // In the store, the request takes the place of the one of another call.
        let other = Wanted { arguments: "[]".to_owned(), ..request.wanted.clone() };
        assert_eq!(proven(&other, &request, &good, &rules, &policy.approvers), stranger);
    }

    #[test]
    fn nobody_approves_a_call_of_their_own() {
        let (ann, eve) = (generate(None).expect("a key"), generate(None).expect("a key"));
        let policy = policy(&ann, &eve);
        let rules: Vec<_> = policy.calls.0.iter().collect();
        let by = |principal| {
            let request = request(Some(principal), &rules);
            proven(&request.wanted, &request, &signed(&request, &ann), &rules, &policy.approvers)
        };
        assert_eq!(by("carl@example.com"), Ok(Some(by_ann(Way::Key))));
        assert!(by("ann@example.com").is_err());
    }

    #[test]
    fn a_credential_signs_for_its_approver_alone() {
        let (key, credential) = (generate(None).expect("a key"), Credential::generate().expect("a key"));
        let text = format!(
            "version = 1\n[[rules]]\nname = \"deploy\"\ntools = [\"Bash\"]\nthen = \"ask\"\nwho = [\"ann\"]\n\
             [approvers.ann]\nkey = \"{}\"\ncredential = \"{}\"\n",
            key.public.as_str(),
            credential.public().as_str()
        );
        let policy = Policy::parse(&text, Path::new("p")).expect("a policy");
        let rules: Vec<_> = policy.calls.0.iter().collect();
        let request = request(None, &rules);
        assert_eq!(credential.approver(&policy.approvers).map(|(name, _)| name), Some("ann"));
        let mut answer = Answer { signature: None, channel: Way::Page, ..signed(&request, &key) };
        let proven = |answer: &Answer| proven(&request.wanted, &request, answer, &rules, &policy.approvers);
        assert_eq!(proven(&answer), Err(Unproven::Unsigned));
        credential.sign(&request, &mut answer).expect("it signs");
        assert_eq!(proven(&answer), Ok(Some(by_ann(Way::Page))));
        let other = Credential::generate().expect("a key");
        assert!(other.approver(&policy.approvers).is_none());
        other.sign(&request, &mut answer).expect("it signs");
        assert!(proven(&answer).is_err());
    }
}
