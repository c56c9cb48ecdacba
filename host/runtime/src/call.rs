//! Runs one call of a component, from instantiation to the commit.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use scorpiox_executor::{Cancel, threads};
use scorpiox_store::{BriefStore, LazyTransaction, Mode, StoreError};
use scorpiox_workspace_config::Source;
use wasmtime::{Store, UpdateDeadline};

use super::component::{Calls, Loaded, Places};
use super::engines::Engines;
use super::fault::Stop;
use super::instances::Instances;
use super::limits::{Meter, OUTPUT_LIMIT};
use super::pool::MAX_SHIPPED_CALLS;
use super::ticker::TICK;
use super::wait::wait;
use super::{CallState, Component, Fault};
use crate::bindings::any_tool::exports::scorpiox::tool::tool::{ToolDefinition, ToolError, ToolResult};
use crate::bindings::any_tool::scorpiox::tool::types::Content;
use crate::bindings::plan_aware::exports::scorpiox::tool::plan_status::Plan;
use crate::bindings::skill_reader::exports::scorpiox::tool::skill_catalogue::{Catalogue, Inspection};
use crate::bindings::timed::exports::scorpiox::tool::timer_handler::Delivery;
use scorpiox_capabilities::Contexts;
use scorpiox_capabilities::contents::RichContent;
use scorpiox_capabilities::setup::{Grantee, SessionId, Setup};
use scorpiox_capabilities::skills::SkillView;
use scorpiox_capabilities::view::CallCtx;
use scorpiox_wasi::secrets::Secrets;
use scorpiox_wasi::{Program, WasiSource, WasiState};

/// Runs components. The engines are created on the first call.
#[derive(Default)]
pub struct Runtime {
    /// Running calls of plugin components, over all plugins.
    pub(super) shipped: Places,
    /// Plugin instances retained between calls.
    pub(super) instances: Arc<Instances>,
    engines: OnceLock<Result<Engines, String>>,
}

/// Outcome of a completed call.
pub struct Finished<T> {
    /// Value returned by the guest.
    pub value: T,
    /// `true` if timers were armed or disarmed.
    pub timers_changed: bool,
    /// `true` if messages wait for a result; `None` if the call did not read the store.
    pub messages_waiting: Option<bool>,
    /// Skill folders as the call saw them.
    pub skills: SkillView,
    /// Content attached by the call in addition to the guest's value.
    pub attached: Vec<RichContent>,
}

impl<T> Finished<T> {
    pub(super) fn map<U>(self, map: impl FnOnce(T) -> U) -> Finished<U> {
        let Self { value, timers_changed, messages_waiting, skills, attached } = self;
        Finished { value: map(value), timers_changed, messages_waiting, skills, attached }
    }
}

impl Runtime {
    /// Advances the epoch, so that running guests notice deadlines and cancellation.
    pub fn tick(&self) {
        if let Some(Ok(engines)) = self.engines.get() {
            engines.increment_epoch();
        }
    }

    /// Drops the retained instances of a session that ended.
    pub fn end_session(&self, session: SessionId) {
        self.instances.end_session(session);
    }

    /// Drops retained instances that have been idle for [`IDLE`](super::IDLE). Returns `true` if any remain.
    /// A background task also does this.
    pub fn end_idle(&self, now: Instant) -> bool {
        self.instances.end_idle(now)
    }

    /// Loads a component without calling it; fails if it cannot be loaded.
    pub fn check(&self, component: &Component) -> Result<(), Fault> {
        component.load(self.engines()?, &Cancel::default()).map(drop)
    }

    /// Calls a tool.
    pub fn call_tool(
        &self,
        component: &Component,
        setup: &Setup,
        name: &str,
        arguments: &str,
    ) -> Result<Finished<Result<ToolResult, ToolError>>, Fault> {
        let _place = component.enter().ok_or(Fault::Busy(component.most_calls))?;
        let of_shipped = component.is_shipped().then(|| self.shipped.enter(MAX_SHIPPED_CALLS));
        if matches!(of_shipped, Some(None)) {
            return Err(Fault::Busy(MAX_SHIPPED_CALLS));
        }
        let loaded = component.load(self.engines()?, &setup.cancel)?;
        if let Calls::Functions(functions) = &loaded.calls
            && let Some(exported) = functions.kept(name)
        {
            return self.call_kept(component, setup, loaded, (functions, exported), arguments);
        }
        let finished = self.transact(
            component,
            setup,
            |loaded, store| match &loaded.calls {
                Calls::Tool(tool) => {
                    let tool = tool.instantiate(&mut *store)?;
                    let called = tool.scorpiox_tool_tool().call_call(&mut *store, name, arguments)?;
                    Ok(Noted::new(called, By::Author, store.data()))
                }
                Calls::Functions(functions) if !loaded.waits => {
                    let called = functions.call(&loaded.template, &mut *store, component, name, arguments)?;
                    Ok(Noted::new(called, By::Host, store.data()))
                }
                Calls::WaitingTool(tool) => {
                    let called = waiting(component, setup, async {
                        let tool = tool.instantiate_async(&mut *store).await?;
                        tool.scorpiox_tool_tool().call_call(&mut *store, name, arguments).await
                    })?;
                    Ok(Noted::new(called, By::Author, store.data()))
                }
                Calls::Functions(functions) => {
                    let call = functions.call_waiting(&loaded.template, store, component, name, arguments);
                    let called = waiting(component, setup, call)?;
                    Ok(Noted::new(called, By::Host, store.data()))
                }
            },
            Noted::verdict,
        )?;
        Ok(finished.map(Noted::told))
    }

    /// Lists the tools of a component whose list depends on its environment.
    pub fn list_tools(&self, component: &Component, setup: &Setup) -> Result<Vec<ToolDefinition>, Fault> {
        let finished = self.transact(
            component,
            setup,
            |loaded, store| {
                let Calls::Tool(tool) = &loaded.calls else { return Ok(Vec::new()) };
                tool.instantiate(&mut *store)?.scorpiox_tool_tool().call_list_tools(store)
            },
            |_| Verdict::Discard,
        )?;
        Ok(finished.value)
    }

    /// Returns the active plan, as reported by the component that manages plans. Commands wait for this
    /// answer, so the call gives up quickly if the store does not respond.
    pub fn active_plan(&self, component: &Component, setup: &Setup) -> Result<Option<Plan>, Fault> {
        let setup = Setup { store: BriefStore::of(&setup.store), ..setup.clone() };
        let finished = self.transact(
            component,
            &setup,
            |loaded, store| {
                let plan = exported(loaded.plan.as_ref(), "plan-status")?.instantiate(&mut *store)?;
                plan.scorpiox_tool_plan_status().call_active(store)
            },
            |_| Verdict::Discard,
        )?;
        finished.value.map_err(Fault::Unread)
    }

    /// Reads the skill catalogue from the skill folders. Also returns the folders that the catalogue's IDs
    /// refer to.
    pub fn skill_catalogue(
        &self,
        component: &Component,
        setup: &Setup,
    ) -> Result<(Catalogue, Vec<Source>), Fault> {
        let finished = self.transact(
            component,
            setup,
            |loaded, store| {
                let skills = exported(loaded.skills.as_ref(), "skill-catalogue")?.instantiate(&mut *store)?;
                skills.scorpiox_tool_skill_catalogue().call_read_catalogue(store)
            },
            |_| Verdict::Discard,
        )?;
        let sources = finished.skills.sources().map_err(Fault::Skills)?;
        Ok((finished.value, sources.to_vec()))
    }

    /// Returns a skill as expanded for `arguments`, or the reason why it cannot be invoked. `id` is the
    /// skill's ID in the catalogue of the same folders.
    pub fn inspect_skill(
        &self,
        component: &Component,
        setup: &Setup,
        id: u32,
        arguments: &str,
    ) -> Result<Result<Inspection, String>, Fault> {
        let finished = self.transact(
            component,
            setup,
            |loaded, store| {
                let skills = exported(loaded.skills.as_ref(), "skill-catalogue")?.instantiate(&mut *store)?;
                skills.scorpiox_tool_skill_catalogue().call_inspect(store, id, arguments)
            },
            |_| Verdict::Discard,
        )?;
        Ok(finished.value)
    }

    /// Fires a timer within `transaction`, which the caller commits.
    pub fn fire_timer(
        &self,
        component: &Component,
        setup: &Setup,
        transaction: LazyTransaction,
        timer: (u32, u64),
        now: u64,
    ) -> Result<(Result<Option<Delivery>, String>, LazyTransaction), Fault> {
        let loaded = component.load(self.engines()?, &setup.cancel)?;
        let (id, due) = timer;
        let (value, state) = run(component, setup, transaction, loaded, |loaded, store| {
            let handler = exported(loaded.timed.as_ref(), "timer-handler")?.instantiate(&mut *store)?;
            handler.scorpiox_tool_timer_handler().call_fire(store, id, due, now)
        })?;
        Ok((value.map_err(|error| format!("{error:?}")), state.into_contexts().call.transaction))
    }

    /// Runs `body` in a new transaction. On a conflict with another server's write, runs it again in a
    /// transaction that takes the write lock first.
    pub(super) fn transact<T>(
        &self,
        component: &Component,
        setup: &Setup,
        body: impl Fn(&Loaded, &mut Store<CallState>) -> wasmtime::Result<T>,
        judge: impl Fn(&T) -> Verdict,
    ) -> Result<Finished<T>, Fault> {
        let loaded = component.load(self.engines()?, &setup.cancel)?;
        let once = |mode| {
            let (value, state) = run(component, setup, setup.transaction(mode), loaded, &body)?;
            settle(component, state.into_contexts(), value, &judge)
        };
        match once(Mode::ReadFirst) {
            // Commands and requests cannot be undone, so a call with such effects is not repeated.
            Err(Fault::Database(StoreError::Conflict)) if !component.has_effects() => once(Mode::Write),
            other => other,
        }
    }

    pub(super) fn engines(&self) -> Result<&Engines, Fault> {
        let engines = self.engines.get_or_init(|| Engines::new().map_err(|error| format!("{error:#}")));
        engines.as_ref().map_err(|error| Fault::Unusable(error.clone()))
    }
}

/// Commits or discards the writes of a call, according to `judge`.
pub(super) fn settle<T>(
    component: &Component,
    contexts: Contexts,
    value: T,
    judge: impl Fn(&T) -> Verdict,
) -> Result<Finished<T>, Fault> {
    let Contexts { call: CallCtx { mut transaction, .. }, timer, skills, attachments, .. } = contexts;
    let messages_waiting = transaction.has_messages()?;
    let verdict = match judge(&value) {
        Verdict::Keep { output_bytes } => {
            Verdict::Keep { output_bytes: output_bytes.saturating_add(attachments.bytes) }
        }
        Verdict::Discard => Verdict::Discard,
    };
    match verdict {
        Verdict::Keep { output_bytes } if output_bytes > component.limits.output_bytes => {
            return Err(Fault::Output {
                size: output_bytes,
                limit: component.limits.output_bytes,
                set_by: component.is_shipped().then_some(OUTPUT_LIMIT),
            });
        }
        Verdict::Keep { .. } => transaction.commit()?,
        Verdict::Discard => {}
    }
    Ok(Finished {
        value,
        timers_changed: timer.changed,
        messages_waiting,
        skills: skills.view,
        attached: attachments.attached,
    })
}

/// Runs `body` in a new store.
fn run<T>(
    component: &Component,
    setup: &Setup,
    transaction: LazyTransaction,
    loaded: &Loaded,
    body: impl FnOnce(&Loaded, &mut Store<CallState>) -> wasmtime::Result<T>,
) -> Result<(T, CallState), Fault> {
    let secrets = Arc::new(secrets(component)?);
    let mut store = store(component, setup, loaded, &secrets, transaction);
    stop_in_time(&mut store, component, setup.cancel.clone());
    let outcome = body(loaded, &mut store);
    let state = store.into_data();
    if let Some(wasi) = &state.wasi {
        if outcome.is_err() {
            wasi.mark_shown();
        }
        wasi.log(&component.name);
    }
    setup.uses.took_memory(state.meter.used);
    match outcome {
        Ok(value) => Ok((value, state)),
        Err(error) => {
            tracing::debug!(component = &*component.name, "call failed: {error:?}");
            let fault = Fault::from_run(&error, &component.limits, state.meter.memory_refused);
            let (said, unset) = state.wasi.map(|wasi| wasi.last_words()).unwrap_or_default();
            Err(fault.after(said, setup.uses.last_failure(), unset, &error))
        }
    }
}

/// Returns the secrets that the user set for a component.
pub(super) fn secrets(component: &Component) -> Result<Secrets, Fault> {
    let secrets = component.secrets.as_ref().map(|read| read()).transpose().map_err(Fault::Secret)?;
    Ok(secrets.unwrap_or_default())
}

/// Creates the wasmtime store for a new call.
pub(super) fn store(
    component: &Component,
    setup: &Setup,
    loaded: &Loaded,
    secrets: &Arc<Secrets>,
    transaction: LazyTransaction,
) -> Store<CallState> {
    let wasi = || {
        let source = Arc::new(wasi_source(component, setup, secrets));
        Box::new(WasiState::new(source, Program::default()))
    };
    let state = CallState::new(
        contexts(component, setup, transaction),
        loaded.waits.then(wasi),
        Meter::new(&component.limits, component.is_shipped()),
    );
    let mut store = Store::new(loaded.template.engine(), state);
    CallState::limit(&mut store);
    if component.is_shipped() {
        store.set_hostcall_fuel(SHIPPED_TRANSFER_BYTES);
        if let Some(tasks) = store.concurrent_resource_table() {
            tasks.set_max_capacity(MAX_TASK_PARTS);
        }
    }
    store
}

/// Origin of the texts in a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The component wrote them, in addition to the structured data.
    Author,
    /// The host rendered them from the structured data.
    Host,
}

/// A result with notes for its reader about requests that WASI could not serve.
pub(super) struct Noted {
    called: Result<ToolResult, ToolError>,
    notes: Vec<String>,
    /// Remarks on the result or the error.
    remarks: Vec<String>,
    by: By,
}

impl Noted {
    pub(super) fn new(called: Result<ToolResult, ToolError>, by: By, state: &CallState) -> Self {
        let called = match &state.wasi {
            Some(wasi) => withheld(called, wasi),
            None => called,
        };
        let said = match &called {
            Ok(result) => texts(result).chain(result.structured.as_deref()).collect::<Vec<_>>().join("\n"),
            Err(
                ToolError::InvalidInput(said)
                | ToolError::Denied(said)
                | ToolError::NotFound(said)
                | ToolError::TimedOut(said)
                | ToolError::Failed(said),
            ) => said.clone(),
            Err(ToolError::Cancelled) => String::new(),
        };
        let notes = state.wasi.as_ref().map(|wasi| wasi.notes(&said)).unwrap_or_default();
        let remarks = state.wasi.as_ref().map(|wasi| wasi.remarks(&said, called.is_err()));
        Self { called, notes, remarks: remarks.unwrap_or_default(), by }
    }

    pub(super) fn verdict(&self) -> Verdict {
        match &self.called {
            Ok(result) => Verdict::Keep { output_bytes: output_bytes(result, self.by) },
            Err(_) => Verdict::Discard,
        }
    }

    /// Returns the result with the notes appended, which count toward no limit. For an error, the refusals
    /// carry them.
    pub(super) fn told(self) -> Result<ToolResult, ToolError> {
        let Self { mut called, notes, remarks, .. } = self;
        match &mut called {
            Ok(result) => result.content.extend(notes.into_iter().chain(remarks).map(Content::Text)),
            Err(
                ToolError::InvalidInput(said)
                | ToolError::Denied(said)
                | ToolError::NotFound(said)
                | ToolError::TimedOut(said)
                | ToolError::Failed(said),
            ) => said.extend(remarks.iter().flat_map(|remark| ["\n", remark])),
            Err(ToolError::Cancelled) => {}
        }
        called
    }
}

/// Redacts the secrets that the component reads as variables.
fn withheld(called: Result<ToolResult, ToolError>, wasi: &WasiState) -> Result<ToolResult, ToolError> {
    let hide = |text: String| wasi.withheld(text);
    let content = |content| match content {
        Content::Text(text) => Content::Text(hide(text)),
        other => other,
    };
    match called {
        Ok(ToolResult { content: all, structured }) => Ok(ToolResult {
            content: all.into_iter().map(content).collect(),
            structured: structured.map(hide),
        }),
        Err(ToolError::InvalidInput(said)) => Err(ToolError::InvalidInput(hide(said))),
        Err(ToolError::Denied(said)) => Err(ToolError::Denied(hide(said))),
        Err(ToolError::NotFound(said)) => Err(ToolError::NotFound(hide(said))),
        Err(ToolError::TimedOut(said)) => Err(ToolError::TimedOut(hide(said))),
        Err(ToolError::Failed(said)) => Err(ToolError::Failed(hide(said))),
        Err(ToolError::Cancelled) => Err(ToolError::Cancelled),
    }
}

fn texts(result: &ToolResult) -> impl Iterator<Item = &str> {
    result.content.iter().filter_map(|content| match content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

/// Creates the capabilities' state for a call.
pub(super) fn contexts(component: &Component, setup: &Setup, transaction: LazyTransaction) -> Contexts {
    let grantee = Grantee {
        name: &component.name,
        approved: component.approved.as_ref(),
        store_bytes: component.limits.store_bytes,
        output_bytes: component.limits.output_bytes,
        waiting: component.is_shipped().then_some(component.limits.waiting),
    };
    Contexts::new(setup, &grantee, transaction)
}

/// Returns the source from which the WASI state of a call is created.
pub(super) fn wasi_source(component: &Component, setup: &Setup, secrets: &Arc<Secrets>) -> WasiSource {
    WasiSource {
        name: component.name.shown().to_owned(),
        approved: component.approved.clone().unwrap_or_default(),
        secrets: Arc::clone(secrets),
        web: Some(Arc::clone(&setup.web)),
        shell: Some(Arc::clone(&setup.shell)),
        uses: setup.uses.clone(),
        read_only: setup.read_only,
    }
}

/// Runs an asynchronous call to completion, within the component's limits.
pub(super) fn waiting<T>(
    component: &Component,
    setup: &Setup,
    call: impl Future<Output = wasmtime::Result<T>>,
) -> wasmtime::Result<T> {
    let handle = setup.asynchronous.handle().map_err(wasmtime::Error::msg)?;
    let worked_until = threads::time() + component.limits.cpu;
    let is_overdue = || threads::time() > worked_until;
    wait(call, &setup.cancel, component.limits.waiting, is_overdue, handle).map_err(wasmtime::Error::from)?
}

/// Maximum bytes that a plugin component can transfer to the host at the same time. On the host, an item of a
/// list takes as much as a [`Val`](wasmtime::component::Val), regardless of its type.
pub(super) const SHIPPED_TRANSFER_BYTES: usize = 48 * 1024 * 1024;

/// Maximum entries in a call's table of tasks, streams and futures. A stream takes four.
const MAX_TASK_PARTS: usize = 4096;

/// Decision about a call's writes.
pub(super) enum Verdict {
    Keep { output_bytes: usize },
    Discard,
}

fn exported<'a, T>(export: Option<&'a T>, name: &str) -> wasmtime::Result<&'a T> {
    export.ok_or_else(|| wasmtime::Error::msg(format!("the component does not export {name}")))
}

/// Ends the guest at its deadline or when it is cancelled. The check runs at each tick while the guest
/// executes, so the number of ticks measures the guest's running time.
///
/// For plugin components, the time that the host works (thread CPU clock) and waits (wall clock) on their
/// behalf is also limited. Otherwise, they could make the host exceed limits that apply to the guest.
pub(super) fn stop_in_time(store: &mut Store<CallState>, component: &Component, cancel: Cancel) {
    let limits = &component.limits;
    let mut ticks_left = limits.cpu.as_nanos() / TICK.as_nanos();
    let bounds = component
        .is_shipped()
        .then(|| (threads::time() + limits.cpu, Instant::now() + limits.cpu + limits.waiting));
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(move |store| {
        if let Some((worked_until, waits_until)) = bounds {
            if threads::time() > worked_until {
                return Err(Stop::Deadline.into());
            }
            // Time spent waiting for the user's answer does not count.
            if Instant::now() > waits_until + store.data().asked_for() {
                return Err(Stop::Waited.into());
            }
        }
        if let Some(reason) = cancel.reason() {
            return Err(Stop::Cancelled(reason).into());
        }
        if ticks_left == 0 {
            return Err(Stop::Deadline.into());
        }
        ticks_left -= 1;
        Ok(UpdateDeadline::Continue(1))
    });
}

/// JSON around a text that is the data of a result.
const AROUND_TEXT: &str = r#"{"result":""}"#;

/// Returns the size of a result in bytes. If texts and data say the same, only the longer of the two counts.
fn output_bytes(result: &ToolResult, by: By) -> usize {
    let says_twice =
        by == By::Host || result.structured.as_deref().is_some_and(|data| texts(result).eq([data]));
    let (texts, mut others) = (texts(result).map(str::len).sum::<usize>(), 0);
    for content in &result.content {
        match content {
            Content::Text(_) => {}
            Content::Image(image) => others += image.data.len() + image.mime_type.len(),
            Content::Document(document) => {
                let mime_type = document.mime_type.as_ref().map_or(0, String::len);
                others += document.uri.len() + document.text.len() + mime_type;
            }
        }
    }
    let data = result.structured.as_ref().map_or(0, String::len);
    others + if says_twice { data.saturating_sub(AROUND_TEXT.len()).max(texts) } else { data + texts }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::any_tool::scorpiox::tool::types::Image;

    fn counted(text: &str, structured: &serde_json::Value) -> usize {
        let image = Content::Image(Image { data: vec![0; 100], mime_type: "image/png".to_owned() });
        let content = vec![Content::Text(text.to_owned()), image];
        let result = ToolResult { content, structured: Some(structured.to_string()) };
        output_bytes(&result, By::Host) - 109
    }

    #[test]
    fn what_text_and_data_both_say_counts_once() {
        let text = "x".repeat(1000);
        assert_eq!(counted(&text, &serde_json::json!({ "result": text })), 1000);
        assert_eq!(counted(&text, &serde_json::json!({})), 1000);
        let lines = "x\n".repeat(1000);
        assert_eq!(
            counted(&lines, &serde_json::json!({ "result": lines })),
            3000,
            "as it is written in JSON"
        );
    }

    #[test]
    fn an_author_who_says_different_things_pays_for_both() {
        let counted = |text: &str, data: &str| {
            let content = vec![Content::Text(text.to_owned())];
            output_bytes(&ToolResult { content, structured: Some(data.to_owned()) }, By::Author)
        };
        let data = format!(r#"{{"a":"{}"}}"#, "x".repeat(992));
        assert_eq!(counted(&"y".repeat(1000), &data), 2000);
        assert_eq!(counted(&data, &data), 1000, "the same");
    }
}
