//! The pages for the operator: who may read them, what browsers are told of them, and how a real one shows them.

use std::fs;
use std::path::{Path, PathBuf};

use scorpiox_tests::Program;
use scorpiox_tests::http::{HttpServer, Request, Response};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::webdriver::Browser;
use crate::plugins::{guest, source};

const ANN: &str = "token-of-ann-0123456789";
const BOB: &str = "token-of-bob-0123456789";
/// What a page must never run.
const EVIL: &str = "<img src=x onerror=alert(1)>\"'&";

fn sha256(token: &str) -> String {
    Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Ann may read the pages, bob may not.
fn policy(more: &str) -> String {
    format!(
        "version = 1\n[http.admin]\nscopes = [\"admin\"]\n[http.auth]\nkind = \"token\"\n[http.auth.tokens.ann]\nsha256 = \"{}\"\n\
         scopes = [\"admin\"]\n[http.auth.tokens.bob]\nsha256 = \"{}\"\n{more}",
        sha256(ANN),
        sha256(BOB)
    )
}

fn served(more: &str) -> (Program, HttpServer) {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", policy(more));
    let server = program.serve_http(0);
    (program, server)
}

fn get(server: &HttpServer, path: &str, cookie: Option<&str>) -> Response {
    let request = server.post(&json!({})).method("GET").path(path).body("").without("Authorization");
    let request = request.without("Content-Type").without("Accept");
    let request = match cookie {
        Some(cookie) => request.with("Cookie", cookie),
        None => request,
    };
    server.ask(&request)
}

fn form(server: &HttpServer, path: &str, body: &str) -> Request {
    let request = server.post(&json!({})).path(path).body(body).without("Authorization").without("Accept");
    let request = request.with("Content-Type", "application/x-www-form-urlencoded");
    request.with("Origin", &format!("http://{}", server.address))
}

/// Logs in; the cookie.
fn cookie(server: &HttpServer, token: &str) -> String {
    let answer = server.ask(&form(server, "/admin/login", &format!("token={token}")));
    assert_eq!((answer.status, answer.header("location")), (303, Some("/admin")), "{answer:?}");
    let cookie = answer.header("set-cookie").expect("a cookie");
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/admin", "Max-Age=28800"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    cookie.split(';').next().expect("a value").to_owned()
}

#[test]
fn only_who_may_reads_the_pages_and_nothing_can_be_done_there() {
    let (program, mut server) = served("");
    for path in ["/admin", "/admin/audit", "/admin/none"] {
        let answer = get(&server, path, None);
        assert_eq!((answer.status, answer.header("location")), (303, Some("/admin/login")), "{path}");
    }
    assert_eq!(get(&server, "/administrator", None).status, 404);
    assert_eq!(get(&server, "/admin/login", None).status, 200);
    // Tokens that are none, or not for this.
    let wrong = server.ask(&form(&server, "/admin/login", "token=nobody"));
    assert!(wrong.status == 401 && wrong.body.contains("This token is not good here."), "{wrong:?}");
    let bob = server.ask(&form(&server, "/admin/login", &format!("token={BOB}")));
    assert!(
        bob.status == 403
            && bob.body.contains("bob may not read these pages: [http.admin] (policy.toml line 2)"),
        "{bob:?}"
    );
    assert!([&wrong, &bob].iter().all(|answer| answer.header("set-cookie").is_none()));
    let ann = cookie(&server, ANN);
    for (path, expected) in [
        ("/admin", "Calls that run"),
        ("/admin/audit", "lines fit"),
        ("/admin/plugins", "No plugin is installed."),
        ("/admin/policy", "[http.admin]"),
        ("/admin/usage", "Principals"),
    ] {
        let answer = get(&server, path, Some(&ann));
        assert!(answer.status == 200 && answer.body.contains(expected), "{path}: {answer:?}");
        let csp = answer.header("content-security-policy").expect("a policy");
        assert!(csp.starts_with("default-src 'none'") && csp.contains("frame-ancestors 'none'"), "{csp}");
        for (name, value) in [
            ("x-frame-options", "DENY"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path}");
        }
        assert!(!answer.body.contains("<script") && !answer.body.contains(" style="), "{}", answer.body);
    }
    assert_eq!(get(&server, "/admin/none", Some(&ann)).status, 404);
    // Nothing takes a form but these two, and those from nowhere else.
    for path in ["/admin", "/admin/plugins", "/admin/policy"] {
        let answer = server.ask(&form(&server, path, "approve=all").with("Cookie", &ann));
        assert_eq!(answer.status, 405, "{path}");
    }
    for path in ["/admin/login", "/admin/logout"] {
        let here = form(&server, path, &format!("token={ANN}"));
        let elsewhere = server.ask(&here.clone().with("Origin", "https://evil.example.com"));
        let other =
            server.ask(&here.clone().with("Origin", &format!("http://localhost:{}", server.address.port())));
        let nowhere = server.ask(&here.without("Origin"));
        for answer in [elsewhere, other, nowhere] {
            assert!(answer.status == 403 && answer.header("set-cookie").is_none(), "{path}: {answer:?}");
        }
    }
    // A cookie of another's making, one that was changed, and one without a name.
    for other in [
        format!("{ann}x"),
        ann.replacen('=', "=A", 1),
        "scorpiox-admin=".to_owned(),
        ann.replace("scorpiox-admin", "other"),
    ] {
        assert_eq!(get(&server, "/admin", Some(&other)).status, 303, "{other}");
    }
    let left = server.ask(&form(&server, "/admin/logout", "").with("Cookie", &ann));
    assert!(left.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=0")), "{left:?}");
    // It has ended for whoever kept it; another program of this machine may have put one of the name before a good one.
    assert_eq!(get(&server, "/admin", Some(&ann)).status, 303);
    let ann = cookie(&server, ANN);
    assert_eq!(get(&server, "/admin", Some(&format!("scorpiox-admin=x; {ann}"))).status, 200);
    // The cookie lives over a restart; who may no more is not let in by it, nor is who has a token that was replaced.
    server.end();
    let mut server = program.serve_http(0);
    assert_eq!(get(&server, "/admin", Some(&ann)).status, 200);
    server.end();
    let other = policy("").replace(&sha256(ANN), &sha256("token-of-ann-that-is-new"));
    program.put("home/.scorpiox/policy.toml", other);
    let mut server = program.serve_http(0);
    assert_eq!(get(&server, "/admin", Some(&ann)).status, 303);
    server.end();
    let without = policy("").replace("         scopes = [\"admin\"]\n", "").replacen(
        "scopes = [\"admin\"]\n[http.auth.tokens.bob]",
        "[http.auth.tokens.bob]",
        1,
    );
    program.put("home/.scorpiox/policy.toml", without);
    let server = program.serve_http(0);
    assert_eq!(get(&server, "/admin", Some(&ann)).status, 303);
}

#[test]
fn there_are_no_pages_where_nobody_wants_them() {
    let program = Program::new();
    let server = program.serve_http(0);
    for path in ["/admin", "/admin/login", "/admin/style.css"] {
        assert_eq!(get(&server, path, None).status, 404);
    }
}

#[test]
fn many_tokens_that_are_not_good_are_not_tried() {
    let (_program, server) = served("");
    let tries =
        (0..80).map(|number| server.ask(&form(&server, "/admin/login", &format!("token=x{number}"))).status);
    let tries: Vec<_> = tries.collect();
    assert!(tries[0] == 401 && tries.contains(&429), "{tries:?}");
    // Who has a good one is let in all the same.
    cookie(&server, ANN);
}

/// A server with something on each page, of which some was chosen by strangers.
fn furnished() -> (Program, HttpServer) {
    let program = Program::new();
    program.put(
        "home/.scorpiox/policy.toml",
        policy("[access.most]\nallow = [\"*\"]\n[access.no]\nprincipals = [\"bob\"]\ndeny = [\"Bash\"]\n"),
    );
    let bytes = fs::read(guest("keeper")).expect("the component");
    let manifest = "description = \"Keeps <b>notes</b>.\"\n[secrets]\nTOKEN = \"the key\"\n[capabilities.store]\nwhy = \"keeps notes\"\n";
    let plugin = source(&program, "keeper", manifest, &bytes);
    let (_, _, err) = program.run(&["plugin", "add", &plugin]);
    let server = program.serve_http(0);
    let params = |tool: &str, arguments: Value| json!({ "name": tool, "arguments": arguments, "_meta": { "io.modelcontextprotocol/clientInfo": { "name": EVIL, "version": "1" } } });
    for (token, tool, arguments) in [
        (ANN, "TaskManager", json!({ "action": "create", "text": "x" })),
        (ANN, "TaskManager", json!({ "action": "list" })),
        (ANN, "Bash", json!({ "command": "cat .env; true" })),
        (BOB, "Bash", json!({ "command": "true" })),
        (BOB, EVIL, json!({})),
        (ANN, "BackgroundBash", json!({ "command": "sleep 600" })),
        (ANN, "ReadImage", json!({ "path": "/nothing" })),
    ] {
        server.shown(token).modern("tools/call", params(tool, arguments));
    }
    assert!(err.is_empty() || !err.contains("panicked"), "{err}");
    (program, server)
}

#[test]
fn what_strangers_chose_is_shown_as_they_wrote_it() {
    let (_program, server) = furnished();
    let ann = cookie(&server, ANN);
    let audit = get(&server, "/admin/audit", Some(&ann)).body;
    assert!(audit.contains("&#60;img src=x onerror=alert(1)&#62;"), "{audit}");
    let query = "/admin/audit?tool=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&since=%3Cb%3E";
    let filtered = get(&server, query, Some(&ann)).body;
    assert!(filtered.contains("role=\"alert\""), "a time that is none is said to be: {filtered}");
    let plugins = get(&server, "/admin/plugins", Some(&ann)).body;
    assert!(
        plugins.contains("Keeps &#60;b&#62;notes&#60;/b&#62;.") && plugins.contains("waits for approval"),
        "{plugins}"
    );
    for page in ["/admin", "/admin/usage", "/admin/policy"] {
        let body = get(&server, page, Some(&ann)).body;
        for text in [&audit, &filtered, &plugins, &body] {
            assert!(!text.contains("<img") && !text.contains("<script") && !text.contains("<b>"), "{text}");
        }
    }
    // Filters choose.
    let of_bob = get(&server, "/admin/audit?principal=bob&failed=on", Some(&ann)).body;
    assert!(of_bob.contains("2 lines fit") && of_bob.contains("[access.no]"), "{of_bob}");
    let none = get(&server, "/admin/audit?tool=WebSearch", Some(&ann)).body;
    assert!(none.contains("0 lines fit"), "{none}");
}

/// Where screenshots go, to be looked at.
fn screens() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/team/screens");
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn a_real_browser_shows_the_pages_in_light_and_dark_on_any_screen_and_by_keyboard() {
    let (_program, server) = furnished();
    let browser = Browser::start();
    let base = format!("http://{}", server.address);
    // By keyboard alone: the field has the focus, the return key sends the form.
    browser.open(&format!("{base}/admin"));
    assert_eq!(browser.run("return document.activeElement.id"), "token");
    browser.keys(ANN);
    browser.keys("\u{e007}");
    browser.until("the first page comes", "return document.title", |title| {
        title.as_str().is_some_and(|title| title.starts_with("Overview"))
    });
    let mut reached = Vec::new();
    for _ in 0..8 {
        browser.keys("\u{e004}");
        reached.push(
            browser
                .run("return document.activeElement.textContent.trim()")
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        );
    }
    assert_eq!(
        reached[..7],
        ["Skip to the content", "Overview", "Audit", "Plugins", "Policy", "Use", "Log out"],
        "{reached:?}"
    );
    let axe = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/team/axe-4.10.3.js"))
        .expect("axe");
    for (name, path) in [
        ("overview", "/admin"),
        ("audit", "/admin/audit"),
        ("plugins", "/admin/plugins"),
        ("policy", "/admin/policy"),
        ("usage", "/admin/usage"),
        ("login", "/admin/login"),
    ] {
        for (look, scheme, width) in
            [("light", "light", 1280), ("dark", "dark", 1280), ("narrow", "light", 360)]
        {
            browser.looks(scheme, width);
            browser.open(&format!("{base}{path}"));
            browser.screenshot(&screens().join(format!("{name}-{look}.png")));
            let fits = browser
                .run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth");
            assert_eq!(fits, true, "{name}-{look} is wider than the screen");
            browser.run(&axe);
            let found = browser.run_later("axe.run({ resultTypes: ['violations'] }).then(r => done(r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).slice(0, 3).join(' | '))))");
            assert_eq!(found, json!([]), "{name}-{look}");
        }
    }
    // Nothing was refused by the browser, and nothing tried to run.
    let mut said = browser.log();
    // What it recommends is no complaint.
    said.retain(|entry| entry["level"] != "DEBUG");
    assert!(said.is_empty(), "{said:?}");
}
