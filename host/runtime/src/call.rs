//! One call of a component, from the instance to the commit.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use scorpiox_executor::{Cancel, threads};
use scorpiox_operator::Source;
use scorpiox_store::{BriefStore, LazyTransaction, Mode, StoreError};
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

/// The engines. They start with the first call.
#[derive(Default)]
pub struct Runtime {
    /// Calls of components of others, over all of them.
    pub(super) shipped: Places,
    /// What is kept of them between calls.
    pub(super) instances: Arc<Instances>,
    engines: OnceLock<Result<Engines, String>>,
}

/// A finished call.
pub struct Finished<T> {
    /// What the guest returned.
    pub value: T,
    /// Whether timers were armed or disarmed.
    pub timers_changed: bool,
    /// Whether messages wait for a result, where the call looked into the store.
    pub messages_waiting: Option<bool>,
    /// The skill folders as the call saw them.
    pub skills: SkillView,
    /// Contents beside what the guest returned.
    pub attached: Vec<RichContent>,
}

impl Runtime {
    /// Advances the epoch, which lets running guests notice deadlines and cancels.
    pub fn tick(&self) {
        if let Some(Ok(engines)) = self.engines.get() {
            engines.increment_epoch();
        }
    }

    /// Ends what is kept for a session, which has ended.
    pub fn end_session(&self, session: SessionId) {
        self.instances.end_session(session);
    }

    /// Ends what is kept and was not called for a while; whether anything is left. This happens by itself.
    pub fn end_idle(&self, now: Instant) -> bool {
        self.instances.end_idle(now)
    }

    /// Loads a component without calling it; says why if that is impossible.
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
        self.transact(
            component,
            setup,
            |loaded, store| match &loaded.calls {
                Calls::Tool(tool) => {
                    let tool = tool.instantiate(&mut *store)?;
                    tool.scorpiox_tool_tool().call_call(store, name, arguments)
                }
                Calls::Functions(functions) if !loaded.waits => {
                    functions.call(&loaded.template, store, component, name, arguments)
                }
                Calls::WaitingTool(tool) => waiting(component, setup, async {
                    let tool = tool.instantiate_async(&mut *store).await?;
                    tool.scorpiox_tool_tool().call_call(store, name, arguments).await
                }),
                Calls::Functions(functions) => {
                    let call = functions.call_waiting(&loaded.template, store, component, name, arguments);
                    waiting(component, setup, call)
                }
            },
            Verdict::of_result,
        )
    }

    /// The tools of a component whose list depends on what it finds.
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

    /// The plan that is active, as the component that knows says. Commands stand behind this question: a store that does not
    /// answer is waited for briefly.
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

    /// What the component that knows skills makes of the skill folders, and the folders that
    /// its ids mean.
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
        Ok((finished.value, finished.skills.sources().to_vec()))
    }

    /// A skill as it is given for these arguments, by its id in the catalogue that the same folders give; or why
    /// nobody can invoke it.
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

    /// Runs `body` in a transaction of its own. When another server wrote in between, it
    /// runs again in a transaction that nobody can get in between.
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
            // A command that ran, or a request that was made, cannot be undone.
            Err(Fault::Database(StoreError::Conflict)) if !component.has_effects() => once(Mode::Write),
            other => other,
        }
    }

    pub(super) fn engines(&self) -> Result<&Engines, Fault> {
        let engines = self.engines.get_or_init(|| Engines::new().map_err(|error| format!("{error:#}")));
        engines.as_ref().map_err(|error| Fault::Unusable(error.clone()))
    }
}

/// Keeps what a call stored, or not.
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
        wasi.log(&component.name);
    }
    setup.uses.took_memory(state.meter.used);
    match outcome {
        Ok(value) => Ok((value, state)),
        Err(error) => {
            tracing::debug!(component = &*component.name, "call failed: {error:?}");
            let fault = Fault::from_run(&error, &component.limits, state.meter.memory_refused);
            Err(fault.after(state.wasi.map(|wasi| wasi.said()).unwrap_or_default()))
        }
    }
}

/// What a person set for a component.
pub(super) fn secrets(component: &Component) -> Result<Secrets, Fault> {
    let secrets = component.secrets.as_ref().map(|read| read()).transpose().map_err(Fault::Secret)?;
    Ok(secrets.unwrap_or_default())
}

/// A store for a call that begins.
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

/// What the capabilities have for a call.
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

/// What the WASI of a call is made from.
pub(super) fn wasi_source(component: &Component, setup: &Setup, secrets: &Arc<Secrets>) -> WasiSource {
    WasiSource {
        name: component.name.strip_prefix("plugin/").unwrap_or(&component.name).to_owned(),
        approved: component.approved.clone().unwrap_or_default(),
        secrets: Arc::clone(secrets),
        web: Some(Arc::clone(&setup.web)),
        shell: Some(Arc::clone(&setup.shell)),
        uses: setup.uses.clone(),
        read_only: setup.read_only,
    }
}

/// Runs what may wait.
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

/// What the host holds at once of what a component of others gives it, in bytes. A list's items take
/// about forty bytes each there, whatever their type.
const SHIPPED_TRANSFER_BYTES: usize = 48 * 1024 * 1024;

/// Tasks, streams and futures of a call at once, of which the host keeps parts: a stream has four.
const MAX_TASK_PARTS: usize = 4096;

/// What becomes of a call's writes.
pub(super) enum Verdict {
    Keep { output_bytes: usize },
    Discard,
}

impl Verdict {
    pub(super) fn of_result(result: &Result<ToolResult, ToolError>) -> Self {
        match result {
            Ok(result) => Self::Keep { output_bytes: output_bytes(result) },
            Err(_) => Self::Discard,
        }
    }
}

fn exported<'a, T>(export: Option<&'a T>, name: &str) -> wasmtime::Result<&'a T> {
    export.ok_or_else(|| wasmtime::Error::msg(format!("the component does not export {name}")))
}

/// Ends the guest at its deadline or when it is cancelled. The check runs at each tick
/// that the guest lives through, so the ticks it saw are the time it ran.
///
/// What others ship is also held to the time that the host works and waits for it, as the thread's own
/// clock and the one on the wall tell: else it could have the host do what it may not do itself.
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
            // A person may take their time.
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

fn output_bytes(result: &ToolResult) -> usize {
    use crate::bindings::any_tool::scorpiox::tool::types::Content;
    let content = result.content.iter().map(|content| match content {
        Content::Text(text) => text.len(),
        Content::Image(image) => image.data.len() + image.mime_type.len(),
        Content::Document(document) => {
            document.uri.len() + document.text.len() + document.mime_type.as_ref().map_or(0, String::len)
        }
    });
    content.sum::<usize>() + result.structured.as_ref().map_or(0, String::len)
}
