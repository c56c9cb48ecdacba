//! Approvals that hold always, as a policy has them.

use scorpiox_policy::{CallRule, Policy, Source};

use crate::proof::{Proof, proven};
use crate::request::{Answer, Decision, Extent, Request, State, Way};
use crate::wanted::Wanted;

/// An approval that holds always.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Always {
    /// Number of the approval.
    pub number: u64,
    /// Approver who gave it.
    pub proof: Proof,
    /// Line of the policy.
    pub source: Source,
}

/// Returns the entry of a policy that approves a call about which `rules` ask. It has to have the signature of an approver
/// over this very call in any workspace, and all rules have to offer that.
pub fn always(wanted: &Wanted, rules: &[&CallRule], policy: &Policy) -> Option<Always> {
    let is_offered = wanted.remember.iter().any(|offered| *offered == Extent::Always.to_string());
    if wanted.principal.is_some() || !is_offered {
        return None;
    }
    let equal = policy.approved.iter().filter(|(_, entry)| {
        (&entry.value.tool, &entry.value.arguments) == (&wanted.tool, &wanted.arguments)
    });
    equal.into_iter().find_map(|(number, entry)| {
        let answer = Answer {
            decision: Decision::Approve,
            extent: Extent::Always,
            by: entry.value.by.clone(),
            channel: Way::Key,
            at: 0,
            words: None,
            signature: Some(entry.value.signature.clone()),
        };
        let (id, asked) = (entry.value.id.clone(), entry.value.asked);
        let state = State::Open { seats: Vec::new(), away: 0 };
        let request = Request { number, id, wanted: wanted.clone(), asked, until: 0, state };
        let proof = proven(wanted, &request, &answer, rules, &policy.approvers).ok()??;
        Some(Always { number, proof, source: entry.source })
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use scorpiox_signature::{NewKey, generate, sign_text};

    use super::*;

    const RULE: &str =
        "[[rules]]\nname = \"deploy\"\ntools = [\"Bash\"]\nthen = \"ask\"\nchannel = \"strong\"\n";

    fn policy(key: &NewKey, remember: &str, more: &str) -> Policy {
        let text = format!(
            "version = 1\n{RULE}remember = [{remember}]\n[approvers.ann]\nkey = \"{}\"\n{more}",
            key.public.as_str()
        );
        Policy::parse(&text, Path::new("p")).expect("a policy")
    }

    fn wanted(policy: &Policy, workspace: &str) -> Wanted {
        let mut wanted = Wanted {
            workspace: workspace.to_owned(),
            principal: None,
            caller: None,
            client: String::new(),
            tool: "Bash".to_owned(),
            component: String::new(),
            arguments: "{\"command\":\"make deploy\"}".to_owned(),
            rules: Vec::new(),
            is_strong: false,
            within_ms: 0,
            remember: Vec::new(),
        };
        wanted.ask_like(&policy.calls.0.iter().collect::<Vec<_>>());
        wanted
    }

    /// Returns the entry for an approval of a call that was signed with a key.
    fn entry(key: &NewKey, wanted: &Wanted) -> String {
        let state = State::Open { seats: Vec::new(), away: 1 };
        let request =
            Request { number: 17, id: "7f".to_owned(), wanted: wanted.clone(), asked: 5, until: 6, state };
        let answer = Answer {
            decision: Decision::Approve,
            extent: Extent::Always,
            by: "ann".to_owned(),
            channel: Way::Key,
            at: 5,
            words: None,
            signature: None,
        };
        let statement = request.statement(wanted, &answer);
        let signature = sign_text(&key.secret, None, &statement, "approval").expect("a key");
        format!(
            "[approved.17]\ntool = \"Bash\"\narguments = '{}'\nby = \"ann\"\nat = \"now\"\nid = \"7f\"\nasked = \
             5\nsignature = \"\"\"\n{}\"\"\"\n",
            wanted.arguments,
            signature.text()
        )
    }

    #[test]
    fn an_entry_approves_its_own_call_in_every_workspace_and_nothing_else() {
        let (ann, eve) = (generate(None).expect("a key"), generate(None).expect("a key"));
        let without = policy(&ann, "\"always\"", "");
        let of = |wanted: &Wanted, policy: &Policy| {
            let rules: Vec<_> = policy.calls.0.iter().collect();
            always(wanted, &rules, policy).map(|found| (found.number, found.proof.by))
        };
        let asked = wanted(&without, "/w");
        let with = policy(&ann, "\"always\"", &entry(&ann, &asked));
        let found = Some((17, "ann".to_owned()));
        assert_eq!(of(&asked, &with), found);
        assert_eq!(of(&wanted(&with, "/other"), &with), found);
        assert_eq!(of(&asked, &without), None);
        let other = Wanted { arguments: "{\"command\":\"make\"}".to_owned(), ..asked.clone() };
        assert_eq!(of(&other, &with), None);
        let moved = entry(&ann, &asked).replace("make deploy", "make");
        assert_eq!(
            of(&other, &policy(&ann, "\"always\"", &moved)),
            None,
            "the signature is for another call"
        );
        let caller =
            Wanted { principal: Some("bob".to_owned()), caller: Some("bob".to_owned()), ..asked.clone() };
        assert_eq!(of(&caller, &with), None);
        let component = Wanted { component: "00".to_owned(), ..asked.clone() };
        assert_eq!(of(&component, &with), None);
        let forged = policy(&ann, "\"always\"", &entry(&eve, &asked));
        assert_eq!(of(&asked, &forged), None, "a stranger signed it");
        // The text of the rule is part of the approval, and has to offer it.
        let changed = policy(&ann, "\"always\", \"session\"", &entry(&ann, &asked));
        assert_eq!(of(&wanted(&changed, "/w"), &changed), None);
        let less = policy(&ann, "\"workspace\"", &entry(&ann, &asked));
        assert_eq!(of(&wanted(&less, "/w"), &less), None);
        let replaced = policy(&eve, "\"always\"", &entry(&ann, &asked));
        assert_eq!(of(&asked, &replaced), None, "the key was replaced");
    }
}
