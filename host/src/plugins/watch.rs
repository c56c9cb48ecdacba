//! Waiting until plugins may have changed.
//!
//! On Linux the kernel says so (inotify), and a thread that waits costs nothing. Watches are made anew
//! for each wait, so that folders which come, go or are replaced need no care; whoever waits looks at
//! the plugins after the watches are there. Where the kernel cannot say it (no watches left, another
//! system), the wait ends every [`POLL_TIME`].
//!
//! A crate such as `notify` would bring a thread, a channel and a dozen dependencies of its own for
//! what is three system calls here, which `rustix` already wraps.

use std::io::{PipeReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

#[cfg(not(target_os = "linux"))]
use elsewhere::Inotify;
#[cfg(target_os = "linux")]
use linux::Inotify;

/// How often to look where changes are not told.
const POLL_TIME: Duration = Duration::from_secs(3);
/// Changes come together: a plugin is some files, and a decision. They are looked at when no more came
/// for this time, or after the longer one.
const QUIET_TIME: Duration = Duration::from_millis(100);
const LONGEST_TIME: Duration = Duration::from_secs(1);

/// What is watched.
pub(crate) struct Watches(Option<Inotify>);

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Woken {
    /// Something may have changed.
    Look,
    /// Whoever rings the bell has dropped it.
    End,
}

impl Watches {
    /// Watches the program's own folder and those of plugins.
    pub(crate) fn on(own_home: &Path, folders: &[PathBuf]) -> Self {
        let inotify = Inotify::on(own_home, folders);
        Self(inotify.inspect_err(|error| tracing::debug!("plugins are polled: {error}")).ok())
    }

    /// Waits until something may have changed, or the bell rings.
    pub(crate) fn wait(mut self, bell: &mut PipeReader) -> Woken {
        let mut since: Option<Instant> = None;
        while since.is_none_or(|since| since.elapsed() < LONGEST_TIME) {
            let time = match (&self.0, since) {
                (None, _) => Some(POLL_TIME),
                (Some(_), None) => None,
                (Some(_), Some(_)) => Some(QUIET_TIME),
            };
            match self.ready(bell, time) {
                Ready::Bell => return rung(bell),
                Ready::Nothing if time.is_some() => return Woken::Look,
                Ready::Changes if self.0.as_mut().is_some_and(Inotify::matters) => {
                    since.get_or_insert_with(Instant::now);
                }
                Ready::Nothing | Ready::Changes => {}
            }
        }
        Woken::Look
    }

    fn ready(&self, bell: &PipeReader, time: Option<Duration>) -> Ready {
        let mut polled = vec![PollFd::new(bell, PollFlags::IN)];
        polled
            .extend(self.0.as_ref().map(|inotify| PollFd::from_borrowed_fd(inotify.as_fd(), PollFlags::IN)));
        let time = time.and_then(|time| Timespec::try_from(time).ok());
        // Interrupted: as if nothing came.
        let _ = poll(&mut polled, time.as_ref());
        if !polled[0].revents().is_empty() {
            Ready::Bell
        } else if polled.get(1).is_some_and(|inotify| !inotify.revents().is_empty()) {
            Ready::Changes
        } else {
            Ready::Nothing
        }
    }
}

enum Ready {
    Bell,
    Changes,
    Nothing,
}

fn rung(bell: &mut PipeReader) -> Woken {
    match bell.read(&mut [0; 64]) {
        Ok(0) | Err(_) => Woken::End,
        Ok(_) => Woken::Look,
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashMap;
    use std::ffi::{OsStr, OsString};
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::{Path, PathBuf};

    use rustix::fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init};
    use rustix::io::{Errno, Result};

    /// A file that is being written shows when it is closed, not with every piece: each look reads it
    /// whole. Lists and calls meanwhile look for themselves.
    const CHANGES: WatchFlags = WatchFlags::CREATE
        .union(WatchFlags::DELETE)
        .union(WatchFlags::MOVE)
        .union(WatchFlags::CLOSE_WRITE)
        .union(WatchFlags::ATTRIB)
        .union(WatchFlags::DELETE_SELF)
        .union(WatchFlags::MOVE_SELF)
        .union(WatchFlags::ONLYDIR);
    /// Of a folder where only a folder that is to come matters.
    const ARRIVALS: WatchFlags = WatchFlags::CREATE
        .union(WatchFlags::MOVED_TO)
        .union(WatchFlags::DELETE_SELF)
        .union(WatchFlags::MOVE_SELF)
        .union(WatchFlags::ONLYDIR);
    /// Every entry of a folder matters.
    const ALL: &[&str] = &[];
    /// Most tries to find which folder is the last that exists, while that changes.
    const MOST_TRIES: usize = 10;

    /// An inotify instance, with the entries that matter in each folder: all where none are named.
    pub(super) struct Inotify {
        instance: OwnedFd,
        entries: HashMap<i32, Vec<OsString>>,
    }

    impl Inotify {
        pub(super) fn on(own_home: &Path, folders: &[PathBuf]) -> Result<Self> {
            let instance = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            let mut inotify = Self { instance, entries: HashMap::new() };
            if !inotify.watch(own_home, CHANGES, &["plugins.json", "plugins"])? {
                inotify.watch_for(own_home)?;
                return Ok(inotify);
            }
            // From the outside to the inside: what appears meanwhile is told of by the folder around it.
            if inotify.watch(&own_home.join("plugins"), CHANGES, ALL)? {
                for folder in folders {
                    inotify.watch(folder, CHANGES, ALL)?;
                }
            }
            Ok(inotify)
        }

        /// Watches the innermost folder around one that does not exist.
        fn watch_for(&mut self, missing: &Path) -> Result<()> {
            for _ in 0..MOST_TRIES {
                let mut missing = missing;
                while let (Some(parent), Some(name)) = (missing.parent(), missing.file_name()) {
                    if self.watch(parent, ARRIVALS, &[name])? {
                        break;
                    }
                    missing = parent;
                }
                if !missing.exists() {
                    return Ok(());
                }
            }
            Err(Errno::AGAIN)
        }

        /// Whether there is such a folder.
        fn watch(&mut self, folder: &Path, flags: WatchFlags, entries: &[impl AsRef<OsStr>]) -> Result<bool> {
            match add_watch(&self.instance, folder, flags) {
                Ok(watch) => {
                    let entries = entries.iter().map(|name| name.as_ref().to_owned()).collect();
                    self.entries.insert(watch, entries);
                    Ok(true)
                }
                Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
                Err(error) => Err(error),
            }
        }

        /// Takes what was told; whether any of it matters.
        pub(super) fn matters(&mut self) -> bool {
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut reader = Reader::new(&self.instance, &mut buffer);
            let mut any = false;
            while let Ok(event) = reader.next() {
                let entries = self.entries.get(&event.wd());
                let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                any |= match (name, entries) {
                    (Some(name), Some(entries)) => {
                        entries.is_empty() || entries.iter().any(|known| known == name)
                    }
                    // The folder itself, or more than the kernel keeps.
                    _ => !event.events().is_empty(),
                };
            }
            any
        }

        pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
            self.instance.as_fd()
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::convert::Infallible;
    use std::io;
    use std::os::fd::BorrowedFd;
    use std::path::{Path, PathBuf};

    /// No way to be told.
    pub(super) struct Inotify(Infallible);

    impl Inotify {
        pub(super) fn on(_: &Path, _: &[PathBuf]) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(super) fn matters(&mut self) -> bool {
            match self.0 {}
        }

        pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
            match self.0 {}
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::io::{self, Write as _};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn changes_that_do_not_end_are_looked_at_all_the_same() {
        let home = tempfile::tempdir().expect("a folder");
        let (mut bell, _ringer) = io::pipe().expect("a pipe");
        let watches = Watches::on(home.path(), &[]);
        assert!(watches.0.is_some(), "the kernel tells of changes");
        let done = AtomicBool::new(false);
        let begun = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    fs::write(home.path().join("plugins.json"), "{}").expect("writes");
                }
            });
            assert_eq!(watches.wait(&mut bell), Woken::Look);
            done.store(true, Ordering::Release);
        });
        let took = begun.elapsed();
        assert!((LONGEST_TIME..2 * LONGEST_TIME).contains(&took), "{took:?}");
    }

    #[test]
    fn who_waits_is_woken_by_the_bell_and_ends_with_it() {
        let home = tempfile::tempdir().expect("a folder");
        let (mut bell, mut ringer) = io::pipe().expect("a pipe");
        ringer.write_all(&[0; 3]).expect("rings");
        // Also where the folder itself does not exist.
        let missing = home.path().join("a/b");
        assert_eq!(Watches::on(&missing, &[]).wait(&mut bell), Woken::Look);
        drop(ringer);
        assert_eq!(Watches::on(&missing, &[]).wait(&mut bell), Woken::End);
    }

    #[test]
    fn a_folder_that_appears_is_noticed_and_what_does_not_matter_is_not() {
        let home = tempfile::tempdir().expect("a folder");
        let own = home.path().join("a/own");
        let tells = |mut watches: Watches| watches.0.as_mut().is_some_and(Inotify::matters);
        let watches = Watches::on(&own, &[]);
        fs::write(home.path().join("other"), "").expect("writes");
        assert!(!tells(watches));
        let watches = Watches::on(&own, &[]);
        fs::create_dir_all(&own).expect("creates");
        assert!(tells(watches));
        let watches = Watches::on(&own, &[]);
        fs::write(own.join("policy.toml"), "").expect("writes");
        assert!(!tells(watches));
        let folder = own.join("plugins/one");
        let watches = Watches::on(&own, &[]);
        fs::create_dir_all(&folder).expect("creates");
        assert!(tells(watches));
        let watches = Watches::on(&own, std::slice::from_ref(&folder));
        fs::write(folder.join("c.wasm"), "").expect("writes");
        assert!(tells(watches));
        let watches = Watches::on(&own, &[folder]);
        fs::rename(&own, home.path().join("moved")).expect("moves");
        assert!(tells(watches));
    }
}
