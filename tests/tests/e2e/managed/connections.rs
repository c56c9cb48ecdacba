//! Tests that connections of commands end when a changed policy takes their host away.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_tests::Program;
use serde_json::json;

use super::told;

const PATIENCE: Duration = Duration::from_secs(30);

fn policy(ports: &[u16]) -> String {
    let hosts: Vec<_> = ports.iter().map(|port| format!("\"127.0.0.1:{port}\"")).collect();
    format!(
        "version = 1\n[shell.profile.workspace]\nnetwork = {{ mode = \"allowlist\", hosts = [{}], \
         allow_private = [\"127.0.0.1/32\"] }}\n",
        hosts.join(", ")
    )
}

fn put(program: &Program, text: &str) {
    let new = program.put("home/.scorpiox/policy.new", text);
    fs::rename(&new, new.with_file_name("policy.toml")).expect("renamed");
}

fn accepted(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).expect("sets");
    let begun = Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => return stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock && begun.elapsed() < PATIENCE => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(error) => panic!("nobody connects: {error}"),
        }
    }
}

#[test]
fn a_command_that_lost_one_of_its_hosts_is_cut_off_from_it() {
    let listener = || TcpListener::bind("127.0.0.1:0").expect("a listener");
    let (one, other) = (listener(), listener());
    let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
    let program = Program::new();
    put(&program, &policy(&[port(&one), port(&other)]));
    let mut server = program.start();
    server.initialize("2025-11-25");
    let connect = format!(
        "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT 127.0.0.1:{} HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3",
        port(&one)
    );
    told(&mut server, "BackgroundBash", json!({ "command": connect }));
    let mut stream = accepted(&one);
    stream.set_nonblocking(false).expect("sets");
    stream.set_read_timeout(Some(PATIENCE)).expect("sets");
    stream.write_all(b"hello\n").expect("connected");
    // Another host is added: the connection stays.
    put(&program, &policy(&[port(&one), port(&other), 9]));
    told(&mut server, "TaskManager", json!({ "action": "list" }));
    stream.write_all(b"still\n").expect("connected");
    // The host is taken away, and the other one stays.
    put(&program, &policy(&[port(&other), 9]));
    told(&mut server, "TaskManager", json!({ "action": "list" }));
    let ended = stream.read(&mut [0; 16]);
    let is_reset = |error: &std::io::Error| error.kind() == ErrorKind::ConnectionReset;
    assert!(matches!(&ended, Ok(0)) || ended.as_ref().is_err_and(is_reset), "it is cut: {ended:?}");
}
