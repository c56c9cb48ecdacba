//! Resources accessed by a call, as reported by the capabilities.

use std::fmt::{self, Display, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use scorpiox_text::line::{clean, push_number, push_string};

use crate::trace::Trace;
use crate::watch::{FileNames, FileWatch};
use crate::{ClientName, Origin};
use scorpiox_text::RuleTexts;

/// Maximum number of distinct uses of each kind to retain; further ones are counted. Uses of one kind never take
/// the place of others: a call chooses how many it makes.
const MAX_USES: usize = 64;
/// Maximum number of refusals reported to the caller; further ones are counted.
const MAX_TOLD: usize = 3;
/// Maximum length of a text, in bytes.
const MAX_BYTES: usize = 200;
/// Maximum length of untrusted text copied before it is sanitized.
const MAX_RAW_BYTES: usize = 4 * MAX_BYTES;

/// Collector to which capabilities report their decisions for one call. Clones share the same state.
///
/// Reports must not contain argument values: host and port but no URL, the directory of a file but not the
/// file, the sandbox of a command but not the command. Each decision cites the rule it follows: a line of the
/// policy, `built-in` for fixed decisions of the program, or `approval` for permissions that the user granted
/// to a plugin.
#[derive(Debug, Clone, Default)]
pub struct Uses(Arc<Inner>);

/// Policy under which calls run. Its lines cite its rules.
pub trait UnderPolicy: std::fmt::Debug + Send + Sync {
    /// Returns the origin of lines under this policy.
    fn origin(&self) -> &Origin;
}

#[derive(Debug, Default)]
struct Inner {
    noted: Mutex<Noted>,
    memory: AtomicU64,
    /// CPU time of the commands, in microseconds.
    processor: AtomicU64,
    stored: AtomicU64,
    failed: Mutex<Option<String>>,
    client: OnceLock<Arc<ClientName>>,
    trace: OnceLock<Trace>,
    policy: OnceLock<Arc<dyn UnderPolicy>>,
    watch: OnceLock<Arc<dyn FileWatch>>,
}

#[derive(Debug, Default)]
struct Noted {
    uses: Vec<Use>,
    left_out: u64,
    /// Number of denied uses among those left out.
    left_out_denied: u64,
}

#[derive(Debug)]
struct Use {
    capability: &'static str,
    what: String,
    /// Full name of the requested object; reported to the caller only.
    asked: Option<String>,
    why: Option<String>,
    /// Set if the use is neither allowed nor denied.
    aside: Option<Aside>,
    rule: String,
    /// `true` if the runtime of a language did this on its own. The audit has it, and callers are not told.
    is_aside_of_language: bool,
    count: u64,
}

/// Decision that neither allows nor denies a use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aside {
    /// The name was refused. Nothing is known of the content, which may have been read in another way.
    Hidden,
    /// A rule that only reports would have had this outcome.
    Reported(&'static str),
}

/// Rule name for fixed decisions of the program.
pub const BUILT_IN: &str = "built-in";
/// Rule name for decisions the user made by approving a plugin.
pub const APPROVAL: &str = "approval";

impl Uses {
    /// Records an allowed use: capability, object, and rule.
    pub fn allowed(&self, capability: &'static str, what: impl Display, rule: impl Display) {
        self.note(capability, &what, None, None, &rule);
    }

    /// Records a denied use and the reason.
    pub fn denied(&self, capability: &'static str, what: impl Display, why: &str, rule: impl Display) {
        self.note(capability, &what, None, Some(why), &rule);
    }

    /// Records that the name of an object was refused, and how. Its content may have been read in another way, so
    /// the use does not count as denied.
    pub fn hidden(&self, capability: &'static str, what: impl Display, how: &str, rule: impl Display) {
        self.add(Use {
            capability,
            what: shown(&what),
            asked: None,
            why: Some(clean(how, MAX_BYTES)),
            aside: Some(Aside::Hidden),
            rule: shown(&rule),
            is_aside_of_language: false,
            count: 1,
        });
    }

    /// Records the outcome that a rule would have had for a use, if the rule did not only report.
    pub fn reported(
        &self,
        capability: &'static str,
        what: impl Display,
        outcome: &'static str,
        why: &str,
        rule: impl Display,
    ) {
        self.add(Use {
            capability,
            what: shown(&what),
            asked: None,
            why: Some(clean(why, MAX_BYTES)),
            aside: Some(Aside::Reported(outcome)),
            rule: shown(&rule),
            is_aside_of_language: false,
            count: 1,
        });
    }

    /// Like [`denied`](Self::denied), with the full name of the requested object. The name is an argument
    /// value, so it is reported to the caller only.
    pub fn denied_by_name(
        &self,
        capability: &'static str,
        what: impl Display,
        asked: impl Display,
        why: &str,
        rule: impl Display,
    ) {
        self.note(capability, &what, Some(&asked), Some(why), &rule);
    }

    /// Records a denied use by the runtime of a language, which the author of the component did not write.
    pub fn denied_to_language(&self, capability: &'static str, what: impl Display, why: &str, rule: &str) {
        self.add(Use {
            capability,
            what: shown(&what),
            asked: None,
            why: Some(clean(why, MAX_BYTES)),
            aside: None,
            rule: rule.to_owned(),
            is_aside_of_language: true,
            count: 1,
        });
    }

    fn note(
        &self,
        capability: &'static str,
        what: &dyn Display,
        asked: Option<&dyn Display>,
        why: Option<&str>,
        rule: &dyn Display,
    ) {
        let (what, rule, why) = (shown(what), shown(rule), why.map(|why| clean(why, MAX_BYTES)));
        let asked = asked.map(shown);
        self.add(Use {
            capability,
            what,
            asked,
            why,
            aside: None,
            rule,
            is_aside_of_language: false,
            count: 1,
        });
    }

    fn add(&self, new: Use) {
        let mut noted = self.lock();
        let same = |used: &&mut Use| {
            used.capability == new.capability
                && used.what == new.what
                && used.rule == new.rule
                && used.why.is_some() == new.why.is_some()
                && used.aside == new.aside
                && used.is_aside_of_language == new.is_aside_of_language
        };
        if let Some(used) = noted.uses.iter_mut().find(same) {
            used.count += 1;
        } else if noted.uses.iter().filter(|used| used.kind() == new.kind()).count() < MAX_USES {
            noted.uses.push(new);
        } else {
            noted.left_out += 1;
            noted.left_out_denied += u64::from(new.is_denied());
        }
    }

    /// Records the use of a capability that makes no finer decisions.
    pub fn once(&self, capability: &'static str, rule: &str) {
        let mut noted = self.lock();
        let known = noted.uses.iter().any(|used| used.capability == capability && used.what.is_empty());
        if !known {
            let (what, rule) = (String::new(), rule.to_owned());
            let new = Use {
                capability,
                what,
                asked: None,
                why: None,
                aside: None,
                rule,
                is_aside_of_language: false,
                count: 1,
            };
            noted.uses.push(new);
        }
    }

    /// Counts uses that were not retained elsewhere.
    pub fn left_out(&self, allowed: usize, denied: usize) {
        let mut noted = self.lock();
        noted.left_out += (allowed + denied) as u64;
        noted.left_out_denied += denied as u64;
    }

    /// Sets the caller, for work that continues after the call.
    pub fn called_by(&self, client: Arc<ClientName>) {
        _ = self.0.client.set(client);
    }

    /// Returns the caller, if known.
    pub fn client(&self) -> Option<&Arc<ClientName>> {
        self.0.client.get()
    }

    /// Sets the trace, also for work that continues after the call.
    pub fn part_of(&self, trace: Trace) {
        _ = self.0.trace.set(trace);
    }

    /// Returns the trace, if any.
    pub fn trace(&self) -> Option<&Trace> {
        self.0.trace.get()
    }

    /// Sets the policy under which the call runs, also for work that continues after the call.
    pub fn under(&self, policy: Arc<dyn UnderPolicy>) {
        _ = self.0.policy.set(policy);
    }

    /// Returns the policy under which the call runs, if it is known.
    pub fn policy(&self) -> Option<&Arc<dyn UnderPolicy>> {
        self.0.policy.get()
    }

    /// Returns the origin of lines under the policy of the call, if it is known.
    pub fn origin(&self) -> Option<&Origin> {
        self.0.policy.get().map(|policy| policy.origin())
    }

    /// Sets the observer of the files that the call reads.
    pub fn watched_by(&self, watch: Arc<dyn FileWatch>) {
        _ = self.0.watch.set(watch);
    }

    /// Tells the observer, if there is one, that an open file is about to be read. `names` returns all its names.
    ///
    /// # Errors
    ///
    /// Fails with a reason if the file must not be read.
    pub fn reads(&self, granted: &[PathBuf], names: impl FnOnce() -> FileNames) -> Result<(), String> {
        self.0.watch.get().map_or(Ok(()), |watch| watch.reads(&names(), granted, self))
    }

    /// Adds CPU time of a command.
    pub fn took_processor(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.0.processor.fetch_add(micros, Ordering::Relaxed);
    }

    /// Returns the CPU time of the commands.
    pub fn processor(&self) -> Duration {
        Duration::from_micros(self.0.processor.load(Ordering::Relaxed))
    }

    /// Adds bytes written to the store.
    pub fn stored(&self, bytes: usize) {
        self.0.stored.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Returns the number of bytes written to the store.
    pub fn stored_bytes(&self) -> u64 {
        self.0.stored.load(Ordering::Relaxed)
    }

    /// Records an error that a host function returned to the guest. It may contain argument values, and is for the
    /// caller alone.
    pub fn failed(&self, function: impl Display, error: impl Display) {
        let failed = format!("{} had returned {}", shown(&function), shown(&error));
        *self.0.failed.lock() = Some(failed);
    }

    /// Describes the last error that a host function returned to the guest.
    pub fn last_failure(&self) -> Option<String> {
        self.0.failed.lock().clone()
    }

    /// Passes each retained use to `tell`: capability, object, rule, the reason of a denial or the way of
    /// hiding, and the decision if it is neither allowed nor denied.
    pub fn each(&self, mut tell: impl FnMut(&'static str, &str, &str, Option<&str>, Option<Aside>)) {
        let noted = self.lock();
        let each = |used: &Use| {
            tell(used.capability, &used.what, &used.rule, used.why.as_deref(), used.aside);
        };
        noted.uses.iter().for_each(each);
    }

    /// Returns `true` if nothing is recorded.
    pub fn is_empty(&self) -> bool {
        let noted = self.lock();
        noted.uses.is_empty() && noted.left_out == 0
    }

    /// Returns `true` if a use was denied.
    pub fn was_denied(&self) -> bool {
        let noted = self.lock();
        noted.left_out_denied > 0 || noted.uses.iter().any(Use::is_denied)
    }

    /// Records the peak memory of the guest. A call may run its guest twice.
    pub fn took_memory(&self, bytes: usize) {
        self.0.memory.fetch_max(bytes as u64, Ordering::Relaxed);
    }

    /// Describes each distinct use for display: object, count, and reason of a denial.
    pub fn lines(&self) -> Vec<String> {
        let line = |used: &Use| {
            let Use { capability, what, why, count, .. } = used;
            let times = if *count == 1 { String::new() } else { format!(", {count} times") };
            let word = match used.aside {
                Some(Aside::Hidden) => "hidden",
                Some(Aside::Reported(_)) => "reported",
                None => "refused",
            };
            let refused = why.as_ref().map_or_else(String::new, |why| format!(", {word}: {why}"));
            let space = if what.is_empty() { "" } else { " " };
            format!("{capability}{space}{what}{times}{refused}")
        };
        self.lock().uses.iter().filter(|used| !used.is_aside_of_language).map(line).collect()
    }

    /// Describes the denied uses as sentences for the caller: the first few, and the number of further ones.
    pub fn refusals(&self) -> Vec<String> {
        let noted = self.lock();
        let mut refused = noted.uses.iter().filter_map(Use::refusal);
        let mut sentences: Vec<_> = refused.by_ref().take(MAX_TOLD).collect();
        let more = refused.count() as u64 + noted.left_out_denied;
        if more > 0 {
            sentences.push(format!("It refused {more} more; the audit has them all."));
        }
        sentences
    }

    /// Returns the peak memory of the guest, in bytes; 0 if no guest ran.
    pub fn memory(&self) -> u64 {
        self.0.memory.load(Ordering::Relaxed)
    }

    /// Appends the members of a line that describe the uses.
    pub(crate) fn push(&self, out: &mut Vec<u8>, rules: &RuleTexts) {
        let noted = self.lock();
        if noted.uses.is_empty() && noted.left_out == 0 {
            return;
        }
        out.extend_from_slice(b",\"uses\":[");
        for (index, used) in noted.uses.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            used.push(out, rules);
        }
        out.push(b']');
        for (name, count) in
            [(&b",\"more_uses\":"[..], noted.left_out), (b",\"more_denied\":", noted.left_out_denied)]
        {
            if count > 0 {
                out.extend_from_slice(name);
                push_number(out, count);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.0.noted.lock()
    }
}

impl Use {
    /// Returns the capability, and the decision: denied or not, hidden or not.
    fn kind(&self) -> (&'static str, bool, Option<Aside>) {
        (self.capability, self.why.is_some(), self.aside)
    }

    fn is_denied(&self) -> bool {
        self.why.is_some() && self.aside.is_none()
    }

    fn refusal(&self) -> Option<String> {
        if self.aside.is_some() || self.is_aside_of_language {
            return None;
        }
        let Self { capability, what, asked, why: Some(why), rule, .. } = self else { return None };
        let what = asked.as_ref().unwrap_or(what);
        let decides = match rule.as_str() {
            // The reason says what is missing, or why nothing allows it.
            APPROVAL | BUILT_IN => String::new(),
            _ => format!(" ({rule} decides that)"),
        };
        // Many reasons are sentences about the object, which is named already.
        let why = why.strip_prefix(what.as_str()).and_then(|why| why.strip_prefix(" is ")).unwrap_or(why);
        Some(format!("This server refused {capability} {what}: {why}{decides}."))
    }

    fn push(&self, out: &mut Vec<u8>, rules: &RuleTexts) {
        out.extend_from_slice(b"{\"capability\":");
        push_string(out, self.capability);
        if !self.what.is_empty() {
            out.extend_from_slice(b",\"what\":");
            push_string(out, &self.what);
        }
        match (self.aside, &self.why) {
            (Some(Aside::Hidden), _) => out.extend_from_slice(b",\"hidden\":true"),
            (Some(Aside::Reported(outcome)), _) => {
                out.extend_from_slice(b",\"reported\":");
                push_string(out, outcome);
            }
            (None, None) => out.extend_from_slice(b",\"allowed\":true"),
            (None, Some(_)) => out.extend_from_slice(b",\"allowed\":false"),
        }
        if let Some(why) = &self.why {
            out.extend_from_slice(b",\"why\":");
            push_string(out, why);
        }
        out.extend_from_slice(b",\"rule\":");
        push_string(out, &self.rule);
        if let Some(text) = rules.of(&self.rule) {
            out.extend_from_slice(b",\"rule_text\":");
            push_string(out, &text);
        }
        if self.count > 1 {
            out.extend_from_slice(b",\"count\":");
            push_number(out, self.count);
        }
        out.push(b'}');
    }
}

/// Formats a value, sanitized and truncated, without materializing all of it.
fn shown(what: &dyn Display) -> String {
    struct Bounded(String);
    impl fmt::Write for Bounded {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let room = MAX_RAW_BYTES.saturating_sub(self.0.len()).min(text.len());
            self.0.push_str(&text[..text.floor_char_boundary(room)]);
            if room < text.len() { Err(fmt::Error) } else { Ok(()) }
        }
    }
    let mut bounded = Bounded(String::new());
    // The error signals that the limit is reached.
    let _ = write!(bounded, "{what}");
    clean(&bounded.0, MAX_BYTES)
}

#[cfg(test)]
mod tests;
