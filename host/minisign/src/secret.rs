//! Signing.

use std::ops::Range;

use minisign::{SecretKey, SecretKeyBox};
use ring::signature::Ed25519KeyPair;

use crate::signature::{Signature, SignatureError};
use crate::statement::Statement;

/// Largest file of a secret key: minisign's have about 300 bytes.
pub const MAX_SECRET_KEY_BYTES: u64 = 4096;

/// Longest password that minisign takes.
pub const MAX_PASSWORD_BYTES: usize = 1024;

const COMMENT: &str = "signature from minisign secret key";

/// Why nothing was signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// No secret key.
    #[error("it is not a minisign secret key, which `minisign -G` makes")]
    Key,
    /// Not the password, which protects the key.
    #[error("the password is wrong")]
    Password,
    /// The key has a password, and none was given.
    #[error("it is protected with a password")]
    NoPassword,
    /// The key is damaged.
    #[error("the key is damaged: its parts do not belong together")]
    Damaged,
    /// The library refused.
    #[error("the signature cannot be made: {0}")]
    Failed(String),
    /// What was made cannot be read.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

/// Bytes of a secret key, and where in it the two halves of Ed25519 lie.
const KEY_BYTES: usize = 158;
const SEED: Range<usize> = 62..94;
const PUBLIC: Range<usize> = 94..126;

/// Whether a secret key has a password.
pub fn is_protected(key: &str) -> Result<bool, SignError> {
    is_protected_key(&decoded(key)?)
}

fn decoded(key: &str) -> Result<Vec<u8>, SignError> {
    use base64::Engine as _;
    let line = key.lines().nth(1).ok_or(SignError::Key)?;
    base64::engine::general_purpose::STANDARD.decode(line.trim()).map_err(|_| SignError::Key)
}

/// Which is said behind "Ed": not at all, or by scrypt.
fn is_protected_key(bytes: &[u8]) -> Result<bool, SignError> {
    match (bytes.len(), bytes.get(..4)) {
        (KEY_BYTES, Some(b"EdSc")) => Ok(true),
        (KEY_BYTES, Some(b"Ed\0\0")) => Ok(false),
        _ => Err(SignError::Key),
    }
}

/// Signs a file with a secret key as `minisign -G` makes them. Undoing a password takes a second or two, and a gigabyte
/// of memory: that is minisign's protection.
pub fn sign(
    key: &str,
    password: Option<String>,
    bytes: &[u8],
    statement: &Statement,
) -> Result<Signature, SignError> {
    let key = open(key, password)?;
    let signed = minisign::sign(None, &key, bytes, Some(&statement.to_string()), Some(COMMENT));
    let text = signed.map_err(|error| SignError::Failed(error.to_string()))?.into_string();
    Ok(Signature::parse(&text)?)
}

fn open(key: &str, password: Option<String>) -> Result<SecretKey, SignError> {
    let bytes = decoded(key)?;
    if !is_protected_key(&bytes)? {
        // minisign itself writes no checksum into such a key; that its halves belong together is to be seen all the same.
        Ed25519KeyPair::from_seed_and_public_key(&bytes[SEED], &bytes[PUBLIC])
            .map_err(|_| SignError::Damaged)?;
        return SecretKey::from_bytes(&bytes).map_err(|_| SignError::Key);
    }
    let boxed = SecretKeyBox::from(key.to_owned());
    // Without one the library would ask by itself.
    let password = password.ok_or(SignError::NoPassword)?;
    boxed.into_secret_key(Some(password)).map_err(|error| match error.kind() {
        minisign::ErrorKind::Verify => SignError::Password,
        _ => SignError::Failed(error.to_string()),
    })
}
