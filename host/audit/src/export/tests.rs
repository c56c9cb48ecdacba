use std::fs;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
#[cfg(unix)]
use std::os::unix::net::UnixDatagram;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::*;
use crate::{Bounds, Log, verify_copy};

/// Maximum time to wait for arrival.
const PATIENCE: Duration = Duration::from_secs(30);

/// Audit log and its writer.
struct Bed {
    root: tempfile::TempDir,
    log: Log,
}

impl Bed {
    /// Uses many small files.
    fn new() -> Self {
        Self::in_files_of(64 * 1024)
    }

    fn in_files_of(file_bytes: u64) -> Self {
        let root = tempfile::tempdir().unwrap();
        let log = Log::new(root.path().join("audit"), Bounds { file_bytes, files: 1000 });
        Self { root, log }
    }

    fn folder(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap().join("audit")
    }

    fn write(&mut self, count: usize, bytes: usize) {
        let line = format!(
            "{{\"time\":\"2026-11-22T21:54:00.442Z\",\"pid\":1,\"tool\":\"x\",\"y\":\"{}\"}}\n",
            "y".repeat(bytes)
        );
        for _ in 0..count {
            self.log.append(&mut line.clone().into_bytes()).unwrap();
        }
    }

    /// Returns all lines of the audit log.
    fn lines(&self) -> Vec<String> {
        let files = crate::files::open_all(&self.folder()).unwrap();
        let text = |mut file: &fs::File| {
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            text
        };
        let text: String = files.iter().map(|opened| text(&opened.file)).collect();
        text.lines().map(str::to_owned).collect()
    }

    fn export(&self, target: &Target) -> Export {
        Export::new(&self.folder(), target, named(), |_| {})
    }
}

fn named() -> Named {
    Named {
        place: "the place".to_owned(),
        shown: "the place".to_owned(),
        rule: "policy.toml line 3".to_owned(),
        machine: "m1".to_owned(),
    }
}

fn end(export: &Export, time: Duration) {
    export.end(Instant::now() + time);
    export.wait();
}

/// Waits until the destination has everything, tolerating temporary failures.
fn arrives(export: &Export) {
    let begun = Instant::now();
    while let Err(error) = export.ensure() {
        assert!(begun.elapsed() < PATIENCE, "{error}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn server_at(listener: &TcpListener) -> Target {
    let port = listener.local_addr().unwrap().port();
    Target::Syslog(LogServer { host: "127.0.0.1".to_owned(), port, tls: None })
}

/// Reads the next message and strips its header.
fn message(from: &mut impl io::BufRead) -> Option<String> {
    let mut length = Vec::new();
    from.read_until(b' ', &mut length).ok()?;
    let length: usize = std::str::from_utf8(&length).unwrap().trim().parse().ok()?;
    let mut text = vec![0; length];
    from.read_exact(&mut text).ok()?;
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("<110>1 2026-11-22T21:54:00.442Z m1 scorpiox-code 1 audit - {"), "{text}");
    Some(text[text.find('{').unwrap()..].to_owned())
}

/// Runs a server that receives all messages of `connections` connections.
fn takes_all(listener: TcpListener, connections: usize) -> thread::JoinHandle<Vec<String>> {
    thread::spawn(move || {
        let mut found = Vec::new();
        for _ in 0..connections {
            let mut from = BufReader::new(listener.accept().unwrap().0);
            found.extend(std::iter::from_fn(|| message(&mut from)));
        }
        found
    })
}

#[test]
fn a_file_gets_each_line_once_over_rotations_and_restarts() {
    let mut bed = Bed::new();
    let path = bed.root.path().canonicalize().unwrap().join("ana.jsonl");
    bed.write(300, 400);
    let export = bed.export(&Target::File(path.clone()));
    assert!(!path.exists(), "nothing is opened before somebody asks");
    export.ensure().unwrap();
    bed.write(300, 400);
    export.wake();
    end(&export, PATIENCE);
    let other = bed.export(&Target::File(path.clone()));
    bed.write(5, 400);
    other.ensure().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap().lines().collect::<Vec<_>>(), bed.lines());
    let found = verify_copy(&path, &[]).unwrap();
    assert!(found.is_whole() && (found.chains[0].lines, found.again) == (605, 0), "{found:?}");
}

#[test]
fn servers_that_write_at_once_make_one_copy_in_its_order() {
    let bed = Bed::new();
    let path = bed.root.path().canonicalize().unwrap().join("ana.jsonl");
    let writers: Vec<_> = (0..3)
        .map(|_| {
            let (folder, target) = (bed.folder(), Target::File(path.clone()));
            thread::spawn(move || {
                let mut log = Log::new(folder.clone(), Bounds { file_bytes: 20_000, files: 1000 });
                let export = Export::new(&folder, &target, named(), |said| panic!("{said}"));
                for _ in 0..300 {
                    log.append(&mut b"{\"time\":\"x\"}\n".to_vec()).unwrap();
                    export.wake();
                }
                export.ensure().unwrap();
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap().lines().collect::<Vec<_>>(), bed.lines());
    assert_eq!(bed.lines().len(), 900);
}

#[cfg(unix)]
#[test]
fn the_journal_gets_each_line_and_is_told_of_when_it_is_absent() {
    let mut bed = Bed::new();
    let path = bed.root.path().join("socket");
    let sink = Box::new(journal::JournalSink::new(path.clone()));
    let export = Export::to(&bed.folder(), sink, named(), |_| {});
    bed.write(3, 10);
    let said = export.ensure().unwrap_err().to_string();
    assert_eq!(
        said,
        "the export to the place (policy.toml line 3) takes no lines: No such file or directory (os error 2)"
    );
    let journal = UnixDatagram::bind(&path).unwrap();
    arrives(&export);
    for line in bed.lines() {
        let mut text = vec![0; 1000];
        let read = journal.recv(&mut text).unwrap();
        assert!(text[..read].starts_with(format!("MESSAGE={line}\n").as_bytes()));
    }
}

#[test]
fn a_log_server_gets_the_lines_byte_for_byte() {
    let mut bed = Bed::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = server_at(&listener);
    let server = takes_all(listener, 2);
    for _ in 0..2 {
        let export = bed.export(&target);
        bed.write(500, 300);
        export.ensure().unwrap();
        bed.write(1, 100_000);
        export.wake();
        end(&export, PATIENCE);
    }
    assert_eq!(server.join().unwrap(), bed.lines());
}

#[test]
fn lines_that_a_broken_connection_may_have_lost_are_sent_again() {
    let mut bed = Bed::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let export = bed.export(&server_at(&listener));
    bed.write(200, 300);
    let first = thread::spawn(move || {
        // The server closes the connection within a line, with unread data pending.
        let (mut socket, _) = listener.accept().unwrap();
        socket.read_exact(&mut [0; 1000]).unwrap();
        drop(socket);
        listener
    });
    let _ = export.ensure();
    let server = takes_all(first.join().unwrap(), 1);
    bed.write(1, 300);
    arrives(&export);
    // Ending the export closes the connection.
    end(&export, PATIENCE);
    assert_eq!(server.join().unwrap(), bed.lines());
}

#[test]
fn a_server_that_is_absent_gets_the_lines_when_it_comes() {
    let mut bed = Bed::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (target, address) = (server_at(&listener), listener.local_addr().unwrap());
    drop(listener);
    let export = bed.export(&target);
    bed.write(10, 10);
    let begun = Instant::now();
    export.wake();
    assert!(begun.elapsed() < Duration::from_millis(500), "nobody waits who does not ask");
    let said = export.ensure().unwrap_err().to_string();
    assert!(said.contains("refused"), "{said}");
    assert!(Export::check(&target, &named()).is_err());
    let server = takes_all(TcpListener::bind(address).unwrap(), 1);
    arrives(&export);
    end(&export, PATIENCE);
    assert_eq!(server.join().unwrap(), bed.lines());
}

#[test]
fn a_server_that_does_not_read_holds_nobody_up_and_what_it_missed_is_sent_to_the_next() {
    let mut bed = Bed::in_files_of(1 << 20);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = server_at(&listener);
    // More than the socket buffers can hold.
    bed.write(400, 50_000);
    let export = bed.export(&target);
    let begun = Instant::now();
    let silent: TcpStream = {
        export.wake();
        listener.accept().unwrap().0
    };
    let said = export.ensure().unwrap_err().to_string();
    assert!(said.contains("takes no lines"), "{said}");
    assert!(begun.elapsed() < ENSURE_TIME + Duration::from_secs(2));
    let ending = Instant::now();
    end(&export, Duration::from_millis(500));
    assert!(ending.elapsed() < Duration::from_secs(1));
    drop((silent, export));
    let server = takes_all(listener, 1);
    let next = bed.export(&target);
    arrives(&next);
    end(&next, PATIENCE);
    assert_eq!(server.join().unwrap(), bed.lines());
}

/// Generated for these tests only; valid until 2120.
const CERTIFICATE: &[u8] = include_bytes!("testdata/server.pem");
const KEY: &[u8] = include_bytes!("testdata/server.key");

/// Runs a TLS server for `localhost` that receives all messages of `connections` successful connections.
fn takes_all_by_tls(listener: TcpListener, connections: usize) -> thread::JoinHandle<Vec<String>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let chain = CertificateDer::pem_slice_iter(CERTIFICATE).map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let config = builder.unwrap().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let config = Arc::new(config);
    thread::spawn(move || {
        let mut found = Vec::new();
        for _ in 0..connections {
            let (socket, _) = listener.accept().unwrap();
            let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut from = BufReader::new(StreamOwned::new(tls, socket));
            found.extend(std::iter::from_fn(|| message(&mut from)));
        }
        found
    })
}

#[test]
fn by_tls_lines_go_to_the_server_that_the_authorities_know_and_to_no_other() {
    let mut bed = Bed::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/export/testdata");
    let target = |host: &str, authorities| {
        Target::Syslog(LogServer { host: host.to_owned(), port, tls: Some(authorities) })
    };
    let of = |name: &str| Authorities::File(data.join(name));
    let server = takes_all_by_tls(listener, 4);
    let good = target("localhost", of("ca.pem"));
    for (bad, why) in [
        (target("localhost", of("other-ca.pem")), "other-ca.pem; look at `export_ca` in [audit]"),
        (target("127.0.0.1", of("ca.pem")), "is for another name; look at the host in `export`"),
        (target("localhost", of("none.pem")), "none.pem cannot be used"),
        (target("localhost", of("server.key")), "server.key has no certificate"),
    ] {
        let said = Export::check(&bad, &named()).unwrap_err().to_string();
        assert!(said.contains(why), "{said}");
    }
    bed.write(300, 300);
    let export = bed.export(&good);
    export.ensure().unwrap();
    bed.write(300, 300);
    export.ensure().unwrap();
    end(&export, PATIENCE);
    Export::check(&good, &named()).unwrap();
    assert_eq!(server.join().unwrap(), bed.lines());
}

#[test]
fn what_is_not_written_to_the_audit_goes_nowhere() {
    let mut bed = Bed::new();
    let path = bed.root.path().canonicalize().unwrap().join("ana.jsonl");
    bed.write(1, 10);
    let mut torn = crate::files::open_private(&bed.folder().join("audit.jsonl")).unwrap();
    torn.write_all(b"{\"time\":\"2026").unwrap();
    let export = bed.export(&Target::File(path.clone()));
    export.ensure().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
    bed.write(1, 10);
    export.ensure().unwrap();
    assert!(verify_copy(&path, &[]).unwrap().is_whole());
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
}
