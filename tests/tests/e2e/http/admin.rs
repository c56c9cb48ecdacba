//! Tests of the admin pages: access control, security headers, and rendering in a real browser.

use std::fs;

use scorpiox_tests::Program;
use scorpiox_tests::http::{HttpServer, Request, Response};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub(super) const ANN: &str = "token-of-ann-0123456789";
pub(super) const BOB: &str = "token-of-bob-0123456789";
/// Markup that a page must escape.
pub(super) const LONG: &str = "a-tool-with-a-very-long-name-that-nobody-would-choose-a-tool-with-a-very-long-name-that-nobody-would-choose-a-tool-with-a-very-long-name";
pub(super) const EVIL: &str = "<img src=x onerror=alert(1)>\"'&";

fn sha256(token: &str) -> String {
    Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a policy in which ann may read the admin pages and bob may not.
pub(super) fn policy(more: &str) -> String {
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

pub(super) fn get(server: &HttpServer, path: &str, cookie: Option<&str>) -> Response {
    let request = server.post(&json!({})).method("GET").path(path).body("").without("Authorization");
    let request = request.without("Content-Type").without("Accept");
    let request = match cookie {
        Some(cookie) => request.with("Cookie", cookie),
        None => request,
    };
    server.ask(&request)
}

pub(super) fn form(server: &HttpServer, path: &str, body: &str) -> Request {
    let request = server.post(&json!({})).path(path).body(body).without("Authorization").without("Accept");
    let request = request.with("Content-Type", "application/x-www-form-urlencoded");
    request.with("Origin", &format!("http://{}", server.address))
}

/// Logs in and returns the session cookie.
pub(super) fn cookie(server: &HttpServer, token: &str) -> String {
    let answer = server.ask(&form(server, "/admin/login", &format!("token={token}")));
    assert_eq!((answer.status, answer.header("location")), (303, Some("/admin")), "{answer:?}");
    let cookie = answer.header("set-cookie").expect("a cookie");
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/admin"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    // A second may have passed since the login.
    assert!(["Max-Age=28800;", "Max-Age=28799;"].iter().any(|age| cookie.contains(age)), "{cookie}");
    cookie.split(';').next().expect("a value").to_owned()
}

/// Pages beyond the first ones of a minute share an audit line, and wait until it is written.
#[test]
fn where_lines_are_required_no_page_is_sent_before_the_line_that_tells_of_it() {
    let (program, mut server) = served("[audit]\nrequired = true\n");
    let ann = cookie(&server, ANN);
    let pages = 62;
    for _ in 0..pages {
        assert_eq!(get(&server, "/admin/audit", Some(&ann)).status, 200);
    }
    server.child.kill().expect("killed");
    server.child.wait().expect("ended");
    let text = fs::read_to_string(program.home().join(".scorpiox/audit/audit.jsonl")).expect("an audit");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line"));
    let told = lines.filter(|line| line["tool"] == "admin page");
    let told: u64 = told.map(|line| 1 + line["more_calls"].as_u64().unwrap_or_default()).sum();
    assert_eq!(told, pages, "{text}");
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
    // An unknown token, and a token without permission.
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
    let none = get(&server, "/admin/none", Some(&ann));
    assert_eq!((none.status, none.header("content-type")), (404, Some("text/html; charset=utf-8")));
    for part in ["width=device-width", "<nav", "<h1>No such page</h1>", "<a href=\"/admin\">Back"] {
        assert!(none.body.contains(part), "{part}: {}", none.body);
    }
    // Only these two paths accept a form, and only from the same origin.
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
    // A corrupted cookie, a modified one, an empty one, and one with another name.
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
    // Logging out invalidates copies of the cookie. Another program on this machine may have set an invalid
    // cookie of the same name, which comes before the valid one.
    assert_eq!(get(&server, "/admin", Some(&ann)).status, 303);
    let ann = cookie(&server, ANN);
    assert_eq!(get(&server, "/admin", Some(&format!("scorpiox-admin=x; {ann}"))).status, 200);
    // The cookie survives a restart. It becomes invalid if the user loses the permission or the token is
    // replaced.
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

/// Each page of lines has a bounded size and reads a bounded part of the audit, and leads to the one before.
#[test]
fn the_audit_is_read_in_pages_from_its_end() {
    let (program, mut server) = served("");
    server.end();
    let line = |at: usize| {
        let tool = if at == 7 { "Rare".to_owned() } else { format!("tool{at}") };
        format!(
            "{{\"time\":\"2026-11-01T00:00:00.000Z\",\"tool\":\"{tool}\",\"outcome\":\"ok\",\"user\":\"{}\"}}\n",
            "u".repeat(900)
        )
    };
    // More than a page reads.
    let count = 20_000;
    let lines: String = (0..count).map(line).collect();
    program.put("home/.scorpiox/audit/audit-20261101T000000.000Z.jsonl", lines);
    let server = program.serve_http(0);
    let ann = cookie(&server, ANN);
    let older = |body: &str| {
        let (before, _) = body.split_once("\" rel=\"next\">Older lines</a>")?;
        let (_, query) = before.rsplit_once("href=\"")?;
        Some(query.replace("&#38;", "&").replace("&amp;", "&"))
    };
    let of_lines = |body: &str| body.matches("title=\"tool").count();
    // The newest lines are those of this server.
    let mut path = "/admin/audit".to_owned();
    let mut shown = 0;
    for _ in 0..3 {
        let body = get(&server, &path, Some(&ann)).body;
        let newest = count - 1 - shown;
        assert!(body.contains(&format!("title=\"tool{newest}\"")), "{newest}: {body}");
        assert!(body.matches("<tr><td").count() == 200, "{body}");
        assert_eq!(body.contains(">Newest lines</a>"), path != "/admin/audit");
        shown += of_lines(&body);
        path = older(&body).expect("older lines");
    }
    // A filter is kept from page to page, until the beginning is reached.
    let first = get(&server, "/admin/audit?tool=R%2A%26re", Some(&ann)).body;
    assert!(first.contains("0 lines fit of 1"), "{first}");
    let first = get(&server, "/admin/audit?tool=Rar%2A", Some(&ann)).body;
    assert!(first.contains("0 lines fit") && !first.contains("title=\"Rare\""), "{first}");
    let second = get(&server, &older(&first).expect("older lines"), Some(&ann)).body;
    assert!(second.contains("1 lines fit") && second.contains("title=\"Rare\""), "{second}");
    assert!(second.contains("value=\"Rar*\"") && older(&second).is_none(), "{second}");
    let gone = get(&server, "/admin/audit?before=1-2-3", Some(&ann));
    assert!(gone.status == 200 && gone.body.contains("were removed; start from the newest"), "{gone:?}");
}

/// Returns an answer, which has to be a page.
fn page(answer: Response, status: u16, said: &str) -> Response {
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (status, Some("text/html; charset=utf-8")),
        "{answer:?}"
    );
    for part in ["width=device-width", "<main id=\"content\">", said] {
        assert!(answer.body.contains(part), "{part}: {}", answer.body);
    }
    assert!(answer.header("content-security-policy").is_some(), "{answer:?}");
    answer
}

#[test]
fn a_browser_gets_a_page_whatever_is_refused() {
    let (_program, server) = served("");
    for (path, allowed, said) in [
        ("/admin", "GET", "Pages are read with GET."),
        ("/admin/audit", "GET", "Pages are read with GET."),
        ("/admin/login", "GET, POST", "sends its form with POST."),
    ] {
        let asked = form(&server, path, "").method("PUT");
        let answer = page(server.ask(&asked), 405, said);
        assert_eq!(answer.header("allow"), Some(allowed), "{path}");
    }
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
    // A valid token is accepted nevertheless.
    cookie(&server, ANN);
}

/// Returns the audit lines of one tool.
pub(super) fn lines(program: &Program, tool: &str) -> Vec<Value> {
    let text = fs::read_to_string(program.home().join(".scorpiox/audit/audit.jsonl")).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a whole line"));
    lines.filter(|line| line["tool"] == tool).collect()
}

/// Returns the principal, outcome, fault and rule of each audit line of an act.
pub(super) fn told(program: &Program, act: &str) -> Vec<[String; 4]> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let told = |line: &Value| {
        let used = &line["uses"][0];
        assert!(used["capability"] == "http" && text(&used["what"]).starts_with("127.0.0.1 /"), "{line}");
        assert_eq!(used["allowed"], line["outcome"] == "ok", "{line}");
        [text(&line["principal"]), text(&line["outcome"]), text(&line["fault"]), text(&used["rule"])]
    };
    lines(program, act).iter().map(told).collect()
}

#[test]
fn who_comes_and_who_is_not_let_in_has_a_line_in_the_audit() {
    let more = "[workspace.payroll]\npath = \"/tmp\"\nprincipals = [\"ann\"]\n";
    let program = Program::new();
    let payroll = program.put("payroll/.keep", "");
    let folder = payroll.parent().expect("a folder").display().to_string();
    program.put("home/.scorpiox/policy.toml", policy(&more.replace("/tmp", &folder)));
    let mut server = program.serve_http(0);
    let ping = server.modern("server/discover", json!({})).without("Authorization");
    assert_eq!(server.ask(&ping).status, 401);
    let wrong = ping.clone().with("Authorization", "Bearer no-token-of-ours-0123");
    assert_eq!(server.ask(&wrong).status, 401);
    assert_eq!(server.ask(&ping.clone().with("Origin", "https://evil.example.com")).status, 403);
    let of_bob = ping.clone().with("Authorization", &format!("Bearer {BOB}"));
    assert_eq!(server.ask(&of_bob.clone().path("/w/payroll/mcp")).status, 404);
    assert_eq!(server.ask(&of_bob.clone().path("/w/nowhere/mcp")).status, 404);
    assert_eq!(server.ask(&of_bob).status, 200);
    assert_eq!(server.ask(&form(&server, "/admin/login", "token=nobody")).status, 401);
    assert_eq!(server.ask(&form(&server, "/admin/login", "")).status, 401);
    assert_eq!(server.ask(&form(&server, "/admin/login", &format!("token={BOB}"))).status, 403);
    let elsewhere = form(&server, "/admin/logout", "").with("Origin", "https://evil.example.com");
    assert_eq!(server.ask(&elsewhere).status, 403);
    let ann = cookie(&server, ANN);
    assert_eq!(get(&server, "/admin/usage", Some(&ann)).status, 200);
    assert_eq!(server.ask(&form(&server, "/admin/logout", "").with("Cookie", &ann)).status, 303);
    server.end();
    let line =
        |who: &str, outcome: &str, fault: &str, rule: &str| [who, outcome, fault, rule].map(str::to_owned);
    // A line is written while its response is being sent, so lines of concurrent requests may be out of
    // order.
    let mut requests = told(&program, "http request");
    requests.sort();
    let by_rule = requests.iter().find(|[.., rule]| rule.starts_with("policy.toml line "));
    let rule = by_rule.unwrap_or_else(|| panic!("{requests:?}"))[3].clone();
    assert_eq!(
        requests,
        [
            line("", "refused", "bad-token", "built-in"),
            line("", "refused", "forbidden", "built-in"),
            line("", "refused", "forbidden", "built-in"),
            line("", "refused", "no-token", "built-in"),
            line("bob", "refused", "no-workspace", "built-in"),
            line("bob", "refused", "no-workspace", &rule),
        ]
    );
    let of_payroll =
        lines(&program, "http request").into_iter().find(|found| found["uses"][0]["rule"] == *rule);
    assert_eq!(of_payroll.expect("a line")["workspace"], folder);
    let mut log_ins = told(&program, "admin log-in");
    log_ins.sort();
    assert_eq!(
        log_ins,
        [
            line("", "refused", "bad-token", "built-in"),
            line("", "refused", "no-token", "built-in"),
            line("ann", "ok", "", "policy.toml line 2"),
            line("bob", "refused", "policy", "policy.toml line 2"),
        ]
    );
    assert_eq!(told(&program, "admin page"), [line("ann", "ok", "", "policy.toml line 2")]);
    assert_eq!(told(&program, "admin log-out"), [line("ann", "ok", "", "built-in")]);
    let (code, out, err) = program.run(&["audit", "verify"]);
    assert!(code.success() && out.contains("is whole"), "{out}{err}");
}

#[test]
fn a_page_that_is_not_there_is_recorded_as_refused() {
    let (program, mut server) = served("");
    let ann = cookie(&server, ANN);
    for (path, status) in [("/admin/none", 404), ("/admin/audit/x", 404), ("/admin/", 200)] {
        assert_eq!(get(&server, path, Some(&ann)).status, status, "{path}");
    }
    server.end();
    let line = |outcome: &str, fault: &str, rule: &str| ["ann", outcome, fault, rule].map(str::to_owned);
    let refused = line("refused", "no-page", "built-in");
    let expected = [refused.clone(), refused, line("ok", "", "policy.toml line 2")];
    assert_eq!(told(&program, "admin page"), expected);
}

#[test]
fn many_refusals_and_many_pages_share_lines() {
    let (program, mut server) = served("");
    let nobody = server.modern("server/discover", json!({})).without("Authorization");
    let ann = cookie(&server, ANN);
    for _ in 0..300 {
        assert_eq!(server.ask(&nobody).status, 401);
        assert_eq!(get(&server, "/admin/usage", Some(&ann)).status, 200);
    }
    server.end();
    for act in ["http request", "admin page"] {
        let lines = lines(&program, act);
        let all: u64 = lines.iter().map(|line| 1 + line["more_calls"].as_u64().unwrap_or(0)).sum();
        assert_eq!(all, 300, "{act}");
        assert!(lines.len() < 200, "{act}: {} lines", lines.len());
    }
}

#[test]
fn each_log_in_that_is_refused_has_a_line_also_where_the_form_or_the_token_is_too_long() {
    let long = "t".repeat(4000);
    let more = format!("[http.auth.tokens.eve]\nsha256 = \"{}\"\nscopes = [\"admin\"]\n", sha256(&long));
    let (program, mut server) = served(&more);
    let forms = [
        (format!("token={long}"), ["eve", "long-token"]),
        (format!("token={}", "x".repeat(32 * 1024)), ["", "bad-form"]),
        (format!("token={}", "x".repeat(30 * 1024)), ["", "bad-token"]),
        ("other=1".to_owned(), ["", "no-token"]),
    ];
    for (body, _) in &forms {
        let refused = server.ask(&form(&server, "/admin/login", body));
        assert!([400, 401].contains(&refused.status), "{}", refused.status);
        assert!(refused.header("set-cookie").is_none());
    }
    server.end();
    let mut told: Vec<_> = told(&program, "admin log-in");
    told.sort();
    let mut expected: Vec<_> = forms
        .iter()
        .map(|(_, [who, fault])| [*who, "refused", *fault, "built-in"].map(str::to_owned))
        .collect();
    expected.sort();
    assert_eq!(told, expected);
}

/// The setting `origins` lets pages call the endpoint, but it does not allow forms.
#[test]
fn the_refusal_of_a_form_names_what_lets_it_in() {
    let (_program, server) = served("[http]\norigins = [\"https://chat.example.com\"]\n");
    let here = format!("http://{}", server.address);
    for (from, parts) in [
        (Some("https://mcp.example.com"), ["https://mcp.example.com", "`url` of [http]"]),
        (Some("https://chat.example.com"), ["https://chat.example.com", "`url` of [http]"]),
        (Some("null"), ["null", "`url` of [http]"]),
        (Some(&*here.replace("127.0.0.1", "localhost")), ["localhost", &here]),
        (None, ["`Origin`", &here]),
    ] {
        for path in ["/admin/login", "/admin/logout"] {
            let request = form(&server, path, "token=x").without("Origin");
            let refused =
                server.ask(&from.iter().fold(request, |request, from| request.with("Origin", from)));
            let body = refused.body.replace("&#96;", "`");
            assert!(
                refused.status == 403 && parts.iter().all(|part| body.contains(part)),
                "{from:?}: {body}"
            );
            assert!(!body.contains("origins"), "{from:?}: {body}");
        }
    }
}

/// If the server cannot end a login, the user is told that it continues.
#[test]
fn who_ended_too_many_is_told_that_this_one_goes_on() {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", policy(""));
    drop(program.serve_http(0));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_secs();
    let file = program.home().join(".scorpiox/http/ended");
    // Prefixes derived from a name alone: anybody could compute them and search for colliding names.
    let mut ended = String::new();
    for of in ["ann", "pages ann"] {
        let digest = Sha256::digest(of);
        let of: String = digest[..4].iter().map(|byte| format!("{byte:02x}")).collect();
        (0..50_000).for_each(|number| ended += &format!("\n{of}{number:024x} {now}"));
    }
    fs::write(&file, ended.clone() + "\n").expect("written");
    let mut server = program.serve_http(0);
    let ann = cookie(&server, ANN);
    let left = server.ask(&form(&server, "/admin/logout", "").with("Cookie", &ann));
    assert_eq!((left.status, left.header("location")), (303, Some("/admin/login")), "{left:?}");
    server.end();
    // The ended login reveals the prefix of ann's account.
    let text = fs::read_to_string(&file).expect("what ended");
    let own = text.lines().rfind(|line| !line.is_empty()).and_then(|line| line.get(..16)).expect("a number");
    (0..50_000).for_each(|number| ended += &format!("\n{own}{number:016x} {now}"));
    fs::write(&file, ended + "\n").expect("written");
    let mut server = program.serve_http(0);
    let ann = cookie(&server, ANN);
    let left = server.ask(&form(&server, "/admin/logout", "").with("Cookie", &ann));
    assert!(left.status == 429 && left.body.contains("the server could not end it"), "{left:?}");
    assert!(left.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=0")), "{left:?}");
    assert_eq!(get(&server, "/admin", Some(&ann)).status, 200, "whoever kept it");
    server.end();
    let lines = told(&program, "admin log-out");
    assert_eq!(lines.iter().map(|line| line[1].as_str()).collect::<Vec<_>>(), ["ok", "refused"]);
    assert_eq!(lines[1][2], "too-many");
}

/// The origin of the admin pages is not allowed to call tools.
#[test]
fn pages_for_the_operator_let_no_page_call_the_endpoint() {
    let own = "https://mcp.example.com";
    let (_program, server) =
        served(&format!("[http]\nurl = \"{own}/mcp\"\norigins = [\"https://chat.example.com\"]\n"));
    let discover =
        server.modern("server/discover", json!({})).with("Authorization", &format!("Bearer {ANN}"));
    let from = |page: &str| discover.clone().with("Origin", page);
    for request in [from(own), from(own).method("OPTIONS").body(""), from(own).without("Authorization")] {
        let refused = server.ask(&request);
        assert_eq!(
            (refused.status, refused.header("access-control-allow-origin")),
            (403, None),
            "{refused:?}"
        );
    }
    let let_in = server.ask(&from("https://chat.example.com"));
    assert_eq!(
        (let_in.status, let_in.header("access-control-allow-origin")),
        (200, Some("https://chat.example.com"))
    );
    // Forms are accepted from the admin pages' own origin only.
    let form = form(&server, "/admin/login", "token=x").with("Host", "mcp.example.com");
    assert_eq!(server.ask(&form.clone().with("Origin", own)).status, 401);
    assert_eq!(server.ask(&form.with("Origin", "https://chat.example.com")).status, 403);
}

/// A call that waits for an approver is on the first page, without its arguments, until it is answered.
#[test]
fn calls_that_wait_for_a_person_are_listed_with_the_commands_that_answer() {
    let program = Program::new().with("ANSWER_WITHIN", "2");
    let (status, _, said) = program.run(&["plugin", "keygen", "lead", "--no-password"]);
    assert!(status.success(), "{said}");
    let public = fs::read_to_string(program.workspace().join("lead.pub")).expect("a key");
    let key = public.lines().nth(1).expect("a key");
    let more = format!(
        "[[rules]]\nname = \"quiet\"\ntools = [\"TaskManager\"]\nthen = \"ask\"\n[approvers.lead]\nkey = \"{key}\"\n"
    );
    program.put("home/.scorpiox/policy.toml", policy(&more));
    let server = program.serve_http(0);
    let ann = cookie(&server, ANN);
    let page = || get(&server, "/admin", Some(&ann)).body;
    assert!(page().contains("No call waits for an approval."), "{}", page());
    let said = server.shown(BOB).text("TaskManager", json!({ "action": "create", "text": "a secret" }));
    assert!(said.contains("approvals approve 1 --key"), "{said}");
    let waits = page();
    for part in [
        "<code>scorpiox-code approvals approve 1 --key FILE</code>",
        "<code>scorpiox-code approvals deny 1 --key FILE</code>",
        "title=\"bob\"",
        "quiet (policy.toml line",
    ] {
        assert!(waits.contains(part), "{part}: {waits}");
    }
    assert!(!waits.contains("a secret"), "{waits}");
    let (status, _, said) = program.run(&["approvals", "deny", "1", "--key", "lead.key"]);
    assert!(status.success(), "{said}");
    assert!(page().contains("No call waits for an approval."), "{}", page());
}
