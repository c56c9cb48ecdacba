//! Tests of `ssh`, and of `git` over it, through a list of hosts.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use super::support::{bash, in_tier, start, with_policy};

/// Starts a service that greets like `sshd` and returns the greeting of its client.
fn sshd() -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let port = listener.local_addr().expect("an address").port();
    let (tell, told) = channel();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        stream.write_all(b"SSH-2.0-test\r\n").expect("writes");
        let mut greeting = [0; 8];
        stream.read_exact(&mut greeting).expect("reads");
        let _ = tell.send(String::from_utf8_lossy(&greeting).into_owned());
    });
    (port, told)
}

#[test]
fn ssh_reaches_the_listed_hosts_and_names_the_others() {
    for tier in ["T1", "T1b"] {
        let (port, service) = sshd();
        let policy = format!(
            "[shell.profile.workspace]\n\
             network = {{ mode = \"allowlist\", hosts = [\"127.0.0.1:{port}\"], allow_private = [\"127.0.0.1/32\"] }}\n"
        );
        let program = with_policy(in_tier(tier), &policy);
        let mut server = start(&program);
        let ran = bash(&mut server, &format!("ssh -o BatchMode=yes -p {port} me@127.0.0.1 true; true"));
        let greeting = service.recv_timeout(Duration::from_secs(30));
        assert_eq!(greeting.as_deref(), Ok("SSH-2.0-"), "{tier}: {}", ran.text);
        let ran = bash(&mut server, "git clone ssh://git@git.example.com/x.git; true");
        assert!(ran.output().contains("git.example.com:22 was refused: "), "{tier}: {}", ran.text);
        let command = "`scorpiox-code policy allow host git.example.com:22`";
        assert!(ran.text.contains("[network: git.example.com:22 was refused: "), "{tier}: {}", ran.text);
        assert!(ran.text.contains(command), "{tier}: {}", ran.text);
    }
}

#[test]
fn ssh_is_left_alone_without_a_list() {
    for network in ["off", "open"] {
        let policy = format!("[shell.profile.workspace]\nnetwork = {{ mode = \"{network}\" }}\n");
        let program = with_policy(in_tier("T1"), &policy);
        let mut server = start(&program);
        let ran = bash(&mut server, "cat /etc/ssh/ssh_config; true");
        assert!(ran.output().contains("No such file"), "{network}: {}", ran.text);
    }
}
