//! Tests of network access for commands: none, listed hosts, or everything.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use scorpiox_tests::Program;
use serde_json::{Value, json};

use super::support::{background, bash, comes_true, in_each_tier, in_tier, read_to_end, start, with_policy};

/// Listener on the machine that reports connections.
struct Host {
    listener: TcpListener,
    port: u16,
}

impl Host {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        listener.set_nonblocking(true).expect("a mode");
        let port = listener.local_addr().expect("an address").port();
        Self { listener, port }
    }

    fn was_reached(&self) -> bool {
        match self.listener.accept() {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                false
            }
        }
    }
}

/// Returns commands that try every way to reach a service of the machine, from a shell and from Python.
fn attempts(port: u16, socket: &str) -> String {
    format!(
        "(echo > /dev/tcp/127.0.0.1/{port}) 2>&1; (echo > /dev/tcp/localhost/{port}) 2>&1; \
         curl -sS -m 2 http://127.0.0.1:{port}/ 2>&1; curl -sS -m 2 --noproxy '*' http://127.0.0.1:{port}/ 2>&1; \
         curl -sS -m 2 --unix-socket {socket} http://x/ 2>&1; \
         python3 - <<'P'\nimport socket\n\
         for family, address in [(socket.AF_INET, ('127.0.0.1', {port})), (socket.AF_INET, ('127.1', {port})), (socket.AF_INET, ('0.0.0.0', {port})), \
         (socket.AF_INET6, ('::ffff:127.0.0.1', {port})), (socket.AF_UNIX, '{socket}')]:\n    \
         try:\n        s = socket.socket(family); s.settimeout(1); s.connect(address); print('ESCAPED', address)\n    \
         except OSError as e: print('refused', address, e)\nP\ntrue"
    )
}

#[test]
fn nothing_of_the_machine_is_reached_when_the_network_is_off() {
    in_each_tier(|program, server| {
        let host = Host::new();
        let path = program.home().join("service.sock");
        let service = UnixListener::bind(&path).expect("a socket");
        let inside = UnixListener::bind(program.workspace().join("service.sock")).expect("a socket");
        for listener in [&service, &inside] {
            listener.set_nonblocking(true).expect("a mode");
        }
        for socket in [path.display().to_string(), "service.sock".to_owned()] {
            let ran = bash(server, &attempts(host.port, &socket));
            assert!(!ran.text.contains("ESCAPED"), "{}", ran.text);
            assert!(ran.text.contains("refused"), "Python ran: {}", ran.text);
        }
        assert!(!host.was_reached());
        assert!(service.accept().is_err() && inside.accept().is_err());
    });
}

#[test]
fn open_is_the_network_of_the_machine() {
    for tier in ["T1", "T1b", "T2"] {
        let program =
            with_policy(in_tier(tier), "[shell.profile.workspace]\nnetwork = { mode = \"open\" }\n");
        let host = Host::new();
        let mut server = start(&program);
        let ran = bash(&mut server, &format!("echo hello > /dev/tcp/127.0.0.1/{}", host.port));
        assert_eq!(ran.succeeded(), "");
        assert_eq!(ran.data["tier"], tier);
        assert!(host.was_reached());
    }
}

#[test]
fn a_list_of_hosts_lets_nothing_else_through_and_says_what_was_refused() {
    for tier in ["T1", "T1b"] {
        let program = with_policy(
            in_tier(tier),
            "[shell.profile.workspace]\nnetwork = { mode = \"allowlist\", hosts = [\"example.com\", \"localhost\"] }\n",
        );
        let host = Host::new();
        let mut server = start(&program);
        let ran = bash(&mut server, &attempts(host.port, "/none"));
        assert!(!ran.text.contains("ESCAPED"), "{}", ran.text);
        // An allowed name that resolves to a local address is refused because of the address. A result names
        // a few refusals.
        let tricks: [(&str, &[&str]); 2] = [
            (
                "http://localhost:PORT/ http://evil-example.com/ http://example.com.evil.org/ http://169.254.169.254/latest/",
                &["localhost", "evil-example.com", "example.com.evil.org", "169.254.169.254"],
            ),
            (
                "http://127.0.0.1:PORT/ http://2130706433:PORT/ http://0x7f.1:PORT/ 'http://[::1]:PORT/' http://example.com@127.0.0.1:PORT/",
                &["127.0.0.1"],
            ),
        ];
        for (urls, refused) in tricks {
            let urls = urls.replace("PORT", &host.port.to_string());
            let ran = bash(
                &mut server,
                &format!(
                    "for url in {urls}; do curl -sS -m 5 --noproxy '' -o /dev/null -w '%{{http_code}}\\n' \"$url\" 2>&1; done; true"
                ),
            );
            assert!(!host.was_reached(), "{}", ran.text);
            for host in refused {
                assert!(ran.text.contains(&format!("[network: {host}:")), "{host}: {}", ran.text);
            }
            assert!(!ran.output().contains("200"), "{}", ran.text);
        }
    }
}

#[test]
fn an_empty_list_denies_everything() {
    let program = with_policy(
        Program::new(),
        "[shell.profile.workspace]\nnetwork = { mode = \"allowlist\", hosts = [] }\n",
    );
    let mut server = start(&program);
    let ran = bash(&mut server, "curl -sS -m 5 http://example.com/ 2>&1");
    assert!(ran.text.contains("[network: example.com:80 was refused: "), "{}", ran.text);
}

#[test]
fn hosts_that_are_refused_to_commands_in_the_background_are_named_once() {
    let policy = "[shell.profile.workspace]\nnetwork = { mode = \"allowlist\", hosts = [] }\n";
    let program = with_policy(Program::new().with("ANSWER_WITHIN", "1"), policy);
    let mut server = start(&program);
    let command = "while true; do curl -sS -m 5 http://example.com/; sleep 0.1; done";
    let until = Instant::now() + Duration::from_secs(30);
    let calls: [(&str, Value); 2] = [
        ("Bash", json!({"command": command, "timeout": 600_000})),
        ("BackgroundBash", json!({"command": command})),
    ];
    for (task, (tool, arguments)) in (1..).zip(calls) {
        let mut said = server.text(tool, arguments);
        while !said.contains("[network: example.com:80 was refused: ") {
            assert!(Instant::now() < until, "{said}");
            said.push_str(&server.text("ReadBgOutput", json!({"task_id": task})));
        }
        let later = server.text("ReadBgOutput", json!({"task_id": task}));
        assert!(!later.contains("[network:"), "{tool}: {later}");
    }
}

/// Commands of a profile share a network in T1, but each is told of its own hosts alone.
#[test]
fn commands_at_the_same_time_are_told_of_their_own_hosts() {
    let policy = "[shell.profile.workspace]\nnetwork = { mode = \"allowlist\", hosts = [] }\n";
    for tier in ["T1", "T1b"] {
        let program = with_policy(in_tier(tier), policy);
        let mut server = start(&program);
        let ask = |host: &str| format!("curl -sS -m 5 -o /dev/null http://{host}/");
        let java = "python3 -c \"import socket; s = socket.socket(socket.AF_INET6); s.connect(('::ffff:127.0.0.1', 3128)); \
            s.sendall(b'CONNECT third.example:443 HTTP/1.1\\r\\n\\r\\n'); print(s.recv(99)[:12])\"";
        let first = ask("first.example");
        let task =
            background(&mut server, &format!("until [ -e go ]; do sleep 0.02; done; {first}; touch done"));
        let ran = bash(&mut server, &format!("{}; {java}", ask("second.example")));
        assert!(ran.text.contains("[network: second.example:80 was refused: "), "{tier}: {}", ran.text);
        assert!(ran.text.contains("[network: third.example:443 was refused: "), "{tier}: {}", ran.text);
        let ran = bash(&mut server, "touch go; until [ -e done ]; do sleep 0.02; done");
        assert!(!ran.text.contains("[network: "), "{tier}: {}", ran.text);
        let read = read_to_end(&mut server, task);
        assert!(read.contains("[network: first.example:80 was refused: "), "{tier}: {read}");
        assert_eq!(read.matches("[network: ").count(), 1, "{tier}: {read}");
    }
}

/// A command has no connection in the name of another.
#[test]
fn source_addresses_of_other_commands_are_refused() {
    let policy = "[shell.profile.workspace]\nnetwork = { mode = \"allowlist\", hosts = [] }\n";
    let program = with_policy(in_tier("T1"), policy);
    let mut server = start(&program);
    let task = background(&mut server, "until [ -e go ]; do sleep 0.02; done");
    let ran = bash(
        &mut server,
        "python3 - <<'P'\nimport socket\nmade = []\n\
         for number in range(1, 10):\n    \
         for flags in (0, 0x20000000):\n        \
         s = socket.socket(); s.bind(('127.64.0.%d' % number, 0)); ask = b'CONNECT x.example:443 HTTP/1.1\\r\\n\\r\\n'\n        \
         try:\n            \
         if flags: s.sendto(ask, flags, ('127.0.0.1', 3128))\n            \
         else: s.connect(('127.0.0.1', 3128)); s.sendall(ask)\n            \
         s.recv(9); made.append((number, flags))\n        \
         except OSError as error: pass\nprint(len(made), {flags for _, flags in made})\nP",
    );
    assert_eq!(ran.output().trim(), "1 {0}", "its own address, by `connect`: {}", ran.text);
    bash(&mut server, "touch go");
    let read = read_to_end(&mut server, task);
    assert!(!read.contains("[network: "), "{read}");
}

/// A command that holds all its places leaves some to others, and gives them back when it ends.
#[test]
fn connections_of_a_command_are_bounded_and_end_with_it() {
    let host = Host::new();
    let policy = format!(
        "[shell.profile.workspace]\nnetwork = {{ mode = \"allowlist\", hosts = [\"127.0.0.1:{}\"], allow_private = [\"127.0.0.1/32\"] }}\n",
        host.port
    );
    for tier in ["T1", "T1b"] {
        let program = with_policy(in_tier(tier), &policy);
        let mut server = start(&program);
        // The host answers nothing, so each connection stays open until one side closes it.
        let open = |count: usize| {
            format!(
                "python3 -c \"\nimport socket\nopened = [socket.create_connection(('127.0.0.1', 3128)) for _ in range({count})]\n\
                 for s in opened: s.sendall(b'CONNECT 127.0.0.1:{} HTTP/1.1\\r\\n\\r\\n')\n\
                 print(sum(s.recv(99).startswith(b'HTTP/1.1 200') for s in opened))\"",
                host.port
            )
        };
        for _ in 0..3 {
            let ran = bash(&mut server, &open(130));
            assert_eq!(ran.output().trim(), "128", "{tier}: {}", ran.text);
            assert!(ran.text.contains("for want of a place (503): 2 connections"), "{tier}: {}", ran.text);
            // Makes room for the next connections.
            while host.was_reached() {}
        }
    }
}

/// A cell has its own `localhost`, which programs reach without the proxy. A listed one is the machine's.
#[test]
fn the_machine_itself_is_reached_if_it_is_listed() {
    let host = Host::new();
    for (listed, direct) in [("127.0.0.1", "localhost,::1"), ("localhost", "127.0.0.1,::1")] {
        let policy = format!(
            "[shell.profile.workspace]\nnetwork = {{ mode = \"allowlist\", hosts = [\"{listed}:{}\"], \
             allow_private = [\"127.0.0.1/32\"] }}\n",
            host.port
        );
        for tier in ["T1", "T1b"] {
            let program = with_policy(in_tier(tier), &policy);
            let mut server = start(&program);
            let ask = format!("curl -s -m 2 http://{listed}:{}/; echo $no_proxy $NO_PROXY", host.port);
            let ran = bash(&mut server, &ask);
            assert_eq!(ran.output().trim(), format!("{direct} {direct}"), "{tier}: {}", ran.text);
            assert!(host.was_reached(), "{tier}: {listed}: {}", ran.text);
        }
    }
}

#[test]
fn a_list_of_hosts_is_refused_where_it_cannot_be_enforced() {
    let program = with_policy(
        in_tier("T2"),
        "[shell.profile.workspace]\nnetwork = { mode = \"allowlist\", hosts = [\"example.com\"] }\n",
    );
    let ran = bash(&mut start(&program), "touch ran");
    assert!(ran.refused().contains("T2"), "{}", ran.text);
    assert!(!program.workspace().join("ran").exists());
}

#[test]
fn a_local_server_and_its_client_work_within_one_command() {
    let program = Program::new();
    let mut server = start(&program);
    program.put("workspace/page", "a page");
    let ran = bash(
        &mut server,
        "python3 -m http.server 8000 >/dev/null 2>&1 & for i in $(seq 100); do curl -s http://127.0.0.1:8000/page && break; sleep 0.05; done",
    );
    assert_eq!(ran.succeeded(), "a page");
}

/// A port that a command binds is separate from the same port on the machine's loopback interface.
#[test]
fn ports_of_commands_are_not_ports_of_the_machine() {
    let program = Program::new();
    let mut server = start(&program);
    let host = Host::new();
    let ran = bash(
        &mut server,
        &format!(
            "python3 -c \"import socket; s=socket.socket(); s.bind(('127.0.0.1', {0})); print('bound')\"",
            host.port
        ),
    );
    assert_eq!(ran.succeeded(), "bound\n");
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", host.port)).expect("the machine's own");
    stream.write_all(b"x").expect("it is open");
    stream.set_read_timeout(Some(Duration::from_millis(10))).expect("a time");
    assert!(stream.read(&mut [0]).is_err());
}

/// Fails to look up a name. A program that uses no proxy sees nothing else.
const REACH: &str = "python3 -c 'import socket; socket.create_connection((\"example.com\", 443))'";

/// The result explains why no host is reached.
#[test]
fn a_command_that_reaches_no_host_is_told_why() {
    in_each_tier(|_, server| {
        let ran = bash(server, REACH);
        let why = if ran.data["tier"] == "T2" {
            "[network: off in profile workspace (built-in)"
        } else {
            "[network: profile workspace allows no host (built-in)"
        };
        assert!(ran.text.contains(why), "{}", ran.text);
        let names_the_command = ran.text.contains("`scorpiox-code policy allow host NAME`");
        assert_eq!(names_the_command, ran.data["tier"] != "T2", "{}", ran.text);
        // A command that succeeds may have caught the error. Source code that it prints is no error.
        let ran = bash(server, &format!("{REACH} || true"));
        assert!(ran.text.contains(why), "one that succeeded: {}", ran.text);
        let ran = bash(server, "echo 'getaddrinfo(node, NULL); case ENETUNREACH: UnknownHostException'");
        assert!(!ran.text.contains("[network:"), "{}", ran.text);
        let task = background(server, REACH);
        let read = read_to_end(server, task);
        assert!(read.contains(why), "{read}");
    });
}

#[test]
fn a_network_that_is_off_is_named_and_package_managers_do_not_retry() {
    let off = "[shell.profile.workspace]\nnetwork = { mode = \"off\" }\n";
    for tier in ["T1", "T1b", "T2"] {
        let program = with_policy(in_tier(tier), off);
        let mut server = start(&program);
        let ran = bash(&mut server, REACH);
        assert!(
            ran.text.contains("[network: off in profile workspace (policy.toml line "),
            "{tier}: {}",
            ran.text
        );
        assert_eq!(bash(&mut server, "echo $PIP_RETRIES $npm_config_fetch_retries").succeeded(), "0 0\n");
    }
}

#[test]
fn an_allowed_host_that_cannot_be_reached_is_named_with_the_reason() {
    for tier in ["T1", "T1b"] {
        let list =
            "[shell.profile.workspace]\nnetwork = { mode = \"allowlist\", hosts = [\"nothing.invalid\"] }\n";
        let program = with_policy(in_tier(tier), list);
        let mut server = start(&program);
        for command in
            ["curl -sS https://nothing.invalid/", "curl -sS http://nothing.invalid/ -o /dev/null || true"]
        {
            let ran = bash(&mut server, command);
            let told = ran.text.matches("[network: nothing.invalid cannot be looked up: ").count();
            assert_eq!(told, 1, "{tier}: {}", ran.text);
            assert!(!ran.text.contains("[network: profile"), "{tier}: {}", ran.text);
        }
    }
}

/// Without a policy, a refused host is named at once, and once, with the command that allows it.
#[test]
fn the_first_refused_host_is_named_with_the_command_that_allows_it() {
    for tier in ["T1", "T1b"] {
        let program = in_tier(tier);
        let mut server = start(&program);
        let begun = Instant::now();
        let ran =
            bash(&mut server, "for i in 1 2 3; do curl -sS https://packages.example.com/; done; exit 7");
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        let remedy = "`scorpiox-code policy allow host packages.example.com`";
        assert_eq!(
            ran.text.matches("[network: packages.example.com:443 was refused").count(),
            1,
            "{}",
            ran.text
        );
        assert_eq!(ran.text.matches(remedy).count(), 1, "{}", ran.text);
        let (status, out, err) = program.run(&["policy", "allow", "host", "packages.example.com"]);
        assert!(status.success(), "{out}{err}");
        let ran = bash(&mut server, "curl -sS https://packages.example.com/; exit 7");
        assert!(!ran.text.contains("was refused"), "{}", ran.text);
    }
}

#[test]
fn a_socket_of_another_program_that_appears_meanwhile_is_refused_and_named() {
    for tier in ["T1", "T1b"] {
        let program = in_tier(tier);
        let mut server = start(&program);
        let connect = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"debugger.sock\"); print(\"ESCAPED\")'";
        let task = background(
            &mut server,
            &format!("touch ready; until [ -e there ]; do sleep 0.02; done; {connect}; echo over"),
        );
        assert!(comes_true(Duration::from_secs(20), || program.workspace().join("ready").exists()), "{tier}");
        let service = UnixListener::bind(program.workspace().join("debugger.sock")).expect("a socket");
        service.set_nonblocking(true).expect("a mode");
        program.put("workspace/there", "");
        let told = read_to_end(&mut server, task);
        assert!(told.contains("Connection refused") && told.contains("over"), "{tier}: {told}");
        assert!(!told.contains("ESCAPED") && service.accept().is_err(), "{tier}: {told}");
        assert!(
            told.contains("not connected: \"debugger.sock\": no command listens there"),
            "{tier}: {told}"
        );
    }
}
