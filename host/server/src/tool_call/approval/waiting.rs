//! Gets the answer of a person: asks by the client's form, a terminal or a dialog where the rules accept that, and
//! waits for answers from elsewhere.

use std::time::{Duration, Instant};

use scorpiox_approvals::{
    Always, Answer, Answered, Decision, Extent, Joined, Proof, Request, Requests, Seat, Trouble, Wanted, Way,
    always, proven,
};
use scorpiox_capabilities::ask::Asked;
use scorpiox_executor::{Cancel, Reason, threads};
use scorpiox_metering::records::CallError;
use scorpiox_policy::{CallRule, Policy};
use scorpiox_questions::{Answers, Questions};
use scorpiox_store::StoreError;
use scorpiox_tools::{Failure, Tool};

use super::question::{extent, question, wanted};
use super::{check_policy, refused};
use crate::approvals::Approvals;
use crate::client::Client;
use crate::scope::Scope;

/// Interval between reports of progress.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// Asks a person whether the call may run.
pub(in crate::tool_call) fn obtain(
    scope: &Scope<'_>,
    client: &Client,
    tool: &Tool,
    arguments: &str,
    rules: &[&CallRule],
) -> Result<(), CallError> {
    let Some(first) = rules.first() else { return Ok(()) };
    let policy = scope.workspace().operator().policy();
    let policy = policy.map_err(|error| CallError::Policy(error.to_string()))?;
    let wanted = wanted(scope, tool, arguments, rules);
    let questions = question(&wanted, rules).map_err(|why| {
        refused(scope, tool, first, "cannot be shown", &format!("{first} asks first, and {why}"))
    })?;
    let (wanted, requests, cancel) = (&wanted, scope.workspace().approvals(), scope.cancel());
    let waiting =
        Waiting { wanted, scope, client, cancel, is_repeated: false, first, rules, policy, requests };
    waiting.obtain(&questions).map_err(|ungiven| match ungiven {
        Ungiven::Cancelled => CallError::Tool(Failure::Cancelled),
        Ungiven::Denied(why) => refused(scope, tool, first, "the person denied it", &why),
        Ungiven::Waits(why) => {
            refused(scope, tool, first, "no answer", &format!("{why}. Call it again after the answer"))
        }
        Ungiven::Refused { outcome, why } => refused(scope, tool, first, outcome, &why),
    })
}

/// Reason why there is no approval, as a clause.
pub(super) enum Ungiven {
    /// The call was cancelled, or its client asks later.
    Cancelled,
    /// A person denied it.
    Denied(String),
    /// The request waits for an answer beyond the call.
    Waits(String),
    /// Nobody is asked (any more).
    Refused { outcome: &'static str, why: String },
}

/// A call, or a connection of its command, that waits for an approval.
pub(super) struct Waiting<'a> {
    pub(super) wanted: &'a Wanted,
    pub(super) scope: &'a Scope<'a>,
    pub(super) client: &'a Client,
    /// Ends the wait.
    pub(super) cancel: &'a Cancel,
    /// `true` if the request outlives a cancelled wait, because the command is repeated.
    pub(super) is_repeated: bool,
    pub(super) first: &'a CallRule,
    pub(super) rules: &'a [&'a CallRule],
    pub(super) policy: &'a Policy,
    pub(super) requests: &'a Requests,
}

/// The place of a call among those that wait for a request. Dropping it withdraws the call.
struct Place<'a> {
    requests: &'a Requests,
    approvals: &'a Approvals,
    request: Request,
    seat: Seat,
    /// `true` once the process counts the call.
    is_counted: bool,
    is_over: bool,
}

impl Place<'_> {
    /// Ends the wait, because the answer was used.
    fn used(mut self) {
        self.is_over = true;
    }

    /// Ends the wait; an equal call takes the place.
    fn away(mut self) {
        self.is_over = true;
        self.approvals.goes_away(&self.request.id);
        if let Err(error) = self.requests.leave(&self.request, self.seat, true) {
            tracing::warn!("approval {} cannot be left: {error}", self.request.number);
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if self.is_counted {
            self.approvals.gives_up(&self.request.id);
        }
        if let Err(error) = self.requests.leave(&self.request, self.seat, false) {
            tracing::warn!("approval {} cannot be withdrawn: {error}", self.request.number);
        }
    }
}

impl Waiting<'_> {
    pub(super) fn obtain(&self, questions: &Questions) -> Result<(), Ungiven> {
        let begun = Instant::now();
        let approvals = &self.scope.workspace().app().approvals;
        let binding = self.wanted.binding();
        // An approver proves each answer.
        if !self.wanted.is_strong && approvals.is_remembered(self.scope.session.id, &binding) {
            self.record(&Remembered::Session);
            return Ok(());
        }
        if let Some(approved) = always(self.wanted, self.rules, self.policy) {
            self.record(&Remembered::Always(&approved));
            return Ok(());
        }
        // An answer that no longer counts is as if it were not given.
        let counts = |request: &Request| self.check(request).is_ok();
        let joined = self.requests.join(self.wanted.clone(), self.cancel, &counts);
        match joined.map_err(|trouble| self.trouble(&trouble))? {
            Joined::Answered(request) => self.decided(&request, begun),
            Joined::Waits(request, seat) => {
                let requests = self.requests;
                let asked = request.clone();
                let mut place =
                    Place { requests, approvals, request: asked, seat, is_counted: false, is_over: false };
                place.is_counted = approvals.expects(&request.id, self.end_of_use(&request));
                if !place.is_counted {
                    return Err(used_up(&request));
                }
                self.wait(&request, place, questions, begun)
            }
        }
    }

    /// Waits for the answer, and asks for it where a weak channel is sufficient and no equal call asks already.
    fn wait(
        &self,
        request: &Request,
        place: Place<'_>,
        questions: &Questions,
        begun: Instant,
    ) -> Result<(), Ungiven> {
        let principal = self.scope.session.principal_key();
        let approvals = &self.scope.workspace().app().approvals;
        let mut changes = self.requests.changes().map_err(|error| self.trouble(&error.into()))?;
        let mut nobody: Option<String> = None;
        // An answer that comes with a call is for this call: copies of the call carry copies of the answer, and only one of
        // them may use it. They wait for no answer.
        if !self.wanted.is_strong && self.client.carries_approval(questions) {
            match self.ask(request, questions) {
                Asked::Answered(said) => self.answer(request, &said)?,
                Asked::Later => return Err(Ungiven::Cancelled),
                Asked::Cancelled => {}
                Asked::NoWay(why) => nobody = Some(why),
            }
        }
        loop {
            check_policy(self.scope).map_err(|why| refusal("the policy changed", &why))?;
            match self.requests.take(request, place.seat).map_err(|error| self.trouble(&error.into()))? {
                Answered::Yes(request) => {
                    place.used();
                    return self.decided(&request, begun);
                }
                Answered::Over => {
                    let why = format!("{} asks first, and nobody answered in time", self.first);
                    return Err(refusal("no answer", &why));
                }
                Answered::Open => {}
            }
            if self.cancel.is_set() {
                return Err(self.cancelled(request, place, begun));
            }
            // Only one of equal calls asks, and the others wait for its answer.
            let lead = if self.wanted.is_strong { None } else { approvals.lead(request.number) };
            match (lead, &nobody) {
                (Some(_), Some(why)) => return Err(self.nobody(request, place, why)),
                (Some(_lead), None) => {
                    let Some(_open) = approvals.begin(principal) else {
                        let why = format!(
                            "{} asks first, and too many questions are open; call again when they are answered",
                            self.first
                        );
                        return Err(refusal("too many questions", &why));
                    };
                    match self.ask(request, questions) {
                        Asked::Answered(said) => self.answer(request, &said)?,
                        // If the client asks later, the answer of the call is the question, whatever its result.
                        Asked::Later => {
                            place.away();
                            return Err(Ungiven::Cancelled);
                        }
                        Asked::Cancelled => {}
                        Asked::NoWay(why) => nobody = Some(why),
                    }
                }
                (None, _) => {
                    let Some(_followed) = approvals.follow() else {
                        return Err(self.later(request, place, "many calls wait already"));
                    };
                    self.scope.progress.report(&self.waits_for(request));
                    threads::wait(|| changes.wait(REPORT_EVERY, self.cancel))
                        .map_err(|error| self.trouble(&error.into()))?;
                }
            }
        }
    }

    /// Asks the person by the client's form, a terminal or a dialog.
    fn ask(&self, request: &Request, questions: &Questions) -> Asked {
        let good_for = Duration::from_millis(self.wanted.within_ms.saturating_mul(2));
        self.client.approve(questions, &self.scope.uses, "rules", good_for, self.elsewhere(request))
    }

    /// Returns a check for an answer from elsewhere, or the end of the time, which withdraw the question.
    fn elsewhere(&self, request: &Request) -> impl Fn() -> bool + Send + 'static {
        let (requests, asked) = (self.requests.clone(), request.clone());
        move || {
            let is_over = |found: Request| !found.is(&asked) || !found.is_open(requests.now());
            requests.get(asked.number).is_ok_and(|found| found.is_none_or(is_over))
        }
    }

    /// Keeps the answer that a person gave here, unless there is one from elsewhere.
    fn answer(&self, request: &Request, said: &Answers) -> Result<(), Ungiven> {
        check_policy(self.scope).map_err(|why| refusal("the policy changed", &why))?;
        let extent = extent(said);
        let answer = Answer {
            decision: if extent.is_some() { Decision::Approve } else { Decision::Deny },
            extent: extent.unwrap_or_default(),
            by: String::new(),
            channel: Way::Question,
            at: self.requests.now(),
            words: said.in_own_words().map(str::to_owned),
            signature: None,
        };
        match self.requests.answer(request, answer) {
            Ok(_) | Err(Trouble::Refused(_)) => Ok(()),
            Err(trouble) => Err(self.trouble(&trouble)),
        }
    }

    /// Checks that an answer has the proof that the rules need.
    fn check(&self, request: &Request) -> Result<Option<Proof>, String> {
        let answer = request.answer().ok_or_else(|| "it has no answer".to_owned())?;
        let offers = |word: &str| self.wanted.remember.iter().any(|offered| offered == word);
        if answer.extent != Extent::Once && !offers(&answer.extent.to_string()) {
            return Err(format!("the rules do not offer to remember it so (\"{}\")", answer.extent));
        }
        // The time between the question and the use is signed; the end that the store has is not.
        if !self.wanted.keeps(answer.extent) && self.requests.now() > self.end_of_use(request) {
            return Err("its time is over".to_owned());
        }
        proven(self.wanted, request, answer, self.rules, &self.policy.approvers)
            .map_err(|error| error.to_string())
    }

    /// Obeys an answer.
    fn decided(&self, request: &Request, begun: Instant) -> Result<(), Ungiven> {
        let Some(answer) = request.answer() else { return Err(refusal("no answer", "nobody answered")) };
        let proof = self.check(request).map_err(|why| {
            let why = format!("approval {} was answered, but {why}", request.number);
            refusal("the answer is not proven", &why)
        })?;
        if answer.decision == Decision::Approve {
            let approvals = &self.scope.workspace().app().approvals;
            let is_kept = self.wanted.keeps(answer.extent);
            if !is_kept && !approvals.uses(&request.id, self.end_of_use(request)) {
                return Err(used_up(request));
            }
            if answer.extent == Extent::Session {
                approvals.remember(self.scope.session.id, self.wanted.binding());
            }
            self.record(&Remembered::Not { request, answer, proof: proof.as_ref(), waited: begun.elapsed() });
            return Ok(());
        }
        let who = proof.map_or_else(|| "the person".to_owned(), |proof| proof.by);
        let words = answer.words.as_deref().map_or_else(String::new, |words| format!(" and said: {words}"));
        Err(Ungiven::Denied(format!("{} asked {who}, who denied it{words}", self.first)))
    }

    /// Returns the end of the time in which an answer can be used, in milliseconds since 1970.
    fn end_of_use(&self, request: &Request) -> u64 {
        request.asked.saturating_add(self.wanted.within_ms.saturating_mul(2))
    }

    /// Records an approval for each rule that asked.
    fn record(&self, how: &Remembered<'_>) {
        for rule in self.rules {
            let what = match how {
                Remembered::Session => format!("rule {}, approved earlier in this session", rule.name),
                Remembered::Always(Always { number, proof, source }) => {
                    format!("rule {}, approval {number} by {} (always, {source})", rule.name, proof.by)
                }
                Remembered::Not { request, answer, proof, waited } => {
                    let (by, way) = match *proof {
                        None => (String::new(), answer.channel),
                        Some(proof) => (format!(" by {}", proof.by), proof.way),
                    };
                    let waited = waited.as_secs();
                    format!(
                        "rule {}, waited {waited} s, approval {}{by} ({way}, {})",
                        rule.name, request.number, answer.extent
                    )
                }
            };
            self.scope.uses.allowed("approval", what, rule.source);
        }
    }

    /// Returns the error of a call that was cancelled while it waited.
    fn cancelled(&self, request: &Request, place: Place<'_>, begun: Instant) -> Ungiven {
        match self.cancel.reason() {
            Some(Reason::Overdue) => {
                let within = begun.elapsed().as_secs();
                let why = format!(
                    "nobody answered within {within} s (for a client that is not told of progress, the setting \
                     ANSWER_WITHIN)"
                );
                self.later(request, place, &why)
            }
            Some(Reason::PolicyChanged) => {
                let why = "the policy was changed while the person was asked; call again";
                refusal("the policy changed", why)
            }
            _ if self.is_repeated => self.later(request, place, "the connection ended before the answer"),
            _ => Ungiven::Cancelled,
        }
    }

    /// Returns the error of a call that could ask nobody.
    fn nobody(&self, request: &Request, place: Place<'_>, why: &str) -> Ungiven {
        let why = format!(
            "nobody could be asked ({why}). The person can be asked by a client with forms (elicitation), in tmux, or in \
             a window of a terminal or desktop"
        );
        self.later(request, place, &why)
    }

    /// Returns the error of a call that is to be repeated once its request was answered.
    fn later(&self, request: &Request, place: Place<'_>, why: &str) -> Ungiven {
        place.away();
        let waits = self.waits_for(request);
        Ungiven::Waits(format!("{} asks first, and {why}. {waits}", self.first))
    }

    /// Returns a sentence on a request and how to answer it, without the full stop.
    fn waits_for(&self, request: &Request) -> String {
        let number = request.number;
        let left = request.time_left(self.requests.now());
        let (who, key) =
            if self.wanted.is_strong { ("An approver", " --key FILE") } else { ("The person", "") };
        let page =
            if self.has_page() { ", or in a browser at `/admin/approvals` of this server" } else { "" };
        format!(
            "Approval {number} waits for {left} more. {who} can answer it in a terminal: `scorpiox-code \
             approvals approve {number}{key}`{page}"
        )
    }

    /// Returns `true` if an approver can answer in a browser.
    fn has_page(&self) -> bool {
        let caller = self.wanted.caller.as_deref();
        let mut approvers = self.first.answered_by(&self.policy.approvers, caller);
        caller.is_some()
            && self.policy.http.admin.is_some()
            && approvers.any(|(_, approver)| approver.value.credential.is_some())
    }

    fn trouble(&self, trouble: &Trouble) -> Ungiven {
        if matches!(trouble, Trouble::Store(StoreError::Cancelled)) {
            return Ungiven::Cancelled;
        }
        let why = format!("{} asks first, and {trouble}", self.first);
        refusal("cannot be asked", &why)
    }
}

/// Returns the error of a call with an answer that was used by as many calls as it was for.
fn used_up(request: &Request) -> Ungiven {
    let why = format!("approval {} was used before; call again to ask again", request.number);
    refusal("the approval is used up", &why)
}

fn refusal(outcome: &'static str, why: &str) -> Ungiven {
    Ungiven::Refused { outcome, why: why.to_owned() }
}

/// Origin of an approval, for the audit.
enum Remembered<'a> {
    /// An equal call was approved for the session.
    Session,
    /// The policy has an approval that holds always.
    Always(&'a Always),
    /// An answer was given, now or earlier.
    Not { request: &'a Request, answer: &'a Answer, proof: Option<&'a Proof>, waited: Duration },
}
