//! Signatures of files as minisign makes them.
//!
//! A [`Signature`] is the text of a `.minisig` file, a [`PublicKey`] says who made it, and a [`Statement`] is the signed
//! comment in it: which plugin a file is, in which version. [`sign`] makes one.
//!
//! Invariants:
//! - Only signatures over the file's `BLAKE2b` hash count. The old kind, over the file itself, is an error.
//! - A statement is what its text says, letter by letter: what could be read in two ways is an error.
//! - Nothing here decides whose signature counts for what. That is the policy's.

mod key;
mod secret;
mod signature;
mod statement;

pub use key::{KeyError, PublicKey, Unverified};
pub use secret::{MAX_PASSWORD_BYTES, MAX_SECRET_KEY_BYTES, SignError, is_protected, sign};
pub use signature::{MAX_SIGNATURE_BYTES, SIGNATURE_SUFFIX, Signature, SignatureError};
pub use statement::{Statement, StatementError, digest};

#[cfg(test)]
mod tests;
