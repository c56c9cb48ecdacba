//! Telling clients that the list of tools has changed: plugins came, went or were changed.
//!
//! A client is told when the list it knows is not what it would get now, and once for each change:
//! what it was told last, by a list or a notification, is compared with what there is. Nothing
//! watches before a client that wants to know has something to be told of, and the thread is started
//! after the answer that gives it the first such thing.
//!
//! The thread looks now and then, which takes it some microseconds: the stamps of a few files. The kernel
//! could tell (inotify), but takes 10 to 15 ms to end that, which a client would wait for at the server's end.
//!
//! Skills are in the list, too, by the description of the tools that invoke them. Changes of these are
//! not told; the list says how long it holds.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use scorpiox_executor::threads;
use scorpiox_rpc::reply;
use serde_json::json;

use super::context::Context;
use crate::tools::{Kind, Tool};

pub(super) const TOOLS_LIST_CHANGED: &str = "notifications/tools/list_changed";

/// How often to look.
const LOOK_TIME: Duration = Duration::from_secs(1);
/// Changes come together: a plugin is some files, and a decision. They are told when no more came for this time,
/// or after so many times.
const QUIET_TIME: Duration = Duration::from_millis(100);
const MOST_QUIET_TIMES: u32 = 10;

/// What clients know of the tools of plugins.
#[derive(Debug, Default)]
pub(crate) struct ToolNews {
    known: Mutex<Known>,
    stirred: AtomicBool,
}

/// Digests of all tools of plugins that are on.
#[derive(Debug, Default)]
struct Known {
    /// What clients were told last.
    told: Option<u64>,
    /// What the watch saw last.
    seen: Option<u64>,
}

impl ToolNews {
    /// A list with these tools is on its way to the client.
    pub(crate) fn listed(&self, context: &Context, tools: &[Arc<Tool>]) {
        let listed = digest(context, tools);
        let mut known = self.lock();
        known.told = Some(listed);
        // Nothing watches yet, or it saw something else: perhaps after this list was made.
        if known.seen != Some(listed) {
            self.stir();
        }
    }

    /// Somebody may have to be told, or is there to be told.
    pub(crate) fn stir(&self) {
        self.stirred.store(true, Ordering::Release);
    }

    /// Whether that happened since this was asked last.
    pub(crate) fn is_stirred(&self) -> bool {
        self.stirred.load(Ordering::Acquire) && self.stirred.swap(false, Ordering::AcqRel)
    }

    /// Tells who wants to know if the plugins are others.
    fn saw(&self, context: &Context, seen: u64) {
        let wanted = is_wanted(context);
        let mut known = self.lock();
        known.seen = Some(seen);
        let is_news = known.told.is_some_and(|told| told != seen);
        // Who listens later is told of what changed since the last list.
        if wanted || known.told.is_none() {
            known.told = Some(seen);
        }
        // Writing can take as long as the client does not read.
        drop(known);
        if is_news && wanted {
            tell(context);
        }
    }

    /// Whether this is what the watch saw last.
    fn is_seen(&self, seen: u64) -> bool {
        self.lock().seen == Some(seen)
    }

    fn knows_a_list(&self) -> bool {
        self.lock().told.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn digest(context: &Context, tools: &[Arc<Tool>]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for tool in tools.iter().filter(|tool| context.is_on(tool)) {
        if let Kind::Plugin { listed, .. } = &tool.kind {
            listed.hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Whether the client of the handshake takes notifications.
fn is_ready(context: &Context) -> bool {
    let facts = context.session.facts();
    facts.ready && facts.revision.is_some_and(|revision| revision.features().unsolicited)
}

fn is_wanted(context: &Context) -> bool {
    is_ready(context) || context.subscriptions.want_tools_list_changed()
}

fn tell(context: &Context) {
    if is_ready(context) {
        context.output.send(&reply::notification(TOOLS_LIST_CHANGED, &json!({})));
    }
    context.subscriptions.tell_tools_list_changed(&context.output);
}

/// The thread that waits for changes. It starts when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct PluginWatch(Mutex<Bell>);

#[derive(Debug, Default)]
enum Bell {
    #[default]
    Unmade,
    Made(PipeWriter),
    /// The server ends, or there can be no thread.
    Gone,
}

impl PluginWatch {
    /// Lets the thread look; starts it where somebody wants to know and can have missed something.
    pub(crate) fn wake(&self, context: &Arc<Context>) {
        let mut bell = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *bell {
            Bell::Made(writer) => drop(writer.write(&[0])),
            Bell::Unmade if is_needed(context) => {
                *bell = start(context).map_or_else(
                    |error| {
                        tracing::error!("changed lists of tools are not told: {error}");
                        Bell::Gone
                    },
                    Bell::Made,
                );
            }
            Bell::Unmade | Bell::Gone => {}
        }
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Bell::Gone;
    }
}

/// Who never listed tools knows none that could change; who subscribed knows them from elsewhere.
fn is_needed(context: &Context) -> bool {
    is_ready(context) && context.tool_news.knows_a_list() || context.subscriptions.want_tools_list_changed()
}

fn start(context: &Arc<Context>) -> io::Result<PipeWriter> {
    let (bell, writer) = io::pipe()?;
    rustix::io::ioctl_fionbio(&writer, true)?;
    let context = Arc::clone(context);
    threads::start("plugins", move || watch(&context, bell))?;
    Ok(writer)
}

fn watch(context: &Context, mut bell: PipeReader) {
    while let Some(seen) = settled(context, &mut bell) {
        context.tool_news.saw(context, seen);
        if wait(&mut bell, LOOK_TIME) == Woken::End {
            return;
        }
    }
}

/// What the tools of plugins are, once they stay so; nothing when the server ends.
fn settled(context: &Context, bell: &mut PipeReader) -> Option<u64> {
    let mut seen = digest(context, &context.plugins.tools());
    for _ in 0..MOST_QUIET_TIMES {
        if context.tool_news.is_seen(seen) {
            break;
        }
        if wait(bell, QUIET_TIME) == Woken::End {
            return None;
        }
        let now = digest(context, &context.plugins.tools());
        if now == seen {
            break;
        }
        seen = now;
    }
    Some(seen)
}

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Woken {
    /// The bell rang, or the time is over.
    Look,
    /// Whoever rings the bell has dropped it.
    End,
}

/// Waits for a time, or until the bell rings.
fn wait(bell: &mut PipeReader, time: Duration) -> Woken {
    let time = Timespec::try_from(time).unwrap_or_default();
    match poll(&mut [PollFd::from_borrowed_fd(bell.as_fd(), PollFlags::IN)], Some(&time)) {
        Ok(0) | Err(_) => Woken::Look,
        Ok(_) => match bell.read(&mut [0; 64]) {
            Ok(0) | Err(_) => Woken::End,
            Ok(_) => Woken::Look,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_woken_by_the_bell_and_ends_with_it() {
        let (mut bell, mut ringer) = io::pipe().expect("a pipe");
        assert_eq!(wait(&mut bell, Duration::from_millis(1)), Woken::Look, "the time is over");
        ringer.write_all(&[0; 3]).expect("rings");
        assert_eq!(wait(&mut bell, Duration::from_mins(1)), Woken::Look);
        drop(ringer);
        assert_eq!(wait(&mut bell, Duration::from_mins(1)), Woken::End);
    }
}
