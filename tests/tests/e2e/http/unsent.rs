//! Tests of answers that their clients do not read: they use a bounded amount of memory, which is shared fairly
//! among principals.

use std::time::{Duration, Instant};
use std::{fs, thread};

use scorpiox_tests::Program;
use scorpiox_tests::http::{Connection, HttpServer, Request};
use serde_json::json;
use sha2::{Digest as _, Sha256};

const ANN: &str = "token-of-ann-0123456789";
const BOB: &str = "token-of-bob-0123456789";
const MIB: usize = 1024 * 1024;
/// Time within which an answer comes or is refused.
const PATIENCE: Duration = Duration::from_secs(60);
/// Number of clients that read nothing.
const READERS: usize = 24;
/// Maximum size of the answers of one of several principals in bytes.
const MAX_UNSENT: usize = 64 * MIB;

/// Size of a file that leaves its principal, after two whole answers, less memory than the answer of a call takes.
const LESS: usize = 2700 * 1024;

/// Creates a square picture that hardly compresses.
fn noise(side: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, side, side);
    encoder.set_color(png::ColorType::Rgb);
    let pixels = (0_u32..).flat_map(|number| Sha256::digest(number.to_le_bytes()));
    let pixels: Vec<_> = pixels.take(3 * (side * side) as usize).collect();
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(&pixels).expect("pixels");
    writer.finish().expect("an end");
    bytes
}

/// Serves a skill with a file that takes six times its size in JSON.
fn served() -> (Program, HttpServer) {
    let program = Program::new();
    let sha256 =
        |token: &str| Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let policy = format!(
        "version = 1\n[http.auth]\nkind = \"token\"\n[http.auth.tokens.ann]\nsha256 = \"{}\"\n\
         [http.auth.tokens.bob]\nsha256 = \"{}\"\n",
        sha256(ANN),
        sha256(BOB)
    );
    program.put("home/.scorpiox/policy.toml", policy);
    program.put("workspace/.agents/skills/big/SKILL.md", "---\nname: big\ndescription: Large files.\n---\n");
    program.put("workspace/.agents/skills/big/a.txt", "\u{1}".repeat(4 * MIB));
    program.put("workspace/.agents/skills/big/less.txt", "\u{1}".repeat(LESS));
    program.put("workspace/noise.png", noise(400));
    let mut server = program.serve_http(0);
    ANN.clone_into(&mut server.token);
    (program, server)
}

fn read(server: &HttpServer, file: &str) -> Request {
    let params = json!({ "uri": format!("skill://big/{file}") });
    server.modern("resources/read", params)
}

fn resident_bytes(server: &HttpServer) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", server.child.id())).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    line.split_whitespace().next().and_then(|kib| kib.parse::<usize>().ok()).expect("a number") * 1024
}

#[test]
fn unread_answers_take_bounded_memory_from_their_principal_alone() {
    let (_program, server) = served();
    assert_eq!(server.ask(&read(&server, "SKILL.md")).status, 200);
    let before = resident_bytes(&server);
    let begin = |file| {
        let mut connection = server.connect();
        assert!(connection.send(&read(&server, file).bytes()));
        connection
    };
    let mut less = begin("less.txt");
    assert_eq!(less.head().status, 200);
    let mut readers: Vec<_> = (0..READERS).map(|_| begin("a.txt")).collect();
    let heads: Vec<_> = readers.iter_mut().map(Connection::head).collect();
    let grown = resident_bytes(&server).saturating_sub(before);
    let answered = heads.iter().filter(|head| head.status == 200).count();
    println!("{answered} of {READERS} answered, {} MiB", grown / MIB);
    assert!(answered > 0 && answered * 4 * MIB <= MAX_UNSENT, "{answered}");
    assert!(heads.iter().all(|head| [200, 503].contains(&head.status)), "{heads:?}");
    assert!(grown < MAX_UNSENT + 48 * MIB, "{} MiB", grown / MIB);
    // The others neither wait nor are refused.
    let begun = Instant::now();
    let bob = read(&server, "a.txt").with("Authorization", &format!("Bearer {BOB}"));
    assert_eq!(server.ask(&bob).status, 200);
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    // A call takes memory for its answer after it ran. Both wait at the same time, before clients that read
    // nothing are disconnected.
    let call = json!({ "name": "ReadImage", "arguments": { "file_path": "noise.png" } });
    let [refused, dropped] = thread::scope(|scope| {
        let requests = [read(&server, "a.txt"), server.modern("tools/call", call)];
        requests
            .map(|request| scope.spawn(|| server.ask(&{ request })))
            .map(|asked| asked.join().expect("an answer"))
    });
    assert_eq!((refused.status, refused.code()), (503, -31001), "{refused:?}");
    assert!(refused.body.contains("answers that were not read yet take the memory for it"), "{refused:?}");
    assert!(dropped.body.contains("-31001"), "{dropped:?}");
    assert!(dropped.body.contains("the request ran, but its answer of"), "{dropped:?}");
    // Small answers have memory of their own.
    assert_eq!(server.ask(&server.modern("tools/list", json!({}))).status, 200);
    drop((less, readers));
    let begun = Instant::now();
    while server.ask(&read(&server, "a.txt")).status != 200 {
        assert!(begun.elapsed() < PATIENCE, "the memory of clients that have gone is free");
    }
}
