//! Serves the page of approvals to approvers: log-in with a credential, and answers.
//!
//! The cookie of an approver has the name and the public key alone: it shows the page. Each answer needs the credential
//! again, so that a stolen cookie answers nothing. An answer that does nothing leaves a line in the audit with the
//! reason, and the line of an answer is written before it is given.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode};
use scorpiox_approvals::{Credential, Decision, Extent};
use scorpiox_metering::records::{Act, Refused};

use crate::admin::approvals::{Said, page};
use crate::admin::approving::{ApproverId, Approving, Chosen, Unanswered};
use crate::answer::{self, Answer};
use crate::bounds::WaitsFor;
use crate::ended::{Account, now};
use crate::endpoint::Endpoint;
use crate::pages::{COOKIE_SECONDS, Desk, LOGIN, ROOT, Rejected, Visit, field, form_of, too_many};
use crate::paper::{html, moved, unrecorded};
use crate::visits::{self, Seen};

/// Path of the page.
const APPROVALS: &str = "/admin/approvals";

/// An approver, as a cookie names them.
enum Visitor {
    /// The cookie names none.
    Nobody,
    /// An approver of the policy, with the line of it.
    Approver(ApproverId, String),
    /// An approver whose credential the policy does not have any more.
    Former(ApproverId),
}

impl Desk {
    /// Handles the log-in of an approver.
    pub(crate) async fn approver_login(
        self: &Arc<Self>,
        endpoint: &Endpoint,
        credential: Credential,
        peer: IpAddr,
    ) -> Answer {
        let (id, line) = match self.owner(endpoint, credential, peer).await {
            Ok((id, line, _)) => (id, line),
            Err(rejected) => return self.rejects(endpoint, &rejected, peer),
        };
        let who = id.principal();
        let until = now() + COOKIE_SECONDS;
        let number = endpoint.sessions.numbers().give(Account::Pages, &who.key());
        let visit = number.and_then(|number| {
            serde_json::to_vec(&Visit { token: String::new(), until, number, approver: Some(id) }).ok()
        });
        let Some(sealed) = visit.and_then(|visit| self.envelope.close(&visit)) else {
            let why = "The system gives no random numbers.".to_owned();
            let (status, kind) = (StatusCode::INTERNAL_SERVER_ERROR, visits::NO_COOKIE);
            return self.rejects(endpoint, &Rejected { status, kind, why, who: Some(who) }, peer);
        };
        let entered = (Act::LogIn, peer, LOGIN.to_owned());
        if let Err(error) = endpoint.did(entered, Some(Arc::clone(&who)), Some(line)).await {
            return self.refuses(StatusCode::SERVICE_UNAVAILABLE, &unrecorded(&error));
        }
        tracing::info!("{peer} reads {APPROVALS} as {}", who.name);
        moved(APPROVALS, Some(&self.set_cookie(&sealed, COOKIE_SECONDS)))
    }

    /// Returns the approver with a credential, and the line of the policy. Failed attempts are counted, and
    /// never keep the owner of a credential out.
    async fn owner(
        self: &Arc<Self>,
        endpoint: &Endpoint,
        credential: Credential,
        peer: IpAddr,
    ) -> Result<(ApproverId, String, Credential), Rejected> {
        let reject = |status, kind, why: String| Rejected { status, kind, why, who: None };
        let desk = Arc::clone(self);
        let identify = move |_: &_| {
            let found = desk.pages.approving().identify(&credential);
            found.map(|found| found.map(|(id, line)| (id, line, credential)))
        };
        let found = endpoint.blocking.run(WaitsFor::Disk, "", identify).await;
        match found.map_err(|error| error.to_string()).flatten() {
            Ok(Some(found)) => Ok(found),
            Ok(None) if !endpoint.peers.may_fail(peer) => Err(too_many("credentials")),
            Ok(None) => {
                let why = "This credential is not good here.".to_owned();
                Err(reject(StatusCode::UNAUTHORIZED, "bad-token", why))
            }
            Err(error) => {
                let why = format!("Nobody can be let in: {error}.");
                Err(reject(StatusCode::SERVICE_UNAVAILABLE, "no-keys", why))
            }
        }
    }

    /// Returns the approver whom a cookie names. Fails if it is unknown whether the log-in has ended, or if the policy
    /// cannot be read.
    async fn visitor(self: &Arc<Self>, endpoint: &Arc<Endpoint>, headers: &HeaderMap) -> io::Result<Visitor> {
        let mut former = Visitor::Nobody;
        for Visit { number, approver, .. } in self.visits(headers) {
            let Some(id) = approver else { continue };
            let who = id.principal().key();
            if endpoint.has_ended(&who, number).await? {
                continue;
            }
            let (desk, asked) = (Arc::clone(self), id.clone());
            let line = move |_: &_| desk.pages.approving().line(&asked);
            match endpoint.blocking.run(WaitsFor::Disk, &who, line).await?.map_err(io::Error::other)? {
                Some(line) => return Ok(Visitor::Approver(id, line)),
                None => former = Visitor::Former(id),
            }
        }
        Ok(former)
    }

    /// Answers a request for a page without an operator: approvers have one page.
    pub(crate) async fn approver_page(
        self: &Arc<Self>,
        endpoint: &Arc<Endpoint>,
        parts: &Parts,
        path: &str,
        peer: IpAddr,
    ) -> Answer {
        let (id, line) = match self.visitor(endpoint, &parts.headers).await {
            Ok(Visitor::Approver(id, line)) => (id, line),
            Ok(Visitor::Nobody | Visitor::Former(_)) => return moved(LOGIN, None),
            Err(error) => return self.refuses_later(&unread(&error)),
        };
        if path.trim_end_matches('/') != "/approvals" {
            return moved(APPROVALS, None);
        }
        let who = id.principal();
        let read = (Act::Page, peer, APPROVALS.to_owned());
        if let Err(error) = endpoint.did(read, Some(Arc::clone(&who)), Some(line)).await {
            return self.refuses(StatusCode::SERVICE_UNAVAILABLE, &unrecorded(&error));
        }
        let query = parts.uri.query().unwrap_or_default();
        let number = url::form_urlencoded::parse(query.as_bytes())
            .find(|(name, _)| name == "number")
            .and_then(|(_, number)| number.parse().ok());
        self.approvals(endpoint, id, number, 200, Said::default()).await
    }

    /// Returns the page of an approver.
    async fn approvals(
        self: &Arc<Self>,
        endpoint: &Endpoint,
        id: ApproverId,
        number: Option<u64>,
        status: u16,
        said: Said,
    ) -> Answer {
        let (desk, who) = (Arc::clone(self), id.principal().key());
        let make = move |_: &_| page(&desk.pages.approving().in_force(), &id, number, status, said);
        match endpoint.blocking.run(WaitsFor::Database, &who, make).await {
            Ok(page) => html(page),
            Err(error) => {
                tracing::error!("the page of approvals cannot be made: {error}");
                self.refuses(answer::status_of(&error), "The page cannot be made now. Load it again later.")
            }
        }
    }

    /// Handles an answer.
    pub(crate) async fn decide(
        self: &Arc<Self>,
        endpoint: &Arc<Endpoint>,
        headers: &HeaderMap,
        body: crate::unread::RequestBody,
        peer: IpAddr,
    ) -> Answer {
        let seen = Seen { act: Act::Answer, from: peer, path: APPROVALS };
        let (id, line) = match self.visitor(endpoint, headers).await {
            Ok(Visitor::Approver(id, line)) => (id, line),
            Ok(Visitor::Nobody) => {
                let why = "Log in with a credential: an answer needs it.";
                endpoint.refused(seen, None, Refused { kind: "no-token", why }, None);
                return self.asks(StatusCode::UNAUTHORIZED, Some(why));
            }
            Ok(Visitor::Former(id)) => {
                let why = format!("{} is no approver with this credential any more.", id.name);
                let refused = Refused { kind: visits::CLOSED, why: &why };
                endpoint.refused(seen, Some(&id.principal()), refused, None);
                return self.asks(StatusCode::FORBIDDEN, Some(&why));
            }
            Err(error) => return self.refuses_later(&unread(&error)),
        };
        let form = form_of(body).await;
        let number = form.as_ref().ok().and_then(|form| field(form, "number").parse().ok());
        let done = match form {
            Ok(form) => self.decided(endpoint, &id, &line, &form, peer).await,
            Err(rejected) => Err((rejected.into(), true)),
        };
        match done {
            Ok(done) => {
                let said = Said { done: Some(done), mistake: None };
                self.approvals(endpoint, id, None, 200, said).await
            }
            Err((Unanswered { status, kind, why }, is_recorded)) => {
                if is_recorded {
                    let path = number.map_or_else(|| APPROVALS.to_owned(), |number| at(number, None));
                    let rule = (kind == visits::POLICY).then_some(&*line);
                    let seen = Seen { path: &path, ..seen };
                    endpoint.refused(seen, Some(&id.principal()), Refused { kind, why: &why }, rule);
                }
                let said = Said { done: None, mistake: Some(why) };
                self.approvals(endpoint, id, number, status, said).await
            }
        }
    }

    /// Gives the answer of a form. The other value of an error is `false` if no line of it is left to write.
    async fn decided(
        self: &Arc<Self>,
        endpoint: &Arc<Endpoint>,
        id: &ApproverId,
        line: &str,
        form: &[(String, String)],
        peer: IpAddr,
    ) -> Result<String, (Unanswered, bool)> {
        let recorded = |unanswered| (unanswered, true);
        let chosen = chosen(form).map_err(recorded)?;
        let Some(credential) = Credential::parse(&field(form, "credential")) else {
            let is_told_to_wait = !endpoint.peers.may_fail(peer);
            return Err(recorded(if is_told_to_wait { too_many("credentials").into() } else { wrong() }));
        };
        let owner = self.owner(endpoint, credential, peer).await;
        let (owner, _, credential) = owner.map_err(|rejected| recorded(rejected.into()))?;
        if owner != *id {
            return Err(recorded(wrong()));
        }
        let who = id.principal();
        let (number, decision) = (chosen.number, chosen.decision);
        let (desk, asked) = (Arc::clone(self), id.clone());
        let prepare = move |_: &_| desk.pages.approving().prepare(&asked, &credential, &chosen);
        let prepared = endpoint.blocking.run(WaitsFor::Database, &who.key(), prepare).await;
        let prepared = prepared.unwrap_or_else(|error| Err(unkept(&error))).map_err(recorded)?;
        let answered = (Act::Answer, peer, at(number, Some(decision)));
        endpoint.did(answered, Some(Arc::clone(&who)), Some(line.to_owned())).await.map_err(|error| {
            let why = format!("Nothing was answered: {error}.");
            (Unanswered { status: 503, kind: "not-written", why }, false)
        })?;
        let give = move |_: &_| Approving::give(prepared);
        let given = endpoint.blocking.run(WaitsFor::Database, &who.key(), give).await;
        given.unwrap_or_else(|error| Err(unkept(&error))).map_err(recorded)?;
        Ok(match decision {
            Decision::Approve => {
                format!("Approval {number}: The call runs. If its client gave up, it has to repeat the call.")
            }
            Decision::Deny => format!("Approval {number}: The call is refused."),
        })
    }
}

impl From<Rejected> for Unanswered {
    fn from(Rejected { status, kind, why, .. }: Rejected) -> Self {
        Self { status: status.as_u16(), kind, why }
    }
}

/// Returns the path of an answer in the audit.
fn at(number: u64, decision: Option<Decision>) -> String {
    let decision = decision.map_or_else(String::new, |decision| format!("/{decision}"));
    format!("{ROOT}/approvals/{number}{decision}")
}

/// Returns the reason if it is unknown who an approver is.
fn unread(error: &io::Error) -> String {
    tracing::error!("no approver can be let in: {error}");
    format!("Approvals cannot be shown now: {error}. Try again later.")
}

fn wrong() -> Unanswered {
    let why = "Nothing was answered: this is not your credential.".to_owned();
    Unanswered { status: 401, kind: "bad-token", why }
}

fn unkept(error: &io::Error) -> Unanswered {
    let why = format!("Nothing was answered: {error}.");
    Unanswered { status: answer::status_of(error).as_u16(), kind: "not-written", why }
}

/// Reads the choice of a form.
fn chosen(form: &[(String, String)]) -> Result<Chosen, Unanswered> {
    let bad = |why: &str| Unanswered { status: 400, kind: visits::BAD_FORM, why: why.to_owned() };
    let number = field(form, "number").parse().map_err(|_| bad("The form names no approval."))?;
    let (decision, extent) = match &*field(form, "answer") {
        "approve" => (Decision::Approve, Extent::Once),
        "workspace" => (Decision::Approve, Extent::Workspace),
        "always" => (Decision::Approve, Extent::Always),
        "deny" => (Decision::Deny, Extent::Once),
        _ => return Err(bad("Choose an answer.")),
    };
    let words = Some(field(form, "words")).filter(|words| decision == Decision::Deny && !words.is_empty());
    Ok(Chosen { number, shown: field(form, "shown"), decision, extent, words })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_has_a_number_and_one_of_three_answers() {
        let read = |text: &str| {
            chosen(&url::form_urlencoded::parse(text.as_bytes()).into_owned().collect::<Vec<_>>())
        };
        let approved = read("number=7&shown=a&answer=workspace&words=ignored").expect("an answer");
        assert_eq!(
            (approved.number, approved.decision, approved.extent),
            (7, Decision::Approve, Extent::Workspace)
        );
        assert_eq!(approved.words, None, "words belong to a denial");
        let denied = read("number=7&shown=a&answer=deny&words=+not+today+").expect("an answer");
        assert_eq!(denied.words.as_deref(), Some("not today"));
        for text in ["", "number=7", "number=7&answer=", "number=-1&answer=deny", "number=x&answer=approve"] {
            assert_eq!(read(text).expect_err(text).kind, visits::BAD_FORM);
        }
    }
}
