//! The keys of an issuer of JSON Web Tokens, as they are now: read from a file, or fetched from an address.
//!
//! Invariants: keys are those of one issuer, and come from the place that the policy names for it alone; nobody waits for an
//! issuer that is silent while there are keys that are good for now.

mod address;
mod issuer;

pub use issuer::Issuer;
