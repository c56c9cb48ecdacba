//! Calls functions that take or return resources of their component. They run in the instance that is
//! retained for the client's session, where the resources live. No other call or session can reach it.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use scorpiox_capabilities::setup::Setup;
use scorpiox_component_json::Handle;
use scorpiox_store::Mode;
use wasmtime::Store;
use wasmtime::component::{ResourceAny, Val};

use super::call::{self, By, Finished, Noted, Runtime, Verdict, settle, waiting};
use super::component::Loaded;
use super::functions::{Called, Exported, Functions};
use super::instances::{End, Held, Kept, MAX_HANDLES, Made, Record, Slot, Turn};
use super::{Component, Fault};
use crate::bindings::any_tool::exports::scorpiox::tool::tool::ToolError;

/// Decoded input of a call.
struct Given {
    values: Vec<Val>,
    /// Handles whose ownership passes to the call.
    taken: BTreeSet<u64>,
}

/// Output of a call.
struct Gave {
    called: Called,
    is_sound: bool,
}

impl Runtime {
    /// Calls a function that takes or returns resources.
    pub(super) fn call_kept(
        &self,
        component: &Component,
        setup: &Setup,
        loaded: &Loaded,
        (functions, exported): (&Functions, &Exported),
        arguments: &str,
    ) -> Result<Finished<Called>, Fault> {
        let none = || Fault::Unusable("it keeps resources for a client, and this call is of none".to_owned());
        let slot = self.instances.slot(setup.session.ok_or_else(none)?, &(&component.name).into());
        let secrets = Arc::new(call::secrets(component)?);
        let made = Made { component: component.kept.id, read_only: setup.read_only, secrets };
        let mut turn = slot.turn(&setup.cancel, &made)?;
        let makers = Makers { component, functions, prefix: setup.prefix.as_deref() };
        let given = match prepare(exported, arguments, &turn, &makers) {
            Ok(given) => given,
            Err(error) => {
                let contexts = call::contexts(component, setup, setup.transaction(Mode::Write));
                return settle(component, contexts, Err(error), |_| Verdict::Discard);
            }
        };
        let kept = self.begun(component, setup, loaded, (&slot, &mut turn), made)?;
        let finished = run(component, setup, loaded, exported, given, kept, &mut turn);
        if turn.kept().is_some() {
            match setup.asynchronous.handle() {
                Ok(handle) => self.instances.watch(handle),
                // The next call checks for idle instances.
                Err(error) => tracing::warn!("idle instances of plugins are kept for longer: {error}"),
            }
        }
        finished
    }

    /// Prepares the retained instance for a new call, or creates the store of a new instance.
    fn begun(
        &self,
        component: &Component,
        setup: &Setup,
        loaded: &Loaded,
        (slot, turn): (&Arc<Slot>, &mut Turn<'_>),
        made: Made,
    ) -> Result<Box<Kept>, Fault> {
        if let Some(counterpart) = &setup.counterpart {
            counterpart.runs_once();
        }
        let transaction = setup.transaction(Mode::Write);
        if let Some(mut kept) = turn.take() {
            let source = call::wasi_source(component, setup, &made.secrets);
            kept.store.data_mut().begin(call::contexts(component, setup, transaction), source);
            return Ok(kept);
        }
        self.instances.make_room(slot)?;
        component.kept.add(slot);
        let store = call::store(component, setup, loaded, &made.secrets, transaction);
        Ok(Box::new(Kept { store, instance: None, handles: BTreeMap::new(), made }))
    }
}

/// Runs a call, and puts the instance back if it is still usable and has handles.
fn run(
    component: &Component,
    setup: &Setup,
    loaded: &Loaded,
    exported: &Exported,
    given: Given,
    mut kept: Box<Kept>,
    turn: &mut Turn<'_>,
) -> Result<Finished<Called>, Fault> {
    let had = kept.handles.len();
    call::stop_in_time(&mut kept.store, component, setup.cancel.clone());
    let gave = in_instance(&mut kept, loaded, component, (exported, given), &mut turn.record);
    let gave = waiting(component, setup, gave)
        .map(|Gave { called, is_sound }| (Noted::new(called, By::Host, kept.store.data()), is_sound));
    let (contexts, (said, unset)) = kept.store.data_mut().pause(&component.name, gave.is_err());
    let meter = &kept.store.data().meter;
    setup.uses.took_memory(meter.used);
    let finished = match gave {
        Ok((noted, is_sound)) => {
            let finished = settle(component, contexts, noted, Noted::verdict);
            finished.map(|finished| (finished.map(Noted::told), is_sound))
        }
        Err(error) => {
            tracing::debug!(component = &*component.name, "call failed: {error:?}");
            let fault = Fault::from_run(&error, &component.limits, meter.memory_refused);
            Err(fault.after(said, setup.uses.last_failure(), unset, &error))
        }
    };
    match finished {
        Ok((finished, true)) => {
            // Without a handle, nothing can reach the instance's resources.
            if !kept.handles.is_empty() {
                turn.keep(kept);
            }
            Ok(finished)
        }
        Ok((finished, false)) => {
            turn.ended(End::Left { function: exported.name.clone() });
            Ok(finished)
        }
        Err(fault) => {
            turn.ended(End::Fault { function: exported.name.clone(), kind: fault.kind() });
            Err(fault.with(had))
        }
    }
}

/// Calls the function. An error means that the instance is unusable.
async fn in_instance(
    kept: &mut Kept,
    loaded: &Loaded,
    component: &Component,
    (exported, given): (&Exported, Given),
    record: &mut Record,
) -> wasmtime::Result<Gave> {
    let instance = match kept.instance {
        Some(instance) => instance,
        None => *kept.instance.insert(loaded.template.instantiate_async(&mut kept.store).await?),
    };
    let Given { values, taken } = given;
    for number in taken {
        kept.handles.remove(&number);
    }
    if exported.is_drop() {
        return dropped(&mut kept.store, exported, &values).await;
    }
    let function = exported.function(&instance, &mut kept.store)?;
    let mut results = exported.results();
    let mut called = function.call_async(&mut kept.store, &values, &mut results).await;
    let mut streamed = None;
    let mut is_whole = true;
    if called.is_ok() && loaded.waits {
        let rest = exported.rest(&mut kept.store, &mut results, component.limits.output_bytes).await?;
        streamed = rest.streamed;
        called = rest.finished.map(|whole| is_whole = whole);
    }
    let is_sound = called.is_ok() && is_whole;
    if exported.gives_handles() {
        // The handles would belong to an instance that is unusable.
        called?;
        if !is_whole {
            return Err(wasmtime::Error::msg("it left tasks behind, so that its resources cannot be kept"));
        }
    } else {
        super::functions::given(called, &results, &exported.name)?;
    }
    if let Some(refused) = named(kept, exported, &mut results, record).await? {
        return Ok(Gave { called: Err(refused), is_sound });
    }
    let image = component.images.get(&exported.name).copied();
    let called = match streamed {
        Some(bytes) => exported.outcome_of_stream(bytes, image, component.limits.output_bytes),
        None => exported.outcome(&results, image)?,
    };
    Ok(Gave { called, is_sound })
}

/// Drops a resource: its destructor runs.
async fn dropped(
    store: &mut Store<super::CallState>,
    exported: &Exported,
    values: &[Val],
) -> wasmtime::Result<Gave> {
    for value in values {
        if let Val::Resource(any) = value {
            any.resource_drop_async(&mut *store).await?;
        }
    }
    Ok(Gave { called: exported.outcome(&[], None)?, is_sound: true })
}

/// Assigns handles to the resources in a result. If they exceed the limit, drops the resources and returns
/// the error for the call.
async fn named(
    kept: &mut Kept,
    exported: &Exported,
    results: &mut [Val],
    record: &mut Record,
) -> wasmtime::Result<Option<ToolError>> {
    let mut made: Vec<(u64, Held)> = Vec::new();
    let mut given = record.given;
    let Ok(()) = exported.exchange_results(results, |handle, value| {
        if let Val::Resource(any) = value {
            given += 1;
            made.push((given, Held { resource: handle.resource, any: *any }));
            *value = Val::String(handle.written(given));
        }
        Ok::<_, Infallible>(())
    });
    let count = made.len();
    if kept.handles.len() + count <= MAX_HANDLES {
        record.given = given;
        kept.handles.extend(made);
        return Ok(None);
    }
    for (_, Held { any, .. }) in made {
        any.resource_drop_async(&mut kept.store).await?;
    }
    let room = MAX_HANDLES - kept.handles.len();
    Ok(Some(ToolError::Failed(format!(
        "{} gave {count} resources, and there is room for {room}: at most {MAX_HANDLES} of a plugin are kept. They were \
         let go of.",
        exported.name
    ))))
}

/// Decodes the arguments and replaces handles with their resources. Has no side effects.
fn prepare(
    exported: &Exported,
    arguments: &str,
    turn: &Turn<'_>,
    makers: &Makers<'_>,
) -> Result<Given, ToolError> {
    let mut values = exported.arguments(arguments)?;
    let (mut taken, mut lent) = (BTreeSet::new(), BTreeSet::new());
    exported.exchange_arguments(&mut values, |handle, value| {
        let Val::String(written) = value else { return Ok(()) };
        let (number, any) = found(handle, written, turn).map_err(|why| makers.missing(handle, &why))?;
        let is_twice = taken.contains(&number) || (handle.owned && lent.contains(&number));
        if is_twice {
            return Err(ToolError::InvalidInput(format!(
                "{written} is given twice, and this call takes it; it can be given once."
            )));
        }
        if handle.owned {
            taken.insert(number)
        } else {
            lent.insert(number)
        };
        *value = Val::Resource(any);
        Ok(())
    })?;
    let others = turn.kept().map_or(0, |kept| kept.handles.len()) - taken.len();
    if exported.gives_handles() && others >= MAX_HANDLES {
        return Err(ToolError::Failed(format!(
            "{others} resources of this plugin are kept, which is the limit; let go of one first, with {}.",
            makers.droppers()
        )));
    }
    Ok(Given { values, taken })
}

/// Returns the resource of a handle, or the reason why there is none.
fn found(handle: &Handle, written: &str, turn: &Turn<'_>) -> Result<(u64, ResourceAny), String> {
    let unknown = || format!("there is no {written}");
    let number = handle.number(written).filter(|number| (1..=turn.record.given).contains(number));
    let number = number.ok_or_else(unknown)?;
    if let Some((_, why)) = turn.record.ended.as_ref().filter(|(last, _)| number <= *last) {
        return Err(format!("there is no {written} any more: {why}"));
    }
    match turn.kept().and_then(|kept| kept.handles.get(&number)) {
        Some(held) if held.resource == handle.resource => Ok((number, held.any)),
        Some(_) => Err(unknown()),
        None => Err(format!("there is no {written} any more: it was let go of, or a call took it")),
    }
}

/// Names the tools that create or drop resources, for errors.
struct Makers<'a> {
    component: &'a Component,
    functions: &'a Functions,
    prefix: Option<&'a str>,
}

impl Makers<'_> {
    /// Returns the names of the tools that drop resources.
    fn droppers(&self) -> String {
        let listed = &self.component.listed;
        let named = self.functions.iter().filter(|exported| exported.is_drop());
        let named = named.map(|exported| listed.get(&exported.name).unwrap_or(&exported.name));
        let prefix = self.prefix.unwrap_or_default();
        named.map(|tool| format!("{prefix}{tool}")).collect::<Vec<_>>().join(" or ")
    }

    fn missing(&self, handle: &Handle, why: &str) -> ToolError {
        let listed = &self.component.listed;
        let maker = self.functions.iter().filter(|exported| exported.gives(handle.resource));
        let mut maker = maker.filter_map(|exported| listed.get(&exported.name));
        let mut text: String = match maker.next() {
            Some(tool) => format!("{why}; {}{tool} makes another one.", self.prefix.unwrap_or_default()),
            None => format!("{why}."),
        };
        if let Some(first) = text.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        ToolError::NotFound(text)
    }
}
