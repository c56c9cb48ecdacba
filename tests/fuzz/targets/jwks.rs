//! Key sets: whatever an issuer publishes, and tokens that name its keys.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scorpiox_access::Algorithm;
use scorpiox_jwt::{Expected, Keys, verify};

/// A token with no signature.
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
