//! Current keys of an issuer of JSON Web Tokens, read from a file or fetched from an address.
//!
//! Invariants: the keys belong to one issuer and come only from the location named in the policy. No request
//! waits for a silent issuer while there are usable keys.

mod address;
mod keys;

pub use keys::Issuer;
