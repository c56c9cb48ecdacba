//! Signing.

use minisign::{SecretKey, SecretKeyBox};

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
    #[error("the key is damaged: its checksum is wrong")]
    Damaged,
    /// The library refused.
    #[error("the signature cannot be made: {0}")]
    Failed(String),
    /// What was made cannot be read.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

/// Whether a secret key has a password.
pub fn is_protected(key: &str) -> Result<bool, SignError> {
    use base64::Engine as _;
    let line = key.lines().nth(1).ok_or(SignError::Key)?;
    let bytes = base64::engine::general_purpose::STANDARD.decode(line.trim()).map_err(|_| SignError::Key)?;
    // "Ed", then how it is protected: not at all, or by scrypt.
    match (bytes.len(), bytes.get(..4)) {
        (158, Some(b"EdSc")) => Ok(true),
        (158, Some(b"Ed\0\0")) => Ok(false),
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
    let is_protected = is_protected(key)?;
    let boxed = SecretKeyBox::from(key.to_owned());
    if !is_protected {
        return boxed.into_unencrypted_secret_key().map_err(|_| SignError::Damaged);
    }
    // Without one the library would ask by itself.
    let password = password.ok_or(SignError::NoPassword)?;
    boxed.into_secret_key(Some(password)).map_err(|error| match error.kind() {
        minisign::ErrorKind::Verify => SignError::Password,
        _ => SignError::Failed(error.to_string()),
    })
}
