//! Pulls from well-behaved and misbehaving registries.

#![allow(clippy::unwrap_used, missing_docs, unreachable_pub, dead_code)]

mod bed;
mod served;

use std::io::Write as _;
use std::net::TcpStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bed::{BASIC, COMPONENT, Named, OPEN, Of, address, courier, fetched, fetched_with, refused, short};
use scorpiox_oci_registry::{Address, Kind, NoCredentials, Patience, fetch, fetch_file};
use serde_json::json;
use served::{Login, MANIFEST, Served, descriptor, digest, redirect, reply};

const BLOBS: &str = "GET /v2/acme/echo/blobs/";
const TAG: &str = "GET /v2/acme/echo/manifests/1.0.0";

/// Starts a registry with one component.
fn with_component() -> (Served, String) {
    let served = Served::start();
    let manifest = served.put_component("acme/echo", "1.0.0", COMPONENT);
    (served, manifest)
}

#[test]
fn a_component_arrives_with_the_digest_of_its_bytes() {
    let (served, manifest) = with_component();
    let found = fetched(&served.oci("acme/echo:1.0.0")).unwrap();
    assert_eq!((found.bytes.as_slice(), found.kind, found.others), (COMPONENT, Kind::Wasm, 0));
    assert_eq!(found.digest.as_str(), digest(COMPONENT));
    let pinned = served.oci(&format!("acme/echo@{manifest}"));
    assert_eq!(found.pinned.as_deref(), Some(&*pinned));
    assert!(found.signatures.is_empty());
    assert_eq!(fetched(&pinned).unwrap().bytes, COMPONENT);
    assert!(served.asked("").iter().all(|asked| asked.method == "GET"), "nothing is changed");
}

#[test]
fn a_tag_is_looked_up_once_and_what_it_was_stays_reachable_when_it_moves() {
    let (served, manifest) = with_component();
    let (moving, other) = (served.clone(), b"\0asm\x0d\0\x01\0 another".as_slice());
    // The tag moves to another component during the download of the first one.
    let first = served.asked("").len();
    served.answer(BLOBS, move |asked, stream| {
        moving.put_component("acme/echo", "1.0.0", other);
        let body = if asked.target.ends_with(&digest(COMPONENT)) { COMPONENT } else { other };
        reply(stream, "200 OK", body);
    });
    let found = fetched(&served.oci("acme/echo:1.0.0")).unwrap();
    assert_eq!(found.bytes, COMPONENT);
    assert_eq!((served.asked(TAG).len(), first), (1, 0));
    let again = fetched(&served.oci("acme/echo:1.0.0")).unwrap();
    assert_eq!(again.bytes, other);
    assert_ne!(again.pinned, found.pinned);
    assert_eq!(fetched(&found.pinned.unwrap()).unwrap().bytes, COMPONENT, "{manifest}");
}

#[test]
fn what_has_another_digest_is_refused() {
    let (served, manifest) = with_component();
    served.answer(BLOBS, |_, stream| reply(stream, "200 OK", &[b'x'; COMPONENT.len()]));
    let said = refused(&served.oci("acme/echo:1.0.0"));
    assert!(said.contains("has the digest sha256:") && said.contains(&digest(COMPONENT)), "{said}");

    // The same holds for manifests. The digest in the server's header is not trusted.
    let other = served.put_layers("acme/other", "1", &[]);
    served.answer("GET /v2/acme/echo/manifests/sha256:", move |_, stream| {
        reply(stream, &format!("200 OK\r\nDocker-Content-Digest: {other}"), b"{}");
    });
    let said = refused(&served.oci(&format!("acme/echo@{manifest}")));
    assert!(said.contains(&format!("and not {manifest}")), "{said}");
}

#[test]
fn a_layer_that_is_too_large_is_not_asked_for() {
    let served = Served::start();
    let mut layer = descriptor("application/wasm", COMPONENT);
    layer["size"] = json!(1_u64 << 40);
    served.put_layers("acme/echo", "1.0.0", &[layer]);
    let said = refused(&served.oci("acme/echo:1.0.0"));
    assert!(said.contains("its layer has 1099511627776 bytes; the limit is 142606336"), "{said}");
    assert!(served.asked(BLOBS).is_empty());
}

#[test]
fn a_body_that_is_longer_than_its_manifest_says_is_cut_off() {
    let (served, _) = with_component();
    served.answer(BLOBS, |_, stream| reply(stream, "200 OK", &vec![b'x'; 1 << 20]));
    let said = refused(&served.oci("acme/echo:1.0.0"));
    let limit = format!("sent more than the {} bytes that its manifest says it has", COMPONENT.len());
    assert!(said.contains(&limit), "{said}");

    // An endless response without a declared length.
    served.answer(BLOBS, |_, stream| {
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        while stream.write_all(b"4\r\nxxxx\r\n").is_ok() {}
    });
    let begun = Instant::now();
    let said = refused(&served.oci("acme/echo:1.0.0"));
    assert!(said.contains(&limit) && begun.elapsed() < Duration::from_secs(20), "{said}");

    // A truncated response.
    served.answer(BLOBS, |_, stream| {
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\nabc", COMPONENT.len());
    });
    let said = refused(&served.oci("acme/echo:1.0.0"));
    assert!(said.contains("broke off"), "{said}");
}

#[test]
fn a_registry_that_keeps_somebody_waiting_is_left() {
    let (served, _) = with_component();
    let hurried = |served: &Served| {
        let address = bed::address(&served.oci("acme/echo:1.0.0"));
        fetch(&address, &courier(OPEN), &NoCredentials, short()).unwrap_err().to_string()
    };
    let drip = |stream: &mut TcpStream, pause: u64| {
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", COMPONENT.len());
        for byte in COMPONENT {
            if stream.write_all(&[*byte]).is_err() {
                return;
            }
            sleep(Duration::from_millis(pause));
        }
    };
    served.answer(BLOBS, move |_, stream| drip(stream, 5_000));
    let said = hurried(&served);
    assert!(said.contains("sent nothing for 0.4 s"), "{said}");
    served.answer(BLOBS, move |_, stream| drip(stream, 150));
    let said = hurried(&served);
    assert!(said.contains("was not done within 1.2 s"), "{said}");
}

#[test]
fn what_is_no_plugin_is_refused_with_what_it_is() {
    let served = Served::start();
    let wasm = descriptor("application/wasm", COMPONENT);
    served.put_layers("acme/echo", "two", &[wasm.clone(), wasm]);
    let said = refused(&served.oci("acme/echo:two"));
    assert!(said.contains("is no plugin: its manifest has 2 layers with WebAssembly"), "{said}");
    served.put_layers(
        "acme/echo",
        "image",
        &[descriptor("application/vnd.oci.image.layer.v1.tar+gzip", b"x")],
    );
    let said = refused(&served.oci("acme/echo:image"));
    assert!(said.contains("none of its layers is application/wasm"), "{said}");
    served.answer("GET /v2/acme/echo/manifests/page", |_, stream| {
        reply(stream, "200 OK\r\nContent-Type: text/html", b"<!doctype html><title>Hello</title>");
    });
    let said = refused(&served.oci("acme/echo:page"));
    assert!(said.contains("the server sent text/html, which is no manifest"), "{said}");
    served.answer("GET /v2/acme/echo/manifests/huge", |_, stream| {
        reply(stream, "200 OK", &vec![b' '; 300 * 1024]);
    });
    let said = refused(&served.oci("acme/echo:huge"));
    assert!(said.contains("sent more than the 262144 bytes that a manifest may have"), "{said}");
    let said = refused(&served.oci("acme/echo:absent"));
    assert!(said.contains("acme/echo:absent does not exist: manifest unknown"), "{said}");
    assert!(served.asked("GET /v2/acme/echo/blobs").is_empty());
}

#[test]
fn an_index_leads_to_its_manifest_for_wasm() {
    let (served, manifest) = with_component();
    let entry = |architecture: &str, digest: &str| {
        let platform = json!({ "architecture": architecture, "os": "wasip2" });
        json!({ "mediaType": MANIFEST, "digest": digest, "size": 1, "platform": platform })
    };
    let index = |entries: serde_json::Value| json!({ "schemaVersion": 2, "manifests": entries }).to_string();
    let put = |tag: &str, entries| {
        let kind = "application/vnd.oci.image.index.v1+json";
        served.put_manifest("acme/echo", tag, kind, index(entries).as_bytes())
    };
    let own = put("index", json!([entry("amd64", &digest(b"1")), entry("wasm", &manifest)]));
    let found = fetched(&served.oci("acme/echo:index")).unwrap();
    assert_eq!(found.pinned, Some(served.oci(&format!("acme/echo@{manifest}"))));
    put("nested", json!([entry("wasm", &own)]));
    assert!(refused(&served.oci("acme/echo:nested")).contains("its index names another index"));
    put("amd64", json!([entry("amd64", &manifest), entry("arm64", &manifest)]));
    assert!(refused(&served.oci("acme/echo:amd64")).contains("none is for the architecture wasm"));
}

#[test]
fn blobs_of_another_host_are_fetched_without_what_authorizes() {
    let (served, _) = with_component();
    let (store, basic) = (Served::start(), Some(BASIC.to_owned()));
    store.answer("GET /store/", |_, stream| reply(stream, "200 OK", COMPONENT));
    served.login(Login::Token { realm: served.realm(), basic });
    let to = format!("http://{}/store/1?sig=x", store.address);
    served.answer(BLOBS, move |_, stream| redirect(stream, &to));
    let keyring = Of(served.address.to_string());
    let found = fetched_with(OPEN, &keyring, &served.oci("acme/echo:1.0.0")).unwrap();
    assert_eq!(found.bytes, COMPONENT);
    // The registry received the authorization, and the other host did not.
    assert!(served.asked(BLOBS)[0].headers["authorization"].starts_with("Bearer "));
    let asked = store.asked("");
    assert!(asked.len() == 1 && !asked[0].headers.contains_key("authorization"), "{asked:?}");
}

#[test]
fn a_redirect_goes_where_the_policy_lets_it() {
    let (served, _) = with_component();
    served.answer(BLOBS, |_, stream| redirect(stream, "http://127.0.0.2:9/"));
    let said = refused(&served.oci("acme/echo:1.0.0"));
    assert!(said.contains("127.0.0.2 is") && said.contains("which is refused"), "{said}");
    let store = Served::start();
    let to = format!("http://{}/", store.address);
    served.answer(BLOBS, move |_, stream| redirect(stream, &to));
    let closed = format!("{OPEN}\nredirects = \"same-host\"");
    let said = fetched_with(&closed, &NoCredentials, &served.oci("acme/echo:1.0.0")).unwrap_err();
    assert!(said.contains("`redirects` in [web] (policy.toml line 4) does not allow"), "{said}");
    assert!(store.asked("").is_empty());
    served.answer(BLOBS, |asked, stream| redirect(stream, &asked.target));
    let said = refused(&served.oci("acme/echo:1.0.0"));
    assert!(said.contains("redirects more than 5 times"), "{said}");
    for policy in ["enabled = false", "deny = [\"127.0.0.1\"]", ""] {
        let said = fetched_with(policy, &NoCredentials, &served.oci("acme/echo:1.0.0")).unwrap_err();
        assert!(said.contains("[web]"), "{policy}: {said}");
    }
}

#[test]
fn a_token_is_asked_for_once_and_for_no_more_than_is_needed() {
    let (served, _) = with_component();
    served.login(Login::Token { realm: served.realm(), basic: None });
    assert_eq!(fetched(&served.oci("acme/echo:1.0.0")).unwrap().bytes, COMPONENT);
    let tokens = served.asked("GET /token");
    assert_eq!(tokens.len(), 1);
    assert_eq!(tokens[0].target, "/token?service=test&scope=repository%3Aacme%2Fecho%3Apull");

    // A rejected token does not trigger a request for another one.
    served.answer("GET /token", |_, stream| reply(stream, "200 OK", br#"{"access_token":"other"}"#));
    let before = served.asked("").len();
    let said = refused(&served.oci("acme/echo:1.0.0"));
    assert!(said.contains("refuses access") && said.contains("there are no credentials"), "{said}");
    assert_eq!(served.asked("").len() - before, 3);
    for answer in ["{}", "<html>", "{\"token\":\"a\\nb\"}"] {
        served.answer("GET /token", move |_, stream| reply(stream, "200 OK", answer.as_bytes()));
        assert!(refused(&served.oci("acme/echo:1.0.0")).contains("sent no token"), "{answer}");
    }
    served.answer("GET /token", |_, stream| reply(stream, "200 OK", &vec![b'x'; 1 << 20]));
    assert!(
        refused(&served.oci("acme/echo:1.0.0")).contains("more than the 65536 bytes that tokens may have")
    );
}

#[test]
fn tokens_come_from_the_registry_s_own_domain_or_a_host_that_the_policy_names() {
    let (served, _) = with_component();
    for (realm, why) in [
        ("https://auth.example.com/token", "tokens would come from auth.example.com, which is neither"),
        ("http://127.0.0.2:9/token", "tokens would come from 127.0.0.2, which is neither"),
        ("http://auth.example.com/token", "which is not https"),
        ("file:///etc/passwd", "which is not https"),
        ("https://me:secret@127.0.0.1/token", "user name"),
        ("/token", "is no address"),
    ] {
        served.login(Login::Token { realm: realm.to_owned(), basic: None });
        let said = refused(&served.oci("acme/echo:1.0.0"));
        assert!(said.contains("asks for a login that is refused") && said.contains(why), "{realm}: {said}");
    }
    // With a matching policy, the token server is asked; whether it answers is a different matter.
    let named = format!("{OPEN}\nallow = [\"127.0.0.1:{}\", \"127.0.0.2:9\"]", served.address.port());
    served.login(Login::Token { realm: "http://127.0.0.2:9/token".to_owned(), basic: None });
    let said = fetched_with(&named, &NoCredentials, &served.oci("acme/echo:1.0.0")).unwrap_err();
    assert!(said.contains("the token for") && said.contains("127.0.0.2 is"), "{said}");
    served.answer("GET /v2/", |_, stream| {
        reply(stream, "401 Unauthorized\r\nWWW-Authenticate: Negotiate", b"");
    });
    assert!(refused(&served.oci("acme/echo:1.0.0")).contains("none that is known"));
}

#[test]
fn credentials_go_to_the_registry_s_own_token_server_or_the_one_that_is_named_beside_them() {
    let (served, _) = with_component();
    let tokens = Served::start();
    tokens.login(Login::Token { realm: tokens.realm(), basic: Some(BASIC.to_owned()) });
    served.login(Login::Token { realm: tokens.realm(), basic: None });
    let named = |token_host: Option<&str>| Named(served.address.to_string(), token_host.map(str::to_owned));
    // Neither the same machine nor the policy's permission is sufficient.
    let policy = format!(
        "{OPEN}\nallow = [\"127.0.0.1:{}\", \"127.0.0.1:{}\"]",
        served.address.port(),
        tokens.address.port()
    );
    for other in [None, Some("127.0.0.1"), Some("127.0.0.1:9"), Some("localhost")] {
        let said = fetched_with(&policy, &named(other), &served.oci("acme/echo:1.0.0")).unwrap_err();
        let line =
            format!("`token_host = \"{}\"` in [plugins.registries.\"{}\"]", tokens.address, served.address);
        assert!(said.contains("your credentials would go to") && said.contains(&line), "{said}");
    }
    assert!(tokens.asked("").is_empty());
    let own = tokens.address.to_string();
    assert_eq!(
        fetched_with(OPEN, &named(Some(&own)), &served.oci("acme/echo:1.0.0")).unwrap().bytes,
        COMPONENT
    );
    let asked = tokens.asked("GET /token");
    assert_eq!(asked[0].headers["authorization"], format!("Basic {BASIC}"));
    // Anonymous requests still go to the token server.
    tokens.login(Login::Token { realm: tokens.realm(), basic: None });
    assert!(fetched(&served.oci("acme/echo:1.0.0")).is_ok());
    assert!(!tokens.asked("GET /token").last().unwrap().headers.contains_key("authorization"));
}

#[test]
fn a_redirect_passes_the_lists_of_the_policy_and_takes_no_credentials_along() {
    let (served, _) = with_component();
    let store = Served::start();
    let at = store.put_blob(COMPONENT);
    let to = format!("http://localhost:{}/v2/x/blobs/{at}", store.address.port());
    served.answer(BLOBS, move |_, stream| redirect(stream, &to));
    served.login(Login::Basic(BASIC.to_owned()));
    let own = Of(served.address.to_string());
    let private = "allow_private = [\"127.0.0.1/32\", \"::1/128\"]";
    let (from, port) = (served.address, store.address.port());
    for (lists, line) in [
        (format!("allow = [\"{from}\"]"), "allow"),
        (format!("deny = [\"localhost:{port}\"]"), "deny"),
        ("redirects = \"same-host\"".to_owned(), "redirects"),
    ] {
        let policy = format!("{private}\n{lists}");
        let said = fetched_with(&policy, &own, &served.oci("acme/echo:1.0.0")).unwrap_err();
        assert!(
            said.contains("localhost") && said.contains(line) && said.contains("[web]"),
            "{lists}: {said}"
        );
        assert!(store.asked("").is_empty(), "{lists}");
    }
    let policy = format!("{private}\nallow = [\"{from}\", \"localhost:{port}\"]");
    assert_eq!(fetched_with(&policy, &own, &served.oci("acme/echo:1.0.0")).unwrap().bytes, COMPONENT);
    let asked = store.asked("GET");
    assert!(asked.len() == 1 && !asked[0].headers.contains_key("authorization"), "{asked:?}");
}

#[test]
fn credentials_go_to_their_registry_alone() {
    let (served, _) = with_component();
    served.login(Login::Basic(BASIC.to_owned()));
    let own = Of(served.address.to_string());
    assert!(fetched_with(OPEN, &own, &served.oci("acme/echo:1.0.0")).is_ok());
    let other = Of("registry.example.com".to_owned());
    let before = served.asked("").len();
    let said = fetched_with(OPEN, &other, &served.oci("acme/echo:1.0.0")).unwrap_err();
    assert!(said.contains("there are no credentials for 127.0.0.1"), "{said}");
    let asked = served.asked("").split_off(before);
    assert!(asked.iter().all(|asked| !asked.headers.contains_key("authorization")), "{asked:?}");

    served.login(Login::Token { realm: served.realm(), basic: Some("other".to_owned()) });
    let said = fetched_with(OPEN, &own, &served.oci("acme/echo:1.0.0")).unwrap_err();
    assert!(said.contains("are not accepted") && !said.contains("secret") && !said.contains(BASIC), "{said}");
}

#[test]
fn a_store_of_blobs_cannot_ask_for_credentials() {
    let (served, _) = with_component();
    let store = Served::start();
    store.login(Login::Basic(BASIC.to_owned()));
    let to = format!("http://{}/v2/x", store.address);
    served.answer(BLOBS, move |_, stream| redirect(stream, &to));
    let own = Of(served.address.to_string());
    let said = fetched_with(OPEN, &own, &served.oci("acme/echo:1.0.0")).unwrap_err();
    assert!(said.contains("the server answered 401"), "{said}");
    assert!(store.asked("").iter().all(|asked| !asked.headers.contains_key("authorization")));
}

#[test]
fn a_file_comes_from_its_address_with_the_signature_beside_it() {
    let served = Served::start();
    let url = format!("http://{}/x/echo.wasm", served.address);
    served.answer("GET /x/echo.wasm", |_, stream| reply(stream, "200 OK", COMPONENT));
    served.answer("GET /x/echo.wasm.minisig", |_, stream| {
        reply(stream, "200 OK", b"untrusted comment: x\n");
    });
    let found = fetched(&url).unwrap();
    assert_eq!((found.bytes.as_slice(), found.kind, found.pinned), (COMPONENT, Kind::Wasm, None));
    assert_eq!(found.signatures, ["untrusted comment: x\n"]);
    assert_eq!(found.digest.as_str(), digest(COMPONENT));
    // Invalid signature files are ignored.
    for (status, body) in
        [("404 Not Found", "x"), ("403 Forbidden", "x"), ("200 OK", "<html>"), ("200 OK", &*"x".repeat(9000))]
    {
        let body = body.to_owned();
        served.answer("GET /x/echo.wasm.minisig", move |_, stream| reply(stream, status, body.as_bytes()));
        assert!(fetched(&url).unwrap().signatures.is_empty(), "{status}");
    }
    // A failed lookup is an error.
    served.answer("GET /x/echo.wasm.minisig", |_, stream| reply(stream, "500 Oh", b""));
    assert!(refused(&url).contains("echo.wasm.minisig: the server answered 500"));
    assert!(
        refused(&format!("http://{}/absent.wasm", served.address)).contains("absent.wasm does not exist")
    );
    served.answer("GET /large.wasm", |_, stream| {
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n");
    });
    let said = refused(&format!("http://{}/large.wasm", served.address));
    assert!(said.contains("sent more than the 142606336 bytes that a plugin may have"), "{said}");
}

#[test]
fn a_pack_is_a_layer_of_its_own_type() {
    let served = Served::start();
    served.put_blob(b"plugin.toml");
    served.put_layers(
        "acme/echo",
        "1",
        &[descriptor("application/vnd.scorpiox.plugin.v1+tar", b"plugin.toml")],
    );
    let found =
        fetch(&bed::address(&served.oci("acme/echo:1")), &courier(OPEN), &NoCredentials, Patience::default());
    assert_eq!(found.unwrap().kind, Kind::Pack);
}

#[test]
fn a_file_alone_comes_within_its_bound_and_nothing_beside_it_is_asked_for() {
    let served = Served::start();
    served.answer("GET /team/index.json", |_, stream| reply(stream, "200 OK", b"{\"version\": 1}"));
    let get = |path: &str, limit| {
        let Address::File(file) = address(&format!("http://{}{path}", served.address)) else {
            panic!("a file")
        };
        fetch_file(&file, &courier(OPEN), limit, Patience::default()).map_err(|error| error.to_string())
    };
    assert_eq!(get("/team/index.json", 100).unwrap(), b"{\"version\": 1}");
    assert_eq!(served.asked("").len(), 1);
    let large = get("/team/index.json", 10).unwrap_err();
    assert!(large.contains("more than the 10 bytes"), "{large}");
    let absent = get("/team/none.json", 100).unwrap_err();
    assert!(absent.contains("none.json does not exist"), "{absent}");
}
