//! Secret keys and signing.

use std::ops::Range;

use minisign::{KeyPair, SecretKey, SecretKeyBox};
use ring::signature::Ed25519KeyPair;

use crate::key::PublicKey;
use crate::signature::{Signature, SignatureError};
use crate::statement::Statement;

/// Maximum size of a secret key file; minisign's have about 300 bytes.
pub const MAX_SECRET_KEY_BYTES: u64 = 4096;

/// Maximum length of a password, as in minisign.
pub const MAX_PASSWORD_BYTES: usize = 1024;

const COMMENT: &str = "signature from minisign secret key";

/// Reason why signing failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// The text is not a secret key.
    #[error("it is not a minisign secret key, which `scorpiox-code plugin keygen` makes")]
    Key,
    /// The password is wrong.
    #[error("the password is wrong")]
    Password,
    /// The key is protected with a password, and none was given.
    #[error("it is protected with a password")]
    NoPassword,
    /// The key is damaged.
    #[error("the key is damaged: its parts do not belong together")]
    Damaged,
    /// The library reported an error.
    #[error("it cannot be made: {0}")]
    Failed(String),
    /// The created signature is invalid.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

/// Size of a secret key, and positions of its number and of the two halves of the Ed25519 key pair.
const KEY_BYTES: usize = 158;
const NUMBER: Range<usize> = 54..62;
const SEED: Range<usize> = 62..94;
const PUBLIC: Range<usize> = 94..126;

/// Returns `true` if the secret key is protected with a password.
pub fn is_protected(key: &str) -> Result<bool, SignError> {
    is_protected_key(&decoded(key)?)
}

fn decoded(key: &str) -> Result<Vec<u8>, SignError> {
    use base64::Engine as _;
    let line = key.lines().nth(1).ok_or(SignError::Key)?;
    base64::engine::general_purpose::STANDARD.decode(line.trim()).map_err(|_| SignError::Key)
}

/// Decodes the protection from the bytes after "Ed": none, or scrypt.
fn is_protected_key(bytes: &[u8]) -> Result<bool, SignError> {
    match (bytes.len(), bytes.get(..4)) {
        (KEY_BYTES, Some(b"EdSc")) => Ok(true),
        (KEY_BYTES, Some(b"Ed\0\0")) => Ok(false),
        _ => Err(SignError::Key),
    }
}

/// Returns the public key of a secret key without a password.
pub fn public_of(key: &str) -> Result<PublicKey, SignError> {
    use base64::Engine as _;
    let bytes = decoded(key)?;
    if is_protected_key(&bytes)? {
        return Err(SignError::NoPassword);
    }
    Ed25519KeyPair::from_seed_and_public_key(&bytes[SEED], &bytes[PUBLIC]).map_err(|_| SignError::Damaged)?;
    let public = [&b"Ed"[..], &bytes[NUMBER], &bytes[PUBLIC]].concat();
    let text = base64::engine::general_purpose::STANDARD.encode(public);
    PublicKey::parse(&text).map_err(|_| SignError::Damaged)
}

/// A new key pair, as the texts of minisign's two files.
pub struct NewKey {
    /// Text of the secret key's file.
    pub secret: String,
    /// Text of the public key's file.
    pub public_file: String,
    /// The public key.
    pub public: PublicKey,
}

/// Creates a key pair. With a password, the secret key is encrypted, which takes as long as decrypting it.
pub fn generate(password: Option<String>) -> Result<NewKey, SignError> {
    let failed = |error: minisign::PError| SignError::Failed(error.to_string());
    let pair = match password {
        None => KeyPair::generate_unencrypted_keypair(),
        Some(password) => KeyPair::generate_encrypted_keypair(Some(password)),
    };
    let KeyPair { pk, sk } = pair.map_err(failed)?;
    let secret = sk.to_box(None).map_err(failed)?.into_string();
    let public = PublicKey::parse(&pk.to_base64()).map_err(|_| SignError::Damaged)?;
    Ok(NewKey { secret, public_file: pk.to_box().map_err(failed)?.into_string(), public })
}

/// Signs a file with a minisign secret key. Decrypting a key that [`generate`] protected takes about 60 ms and 33 MB, so
/// that only a long password resists guessing. A key that minisign's own program made takes longer.
pub fn sign(
    key: &str,
    password: Option<String>,
    bytes: &[u8],
    statement: &Statement,
) -> Result<Signature, SignError> {
    sign_with(key, password, bytes, &statement.to_string())
}

/// Signs a text that is no plugin's file, such as a hash. Its comment says what the text is.
pub fn sign_text(
    key: &str,
    password: Option<String>,
    text: &str,
    comment: &str,
) -> Result<Signature, SignError> {
    sign_with(key, password, text.as_bytes(), comment)
}

fn sign_with(
    key: &str,
    password: Option<String>,
    bytes: &[u8],
    comment: &str,
) -> Result<Signature, SignError> {
    let key = open(key, password)?;
    let signed = minisign::sign(None, &key, bytes, Some(comment), Some(COMMENT));
    let text = signed.map_err(|error| SignError::Failed(error.to_string()))?.into_string();
    Ok(Signature::parse(&text)?)
}

fn open(key: &str, password: Option<String>) -> Result<SecretKey, SignError> {
    let bytes = decoded(key)?;
    if !is_protected_key(&bytes)? {
        // Unprotected keys have no checksum in minisign, but the two halves must match.
        Ed25519KeyPair::from_seed_and_public_key(&bytes[SEED], &bytes[PUBLIC])
            .map_err(|_| SignError::Damaged)?;
        return SecretKey::from_bytes(&bytes).map_err(|_| SignError::Key);
    }
    let boxed = SecretKeyBox::from(key.to_owned());
    // Without a password the library would prompt for one.
    let password = password.ok_or(SignError::NoPassword)?;
    boxed.into_secret_key(Some(password)).map_err(|error| match error.kind() {
        minisign::ErrorKind::Verify => SignError::Password,
        _ => SignError::Failed(error.to_string()),
    })
}
