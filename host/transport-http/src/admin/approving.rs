//! Approvals that approvers answer in a browser: which of them an approver may answer, and the answers.
//!
//! An approver sees and answers a call if each rule that asks about it accepts the approver, under the policy as it is
//! now, and if this server serves the workspace. An answer is signed with the credential, so that the server that runs
//! the call verifies it like that of a key: write access to the store approves nothing.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use scorpiox_approvals::{
    Answer, Credential, Decision, Extent, Request, Requests, Trouble, Way, Why, proven, shown,
};
use scorpiox_policy::access::Principal;
use scorpiox_policy::{Approvers, CallRule, Policy};
use scorpiox_server::Workspace;
use serde::{Deserialize, Serialize};

use crate::visits;

/// Maximum length of the words to a denial, in characters.
const MAX_WORDS: usize = 500;

/// An approver who has logged in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApproverId {
    /// Name in the policy.
    pub name: String,
    /// Public key of the credential.
    pub key: String,
}

impl ApproverId {
    /// Returns the approver as the audit names them. No caller has such a name.
    pub(crate) fn principal(&self) -> Arc<Principal> {
        Arc::new(Principal::of_approver(&self.name))
    }

    /// Returns the line of the policy with this approver; `None` if it has none with this credential.
    fn line(&self, approvers: &Approvers) -> Option<String> {
        let approver = approvers.get(&self.name)?;
        let key = approver.value.credential.as_ref()?;
        (key.as_str() == self.key).then(|| approver.source.to_string())
    }
}

/// An answer as the form has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// Number of the approval.
    pub number: u64,
    /// The call that the approver was shown.
    pub shown: String,
    /// The decision.
    pub decision: Decision,
    /// Extent of an approval.
    pub extent: Extent,
    /// Words to a denial.
    pub words: Option<String>,
}

/// An answer that is signed and not given yet.
#[derive(Debug)]
pub struct Prepared {
    requests: Requests,
    request: Request,
    answer: Answer,
}

/// Reason why nothing was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// HTTP status.
    pub status: u16,
    /// Keyword in the audit.
    pub kind: &'static str,
    /// Sentence.
    pub why: String,
}

impl Unanswered {
    fn new(status: u16, kind: &'static str, why: impl Into<String>) -> Self {
        Self { status, kind, why: why.into() }
    }
}

impl From<Trouble> for Unanswered {
    fn from(trouble: Trouble) -> Self {
        let (status, kind) = match &trouble {
            Trouble::Refused(Why::Unknown(_)) => (404, "no-approval"),
            Trouble::Refused(Why::Late(_)) => (409, "late"),
            Trouble::Refused(Why::Before(..)) => (409, "answered-before"),
            Trouble::Refused(Why::Changed(_)) => (409, "changed"),
            Trouble::Refused(Why::NotOffered(..)) => (400, "not-offered"),
            Trouble::TooMany | Trouble::Store(_) | Trouble::Random => (503, "not-written"),
        };
        Self::new(status, kind, format!("Nothing was answered: {trouble}."))
    }
}

/// A call that waits for an approver.
pub(crate) struct Question<'a> {
    pub(crate) request: &'a Request,
    /// Rules that ask, from the policy as it is now.
    pub(crate) rules: Vec<&'a CallRule>,
}

/// Approvals of the workspaces that this server serves. Each method may block.
pub struct Approving<'a>(&'a [(String, Arc<Workspace>)]);

/// Workspaces under the policy as it is now.
pub(crate) struct InForce(Vec<Arc<Workspace>>);

impl<'a> Approving<'a> {
    /// Creates the view of these workspaces.
    pub(crate) fn of(workspaces: &'a [(String, Arc<Workspace>)]) -> Self {
        Self(workspaces)
    }

    pub(crate) fn in_force(&self) -> InForce {
        InForce(self.0.iter().map(|(_, workspace)| workspace.in_force()).collect())
    }

    /// Returns the approver with a credential and the line of the policy; `None` if it belongs to nobody.
    ///
    /// # Errors
    ///
    /// Fails if the policy cannot be used.
    pub(crate) fn identify(&self, credential: &Credential) -> Result<Option<(ApproverId, String)>, String> {
        self.in_force().of_first(|policy| {
            let (name, approver) = credential.approver(&policy.approvers)?;
            let id = ApproverId { name: name.to_owned(), key: credential.public().as_str().to_owned() };
            Some((id, approver.source.to_string()))
        })
    }

    /// Returns the line of the policy with an approver; `None` if it has none with this credential any more.
    ///
    /// # Errors
    ///
    /// Fails if the policy cannot be used.
    pub(crate) fn line(&self, id: &ApproverId) -> Result<Option<String>, String> {
        self.in_force().of_first(|policy| id.line(&policy.approvers))
    }

    /// Checks an answer and signs it.
    ///
    /// # Errors
    ///
    /// Fails if the approver may not give it, or if the call cannot be answered (any more).
    pub(crate) fn prepare(
        &self,
        id: &ApproverId,
        credential: &Credential,
        chosen: &Chosen,
    ) -> Result<Prepared, Unanswered> {
        let in_force = self.in_force();
        let requests = in_force.requests().map_err(|why| Unanswered::new(503, "not-read", why))?.clone();
        let number = chosen.number;
        let request =
            requests.get(number).map_err(Trouble::from)?.ok_or(Trouble::Refused(Why::Unknown(number)))?;
        if of(&request) != chosen.shown {
            return Err(Trouble::Refused(Why::Changed(number)).into());
        }
        let Some(workspace) = in_force.serves(&request) else { return Err(not_theirs(number)) };
        let policy = workspace.operator().policy();
        let policy = policy.map_err(|error| Unanswered::new(503, "not-read", format!("{error}.")))?;
        let known = definitions(policy);
        let question = question(&request, &known, policy, id).ok_or_else(|| not_theirs(number))?;
        if let Some(answer) = request.answer() {
            return Err(Trouble::Refused(Why::Before(number, answer.decision)).into());
        }
        if !request.is_open(requests.now()) {
            return Err(Trouble::Refused(Why::Late(number)).into());
        }
        check(&request, chosen)?;
        let mut answer = Answer {
            decision: chosen.decision,
            extent: chosen.extent,
            by: id.name.clone(),
            channel: Way::Page,
            at: requests.now(),
            words: chosen.words.clone(),
            signature: None,
        };
        let failed =
            |why: String| Unanswered::new(403, visits::POLICY, format!("Nothing was answered: {why}."));
        credential.sign(&request, &mut answer).map_err(|error| failed(error.to_string()))?;
        let proof = proven(&request.wanted, &request, &answer, &question.rules, &policy.approvers);
        proof.map_err(|error| failed(error.to_string()))?;
        Ok(Prepared { requests, request, answer })
    }

    /// Gives an answer.
    ///
    /// # Errors
    ///
    /// Fails if the call cannot be answered any more.
    pub(crate) fn give(prepared: Prepared) -> Result<(), Unanswered> {
        let Prepared { requests, request, answer } = prepared;
        requests.answer(&request, answer)?;
        Ok(())
    }
}

impl InForce {
    fn of_first<T>(&self, find: impl FnOnce(&Policy) -> T) -> Result<T, String> {
        let first = self.0.first().ok_or("nothing is served")?;
        first.operator().check_current().map_err(|error| error.to_string())?;
        first.operator().server_policy().map(find).map_err(|error| error.to_string())
    }

    /// Returns the approvals, which all workspaces keep in one store.
    pub(crate) fn requests(&self) -> Result<&Requests, String> {
        self.0.first().map(|first| first.approvals()).ok_or_else(|| "Nothing is served.".to_owned())
    }

    /// Returns the workspace of a request, if this server serves it.
    fn serves(&self, request: &Request) -> Option<&Arc<Workspace>> {
        let is_of = |workspace: &&Arc<Workspace>| {
            workspace.operator().site().workspace.to_string_lossy() == request.wanted.workspace
        };
        self.0.iter().find(is_of)
    }

    /// Calls `each` with the requests that wait for an approver, in their order.
    pub(crate) fn waiting(
        &self,
        requests: &[Request],
        now: u64,
        id: &ApproverId,
        mut each: impl FnMut(&Question<'_>),
    ) {
        // The text of each rule is made once.
        let policies = self.0.iter().filter_map(|workspace| {
            let path = workspace.operator().site().workspace.to_string_lossy().into_owned();
            let policy = workspace.operator().policy().ok()?;
            Some((path, (policy, definitions(policy))))
        });
        let policies: HashMap<_, _> = policies.collect();
        for request in requests.iter().filter(|request| request.is_open(now)) {
            let Some((policy, known)) = policies.get(&request.wanted.workspace) else { continue };
            if let Some(question) = question(request, known, policy, id) {
                each(&question);
            }
        }
    }
}

/// Returns the text in a form that stands for the call that a person was shown.
pub(crate) fn of(request: &Request) -> String {
    format!("{}-{}-{}", request.id, request.asked, request.wanted.binding())
}

fn not_theirs(number: u64) -> Unanswered {
    let why = format!(
        "Approval {number} is not yours to answer: its rules name other approvers, it is your own call, or they were \
         changed since it was asked for."
    );
    Unanswered::new(403, visits::POLICY, why)
}

/// Checks an answer apart from who gives it.
fn check(request: &Request, chosen: &Chosen) -> Result<(), Unanswered> {
    let number = request.number;
    if chosen.decision == Decision::Approve
        && let Err(why) = shown(&request.wanted.arguments)
    {
        let why = format!("Approval {number} can only be denied: {why}.");
        return Err(Unanswered::new(400, "not-shown", why));
    }
    let extent = chosen.extent;
    if extent != Extent::Once && !request.wanted.remember.contains(&extent.to_string()) {
        return Err(Trouble::Refused(Why::NotOffered(number, extent)).into());
    }
    let chars = chosen.words.as_deref().map_or(0, |words| words.chars().count());
    if chars > MAX_WORDS {
        let why = format!("The words have {chars} characters; write at most {MAX_WORDS}.");
        return Err(Unanswered::new(400, visits::BAD_FORM, why));
    }
    Ok(())
}

/// Returns the rules of a policy by the text that approvals are bound to.
fn definitions(policy: &Policy) -> HashMap<String, Cow<'_, CallRule>> {
    policy.asking().map(|rule| (rule.definition(), rule)).collect()
}

/// Returns a request with its rules; `None` unless all of them are in the policy and accept the approver.
fn question<'a>(
    request: &'a Request,
    known: &'a HashMap<String, Cow<'_, CallRule>>,
    policy: &Policy,
    id: &ApproverId,
) -> Option<Question<'a>> {
    id.line(&policy.approvers)?;
    let caller = request.wanted.caller.as_deref();
    let accepts =
        |rule: &CallRule| rule.answered_by(&policy.approvers, caller).any(|(name, _)| name == id.name);
    let rules = request.wanted.rules.iter().map(|asked| known.get(&asked.definition).map(Cow::as_ref));
    let rules = rules.map(|rule| rule.filter(|rule| accepts(rule))).collect::<Option<Vec<_>>>()?;
    (!rules.is_empty()).then_some(Question { request, rules })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use scorpiox_approvals::{State, Wanted};

    use super::*;

    const RULE: &str = "[[rules]]\nname = \"push\"\ntools = [\"Bash\"]\nthen = \"ask\"\n";

    fn policy(who: &str, ann: &Credential, more: &str) -> Policy {
        let key = ann.public().as_str();
        let text = format!("version = 1\n{RULE}{who}[approvers.ann]\ncredential = \"{key}\"\n{more}");
        Policy::parse(&text, Path::new("p")).expect("a policy")
    }

    fn request(policy: &Policy, caller: &str) -> Request {
        let rules: Vec<_> = policy.calls.0.iter().collect();
        let mut wanted = Wanted {
            workspace: "/w".to_owned(),
            principal: Some(caller.to_owned()),
            caller: Some(caller.to_owned()),
            client: String::new(),
            tool: "Bash".to_owned(),
            component: String::new(),
            arguments: "{\"command\":\"ls\"}".to_owned(),
            rules: Vec::new(),
            is_strong: false,
            within_ms: 0,
            remember: Vec::new(),
        };
        wanted.ask_like(&rules);
        let state = State::Open { seats: Vec::new(), away: 1 };
        Request { number: 1, id: "7f".to_owned(), wanted, asked: 5, until: 6, state }
    }

    #[test]
    fn an_approver_sees_the_calls_whose_rules_all_accept_them() {
        let credential = Credential::generate().expect("a key");
        let ann = ApproverId { name: "ann".to_owned(), key: credential.public().as_str().to_owned() };
        let sees = |asked: &Policy, now: &Policy, caller: &str, id: &ApproverId| {
            question(&request(asked, caller), &definitions(now), now, id).is_some()
        };
        let all = policy("", &credential, "");
        assert!(sees(&all, &all, "bob", &ann));
        let other = Credential::generate().expect("a key");
        let bob = format!("[approvers.bob]\ncredential = \"{}\"\n", other.public().as_str());
        let bobs = policy("who = [\"bob\"]\n", &credential, &bob);
        assert!(!sees(&bobs, &bobs, "bob", &ann), "another approver");
        assert!(!sees(&bobs, &all, "bob", &ann), "the rule was changed");
        let own = policy("", &credential, "principal = \"carl\"\n");
        assert!(!sees(&own, &own, "carl", &ann) && sees(&own, &own, "bob", &ann), "no own calls");
        let replaced = policy("", &other, "");
        assert!(!sees(&all, &replaced, "bob", &ann), "the credential was replaced");
    }

    #[test]
    fn answers_that_the_rules_do_not_offer_or_that_are_too_long_are_refused() {
        let credential = Credential::generate().expect("a key");
        let mut request = request(&policy("", &credential, ""), "bob");
        let chosen = |decision, extent, words: Option<String>| Chosen {
            number: 1,
            shown: String::new(),
            decision,
            extent,
            words,
        };
        let kind = |request: &Request, chosen: Chosen| check(request, &chosen).err().map(|error| error.kind);
        let (approve, deny) = (Decision::Approve, Decision::Deny);
        assert_eq!(kind(&request, chosen(approve, Extent::Once, None)), None);
        assert_eq!(kind(&request, chosen(approve, Extent::Workspace, None)), Some("not-offered"));
        assert_eq!(kind(&request, chosen(deny, Extent::Once, Some("é".repeat(500)))), None);
        assert_eq!(kind(&request, chosen(deny, Extent::Once, Some("é".repeat(501)))), Some(visits::BAD_FORM));
        request.wanted.arguments = format!("{{\"command\":\"{}\"}}", "x".repeat(2000));
        assert_eq!(kind(&request, chosen(approve, Extent::Once, None)), Some("not-shown"));
        assert_eq!(kind(&request, chosen(deny, Extent::Once, None)), None);
    }
}
