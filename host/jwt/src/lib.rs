//! JSON Web Tokens (RFC 7519) that an issuer signed, and the JSON Web Key Sets (RFC 7517) to know them by.
//!
//! Reading order: [`Keys`] are the keys of an issuer, [`verify`] takes a token through its checks to its [`Claims`]; `object` reads JSON
//! in which a name that comes twice is an error.
//!
//! Invariants: a key is used for the one algorithm that it is for, and what a token says of its algorithm only ever
//! narrows that; there is no algorithm without a key, and none with a shared secret. A token is good only as a
//! whole: what is missing or of another type is refused. Nothing here reads a file, a clock or the network.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod claims;
mod keys;
mod object;
mod token;

pub use claims::{Claims, Expected};
pub use keys::{Keys, KeysError};
pub use token::{JwtError, named_issuer, verify};
