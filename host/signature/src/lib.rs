//! File signatures in the format of minisign.
//!
//! A [`Signature`] is the text of a `.minisig` file. A [`PublicKey`] verifies it. A [`Statement`] is its
//! signed comment, which names the plugin and the version. [`generate`] creates a key, and [`sign`] a signature.
//!
//! Invariants:
//! - Only signatures over the file's `BLAKE2b` hash are accepted. The legacy kind, over the file itself, is
//!   an error.
//! - Statements are parsed strictly: an ambiguous text is an error.
//! - This crate does not decide which keys are trusted. The policy does.

mod key;
mod secret;
mod signature;
mod statement;

pub use key::{KeyError, PublicKey, Unverified};
pub use secret::{
    MAX_PASSWORD_BYTES, MAX_SECRET_KEY_BYTES, NewKey, SignError, generate, is_protected, public_of, sign,
    sign_text,
};
pub use signature::{MAX_SIGNATURE_BYTES, SIGNATURE_SUFFIX, Signature, SignatureError};
pub use statement::{Statement, StatementError, digest};

#[cfg(test)]
mod tests;
