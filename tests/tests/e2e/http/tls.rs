//! Tests of TLS connections, and of certificates that change while the server runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use scorpiox_tests::Program;
use scorpiox_tests::http::HttpServer;
use serde_json::json;

/// Writes a certificate for `localhost` and its key.
fn certificate(folder: &Path) -> String {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let pem = made.cert.pem();
    let key = folder.join("key.pem");
    fs::write(&key, made.signing_key.serialize_pem()).expect("written");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("a mode");
    fs::write(folder.join("certificate.pem"), &pem).expect("written");
    pem
}

fn program() -> (Program, String) {
    let program = Program::new();
    let folder = program.home().join("tls");
    fs::create_dir_all(&folder).expect("a folder");
    let folder = dunce::canonicalize(folder).expect("a folder");
    let pem = certificate(&folder);
    let path = |name: &str| json!(folder.join(name));
    program.put(
        "home/.scorpiox/policy.toml",
        format!(
            "version = 1\n[http.tls]\ncertificate = {}\nkey = {}\n",
            path("certificate.pem"),
            path("key.pem")
        ),
    );
    (program, pem)
}

/// Sends a request as a client that trusts only this certificate; returns the status, or `None` if the
/// handshake fails.
fn status(program: &Program, server: &HttpServer, pem: &str) -> Option<String> {
    let trusted = program.put("trusted.pem", pem);
    let request = server.modern("server/discover", json!({}));
    let bytes = String::from_utf8(request.bytes()).expect("text");
    let (head, body) = bytes.split_once("\r\n\r\n").expect("a head");
    let headers =
        head.lines().skip(1).filter(|line| !line.starts_with("Host") && !line.starts_with("Content-Length"));
    let mut command = Command::new("curl");
    command.args([
        "--silent",
        "--noproxy",
        "*",
        "--max-time",
        "20",
        "--output",
        "/dev/null",
        "--write-out",
        "%{http_code}",
    ]);
    command.arg("--cacert").arg(trusted);
    for header in headers {
        command.arg("--header").arg(header);
    }
    command.args(["--data-binary", body]).arg(format!("https://localhost:{}/mcp", server.address.port()));
    command.args(["--resolve", &format!("localhost:{}:127.0.0.1", server.address.port())]);
    let output = command.output().expect("curl runs");
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_certificate_is_shown_and_a_new_one_takes_its_place() {
    let (program, first) = program();
    let server = program.serve_http(0);
    assert_eq!(status(&program, &server, &first).as_deref(), Some("200"));
    // An unencrypted request is not answered.
    let mut plain = server.connect();
    plain.send(&server.modern("server/discover", json!({})).bytes());
    assert!(!plain.rest().contains("HTTP/1.1 200"));
    // A half-finished renewal: the key does not match the certificate. The previous pair stays in use.
    let folder = program.home().join("tls");
    let key = fs::read(folder.join("key.pem")).expect("a key");
    let second = certificate(&folder);
    let new_key = fs::read(folder.join("key.pem")).expect("a key");
    fs::write(folder.join("key.pem"), key).expect("written");
    assert!(stays(|| status(&program, &server, &first).as_deref() == Some("200")));
    fs::write(folder.join("certificate.pem"), "broken").expect("written");
    assert!(stays(|| status(&program, &server, &first).as_deref() == Some("200")));
    fs::write(folder.join("certificate.pem"), &second).expect("written");
    fs::write(folder.join("key.pem"), new_key).expect("written");
    let begun = Instant::now();
    while status(&program, &server, &second).as_deref() != Some("200") {
        assert!(begun.elapsed() < Duration::from_secs(20), "the new certificate is not shown");
    }
    assert_eq!(status(&program, &server, &first), None);
}

/// `true` if a condition holds for longer than the interval between checks of the files.
fn stays(holds: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) {
        if !holds() {
            return false;
        }
    }
    true
}

#[test]
fn other_machines_are_served_with_a_certificate() {
    let (program, pem) = program();
    let mut server = program.serve_http_at("0.0.0.0:0");
    server.address.set_ip([127, 0, 0, 1].into());
    assert_eq!(status(&program, &server, &pem).as_deref(), Some("200"));
}

#[test]
fn who_never_agrees_on_how_to_encrypt_is_let_go_and_keeps_nobody_out() {
    let (program, pem) = program();
    let mut server = program.serve_http(0);
    let mut stalled: Vec<_> = (0..50).map(|_| server.connect()).collect();
    let mut begun = server.connect();
    begun.send(&[0x16, 0x03, 0x01, 0x02, 0x00, 0x01]);
    assert_eq!(status(&program, &server, &pem).as_deref(), Some("200"));
    let since = Instant::now();
    assert_eq!(begun.rest(), "");
    assert!(since.elapsed() < Duration::from_secs(20), "{:?}", since.elapsed());
    stalled.truncate(10);
    assert!(server.end() < Duration::from_secs(10), "the end waits for nobody who agrees on nothing");
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    let (program, _) = program();
    let key = program.home().join("tls/key.pem");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("a mode");
    let (status, _, said) = program.run(&["serve", "--http", "127.0.0.1:0"]);
    assert!(!status.success() && said.contains("is no secret") && said.contains("chmod 600"), "{said}");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("a mode");
    // Commands could replace a file in the workspace.
    let policy = program.home().join(".scorpiox/policy.toml");
    let text = fs::read_to_string(&policy).expect("a policy");
    fs::copy(program.home().join("tls/certificate.pem"), program.workspace().join("c.pem")).expect("a copy");
    let inside = dunce::canonicalize(program.workspace()).expect("a folder").join("c.pem");
    let outside = dunce::canonicalize(program.home()).expect("a folder").join("tls/certificate.pem");
    fs::write(&policy, text.replace(&json!(outside).to_string(), &json!(inside).to_string()))
        .expect("written");
    let (status, _, said) = program.run(&["serve", "--http", "127.0.0.1:0"]);
    assert!(!status.success() && said.contains("commands of the workspace default can write"), "{said}");
    fs::write(&policy, text).expect("written");
    fs::write(program.home().join("tls/certificate.pem"), "no certificate").expect("written");
    let (status, _, said) = program.run(&["serve", "--http", "127.0.0.1:0"]);
    assert!(!status.success() && said.contains("certificate.pem"), "{said}");
}

/// HSTS: responses over TLS make a browser use TLS from then on, and plain responses do not send the header.
#[test]
fn answers_over_tls_want_tls_from_then_on() {
    let (program, pem) = program();
    let server = program.serve_http(0);
    let trusted = program.put("trusted.pem", &pem);
    for path in ["mcp", "admin", "nowhere"] {
        let mut command = Command::new("curl");
        command.args([
            "--silent",
            "--noproxy",
            "*",
            "--max-time",
            "20",
            "--output",
            "/dev/null",
            "--dump-header",
            "-",
        ]);
        command.arg("--cacert").arg(&trusted);
        command.args(["--resolve", &format!("localhost:{}:127.0.0.1", server.address.port())]);
        command.arg(format!("https://localhost:{}/{path}", server.address.port()));
        let output = command.output().expect("curl runs");
        let head = String::from_utf8_lossy(&output.stdout).to_lowercase();
        assert!(head.contains("strict-transport-security: max-age=31536000\r\n"), "{path}: {head}");
    }
    let plain = Program::new();
    let plain = plain.serve_http(0);
    for request in [plain.modern("server/discover", json!({})), plain.post(&json!({})).path("/nowhere")] {
        assert!(plain.ask(&request).header("strict-transport-security").is_none());
    }
}
