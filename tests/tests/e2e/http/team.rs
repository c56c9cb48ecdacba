//! Provides several machines whose servers share one database, and clients that keep them busy.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_test_support::postgres::{PASSWORD, Postgres};
use scorpiox_tests::Program;
use scorpiox_tests::http::HttpServer;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::database::store;
use super::proxies::Proxy;

pub(super) const TOKEN: &str = "token-of-the-team-0123456789";
/// Maximum time until a call succeeds after a server failure.
const RECOVERY: Duration = Duration::from_secs(20);

/// Machines that share a database, with the workspace at the same path.
pub(super) struct Team {
    pub(super) program: Program,
    pub(super) homes: Vec<PathBuf>,
}

impl Team {
    pub(super) fn new(database: &str, count: usize) -> Self {
        let program = Program::new();
        let hash: String = Sha256::digest(TOKEN).iter().map(|byte| format!("{byte:02x}")).collect();
        let policy = format!(
            "version = 1\n{}[http.auth]\nkind = \"token\"\n[http.auth.tokens.ann]\nsha256 = \"{hash}\"\n",
            store(database)
        );
        let homes = (0..count).map(|number| {
            let file = program.put(&format!("machine{number}/policy.toml"), &policy);
            let home = file.parent().expect("a folder").to_owned();
            fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).expect("a mode");
            home
        });
        let homes = homes.collect();
        Self { program, homes }
    }

    /// Starts the server of one machine; port 0 picks a free port.
    pub(super) fn start(&self, machine: usize, port: u16) -> HttpServer {
        self.start_with(machine, port, |_| ())
    }

    pub(super) fn start_with(
        &self,
        machine: usize,
        port: u16,
        change: impl FnOnce(&mut Command),
    ) -> HttpServer {
        let mut command = self.program.command();
        change(&mut command);
        self.spawn(command, machine, port)
    }

    /// Starts the server of one machine from a different binary than the one under test.
    pub(super) fn start_as(&self, binary: &Path, machine: usize, port: u16) -> HttpServer {
        let like = self.program.command();
        let mut command = Command::new(binary);
        command.current_dir(self.program.workspace()).env_clear();
        command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        self.spawn(command, machine, port)
    }

    fn spawn(&self, mut command: Command, machine: usize, port: u16) -> HttpServer {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.log()).expect("a file");
        command
            .env("SCORPIOX_HOME", &self.homes[machine])
            .env("SCORPIOX_STORE_PASSWORD", PASSWORD)
            .stderr(log);
        let mut server = HttpServer::spawn(command, &format!("127.0.0.1:{port}"));
        TOKEN.clone_into(&mut server.token);
        server
    }

    /// Returns the path of the shared log of standard error.
    pub(super) fn log(&self) -> PathBuf {
        self.program.home().join("log")
    }

    /// Asserts that all acknowledged tasks are in the database, and that none is stored twice.
    pub(super) fn has_kept<'a>(
        &self,
        database: &Postgres,
        name: &str,
        acknowledged: impl IntoIterator<Item = &'a str>,
    ) {
        let stored = stored(database, name);
        for name in acknowledged {
            assert!(stored.contains_key(name), "{name} is lost");
        }
        // Unacknowledged tasks are stored at most once too, even if they were retried.
        for (name, times) in &stored {
            assert_eq!(*times, 1, "{name}");
        }
        let log = fs::read_to_string(self.log()).expect("a log");
        assert!(!log.contains("panicked"), "{log}");
    }

    pub(super) fn all(&self) -> Vec<HttpServer> {
        (0..self.homes.len()).map(|machine| self.start(machine, 0)).collect()
    }
}

pub(super) fn call(server: &HttpServer, session: &str, tool: &str, arguments: Value) -> (u16, String) {
    let params = json!({ "name": tool, "arguments": arguments });
    let answer = server.ask(&server.in_session(session, 1, "tools/call", &params));
    (answer.status, answer.body)
}

/// Creates a task through the proxy; `true` if it was acknowledged.
pub(super) fn is_made(proxy: &HttpServer, session: Option<&str>, name: &str) -> bool {
    let params = json!({ "name": "TaskManager", "arguments": { "action": "create", "text": name } });
    let request = match session {
        Some(session) => proxy.in_session(session, 1, "tools/call", &params),
        None => proxy.modern("tools/call", params),
    };
    proxy.try_ask(&request).is_ok_and(|answer| {
        // A 404 would make clients abandon the session, and some of them the server.
        assert!(!answer.starts_with("HTTP/1.1 404"), "{answer}");
        let is_whole = answer.starts_with("HTTP/1.1 200") && answer.contains("\"result\"");
        is_whole && answer.contains(name) && !answer.contains("\"isError\":true")
    })
}

/// Counts the stored tasks of the clients of [`Load`] by name.
pub(super) fn stored(database: &Postgres, name: &str) -> BTreeMap<String, usize> {
    let rows = database.psql(name, "SELECT encode(value, 'escape') FROM scorpiox_code.entry").expect("rows");
    let mut times = BTreeMap::new();
    for name in rows.lines().filter_map(|row| {
        let (_, name) = row.split_once("task-")?;
        name.split_once("-end").map(|(name, _)| format!("task-{name}-end"))
    }) {
        *times.entry(name).or_default() += 1;
    }
    times
}

/// Clients of both eras that create tasks and record the acknowledged ones.
#[derive(Default)]
pub(super) struct Load {
    stop: AtomicBool,
    acknowledged: Mutex<Vec<(String, Instant)>>,
    recoveries: Mutex<Vec<(&'static str, Duration)>>,
}

impl Load {
    /// Keeps servers busy while `happens` runs. Afterwards, asserts that each acknowledged task is stored
    /// exactly once.
    pub(super) fn on(team: &Team, database: &str, proxy: &Proxy, happens: impl FnOnce(&Self) -> Postgres) {
        let session = proxy.0.session("2025-11-25", json!({}));
        let load = Self::default();
        let database_after = thread::scope(|scope| {
            for client in 0..4 {
                let (load, proxy) = (&load, &proxy.0);
                let session = (client % 2 == 0).then_some(session.as_str());
                scope.spawn(move || load.client(proxy, client, session));
            }
            // A failure in this scope must also stop the clients.
            let stops = StopsAtEnd(&load.stop);
            load.recovers("the start", Instant::now());
            let after = happens(&load);
            drop(stops);
            after
        });
        let acknowledged = load.acknowledged.into_inner().expect("no panic");
        team.has_kept(&database_after, database, acknowledged.iter().map(|(name, _)| name.as_str()));
        let recoveries = load.recoveries.into_inner().expect("no panic");
        println!("{} acknowledged; recovered after {recoveries:?}", acknowledged.len());
    }

    fn client(&self, proxy: &HttpServer, client: usize, session: Option<&str>) {
        for number in 0.. {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let name = format!("task-{client}-{number}-end");
            if is_made(proxy, session, &name) {
                self.acknowledged.lock().expect("no panic").push((name, Instant::now()));
            }
        }
    }

    fn count(&self) -> usize {
        self.acknowledged.lock().expect("no panic").len()
    }

    /// Waits until calls succeed again after `begun` and records the recovery time.
    pub(super) fn recovers(&self, what: &'static str, begun: Instant) {
        let before = self.count();
        while self.count() < before + 20 {
            assert!(begun.elapsed() < RECOVERY, "{what}: no call succeeds for {RECOVERY:?}");
            thread::sleep(Duration::from_millis(5));
        }
        let after = self.acknowledged.lock().expect("no panic")[before].1;
        self.recoveries.lock().expect("no panic").push((what, after.saturating_duration_since(begun)));
    }
}

/// Sets the flag when dropped, even during unwinding.
pub(super) struct StopsAtEnd<'a>(pub(super) &'a AtomicBool);

impl Drop for StopsAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
