//! Verifies JSON Web Tokens (RFC 7519) with JSON Web Key Sets (RFC 7517).
//!
//! Reading order: [`Keys`] are the keys of an issuer, and [`verify`] checks a token and returns its
//! [`Claims`]. `object` parses JSON and rejects repeated member names.
//!
//! Invariants: a key is used only for its own algorithm, and the algorithm named in a token can only narrow
//! the choice. Every algorithm requires a key, and none uses a shared secret. A token is valid only as a
//! whole: a claim that is missing or has the wrong type is an error. Nothing here reads a file, a clock or
//! the network.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod claims;
mod keys;
mod object;
mod token;

pub use claims::{Claims, Expected};
pub use keys::{Keys, KeysError, SigningKey};
pub use token::{JwtError, named_issuer, verified, verify};
