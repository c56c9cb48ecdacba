//! Pushes to a registry, and pulls the result.

#![allow(clippy::unwrap_used, missing_docs, unreachable_pub, dead_code)]

mod bed;
mod served;

use bed::{BASIC, COMPONENT, OPEN, Of, address, courier, fetched_with};
use scorpiox_oci_registry::{Address, Annotations, Artifact, Pushed, RegistryError, push};
use serde_json::{Value, json};
use served::{Login, Served, digest, reply};

const SIGNATURE: &str = "untrusted comment: a signature\nRUQ\n";
const TYPE: &str = "application/vnd.scorpiox.minisign.v1";

fn pushed(served: &Served, bytes: &[u8], signature: Option<&str>) -> Result<Pushed, RegistryError> {
    let Address::Registry(reference) = address(&served.oci("acme/echo:1.0.0")) else { panic!("a reference") };
    let artifact = Artifact::Wasm {
        bytes,
        is_module: false,
        imports: vec!["wasi:clocks/wall-clock@0.2.0".to_owned()],
        exports: vec!["echo".to_owned()],
    };
    let annotations = Annotations(
        [("org.opencontainers.image.version".to_owned(), "1.0.0".to_owned())].into_iter().collect(),
    );
    let keyring = Of(served.address.to_string());
    push(&reference, &artifact, &annotations, signature, (&courier(OPEN), &keyring))
}

fn pulled(served: &Served, at: &str) -> scorpiox_oci_registry::Fetched {
    fetched_with(OPEN, &Of(served.address.to_string()), at).expect(at)
}

/// Returns the manifest that was stored under a tag.
fn manifest(served: &Served, tag: &str) -> Value {
    let put = served.asked(&format!("PUT /v2/acme/echo/manifests/{tag}"));
    serde_json::from_slice(&put.last().expect("a manifest").body).expect("JSON")
}

#[test]
fn a_component_is_pushed_in_the_layout_that_others_read() {
    let served = Served::start();
    let done = pushed(&served, COMPONENT, None).unwrap();
    assert_eq!(done.layer.as_str(), digest(COMPONENT));
    let found = pulled(&served, &done.pinned);
    assert_eq!(found.bytes, COMPONENT);
    assert_eq!(pulled(&served, &served.oci("acme/echo:1.0.0")).pinned, Some(done.pinned.clone()));
    let manifest = manifest(&served, "1.0.0");
    assert_eq!(manifest["config"]["mediaType"], "application/vnd.wasm.config.v0+json");
    assert_eq!(manifest["layers"][0]["mediaType"], "application/wasm");
    assert_eq!(manifest["annotations"]["org.opencontainers.image.version"], "1.0.0");
    let uploads = served.asked("PUT /v2/acme/echo/blobs/");
    let config: Value = serde_json::from_slice(&uploads[1].body).unwrap();
    assert_eq!(config["layerDigests"], json!([digest(COMPONENT)]));
    assert_eq!((&config["architecture"], &config["os"]), (&json!("wasm"), &json!("wasip2")));
    assert_eq!(config["component"]["imports"], json!(["wasi:clocks/wall-clock@0.2.0"]));

    // A repeated push has the same manifest and uploads nothing.
    assert_eq!(pushed(&served, COMPONENT, None).unwrap().pinned, done.pinned);
    assert_eq!(served.asked("PUT /v2/acme/echo/blobs/").len(), uploads.len());
}

#[test]
fn a_signature_is_found_where_the_registry_knows_referrers_and_where_it_does_not() {
    for served in [Served::start(), Served::without_referrers()] {
        let done = pushed(&served, COMPONENT, Some(SIGNATURE)).unwrap();
        assert!(done.is_signed);
        assert_eq!(pulled(&served, &done.pinned).signatures, [SIGNATURE]);
        // A repeated push does not duplicate the signature; another signature is added to it.
        pushed(&served, COMPONENT, Some(SIGNATURE)).unwrap();
        let other = SIGNATURE.replace("a signature", "another");
        pushed(&served, COMPONENT, Some(&other)).unwrap();
        let mut found = pulled(&served, &done.pinned).signatures;
        found.sort();
        assert_eq!(found, [SIGNATURE, &other]);
    }
}

#[test]
fn signatures_of_another_manifest_are_not_this_one_s() {
    let served = Served::without_referrers();
    let first = pushed(&served, COMPONENT, Some(SIGNATURE)).unwrap();
    let second = pushed(&served, b"\0asm\x0d\0\x01\0 another", None).unwrap();
    assert!(pulled(&served, &second.pinned).signatures.is_empty());
    // A signature that only the tag assigns to this manifest does not count.
    let tag = |pinned: &str| pinned.split_once('@').unwrap().1.replace(':', "-");
    let index = served.asked(&format!("PUT /v2/acme/echo/manifests/{}", tag(&first.pinned)));
    let kind = "application/vnd.oci.image.index.v1+json";
    served.put_manifest("acme/echo", &tag(&second.pinned), kind, &index[0].body);
    assert!(pulled(&served, &second.pinned).signatures.is_empty());
    assert_eq!(served.referrers(first.pinned.split_once('@').unwrap().1, TYPE).len(), 1);
}

#[test]
fn a_list_of_signatures_that_cannot_be_had_is_an_error() {
    let served = Served::start();
    let done = pushed(&served, COMPONENT, Some(SIGNATURE)).unwrap();
    served.answer("GET /v2/acme/echo/referrers/", |_, stream| reply(stream, "500 Oh", b""));
    let said = fetched_with(OPEN, &Of(String::new()), &done.pinned).unwrap_err();
    assert!(said.contains("what refers to sha256:") && said.contains("answered 500"), "{said}");
}

#[test]
fn a_push_is_authorized_for_pushing() {
    let served = Served::start();
    served.login(Login::Token { realm: served.realm(), basic: Some(BASIC.to_owned()) });
    pushed(&served, COMPONENT, Some(SIGNATURE)).unwrap();
    let tokens = served.asked("GET /token");
    assert_eq!(tokens.len(), 1);
    assert!(tokens[0].target.ends_with("scope=repository%3Aacme%2Fecho%3Apull%2Cpush"), "{tokens:?}");
    served.answer("POST /v2/", |_, stream| {
        reply(stream, "403 Forbidden", br#"{"errors":[{"code":"DENIED","message":"read only"}]}"#);
    });
    let said = pushed(&served, b"\0asm other", None).unwrap_err().to_string();
    assert!(
        said.contains("refuses access: read only") && said.contains("do not suffice for `pull,push`"),
        "{said}"
    );
}

#[test]
fn an_upload_goes_to_no_other_host() {
    let (served, other) = (Served::start(), Served::start());
    let place = format!("http://{}/upload", other.address);
    served.answer("POST /v2/", move |_, stream| {
        reply(stream, &format!("202 Accepted\r\nLocation: {place}"), b"");
    });
    let said = pushed(&served, COMPONENT, None).unwrap_err().to_string();
    assert!(said.contains("the registry wants it at another host, 127.0.0.1"), "{said}");
    served.answer("POST /v2/", |_, stream| reply(stream, "202 Accepted", b""));
    assert!(pushed(&served, COMPONENT, None).unwrap_err().to_string().contains("names no place"));
    served.answer("PUT /v2/", |_, stream| {
        served::redirect(stream, "http://127.0.0.1:9/");
    });
    served.answer("POST /v2/", |_, stream| {
        reply(stream, "202 Accepted\r\nLocation: /v2/acme/echo/blobs/uploads/1", b"");
    });
    assert!(pushed(&served, COMPONENT, None).unwrap_err().to_string().contains("answered 307"));
    assert!(other.asked("").is_empty());
}

#[test]
fn a_digest_is_no_name_to_push_under() {
    let served = Served::start();
    let Address::Registry(reference) = address(&served.oci(&format!("acme/echo@{}", digest(b"x")))) else {
        panic!("a reference")
    };
    let artifact = Artifact::Pack { bytes: b"x", format: "tar" };
    let keyring = Of(String::new());
    let refused = push(&reference, &artifact, &Annotations::default(), None, (&courier(OPEN), &keyring));
    assert!(refused.unwrap_err().to_string().contains("a push needs a tag"));
    assert!(served.asked("").is_empty());
}
