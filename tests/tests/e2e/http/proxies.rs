//! Tests behind common proxies: nginx, which buffers responses, and haproxy, which distributes requests over
//! two processes.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use scorpiox_tests::Program;
use scorpiox_tests::http::HttpServer;
use scorpiox_tests::program::ends_within;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::observe::{TOKEN, policy};

/// Maximum time for a proxy to accept connections.
const PATIENCE: Duration = Duration::from_secs(20);

/// Proxy process that clients use like a server. Killed when dropped.
pub(super) struct Proxy(pub(super) HttpServer);

impl Proxy {
    fn start(mut command: Command, address: SocketAddr, token: &str) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child: Child = child.unwrap_or_else(|error| panic!("{command:?}: {error}; install it"));
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(begun.elapsed() < PATIENCE, "{command:?} takes no connections");
            std::thread::yield_now();
        }
        Self(HttpServer { child, address, token: token.to_owned(), output: None })
    }

    /// Starts Debian's nginx with the documented configuration and buffering, but with round-robin balancing.
    pub(super) fn nginx(folder: &Path, backends: &[SocketAddr], token: &str) -> Self {
        let documented = documented("upstream scorpiox {");
        let spread: String = documented.lines().filter(|line| !line.contains("hash ")).map(lined).collect();
        Self::nginx_with(&spread, folder, backends, token)
    }

    /// Starts nginx as documented, with each client pinned to one server.
    pub(super) fn documented_nginx(folder: &Path, backends: &[SocketAddr], token: &str) -> Self {
        Self::nginx_with(&documented("upstream scorpiox {"), folder, backends, token)
    }

    fn nginx_with(block: &str, folder: &Path, backends: &[SocketAddr], token: &str) -> Self {
        let address = free();
        fs::create_dir_all(folder).expect("a folder");
        let servers: String =
            backends.iter().map(|backend| format!("    server {backend} max_fails=0;\n")).collect();
        let block = with_servers(block, "    server 10.0.0.", &servers);
        let block: String =
            block.lines().filter(|line| !line.contains("ssl_certificate")).map(lined).collect();
        let listens = block.replace("listen 443 ssl;", &format!("listen {address};"));
        assert_ne!(block, listens, "the document listens elsewhere");
        let text = format!(
            "user root; daemon off; pid nginx.pid; error_log error.log; events {{}}\nhttp {{\n  access_log off;\n  \
             client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;\n{listens}}}\n"
        );
        fs::write(folder.join("nginx.conf"), text).expect("written");
        let mut command = Command::new("nginx");
        command.arg("-p").arg(folder).args(["-c", "nginx.conf", "-e", "error.log"]);
        Self::start(command, address, token)
    }

    /// Starts haproxy as documented, with health checks that only open a connection.
    pub(super) fn documented_haproxy(folder: &Path, backends: &[SocketAddr], token: &str) -> Self {
        let address = free();
        fs::create_dir_all(folder).expect("a folder");
        let servers = backends.iter().enumerate();
        let servers: String =
            servers.map(|(number, backend)| format!("    server s{number} {backend} check\n")).collect();
        let block = with_servers(&documented("frontend mcp"), "    server ", &servers);
        // These servers share a machine and have no probes.
        let block: String = block
            .lines()
            .filter(|line| !["check ", "httpchk"].iter().any(|word| line.contains(word)))
            .map(lined)
            .collect();
        let listens = block.replace("bind :443 ssl crt /etc/haproxy/mcp.pem", &format!("bind {address}"));
        assert_ne!(block, listens, "the document listens elsewhere");
        let path = folder.join("haproxy.cfg");
        fs::write(&path, listens).expect("written");
        let mut command = Command::new("haproxy");
        command.arg("-db").arg("-f").arg(path);
        Self::start(command, address, token)
    }

    /// Starts haproxy with round-robin balancing.
    pub(super) fn haproxy(folder: &Path, backends: &[SocketAddr], token: &str) -> Self {
        let address = free();
        fs::create_dir_all(folder).expect("a folder");
        let mut text = format!(
            "defaults\n  mode http\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n  option http-no-delay\n  option redispatch 1\n  retries 10\n  \
             retry-on conn-failure 503\nfrontend clients\n  bind {address}\n  default_backend servers\nbackend servers\n  \
             balance roundrobin\n"
        );
        for (number, backend) in backends.iter().enumerate() {
            text.push_str(&format!("  server s{number} {backend} check inter 200ms fall 1 rise 1\n"));
        }
        let path = folder.join("haproxy.cfg");
        fs::write(&path, text).expect("written");
        let mut command = Command::new("haproxy");
        command.arg("-db").arg("-f").arg(path);
        Self::start(command, address, token)
    }
}

/// Returns the block of `docs/http.md` that contains `part`.
fn documented(part: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/http.md");
    let page = fs::read_to_string(path).expect("a document");
    let block = page.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    block.into_iter().find(|block| block.contains(part)).expect("a block").to_owned()
}

fn lined(line: &str) -> String {
    format!("{line}\n")
}

/// Returns the block with its lines that begin with `start` replaced by `servers`.
fn with_servers(block: &str, start: &str, servers: &str) -> String {
    let (mut text, mut is_named) = (String::new(), false);
    for line in block.lines() {
        if !line.starts_with(start) {
            text += &lined(line);
        } else if !std::mem::replace(&mut is_named, true) {
            text += servers;
        }
    }
    assert!(is_named, "the document names no servers: {block}");
    text
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let process = rustix::process::Pid::from_child(&self.0.child);
        let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
        let _ = ends_within(&mut self.0.child, PATIENCE);
    }
}

/// Returns an address without a listener. Its port lies below those that systems give to outgoing connections:
/// a connection to such a port of the same machine can be answered by its own socket.
pub(super) fn free() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = std::process::id() % 10_000;
    (0..10_000)
        .map(|_| u32::from(NEXT.fetch_add(1, Ordering::Relaxed)))
        .map(|next| SocketAddr::from(([127, 0, 0, 1], 20_000 + ((first + next) % 10_000) as u16)))
        .find(|address| TcpListener::bind(address).is_ok())
        .expect("a port")
}

/// Makes a slow call in a session and asserts that its first event arrives before the command ends.
fn streams(server: &HttpServer, session: &str, release: &Path) {
    let command = format!("echo begun; while [ ! -e {} ]; do sleep 0.05; done; echo done", release.display());
    let params =
        json!({ "name": "Bash", "arguments": { "command": command }, "_meta": { "progressToken": 7 } });
    let mut stream = server.connect();
    stream.send(&server.in_session(session, 9, "tools/call", &params).bytes());
    let head = stream.head();
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")), "{head:?}");
    let first = stream.message().expect("progress");
    assert_eq!(first["method"], "notifications/progress", "{first}");
    fs::write(release, "").expect("written");
    let mut last = first;
    while let Some(message) = stream.message() {
        last = message;
    }
    assert!(
        last["result"]["content"][0]["text"].as_str().is_some_and(|text| text.contains("done")),
        "{last}"
    );
}

#[test]
fn a_session_lives_behind_nginx_over_a_restart_of_the_server() {
    let program = Program::new();
    let mut server = program.serve_http(0);
    let proxy = Proxy::nginx(&program.home().join("nginx"), &[server.address], &server.token);
    let session = proxy.0.session("2025-11-25", json!({}));
    streams(&proxy.0, &session, &program.workspace().join("release"));
    let discovered = proxy.0.ask(&proxy.0.modern("server/discover", json!({})));
    assert_eq!(discovered.status, 200, "{discovered:?}");
    // A server-initiated message arrives immediately, although nginx buffers responses.
    let mut told = proxy.0.connect();
    told.send(
        &proxy
            .0
            .modern("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }))
            .bytes(),
    );
    assert_eq!(told.head().status, 200);
    assert_eq!(told.message().expect("a message")["method"], "notifications/subscriptions/acknowledged");
    let port = server.address.port();
    server.end();
    let gone = proxy.0.ask(&proxy.0.in_session(&session, 2, "tools/list", &json!({})));
    assert_eq!(gone.status, 502, "{gone:?}");
    let _server = program.serve_http(port);
    let listed = proxy.0.ask(&proxy.0.in_session(&session, 3, "tools/list", &json!({})));
    assert!(listed.status == 200 && listed.body.contains("TaskManager"), "{listed:?}");
}

#[test]
fn two_processes_behind_haproxy_serve_one_session() {
    let program = Program::new();
    let (mut one, two) = (program.serve_http(0), program.serve_http(0));
    let proxy = Proxy::haproxy(&program.home().join("haproxy"), &[one.address, two.address], &one.token);
    let session = proxy.0.session("2025-11-25", json!({}));
    let task = |id: u64, arguments| {
        let params = json!({ "name": "TaskManager", "arguments": arguments });
        proxy.0.ask(&proxy.0.in_session(&session, id, "tools/call", &params))
    };
    for number in 0..10 {
        let made = task(number, json!({ "action": "create", "query": "", "text": format!("task {number}") }));
        assert_eq!(made.status, 200, "{made:?}");
    }
    streams(&proxy.0, &session, &program.workspace().join("release"));
    // One of the two servers stops, and the other continues with all acknowledged data.
    one.end();
    let listed = task(20, json!({ "action": "list", "query": "" }));
    assert_eq!(listed.status, 200, "{listed:?}");
    for number in 0..10 {
        assert!(listed.body.contains(&format!("task {number}")), "{listed:?}");
    }
    // A session that is ended at one server is invalid at both.
    let one = program.serve_http(0);
    let ended = one.ask(&one.in_session(&session, 30, "ping", &json!({})).method("DELETE").body(""));
    assert_eq!(ended.status, 204, "{ended:?}");
    let after = two.ask(&two.in_session(&session, 31, "tools/list", &json!({})));
    assert_eq!(after.status, 404, "{after:?}");
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Changes the policies of several servers one after the other and restarts each server, while a client makes
/// calls.
fn no_call_is_refused(start: impl Fn(&Path, &[SocketAddr], &str) -> Proxy) {
    const CALLS: usize = 240;
    // A server reads this section when it starts.
    let policy = |change: usize| policy(&format!("[audit]\nmax_files = {}\n", 10 + change));
    let programs: Vec<_> = (0..3).map(|_| Program::new()).collect();
    let mut servers: Vec<_> = programs
        .iter()
        .map(|program| {
            program.put("home/.scorpiox/policy.toml", policy(0));
            program.serve_http(0)
        })
        .collect();
    let addresses: Vec<_> = servers.iter().map(|server| server.address).collect();
    let proxy = start(&programs[0].home().join("proxy"), &addresses, TOKEN);
    let (called, refused, is_over) = (AtomicUsize::new(0), Mutex::new(Vec::new()), AtomicBool::new(false));
    let gone = AtomicUsize::new(0);
    let mut changes = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while called.load(Ordering::Relaxed) < CALLS || !is_over.load(Ordering::Relaxed) {
                let params = json!({ "name": "TaskManager", "arguments": { "action": "list" } });
                let request = proxy.0.modern("tools/call", params);
                let is_whole = called.load(Ordering::Relaxed).is_multiple_of(2);
                let answer = if is_whole { proxy.0.ask(&request) } else { proxy.0.ask_in_parts(&request) };
                if answer.status == 502 {
                    // The server that refused with 503 exited before the proxy retried.
                    gone.fetch_add(1, Ordering::Relaxed);
                } else if answer.status != 200 || !answer.body.contains("\"isError\":false") {
                    refused.lock().expect("a lock").push(answer.body);
                }
                called.fetch_add(1, Ordering::Relaxed);
            }
        });
        let alone = |server: &HttpServer| {
            let params = json!({ "name": "TaskManager", "arguments": { "action": "list" } });
            HttpServer::asked(server.address, &proxy.0.modern("tools/call", params)).status
        };
        // The client stops even if this thread panics.
        let _over = SetOnDrop(&is_over);
        while changes < 6 || called.load(Ordering::Relaxed) < CALLS {
            let machine = changes % 3;
            changes += 1;
            programs[machine].put("home/.scorpiox/policy.toml", policy(changes));
            let begun = Instant::now();
            while alone(&servers[machine]) != 503 {
                assert!(begun.elapsed() < PATIENCE, "a server goes on under an older policy");
            }
            // Many calls arrive while the server refuses each of them.
            let before = called.load(Ordering::Relaxed);
            while called.load(Ordering::Relaxed) < before + 20 {
                assert!(begun.elapsed() < PATIENCE * 3, "calls do not go on");
                std::thread::yield_now();
            }
            let port = servers[machine].address.port();
            servers[machine].end();
            servers[machine] = programs[machine].serve_http(port);
            assert_eq!(alone(&servers[machine]), 200);
        }
    });
    let refused = refused.into_inner().expect("a lock");
    let (called, first) = (called.into_inner(), refused.first());
    assert!(called >= CALLS && refused.is_empty(), "{} of {called}: {first:?}", refused.len());
    let gone = gone.into_inner();
    assert!(gone <= changes, "{gone} of {called} met no server, and {changes} were started again");
}

#[test]
fn behind_nginx_no_call_is_refused_while_policies_change() {
    no_call_is_refused(Proxy::documented_nginx);
    no_call_is_refused(Proxy::nginx);
}

#[test]
fn behind_haproxy_no_call_is_refused_while_policies_change() {
    no_call_is_refused(Proxy::documented_haproxy);
}

/// Starts a documented proxy in front of the servers, for the owner of a token.
type Documented = fn(&Path, &[SocketAddr], &str) -> Proxy;

/// Behind the documented proxies, a client keeps access to state that only one server has.
#[test]
fn behind_the_proxies_of_the_page_a_client_stays_at_one_server() {
    let proxies: [(&str, Documented); 2] =
        [("nginx", Proxy::documented_nginx), ("haproxy", Proxy::documented_haproxy)];
    for (kind, start) in proxies {
        let program = Program::new();
        let tokens: Vec<_> = (0..16).map(|number| format!("token-of-number-{number}-0123456789")).collect();
        let named = tokens.iter().enumerate().map(|(number, token)| {
            let hash: String = Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect();
            format!("[http.auth.tokens.n{number}]\nsha256 = \"{hash}\"\n")
        });
        let policy = format!(
            "version = 1\n[http]\nproxies = [\"127.0.0.1\"]\n[http.auth]\nkind = \"token\"\n{}",
            named.collect::<String>()
        );
        program.put("home/.scorpiox/policy.toml", policy);
        let mut servers = [program.serve_http(0), program.serve_http(0)];
        let addresses = servers.each_ref().map(|server| server.address);
        let proxy = start(&program.home().join("proxy"), &addresses, &tokens[0]);
        let text = |token: &str, tool: &str, arguments: serde_json::Value| {
            proxy.0.shown(token).text(tool, arguments)
        };
        let mut at = [0; 2];
        for (number, token) in tokens.iter().enumerate() {
            text(token, "BackgroundBash", json!({ "command": format!("echo of {number}; sleep 600") }));
            for _ in 0..10 {
                let listed = text(token, "ListBgTasks", json!({}));
                assert!(listed.contains(&format!("echo of {number}")), "{kind}: {listed}");
            }
            let direct = servers[0].shown(token).text("ListBgTasks", json!({}));
            at[usize::from(!direct.contains(&format!("echo of {number}")))] += 1;
        }
        assert!(at.iter().all(|count| *count > 0), "{kind}: all went to one server: {at:?}");
        // After a server stops, its clients move to the other one.
        servers[0].end();
        for token in &tokens {
            text(token, "ListBgTasks", json!({}));
        }
    }
}
