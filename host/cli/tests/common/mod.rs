//! Helpers for the in-process tests.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scorpiox_audit::Uses;
use scorpiox_capabilities::Capability;
use scorpiox_capabilities::files::Files;
use scorpiox_capabilities::setup::Setup;
use scorpiox_capabilities::web::Web;
use scorpiox_executor::Cancel;
use scorpiox_mcp::jsonrpc::{Output, memory};
use scorpiox_runtime::{Binary, Component, Limits};
use scorpiox_server::{App, Audience, Workspace, WorkspaceOptions};
use scorpiox_shell::Shell;
use scorpiox_store::{Durability, MemoryStore, SqliteStore};
use scorpiox_tools::{Registry, Tool};
use scorpiox_transport_stdio::{End, Server};
use scorpiox_workspace_config::settings::{Locations, Settings};
use scorpiox_workspace_config::{Operator, Site, SkillFolders, WorkspaceFolder};
use serde_json::{Value, json};

/// Returns the path of a build artifact in `target/`.
pub fn built(path: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").join(path);
    assert!(file.exists(), "{} is missing; run the tests with `make test`", file.display());
    file
}

/// Returns the component `tests/guests/misbehave` with these grants and limits.
pub fn misbehave(grants: &'static [Capability], limits: Limits) -> Component {
    guest("misbehave", grants, limits)
}

/// Returns a component from `tests/guests`.
pub fn guest(name: &str, grants: &'static [Capability], limits: Limits) -> Component {
    let code = std::fs::read(built(&format!("test-components/{name}.cwasm"))).expect("readable");
    let mut component = Component::new(name, Binary::Precompiled(code.leak()), grants);
    component.limits = limits;
    component
}

/// Returns the site of the workspace `name` in `folder`.
pub fn site(folder: &Path, name: &str) -> Site {
    Site {
        workspace: folder.join(name),
        workspace_name: name.to_owned(),
        home: None,
        own_home: folder.join("own"),
        skills: Arc::new(SkillFolders::new(folder, None, folder, &[])),
        is_managed_required: false,
        worked_on: Vec::new(),
    }
}

/// Returns the shell of a workspace in `folder`.
pub fn shell(folder: &Path) -> Shell {
    Shell::new(Arc::new(Operator::new(site(folder, "workspace"))))
}

/// Returns the setup of a call, with its state in `folder`.
pub fn setup(folder: &Path) -> Setup {
    let operator = Arc::new(Operator::new(site(folder, "workspace")));
    Setup {
        store: Arc::new(SqliteStore::new(folder.join("state/test.db"), Durability::Process)),
        skills: Arc::new(SkillFolders::new(folder, None, folder, &[])),
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
        asked_by: scorpiox_capabilities::setup::Caller::Model,
        read_only: false,
        cancel: Cancel::default(),
        on_wait: Arc::new(|| {}),
    }
}

/// Returns an app with the given tools.
pub fn app(tools: Vec<Tool>) -> Arc<App> {
    App::new(Arc::new(Registry::new(tools)))
}

/// Creates the workspace `name` in `folder`.
pub fn workspace(app: &Arc<App>, folder: &Path, name: &str) -> Arc<Workspace> {
    let path = folder.join(name);
    std::fs::create_dir(&path).expect("a folder");
    let locations =
        Locations { binary_dir: None, home: None, workspace: path.clone(), worked_on: Vec::new() };
    let none: [(&str, &str); 0] = [];
    app.open(WorkspaceOptions {
        folder: WorkspaceFolder { path, instead_of: None },
        settings: Arc::new(Settings::load(&locations, none, &[])),
        store: Box::new(|_| Arc::new(MemoryStore::new())),
        approvals: Box::new(|_| Arc::new(MemoryStore::new())),
        site: site(folder, name),
    })
}

/// A server with an in-memory connection.
pub struct Connected {
    pub server: Arc<Server>,
    requests: Option<memory::PipeWriter>,
    answers: Lines<BufReader<memory::PipeReader>>,
    pub workspace: Arc<Workspace>,
    folder: Option<tempfile::TempDir>,
}

impl Connected {
    /// Connects to a new workspace with the given tools.
    pub fn new(tools: Vec<Tool>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let app = app(tools);
        let workspace = workspace(&app, folder.path(), "workspace");
        Self { folder: Some(folder), ..Self::to(&workspace) }
    }

    /// Connects to a workspace that other sessions may share.
    pub fn to(workspace: &Arc<Workspace>) -> Self {
        let (requests, input) = memory::pipe(1024 * 1024);
        let (output, answers) = memory::pipe(1024 * 1024);
        Self {
            server: Server::start(workspace, Audience::Model, input, Output::new(output)),
            requests: Some(requests),
            answers: BufReader::new(answers).lines(),
            workspace: Arc::clone(workspace),
            folder: None,
        }
    }

    /// Like [`new`](Self::new), with a completed handshake.
    pub fn initialized(tools: Vec<Tool>) -> Self {
        let mut connected = Self::new(tools);
        connected.shake_hands("2025-11-25", &json!({}));
        connected
    }

    /// Performs the handshake of a protocol revision.
    pub fn shake_hands(&mut self, revision: &str, capabilities: &Value) {
        let client = json!({ "name": "t", "version": "1" });
        let params =
            json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": client });
        self.send(&json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params }));
        let answer = self.receive();
        assert_eq!(
            (&answer["id"], &answer["result"]["protocolVersion"]),
            (&json!("hello"), &json!(revision))
        );
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    }

    /// Returns the lines of the audit.
    pub fn audit_lines(&self) -> Vec<Value> {
        let folder = self.folder.as_ref().expect("a folder of its own").path().join("own/audit");
        let files = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path());
        let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        let text: String = files.map(|path| std::fs::read_to_string(path).expect("text")).collect();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
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

    /// Ends the input and the server. Returns the remaining messages.
    pub fn finish(mut self, end: End) -> Vec<Value> {
        self.requests = None;
        if end == End::Input {
            self.server.wait();
        }
        self.server.shut_down(end);
        self.workspace.close();
        let Self { server, answers, .. } = self;
        drop(server);
        let rest = answers.map(|line| serde_json::from_str(&line.expect("readable")).expect("JSON"));
        rest.collect()
    }
}
