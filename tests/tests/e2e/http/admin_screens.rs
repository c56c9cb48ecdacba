//! Tests of the admin pages in a real browser.

use std::fs;
use std::path::{Path, PathBuf};

use scorpiox_tests::Program;
use scorpiox_tests::http::HttpServer;
use serde_json::{Value, json};

use super::admin::{ANN, BOB, EVIL, LONG, cookie, get, policy};
use super::webdriver::Browser;
use crate::plugins::{guest, source};

/// Starts a server with content on each page, some of it under the control of untrusted parties.
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
        (BOB, LONG, json!({})),
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
    // Filters select rows.
    let of_bob = get(&server, "/admin/audit?principal=bob&failed=on", Some(&ann)).body;
    assert!(of_bob.contains("3 lines fit") && of_bob.contains("[access.no]"), "{of_bob}");
    let none = get(&server, "/admin/audit?tool=WebSearch", Some(&ann)).body;
    assert!(none.contains("0 lines fit"), "{none}");
}

/// Returns the directory for screenshots, which are reviewed by eye.
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
    // Logs in by keyboard alone: the field has the focus and the return key submits the form.
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
        ("denied", "/admin/audit?denied=on"),
        ("plugins", "/admin/plugins"),
        ("policy", "/admin/policy"),
        ("usage", "/admin/usage"),
        ("missing", "/admin/none"),
        ("login", "/admin/login"),
    ] {
        for (look, scheme, width) in [
            ("light", "light", 1280),
            ("dark", "dark", 1280),
            ("tablet", "light", 768),
            ("tablet-dark", "dark", 768),
            ("narrow", "light", 375),
            ("narrow-dark", "dark", 375),
            ("small", "light", 320),
        ] {
            browser.looks(scheme, width);
            browser.open(&format!("{base}{path}"));
            browser.screenshot(&screens().join(format!("{name}-{look}.png")));
            let fits = browser
                .run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth");
            assert_eq!(fits, true, "{name}-{look} is wider than the screen");
            nothing_is_beyond_the_edge(&browser, &format!("{name}-{look}"));
            browser.run(&axe);
            let found = browser.run_later("axe.run({ resultTypes: ['violations'] }).then(r => done(r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).slice(0, 3).join(' | '))))");
            assert_eq!(found, json!([]), "{name}-{look}");
        }
    }
    long_names(&browser, &base);
    // The browser blocked nothing, and no injected script tried to run.
    let mut said = browser.log();
    // Recommendations of the browser are not errors.
    let is_missing = |entry: &Value| {
        entry["message"].as_str().is_some_and(|said| said.contains("/admin/none") && said.contains("404"))
    };
    said.retain(|entry| entry["level"] != "DEBUG" && !is_missing(entry));
    assert!(said.is_empty(), "{said:?}");
}

/// Asserts that each row is visible without horizontal scrolling, that each value carries its column's name,
/// and that the navigation keeps a distance from the edges.
fn nothing_is_beyond_the_edge(browser: &Browser, name: &str) {
    const BEYOND: &str = "const wide = document.documentElement.clientWidth, found = []; \
        for (const region of document.querySelectorAll('.wide')) \
          if (region.scrollWidth > region.clientWidth) found.push('scrolls: ' + region.ariaLabel); \
        for (const e of document.querySelectorAll('caption, thead th, tbody th, tbody td, td p, .cut, svg')) { \
          const box = e.getBoundingClientRect(); \
          if (box.width && (box.left < 0 || box.right > wide)) found.push('beyond: ' + e.outerHTML.slice(0, 90)); \
          if (e.matches('caption, thead th, tbody td, td p') && e.scrollWidth > e.clientWidth + 1) found.push('cut: ' + e.outerHTML.slice(0, 90)); } \
        for (const table of document.querySelectorAll('.cards')) { \
          const heads = [...table.querySelectorAll('thead th')], shown = heads[0].getClientRects().length > 0; \
          for (const row of table.querySelectorAll('tbody tr')) [...row.children].forEach((cell, at) => { \
            if (cell.dataset.name !== heads[at].textContent) found.push('no name: ' + cell.outerHTML.slice(0, 90)); \
            const label = getComputedStyle(cell, '::before').content; \
            if (!shown && label !== JSON.stringify(cell.dataset.name)) found.push('no label: ' + label); }); } \
        const pills = [...document.querySelectorAll('nav a')].map(a => a.getBoundingClientRect()); \
        if (pills.some(pill => pill.left < 8 || pill.right > wide - 8)) found.push('the navigation touches the edge'); \
        return found";
    assert_eq!(browser.run(BEYOND), json!([]), "{name}");
}

/// Asserts that untrusted names of 500 characters do not break the layout of any page at any size.
fn long_names(browser: &Browser, base: &str) {
    const NAMES: &str = "document.querySelectorAll('.cut, tbody th, .card h2, td.mono, td p, .state, .mistake, code').forEach(e => { \
         const t = e.querySelector('.cut') || e; if (t.textContent && !t.querySelector('*')) t.textContent = 'M'.repeat(500); })";
    for width in [320, 375, 768, 1024, 1248, 1249, 1280, 1920] {
        browser.looks("light", width);
        for (name, path) in [
            ("overview", "/admin"),
            ("audit", "/admin/audit"),
            ("denied", "/admin/audit?denied=on"),
            ("plugins", "/admin/plugins"),
            ("usage", "/admin/usage"),
        ] {
            browser.open(&format!("{base}{path}"));
            // The navigation fits on one line, and a path wraps over a few lines.
            let lines = "const t = [...document.querySelectorAll('nav a')].map(a => a.getBoundingClientRect().top); return Math.max(...t) - Math.min(...t)";
            assert_eq!(browser.run(lines), 0, "{name} at {width}: the navigation breaks");
            let folders = "return [...document.querySelectorAll('td.mono')].every(e => !e.textContent || e.getBoundingClientRect().width >= 150)";
            assert_eq!(browser.run(folders), true, "{name} at {width}: folders are broken into pieces");
            browser.run(NAMES);
            browser.screenshot(&screens().join(format!("{name}-long-{width}.png")));
            nothing_is_beyond_the_edge(browser, &format!("{name} with long names at {width}"));
            let fits = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]";
            let found = browser.run(fits);
            assert!(found[0].as_u64() <= found[1].as_u64(), "{name} at {width}: {found}");
            let widest = "return Math.max(0, ...[...document.querySelectorAll('.wide table')].map(t => t.scrollWidth))";
            let widest = browser.run(widest);
            assert!(
                widest.as_u64().is_some_and(|widest| widest <= 2000),
                "{name} at {width}: a table of {widest} px"
            );
            let hidden = "return [...document.querySelectorAll('.cut')].filter(e => e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1).map(e => e.outerHTML.slice(0, 90))";
            if width < 1248 {
                assert_eq!(browser.run(hidden), json!([]), "{name} at {width}: names are shown as a whole");
            }
            let cut = "return [...document.querySelectorAll('.cut')].every(e => !e.textContent || e.title.length > 0)";
            assert_eq!(browser.run(cut), true, "{name}: what is cut has a title");
        }
    }
    browser.open(&format!("{base}/admin/login"));
    let gap = "const [l, i] = ['label', '#token'].map(s => document.querySelector(s).getBoundingClientRect()); return i.top - l.bottom";
    let gap = browser.run(gap);
    assert!(gap.as_f64().is_some_and(|gap| gap >= 4.0), "the label touches its field: {gap}");
}
