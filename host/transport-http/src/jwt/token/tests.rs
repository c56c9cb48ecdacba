use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::*;

const NOW: u64 = 1_800_000_000;
const ISSUER: &str = "https://login.example.com";

fn encoded(json: &Value) -> String {
    URL_SAFE_NO_PAD.encode(json.to_string())
}

/// An issuer with an Ed25519 key and a P-256 key.
struct Issuer {
    edwards: Ed25519KeyPair,
    p256: EcdsaKeyPair,
}

impl Issuer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let edwards = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let p256 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self {
            edwards: Ed25519KeyPair::from_pkcs8(edwards.as_ref()).unwrap(),
            p256: EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, p256.as_ref(), &random).unwrap(),
        }
    }

    fn keys(&self) -> Keys {
        let (x, y) = self.p256.public_key().as_ref()[1..].split_at(32);
        let [edwards, x, y] =
            [self.edwards.public_key().as_ref(), x, y].map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
        let set = json!({ "keys": [
            { "kty": "OKP", "crv": "Ed25519", "kid": "ed", "use": "sig", "x": edwards },
            { "kty": "EC", "crv": "P-256", "kid": "ec", "alg": "ES256", "x": x, "y": y },
        ]});
        Keys::parse(set.to_string().as_bytes()).unwrap()
    }

    fn signed(&self, header: &Value, payload: &str) -> String {
        let message = format!("{}.{}", encoded(header), URL_SAFE_NO_PAD.encode(payload));
        let signature = match header["alg"].as_str() {
            Some("ES256") => {
                self.p256.sign(&SystemRandom::new(), message.as_bytes()).unwrap().as_ref().to_vec()
            }
            _ => self.edwards.sign(message.as_bytes()).as_ref().to_vec(),
        };
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn token(&self, change: impl FnOnce(&mut Value)) -> String {
        let mut payload = json!({
            "iss": ISSUER, "aud": "api", "sub": "ann", "exp": NOW + 600, "scope": "read run",
        });
        change(&mut payload);
        self.signed(&json!({ "alg": "EdDSA", "kid": "ed" }), &payload.to_string())
    }

    fn verify(&self, token: &str) -> Result<Claims, JwtError> {
        let audiences = ["api".to_owned(), "https://mcp.example.com/mcp".to_owned()];
        let expected = Expected {
            issuer: ISSUER,
            audiences: &audiences,
            now: NOW,
            clock_skew: 60,
            groups_claim: Some("groups"),
            name_claim: Some("name"),
        };
        verify(token, &self.keys(), &Algorithm::ALL, &expected)
    }
}

#[test]
fn a_good_token_says_who_shows_it() {
    let issuer = Issuer::new();
    let claims = issuer.verify(&issuer.token(|payload| payload["groups"] = json!(["ops"]))).unwrap();
    assert_eq!((claims.subject.as_str(), claims.expires), ("ann", NOW + 600));
    assert!(claims.scopes.contains("read") && claims.scopes.contains("run") && claims.groups.contains("ops"));
    let payload = json!({
        "iss": ISSUER, "aud": ["other", "https://mcp.example.com/mcp"], "sub": "ann", "exp": 1.8e9 + 0.5, "scp": ["run"],
    });
    let token = issuer.signed(&json!({ "alg": "ES256", "kid": "ec", "typ": "at+JWT" }), &payload.to_string());
    assert!(issuer.verify(&token).unwrap().scopes.contains("run"));
}

#[test]
fn a_token_is_for_this_server_from_its_issuer_and_in_its_time() {
    let issuer = Issuer::new();
    let cases: [(&str, Value, JwtError); 16] = [
        (
            "iss",
            json!("https://login.example.com/"),
            JwtError::Issuer("https://login.example.com/".to_owned()),
        ),
        ("iss", Value::Null, JwtError::Issuer(String::new())),
        ("aud", json!("API"), JwtError::Audience("[\"API\"]".to_owned())),
        ("aud", json!([]), JwtError::Audience("[]".to_owned())),
        ("aud", json!(7), JwtError::Malformed("aud".to_owned())),
        ("exp", json!(NOW - 60), JwtError::Expired),
        ("exp", json!("2030"), JwtError::Malformed("exp".to_owned())),
        ("exp", json!(-1), JwtError::Malformed("exp".to_owned())),
        ("nbf", json!(NOW + 61), JwtError::NotYet),
        ("iat", json!(NOW + 61), JwtError::NotYet),
        ("sub", Value::Null, JwtError::Missing("sub")),
        ("sub", json!("a\nb"), JwtError::Malformed("sub".to_owned())),
        ("sub", json!("ann "), JwtError::Malformed("sub".to_owned())),
        ("sub", json!("ann\u{202e}"), JwtError::Malformed("sub".to_owned())),
        ("scope", json!({}), JwtError::Malformed("scope".to_owned())),
        ("groups", json!([1]), JwtError::Malformed("groups".to_owned())),
    ];
    for (name, value, error) in cases {
        let token = issuer.token(|payload| payload[name] = value.clone());
        assert_eq!(issuer.verify(&token), Err(error), "{name}: {value}");
    }
    assert!(issuer.verify(&issuer.token(|payload| payload["exp"] = json!(NOW - 59))).is_ok());
    let without = issuer.token(|payload| drop(payload.as_object_mut().unwrap().remove("exp")));
    assert_eq!(issuer.verify(&without), Err(JwtError::Missing("exp")));
}

#[test]
fn what_is_signed_otherwise_is_refused() {
    let issuer = Issuer::new();
    let payload = json!({ "iss": ISSUER, "aud": "api", "sub": "ann", "exp": NOW + 600 }).to_string();
    let with = |header: Value| issuer.verify(&issuer.signed(&header, &payload));
    assert!(with(json!({ "alg": "EdDSA" })).is_ok(), "one key is of that algorithm");
    for name in ["none", "None", "HS256", "RS512", "eddsa", ""] {
        assert_eq!(with(json!({ "alg": name, "kid": "ed" })), Err(JwtError::Algorithm), "{name}");
    }
    // A key for another algorithm is not tried.
    assert_eq!(with(json!({ "alg": "EdDSA", "kid": "ec" })), Err(JwtError::UnknownKey));
    assert_eq!(with(json!({ "alg": "RS256", "kid": "ed" })), Err(JwtError::UnknownKey));
    assert_eq!(with(json!({ "alg": "EdDSA", "kid": "old" })), Err(JwtError::UnknownKey));
    assert_eq!(with(json!({ "alg": "EdDSA", "kid": 7 })), Err(JwtError::Header));
    assert_eq!(with(json!({ "alg": "EdDSA", "crit": ["b64"], "b64": false })), Err(JwtError::Header));
    assert_eq!(with(json!({ "alg": "EdDSA", "typ": "dpop+jwt" })), Err(JwtError::Header));
    let stranger = Issuer::new();
    assert_eq!(issuer.verify(&stranger.token(|_| ())), Err(JwtError::Signature));
    assert_eq!(stranger.verify(&issuer.token(|_| ())), Err(JwtError::Signature));
    let (message, _) = payload.split_at(0);
    let unsigned = format!(
        "{}.{}.{message}",
        encoded(&json!({ "alg": "EdDSA", "kid": "ed" })),
        URL_SAFE_NO_PAD.encode(&payload)
    );
    assert_eq!(issuer.verify(&unsigned), Err(JwtError::Signature));
}

#[test]
fn what_is_no_token_is_refused() {
    let issuer = Issuer::new();
    let good = issuer.token(|_| ());
    let twice = format!(
        "{{\"iss\":\"{ISSUER}\",\"aud\":\"api\",\"sub\":\"ann\",\"sub\":\"bob\",\"exp\":{}}}",
        NOW + 600
    );
    let twice = issuer.signed(&json!({ "alg": "EdDSA", "kid": "ed" }), &twice);
    for token in [
        "",
        ".",
        "..",
        "a.b.c",
        &good[1..],
        &format!("{good}."),
        &format!("{good}="),
        &"a".repeat(20_000),
        &twice,
    ] {
        assert_eq!(issuer.verify(token), Err(JwtError::NoJwt), "{token:.40}");
    }
}

/// Modulus of a key created with OpenSSL. The private key has been deleted.
const RSA_MODULUS: &str = "vwvDqN3sj-WYYTcjn2Z5WsX53IK3AqsIc1aTvBh9cy0KsEW6gVYl1yIh4gYC9UKH5Rvewp1IzyP6J3yUd-yHCiEalBkx26Sg\
     TBAKHJCqO1VTQowPYErj6-5CoP2AUSem0G4aKPqDLZ-l4NrYwC4KDhTG_rCYUWMHwuVamQ0fyEamTbrcAk62FWwROiEpPA04\
     KQccvZCYaereF_qqjzkCRsKkpE9_pbNt1a34GvAhQ5atg4vsR6Oj_Gbqk13Ilf56Lj1O_Y7dCBapvY3F_eRKm3Anm1HqA8t1\
     2HzZixoJYmL5NxQp7TnPImidsQNRFUpI02TMj0bHIeN4olpuaENCdw";
/// Token signed with that key by OpenSSL.
const RSA_TOKEN: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYSIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUuY29\
     tIiwiYXVkIjoiYXBpIiwic3ViIjoiYW5uIiwiZXhwIjoxODAwMDAwNjAwfQ.C6ek5fNQbIZH6JriLGAZ2s0teiHKtg9ljZrq\
     LFbOMEOb7mVJ5sBlxp1YXChdNPjtMlQToxfwcLMomnISn6ZFzpTZNM7VsBZ1_jEX099wmO12OOt4uWxiCuzsfybA-BuHDazQ\
     aoPOwfwyZMgaI4f7hTWJ7ZYA9_hAB7QIb4ykdtYWsnJJxC6_Ni3Ju-FKJvJ9q-2CtojCB3lcfVlQKeTTLgcooguTv8dqQ5zr\
     QCACexWMn99Xy3uudBeLbr_OcnzGH3ZEQH5Rv1wvvAjVe89-dbJDZd0mPB40vJkZsA9wWf0l6Oqkwf5VE0tW5LvL4sG7fboj\
     eJ4-knBLsRPciCxkdg";

#[test]
fn what_openssl_signed_with_rsa_is_good_and_only_as_a_whole() {
    let set =
        json!({ "keys": [{ "kty": "RSA", "kid": "rsa", "use": "sig", "n": RSA_MODULUS, "e": "AQAB" }] });
    let keys = Keys::parse(set.to_string().as_bytes()).unwrap();
    let audiences = ["api".to_owned()];
    let expected = Expected {
        issuer: ISSUER,
        audiences: &audiences,
        now: NOW,
        clock_skew: 60,
        groups_claim: None,
        name_claim: None,
    };
    let good = verify(RSA_TOKEN, &keys, &Algorithm::ALL, &expected);
    assert_eq!(good.map(|claims| claims.subject), Ok("ann".to_owned()));
    assert_eq!(verify(RSA_TOKEN, &keys, &[Algorithm::Es256], &expected), Err(JwtError::Algorithm));
    let (message, signature) = RSA_TOKEN.rsplit_once('.').unwrap();
    let other = format!("{message}.{}A", &signature[..signature.len() - 1].replacen(&signature[..1], "_", 1));
    assert!(verify(&other, &keys, &Algorithm::ALL, &expected).is_err());
    // Leading zeros, which some issuers write, are not part of the number.
    let modulus = [vec![0], URL_SAFE_NO_PAD.decode(RSA_MODULUS).unwrap()].concat();
    let set = json!({ "keys": [{ "kty": "RSA", "kid": "rsa", "n": URL_SAFE_NO_PAD.encode(modulus), "e": "AAEAAQ" }] });
    let keys = Keys::parse(set.to_string().as_bytes()).unwrap();
    assert!(verify(RSA_TOKEN, &keys, &Algorithm::ALL, &expected).is_ok());
}

#[test]
fn the_issuer_that_a_token_names_says_whose_keys_it_is_checked_with_and_proves_nothing() {
    let (issuer, other) = (Issuer::new(), Issuer::new());
    let named = |token: &str| named_issuer(token);
    assert_eq!(named(&issuer.token(|_| ())), Ok(ISSUER.to_owned()));
    // Another issuer's key with the same `kid`, and the same `iss`.
    let forged = other.token(|_| ());
    assert_eq!((named(&forged), issuer.verify(&forged)), (Ok(ISSUER.to_owned()), Err(JwtError::Signature)));
    let header = json!({ "alg": "EdDSA", "kid": "ed" });
    for (payload, error) in [
        (r#"{"iss":"https://a.example.com","iss":"https://b.example.com"}"#, JwtError::NoJwt),
        (r#"{"iss":"https://a.example.com","\u0069ss":"https://b.example.com"}"#, JwtError::NoJwt),
        (r#"{"a":{"b":1,"b":2},"iss":"https://a.example.com"}"#, JwtError::NoJwt),
        (r#"{"iss":["https://a.example.com"]}"#, JwtError::Missing("iss")),
        (r#"{"iss":null}"#, JwtError::Missing("iss")),
        ("{}", JwtError::Missing("iss")),
        ("[]", JwtError::NoJwt),
    ] {
        assert_eq!(named(&issuer.signed(&header, payload)), Err(error), "{payload}");
    }
    for text in ["", "a", "a.b", "a.b.c", "a.b.c.d", &"a".repeat(MAX_TOKEN_BYTES + 1)] {
        assert_eq!(named(text), Err(JwtError::NoJwt), "{text:.20}");
    }
}

#[test]
fn the_name_that_people_know_a_subject_by_decides_nothing() {
    let issuer = Issuer::new();
    let shown = |name: Value| issuer.verify(&issuer.token(|payload| payload["name"] = name)).unwrap();
    let known = shown(json!(" Ann Smith "));
    assert_eq!((&*known.subject, known.shown.as_deref()), ("ann", Some("Ann Smith")));
    for unreadable in
        [json!("a\nb"), json!("\u{202e}nnA"), json!(""), json!(7), json!(["Ann"]), json!("n".repeat(256))]
    {
        let known = shown(unreadable.clone());
        assert_eq!((&*known.subject, known.shown), ("ann", None), "{unreadable}");
    }
}

#[test]
fn a_key_is_withdrawn_if_no_token_like_its_own_would_be_accepted() {
    let issuer = Issuer::new();
    let expected = Expected {
        issuer: ISSUER,
        audiences: &["api".to_owned()],
        now: NOW,
        clock_skew: 0,
        groups_claim: None,
        name_claim: None,
    };
    let key = |header: &Value| {
        let payload = json!({ "iss": ISSUER, "aud": "api", "sub": "ann", "exp": NOW + 600 });
        let token = issuer.signed(header, &payload.to_string());
        verified(&token, &issuer.keys(), &Algorithm::ALL, &expected).unwrap().1
    };
    let named = key(&json!({ "alg": "EdDSA", "kid": "ed" }));
    let unnamed = key(&json!({ "alg": "EdDSA" }));
    let other = Issuer::new().keys();
    for (what, keys, accepts_named, accepts_unnamed) in [
        ("the same", issuer.keys(), true, true),
        ("others of the same names", other, false, false),
        ("none", Keys::parse(br#"{"keys":[]}"#).unwrap(), false, false),
    ] {
        assert_eq!((keys.accept(&named), keys.accept(&unnamed)), (accepts_named, accepts_unnamed), "{what}");
    }
    let x = URL_SAFE_NO_PAD.encode(issuer.edwards.public_key().as_ref());
    let renamed = json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "new", "x": x }] });
    let renamed = Keys::parse(renamed.to_string().as_bytes()).unwrap();
    assert!(!renamed.accept(&named) && renamed.accept(&unnamed), "under another name");
}
