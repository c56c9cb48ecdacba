//! Tests of calls with as much input as a body may have: they keep nobody else, and what nobody could want is refused.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_tests::Program;
use scorpiox_tests::http::{HttpServer, Request};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const ANN: &str = "token-of-ann-0123456789";
const BOB: &str = "token-of-bob-0123456789";
/// Maximum time for a response to anybody else. It leaves room for parallel tests.
const AT_ONCE: Duration = Duration::from_secs(3);
/// Number of requests that are answered meanwhile.
const ASKED: usize = 20;

fn served() -> (Program, HttpServer) {
    let program = Program::new();
    let sha256 =
        |token: &str| -> String { Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect() };
    program.put(
        "home/.scorpiox/policy.toml",
        format!(
            "version = 1\n[http.auth]\nkind = \"token\"\n[http.auth.tokens.ann]\nsha256 = \"{}\"\n\
             [http.auth.tokens.bob]\nsha256 = \"{}\"\n",
            sha256(ANN),
            sha256(BOB)
        ),
    );
    let mut server = program.serve_http(0);
    BOB.clone_into(&mut server.token);
    (program, server)
}

/// Returns a call of a tool with these arguments, as JSON text.
fn call(server: &HttpServer, tool: &str, arguments: &str) -> Request {
    let request = server.modern("tools/call", json!({ "name": tool, "arguments": "HERE" }));
    let body = String::from_utf8(request.body.clone()).expect("text").replace("\"HERE\"", arguments);
    request.body(body).with("Authorization", &format!("Bearer {ANN}"))
}

/// Returns an object with many names, in 12 MB.
fn many_names() -> String {
    let names: Vec<_> = (0..1_000_000).map(|name| format!("\"{name:07}\":1")).collect();
    format!("{{{}}}", names.join(","))
}

/// Returns an object with a long text.
fn long_text(more: &str, name: &str) -> String {
    format!("{{{more}\"{name}\":\"{}\"}}", "\\u0061".repeat(2_500_000))
}

/// Sends a request and returns the status and the elapsed time.
fn timed(address: SocketAddr, bytes: &[u8]) -> (u16, Duration) {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    stream.write_all(bytes).expect("written");
    let mut first = [0; 12];
    stream.read_exact(&mut first).expect("an answer");
    let status = std::str::from_utf8(&first[9..]).ok().and_then(|status| status.parse().ok());
    (status.expect("a status"), begun.elapsed())
}

#[test]
fn calls_with_all_that_a_body_may_have_keep_nobody_else() {
    let (_program, server) = served();
    let heavy: Vec<_> = [
        ("TaskManager", many_names()),
        ("TaskManager", long_text("\"action\":\"create\",\"query\":\"x\",", "text")),
        ("SetCallback", long_text("\"action\":\"set\",\"delay_seconds\":60,", "message")),
        ("PlanMode", long_text("\"action\":\"enter\",", "goal")),
    ]
    .map(|(tool, arguments)| call(&server, tool, &arguments).bytes())
    .into();
    let unknown = server.post(&json!({})).method("GET").body("").without("Authorization").bytes();
    let light = server.modern(
        "tools/call",
        json!({ "name": "TaskManager", "arguments": {"action": "list", "query": "x"} }),
    );
    let light = light.bytes();
    let (address, is_over) = (server.address, AtomicBool::new(false));
    thread::scope(|scope| {
        for bytes in &heavy {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let Ok(mut stream) = TcpStream::connect(address) else { continue };
                    // The server may answer and close before it has read everything.
                    let _ = stream.set_read_timeout(Some(AT_ONCE));
                    let _ = stream.write_all(bytes).and_then(|()| stream.read_exact(&mut [0; 12]));
                }
            });
        }
        let slowest = (0..ASKED).map(|_| {
            let (status, refused_in) = timed(address, &unknown);
            assert_eq!(status, 401);
            let (status, answered_in) = timed(address, &light);
            assert_eq!(status, 200);
            refused_in.max(answered_in)
        });
        let slowest = slowest.max();
        is_over.store(true, Ordering::Relaxed);
        assert!(slowest.is_some_and(|slowest| slowest < AT_ONCE), "{slowest:?}");
    });
}

#[test]
fn arguments_have_a_bounded_number_of_members_for_every_tool() {
    let (_program, server) = served();
    let many = many_names();
    let listed = format!("{{\"a\":[{}0]}}", "0,".repeat(1_000_000));
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
    let in_text = |object: &str| Value::String(object.to_owned()).to_string();
    for tool in ["Bash", "BackgroundBash", "ListBgTasks", "AskUserQuestion", "TaskManager", "ReadDocs"] {
        for (arguments, why) in [
            (many.clone(), "arguments is not usable: more than 256 members"),
            (in_text(&many), "arguments is not usable: more than 256 members"),
            (listed.clone(), "arguments is not usable: more than 1000000 values and names"),
            (in_text(&deep), "arguments is not usable: nested deeper than 128 levels"),
        ] {
            let begun = Instant::now();
            let answer = server.ask(&call(&server, tool, &arguments)).json();
            assert_eq!(
                (&answer["error"]["code"], &answer["error"]["message"]),
                (&json!(-32602), &json!(why))
            );
            assert!(begun.elapsed() < 2 * AT_ONCE, "{tool} {why}: {:?}", begun.elapsed());
        }
    }
}
