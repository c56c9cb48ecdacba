//! Tests of the page on which approvers answer approvals.

use std::fs;
use std::time::{Duration, Instant};

use scorpiox_tests::Program;
use scorpiox_tests::http::{HttpServer, Response};
use serde_json::{Value, json};

use super::admin::{ANN, BOB, cookie, form, get, lines, policy, told};
use super::webdriver::Browser;

pub(super) const PAGE: &str = "/admin/approvals";

/// Makes a credential and returns it with the lines for the policy.
pub(super) fn approver(program: &Program, name: &str) -> (String, String) {
    let (status, out, said) = program.run(&["approvals", "keygen", name, "--browser"]);
    assert!(status.success(), "{said}");
    let credential = fs::read_to_string(program.workspace().join(format!("{name}.credential")));
    let policy = out.split_once(&format!("[approvers.{name}]")).expect("lines for the policy").1;
    (credential.expect("a credential").trim().to_owned(), format!("[approvers.{name}]{policy}"))
}

/// Starts a server with a rule that asks before TaskManager, and the approvers lead and deputy, who is ann.
fn asking(keys: &str) -> (Program, HttpServer, [String; 2]) {
    let program = Program::new().with("ANSWER_WITHIN", "1");
    let (lead, lines) = approver(&program, "lead");
    let (deputy, more) = approver(&program, "deputy");
    let rule = format!(
        "[[rules]]\nname = \"quiet\"\ntools = [\"TaskManager\"]\nthen = \"ask\"\nreason = \"<b>look</b>\"\n{keys}"
    );
    let text = policy(&format!("{rule}{lines}{more}principal = \"ann\"\n"));
    program.put("home/.scorpiox/policy.toml", text);
    let server = program.serve_http(0);
    (program, server, [lead, deputy])
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

fn call(server: &HttpServer, token: &str, query: &str) -> String {
    server.shown(token).text("TaskManager", json!({ "action": "list", "query": query }))
}

/// Logs an approver in and returns the cookie.
pub(super) fn enter(server: &HttpServer, credential: &str) -> String {
    let answer = server.ask(&form(server, "/admin/login", &format!("token={}", encoded(credential))));
    assert_eq!((answer.status, answer.header("location")), (303, Some(PAGE)), "{answer:?}");
    let cookie = answer.header("set-cookie").expect("a cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    cookie.split(';').next().expect("a value").to_owned()
}

/// Returns the value in the form that stands for the call that is shown.
pub(super) fn shown(server: &HttpServer, cookie: &str, number: u64) -> String {
    let page = get(server, &format!("{PAGE}?number={number}"), Some(cookie));
    let value = page.body.split_once("name=\"shown\" value=\"").unwrap_or_else(|| panic!("{page:?}")).1;
    value.split_once('"').expect("a value").0.to_owned()
}

/// Sends an answer as the form does.
pub(super) fn answer(server: &HttpServer, cookie: &str, fields: &[(&str, &str)]) -> Response {
    let body: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    server.ask(&form(server, PAGE, &body.join("&")).with("Cookie", cookie))
}

#[test]
fn an_approver_answers_in_a_browser_with_the_credential() {
    let (program, mut server, [lead, _]) =
        asking("channel = \"strong\"\nremember = [\"workspace\", \"always\"]\n");
    let said = call(&server, BOB, "<i>secret</i>");
    assert!(said.contains("or in a browser at `/admin/approvals` of this server"), "{said}");
    let cookie = enter(&server, &lead);
    assert!(!cookie.contains(&lead));
    let listed = get(&server, PAGE, Some(&cookie));
    for part in [
        "Approval 1: TaskManager",
        "&#34;query&#34;:&#34;&#60;i&#62;secret&#60;/i&#62;&#34;",
        "rule &#34;quiet&#34; (policy.toml line 11)",
        "“&#60;b&#62;look&#60;/b&#62;”",
        "<dt>Caller</dt><dd>bob</dd>",
        "href=\"/admin/approvals?number=1\"",
        " ago</dd>",
    ] {
        assert!(listed.body.contains(part), "{part}: {}", listed.body);
    }
    assert!(!listed.body.contains("<form class=\"answer\"") && !listed.body.contains("<script"));
    assert_eq!(listed.header("x-frame-options"), Some("DENY"));
    // An approver has no other page, and an operator not this one.
    let other = get(&server, "/admin/audit", Some(&cookie));
    assert_eq!((other.status, other.header("location")), (303, Some(PAGE)));
    let ann = super::admin::cookie(&server, ANN);
    assert_eq!(get(&server, PAGE, Some(&ann)).status, 404);
    // The credential opens no other door.
    let mcp = server.shown(&lead).modern("server/discover", json!({}));
    assert_eq!(mcp.status, 401, "{mcp:?}");

    let shown_now = shown(&server, &cookie, 1);
    let fields = [("number", "1"), ("shown", &shown_now), ("answer", "approve"), ("credential", &lead)];
    let done = answer(&server, &cookie, &fields);
    assert!(done.status == 200 && done.body.contains("Approval 1: The call runs."), "{done:?}");
    assert!(done.body.contains("No call waits for your answer."), "{}", done.body);
    let said = call(&server, BOB, "<i>secret</i>");
    assert!(!said.contains("was not run"), "{said}");
    assert!(call(&server, BOB, "<i>secret</i>").contains("Approval 2 waits"), "an approval is used up");

    // It is remembered if the approver says so, until it is revoked.
    let shown_now = shown(&server, &cookie, 2);
    let fields = [("number", "2"), ("shown", &shown_now), ("answer", "workspace"), ("credential", &lead)];
    assert_eq!(answer(&server, &cookie, &fields).status, 200);
    for _ in 0..2 {
        let said = call(&server, BOB, "<i>secret</i>");
        assert!(!said.contains("was not run"), "{said}");
    }
    let (_, remembered, _) = program.run(&["approvals", "remembered"]);
    assert!(remembered.contains("lead") && remembered.contains("TaskManager"), "{remembered}");
    let (status, _, said) = program.run(&["approvals", "revoke", "2"]);
    assert!(status.success(), "{said}");
    assert!(call(&server, BOB, "<i>secret</i>").contains("Approval 3 waits"));

    // A denial reaches the model with its words.
    let shown_now = shown(&server, &cookie, 3);
    let fields = [
        ("number", "3"),
        ("shown", &*shown_now),
        ("answer", "deny"),
        ("words", "not <today>"),
        ("credential", &lead),
    ];
    let denied = answer(&server, &cookie, &fields);
    assert!(denied.status == 200 && denied.body.contains("Approval 3: The call is refused."), "{denied:?}");
    let said = call(&server, BOB, "<i>secret</i>");
    assert!(said.contains("asked lead, who denied it and said: not <today>"), "{said}");
    // Over HTTP, an approval that holds always is kept for the caller in the store.
    assert!(call(&server, BOB, "<i>secret</i>").contains("Approval 4 waits"));
    let shown_now = shown(&server, &cookie, 4);
    let fields = [("number", "4"), ("shown", &shown_now), ("answer", "always"), ("credential", &lead)];
    assert_eq!(answer(&server, &cookie, &fields).status, 200);
    for _ in 0..2 {
        let said = call(&server, BOB, "<i>secret</i>");
        assert!(!said.contains("was not run"), "{said}");
    }
    assert!(call(&server, ANN, "<i>secret</i>").contains("Approval 5 waits"), "it is bob's alone");
    let (_, remembered, _) = program.run(&["approvals", "remembered"]);
    assert!(remembered.contains("lead  TaskManager  all\n"), "{remembered}");
    let policy = fs::read_to_string(program.home().join(".scorpiox/policy.toml")).expect("a policy");
    assert!(!policy.contains("[approved"), "{policy}");
    server.end();

    let rule = "policy.toml line 18";
    let line = ["approver:lead", "ok", "", rule].map(str::to_owned);
    assert_eq!(told(&program, "admin answer"), [&line; 4].map(Clone::clone));
    assert_eq!(told(&program, "admin log-in")[0], line);
    let answers = lines(&program, "admin answer");
    let what: Vec<_> = answers.iter().map(|line| line["uses"][0]["what"].as_str().expect("a use")).collect();
    for (what, end) in what.iter().zip(["1/approve", "2/approve", "3/deny", "4/approve"]) {
        assert!(what.ends_with(&format!(" /admin/approvals/{end}")), "{what}");
    }
    let used = |line: &Value| line["uses"].as_array().cloned().unwrap_or_default();
    let uses: Vec<_> = lines(&program, "TaskManager").iter().flat_map(used).collect();
    let approved =
        |text: &str| uses.iter().any(|used| used["what"].as_str().is_some_and(|what| what.contains(text)));
    assert!(approved("approval 1 by lead (page, once)") && approved("approval 2 by lead (page, workspace)"));
    let audit = fs::read_to_string(program.home().join(".scorpiox/audit/audit.jsonl")).expect("an audit");
    assert!(!audit.contains(&lead), "the credential is nowhere");
}

#[test]
fn an_approver_is_let_in_whatever_others_of_the_address_show() {
    let (_program, server, [lead, _]) = asking("");
    let cookie = enter(&server, &lead);
    assert!(call(&server, BOB, "x").contains("Approval 1 waits"));
    let shown = shown(&server, &cookie, 1);
    let give = |credential: &str| {
        let fields = [("number", "1"), ("shown", &*shown), ("answer", "approve"), ("credential", credential)];
        answer(&server, &cookie, &fields)
    };
    let mut tries = (0..200).map(|number| give(&format!("x{number}")).status);
    assert_eq!(tries.next(), Some(401));
    assert!(tries.any(|status| status == 429), "invalid credentials are counted");
    enter(&server, &lead);
    let done = give(&lead);
    assert!(done.status == 200 && done.body.contains("Approval 1: The call runs."), "{done:?}");
}

#[test]
fn an_answer_that_is_late_twice_changed_or_of_the_wrong_person_does_nothing_and_is_recorded() {
    let (program, mut server, [lead, deputy]) = asking("within = \"10s\"\n");
    let said = call(&server, ANN, "own");
    assert!(said.contains("Approval 1 waits"), "{said}");
    let began = Instant::now();
    let (leads, deputies) = (enter(&server, &lead), enter(&server, &deputy));
    let value = shown(&server, &leads, 1);
    let with = |cookie: &str, number: &str, shown: &str, credential: &str| {
        let fields =
            [("number", number), ("shown", shown), ("answer", "approve"), ("credential", credential)];
        answer(&server, cookie, &fields)
    };
    // deputy is ann, whose call it is.
    let page = get(&server, &format!("{PAGE}?number=1"), Some(&deputies));
    assert!(page.body.contains("Approval 1 does not wait for your answer."), "{page:?}");
    assert!(!get(&server, PAGE, Some(&deputies)).body.contains("TaskManager"));
    let own = with(&deputies, "1", &value, &deputy);
    assert!(own.status == 403 && own.body.contains("is not yours to answer"), "{own:?}");
    // The credential of another approver, none, and a word in its place.
    for credential in [&*deputy, "", "lead"] {
        let wrong = with(&leads, "1", &value, credential);
        assert!(wrong.status == 401 && wrong.body.contains("this is not your credential"), "{wrong:?}");
    }
    // Another call than the one that was shown, and none.
    let changed = with(&leads, "1", &value.replace('-', "--"), &lead);
    assert!(changed.status == 409 && changed.body.contains("another call now"), "{changed:?}");
    let unknown = with(&leads, "99", &value, &lead);
    assert!(unknown.status == 404 && unknown.body.contains("there is no approval 99"), "{unknown:?}");
    // An extent that the rule does not offer, and no answer.
    let fields = [("number", "1"), ("shown", &value), ("answer", "workspace"), ("credential", &lead)];
    assert_eq!(answer(&server, &leads, &fields).status, 400);
    assert_eq!(answer(&server, &leads, &[("number", "1"), ("shown", &value)]).status, 400);
    // Without a log-in, with that of an operator, and from another site.
    let ann = cookie(&server, ANN);
    for cookie in ["", &*ann] {
        let nobody = with(cookie, "1", &value, &lead);
        assert!(nobody.status == 401 && nobody.body.contains("Log in with a credential"), "{nobody:?}");
    }
    let nowhere = form(&server, PAGE, "number=1").with("Cookie", &leads).without("Origin");
    assert_eq!(server.ask(&nowhere).status, 403);
    // Nothing of this answered the call.
    let (_, listed, _) = program.run(&["approvals", "list", "--json"]);
    assert!(listed.contains("\"waits\""), "{listed}");
    // Late: the time is over, and the page was loaded before.
    while get(&server, PAGE, Some(&leads)).body.contains("Approval 1") {
        assert!(began.elapsed() < Duration::from_secs(60), "the time does not end");
        std::thread::sleep(Duration::from_millis(100));
    }
    let late = with(&leads, "1", &value, &lead);
    assert!(late.status == 409 && late.body.contains("the time to answer approval 1 is over"), "{late:?}");
    // Twice.
    assert!(call(&server, BOB, "other").contains("Approval 2 waits"));
    let value = shown(&server, &leads, 2);
    assert_eq!(with(&leads, "2", &value, &lead).status, 200);
    let twice = with(&leads, "2", &value, &lead);
    assert!(twice.status == 409 && twice.body.contains("was already answered (approve)"), "{twice:?}");
    // A channel that was closed: the policy has the credential no more.
    assert!(call(&server, BOB, "third").contains("Approval 3 waits"));
    let value = shown(&server, &leads, 3);
    let text = fs::read_to_string(program.home().join(".scorpiox/policy.toml")).expect("a policy");
    let (_, other) = approver(&program, "lead2");
    let own =
        text.split_once("[approvers.lead]\n").expect("lead").1.split('\n').next().expect("a credential");
    let replacement = other.lines().nth(1).expect("a credential");
    program.put("home/.scorpiox/policy.toml", text.replace(own, replacement));
    let closed = with(&leads, "3", &value, &lead);
    assert!(
        closed.status == 403 && closed.body.contains("lead is no approver with this credential any more"),
        "{closed:?}"
    );
    let refused = server.ask(&form(&server, "/admin/login", &format!("token={}", encoded(&lead))));
    assert_eq!(refused.status, 401, "{refused:?}");
    server.end();

    let mut faults: Vec<_> = told(&program, "admin answer")
        .into_iter()
        .filter(|line| line[1] == "refused")
        .map(|[who, _, fault, _]| format!("{who} {fault}"))
        .collect();
    faults.sort();
    let lead = |fault: &str| format!("approver:lead {fault}");
    let mut expected = [
        "answered-before",
        "bad-form",
        "bad-token",
        "bad-token",
        "bad-token",
        "changed",
        "closed-channel",
        "late",
        "no-approval",
        "not-offered",
    ]
    .map(lead)
    .to_vec();
    expected.extend([" forbidden", " no-token", " no-token", "approver:deputy policy"].map(str::to_owned));
    expected.sort();
    assert_eq!(faults, expected);
}

/// The screen is as wide as a phone's, and nothing but keys is used.
#[test]
fn a_call_is_approved_by_keyboard_on_a_narrow_screen() {
    let (_program, mut server, [lead, _]) = asking("");
    let long = "x".repeat(700);
    let said = call(&server, BOB, &long);
    assert!(said.contains("Approval 1 waits"), "{said}");
    let browser = Browser::start();
    browser.looks("light", 375);
    let base = format!("http://{}", server.address);
    browser.open(&format!("{base}/admin"));
    browser.keys(&lead);
    browser.keys("\u{e007}");
    let heading = "return document.querySelector('.card h2')?.textContent ?? ''";
    browser.until("the call is shown", heading, |found| *found == "Approval 1: TaskManager");
    let axe = fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/team/axe-4.10.3.js"),
    );
    let axe = axe.expect("axe");
    let looks_well = |name: &str| {
        for (scheme, width) in [("light", 1280), ("dark", 768), ("light", 320), ("dark", 375)] {
            browser.looks(scheme, width);
            let fits = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth";
            assert_eq!(browser.run(fits), true, "{name} at {width}");
            browser.run(&axe);
            let found = browser.run_later("axe.run({ resultTypes: ['violations'] }).then(r => done(r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).slice(0, 3).join(' | '))))");
            assert_eq!(found, json!([]), "{name} at {width}");
        }
    };
    looks_well("the list");
    let tab_to = |what: &str| {
        let name = "const e = document.activeElement; return e.id || e.value || e.textContent.trim()";
        for _ in 0..20 {
            if browser.run(name).as_str().is_some_and(|found| found.starts_with(what)) {
                return;
            }
            browser.keys("\u{e004}");
        }
        panic!("{what} is not reached");
    };
    tab_to("Answer approval 1");
    browser.keys("\u{e007}");
    browser.until("the form is shown", "return document.querySelectorAll('form.answer').length", |found| {
        *found == 1
    });
    looks_well("the form");
    tab_to("approve");
    browser.keys(" ");
    tab_to("credential");
    browser.keys(&lead);
    browser.keys("\u{e007}");
    let done = "return document.querySelector('.done')?.textContent ?? ''";
    browser.until("the answer is given", done, |found| {
        found.as_str().is_some_and(|said| said.starts_with("Approval 1: The call runs."))
    });
    let said = call(&server, BOB, &long);
    assert!(!said.contains("was not run"), "{said}");
    server.end();
}
