//! Tests of `local`: services of the machine that commands reach at their own addresses.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use scorpiox_tests::Program;
use tempfile::TempDir;

use super::support::{background, bash, comes_true, in_tier, read_to_end, read_until, start, with_policy};
use crate::audit::lines;

/// Python that connects to an address and prints an answer.
const ASK: &str = "import socket, sys\n\
    def ask(family, address):\n    \
    try:\n        \
    s = socket.socket(family); s.settimeout(5); s.connect(address); s.sendall(b'hello')\n        \
    print(s.recv(99).decode() or 'closed')\n    \
    except OSError as error: print('refused', error.errno)\n";

const LONG: Duration = Duration::from_secs(30);

/// Answers each connection with a word and the received bytes.
fn answer(stream: &mut (impl Read + Write)) {
    let mut bytes = [0; 5];
    if stream.read_exact(&mut bytes).is_ok() {
        let _ = stream.write_all(&[b"answer to ".as_slice(), &bytes].concat());
    }
}

/// Starts a service at a port of the machine.
fn at_port(address: &str) -> u16 {
    let listener = TcpListener::bind((address, 0)).expect("a listener");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        listener.incoming().flatten().for_each(|mut stream: TcpStream| answer(&mut stream))
    });
    port
}

/// Starts a service at a path. It ends, and tells so, after this number of connections.
fn at_path(path: &Path, connections: usize) -> Receiver<()> {
    let listener = UnixListener::bind(path).expect("a socket");
    let (tell, told) = channel();
    thread::spawn(move || {
        listener.incoming().take(connections).flatten().for_each(|mut stream| answer(&mut stream));
        drop(listener);
        let _ = tell.send(());
    });
    told
}

/// Returns a folder outside of `/tmp`, where commands can make no sockets.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let path = folder.path().canonicalize().expect("a path");
    (folder, path)
}

fn opening(tier: &str, services: &[String]) -> Program {
    with_policy(in_tier(tier), &format!("[shell.profile.workspace]\nlocal = {services:?}\n"))
}

fn ask(calls: &str) -> String {
    format!("python3 - <<'P'\n{ASK}{calls}\nP")
}

#[test]
fn a_program_without_a_proxy_reaches_the_listed_services_and_no_others() {
    let (port, other, v6) = (at_port("127.0.0.1"), at_port("127.0.0.1"), at_port("::1"));
    let (_held, folder) = folder();
    let (path, unlisted) = (folder.join("service.sock"), folder.join("other.sock"));
    let _other = UnixListener::bind(&unlisted).expect("a socket");
    for tier in ["T1", "T1b"] {
        let service = at_path(&path, 1);
        let services =
            [format!("127.0.0.1:{port}"), format!("[::1]:{v6}"), format!("unix:{}", path.display())];
        let program = opening(tier, &services);
        let mut server = start(&program);
        let calls = format!(
            "ask(socket.AF_INET, ('127.0.0.1', {port}))\nask(socket.AF_INET, ('localhost', {port}))\n\
             ask(socket.AF_INET6, ('::1', {v6}))\nask(socket.AF_UNIX, '{}')\n\
             ask(socket.AF_INET, ('127.0.0.1', {other}))\nask(socket.AF_INET6, ('::1', {port}))\n\
             ask(socket.AF_UNIX, '{}')",
            path.display(),
            unlisted.display()
        );
        let ran = bash(&mut server, &ask(&calls));
        let said: Vec<_> = ran.output().lines().collect();
        let (reached, refused) = said.split_at(4);
        assert_eq!(reached, ["answer to hello"; 4], "{tier}: {}", ran.text);
        assert!(
            refused.len() == 3 && refused.iter().all(|line| line.starts_with("refused")),
            "{tier}: {said:?}"
        );
        assert_eq!(ran.data["tier"], tier);
        // The folder in the sandbox has the socket alone, and commands cannot change it.
        let (folder, socket) = (folder.display(), path.display());
        let attempts = format!(
            "touch {folder}/x && echo MADE; ln -s /tmp {folder}/y && echo LINKED; rm -f {socket} && echo REMOVED; \
             mv {socket} /tmp/z && echo MOVED; ls -A {folder}"
        );
        let ran = bash(&mut server, &attempts);
        assert_eq!(ran.output().lines().last(), Some("service.sock"), "{tier}: {}", ran.text);
        for word in ["MADE", "LINKED", "REMOVED", "MOVED"] {
            assert!(!ran.output().contains(word), "{tier}: {}", ran.text);
        }
        // A service that starts again is the same.
        service.recv_timeout(LONG).expect("it was reached");
        fs::remove_file(&path).expect("removed");
        let service = at_path(&path, 1);
        let ran = bash(&mut server, &ask(&format!("ask(socket.AF_UNIX, '{}')", path.display())));
        assert_eq!(ran.succeeded().trim(), "answer to hello", "{tier}");
        service.recv_timeout(LONG).expect("it was reached");
        fs::remove_file(&path).expect("removed");
        // Now nothing is there.
        let ran = bash(&mut server, &ask(&format!("ask(socket.AF_UNIX, '{}')", path.display())));
        let told = format!("[local: unix:{} cannot be reached on this machine: ", path.display());
        assert!(ran.text.contains(&told), "{tier}: {}", ran.text);
        let recorded = lines(&program, 4)[0].to_string();
        for reached in
            [&format!("127.0.0.1:{port}"), &format!("[::1]:{v6}"), &format!("unix:{}", path.display())]
        {
            assert!(recorded.contains(&format!("\"what\":\"{reached}\"")), "{tier}: {reached}: {recorded}");
        }
    }
}

#[test]
fn services_work_beside_a_list_of_hosts_and_an_open_network() {
    let port = at_port("127.0.0.1");
    let (_held, folder) = folder();
    let path = folder.join("service.sock");
    for tier in ["T1", "T1b"] {
        for network in [
            "{ mode = \"off\" }",
            "{ mode = \"allowlist\", hosts = [\"example.com\"] }",
            "{ mode = \"open\" }",
        ] {
            let service = at_path(&path, 1);
            let policy = format!(
                "[shell.profile.workspace]\nlocal = [\"127.0.0.1:{port}\", \"unix:{}\"]\nnetwork = {network}\n",
                path.display()
            );
            let program = with_policy(in_tier(tier), &policy);
            let mut server = start(&program);
            let calls = format!(
                "ask(socket.AF_INET, ('127.0.0.1', {port}))\nask(socket.AF_UNIX, '{}')",
                path.display()
            );
            let ran = bash(&mut server, &ask(&calls));
            assert_eq!(ran.succeeded().trim(), "answer to hello\nanswer to hello", "{tier}: {network}");
            service.recv_timeout(LONG).expect("it was reached");
            fs::remove_file(&path).expect("removed");
        }
    }
}

#[test]
fn connections_end_when_the_policy_takes_the_service_away() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let port = listener.local_addr().expect("an address").port();
    let program = opening("T1", &[format!("127.0.0.1:{port}")]);
    let mut server = start(&program);
    let connect =
        format!("exec 3<>/dev/tcp/127.0.0.1/{port}; echo connected; cat <&3; while true; do sleep 1; done");
    let task = background(&mut server, &connect);
    listener.set_nonblocking(true).expect("a mode");
    let mut accepted = None;
    assert!(comes_true(LONG, || {
        accepted = listener.accept().ok();
        accepted.is_some()
    }));
    let (mut service, _) = accepted.expect("a connection");
    service.set_read_timeout(Some(LONG)).expect("a timeout");
    assert!(read_until(&mut server, task, "connected").contains("connected"));
    let new = program.put("home/.scorpiox/policy.new", "version = 1\n");
    fs::rename(&new, new.with_file_name("policy.toml")).expect("renamed");
    let ran = bash(&mut server, &format!("echo > /dev/tcp/127.0.0.1/{port}"));
    assert!(ran.is_error, "{}", ran.text);
    assert_eq!(service.read(&mut [0; 9]).unwrap_or(0), 0, "the connection is cut");
    let read = read_to_end(&mut server, task);
    assert!(read.contains("the policy was changed"), "{read}");
    assert!(listener.accept().is_err(), "and nothing connects any more");
}

#[test]
fn a_tier_that_cannot_open_one_service_says_so() {
    let port = at_port("127.0.0.1");
    let program = opening("T2", &[format!("127.0.0.1:{port}")]);
    let mut server = start(&program);
    let ran = bash(&mut server, "true");
    assert!(ran.refused().contains("tier T2 cannot open alone; T1 and T1b can"), "{}", ran.text);
    let (_, doctor, _) = program.run(&["doctor"]);
    assert!(doctor.contains("T2 cannot open alone"), "{doctor}");
}

#[test]
fn paths_that_lead_to_other_sockets_are_refused() {
    let (_held, folder) = folder();
    let program = Program::new();
    let mut cases = Vec::new();
    let engine = folder.join("docker.sock");
    let _engine = UnixListener::bind(&engine).expect("a socket");
    let alias = folder.join("database.sock");
    symlink(&engine, &alias).expect("a link");
    cases.push((alias, "a socket of a container engine"));
    // Commands can make sockets and links in the workspace.
    let workspace = program.workspace().canonicalize().expect("a path");
    cases.push((workspace.join("x/service.sock"), "lies in /tmp"));
    let own = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let write = own.path().canonicalize().expect("a path");
    cases.push((write.join("service.sock"), "where commands can make sockets"));
    cases.push((PathBuf::from("/usr/lib/service.sock"), "is another one in a sandbox"));
    for (path, why) in cases {
        let policy = format!(
            "[shell.profile.workspace]\nlocal = [\"unix:{}\"]\nwrite = [\"@workspace\", \"{}\"]\n",
            path.display(),
            write.display()
        );
        let program = with_policy(Program::new(), &policy);
        let mut server = start(&program);
        let ran = bash(&mut server, "true");
        assert!(ran.is_marked && ran.text.contains(why), "{}: {}", path.display(), ran.text);
    }
}

#[test]
fn the_policy_shows_explains_and_compares_services() {
    let policy = "[shell.profile.workspace]\nlocal = [\"127.0.0.1:5432\", \"unix:/run/x/y.sock\"]\n";
    let program = with_policy(Program::new(), policy);
    let (_, shown, _) = program.run(&["policy", "show"]);
    assert!(shown.contains("local = [\"127.0.0.1:5432\", \"unix:/run/x/y.sock\"] "), "{shown}");
    let (_, diff, _) = program.run(&["policy", "diff"]);
    assert!(diff.contains("127.0.0.1:5432"), "{diff}");
    for (subject, code, said) in [
        ("127.0.0.1:5432", 0, "`local` of profile workspace has 127.0.0.1:5432 (policy.toml line 3)"),
        ("unix:/run/x/y.sock", 0, "has unix:/run/x/y.sock"),
        ("unix:/run/x/z.sock", 1, "lacks unix:/run/x/z.sock"),
        ("unix:/run/docker.sock", 1, "is a socket of a container engine"),
        ("127.0.0.1:5433", 1, "127.0.0.1 is not among the allowed hosts"),
    ] {
        let (status, out, error) = program.run(&["policy", "why", "host", subject]);
        assert_eq!(status.code(), Some(code), "{subject}: {out}{error}");
        assert!(out.contains(said), "{subject}: {out}");
    }
    for (entry, said) in [
        ("localhost:5432", "is no address with a port"),
        ("unix:/var/run/docker.sock", "a container engine"),
        ("10.0.0.1:80", "is not on the loopback interface"),
    ] {
        let program =
            with_policy(Program::new(), &format!("[shell.profile.workspace]\nlocal = [\"{entry}\"]\n"));
        let (status, out, error) = program.run(&["policy", "check"]);
        assert_eq!(status.code(), Some(2), "{entry}: {out}{error}");
        let out = format!("{out}{error}");
        assert!(out.contains("line 3") && out.contains(said), "{entry}: {out}");
    }
}

/// The policy permits commands without a sandbox, and an entry that cannot be opened must not bring that about.
#[test]
fn an_entry_that_cannot_be_opened_does_not_end_the_sandbox() {
    let none = "[shell]\nallow_unsandboxed = true\n[shell.profile.workspace]\nlocal = ";
    for (tier, services) in [("T2", "[\"127.0.0.1:54321\"]"), ("T1", "[\"unix:/home/none.sock\"]")] {
        let program = with_policy(in_tier(tier), &format!("{none}{services}\n"));
        let mut server = start(&program);
        assert!(bash(&mut server, "touch ran").refused().contains("local"));
        assert!(!program.workspace().join("ran").exists(), "{tier}");
    }
}
