//! Tests of JWTs from an issuer, with keys from a file or from a URL.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use scorpiox_tests::Program;
use scorpiox_tests::site::{Answer, Site};
use serde_json::{Value, json};
use sha2::Digest as _;

const ISSUER: &str = "https://login.example.com/realms/team";
const URL: &str = "https://mcp.example.com/mcp";

/// Signing key of an issuer.
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

    /// Returns a token for ann that is valid for an hour.
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
        ("sub", json!("approver:ann")),
        ("sub", json!("Approver:ann")),
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
    let odd = server.modern("server/discover", json!({})).path("/w/x\",error=\"none\",y=\"/mcp");
    let told = server.ask(&odd).header("www-authenticate").unwrap_or_default().to_owned();
    assert!(told.contains("/w/x%22,error=%22none%22,y=%22/mcp\""), "the path ends no value: {told}");
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
        // Another token with the same permissions may continue the session.
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
    // The cached token becomes invalid even if no token with another key is presented in between.
    assert_eq!(server.shown(&remembered).modern("server/discover", json!({})).status, 401);
    assert_eq!((status(&new), status(&old)), (200, 401));
    assert_eq!(
        server.shown(&remembered).modern("server/discover", json!({})).status,
        401,
        "its key was taken back"
    );
    // An unreadable file does not replace the current keys, and a token of an unknown key is refused.
    std::fs::write(&path, "{").expect("written");
    assert_eq!((status(&new), status(&old)), (200, 401));
    // A set without keys revokes all keys.
    std::fs::write(&path, "{\"keys\":[]}").expect("written");
    let begun = Instant::now();
    while status(&new) != 401 {
        // After a failed read, the file is not read again immediately.
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
    // The keys were fetched recently: a token of an unknown key does not trigger a fetch for each request.
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
    // A missing key file is reported at startup.
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

#[test]
fn what_is_listened_to_ends_when_the_key_of_its_token_is_withdrawn() {
    let (old, new) = (Key::new("old"), Key::new("new"));
    let program = in_file(program, &old);
    let policy = std::fs::read_to_string(program.home().join(".scorpiox/policy.toml")).expect("a policy");
    let line = policy.lines().find_map(|line| line.strip_prefix("jwks_file = ")).expect("a line");
    let path: String = serde_json::from_str(line).expect("a path");
    let server = program.serve_http(0);
    let put = |keys: &[&Key]| {
        std::fs::write(format!("{path}.new"), Key::set(keys)).expect("written");
        std::fs::rename(format!("{path}.new"), &path).expect("replaced");
    };
    let listen = |key: &Key| {
        let token = key.token(|_| ());
        let params = json!({ "notifications": { "toolsListChanged": true } });
        let request =
            server.modern("subscriptions/listen", params).with("Authorization", &format!("Bearer {token}"));
        let mut listening = server.connect();
        listening.send(&request.bytes());
        assert_eq!(listening.head().status, 200);
        listening
    };
    let withdrawn = listen(&old);
    put(&[&old, &new]);
    let mut stays = listen(&new);
    put(&[&new]);
    let begun = Instant::now();
    let mut withdrawn = withdrawn;
    while withdrawn.event().is_some() {}
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert!(!stays.is_closed_within(Duration::from_secs(1)), "its key is there");
}

/// Creates a policy with two named issuers, each with its own key, and a static token.
fn of_two(team: &Key, partner: &Key) -> Program {
    let folder = tempfile::tempdir().expect("a folder").keep();
    let folder = dunce::canonicalize(folder).expect("a folder");
    let file = |name: &str, key: &Key| {
        let path = folder.join(name);
        std::fs::write(&path, Key::set(&[key])).expect("written");
        json!(path)
    };
    let hash: String = sha2::Sha256::digest(TOKEN).iter().map(|byte| format!("{byte:02x}")).collect();
    let program = Program::new();
    let policy = format!(
        "version = 1\n[http]\nurl = \"{URL}\"\n[http.auth]\nkind = \"jwt\"\n\
         [http.auth.issuers.team]\nissuer = \"{ISSUER}\"\naudiences = [\"{URL}\"]\njwks_file = {}\ngroups_claim = \"groups\"\n\
         name_claim = \"name\"\n\
         [http.auth.issuers.partner]\nissuer = \"{PARTNER}\"\naudiences = [\"api://partner\"]\njwks_file = {}\n\
         groups_claim = \"groups\"\nscopes = [\"mcp\"]\n\
         [http.auth.tokens.ann]\nsha256 = \"{hash}\"\n\
         [access.ops]\ngroups = [\"team:ops\"]\nallow = [\"*\"]\n[access.ann]\nprincipals = [\"team:ann\"]\nallow = [\"TaskManager\"]\n\
         [access.runners]\nscopes = [\"team:run\"]\nallow = [\"SetCallback\"]\n[access.all]\nallow = [\"PlanMode\"]\n",
        file("team.json", team),
        file("partner.json", partner),
    );
    program.put("home/.scorpiox/policy.toml", policy);
    program
}

const PARTNER: &str = "https://id.example.org";
/// Static token in addition to the issuers.
const TOKEN: &str = "token-of-the-team-0123456789";

#[test]
fn of_several_issuers_each_vouches_for_its_own_subjects_alone() {
    let (team, partner) = (Key::new("one"), Key::new("one"));
    let program = of_two(&team, &partner);
    let mut server = program.serve_http(0);
    let call = |token: &str, tool: &str| {
        let arguments =
            if tool == "TaskManager" { json!({ "action": "list" }) } else { json!({ "action": "status" }) };
        server.shown(token).modern("tools/call", json!({ "name": tool, "arguments": arguments })).status
    };
    let ours = |change: fn(&mut Value)| team.token(change);
    let theirs = |change: fn(&mut Value)| {
        partner.token(|claims| {
            claims["iss"] = json!(PARTNER);
            claims["aud"] = json!("api://partner");
            change(claims);
        })
    };
    // The same subject and the same `kid` denote a different principal under another issuer.
    assert_eq!((call(&ours(|_| ()), "TaskManager"), call(&theirs(|_| ()), "TaskManager")), (200, 403));
    assert_eq!((call(&ours(|_| ()), "PlanMode"), call(&theirs(|_| ()), "PlanMode")), (200, 200));
    assert_eq!(call(TOKEN, "TaskManager"), 403, "a token ann is neither of them");
    assert_eq!(call(TOKEN, "PlanMode"), 200);
    // A subject, group or scope that contains another issuer's name gains nothing.
    for token in [
        theirs(|claims| claims["sub"] = json!("team:ann")),
        theirs(|claims| claims["groups"] = json!(["ops", "team:ops"])),
        theirs(|claims| claims["scope"] = json!("mcp run team:run")),
    ] {
        assert_eq!(
            (call(&token, "TaskManager"), call(&token, "SetCallback"), call(&token, "PlanMode")),
            (403, 403, 200)
        );
    }
    assert_eq!(
        call(
            &ours(|claims| {
                claims["sub"] = json!("bob");
                claims["groups"] = json!(["ops"])
            }),
            "TaskManager"
        ),
        200
    );
    // A key of one issuer cannot sign for the other, regardless of the audience.
    for token in [
        partner.token(|_| ()),
        partner.token(|claims| claims["aud"] = json!([URL, "api://partner"])),
        team.token(|claims| {
            claims["iss"] = json!(PARTNER);
            claims["aud"] = json!("api://partner")
        }),
        team.token(|claims| claims["aud"] = json!("api://partner")),
        theirs(|claims| claims["aud"] = json!(URL)),
        theirs(|claims| claims["iss"] = json!("https://id.example.org/")),
        theirs(|claims| claims["iss"] = json!(["https://id.example.org"])),
        theirs(|claims| claims["iss"] = Value::Null),
    ] {
        assert_eq!(call(&token, "PlanMode"), 401, "{token}");
    }
    // Each issuer requires its own scopes.
    let lacks =
        server.shown(&theirs(|claims| claims["scope"] = json!("x"))).modern("server/discover", json!({}));
    assert!(
        lacks.status == 403
            && lacks.header("www-authenticate").is_some_and(|told| told.contains("scope=\"mcp\"")),
        "{lacks:?}"
    );
    // The challenge names the scope as the issuer does, and only to callers of that issuer.
    let denied = |token: &str| {
        let call = json!({ "name": "SetCallback", "arguments": {} });
        let denied = server.shown(token).modern("tools/call", call);
        assert_eq!(denied.status, 403, "{denied:?}");
        denied.header("www-authenticate").unwrap_or_default().to_owned()
    };
    let told = denied(&ours(|_| ()));
    assert!(told.contains("insufficient_scope") && told.contains("scope=\"mcp run\""), "{told}");
    assert_eq!((denied(&theirs(|_| ())), denied(TOKEN)), (String::new(), String::new()));
    // Clients discover both issuers.
    let request = server
        .in_session("none", 1, "ping", &json!({}))
        .method("GET")
        .path("/.well-known/oauth-protected-resource/mcp")
        .body("");
    let document = server.ask(&request.without("Authorization"));
    assert_eq!(document.json()["authorization_servers"], json!([ISSUER, PARTNER]), "{document:?}");
    // The audit records the issuer and the name that the issuer gives to the principal.
    assert_eq!(call(&ours(|claims| claims["name"] = json!("Ann Smith")), "PlanMode"), 200);
    server.end();
    let audit =
        std::fs::read_to_string(program.home().join(".scorpiox/audit/audit.jsonl")).expect("an audit");
    let named = audit.lines().find(|line| line.contains("Ann Smith")).expect("a line");
    let named: Value = serde_json::from_str(named).expect("JSON");
    assert_eq!(
        (&named["principal"], &named["issuer"], &named["principal_name"]),
        (&json!("team:ann"), &json!(ISSUER), &json!("Ann Smith"))
    );
}

#[test]
fn a_session_of_one_issuer_is_not_there_for_another_and_a_bad_set_of_keys_stops_its_issuer_alone() {
    let (team, partner) = (Key::new("one"), Key::new("one"));
    let program = of_two(&team, &partner);
    let server = program.serve_http(0);
    let of_team = team.token(|_| ());
    let of_partner = || {
        partner.token(|claims| {
            claims["iss"] = json!(PARTNER);
            claims["aud"] = json!("api://partner");
            claims["jti"] = json!(format!("{:?}", Instant::now()));
        })
    };
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    let begin = server.post(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }));
    let begun = server.shown(&of_team).ask(begin);
    let id = begun.header("mcp-session-id").expect("a session").to_owned();
    let ping = server.in_session(&id, 1, "ping", &json!({}));
    for other in [&*of_partner(), TOKEN] {
        assert_eq!(server.shown(other).ask(ping.clone()).status, 404, "{other}");
    }
    assert_eq!(server.shown(&of_team).ask(ping.clone()).status, 200);
    // If two keys share a `kid`, the server does not guess which of them signed the token.
    let policy = std::fs::read_to_string(program.home().join(".scorpiox/policy.toml")).expect("a policy");
    let line = policy.lines().find(|line| line.contains("partner.json")).expect("a line");
    let path: String = serde_json::from_str(line.trim_start_matches("jwks_file = ")).expect("a path");
    std::fs::write(&path, Key::set(&[&partner, &team])).expect("written");
    let begun = Instant::now();
    while server.shown(&of_partner()).modern("server/discover", json!({})).status != 503 {
        // Keys that are already loaded stay valid for 10 s.
        assert!(begun.elapsed() < Duration::from_secs(60), "its keys stay good");
    }
    assert_eq!(server.shown(&of_team).ask(ping).status, 200);
    assert_eq!(server.shown(TOKEN).modern("server/discover", json!({})).status, 200);
}

#[test]
fn settings_of_issuers_are_checked_before_a_server_starts() {
    let program = of_two(&Key::new("one"), &Key::new("two"));
    let path = program.home().join(".scorpiox/policy.toml");
    let good = std::fs::read_to_string(&path).expect("a policy");
    let (status, out, err) = program.run(&["policy", "check"]);
    assert!(status.success() && !out.contains("no token has it"), "{out}{err}");
    let (_, shown, _) = program.run(&["policy", "show"]);
    assert!(shown.contains("http.auth.issuers") && shown.contains(PARTNER), "{shown}");
    for (from, to, told) in [
        (PARTNER, ISSUER, "have the same `issuer`"),
        ("partner.json", "team.json", "have the same `jwks_file`"),
        (
            "kind = \"jwt\"\n",
            "kind = \"jwt\"\nissuer = \"https://x.example.com\"\n",
            "stands beside [http.auth.issuers]",
        ),
    ] {
        std::fs::write(&path, good.replace(from, to)).expect("written");
        let (status, out, err) = program.run(&["policy", "check"]);
        assert!(!status.success() && format!("{out}{err}").contains(told), "{told}: {out}{err}");
    }
    // The error names a missing file when the server cannot start.
    std::fs::write(&path, good.replace("partner.json", "nowhere.json")).expect("written");
    for arguments in [&["doctor"][..], &["serve", "--http", "127.0.0.1:0"]] {
        let (status, out, err) = program.run(arguments);
        assert!(!status.success() && format!("{out}{err}").contains("nowhere.json"), "{out}{err}");
    }
}

/// External process that is killed when dropped.
struct Ends(std::process::Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Fetches the keys of an issuer whose certificate authority is not in the system's trust store.
#[cfg(unix)]
#[test]
fn an_authority_of_the_operators_own_vouches_for_the_address_of_keys() {
    const SERVES: &str = "import http.server,ssl,sys\nclass H(http.server.SimpleHTTPRequestHandler):\n  def log_message(*a): pass\n\
                          s=http.server.HTTPServer(('127.0.0.1',0),H)\nc=ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n\
                          c.load_cert_chain('certificate.pem','key.pem')\ns.socket=c.wrap_socket(s.socket,server_side=True)\n\
                          print(s.server_port,flush=True)\ns.serve_forever()";
    let key = Key::new("one");
    let folder = tempfile::tempdir().expect("a folder").keep();
    let folder = dunce::canonicalize(folder).expect("a folder");
    let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("written");
    let [made, other] = [(), ()]
        .map(|()| rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate"));
    put("certificate.pem", &made.cert.pem());
    put("other.pem", &other.cert.pem());
    put("key.pem", &made.signing_key.serialize_pem());
    put("empty.pem", "");
    put("jwks.json", &Key::set(&[&key]));
    let mut python = std::process::Command::new("python3");
    python
        .args(["-c", SERVES])
        .current_dir(&folder)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null());
    let mut serves = Ends(python.spawn().expect("python3"));
    let mut port = String::new();
    let output = serves.0.stdout.take().expect("its output");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut port).expect("a port");
    let at = format!("jwks_url = \"https://localhost:{}/jwks.json\"\n", port.trim());
    let status = |ca: &str| {
        let program = program(&format!("{at}{ca}"));
        let server = program.serve_http(0);
        server.shown(&key.token(|_| ())).modern("server/discover", json!({})).status
    };
    let ca = |name: &str| format!("ca = {}", json!(folder.join(name)));
    assert_eq!((status(&ca("certificate.pem")), status(&ca("other.pem")), status("")), (200, 503, 503));
    // An unusable file of authorities is reported at startup.
    for name in ["empty.pem", "nowhere.pem"] {
        let (status, _, said) =
            program(&format!("{at}{}", ca(name))).run(&["serve", "--http", "127.0.0.1:0"]);
        assert!(!status.success() && said.contains(name), "{said}");
    }
}
