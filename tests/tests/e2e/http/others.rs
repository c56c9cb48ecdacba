//! Tests of third-party clients of both eras, which continue while servers behind a proxy are killed. Each
//! call takes effect once, and answers to elicitations arrive regardless of the server that receives them.
//! `tests/clients/run.sh --set-up` installs the clients.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_test_support::postgres::Postgres;
use scorpiox_tests::http::HttpServer;
use scorpiox_tests::program::ends_within;

use super::proxies::Proxy;
use super::team::{TOKEN, Team};

/// Maximum time for each client to recover after a server failure. A client gives up a lost call after 10 s.
const RECOVERY: Duration = Duration::from_secs(30);
/// Number of operations of each kind after which a client counts as recovered.
const SOME: usize = 6;

/// Operations that a client reported.
#[derive(Default)]
struct Done {
    made: Vec<String>,
    answered: usize,
    failed: Vec<String>,
}

/// Client process that stays busy until its input is closed.
struct Client {
    name: String,
    child: Child,
    done: Arc<Mutex<Done>>,
}

impl Client {
    fn start(sdk: &str, era: &str, server: &HttpServer) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
        let mut command = match sdk {
            "python" => {
                let mut command = Command::new(folder.join(".venv/bin/python"));
                command.arg("busy.py");
                command
            }
            _ => {
                // Any installed Node that is recent enough.
                let mut command = Command::new("bash");
                command.args([
                    "-euc",
                    ". ./node.sh; set_up_node 'the SDK'; exec node --no-warnings busy.mjs \"$@\"",
                    "busy",
                ]);
                command
            }
        };
        let url = format!("http://{}/mcp", server.address);
        command.current_dir(&folder).args([era, &url, TOKEN]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}; run tests/clients/run.sh --set-up"));
        let done = Arc::new(Mutex::new(Done::default()));
        let (noted, said) = (Arc::clone(&done), child.stdout.take().expect("a pipe"));
        thread::spawn(move || {
            for line in BufReader::new(said).lines().map_while(Result::ok) {
                let mut done = noted.lock().expect("no panic");
                match line.strip_prefix("made ") {
                    Some(name) => done.made.push(name.to_owned()),
                    None if line == "answered" => done.answered += 1,
                    None => done.failed.push(line),
                }
            }
        });
        Self { name: format!("{sdk} {era}"), child, done }
    }

    fn count(&self) -> [usize; 2] {
        let done = self.done.lock().expect("no panic");
        [done.made.len(), done.answered]
    }

    /// Waits until the client has done more operations of each kind.
    fn goes_on(&self, after: &str, [made, answered]: [usize; 2], begun: Instant) {
        while self.count()[0] < made + SOME || self.count()[1] < answered + SOME {
            let failed = self.done.lock().expect("no panic").failed.last().cloned();
            assert!(begun.elapsed() < RECOVERY, "{}, {after}: {failed:?}", self.name);
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        if ends_within(&mut self.child, RECOVERY).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn go_on(clients: &[Client], after: &str) {
    let begun = Instant::now();
    let before: Vec<_> = clients.iter().map(Client::count).collect();
    clients.iter().zip(before).for_each(|(client, before)| client.goes_on(after, before, begun));
    println!("{after}: all go on after {:?}", begun.elapsed());
}

fn go_on_behind(start: impl Fn(&Path, &[SocketAddr], &str) -> Proxy) {
    let database = Postgres::start_with(&["fsync=on", "synchronous_commit=on"]);
    let team = Team::new(&database.database(), 3);
    let mut servers = team.all();
    let addresses: Vec<_> = servers.iter().map(|server| server.address).collect();
    let proxy = start(&team.program.home().join("proxy"), &addresses, TOKEN);
    let eras = ["2025-11-25", "2026-07-28"];
    let clients: Vec<_> = ["python", "typescript"]
        .into_iter()
        .flat_map(|sdk| eras.map(|era| Client::start(sdk, era, &proxy.0)))
        .collect();
    go_on(&clients, "the start");
    for client in &clients {
        let failed = &client.done.lock().expect("no panic").failed;
        assert!(failed.is_empty(), "{}: nothing befell a server yet: {failed:?}", client.name);
    }
    for (machine, server) in servers.iter_mut().enumerate() {
        let port = server.address.port();
        server.child.kill().expect("killed");
        server.child.wait().expect("ended");
        go_on(&clients, "a killed server");
        *server = team.start(machine, port);
        go_on(&clients, "a server that is back");
    }
    let done: Vec<_> = clients.iter().map(|client| Arc::clone(&client.done)).collect();
    drop(clients);
    let done: Vec<_> = done.iter().map(|done| done.lock().expect("no panic")).collect();
    for done in &done {
        println!("{} made, {} answered, {} failed", done.made.len(), done.answered, done.failed.len());
    }
    team.has_kept(&database, "test0", done.iter().flat_map(|done| &done.made).map(String::as_str));
}

#[test]
fn clients_that_others_wrote_go_on_behind_haproxy_while_servers_are_killed() {
    go_on_behind(Proxy::haproxy);
}

#[test]
fn clients_that_others_wrote_go_on_behind_nginx_while_servers_are_killed() {
    go_on_behind(Proxy::nginx);
}
