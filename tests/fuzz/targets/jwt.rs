//! Fuzzes JWTs: an unsigned token is never valid.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scorpiox_policy::access::Algorithm;
use scorpiox_transport_http::jwt::{Expected, Keys, verify};

/// Public keys whose private keys are not used: examples from RFC 8037 and RFC 7517.
const KEYS: &[u8] = br#"{"keys":[
{"kty":"OKP","crv":"Ed25519","kid":"ed","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
{"kty":"EC","crv":"P-256","kid":"ec","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}
]}"#;

fuzz_target!(|data: &[u8]| {
    let Ok(token) = std::str::from_utf8(data) else { return };
    let keys = Keys::parse(KEYS).expect("a key set");
    let audiences = ["api".to_owned()];
    let expected = Expected {
        name_claim: Some("name"),
        issuer: "https://login.example.com",
        audiences: &audiences,
        now: 1_800_000_000,
        clock_skew: 60,
        groups_claim: Some("groups"),
    };
    assert!(verify(token, &keys, &Algorithm::ALL, &expected).is_err());
});
