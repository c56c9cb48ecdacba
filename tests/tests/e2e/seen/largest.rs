//! Tests of the largest results of each tool, which must fit the limits of the clients.

use std::fs;

use scorpiox_tests::site::{Answer, Site};
use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::{CHARS, NEWEST, dot, length, of_client, reaching, text};
use crate::plugins::install_kinds;

/// Starts a site with a page of 400 KB and with search results of maximum length.
fn site() -> Site {
    Site::start(|asked| match asked.path.as_str() {
        "/page" => Answer::html(format!(
            "<title>T</title><article>{}</article>",
            "<h2>Heading 😀</h2><p>Some words of a paragraph that is long enough to count.</p>".repeat(5000)
        )),
        "/error" => Answer::html(format!("<p>{}", "Not what you want. ".repeat(5000))).status("500 Broken"),
        _ => {
            let result = |n: usize| {
                json!({
                    "URL": format!("https://{n}.example/{}", "x".repeat(1900)),
                    "Title": "t".repeat(1000),
                    "Snippet": "s".repeat(1000)
                })
            };
            let results: Vec<_> = (0..50).map(result).collect();
            Answer::of("application/json", json!(results).to_string())
        }
    })
}

fn prepared(site: &Site) -> Program {
    let engine = format!("[search.engine.wiby]\nbase_url = \"{}\"\n", site.url(""));
    let program = reaching(Program::as_shipped(), &engine);
    let long = "A line of instructions that goes on for a while.\n".repeat(20_000);
    program.put(
        "workspace/.scorpiox/skills/long/SKILL.md",
        format!("---\nname: long\ndescription: d\n---\n{long}"),
    );
    for n in 0..60 {
        let file = format!("workspace/.scorpiox/skills/long/{n}-{}", "f".repeat(200));
        program.put(&file, "");
        let skill = format!(
            "---\nname: skill-{n}\ndescription: {}\n---\nneedle {}\n",
            "d".repeat(1000),
            "n".repeat(500)
        );
        program.put(&format!("workspace/.scorpiox/skills/skill-{n}/SKILL.md"), skill);
    }
    program.put("workspace/dot.png", dot());
    install_kinds(&program, "");
    program
}

/// Creates the largest content for tools to report.
fn fill(server: &mut Started) {
    server.text("TaskManager", json!({"action": "create", "query": "", "text": "n".repeat(500)}));
    for _ in 0..25 {
        let step = "s\n".repeat(1999);
        server.text("TaskManager", json!({"action": "add", "query": "", "text": step}));
    }
    for n in 0..40 {
        let name = format!("{n} {}", "n".repeat(490));
        server.text("TaskManager", json!({"action": "create", "query": "", "text": name}));
    }
    for _ in 0..8 {
        let arguments = json!({"action": "set", "message": "m".repeat(2048), "delay_seconds": 3600});
        server.text("SetCallback", arguments);
    }
    for _ in 0..16 {
        let command = format!("seq 1 50000; sleep 1000; : {}", "c".repeat(5000));
        server.text("BackgroundBash", json!({"command": command}));
    }
}

/// Returns the calls with the largest results of each kind.
fn calls(program: &Program, site: &Site) -> Vec<(&'static str, Value)> {
    let option =
        |n: usize| json!({"label": format!("{n}{}", "l".repeat(150)), "description": "d".repeat(400)});
    let options: Vec<_> = (0..20).map(option).collect();
    let question = |n: usize| json!({"question": format!("{n}{}", "q".repeat(900)), "options": options});
    let questions = json!({"questions": (0..4).map(question).collect::<Vec<_>>()}).to_string();
    vec![
        ("Bash", json!({"command": "seq 1 100000"})),
        ("Bash", json!({"command": "for i in $(seq 20000); do printf '日本語\\n'; done"})),
        ("Bash", json!({"command": "head -c 500000 /dev/urandom | base64 -w 0 >&2; exit 3"})),
        ("Bash", json!({"command": format!("exit 1; {}", "x".repeat(140_000))})),
        ("Bash", json!({"command": "for i in $(seq 20000); do printf '\"\\\\\n'; done"})),
        ("ReadBgOutput", json!({"task_id": 1})),
        ("ReadBgOutput", json!({"task_id": 999})),
        ("ListBgTasks", json!({})),
        ("ReadDocs", json!({"url": site.url("/page")})),
        ("ReadDocs", json!({"url": site.url("/page#page=2")})),
        ("ReadDocs", json!({"url": site.url("/page"), "format": "html"})),
        ("ReadDocs", json!({"url": site.url("/error")})),
        ("ReadDocs", json!({"url": format!("ftp://{}", "x".repeat(100_000))})),
        ("WebSearch", json!({"query": "q".repeat(400)})),
        ("InvokeSkill", json!({"skill_name": "long"})),
        ("InvokeSkill", json!({"skill_name": "x".repeat(100_000)})),
        ("SearchSkills", json!({"pattern": "needle"})),
        ("TaskManager", json!({"action": "list", "query": ""})),
        ("TaskManager", json!({"action": "list", "query": "", "task_id": 1})),
        ("TaskManager", json!({"action": "pending", "query": "n"})),
        ("TaskManager", json!({"action": "x".repeat(100_000), "query": ""})),
        ("SetCallback", json!({"action": "list"})),
        ("PlanMode", json!({"action": "enter", "goal": "g".repeat(4000)})),
        ("PlanMode", json!({"action": "json"})),
        ("Bash", json!({"command": "seq 1 100000"})),
        ("PlanMode", json!({"action": "exit", "plan_file": "p".repeat(4096)})),
        ("AskUserQuestion", json!({"questions_json": questions})),
        ("ReadImage", json!({"file_path": program.workspace().join("dot.png")})),
        ("ReadImage", json!({"file_path": format!("/{}", "x".repeat(100_000))})),
        ("KillBgTask", json!({"task_id": 1})),
        ("kinds.echo.text", json!({"value": "z".repeat(300_000)})),
    ]
}

/// Tools that return as much as fits, and explain how to read on.
const PAGED: [&str; 5] = ["ReadDocs", "WebSearch", "InvokeSkill", "SearchSkills", "TaskManager"];

#[test]
fn no_result_has_more_than_its_client_shows() {
    let site = site();
    std::thread::scope(|scope| {
        for (name, most, most_of_json) in [("tests", CHARS, usize::MAX), ("@cline/core", 7000, 8000)] {
            let site = &site;
            scope.spawn(move || {
                let program = prepared(site);
                let calls = calls(&program, site);
                let mut server = of_client(program, name);
                fill(&mut server);
                for (tool, arguments) in calls {
                    let result = server.call(tool, arguments.clone());
                    let text = text(&result);
                    let arguments: String = arguments.to_string().chars().take(80).collect();
                    assert!(length(text) <= most, "{name}: {tool} {arguments}: {}", length(text));
                    assert!(!text.is_empty(), "{tool} {arguments}");
                    let json = length(&json!({"content": [{"type": "text", "text": text}]}).to_string());
                    assert!(json <= most_of_json, "{name}: {tool} {arguments}: {json} of JSON");
                    // These tools choose the parts that they omit, so the generic truncation does not apply.
                    let is_giant = arguments.contains("\"task_id\":1");
                    if PAGED.contains(&tool) && !is_giant {
                        assert!(!text.contains("characters left out"), "{name}: {tool} {arguments}: {text}");
                    }
                    if arguments.contains("\"skill_name\":\"long\"") {
                        assert!(length(text) >= most / 2, "{name}: {}", length(text));
                    }
                }
            });
        }
    });
}

#[test]
fn what_does_not_fit_is_whole_in_a_file_that_commands_can_read() {
    let program = Program::as_shipped();
    install_kinds(&program, "");
    let mut server = program.start();
    server.initialize(NEWEST);
    let whole = format!("BEGIN{}END", "é".repeat(30_000));
    let result = server.call("kinds.echo.text", json!({"value": whole}));
    let shown = text(&result);
    assert!(length(shown) <= CHARS && length(shown) > CHARS - 3000, "{}", length(shown));
    let gone = 30_000 + 8 - shown.matches('é').count() - 8;
    let gone = format!("{},{:03}", gone / 1000, gone % 1000);
    assert!(shown.contains(&format!("\n\n[… {gone} characters left out …]\n\n")), "{shown}");
    let path = shown.rsplit_once(" is in ").expect("a path").1.trim_end_matches(']');
    assert_eq!(fs::read_to_string(path).expect("the file").trim_matches('"'), whole);
    let read = server.call("Bash", json!({"command": format!("head -c 6 {path}; wc -c < {path}")}));
    assert!(text(&read).contains("BEGIN"), "{read}");
}
