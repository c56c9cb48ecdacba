//! The `shell` interface from a component's point of view.

#![cfg(target_os = "linux")] // commands only run on Linux

mod common;

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use scorpiox_capabilities::Capability::{self, Shell};
use scorpiox_capabilities::setup::Setup;
use scorpiox_runtime::bindings::any_tool::scorpiox::tool::types::Content;
use scorpiox_runtime::{Component, Limits, Runtime};
use scorpiox_shell::Owner;

use common::{guest, setup};

struct Sandbox {
    runtime: Runtime,
    component: Component,
    folder: tempfile::TempDir,
    setup: Setup,
}

impl Sandbox {
    fn new(policy: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("workspace")).expect("a folder");
        std::fs::create_dir(folder.path().join("own")).expect("a folder");
        if !policy.is_empty() {
            let path = folder.path().join("own/policy.toml");
            std::fs::write(&path, format!("version = 1\n{policy}")).expect("a file");
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("a mode");
        }
        let setup = setup(folder.path());
        let component = guest("commander", &[Shell] as &[Capability], Limits::default());
        Self { runtime: Runtime::default(), component, folder, setup }
    }

    fn call(&self, name: &str, arguments: &str) -> String {
        self.call_as(&self.component, name, arguments)
    }

    fn call_as(&self, component: &Component, name: &str, arguments: &str) -> String {
        let finished = self.runtime.call_tool(component, &self.setup, name, arguments).expect("it runs");
        match finished.value.expect("a result").content.pop() {
            Some(Content::Text(text)) => text,
            other => panic!("no text: {other:?}"),
        }
    }

    fn exists(&self, name: &str) -> bool {
        self.folder.path().join("workspace").join(name).exists()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.setup.shell.shut_down();
    }
}

const GRANT: &str = "[grant.commander]\nshell = { profile = \"workspace\" }\n";

#[test]
fn a_component_without_a_grant_runs_nothing_and_is_told_the_line() {
    let sandbox = Sandbox::new("");
    for call in ["run", "start"] {
        let denied = sandbox.call(call, "touch x");
        assert!(denied.starts_with("Err(Error::Denied("), "{denied}");
        assert!(denied.contains("[grant."), "{denied}");
    }
    assert!(!sandbox.exists("x"));
}

#[test]
fn a_granted_component_runs_commands_in_the_sandbox() {
    let sandbox = Sandbox::new(GRANT);
    let ran = sandbox.call("run", "echo hello; touch x; exit 3");
    assert!(ran.contains("hello") && ran.contains("Status::ExitCode(3)"), "{ran}");
    assert!(ran.contains("tier: \"T1\""), "{ran}");
    assert!(sandbox.exists("x"));
}

#[test]
fn a_grant_narrows_and_a_plan_narrows_further() {
    let mut sandbox = Sandbox::new("[grant.commander]\nshell = { profile = \"readonly\" }\n");
    sandbox.call("run", "touch narrowed");
    assert!(!sandbox.exists("narrowed"));

    sandbox = Sandbox::new(GRANT);
    sandbox.setup.read_only = true;
    sandbox.call("run", "touch planned");
    assert!(!sandbox.exists("planned"));
}

#[test]
fn a_grant_of_the_open_network_does_not_widen() {
    let sandbox = Sandbox::new("[grant.commander]\nshell = { profile = \"open\" }\n");
    let interfaces = sandbox.call("run", "cat /proc/net/dev | tail -n +3 | cut -d: -f1");
    assert!(interfaces.contains("lo") && !interfaces.contains("eth"), "{interfaces}");
}

#[test]
fn tasks_belong_to_the_component_that_started_them() {
    let sandbox = Sandbox::new(GRANT);
    let started = sandbox.call("start", "echo begun; sleep 1000");
    assert!(started.starts_with("Ok(Task { id: 1"), "{started}");
    let mut stranger = guest("commander", &[Shell], Limits::default());
    stranger.name = "stranger".into();
    for call in ["read", "kill"] {
        let refused = sandbox.call_as(&stranger, call, "1");
        assert!(refused.starts_with("Err(Error::NotFound("), "{refused}");
    }
    assert!(sandbox.setup.shell.tasks(Owner::new(None, &sandbox.setup.uses)).is_empty(), "not the client's");
    let begun = Instant::now();
    while !sandbox.call("read", "1").contains("begun") {
        assert!(begun.elapsed() < Duration::from_secs(10), "the task prints nothing");
        std::thread::yield_now();
    }
    let killed = sandbox.call("kill", "1");
    assert!(killed.contains("Status::Signal(15)"), "{killed}");
}

#[test]
fn what_cannot_be_run_is_named() {
    let sandbox = Sandbox::new(GRANT);
    let empty = sandbox.call("run", " ");
    assert!(empty.contains("Error::Invalid") && empty.contains("empty"), "{empty}");
    let no_time = sandbox.call("run-for-no-time", "true");
    assert!(no_time.contains("Error::Invalid") && no_time.contains("1 to 600000 ms"), "{no_time}");
}

#[test]
fn a_policy_with_a_mistake_refuses_everything() {
    let sandbox = Sandbox::new("[shell]\nmin_teir = \"T1\"\n");
    let refused = sandbox.call("run", "touch x");
    assert!(refused.contains("Error::Denied") && refused.contains("line 3"), "{refused}");
    assert!(!sandbox.exists("x"));
}
