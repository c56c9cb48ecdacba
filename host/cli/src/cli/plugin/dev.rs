//! The command `plugin dev`: builds and tests a plugin whenever its files change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, bail, ensure};
use scorpiox_executor::threads;
use scorpiox_plugin::{MANIFEST, PluginFolder};
use scorpiox_plugin_manager::install::{Look, Overrides, is_buildable};
use scorpiox_sandbox::build::make;
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use scorpiox_transport_stdio::streams::ring_when_told;
use serde_json::{Map, Value};

use super::address::Addresses;
use super::test;
use crate::cli::environment::Environment;

/// Interval between checks for changed files.
const STEP: Duration = Duration::from_millis(300);
/// Maximum number of watched files, and maximum depth of nested folders.
const MAX_FILES: usize = 10_000;
const MAX_DEPTH: usize = 12;
/// Folders of generated or third-party content. Hidden folders are not watched either.
const PASSED_OVER: [&str; 4] = ["target", "node_modules", "__pycache__", "dist"];

/// Size and modification time of each watched file.
type Files = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

pub(super) fn run(
    environment: &Environment,
    folder: &Path,
    (tool, arguments): (Option<&str>, &[String]),
) -> Result<ExitCode> {
    // No change of a file corrects the command line.
    let arguments = &test::object(arguments)?;
    let is_plugin = folder.join(MANIFEST).is_file();
    ensure!(is_plugin, "{} has no {MANIFEST}; `scorpiox-code plugin new` creates a plugin", folder.display());
    let is_ended = end_flag().context("Ctrl-C cannot be handled")?;
    let mut outputs = BTreeSet::new();
    let mut may_repeat = false;
    loop {
        let before = watched(folder);
        let outcome = once(environment, folder, (tool, arguments));
        if is_ended.load(Ordering::Relaxed) || terminal::is_unread() {
            return Ok(ExitCode::SUCCESS);
        }
        if let Err(error) = outcome {
            terminal::complain(&format!("scorpiox-code: {error:#}"));
        }
        let after = watched(folder);
        let changed = changes(&before, &after);
        // A build writes files, too. Those of the first one are taken for its output. Later, an unknown changed
        // file was saved while the build ran, which is then repeated once.
        let is_stale = may_repeat && !changed.is_subset(&outputs);
        may_repeat = false;
        outputs.extend(changed);
        if is_stale {
            continue;
        }
        terminal::print(&Shown::line("Waiting for a change of its files; Ctrl-C ends this."));
        wait(folder, &after, &mut outputs, &is_ended);
        may_repeat = true;
        if is_ended.load(Ordering::Relaxed) {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// Waits until the files differ, or the user ends the command. A file that changes outside of a build is no
/// output of it.
fn wait(folder: &Path, known: &Files, outputs: &mut BTreeSet<PathBuf>, is_ended: &AtomicBool) {
    while !is_ended.load(Ordering::Relaxed) {
        thread::sleep(STEP);
        let changed = changes(known, &watched(folder));
        if !changed.is_empty() {
            outputs.retain(|path| !changed.contains(path));
            return;
        }
    }
}

/// Builds and tests the plugin once.
fn once(
    environment: &Environment,
    folder: &Path,
    (tool, arguments): (Option<&str>, &Map<String, Value>),
) -> Result<()> {
    if is_buildable(folder) {
        terminal::print(&Shown::line(&format!("Building: make -C {}", folder.display())));
        let status = make(folder).context("`make` cannot be started; install it")?;
        if !status.success() {
            bail!("the build failed: make -C {}", folder.display());
        }
    }
    if tool.is_some() {
        return test::called(environment, (folder, Overrides::default()), tool, arguments).map(drop);
    }
    let source = Addresses::new(environment).source(folder, Overrides::default())?;
    let staged = source.stage(&PluginFolder::new(&environment.own_home))?;
    let look = Look::at(&environment.site(), staged.installed.clone(), Some(&source.anatomy))?;
    terminal::print(&Shown::text(&look.brief()));
    Ok(())
}

/// Returns a flag that Ctrl-C sets. The running build ends by itself, since it shares the terminal.
fn end_flag() -> Result<Arc<AtomicBool>> {
    let (mut bell, ringer) = std::io::pipe()?;
    ring_when_told(ringer)?;
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    threads::start("end", move || {
        let _ = bell.read(&mut [0]);
        set.store(true, Ordering::Relaxed);
        // A call that runs for long does not keep the user waiting when they repeat it.
        let _ = bell.read(&mut [0]);
        std::process::exit(1);
    })?;
    Ok(flag)
}

/// Returns the files in a folder, except for those that are passed over.
fn watched(folder: &Path) -> Files {
    let mut files = Files::new();
    add(&mut files, folder, MAX_DEPTH);
    files
}

fn add(files: &mut Files, folder: &Path, depth: usize) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if files.len() >= MAX_FILES {
            return;
        }
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        let Ok(about) = entry.metadata() else { continue };
        if about.is_dir() {
            if depth > 0 && !is_hidden && !PASSED_OVER.iter().any(|other| name == *other) {
                add(files, &entry.path(), depth - 1);
            }
        } else if !is_hidden {
            files.insert(entry.path(), (about.len(), about.modified().ok()));
        }
    }
}

/// Returns the paths that differ, including those of new and removed files.
fn changes(before: &Files, after: &Files) -> BTreeSet<PathBuf> {
    let paths = before.keys().chain(after.keys());
    paths.filter(|path| before.get(*path) != after.get(*path)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_new_and_removed_files_are_seen_and_generated_folders_are_not() {
        let home = tempfile::tempdir().expect("a folder");
        let path = |file: &str| home.path().join(file);
        for folder in ["src", "target/debug", ".git", "node_modules"] {
            fs::create_dir_all(path(folder)).expect("a folder");
        }
        for file in ["plugin.toml", "src/lib.rs", "target/debug/a", ".git/index", "node_modules/a.js", ".x"] {
            fs::write(path(file), "one").expect("writes");
        }
        let before = watched(home.path());
        assert_eq!(before.keys().cloned().collect::<Vec<_>>(), [path("plugin.toml"), path("src/lib.rs")]);
        fs::write(path("src/lib.rs"), "another").expect("writes");
        fs::write(path("src/new.rs"), "").expect("writes");
        fs::write(path("target/debug/a"), "another").expect("writes");
        fs::remove_file(path("plugin.toml")).expect("removed");
        let changed = changes(&before, &watched(home.path()));
        assert_eq!(changed, [path("plugin.toml"), path("src/lib.rs"), path("src/new.rs")].into());
    }
}
