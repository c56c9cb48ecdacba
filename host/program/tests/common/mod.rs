//! What the in-process tests share.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scorpiox_audit::Uses;
use scorpiox_code::capabilities::Capability;
use scorpiox_code::capabilities::files::Files;
use scorpiox_code::capabilities::shell::{Shell, ShellSetup};
use scorpiox_code::capabilities::skills::SkillFolders;
use scorpiox_code::capabilities::web::Web;
use scorpiox_code::runtime::{Binary, Component, Limits, Setup};
use scorpiox_code::server::{Audience, Context, End, Options, Server};
use scorpiox_code::tools::{Registry, Tool};
use scorpiox_code::workspace::Workspace;
use scorpiox_executor::Cancel;
use scorpiox_rpc::{Output, memory};
use scorpiox_settings::{Locations, Settings};
use scorpiox_store::{Database, Durability};
use serde_json::{Value, json};

/// A file that the build made below `target/`.
pub fn built(path: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").join(path);
    assert!(file.exists(), "{} is missing; run the tests with `make test`", file.display());
    file
}

/// The component of `tests/guests/misbehave`, with these grants and limits.
pub fn misbehave(grants: &'static [Capability], limits: Limits) -> Component {
    guest("misbehave", grants, limits)
}

/// A component of `tests/guests`.
pub fn guest(name: &str, grants: &'static [Capability], limits: Limits) -> Component {
    let code = std::fs::read(built(&format!("test-components/{name}.cwasm"))).expect("readable");
    let mut component = Component::new(name, Binary::Precompiled(code.leak()), grants);
    component.limits = limits;
    component
}

/// The shell of a workspace in `folder`.
pub fn shell(folder: &Path) -> Shell {
    Shell::new(ShellSetup {
        workspace: folder.join("workspace"),
        workspace_name: "test".to_owned(),
        home: None,
        own_home: folder.join("own"),
        skills: Arc::new(SkillFolders::new(folder, None, folder, &[])),
        is_managed_required: false,
        worked_on: Vec::new(),
    })
}

/// The set-up of a call with its state in `folder`.
pub fn setup(folder: &Path) -> Setup {
    Setup {
        database: Arc::new(Database::new(folder.join("state/test.db"), Durability::Process)),
        skills: Arc::new(SkillFolders::new(folder, None, folder, &[])),
        shell: Arc::new(shell(folder)),
        asynchronous: Arc::default(),
        web: Arc::new(Web::new(Arc::new(shell(folder)), Arc::default())),
        files: Arc::new(Files::new(Arc::new(shell(folder)))),
        counterpart: None,
        room: 20_000,
        prefix: None,
        uses: Uses::default(),
        on_progress: Arc::new(|_| {}),
        read_only: false,
        cancel: Cancel::default(),
        on_wait: Arc::new(|| {}),
    }
}

/// A server over a connection in memory, with tools of the test's own.
pub struct Connected {
    pub server: Arc<Server>,
    requests: Option<memory::PipeWriter>,
    answers: Lines<BufReader<memory::PipeReader>>,
    _folder: tempfile::TempDir,
}

impl Connected {
    pub fn new(tools: Vec<Tool>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = folder.path().join("workspace");
        std::fs::create_dir(&workspace).expect("a folder");
        let locations =
            Locations { binary_dir: None, home: None, workspace: workspace.clone(), worked_on: Vec::new() };
        let registry = Arc::new(Registry::new(tools));
        let none: [(&str, &str); 0] = [];
        let options = Options {
            workspace: Workspace { path: workspace, instead_of: None },
            own_home: folder.path().join("own"),
            home: None,
            settings: Arc::new(Settings::load(&locations, none, &registry.names())),
            registry,
            durability: Durability::Process,
            is_managed_required: false,
            worked_on: Vec::new(),
            audience: Audience::Model,
        };
        let (requests, input) = memory::pipe(1024 * 1024);
        let (output, answers) = memory::pipe(1024 * 1024);
        let context = Arc::new(Context::new(options, Output::new(output)));
        let server = Server::start(context, input, || false);
        let answers = BufReader::new(answers).lines();
        Self { server, requests: Some(requests), answers, _folder: folder }
    }

    /// With the handshake done.
    pub fn initialized(tools: Vec<Tool>) -> Self {
        let mut connected = Self::new(tools);
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        connected.send(&json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params }));
        assert_eq!(connected.receive()["id"], "hello");
        connected.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        connected
    }

    pub fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    pub fn send_line(&mut self, line: &str) {
        writeln!(self.requests.as_mut().expect("open"), "{line}").expect("the server reads");
    }

    pub fn call(&mut self, id: u64, tool: &str, arguments: &Value) {
        let params = json!({ "name": tool, "arguments": arguments });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    }

    pub fn cancel(&mut self, id: u64) {
        let params = json!({ "requestId": id });
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
    }

    pub fn receive(&mut self) -> Value {
        let line = self.answers.next().expect("an answer").expect("readable");
        serde_json::from_str(&line).expect("JSON")
    }

    /// Ends the input and the server; what still came out.
    pub fn finish(mut self, end: End) -> Vec<Value> {
        self.requests = None;
        if end == End::Input {
            self.server.wait();
        }
        self.server.shut_down(end);
        let Self { server, answers, .. } = self;
        drop(server);
        let rest = answers.map(|line| serde_json::from_str(&line.expect("readable")).expect("JSON"));
        rest.collect()
    }
}
