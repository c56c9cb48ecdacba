//! Fuzzes key sets of an issuer, together with tokens that name their keys.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scorpiox_policy::access::Algorithm;
use scorpiox_transport_http::jwt::{Expected, Keys, verify};

/// Tokens without a valid signature.
const TOKENS: [&str; 3] = [
    "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.AAAA",
    "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.AAAA",
    "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhIn0.AAAA",
];

fuzz_target!(|data: &[u8]| {
    let Ok(keys) = Keys::parse(data) else { return };
    let expected =
        Expected { issuer: "a", audiences: &[], now: 0, clock_skew: 0, groups_claim: None, name_claim: None };
    for token in TOKENS {
        assert!(verify(token, &keys, &Algorithm::ALL, &expected).is_err());
    }
});
