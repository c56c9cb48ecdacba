//! One call, from its beginning to its line.

use std::fmt::Display;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use scorpiox_audit::{
    BUILT_IN, Called, ClientName, Component, Cost, Entry, NOT_RECORDED, Outcome, PluginLabel, Uses, time,
};
use scorpiox_exchange::{Admission, Reply};
use scorpiox_executor::threads;

use super::{Audit, Records};
use crate::admission::Unserved;
use crate::call_error::CallError;
use crate::watcher::{self, Ended};
use scorpiox_operator::OperatorError;
use scorpiox_runtime::PluginIdentity;
use scorpiox_tools::{Kind, Tool};

/// What a line is about.
pub(super) enum Subject<'a> {
    /// A call of a tool, with these arguments.
    Tool { tool: &'a Tool, arguments: &'a str },
    /// A call that names no tool that there is, under the name that its line has, with its arguments where they are an object.
    Unknown { name: String, arguments: Option<&'a str> },
    /// A request of this method.
    Method(&'static str),
}

impl<'a> Subject<'a> {
    fn name(&self) -> &str {
        match self {
            Self::Tool { tool, .. } => &tool.name,
            Self::Unknown { name, .. } => name,
            Self::Method(method) => method,
        }
    }

    fn kind(&self) -> watcher::Kind {
        match self {
            Self::Tool { .. } => watcher::Kind::Call,
            Self::Unknown { .. } => watcher::Kind::Unknown,
            Self::Method(_) => watcher::Kind::Method,
        }
    }

    fn arguments(&self) -> Option<&'a str> {
        match self {
            Self::Tool { arguments, .. } => Some(arguments),
            Self::Unknown { arguments, .. } => *arguments,
            Self::Method(_) => None,
        }
    }
}

/// A call that is recorded when it is finished, or when it is dropped because it broke.
pub struct Recording<'a> {
    records: &'a Records,
    client: Option<Arc<ClientName>>,
    subject: Subject<'a>,
    time: u64,
    begun: Instant,
    /// What this thread had worked when it began, where it is counted who has it work.
    worked: Option<Duration>,
    /// Told of what it touches.
    pub uses: Uses,
    /// The reason for which it is refused, where no call is served.
    unserved: OnceLock<&'static str>,
    is_finished: bool,
}

impl<'a> Recording<'a> {
    pub(super) fn new(
        records: &'a Records,
        client: Option<Arc<ClientName>>,
        subject: Subject<'a>,
        uses: &Uses,
    ) -> Self {
        if let Some(client) = &client {
            uses.called_by(Arc::clone(client));
        }
        let is_counted = client.as_ref().is_some_and(|client| client.principal.is_some());
        Self {
            records,
            client,
            subject,
            time: time::now(),
            begun: Instant::now(),
            worked: is_counted.then(threads::time),
            uses: uses.clone(),
            unserved: OnceLock::new(),
            is_finished: false,
        }
    }

    /// Refuses the call where no call is served now, and says so to its channel.
    pub fn permit(&self, reply: &Reply) -> Result<(), CallError> {
        reply.admission(Admission::Pending);
        let admission = self.records.admission();
        reply.admission(if admission.is_ok() { Admission::Granted } else { Admission::Refused });
        admission.map_err(|unserved| {
            let _ = self.unserved.set(unserved.reason());
            match unserved {
                Unserved::Policy(error) => self.refused_by_policy(&error),
                Unserved::Audit(_) | Unserved::Export(_) => refusal("was not run", &unserved),
            }
        })
    }

    /// Ends a call that is refused for `why`; `note` notes the rule for its line. Where no call is served now that is the error,
    /// which comes before whatever another server may decide otherwise. Without a reply the call is refused in any case.
    pub fn refuse(
        self,
        why: &'static str,
        reply: Option<&Reply>,
        note: impl FnOnce(&Uses),
    ) -> Result<(), CallError> {
        if let Some(Err(unserved)) = reply.map(|reply| self.permit(reply)) {
            // It did not run, so that nothing is withheld.
            let _ = self.finish(unserved.outcome());
            return Err(unserved);
        }
        note(&self.uses);
        // It did nothing, so that nothing is withheld.
        let _ = self.finish(Outcome::Refused(why));
        Ok(())
    }

    /// Notes for the call's line what is wrong with the policy, or what it says of all calls.
    fn refused_by_policy(&self, error: &OperatorError) -> CallError {
        let why = error.to_string();
        match error {
            OperatorError::NotAWorkspace(refusal) => {
                self.uses.denied("workspaces", &self.records.workspace, &refusal.why, refusal.decided_by);
            }
            OperatorError::Policy(problem) => self.uses.denied("policy", "", &why, problem.place()),
            _ => self.uses.denied("policy", "", &why, BUILT_IN),
        }
        error.into()
    }

    /// The call has ended. Fails where the operator wants no answer without a line, and there is none.
    pub fn finish(mut self, outcome: Outcome) -> Result<(), CallError> {
        self.record(outcome)
    }

    /// What it took: of this thread, of its commands, and of the store.
    fn cost(&self) -> Cost {
        let Some(worked) = self.worked else { return Cost::default() };
        let processor = threads::time().saturating_sub(worked) + self.uses.processor();
        Cost { processor, stored: self.uses.stored_bytes(), ..Cost::default() }
    }

    fn record(&mut self, outcome: Outcome) -> Result<(), CallError> {
        self.is_finished = true;
        let duration = self.begun.elapsed();
        let records = self.records;
        let (tool, memory) = (self.subject.name(), self.uses.memory());
        let principal = self.client.as_deref().and_then(|client| client.principal.as_ref());
        let cost = self.cost();
        let called = Called {
            tool,
            principal: principal.map(AsRef::as_ref),
            outcome,
            duration,
            memory,
            is_denied: self.uses.was_denied(),
            cost,
        };
        if matches!(self.subject, Subject::Unknown { .. }) {
            records.figures.add_unknown(&called);
        } else {
            records.figures.add(&called);
        }
        if let Outcome::Refused(why) = outcome {
            records.figures.add_refusal(self.unserved.get().copied().unwrap_or(why));
        }
        records.unposted.is_there.store(true, Ordering::Release);
        records.tell(&Ended {
            kind: self.subject.kind(),
            name: tool,
            client: self.client.as_deref(),
            component: component(&self.subject).and_then(Component::id),
            uses: &self.uses,
            time: self.time,
            duration,
            outcome,
            cost,
        });
        let Some(audit) = records.audit() else { return Ok(()) };
        let entry = Entry {
            time: self.time,
            origin: &audit.origin,
            client: self.client.as_deref(),
            tool,
            component: component(&self.subject),
            uses: &self.uses,
            duration,
            outcome,
            arguments: self.subject.arguments().filter(|_| audit.arguments),
        };
        if let (Outcome::Refused(why), Some(principal)) = (outcome, principal)
            && why != NOT_RECORDED
            && !audit.refusals.has_line(principal, why, Instant::now(), || {
                let mut line = Vec::new();
                entry.push(&mut line);
                line
            })
        {
            return Ok(());
        }
        let is_full = audit.spool.push(|out| entry.push(out));
        if audit.required {
            // Of a call that was refused for this there is nothing to withhold.
            let is_run = outcome != Outcome::Refused(NOT_RECORDED);
            // It was tried a moment ago, and waited for.
            let written = if is_run { audit.spool.drain_now() } else { audit.spool.drain() };
            let written = audit.wrote(written);
            if !is_run && written.is_err() {
                audit.export_apart(|out| entry.push(out));
            }
            audit.wake_exports();
            return written.or_else(|error| {
                if is_run { Err(refusal("was run, and what it gave is withheld", &error)) } else { Ok(()) }
            });
        }
        if is_full {
            audit.drain();
        }
        Ok(())
    }
}

impl Records {
    /// Counts what a command took that went on after its call, for who had called.
    pub(super) fn count_task(&self, uses: &Uses) {
        let Some(client) = uses.client().filter(|client| client.principal.is_some()) else { return };
        let cost = Cost { processor: uses.processor(), ..Cost::default() };
        if let Some(principal) = &client.principal {
            self.figures.add_cost(principal, cost);
        }
        self.tell(&Ended {
            kind: watcher::Kind::Task,
            name: TASK,
            client: Some(&**client),
            component: None,
            uses,
            time: time::now(),
            duration: Duration::ZERO,
            outcome: Outcome::Ok,
            cost,
        });
    }

    /// A command that went on after its call and was refused something since.
    pub(super) fn record_task(&self, uses: &Uses, duration: Duration) {
        let Some(audit) = self.audit() else { return };
        let began = time::now().saturating_sub(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
        let entry = Entry {
            time: began,
            origin: &audit.origin,
            client: uses.client().map(|client| &**client),
            tool: TASK,
            component: None,
            uses,
            duration,
            outcome: Outcome::Ok,
            arguments: None,
        };
        audit.spool.push(|out| entry.push(out));
        audit.drain();
    }
}

impl Records {
    /// Whether a line could be written of what a person is about to do, where the operator wants one.
    pub fn check_decision(&self) -> Result<(), CallError> {
        self.audit_admission().map_err(|unserved| refusal("was not run", &unserved))
    }

    /// What a person decides at the command line, before it holds, or what was refused to the person. Fails where the operator wants nothing without
    /// a line, and there is none.
    pub fn record_decision(
        &self,
        what: &str,
        component: Option<Component<'_>>,
        uses: &Uses,
        outcome: Outcome,
    ) -> Result<(), CallError> {
        let Some(audit) = self.audit() else { return Ok(()) };
        let person = ClientName::new("scorpiox-code", env!("CARGO_PKG_VERSION"));
        let entry = Entry {
            time: time::now(),
            origin: &audit.origin,
            client: Some(&person),
            tool: what,
            component,
            uses,
            duration: Duration::ZERO,
            outcome,
            arguments: None,
        };
        audit.spool.push(|out| entry.push(out));
        let written = audit.wrote(audit.spool.drain_now());
        written.or_else(
            |error| if audit.required { Err(refusal("was not carried out", &error)) } else { Ok(()) },
        )
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            // A panic on the way is the only way here.
            let _ = self.record(Outcome::Fault("internal"));
        }
    }
}

impl Audit {
    /// Writes what waits. Tells the operator, once, when that fails.
    pub(super) fn drain(&self) {
        if self.wrote(self.spool.drain()).is_ok() {
            self.wake_exports();
        }
    }

    /// Takes how an attempt to write ended: the operator is told once while that fails, and figures as long as it does.
    pub(super) fn wrote<E: Display>(&self, written: Result<(), E>) -> Result<(), E> {
        match &written {
            Ok(()) => self.is_blocked.store(false, Ordering::Relaxed),
            Err(error) if !self.is_blocked.swap(true, Ordering::Relaxed) => {
                tracing::warn!("calls are not recorded: {error}");
            }
            Err(_) => {}
        }
        written
    }

    /// Reports whether lines could not be written when that was tried last.
    pub(super) fn is_blocked(&self) -> bool {
        self.is_blocked.load(Ordering::Relaxed)
    }
}

/// What a line about a background command is called, which is no call.
const TASK: &str = "background command";

pub(crate) fn refusal(what: &'static str, error: &dyn Display) -> CallError {
    CallError::Unrecorded { what, error: error.to_string() }
}

/// The component that runs: of those of others the plugin, of the program's own the beginning of its hash.
fn component<'a>(subject: &Subject<'a>) -> Option<Component<'a>> {
    let tool = match *subject {
        Subject::Tool { tool, .. } => tool,
        Subject::Unknown { .. } => return None,
        Subject::Method(_) => return Some(Component::BuiltIn(BUILT_IN)),
    };
    match &tool.kind {
        Kind::Native(_) => None,
        Kind::Wasm { component, .. } | Kind::Plugin { component, .. } => {
            Some(component.plugin.as_ref().map_or(Component::BuiltIn(component.built_in), |plugin| {
                let PluginIdentity { name, version, hash, component } = plugin;
                Component::Plugin(PluginLabel { name, version, hash, component })
            }))
        }
    }
}
