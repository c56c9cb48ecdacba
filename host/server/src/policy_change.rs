//! Puts a changed policy into force while the server runs.
//!
//! Each request runs in the [`Workspace`] that was in force when it began, so it is decided under exactly one
//! policy. A workspace under an older policy leads to the newer one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::{Mutex, RwLock};
use scorpiox_capabilities::notices::List;
use scorpiox_executor::{Cancel, Reason};
use scorpiox_metering::records::policy_in_use;
use scorpiox_policy::access::Principal;
use scorpiox_policy::{Circumstances, Loaded, Places, Policy, ReadBefore, Unobserved, changed_sections};
use scorpiox_workspace_config::{Operator, OperatorError, Outdated};

use crate::Workspace;

/// Sections that are read when a server starts.
pub const READ_AT_START: [&str; 2] = ["audit", "store"];
/// Beginnings of the headers of sections that decide about commands.
const COMMANDS: [&str; 4] = ["[shell", "[grant", "[workspaces", "[[narrow]]"];
/// Beginning of the headers of restrictions.
const RESTRICTIONS: &str = "[[narrow]]";
/// Maximum number of combinations of restrictions whose workspaces are kept.
const MAX_RESTRICTED: usize = 64;

/// State of a workspace for changes of its policy.
#[derive(Default)]
pub(crate) struct PolicyChange {
    /// Workspace under a later policy.
    newer: RwLock<Option<Arc<Workspace>>>,
    /// Held while a changed policy is read. Shared by the workspaces under all policies.
    reading: Arc<Mutex<()>>,
    /// Sections that the transport reads when it starts.
    read_by_transport: Arc<OnceLock<&'static [&'static str]>>,
    /// Called when all calls are refused until a restart or a correction.
    on_refusing_all: Arc<OnceLock<Box<dyn Fn() + Send + Sync>>>,
    /// Policy before the first change. Sections that are read at the start are still as in this one.
    first: Arc<OnceLock<Policy>>,
    running: Mutex<BTreeMap<u64, Judged>>,
    next: AtomicU64,
    /// Same workspace under restrictions of the policy, by their numbers.
    restricted: Mutex<BTreeMap<Vec<usize>, Arc<Workspace>>>,
    /// Workspace that this one restricts.
    unrestricted: Weak<Workspace>,
}

impl PolicyChange {
    /// Creates the state of the workspace under the next policy.
    pub(crate) fn renewed(&self) -> Self {
        Self {
            reading: Arc::clone(&self.reading),
            read_by_transport: Arc::clone(&self.read_by_transport),
            on_refusing_all: Arc::clone(&self.on_refusing_all),
            first: Arc::clone(&self.first),
            ..Self::default()
        }
    }

    /// Returns the workspace under a later policy, if there is one.
    pub(crate) fn newer(&self) -> Option<Arc<Workspace>> {
        self.newer.read().clone()
    }

    /// Creates the state of a workspace under restrictions.
    pub(crate) fn of_restricted(unrestricted: &Arc<Workspace>) -> Self {
        Self { unrestricted: Arc::downgrade(unrestricted), ..unrestricted.policy_change.renewed() }
    }

    /// Returns the workspaces under restrictions.
    pub(crate) fn restricted(&self) -> Vec<Arc<Workspace>> {
        self.restricted.lock().values().cloned().collect()
    }

    fn tell_of_refusing_all(&self) {
        if let Some(told) = self.on_refusing_all.get() {
            told();
        }
    }

    fn cancel_all(&self) {
        self.cancel(|_| true);
    }

    /// Cancels the running requests that `selects` returns `true` for.
    fn cancel(&self, mut selects: impl FnMut(&Judged) -> bool) {
        let running = self.running.lock();
        let selected: Vec<_> =
            running.values().filter(|one| selects(one)).map(|one| one.cancel.clone()).collect();
        drop(running);
        for cancel in selected {
            cancel.set(Reason::PolicyChanged);
        }
    }
}

/// A running request, as it was judged.
struct Judged {
    cancel: Cancel,
    /// Key of the principal.
    principal: Option<Arc<str>>,
    sender: Sender,
    /// Files that counted as read.
    read_before: ReadBefore,
    /// Numbers of the restrictions that held; `None` until they are known.
    restrictions: Option<Vec<usize>>,
}

/// Sender of a request, as conditions of the policy see it.
#[derive(Debug, Default, Clone)]
pub(crate) struct Sender {
    /// Name of the client.
    pub(crate) client: Option<Arc<str>>,
    /// Caller over HTTP.
    pub(crate) principal: Option<Arc<Principal>>,
}

/// A request that runs under the policy that was in force when it began.
pub(crate) struct Running {
    /// Workspace under the restrictions that hold for the request.
    pub(crate) workspace: Arc<Workspace>,
    /// Circumstances of the request, if they are known and no restriction holds, so that they are those of its workspace.
    pub(crate) circumstances: Option<Circumstances>,
    unrestricted: Arc<Workspace>,
    number: u64,
}

/// A workspace under the restrictions that hold for a request.
struct Restricted {
    workspace: Arc<Workspace>,
    /// Numbers of the restrictions.
    numbers: Vec<usize>,
    read_before: ReadBefore,
    circumstances: Option<Circumstances>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.unrestricted.policy_change.running.lock().remove(&self.number);
    }
}

impl Workspace {
    /// Begins a request under the policy as its files are now, and under its restrictions for `circumstances`. The
    /// request is cancelled if a later policy takes something away.
    pub(crate) fn begin_request(
        self: &Arc<Self>,
        cancel: &Cancel,
        principal: Option<&str>,
        sender: &Sender,
        circumstances: impl Fn(&Operator) -> Result<Circumstances, Arc<OperatorError>>,
    ) -> Running {
        loop {
            let unrestricted = self.in_force();
            let change = &unrestricted.policy_change;
            let number = change.next.fetch_add(1, Ordering::Relaxed);
            let judged = Judged {
                cancel: cancel.clone(),
                principal: principal.map(Arc::from),
                sender: sender.clone(),
                read_before: ReadBefore::default(),
                restrictions: None,
            };
            change.running.lock().insert(number, judged);
            let is_overtaken = change.newer().is_some();
            let restricted = unrestricted.restricted_for(&circumstances);
            let Restricted { workspace, numbers, read_before, circumstances } = restricted;
            if let Some(judged) = change.running.lock().get_mut(&number) {
                judged.read_before = read_before;
                judged.restrictions = Some(numbers);
            }
            let running = Running { workspace, circumstances, unrestricted, number };
            if !is_overtaken {
                return running;
            }
        }
    }

    /// Returns the workspace under the restrictions of the policy that hold, which is this one if there are none, with the
    /// files that count as read.
    fn restricted_for(
        self: &Arc<Self>,
        circumstances: impl Fn(&Operator) -> Result<Circumstances, Arc<OperatorError>>,
    ) -> Restricted {
        let under = |workspace: &Arc<Self>, numbers, read_before| Restricted {
            workspace: Arc::clone(workspace),
            numbers,
            read_before,
            circumstances: None,
        };
        let operator = self.operator();
        // A policy that cannot be used refuses each call by itself.
        let policy = operator.has_policy_file().then(|| operator.policy().ok()).flatten();
        let all = policy.map_or(0, |policy| policy.restrictions.len());
        let is_about_reads = policy.is_some_and(|policy| !policy.globs_read_before().is_empty());
        if all == 0 && !is_about_reads {
            return under(self, Vec::new(), ReadBefore::default());
        }
        let circumstances = circumstances(operator).ok();
        let read_before = circumstances.as_ref().map(|known| known.read_before.clone()).unwrap_or_default();
        // If nothing is known of the circumstances, everything holds.
        let numbers: Vec<_> = match &circumstances {
            None => (0..all).collect(),
            Some(circumstances) => operator.restrictions_for(circumstances),
        };
        if numbers.is_empty() {
            return Restricted { circumstances, ..under(self, numbers, read_before) };
        }
        let mut known = self.policy_change.restricted.lock();
        if let Some(workspace) = known.get(&numbers) {
            return under(workspace, numbers, read_before);
        }
        if known.len() >= MAX_RESTRICTED {
            known.clear();
        }
        // Fails only for a policy that cannot be used.
        let Ok(operator) = operator.restricted(&numbers) else { return under(self, numbers, read_before) };
        let workspace = Arc::new(self.restricted_to(Arc::new(operator)));
        known.insert(numbers.clone(), Arc::clone(&workspace));
        under(&workspace, numbers, read_before)
    }

    /// Returns `true` if the policy of this workspace is still the one in force.
    pub(crate) fn is_in_force(self: &Arc<Self>) -> bool {
        let unrestricted = self.policy_change.unrestricted.upgrade();
        let is_dropped =
            unrestricted.is_none() && !Weak::ptr_eq(&self.policy_change.unrestricted, &Weak::new());
        let workspace = unrestricted.unwrap_or_else(|| Arc::clone(self));
        !is_dropped
            && Arc::ptr_eq(&workspace, &workspace.in_force())
            && workspace.operator().check_current().is_ok()
    }

    /// Returns the workspace under the policy that was read last, without looking for a change.
    pub fn current(self: &Arc<Self>) -> Arc<Self> {
        let Some(mut newest) = self.policy_change.newer() else { return Arc::clone(self) };
        let mut is_next = true;
        while let Some(newer) = newest.policy_change.newer() {
            (newest, is_next) = (newer, false);
        }
        if !is_next {
            // Policies in between are dropped as soon as no request runs under them.
            *self.policy_change.newer.write() = Some(Arc::clone(&newest));
        }
        newest
    }

    /// Returns the workspace under the policy as its files are now. Waits until a changed file is complete. If
    /// the change cannot take effect, all calls are refused.
    pub fn in_force(self: &Arc<Self>) -> Arc<Self> {
        let current = self.current();
        if current.operator().is_current() {
            return current;
        }
        let reading = Arc::clone(&current.policy_change.reading);
        let _reading = reading.lock();
        // Another request may have read it meanwhile.
        let current = self.current();
        if current.operator().is_current() { current } else { current.read_policy() }
    }

    /// Sets the sections that the transport reads when it starts. A change of these takes effect at the next
    /// start, and all calls are refused until then.
    pub fn read_at_start(&self, sections: &'static [&'static str]) {
        let _ = self.policy_change.read_by_transport.set(sections);
    }

    /// Sets the transport's action when a change of the policy begins to refuse all calls.
    pub fn on_refusing_all(&self, told: impl Fn() + Send + Sync + 'static) {
        let _ = self.policy_change.on_refusing_all.set(Box::new(told));
    }

    fn read_policy(self: Arc<Self>) -> Arc<Self> {
        let before = self.operator();
        let Some((operator, stamps)) = before.read_again() else {
            before.refuse_all(Outdated::Unsettled);
            return self;
        };
        // Not confirmed, so the next request reads the files again. The policy in force has not become wrong.
        if let Err(error) = operator.policy().and_then(|_| operator.places())
            && error.may_pass()
        {
            let why = error.cause();
            tracing::warn!("the policy was changed, and cannot be read at the moment: {why}");
            before.refuse_all(Outdated::Unread(why));
            return self;
        }
        let is_same = matches!(
            (before.loaded(), operator.loaded()),
            (Ok(old), Ok(new)) if (&old.hash, &old.files, &old.unusable_repository, &old.unusable_managed)
                == (&new.hash, &new.files, &new.unusable_repository, &new.unusable_managed)
        );
        if is_same {
            before.confirm(stamps);
            return self;
        }
        let builtin = Policy::builtin();
        let old = before.loaded().map_or(&builtin, Loaded::of_operator);
        let first = self.policy_change.first.get_or_init(|| old.clone());
        let (Ok(new), Ok(places)) = (operator.loaded().map(Loaded::of_operator), operator.places()) else {
            tracing::warn!("the policy was changed and cannot be used; every tool is refused");
            let newer = self.replace(operator);
            self.end_calls();
            self.end_commands();
            self.policy_change.tell_of_refusing_all();
            return newer;
        };
        let fixed = self.fixed_sections(first, new);
        if !fixed.is_empty() {
            let sections = fixed.join(", ");
            tracing::warn!("the policy was changed in {sections}; every tool is refused until a restart");
            // After a policy that cannot be used, the refusals have to name this change instead.
            let current = if before.loaded().is_ok() { Arc::clone(&self) } else { self.replace(operator) };
            current.operator().confirm(stamps);
            current.operator().refuse_all(Outdated::NeedsStart(fixed));
            self.end_calls();
            self.end_commands();
            self.policy_change.tell_of_refusing_all();
            return current;
        }
        let lost = old.lost_sections(new, &places);
        let sections = lost_in_all(before, &operator, &places);
        let newer = self.replace(operator);
        match newer.operator().unusable_managed() {
            Some(problem) => {
                let kept = "the last valid administrator's file stays in force";
                tracing::error!("the policy was changed and cannot be used; {kept}: {problem}");
                newer.records.record_kept_policy(policy_in_use(before), &format!("{kept}: {problem}"));
            }
            None => newer.records.record_policy_change(policy_in_use(before), sections.as_deref()),
        }
        if let Err(error) = newer.operator().policy() {
            tracing::warn!("the policy was changed and cannot be used in this workspace: {}", error.cause());
        }
        // A change of the repository's file, as by a checkout, does not end anything that runs.
        if lost.is_empty() {
            if newer.operator().unusable_managed().is_none() {
                tracing::warn!("the policy was changed, and takes nothing away");
            }
            return newer;
        }
        let is_about_some = lost.iter().all(|header| header.starts_with(RESTRICTIONS));
        tracing::warn!(
            "the policy was changed, and takes something away in {}: {} were ended",
            lost.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
            if is_about_some { "the running calls that it concerns" } else { "running calls" }
        );
        if is_about_some {
            self.end_calls_restricted_by(&newer, &places);
        } else {
            self.end_calls();
        }
        if lost.iter().any(|header| COMMANDS.iter().any(|section| header.starts_with(section))) {
            self.end_commands();
        }
        newer
    }

    /// Returns the headers of changed sections that cannot take effect while the server runs.
    fn fixed_sections(&self, old: &Policy, new: &Policy) -> Vec<String> {
        let is_fixed = |header: &String| {
            let name = header.trim_matches(['[', ']']).split('.').next().unwrap_or_default();
            let by_transport = self.policy_change.read_by_transport.get();
            READ_AT_START.iter().chain(by_transport.copied().unwrap_or_default()).any(|fixed| *fixed == name)
        };
        changed_sections(old, new).into_iter().filter(is_fixed).collect()
    }

    /// Puts another policy into force, and tells the clients to read the lists again.
    fn replace(&self, operator: Operator) -> Arc<Self> {
        let newer = Arc::new(self.under(Arc::new(operator)));
        *self.policy_change.newer.write() = Some(Arc::clone(&newer));
        self.shell().forget_cells();
        self.policy_change.restricted().iter().for_each(|workspace| workspace.shell().forget_cells());
        for session in newer.sessions() {
            for list in [List::Tools, List::Prompts, List::Resources] {
                session.tell_list_changed(list);
            }
        }
        newer
    }

    /// Ends the calls under this policy, and the browser.
    fn end_calls(&self) {
        self.policy_change.cancel_all();
        self.web().shut_down();
        self.policy_change.restricted().iter().for_each(|workspace| workspace.web().shut_down());
    }

    /// Ends the calls from which the restrictions of a newer policy take something away. The policies differ in nothing else.
    fn end_calls_restricted_by(&self, newer: &Arc<Self>, places: &Places) {
        let (Ok(old), Ok(new)) = (self.operator().loaded(), newer.operator().loaded()) else {
            return self.end_calls();
        };
        let (old, new) = (old.of_operator(), new.of_operator());
        let known = old.globs_read_before();
        // Nobody watched for the files of new globs, so that each call may have read them.
        if new.globs_read_before().into_keys().any(|glob| !known.contains_key(glob)) {
            return self.end_calls();
        }
        let mut judged_before = BTreeMap::new();
        let mut is_concerned = |judged: &Judged| {
            let Some(held) = &judged.restrictions else { return true };
            let Sender { client, principal } = judged.sender.clone();
            let Ok(circumstances) = newer.operator().circumstances(client, principal) else { return true };
            let circumstances = Circumstances { read_before: judged.read_before.clone(), ..circumstances };
            let holds = newer.operator().restrictions_for(&circumstances);
            *judged_before.entry((held.clone(), holds.clone())).or_insert_with(|| {
                let (before, after) = (old.restricted(held, places), new.restricted(&holds, places));
                let lost = before.lost_sections(&after, places);
                lost.iter().any(|header| !header.starts_with(RESTRICTIONS))
            })
        };
        let mut is_any = false;
        self.policy_change.cancel(|judged| {
            let is_ended = is_concerned(judged);
            is_any |= is_ended;
            is_ended
        });
        // A page of a call that ended must not go on in the browser.
        if is_any {
            self.web().shut_down();
            self.policy_change.restricted().iter().for_each(|workspace| workspace.web().shut_down());
        }
    }

    /// Ends what runs for a principal as if files of these globs had not been read, except for its `own` request. Commands
    /// count as reading the globs that are open to them.
    pub(crate) fn end_others(self: &Arc<Self>, own: &Cancel, principal: Option<&str>, read: &[String]) {
        let unrestricted = self.policy_change.unrestricted.upgrade();
        let workspace = unrestricted.as_ref().unwrap_or(self);
        workspace.policy_change.cancel(|judged| {
            let is_judged_so = read.iter().all(|glob| judged.read_before.0.contains_key(glob));
            judged.principal.as_deref() == principal && !judged.cancel.is(own) && !is_judged_so
        });
        let of_commands = self.operator().policy().map(|policy| policy.reads_unobserved(Unobserved::Command));
        let of_commands = of_commands.unwrap_or_default();
        if !read.iter().all(|glob| of_commands.contains(&glob.as_str())) {
            self.shell().stop_tasks_of(principal, Reason::PolicyChanged);
        }
        for session in workspace.sessions() {
            for list in [List::Tools, List::Prompts, List::Resources] {
                session.tell_list_changed(list);
            }
        }
    }

    /// Ends the background commands.
    fn end_commands(&self) {
        self.shell().stop_tasks(Reason::PolicyChanged);
    }
}

/// Returns the headers of the sections in which the new policy takes something away from new calls, including those of
/// the repository's file. `None` if the old policy was not usable.
fn lost_in_all(old: &Operator, new: &Operator, places: &Places) -> Option<String> {
    let old = &old.policy().ok()?;
    let Ok(new) = new.policy() else { return Some("every section, since it cannot be used".to_owned()) };
    Some(old.lost_sections(new, places).into_iter().collect::<Vec<_>>().join(", "))
}
