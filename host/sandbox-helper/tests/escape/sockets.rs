//! With the network off, no socket of a command reaches anything outside of it.

use std::fs;
use std::io::{ErrorKind, Result};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};

use scorpiox_sandbox::Tier;
use tempfile::TempDir;

use crate::bed::{Bed, attack, command, for_each_tier};

/// Listeners outside, of every kind that a command could try to reach.
struct Host {
    tcp: [TcpListener; 2],
    udp: [UdpSocket; 2],
    streams: Vec<UnixListener>,
    datagrams: Vec<UnixDatagram>,
    paths: Vec<PathBuf>,
    names: [String; 2],
    /// Lies in the host's `/tmp`.
    _folder: TempDir,
}

impl Host {
    fn new(bed: &mut Bed) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // Includes paths to which commands may write: these sockets appear after the scan of the workspace.
        let folders = [folder.path(), &bed.outside, &bed.workspace, &bed.scratch];
        let path = |name: &'static str| folders.iter().map(move |folder| folder.join(name));
        let (stream_paths, datagram_paths): (Vec<_>, Vec<_>) = (path("s").collect(), path("d").collect());
        let names = ["stream", "dgram"].map(|kind| format!("{}-{kind}", bed.mark));
        let address = |name: &String| SocketAddr::from_abstract_name(name).expect("an abstract name");
        let mut streams: Vec<_> =
            stream_paths.iter().map(|path| UnixListener::bind(path).expect("a socket")).collect();
        let mut datagrams: Vec<_> =
            datagram_paths.iter().map(|path| UnixDatagram::bind(path).expect("a socket")).collect();
        streams.push(UnixListener::bind_addr(&address(&names[0])).expect("a socket"));
        datagrams.push(UnixDatagram::bind_addr(&address(&names[1])).expect("a socket"));
        let host = Self {
            tcp: ["0.0.0.0:0", "[::1]:0"].map(|at| TcpListener::bind(at).expect("a listener")),
            udp: ["0.0.0.0:0", "[::1]:0"].map(|at| UdpSocket::bind(at).expect("a socket")),
            streams,
            datagrams,
            paths: [stream_paths, datagram_paths].concat(),
            names,
            _folder: folder,
        };
        host.never_wait().expect("sockets that do not wait");
        bed.environment.extend(host.addresses());
        host
    }

    fn never_wait(&self) -> Result<()> {
        self.tcp.iter().try_for_each(|socket| socket.set_nonblocking(true))?;
        self.udp.iter().try_for_each(|socket| socket.set_nonblocking(true))?;
        self.streams.iter().try_for_each(|socket| socket.set_nonblocking(true))?;
        self.datagrams.iter().try_for_each(|socket| socket.set_nonblocking(true))
    }

    /// Returns the addresses for the attacker.
    fn addresses(&self) -> Vec<(String, String)> {
        let port = |at: Result<std::net::SocketAddr>| at.expect("an address").port().to_string();
        let words: Vec<_> = self.paths.iter().map(|path| path.to_str().expect("text")).collect();
        let named = |name: &str, value: String| (name.to_owned(), value);
        vec![
            named("TCP4", port(self.tcp[0].local_addr())),
            named("TCP6", port(self.tcp[1].local_addr())),
            named("UDP4", port(self.udp[0].local_addr())),
            named("UDP6", port(self.udp[1].local_addr())),
            named("HOST_ADDRESS", own_address()),
            named("PATHS", words.join(":")),
            named("ABSTRACT", self.names.join(":")),
        ]
    }

    /// Returns the name of each listener, and `true` if it has received anything since the last call.
    fn heard(&self) -> Vec<(&'static str, bool)> {
        let mut heard = Vec::new();
        heard.extend(self.tcp.iter().map(|socket| ("TCP", anything(|| socket.accept().map(drop)))));
        let mut space = [0; 64];
        heard.extend(self.udp.iter().map(|socket| ("UDP", anything(|| socket.recv(&mut space).map(drop)))));
        heard.extend(self.streams.iter().map(|socket| ("unix", anything(|| socket.accept().map(drop)))));
        let datagrams = self.datagrams.iter();
        heard.extend(
            datagrams.map(|socket| ("unix datagrams", anything(|| socket.recv(&mut space).map(drop)))),
        );
        heard
    }

    #[track_caller]
    fn assert_heard_nothing(&self) {
        let heard = self.heard();
        assert!(heard.iter().all(|(_, any)| !any), "heard: {heard:?}");
    }

    /// Removes the sockets, so that the outside is unchanged.
    fn leave(self) {
        for path in &self.paths {
            fs::remove_file(path).expect("a socket");
        }
    }
}

/// Takes everything available; returns `true` if there was something.
fn anything(mut take: impl FnMut() -> Result<()>) -> bool {
    let mut any = false;
    loop {
        match take() {
            Ok(()) => any = true,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return any,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Returns an external address of this machine, or the loopback address.
fn own_address() -> String {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    // Sends nothing: this only determines the route.
    match socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr()) {
        Ok(address) => address.ip().to_string(),
        Err(_) => "127.0.0.1".to_owned(),
    }
}

/// Runs the attack without a sandbox, to verify that it works there.
fn unconfined(bed: &Bed, which: &str) -> String {
    let mut attacker = command(&attack("sockets"));
    attacker.arg(which).envs(bed.environment.clone());
    String::from_utf8(attacker.output().expect("an attacker").stdout).expect("text")
}

#[test]
fn no_listener_outside_is_reached() {
    for_each_tier(|bed| {
        let host = Host::new(bed);
        bed.arm("sockets");
        let control = unconfined(bed, "reach");
        assert!(control.contains("ESCAPED connect TCP"), "{control}");
        let heard = host.heard();
        assert!(heard.iter().all(|(_, any)| *any), "an attack that reaches nobody: {heard:?}");
        bed.run("./sockets reach").assert_nothing_escaped();
        host.assert_heard_nothing();
        host.leave();
    });
}

#[test]
fn shells_own_sockets_reach_nobody() {
    for_each_tier(|bed| {
        let host = Host::new(bed);
        let attempts = "for host in 127.0.0.1 localhost ::1 ::ffff:127.0.0.1 $HOST_ADDRESS; do
                for port in $TCP4 $TCP6; do
                    (exec 3<>/dev/tcp/$host/$port && echo knock >&3 && echo ESCAPED) 2>&1
                done
                for port in $UDP4 $UDP6; do
                    (exec 3<>/dev/udp/$host/$port && echo knock >&3 && echo sent) 2>&1
                done
            done
            echo finished";
        let mut control = command(Path::new("/bin/bash"));
        control.args(["-c", attempts]).envs(bed.environment.clone());
        assert!(control.output().expect("a shell").status.success());
        assert!(host.heard().iter().filter(|(kind, _)| ["TCP", "UDP"].contains(kind)).all(|(_, any)| *any));
        bed.run(attempts).assert_nothing_escaped();
        host.assert_heard_nothing();
        host.leave();
    });
}

#[test]
fn arguments_that_change_reach_no_other_socket() {
    for_each_tier(|bed| {
        let path = bed.at("s");
        let listener = UnixListener::bind(&path).expect("a socket");
        listener.set_nonblocking(true).expect("a socket that does not wait");
        let is_reached = || anything(|| listener.accept().map(drop));
        bed.environment.push(("PATHS".to_owned(), path.to_str().expect("text").to_owned()));
        bed.arm("sockets");
        let control = unconfined(bed, "swap until reached");
        assert!(is_reached(), "an attack that reaches nobody: {control}");
        let finished = bed.run("./sockets swap");
        finished.assert_nothing_escaped();
        assert!(!is_reached(), "{finished:?}");
        let told = finished.outcome.expect("an outcome").names.sockets;
        let expected = if bed.tier == Tier::T2 { vec![] } else { vec![path.as_path().into()] };
        assert_eq!(told, expected);
    });
}

#[test]
fn a_connection_that_waits_is_interrupted_or_made() {
    let mut bed = Bed::new(Tier::T1);
    bed.arm("sockets");
    bed.run("./sockets interrupt").assert_nothing_escaped();
}

#[test]
fn a_connection_blocks_no_other_call() {
    for tier in [Tier::T1, Tier::T1b] {
        let mut bed = Bed::new(tier);
        bed.arm("sockets");
        bed.run("./sockets block").assert_nothing_escaped();
    }
}

#[test]
fn commands_of_a_cell_reach_each_others_sockets() {
    let mut bed = Bed::new(Tier::T1);
    let serve = "import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
peer, _ = listener.accept()
peer.sendall(b'from the other command')";
    bed.put("serve.py", serve);
    for path in ["of-a-command", "/tmp/of-a-command"] {
        let mut server = bed.start(&format!("python3 serve.py {path}"));
        let text = "import socket, sys, time
for attempt in range(600):
    try:
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(sys.argv[1])
        print(peer.recv(64).decode())
        break
    except OSError:
        time.sleep(0.05)
print('finished')";
        bed.put("ask.py", text);
        let asked = bed.run(&format!("python3 ask.py {path}"));
        assert!(asked.says("from the other command"), "{asked:?}");
        crate::bed::finish(&mut server);
    }
}

#[test]
fn processes_cannot_hide_their_memory_from_the_supervisor() {
    for_each_tier(|bed| {
        bed.arm("sockets");
        let hidden = "python3 -c 'import ctypes, socket
assert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0
open(\"made\", \"w\").close()
if \"T2\" != \"TIER\":
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(\"own\")
    listener.listen()
    socket.socket(socket.AF_UNIX).connect(\"own\")
print(\"finished\")'";
        let finished = bed.run(&hidden.replace("TIER", bed.tier.name()));
        assert!(finished.says("finished"), "{finished:?}");
    });
}

#[test]
fn other_kinds_of_sockets_cannot_be_made() {
    for_each_tier(|bed| {
        bed.arm("sockets");
        bed.run("./sockets kinds").assert_nothing_escaped();
    });
}

#[test]
fn processes_of_a_command_talk_to_each_other() {
    for_each_tier(|bed| {
        bed.arm("sockets");
        let finished = bed.run("./sockets own");
        finished.assert_nothing_escaped();
        assert!(finished.says("as it should be: stream"), "no pair of sockets");
        assert!(finished.says("as it should be: seqpacket"), "no pair of sockets");
        assert!(finished.says("a descriptor arrived"), "no descriptors between own processes");
        // T2 allows no sockets with addresses, since they would belong to the host's network.
        let answer = if bed.tier == Tier::T2 { "silence" } else { "talks" };
        for way in ["TCP", "TCP 6", "a path", "a name"] {
            assert!(finished.says(&format!("over {way}: {answer}")), "over {way}, not {answer}");
        }
    });
}
