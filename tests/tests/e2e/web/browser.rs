//! Tests of pages that need a browser, and of the restrictions on them.

use std::net::{TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_tests::container::Refused;
use scorpiox_tests::site::{Answer, Asked, Site};
use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::support::{failure, program, serve, start, success};

const SHELL: &str =
    r#"<!DOCTYPE html><title>App</title><div id="root"></div><script src="/app.js"></script>"#;
const SCRIPT: &str = r#"fetch('/data.json').then(r => r.json()).then(data => {
    document.getElementById('root').innerHTML = '<main><h1>' + data.title + '</h1><p>' + 'Made by a script. '.repeat(30) + '</p></main>';
    setTimeout(() => { document.querySelector('main').innerHTML += '<p>And later.</p>'; }, 700);
});"#;

fn app(asked: &Asked) -> Answer {
    match asked.path.as_str() {
        "/app.js" => Answer::of("text/javascript", SCRIPT),
        "/data.json" => Answer::of("application/json", r#"{"title":"Größe"}"#),
        "/" => Answer::html(SHELL),
        "/away" => Answer::html(
            "<title>x</title><script>location = 'http://127.0.0.2:9/there'</script><div id=root></div>",
        ),
        "/dialogs" => Answer::html(
            "<div id=root></div><script>alert(1); confirm('x'); prompt('y'); document.title='t'; document.body.innerHTML = '<p>' + 'past the dialogs '.repeat(40)</script>",
        ),
        "/loop" => Answer::html("<div id=root></div><script>while (true) {}</script>"),
        _ => Answer::not_found(),
    }
}

fn rendered(server: &mut Started, url: &str, wait_ms: u32) -> Value {
    server.call("ReadDocs", json!({ "url": url, "wait_ms": wait_ms }))
}

/// Listener that no page may reach, with the number of connections.
struct Victim {
    port: u16,
    reached: Arc<AtomicUsize>,
}

impl Victim {
    fn start() -> Self {
        // A different address than the allowed one.
        Self::at(0)
    }

    fn at(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.2", port)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let reached = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&reached);
        thread::spawn(move || {
            for _ in listener.incoming() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        let socket = UdpSocket::bind(("127.0.0.2", port)).expect("the same port");
        let count = Arc::clone(&reached);
        thread::spawn(move || {
            while socket.recv(&mut [0; 100]).is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { port, reached }
    }

    fn count(&self) -> usize {
        self.reached.load(Ordering::SeqCst)
    }
}

#[test]
fn a_page_made_by_scripts_is_shown_in_a_browser() {
    let site = Site::start(app);
    let mut server = serve(program(""));
    let result = server.call("ReadDocs", json!({ "url": site.url("/") }));
    let text = success(&result);
    assert!(text.contains("Größe") && text.contains("Made by a script."), "{text}");
    assert_eq!(result["structuredContent"]["rendered"], true, "{result}");
    // The second page reuses the running browser.
    let begin = Instant::now();
    let later = rendered(&mut server, &site.url("/"), 1500);
    assert!(success(&later).contains("And later."), "{later}");
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

#[test]
fn the_browser_ends_with_the_server() {
    let site = Site::start(app);
    let program = program("");
    let mut server = start(&program);
    success(&rendered(&mut server, &site.url("/"), 0));
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    // The processes are recorded by ID, since their ancestry is lost when the server dies.
    let browsers: Vec<u32> =
        pids.filter(|pid| is_browser(*pid) && belongs_to(*pid, server.child.id())).collect();
    assert!(browsers.len() >= 2, "{browsers:?}");
    server.kill();
    let begin = Instant::now();
    while browsers.iter().any(|pid| is_browser(*pid)) {
        assert!(begin.elapsed() < Duration::from_secs(1), "some of {browsers:?} stay");
        thread::yield_now();
    }
}

fn is_browser(pid: u32) -> bool {
    // The command line of a zombie is empty.
    let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.contains("chrom")
}

/// `true` if a process descends from another one.
fn belongs_to(pid: u32, ancestor: u32) -> bool {
    let mut pid = pid;
    while pid > 1 {
        if pid == ancestor {
            return true;
        }
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
        pid = parent.unwrap_or(0);
    }
    false
}

#[test]
fn a_page_reaches_no_address_inside_whatever_it_tries() {
    let victim = Victim::start();
    let port = victim.port;
    let page = move |_: &Asked| {
        let target = format!("127.0.0.2:{port}");
        Answer::html(format!(
            r#"<!DOCTYPE html><title>Attack</title>
            <link rel="stylesheet" href="http://{target}/style"><link rel="prefetch" href="http://{target}/prefetch">
            <link rel="preconnect" href="http://{target}"><img src="http://{target}/image">
            <iframe src="http://{target}/frame"></iframe><object data="http://{target}/object"></object>
            <video src="http://{target}/video"></video><script src="http://{target}/script"></script>
            <p>{filler}</p><div id="log"></div>
            <script>
            const log = (what) => document.getElementById('log').append(what + '; ');
            const hosts = ['{target}', '[::1]:{port}', 'localhost.:{port}', '2130706434:{port}', '0x7f.2:{port}', '[::ffff:127.0.0.2]:{port}'];
            for (const host of hosts) {{
                fetch('http://' + host + '/fetch', {{mode: 'no-cors'}}).catch(() => {{}});
                try {{ const s = new WebSocket('ws://' + host + '/socket'); s.onopen = () => log('GOT socket ' + host); }} catch (e) {{}}
                try {{ new EventSource('http://' + host + '/events').onopen = () => log('GOT events ' + host); }} catch (e) {{}}
                navigator.sendBeacon('http://' + host + '/beacon', 'x');
            }}
            try {{
                const peer = new RTCPeerConnection({{iceServers: [{{urls: 'stun:{target}'}}]}});
                peer.createDataChannel('x');
                peer.createOffer().then(offer => peer.setLocalDescription(offer));
            }} catch (e) {{}}
            navigator.serviceWorker?.register('/worker.js').catch(() => {{}});
            fetch('http://169.254.169.254/latest/meta-data/').then(() => log('GOT metadata'), () => log('refused'));
            fetch('http://{target}/read').then(() => log('GOT page'), () => log('refused'));
            window.open('http://{target}/window');
            </script>"#,
            filler = "A page with enough words to be one. ".repeat(20),
        ))
    };
    let site = Site::start(move |asked| match asked.path.as_str() {
        "/worker.js" => Answer::of(
            "text/javascript",
            format!("fetch('http://127.0.0.2:{port}/worker', {{mode: 'no-cors'}});"),
        ),
        _ => page(asked),
    });
    let attack = json!({"url": site.url("/"), "wait_ms": 4000, "format": "text"});
    let mut server = serve(program(""));
    let result = server.call("ReadDocs", attack.clone());
    let text = success(&result);
    assert!(!text.contains("GOT"), "{text}");
    assert!(text.contains("refused"), "{text}");
    assert_eq!(victim.count(), 0, "the victim was reached");
    let notes = result["structuredContent"]["notes"].to_string();
    assert!(notes.contains("127.0.0.2") && notes.contains("of this machine"), "{notes}");
    assert!(site.count("/worker.js") > 0, "the worker was tried");

    // Without the restriction, the same page reaches its target, which proves that the attempts are
    // effective.
    let open = scorpiox_tests::Program::new();
    open.put("home/.scorpiox/policy.toml", "version = 1\n[web]\nallow_private = [\"127.0.0.0/8\"]\n");
    serve(open).call("ReadDocs", attack);
    assert!(victim.count() > 5, "{} times", victim.count());
}

/// Changes the address of a page's host from 127.0.0.1 to 127.0.0.2 while the page runs. Returns the number
/// of connections to 127.0.0.2, and the result.
fn after_a_change_of_address(allowed: &str) -> (usize, String) {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", format!("version = 1\n[web]\nallow_private = [{allowed:?}]\n"));
    let hosts = program.put("hosts", "127.0.0.1 localhost changing.example.com\n");
    let root = if rustix::process::geteuid().is_root() { "" } else { "--map-root-user" };
    let program = program.after(&format!(
        "[ \"$1\" = inside ] || exec unshare --mount {root} \"$0\" inside; shift; mount --bind '{}' /etc/hosts",
        hosts.display()
    ));
    let site = Site::start(move |asked| {
        match asked.path.as_str() {
        "/change" => {
            std::fs::write(&hosts, "127.0.0.2 changing.example.com\n").expect("writes");
            Answer::of("text/plain", "changed")
        }
        "/" => Answer::html(format!(
            "<title>Change</title><p>{}</p><p id=log></p><script>
            const log = what => document.getElementById('log').append(what + '; ');
            const ask = path => fetch(path).then(answer => answer.text()).then(log, () => log('refused'));
            ask('/before').then(() => ask('/change')).then(() => Promise.all([1, 2, 3].map(n => ask('/after' + n))));
            </script>",
            "A page with enough words to be one. ".repeat(20)
        )),
        path => Answer::of("text/plain", format!("{path} of its own")),
    }
    });
    let port = site.url("/").rsplit(':').next().and_then(|rest| rest.trim_end_matches('/').parse().ok());
    let port: u16 = port.expect("a port");
    let victim = Victim::at(port);
    let mut server = serve(program);
    let url = format!("http://changing.example.com:{port}/#full");
    let result = server.call("ReadDocs", json!({"url": url, "wait_ms": 6000, "format": "text"}));
    (victim.count(), success(&result).to_owned())
}

#[test]
fn a_change_of_a_hosts_address_leads_a_page_nowhere() {
    let (reached, text) = after_a_change_of_address("127.0.0.1/32");
    assert!(text.contains("/before of its own; changed;") && !text.contains("/after"), "{text}");
    assert_eq!(
        text.matches("was refused: its address 127.0.0.2 is an address of this machine").count(),
        3,
        "{text}"
    );
    assert_eq!(reached, 0);
    // If both addresses are allowed, the page reaches the second one, which proves that the address change is
    // effective.
    let (reached, _) = after_a_change_of_address("127.0.0.0/8");
    assert!(reached > 0);
}

#[test]
fn a_page_that_leads_elsewhere_is_told_of() {
    let site = Site::start(app);
    let result = rendered(&mut serve(program("")), &site.url("/away"), 1000);
    let text = result["content"][0]["text"].as_str().expect("text");
    assert!(text.contains("http://127.0.0.2:9/there"), "{text}");
}

#[test]
fn dialogs_and_endless_scripts_do_not_hold_it_up() {
    let site = Site::start(app);
    let mut server = serve(program(""));
    let result = rendered(&mut server, &site.url("/dialogs"), 200);
    assert!(success(&result).contains("past the dialogs"), "{result}");
    let begin = Instant::now();
    let result = rendered(&mut server, &site.url("/loop"), 200);
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    drop(result);
    let fine = rendered(&mut server, &site.url("/"), 500);
    assert!(success(&fine).contains("Größe"), "{fine}");
}

#[test]
fn without_a_browser_the_page_is_given_as_it_came() {
    let site = Site::start(app);
    for policy in ["browser = false\n", "browser_path = \"/nowhere/chrome\"\n"] {
        let mut server = serve(program(policy));
        let result = rendered(&mut server, &site.url("/"), 0);
        let text = result["content"][0]["text"].as_str().expect("text");
        assert!(text.contains("browser"), "{policy}: {text}");
    }
}

#[test]
fn in_bubblewrap_the_browser_runs_and_reaches_no_more() {
    let victim = Victim::start();
    let port = victim.port;
    let site = Site::start(move |_| {
        Answer::html(format!(
            "<title>x</title><div id=root></div><img src='http://127.0.0.2:{port}/'><script>
            document.getElementById('root').innerHTML = '<main>' + 'Made by a script. '.repeat(30) + '</main>';
            fetch('http://127.0.0.2:{port}/', {{mode: 'no-cors'}});</script>"
        ))
    });
    let mut server = serve(program("").refusing(Refused::OwnUserNamespaces));
    let result = rendered(&mut server, &site.url("/"), 1500);
    assert!(success(&result).contains("Made by a script."), "{result}");
    assert_eq!(result["structuredContent"]["rendered"], true, "{result}");
    assert_eq!(victim.count(), 0);
}

#[test]
fn where_no_sandbox_has_a_network_of_its_own_no_browser_runs() {
    let site = Site::start(app);
    let program: Program = program("").refusing(Refused::AllNamespaces);
    let mut server = start(&program);
    let result = rendered(&mut server, &site.url("/"), 0);
    let text = result["content"][0]["text"].as_str().expect("text");
    assert!(text.contains("sandbox"), "{text}");
}

#[test]
fn a_page_that_no_browser_can_load_is_a_clear_error() {
    let mut server = serve(program(""));
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let result = rendered(&mut server, &format!("http://127.0.0.1:{port}/"), 0);
    assert!(failure(&result).contains("127.0.0.1"), "{result}");
}
