//! Recording of one call, from its start to its audit line.

use std::fmt::Display;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use scorpiox_audit::{
    BUILT_IN, Called, ClientName, Component, Cost, Entry, LogError, NOT_RECORDED, Outcome, PluginLabel,
    UnderPolicy as _, Uses, time,
};
use scorpiox_exchange::{Admission, Reply};
use scorpiox_executor::threads;

use super::unfinished::Begun;
use super::{Audit, Records};
use crate::records::admission::Unserved;
use crate::records::call_error::CallError;
use crate::records::watcher::{self, Ended};
use scorpiox_runtime::PluginIdentity;
use scorpiox_tools::{Kind, Tool};
use scorpiox_workspace_config::OperatorError;

/// Subject of a line.
pub(super) enum Subject<'a> {
    /// Call of a tool with these arguments.
    Tool { tool: &'a Tool, arguments: &'a str },
    /// Call of a nonexistent tool, with the name used in the line. The arguments are present if they are an
    /// object.
    Unknown { name: String, arguments: Option<&'a str> },
    /// Request with this method.
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

/// Call that is recorded when it finishes, or when it is dropped due to a panic.
pub struct Recording<'a> {
    records: &'a Records,
    client: Option<Arc<ClientName>>,
    subject: Subject<'a>,
    time: u64,
    begun: Instant,
    /// CPU time of this thread at the start; `None` if the call is not metered.
    worked: Option<Duration>,
    /// Collects the resources that the call accesses.
    pub uses: Uses,
    /// Plugin that the call would have reached, if its tool is not available.
    pub plugin: Option<Box<PluginIdentity>>,
    /// Reason of the refusal, if no calls are served.
    unserved: OnceLock<&'static str>,
    /// Number among the unfinished calls, if it is a tool call.
    number: Option<u64>,
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
        let mut begun = Self {
            records,
            client,
            subject,
            time: time::now(),
            begun: Instant::now(),
            worked: is_counted.then(threads::time),
            uses: uses.clone(),
            plugin: None,
            unserved: OnceLock::new(),
            number: None,
            is_finished: false,
        };
        begun.number = begun.unfinished().map(|call| records.unfinished.add(call));
        begun
    }

    /// Returns the parts of a tool call that its line needs if the server ends before the call does.
    fn unfinished(&self) -> Option<Begun> {
        let Subject::Tool { tool, arguments } = self.subject else { return None };
        let has_arguments = self.records.audit().is_some_and(|audit| audit.arguments);
        Some(Begun {
            time: self.time,
            since: self.begun,
            client: self.client.clone(),
            tool: tool.name.to_string(),
            component: match &tool.kind {
                Kind::Native(_) => None,
                Kind::Wasm { component, .. } | Kind::Plugin { component, .. } => Some(Arc::clone(component)),
            },
            uses: self.uses.clone(),
            arguments: has_arguments.then(|| arguments.to_owned()),
        })
    }

    /// Refuses the call if no calls are served, and reports the decision to the transport.
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

    /// Ends a call that is refused for the reason `why`; `note` records the deciding rule. If no calls are
    /// served, returns that error instead, which takes precedence over a refusal that another server might
    /// decide differently. Without a `reply`, the call is refused in any case.
    pub fn refuse(
        self,
        why: &'static str,
        reply: Option<&Reply>,
        note: impl FnOnce(&Uses),
    ) -> Result<(), CallError> {
        if let Some(Err(unserved)) = reply.map(|reply| self.permit(reply)) {
            // The call did not run, so there is no result to withhold.
            let _ = self.finish(unserved.outcome());
            return Err(unserved);
        }
        note(&self.uses);
        // The call did nothing, so there is no result to withhold.
        let _ = self.finish(Outcome::Refused(why));
        Ok(())
    }

    /// Records the policy problem, or the rule that refuses all calls, for the line of the call.
    fn refused_by_policy(&self, error: &OperatorError) -> CallError {
        let why = error.to_string();
        match error {
            OperatorError::NotAWorkspace(refusal) => {
                self.uses.denied("workspaces", &self.records.workspace, &refusal.why, refusal.decided_by);
            }
            OperatorError::Policy(problem) | OperatorError::Repository(problem) => {
                self.uses.denied("policy", "", &why, problem.place());
            }
            _ => self.uses.denied("policy", "", &why, BUILT_IN),
        }
        error.into()
    }

    /// Records the end of the call. Fails if the policy requires a line and it could not be written.
    pub fn finish(mut self, outcome: Outcome) -> Result<(), CallError> {
        self.record(outcome)
    }

    /// Returns the component that the call concerns: that of a plugin, or the ID of a built-in component.
    fn component(&self) -> Option<Component<'_>> {
        let tool = match self.subject {
            Subject::Tool { tool, .. } => tool,
            Subject::Unknown { .. } => return self.plugin.as_deref().map(label),
            Subject::Method(_) => return Some(Component::BuiltIn(BUILT_IN)),
        };
        match &tool.kind {
            Kind::Native(_) => None,
            Kind::Wasm { component, .. } | Kind::Plugin { component, .. } => Some(label_of(component)),
        }
    }

    /// Returns the kind of lines that share a budget with this one for each principal: those of refusals with one
    /// reason, and those of requests that cost the caller nothing.
    fn shares_budget(&self, outcome: Outcome) -> Option<&'static str> {
        match (&self.subject, outcome) {
            (_, Outcome::Refused(NOT_RECORDED)) => None,
            (_, Outcome::Refused(why)) => Some(why),
            (Subject::Method(method), outcome) if outcome != Outcome::Ok || is_cheap(method) => Some(method),
            _ => None,
        }
    }

    /// Returns the cost of the call: this thread, its commands, and the store.
    fn cost(&self) -> Cost {
        let Some(worked) = self.worked else { return Cost::default() };
        let processor = threads::time().saturating_sub(worked) + self.uses.processor();
        Cost { processor, stored: self.uses.stored_bytes(), ..Cost::default() }
    }

    fn record(&mut self, outcome: Outcome) -> Result<(), CallError> {
        self.is_finished = true;
        let Some(number) = self.number else { return self.write(outcome) };
        if !self.records.unfinished.claim(number) {
            // The server ends, and has written the line.
            return Ok(());
        }
        let written = self.write(outcome);
        self.records.unfinished.remove(number);
        written
    }

    fn write(&self, outcome: Outcome) -> Result<(), CallError> {
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
            component: self.component().and_then(Component::id),
            uses: &self.uses,
            time: self.time,
            duration,
            outcome,
            cost,
        });
        let Some(audit) = records.audit() else { return Ok(()) };
        let in_force = records.in_force();
        let entry = Entry {
            time: self.time,
            origin: self.uses.origin().unwrap_or_else(|| in_force.origin()),
            client: self.client.as_deref(),
            tool,
            component: self.component(),
            uses: &self.uses,
            duration,
            outcome,
            arguments: self.subject.arguments().filter(|_| audit.arguments),
        };
        if let (Some(kind), Some(principal)) = (self.shares_budget(outcome), principal)
            && !audit.refusals.has_line(principal, kind, Instant::now(), || {
                let mut line = Vec::new();
                entry.push(&mut line);
                line
            })
        {
            return Ok(());
        }
        let is_full = audit.spool.push(|out| entry.push(out));
        if audit.required {
            // A call refused for this reason has no result to withhold.
            let is_run = outcome != Outcome::Refused(NOT_RECORDED);
            // The last attempt was a moment ago, so do not retry immediately.
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
            _ = audit.drain();
        }
        Ok(())
    }
}

impl Records {
    /// Counts the resources of a background command for its caller.
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

    /// Records a background command that was denied something after its call.
    pub(super) fn record_task(&self, uses: &Uses, duration: Duration) {
        let Some(audit) = self.audit() else { return };
        let in_force = self.in_force();
        let began = time::now().saturating_sub(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
        let entry = Entry {
            time: began,
            origin: uses.origin().unwrap_or_else(|| in_force.origin()),
            client: uses.client().map(|client| &**client),
            tool: TASK,
            component: None,
            uses,
            duration,
            outcome: Outcome::Ok,
            arguments: None,
        };
        audit.spool.push(|out| entry.push(out));
        _ = audit.drain();
    }

    /// Records that a changed policy took effect. `before` names the policy until then, and `lost` are the headers of the
    /// sections in which something was taken away; `None` if there was no usable policy.
    pub fn record_policy_change(&self, before: &str, lost: Option<&str>) {
        let Some(audit) = self.audit() else { return };
        let uses = Uses::default();
        let (effect, lost) = match lost {
            None => ("every tool was refused until then", ""),
            Some("") => ("takes nothing away", ""),
            Some(lost) => ("takes something away in ", lost),
        };
        // The end of a long text is cut.
        uses.allowed("policy", format_args!("before it: {before}; {effect}{lost}"), BUILT_IN);
        self.push_policy_change(audit, &uses, Outcome::Ok);
    }

    /// Records that a changed policy cannot be used, and why another one stays in force.
    pub fn record_kept_policy(&self, before: &str, why: &str) {
        let Some(audit) = self.audit() else { return };
        let uses = Uses::default();
        uses.denied("policy", "", &format!("before it: {before}; {why}"), BUILT_IN);
        self.push_policy_change(audit, &uses, Outcome::Refused("policy"));
    }

    fn push_policy_change(&self, audit: &Audit, uses: &Uses, outcome: Outcome) {
        let in_force = self.in_force();
        let entry = Entry {
            time: time::now(),
            origin: in_force.origin(),
            client: None,
            tool: POLICY_CHANGE,
            component: None,
            uses,
            duration: Duration::ZERO,
            outcome,
            arguments: None,
        };
        audit.spool.push(|out| entry.push(out));
        _ = audit.drain();
    }
}

impl Records {
    /// Tests whether a decision of the user can be recorded, if the policy requires it.
    pub fn check_decision(&self) -> Result<(), CallError> {
        self.audit_admission().map_err(|unserved| refusal("was not carried out", &unserved))
    }

    /// Records a decision made on the command line before it takes effect, or the refusal of one. Fails if
    /// the policy requires a line and it could not be written.
    pub fn record_decision(
        &self,
        what: &str,
        component: Option<Component<'_>>,
        uses: &Uses,
        outcome: Outcome,
    ) -> Result<(), CallError> {
        let Some(audit) = self.audit() else { return Ok(()) };
        let person = ClientName::new("scorpiox-code", env!("CARGO_PKG_VERSION"));
        let in_force = self.in_force();
        let entry = Entry {
            time: time::now(),
            origin: in_force.origin(),
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
        written.or_else(|error| {
            // A decision that is not carried out must not be recorded as done.
            if !audit.required || outcome != Outcome::Ok {
                audit.leave();
            }
            if audit.required { Err(refusal("was not carried out", &error)) } else { Ok(()) }
        })
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            // Reached only on a panic.
            let _ = self.record(Outcome::Fault("internal"));
        }
    }
}

impl Audit {
    /// Writes pending lines. Warns the operator once if that fails.
    pub(super) fn drain(&self) -> Result<(), Arc<LogError>> {
        self.wrote(self.spool.drain()).inspect(|()| self.wake_exports())
    }

    /// Leaves the lines that could not be written for the next process.
    pub(super) fn leave(&self) {
        match self.spool.leave() {
            Ok(0) => {}
            Ok(count) => {
                tracing::warn!(
                    "lines of the audit that wait for the next process that writes to it: {count}"
                );
            }
            Err((count, error)) => tracing::error!("lines of the audit that are lost: {count} ({error})"),
        }
    }

    /// Processes the result of a write. Warns the operator once per failure period, and updates the metrics.
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

    /// Returns `true` if the last attempt to write lines failed.
    pub(super) fn is_blocked(&self) -> bool {
        self.is_blocked.load(Ordering::Relaxed)
    }
}

/// Returns `true` if a request only lists names, or completes one.
fn is_cheap(method: &str) -> bool {
    method.ends_with("/list") || method == "completion/complete"
}

/// Name used in lines about background commands, which are not calls.
const TASK: &str = "background command";
/// Name used in lines about changes of the policy.
const POLICY_CHANGE: &str = "changed policy";

pub(crate) fn refusal(what: &'static str, error: &dyn Display) -> CallError {
    CallError::Unrecorded { what, error: error.to_string() }
}

/// Returns a component as lines name it.
pub(super) fn label_of(component: &scorpiox_runtime::Component) -> Component<'_> {
    component.plugin.as_ref().map_or(Component::BuiltIn(component.built_in), label)
}

/// Returns the component of a plugin as lines name it.
fn label(plugin: &PluginIdentity) -> Component<'_> {
    let PluginIdentity { name, version, hash, component } = plugin;
    Component::Plugin(PluginLabel { name, version, hash, component })
}
