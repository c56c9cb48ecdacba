//! Visits of a server over HTTP that are no call: a request that was not let in, and the use of the pages for
//! the operator. The lines are bounded as those of refused calls are, also of what was not refused: they cost nothing.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use scorpiox_audit::{BUILT_IN, ClientName, Entry, Outcome, Uses, time};
use scorpiox_executor::threads;

use super::Records;
use crate::call_error::CallError;
use crate::recording::refusal;

/// An act of a visitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// A request was made that came to no call.
    Request,
    /// Somebody showed a token to the pages for the operator.
    LogIn,
    /// Somebody gave a log-in back.
    LogOut,
    /// Somebody read a page.
    Page,
}

impl Act {
    /// The name of the act in a line.
    fn name(self) -> &'static str {
        match self {
            Self::Request => "http request",
            Self::LogIn => "admin log-in",
            Self::LogOut => "admin log-out",
            Self::Page => "admin page",
        }
    }
}

/// The visitor at the door: the name, the issuer that vouches for it, and the key that tells it from all others.
#[derive(Debug, Clone, Copy)]
pub struct Visitor<'a> {
    /// The name of a token, or the subject of a JWT.
    pub name: &'a str,
    /// The issuer of a JWT.
    pub issuer: Option<&'a str>,
    /// The name that people know the subject by.
    pub shown: Option<&'a str>,
    /// The key of the principal.
    pub key: &'a str,
}

/// The reason for the refusal.
#[derive(Debug, Clone, Copy)]
pub struct Refused<'a> {
    /// In a word.
    pub kind: &'static str,
    /// In a sentence.
    pub why: &'a str,
}

/// A visit at the door.
#[derive(Debug, Clone, Copy)]
pub struct Visit<'a> {
    /// The act.
    pub act: Act,
    /// From where.
    pub from: IpAddr,
    /// The path that was asked for.
    pub path: &'a str,
    /// The visitor, where that is known.
    pub visitor: Option<Visitor<'a>>,
    /// The reason for the refusal, if it was refused.
    pub refused: Option<Refused<'a>>,
    /// The rule that decided; the program itself, where there is none.
    pub rule: Option<&'a str>,
}

impl Records {
    /// Leaves a line of a visit. Where the operator wants nothing without a line, it waits for the one that tells of the visit, and
    /// fails if there is none; what was refused did nothing, and waits for no disk.
    pub fn record_visit(&self, visit: &Visit<'_>) -> Result<(), CallError> {
        let Some(audit) = self.audit() else { return Ok(()) };
        let is_needed = audit.required && visit.refused.is_none();
        if is_needed {
            self.check_decision()?;
        }
        let uses = Uses::default();
        let (what, rule) = (format!("{} {}", visit.from, visit.path), visit.rule.unwrap_or(BUILT_IN));
        let (kind, outcome) = match visit.refused {
            None => ("ok", Outcome::Ok),
            Some(Refused { kind, .. }) => (kind, Outcome::Refused(kind)),
        };
        match visit.refused {
            None => uses.allowed("http", what, rule),
            Some(Refused { why, .. }) => uses.denied("http", what, why, rule),
        }
        let client = visit.visitor.map(|visitor| {
            let Visitor { name, issuer, shown, key } = visitor;
            ClientName::unknown().used_by(name, issuer, key).known_as(shown)
        });
        let entry = Entry {
            time: time::now(),
            origin: &audit.origin,
            client: client.as_ref(),
            tool: visit.act.name(),
            component: None,
            uses: &uses,
            duration: Duration::ZERO,
            outcome,
            arguments: None,
        };
        let line = || {
            let mut line = Vec::new();
            entry.push(&mut line);
            line
        };
        // No principal has such a key: each act has lines of its own. All whom nobody knows share theirs.
        let of = format!("\0{}\0{}", visit.act.name(), visit.visitor.map_or("", |visitor| visitor.key));
        let of = Arc::from(of);
        if audit.refusals.has_line(&of, kind, Instant::now(), line) {
            audit.spool.push(|out| entry.push(out));
        } else if is_needed && !threads::wait(|| audit.refusals.wait_for_release(&of, kind)) {
            return Err(refusal("was not carried out", &"its line in the audit is late"));
        }
        if is_needed { self.check_decision() } else { Ok(()) }
    }
}
