//! Records HTTP visits that are not calls: requests that were not admitted, and use of the admin pages. The
//! number of lines is limited as for refused calls, even for accepted visits, because visits cost nothing. Refused
//! requests of unknown callers have a smaller limit together.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use scorpiox_audit::{BUILT_IN, ClientName, Entry, Outcome, UnderPolicy as _, Uses, time};
use scorpiox_executor::threads;

use super::{Records, unknown_callers};
use crate::records::call_error::CallError;
use crate::records::recording::refusal;

/// Action of a visitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// A request that did not lead to a call.
    Request,
    /// Log-in to the admin pages with a token.
    LogIn,
    /// Log-out.
    LogOut,
    /// View of a page.
    Page,
    /// Answer of an approver to an approval.
    Answer,
}

impl Act {
    /// Returns the name used in lines.
    fn name(self) -> &'static str {
        match self {
            Self::Request => "http request",
            Self::LogIn => "admin log-in",
            Self::LogOut => "admin log-out",
            Self::Page => "admin page",
            Self::Answer => "admin answer",
        }
    }
}

/// Identified visitor: name, issuer, and unique key.
#[derive(Debug, Clone, Copy)]
pub struct Visitor<'a> {
    /// Name of a token, or subject of a JWT.
    pub name: &'a str,
    /// Issuer of a JWT.
    pub issuer: Option<&'a str>,
    /// Display name of the subject.
    pub shown: Option<&'a str>,
    /// Unique key of the principal.
    pub key: &'a str,
}

/// Reason of a refusal.
#[derive(Debug, Clone, Copy)]
pub struct Refused<'a> {
    /// Keyword.
    pub kind: &'static str,
    /// Sentence.
    pub why: &'a str,
}

/// Visit to record.
#[derive(Debug, Clone, Copy)]
pub struct Visit<'a> {
    /// Action.
    pub act: Act,
    /// Remote address.
    pub from: IpAddr,
    /// Requested path.
    pub path: &'a str,
    /// Visitor, if identified.
    pub visitor: Option<Visitor<'a>>,
    /// Reason of the refusal, if refused.
    pub refused: Option<Refused<'a>>,
    /// Rule that decided; `None` for built-in decisions.
    pub rule: Option<&'a str>,
}

impl Records {
    /// Records a visit. If the policy requires a line, waits for the line that covers the visit and fails if
    /// it cannot be written. Refused visits had no effect and do not wait for the disk.
    pub fn record_visit(&self, visit: &Visit<'_>) -> Result<(), CallError> {
        let Some(audit) = self.audit() else { return Ok(()) };
        let is_needed = audit.required && visit.refused.is_none();
        if is_needed {
            self.check_decision()?;
        }
        let uses = Uses::default();
        let is_unknown = visit.visitor.is_none() && visit.refused.is_some();
        let rule = visit.rule.unwrap_or(BUILT_IN);
        let what = if is_unknown {
            unknown_callers::what(visit.from, visit.path)
        } else {
            format!("{} {}", visit.from, visit.path)
        };
        let (kind, outcome) = match visit.refused {
            None => ("ok", Outcome::Ok),
            Some(Refused { kind, .. }) => (kind, Outcome::Refused(kind)),
        };
        match visit.refused {
            None => uses.allowed("http", what, rule),
            Some(Refused { why, .. }) if is_unknown => {
                uses.denied("http", what, &unknown_callers::why(why), rule);
            }
            Some(Refused { why, .. }) => uses.denied("http", what, why, rule),
        }
        let client = visit.visitor.map(|visitor| {
            let Visitor { name, issuer, shown, key } = visitor;
            ClientName::unknown().used_by(name, issuer, key).known_as(shown)
        });
        let in_force = self.in_force();
        let entry = Entry {
            time: time::now(),
            origin: in_force.origin(),
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
        if is_unknown {
            if audit.unknown_callers.has_line(kind, Instant::now(), line) {
                audit.spool.push(|out| entry.push(out));
            }
            return Ok(());
        }
        // Not a valid principal key: each act has its own limit.
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
