//! Tests calls of components that other tools built.

use std::borrow::Cow;
use std::sync::Arc;

use scorpiox_audit::Uses;
use scorpiox_capabilities::files::Files;
use scorpiox_capabilities::setup::{Caller, Setup};
use scorpiox_capabilities::web::Web;
use scorpiox_executor::Cancel;
use scorpiox_plugin::Fingerprint;
use scorpiox_shell::Shell;
use scorpiox_store::MemoryStore;
use scorpiox_workspace_config::{Operator, Site, SkillFolders};
use tempfile::TempDir;

use super::{Binary, CodeCache, Component, Runtime};
use crate::bindings::any_tool::scorpiox::tool::types::Content;

/// A component that reads the time and the environment, and resolves a host name.
const LOOKS_AROUND: &str = r#"(component
    (import "wasi:clocks/wall-clock@0.2.0" (instance $clock
        (type $r (record (field "seconds" u64) (field "nanoseconds" u32)))
        (export "datetime" (type $datetime (eq $r)))
        (export "now" (func (result $datetime)))))
    (import "wasi:cli/environment@0.2.0" (instance $environment
        (export "get-environment" (func (result (list (tuple string string)))))))
    (import "wasi:sockets/network@0.2.0" (instance $network
        (export "network" (type (sub resource)))
        (type $e (enum "unknown" "access-denied" "not-supported" "invalid-argument" "out-of-memory" "timeout"
            "concurrency-conflict" "not-in-progress" "would-block" "invalid-state" "new-socket-limit"
            "address-not-bindable" "address-in-use" "remote-unreachable" "connection-refused" "connection-reset"
            "connection-aborted" "datagram-too-large" "name-unresolvable" "temporary-resolver-failure"
            "permanent-resolver-failure"))
        (export "error-code" (type (eq $e)))))
    (alias export $network "network" (type $net))
    (alias export $network "error-code" (type $error))
    (import "wasi:sockets/instance-network@0.2.0" (instance $instance-network
        (alias outer 1 $net (type $n)) (export "network" (type $own (eq $n)))
        (export "instance-network" (func (result (own $own))))))
    (import "wasi:sockets/ip-name-lookup@0.2.0" (instance $lookup
        (alias outer 1 $net (type $n)) (export "network" (type $own (eq $n)))
        (alias outer 1 $error (type $e)) (export "error-code" (type $code (eq $e)))
        (export "resolve-address-stream" (type $stream (sub resource)))
        (export "resolve-addresses" (func (param "network" (borrow $own)) (param "name" string)
            (result (result (own $stream) (error $code)))))))
    (core module $memory
        (memory (export "memory") 1) (data (i32.const 64) "api.example.com")
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024)))
    (core instance $memory (instantiate $memory))
    (alias core export $memory "memory" (core memory $m))
    (alias core export $memory "realloc" (core func $realloc))
    (core func $now (canon lower (func $clock "now") (memory $m)))
    (core func $variables
        (canon lower (func $environment "get-environment") (memory $m) (realloc $realloc)))
    (core func $network (canon lower (func $instance-network "instance-network")))
    (core func $resolve (canon lower (func $lookup "resolve-addresses") (memory $m)))
    (core module $code
        (import "" "memory" (memory 1))
        (import "" "now" (func $now (param i32)))
        (import "" "variables" (func $variables (param i32)))
        (import "" "network" (func $network (result i32)))
        (import "" "resolve" (func $resolve (param i32 i32 i32 i32)))
        (func (export "time") (result i64) (call $now (i32.const 0)) (i64.load (i32.const 0)))
        (func (export "variables") (result i32) (call $variables (i32.const 0)) (i32.load (i32.const 4)))
        (func (export "look-up") (result i32)
            (call $resolve (call $network) (i32.const 64) (i32.const 15) (i32.const 0))
            (i32.load8_u (i32.const 0)))
        (func (export "compute") (result i32) (i32.const 7)))
    (core instance $code (instantiate $code (with "" (instance
        (export "memory" (memory $m)) (export "now" (func $now)) (export "variables" (func $variables))
        (export "network" (func $network)) (export "resolve" (func $resolve))))))
    (func (export "time") (result u64) (canon lift (core func $code "time")))
    (func (export "variables") (result u32) (canon lift (core func $code "variables")))
    (func (export "look-up") (result u32) (canon lift (core func $code "look-up")))
    (func (export "compute") (result u32) (canon lift (core func $code "compute"))))"#;

/// Returns a plugin component without permissions, and the directory of its compiled code.
fn shipped(text: &str) -> (Component, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let (bytes, cache) = (wat::parse_str(text).expect("a component"), CodeCache::new(folder.path()));
    let fingerprint = Fingerprint::of(&bytes);
    let load = move |engines: &super::Engines, cancel: &Cancel| {
        cache.load(engines, &fingerprint, cancel, || Ok(Cow::Borrowed(&bytes)))
    };
    (Component::new("plugin/other", Binary::Shipped(Box::new(load)), Vec::new()), folder)
}

/// Returns the setup of a call in `folder`.
fn setup(folder: &TempDir) -> Setup {
    let folder = folder.path();
    let skills = Arc::new(SkillFolders::new(folder, None, folder, &[]));
    let operator = Arc::new(Operator::new(Site {
        workspace: folder.join("workspace"),
        workspace_name: "workspace".to_owned(),
        home: None,
        own_home: folder.join("own"),
        skills: Arc::clone(&skills),
        is_managed_required: false,
        worked_on: Vec::new(),
    }));
    Setup {
        store: Arc::new(MemoryStore::new()),
        skills,
        shell: Arc::new(Shell::new(Arc::clone(&operator))),
        asynchronous: Arc::default(),
        web: Arc::new(Web::new(Arc::clone(&operator), Arc::default())),
        files: Arc::new(Files::new(operator)),
        counterpart: None,
        room: 20_000,
        prefix: None,
        uses: Uses::default(),
        on_progress: Arc::new(|_| {}),
        session: None,
        asked_by: Caller::Model,
        read_only: false,
        cancel: Cancel::default(),
        on_wait: Arc::new(|| {}),
    }
}

#[test]
fn what_a_component_cannot_know_is_told_with_its_result() {
    let (component, folder) = shipped(LOOKS_AROUND);
    let runtime = Runtime::default();
    let texts = |function: &str| {
        let finished = runtime.call_tool(&component, &setup(&folder), function, "{}").expect("no fault");
        let result = finished.value.expect("a result");
        let text = |content| if let Content::Text(text) = content { text } else { String::new() };
        result.content.into_iter().map(text).collect::<Vec<_>>()
    };
    let [time, told] = &texts("time")[..] else { panic!("the time, and that it stands still") };
    assert!(time == "0" && told.contains("no [capabilities.clock]"), "{time} {told}");
    assert_eq!(texts("variables"), ["0"], "languages read them by themselves");
    assert_eq!(texts("compute"), ["7"], "of a call that looked for nothing there is nothing to tell");
}

#[test]
fn a_refused_name_lookup_is_told_with_the_host_and_the_line_that_helps() {
    let (component, folder) = shipped(LOOKS_AROUND);
    let setup = setup(&folder);
    let finished = Runtime::default().call_tool(&component, &setup, "look-up", "{}").expect("no fault");
    let structured = finished.value.expect("a result").structured;
    assert_eq!(structured.as_deref(), Some(r#"{"result":1}"#), "WASI's error");
    let refusals = setup.uses.refusals();
    assert!(
        refusals.concat().contains("sockets api.example.com: ")
            && refusals.concat().contains("hosts = [\"api.example.com\"] in [capabilities.web]"),
        "{refusals:?}"
    );
}
