//! Tests with ten thousand lines of various kinds of invalid input.

use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::oracle::{Answers, Expected, Fit, expected};
use super::support::{MAX_RSS, Random, mebibytes, memory, request, seed};

const LINES: usize = 10_000;
/// Number of lines between checks of the answers.
const CHUNK: usize = 250;
/// Maximum growth of memory from the first fifth of the lines to the end.
const MAX_GROWTH: u64 = 8 * 1024 * 1024;
/// Nesting depth of the deep lines, which are rarer than others because of their size.
const DEEP: usize = 100_000;

type Line = (Vec<u8>, Expected);

/// Generator of one kind of invalid line; `n` produces unique IDs.
type Make = fn(&mut Random, usize) -> Line;

const KINDS: [(&str, Make); 17] = [
    ("cut off", cut_off),
    ("random bytes", random_bytes),
    ("random JSON characters", random_characters),
    ("invalid UTF-8", invalid_utf8),
    ("NUL", nul),
    ("huge number", huge_number),
    ("duplicate member", duplicate_member),
    ("lone surrogate", lone_surrogate),
    ("array", array),
    ("wrong type", wrong_type),
    ("wrong id", wrong_id),
    ("notification", notification),
    ("response", response),
    ("blank", blank),
    ("more than one value", trailing),
    ("unknown", unknown),
    ("mutated", mutated),
];

fn valid(id: &str, random: &mut Random) -> String {
    let arguments = json!({ "action": "list", "query": "é \"x\" [{", "task_id": 7 });
    let line = match random.below(3) {
        0 => request(id, "ping", json!({ "a": [1, { "b": "c" }], "d": -1.5e3 })),
        1 => request(id, "tools/list", json!({})),
        _ => request(id, "tools/call", json!({ "name": "TaskManager", "arguments": arguments })),
    };
    line.trim_end().to_owned()
}

fn name(n: usize) -> String {
    format!("id-{n}-é")
}

fn cut_off(random: &mut Random, n: usize) -> Line {
    let line = valid(&name(n), random).into_bytes();
    let end = 1 + random.below(line.len() - 1);
    (line[..end].to_vec(), Expected::Refused(&[-32700]))
}

fn random_bytes(random: &mut Random, _: usize) -> Line {
    let length = 1 + random.below(200);
    let line: Vec<u8> = (0..length).map(|_| random.below(256) as u8).filter(|byte| *byte != b'\n').collect();
    let expected = expected(&line);
    (line, expected)
}

fn random_characters(random: &mut Random, _: usize) -> Line {
    const CHARACTERS: &[u8] = b"[]{}:,\"\\ 0123456789truefalsn.-e\t\r";
    let length = 1 + random.below(12);
    let line: Vec<u8> = (0..length).map(|_| *random.pick(CHARACTERS)).collect();
    let expected = expected(&line);
    (line, expected)
}

fn invalid_utf8(random: &mut Random, n: usize) -> Line {
    const WRONG: [&[u8]; 5] = [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"];
    let mut line = valid(&name(n), random).into_bytes();
    // After an ASCII letter, so that the following bytes cannot complete the sequence.
    let letters: Vec<_> = (0..line.len()).filter(|at| line[*at].is_ascii_lowercase()).collect();
    let at = *random.pick(&letters);
    line.splice(at..at, random.pick(&WRONG).iter().copied());
    (line, Expected::Refused(&[-32700]))
}

fn nul(random: &mut Random, n: usize) -> Line {
    let mut line = valid(&name(n), random).into_bytes();
    match random.below(2) {
        0 => line = vec![0; 1 + random.below(1000)],
        _ => line.insert(random.below(line.len() + 1), 0),
    }
    // A NUL within a multibyte character also makes the UTF-8 invalid.
    (line, Expected::Refused(&[-32700]))
}

fn deep(random: &mut Random, n: usize) -> Line {
    let (open, close) = *random.pick(&[("[", "]"), ("{\"a\":", "}"), ("[{\"b\":", "}]")]);
    let closed = random.chance(50);
    let middle = if open == "[" { "" } else { "1" };
    let nested = open.repeat(DEEP) + middle + &if closed { close.repeat(DEEP) } else { String::new() };
    let line = match random.below(3) {
        0 => nested,
        1 => format!("{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"ping\",\"params\":{nested}}}"),
        _ => format!("{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"ping\",\"other\":{nested}}}"),
    };
    (line.into_bytes(), Expected::Refused(&[-32700]))
}

fn number(random: &mut Random) -> String {
    let digits = "9".repeat(20 + random.below(2000));
    match random.below(4) {
        0 => digits,
        1 => format!("-{digits}"),
        2 => format!("1e{}", 400 + random.below(100_000)),
        _ => format!("0.{digits}e-{}", 400 + random.below(1000)),
    }
}

fn huge_number(random: &mut Random, n: usize) -> Line {
    let (id, number) = (json!(name(n)), number(random));
    let line = |id: &str, method: &str, params: &str| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}")
            .into_bytes()
    };
    match random.below(3) {
        0 => (line(&number, "ping", "{}"), Expected::Refused(&[-32600])),
        1 => {
            let line = line(&id.to_string(), "ping", &format!("{{\"n\":{number}}}"));
            (line, Expected::Answer(id, Fit::Any))
        }
        _ => {
            let arguments = format!("{{\"action\":\"complete\",\"step_id\":{number}}}");
            let params = format!("{{\"name\":\"TaskManager\",\"arguments\":{arguments}}}");
            (line(&id.to_string(), "tools/call", &params), Expected::Answer(id, Fit::ToolError))
        }
    }
}

fn duplicate_member(random: &mut Random, n: usize) -> Line {
    let id = json!(name(n));
    let line = |tail: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{tail}}}").into_bytes();
    let envelope = [
        "\"id\":1,\"method\":\"ping\"",
        "\"method\":\"ping\",\"jsonrpc\":\"2.0\"",
        "\"method\":\"ping\",\"method\":\"ping\"",
    ];
    match random.below(3) {
        0 => match random.below(3) {
            // With two IDs, the request is ambiguous.
            0 => (line(envelope[0]), Expected::Refused(&[-32600])),
            other => (line(envelope[other]), Expected::BadEnvelope(id.clone())),
        },
        1 => {
            let tail = "\"method\":\"tools/list\",\"params\":{\"a\":1,\"\\u0061\":2}";
            (line(tail), Expected::Answer(id.clone(), Fit::Error(&[-32602])))
        }
        _ => {
            let arguments = "{\"action\":\"list\",\"query\":\"\",\"action\":\"create\"}";
            let tail = format!(
                "\"method\":\"tools/call\",\"params\":{{\"name\":\"TaskManager\",\"arguments\":{arguments}}}"
            );
            (line(&tail), Expected::Answer(id.clone(), Fit::ToolError))
        }
    }
}

fn lone_surrogate(random: &mut Random, n: usize) -> Line {
    let half = *random.pick(&["\\ud800", "\\udfff", "\\ud800\\ud800", "\\ud83d\\u0041", "x\\udc00y"]);
    let id = json!(name(n));
    match random.below(4) {
        0 => {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{half}\",\"method\":\"ping\"}}");
            (line.into_bytes(), Expected::Refused(&[-32600, -32700]))
        }
        1 => {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{half}\"}}");
            (line.into_bytes(), Expected::Refused(&[-32600, -32700]))
        }
        2 => {
            let params = format!("{{\"name\":\"{half}\",\"arguments\":{{}}}}");
            let line =
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}");
            (line.into_bytes(), Expected::Answer(id, Fit::Error(&[-32602])))
        }
        _ => {
            let params = format!(
                "{{\"name\":\"TaskManager\",\"arguments\":{{\"action\":\"create\",\"text\":\"{half}\"}}}}"
            );
            let line =
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}");
            (line.into_bytes(), Expected::Answer(id, Fit::ToolError))
        }
    }
}

fn array(random: &mut Random, n: usize) -> Line {
    let one = valid(&name(n), random);
    let many = format!("[{}]", vec![&*one; 20].join(","));
    let lines = ["[]".to_owned(), "[1,2,3]".to_owned(), format!("[{one}]"), many, " [null]".to_owned()];
    (random.pick(&lines).clone().into_bytes(), Expected::Refused(&[-32600]))
}

fn wrong_type(random: &mut Random, n: usize) -> Line {
    let id = json!(name(n));
    let lines = ["5", "-0.0", "\"text\"", "null", "true", " false "];
    let wrong =
        random.pick(&[json!(5), json!(null), json!(true), json!([]), json!({}), json!("1.0")]).clone();
    let line = |message: Value| message.to_string().into_bytes();
    match random.below(5) {
        0 => (random.pick(&lines).as_bytes().to_vec(), Expected::Refused(&[-32600])),
        1 => (line(json!({ "jsonrpc": wrong, "id": id, "method": "ping" })), Expected::BadEnvelope(id)),
        2 => {
            let wrong = if wrong.is_string() { json!(1) } else { wrong };
            (line(json!({ "jsonrpc": "2.0", "id": id, "method": wrong })), Expected::BadEnvelope(id))
        }
        3 => {
            let wrong = random.pick(&[json!(5), json!("x"), json!(false)]).clone();
            (
                line(json!({ "jsonrpc": "2.0", "id": id, "method": "ping", "params": wrong })),
                Expected::BadEnvelope(id),
            )
        }
        _ => {
            let params = [
                json!({ "name": 5 }),
                json!({}),
                json!({ "name": "TaskManager", "arguments": 5 }),
                json!({ "name": "TaskManager", "arguments": { "action": ["create"] } }),
                json!({ "name": "TaskManager", "arguments": { "action": "complete", "step_id": "one" } }),
                json!({ "name": "PlanMode", "arguments": { "action": { "a": 1 } } }),
            ];
            let params = random.pick(&params);
            let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
            (line(message), Expected::Answer(id, Fit::ToolError))
        }
    }
}

fn wrong_id(random: &mut Random, _: usize) -> Line {
    let long = json!("i".repeat(1025));
    let ids = [json!(null), json!(true), json!(1.5), json!({}), json!([1]), json!({ "a": [] }), long];
    let message = json!({ "jsonrpc": "2.0", "id": random.pick(&ids), "method": "ping" });
    (message.to_string().into_bytes(), Expected::Refused(&[-32600]))
}

fn notification(random: &mut Random, n: usize) -> Line {
    let messages = [
        json!({ "jsonrpc": "2.0", "method": "notifications/unknown", "params": { "a": n } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": { "a": 1 } } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": [1, 2] }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized", "params": { "x": "y" } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progress": "much" } }),
        // A request without an ID is a notification, regardless of its method.
        json!({ "jsonrpc": "2.0", "method": "tools/call", "params": { "name": 5 } }),
        json!({ "jsonrpc": "2.0", "method": "ping" }),
    ];
    (random.pick(&messages).to_string().into_bytes(), Expected::Nothing)
}

fn response(random: &mut Random, n: usize) -> Line {
    let error = json!({ "code": 1, "message": "m" });
    let (message, expected) = match random.below(4) {
        0 => (json!({ "jsonrpc": "2.0", "id": n, "result": {} }), Expected::Nothing),
        1 => (json!({ "jsonrpc": "2.0", "id": name(n), "error": error }), Expected::Nothing),
        2 => (json!({ "jsonrpc": "2.0", "id": null, "error": error }), Expected::Nothing),
        _ => {
            let both = json!({ "jsonrpc": "2.0", "id": name(n), "result": {}, "error": error });
            (both, Expected::BadEnvelope(json!(name(n))))
        }
    };
    (message.to_string().into_bytes(), expected)
}

fn blank(random: &mut Random, _: usize) -> Line {
    let line: Vec<u8> = (0..random.below(20)).map(|_| *random.pick(b" \t\r")).collect();
    (line, Expected::Nothing)
}

fn trailing(random: &mut Random, n: usize) -> Line {
    let mut line = valid(&name(n), random);
    line += ["x", " {}", ",", "}", "null", " \u{feff}", ";", "\u{2028}"][random.below(8)];
    (line.into_bytes(), Expected::Refused(&[-32700]))
}

fn unknown(random: &mut Random, n: usize) -> Line {
    let id = json!(name(n));
    let long = "m".repeat(random.below(5000));
    let (line, codes): (String, &[i64]) = match random.below(3) {
        0 => (request(name(n), &format!("no/{long}"), json!({})), &[-32601]),
        1 => (request(name(n), "tools/call", json!({ "name": format!("No{long}") })), &[-32602]),
        _ => (request(name(n), "tools/list", json!({ "cursor": long })), &[-32602]),
    };
    (line.trim_end().as_bytes().to_vec(), Expected::Answer(id, Fit::Error(codes)))
}

fn mutated(random: &mut Random, n: usize) -> Line {
    let mut line = valid(&name(n), random).into_bytes();
    for _ in 0..1 + random.below(3) {
        let at = random.below(line.len());
        match random.below(4) {
            0 => drop(line.remove(at)),
            1 => line.insert(at, *random.pick(b"{}[]\",:\\0e-. nt")),
            2 => line[at] = b' ' + random.below(95) as u8,
            _ => {
                let other = random.below(line.len());
                line.swap(at, other);
            }
        }
    }
    let expected = expected(&line);
    (line, expected)
}

fn shown(line: &[u8]) -> String {
    line[..line.len().min(300)].escape_ascii().to_string()
}

/// Sends the lines and reads answers until all lines have been processed.
fn exchange(server: &mut Started, lines: &[Line], sync: usize, answers: &mut Answers) {
    let mut bytes = Vec::new();
    for (line, _) in lines {
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    }
    let sync = format!("sync-{sync}");
    bytes.extend_from_slice(request(&*sync, "ping", json!({})).as_bytes());
    server.send_raw(&bytes);
    loop {
        let answer = server.next().expect("the server is up");
        if answer["id"] == *sync {
            assert_eq!(answer["result"], json!({}));
            return;
        }
        answers.add(answer);
    }
}

#[test]
fn ten_thousand_wrong_lines_get_what_the_protocol_demands_and_leave_the_server_as_it_was() {
    let seed = seed();
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let program = Program::new();
    let mut server = program.start();
    server.initialize("2025-11-25");
    let pid = rustix::process::Pid::from_child(&server.child);
    let mut answers = Answers::default();
    let (mut lines, mut early) = (Vec::new(), 0);
    while lines.len() < LINES {
        let chunk: Vec<Line> = (lines.len()..lines.len() + CHUNK)
            .map(|n| {
                // The first chunk contains all kinds, including the large one.
                if n % 100 == 3 {
                    return deep(&mut random, n);
                }
                let (kind, make) = &KINDS[n % KINDS.len()];
                let (line, expected) = make(&mut random, n);
                assert!(!line.contains(&b'\n'), "{kind}: {}", shown(&line));
                (line, expected)
            })
            .collect();
        exchange(&mut server, &chunk, lines.len(), &mut answers);
        lines.extend(chunk);
        if lines.len() == LINES / 5 {
            early = memory(pid).0;
        }
    }
    let (late, peak) = memory(pid);
    let text = server.text("TaskManager", json!({ "action": "create", "text": "afterwards" }));
    assert!(text.starts_with("Task #1 is created"), "{text}");
    server.close_input();
    let before = server.received.len();
    while server.next().is_some() {}
    server.received.split_off(before).into_iter().for_each(|answer| answers.add(answer));
    assert!(server.wait().0.success());
    for (n, (line, expected)) in lines.iter().enumerate() {
        let kind = KINDS[n % KINDS.len()].0;
        answers.take(expected, &format!("line {n} (seed {seed}, {kind}): {}", shown(line)));
    }
    answers.assert_all_taken();
    eprintln!(
        "10,000 wrong lines: memory {} after a fifth, {} at the end, at most {}",
        mebibytes(early),
        mebibytes(late),
        mebibytes(peak)
    );
    assert!(late < early + MAX_GROWTH, "memory grew from {} to {}", mebibytes(early), mebibytes(late));
    assert!(peak < MAX_RSS, "{}", mebibytes(peak));
}
