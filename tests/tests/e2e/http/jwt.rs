//! Tokens of an issuer: JWT, by keys in a file or at an address.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use scorpiox_tests::Program;
use scorpiox_tests::site::{Answer, Site};
use serde_json::{Value, json};

const ISSUER: &str = "https://login.example.com/realms/team";
const URL: &str = "https://mcp.example.com/mcp";

/// A key of an issuer.
struct Key {
    pair: Ed25519KeyPair,
    id: &'static str,
}

impl Key {
    fn new(id: &'static str) -> Self {
        let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        Self { pair: Ed25519KeyPair::from_pkcs8(pair.as_ref()).expect("a key"), id }
    }

    fn set(keys: &[&Self]) -> String {
        let public = |key: &&Self| {
            let x = URL_SAFE_NO_PAD.encode(key.pair.public_key());
            json!({ "kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": key.id, "x": x })
        };
        json!({ "keys": keys.iter().map(public).collect::<Vec<_>>() }).to_string()
    }

    /// A token for ann, which is good for an hour.
    fn token(&self, change: impl FnOnce(&mut Value)) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_secs();
        let mut claims =
            json!({ "iss": ISSUER, "aud": URL, "sub": "ann", "exp": now + 3600, "scope": "mcp" });
        change(&mut claims);
        let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", encoded(&json!({ "alg": "EdDSA", "kid": self.id })), encoded(&claims));
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(self.pair.sign(message.as_bytes())))
    }
}

fn program(keys: &str) -> Program {
    let program = Program::new();
    let policy = format!(
        "version = 1\n[http]\nurl = \"{URL}\"\n[http.auth]\nkind = \"jwt\"\nissuer = \"{ISSUER}\"\naudiences = [\"{URL}\", \
         \"api://mcp\"]\n{keys}\nscopes = [\"mcp\"]\ngroups_claim = \"groups\"\n[access.ops]\ngroups = [\"ops\"]\n\
         allow = [\"*\"]\n[access.all]\nallow = [\"TaskManager\"]\n"
    );
    program.put("home/.scorpiox/policy.toml", policy);
    program
}

fn in_file(program_of: impl FnOnce(&str) -> Program, key: &Key) -> Program {
    let folder = tempfile::tempdir().expect("a folder").keep();
    let path = dunce::canonicalize(folder).expect("a folder").join("jwks.json");
    std::fs::write(&path, Key::set(&[key])).expect("written");
    program_of(&format!("jwks_file = {}", json!(path)))
}

#[test]
fn a_good_token_is_let_in_and_no_other() {
    let key = Key::new("one");
    let program = in_file(program, &key);
    let server = program.serve_http(0);
    let status = |token: &str| server.shown(token).modern("server/discover", json!({})).status;
    assert_eq!(status(&key.token(|_| ())), 200);
    assert_eq!(status(&key.token(|claims| claims["aud"] = json!(["x", "api://mcp"]))), 200);
    for (name, value) in [
        ("aud", json!("https://other.example.com/mcp")),
        ("iss", json!("https://evil.example.com")),
        ("exp", json!(1_700_000_000)),
        ("nbf", json!(9_000_000_000_u64)),
        ("sub", Value::Null),
    ] {
        assert_eq!(status(&key.token(|claims| claims[name] = value.clone())), 401, "{name} {value}");
    }
    assert_eq!(status(&Key::new("one").token(|_| ())), 401, "another's key");
    let refused = server.shown("not.a.jwt").modern("server/discover", json!({}));
    let told = refused.header("www-authenticate").expect("a challenge");
    let document = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";
    assert!(
        told.contains("error=\"invalid_token\"")
            && told.contains(&format!("resource_metadata=\"{document}\"")),
        "{told}"
    );
    let few = server
        .shown(&key.token(|claims| claims["scope"] = json!("mail")))
        .modern("server/discover", json!({}));
    let told = few.header("www-authenticate").unwrap_or_default();
    assert!(
        few.status == 403 && told.contains("insufficient_scope") && told.contains("scope=\"mcp\""),
        "{few:?}"
    );
}

#[test]
fn who_has_no_token_is_told_where_to_get_one() {
    let program = in_file(program, &Key::new("one"));
    let server = program.serve_http(0);
    let asked = server.ask(&server.modern("server/discover", json!({})).without("Authorization"));
    let told = asked.header("www-authenticate").expect("a challenge");
    assert!(asked.status == 401 && told.contains("scope=\"mcp\"") && !told.contains("error="), "{told}");
    for path in ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"] {
        let document =
            server.ask(&server.post(&Value::Null).method("GET").body("").without("Authorization").path(path));
        assert_eq!(document.status, 200, "{document:?}");
        assert_eq!(
            document.json(),
            json!({
                "resource": URL,
                "authorization_servers": [ISSUER],
                "scopes_supported": ["mcp"],
                "bearer_methods_supported": ["header"],
                "resource_name": "scorpiox-code",
            })
        );
    }
    let other =
        server.post(&Value::Null).method("GET").body("").path("/.well-known/oauth-protected-resource/x");
    assert_eq!(server.ask(&other).status, 404);
    assert_eq!(server.ask(&other.path("/.well-known/openid-configuration")).status, 404);
}

#[test]
fn rules_see_the_groups_and_the_audit_who_called() {
    let key = Key::new("one");
    let program = in_file(program, &key);
    let mut server = program.serve_http(0);
    let plan = json!({ "name": "PlanMode", "arguments": { "action": "status" } });
    let (ann, op) = (key.token(|_| ()), key.token(|claims| claims["groups"] = json!(["dev", "ops"])));
    assert_eq!(server.shown(&ann).modern("tools/call", plan.clone()).status, 403);
    assert_eq!(server.shown(&op).modern("tools/call", plan).status, 200);
    server.end();
    let log = std::fs::read_to_string(program.home().join(".scorpiox/audit/audit.jsonl")).expect("an audit");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(lines.iter().all(|line| line["principal"] == "ann" && line["issuer"] == ISSUER), "{log}");
    let (status, shown, _) = program.run(&["audit", "--principal", "a*"]);
    assert!(status.success() && shown.contains(" ann "), "{shown}");
    assert!(!log.contains(&ann), "tokens are nobody's to read");
}

#[test]
fn a_session_gives_nobody_the_rights_of_another_token() {
    let key = Key::new("one");
    let program = in_file(program, &key);
    let server = program.serve_http(0);
    let (ann, op) = (key.token(|_| ()), key.token(|claims| claims["groups"] = json!(["ops"])));
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    let begin = server.post(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }));
    let plan = json!({ "name": "PlanMode", "arguments": { "action": "status" } });
    for (begins, goes_on) in [(&op, &ann), (&ann, &op)] {
        let begun = server.shown(begins).ask(begin.clone());
        let id = begun.header("mcp-session-id").expect("a session").to_owned();
        let call = server.in_session(&id, 1, "tools/call", &plan);
        assert_eq!(server.shown(goes_on).ask(call.clone()).status, 404, "it begins a session of its own");
        // Another token that is good for the same is the same.
        let again = key.token(|claims| {
            claims["jti"] = json!("again");
            if begins == &op {
                claims["groups"] = json!(["ops"]);
            }
        });
        assert_eq!(server.shown(&again).ask(call).status, if begins == &op { 200 } else { 403 });
    }
}

#[test]
fn a_good_token_is_let_in_whatever_others_of_its_address_show() {
    let key = Key::new("one");
    let program = in_file(program, &key);
    let server = program.serve_http(0);
    let bad = (0..80)
        .map(|number| server.shown(&format!("a.b.{number}")).modern("server/discover", json!({})).status);
    assert!(bad.collect::<Vec<_>>().contains(&429));
    assert_eq!(server.shown(&key.token(|_| ())).modern("server/discover", json!({})).status, 200);
    let none = server.ask(&server.modern("server/discover", json!({})).without("Authorization"));
    assert!(none.status == 401 && none.header("www-authenticate").is_some(), "{none:?}");
}

#[test]
fn new_keys_in_the_file_take_the_place_of_the_old_ones() {
    let (old, new) = (Key::new("old"), Key::new("new"));
    let program = in_file(program, &old);
    let server = program.serve_http(0);
    let status = |key: &Key| server.shown(&key.token(|_| ())).modern("server/discover", json!({})).status;
    assert_eq!((status(&old), status(&new)), (200, 401));
    let policy = std::fs::read_to_string(program.home().join(".scorpiox/policy.toml")).expect("a policy");
    let line = policy.lines().find_map(|line| line.strip_prefix("jwks_file = ")).expect("a line");
    let path: String = serde_json::from_str(line).expect("a path");
    let remembered = old.token(|claims| claims["jti"] = json!("remembered"));
    assert_eq!(server.shown(&remembered).modern("server/discover", json!({})).status, 200);
    std::fs::write(format!("{path}.new"), Key::set(&[&new])).expect("written");
    std::fs::rename(format!("{path}.new"), &path).expect("replaced");
    // Also where nothing else is shown meanwhile.
    assert_eq!(server.shown(&remembered).modern("server/discover", json!({})).status, 401);
    assert_eq!((status(&new), status(&old)), (200, 401));
    assert_eq!(
        server.shown(&remembered).modern("server/discover", json!({})).status,
        401,
        "its key was taken back"
    );
    // What cannot be read does not take their place, and lets nobody new in.
    std::fs::write(&path, "{").expect("written");
    assert_eq!((status(&new), status(&old)), (200, 401));
    // A set without keys takes all of them back.
    std::fs::write(&path, "{\"keys\":[]}").expect("written");
    let begun = Instant::now();
    while status(&new) != 401 {
        // A file that could not be read is not read again at once.
        assert!(begun.elapsed() < Duration::from_secs(10), "its keys stay good");
    }
    assert_eq!(status(&old), 401);
}

#[test]
fn keys_at_an_address_are_fetched_once_and_again_for_a_new_key() {
    let (old, new) = (Arc::new(Key::new("old")), Arc::new(Key::new("new")));
    let set = Arc::new(Mutex::new(Key::set(&[&old])));
    let served = Arc::clone(&set);
    let site = Site::start(move |_| Answer::of("application/json", served.lock().expect("a set").clone()));
    let program = program(&format!("jwks_url = \"{}\"", site.url("/certs")));
    let server = program.serve_http(0);
    let status = |key: &Key| server.shown(&key.token(|_| ())).modern("server/discover", json!({})).status;
    assert_eq!(site.count("/"), 0, "nothing is fetched that nobody needs");
    assert_eq!((status(&old), status(&old)), (200, 200));
    assert_eq!(site.count("/certs"), 1);
    // It was asked a moment ago: a stranger's key does not make it be asked for each request.
    *set.lock().expect("a set") = Key::set(&[&old, &new]);
    for _ in 0..5 {
        assert_eq!(status(&Key::new("stranger")), 401);
    }
    assert!(site.count("/certs") <= 2, "{}", site.count("/certs"));
}

#[test]
fn without_keys_nobody_is_let_in() {
    let key = Key::new("one");
    let site = Site::start(|_| Answer::html("no keys").status("500 Internal Server Error"));
    let program_of = program(&format!("jwks_url = \"{}\"", site.url("/certs")));
    let server = program_of.serve_http(0);
    let refused = server.shown(&key.token(|_| ())).modern("server/discover", json!({}));
    assert!(
        refused.status == 503
            && refused.body.contains("keys of the tokens' issuer")
            && !refused.body.contains("/certs"),
        "{refused:?}"
    );
    // A file that is missing is said at the start.
    let broken = program("jwks_file = \"/nowhere/jwks.json\"");
    let (status, _, said) = broken.run(&["serve", "--http", "127.0.0.1:0"]);
    assert!(!status.success() && said.contains("/nowhere/jwks.json"), "{said}");
}

#[test]
fn what_is_listened_to_ends_with_the_token() {
    let key = Key::new("one");
    let program = Program::new();
    let folder = tempfile::tempdir().expect("a folder");
    let path = dunce::canonicalize(folder.path()).expect("a folder").join("jwks.json");
    std::fs::write(&path, Key::set(&[&key])).expect("written");
    let policy = format!(
        "version = 1\n[http]\nurl = \"{URL}\"\n[http.auth]\nkind = \"jwt\"\nissuer = \"{ISSUER}\"\naudiences = [\"{URL}\"]\njwks_file = {}\n\
         clock_skew = 0\n",
        json!(path)
    );
    program.put("home/.scorpiox/policy.toml", policy);
    let server = program.serve_http(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_secs();
    let token = key.token(|claims| claims["exp"] = json!(now + 3));
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    let listen =
        server.modern("subscriptions/listen", listen).with("Authorization", &format!("Bearer {token}"));
    let mut listening = server.connect();
    listening.send(&listen.bytes());
    assert_eq!(listening.head().status, 200);
    let begun = Instant::now();
    while listening.event().is_some() {}
    let took = begun.elapsed();
    assert!((Duration::from_millis(500)..Duration::from_secs(10)).contains(&took), "{took:?}");
    assert_eq!(server.shown(&token).modern("server/discover", json!({})).status, 401);
}
