//! Public keys.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, UnparsedPublicKey};

use crate::signature::{Signature, SignatureError};
use crate::statement::{Statement, StatementError, digest};

const KIND: &[u8] = b"Ed";

/// Public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    written: String,
    key: minisign_verify::PublicKey,
    id: [u8; 8],
    bytes: [u8; 32],
}

/// Error for a text that is not a public key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is not a minisign public key, which has 56 characters and begins with RW")]
pub struct KeyError;

/// Reason why a signature is not valid for a key and a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unverified {
    /// The text is not a signature, or one of an unsupported kind.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// The signature was created with a different key.
    #[error("it was made with another key")]
    ByAnother,
    /// The signature does not match the file.
    #[error("it does not match: it was made for something else, or one of the two was changed since")]
    Unfit,
    /// The signed comment is not a statement.
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// The signed comment describes another file.
    #[error("its signed comment has the sha256 {said}, and the file has {is}")]
    OtherFile {
        /// Hash in the comment.
        said: String,
        /// Hash of the file.
        is: String,
    },
}

impl PublicKey {
    /// Parses a key as printed by minisign, which is the second line of a `.pub` file.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let key = minisign_verify::PublicKey::from_base64(text).map_err(|_| KeyError)?;
        let bytes: [u8; 42] =
            STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok()).ok_or(KeyError)?;
        let (kind, rest) = bytes.split_at(2);
        let (id, bytes) = rest.split_at(8);
        if kind != KIND {
            return Err(KeyError);
        }
        let (id, bytes) = (id.try_into().map_err(|_| KeyError)?, bytes.try_into().map_err(|_| KeyError)?);
        Ok(Self { written: text.to_owned(), key, id, bytes })
    }

    /// Parses a key, or both lines of a `.pub` file.
    pub fn parse_file(text: &str) -> Result<Self, KeyError> {
        let mut lines = text.lines().filter(|line| !line.starts_with("untrusted comment:"));
        let key = Self::parse(lines.next().ok_or(KeyError)?.trim())?;
        if lines.any(|line| !line.trim().is_empty()) { Err(KeyError) } else { Ok(key) }
    }

    /// Returns the key in its textual form.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Returns `true` if the signature names this key.
    pub fn is_named_by(&self, signature: &Signature) -> bool {
        self.id == signature.key_id
    }

    /// Verifies the signature over these bytes. The comment may have any contents.
    pub fn verify(&self, bytes: &[u8], signature: &Signature) -> Result<(), Unverified> {
        use minisign_verify::Error;
        let read = minisign_verify::Signature::decode(signature.text()).map_err(|_| Unverified::Unfit)?;
        self.key.verify(bytes, &read, false).map_err(|error| match error {
            Error::UnexpectedKeyId => Unverified::ByAnother,
            _ => Unverified::Unfit,
        })
    }

    /// Verifies the signature of a file, and returns the signed statement.
    pub fn verify_file(&self, bytes: &[u8], signature: &Signature) -> Result<Statement, Unverified> {
        self.verify(bytes, signature)?;
        let statement = self.verify_statement(signature)?;
        let is = digest(bytes);
        if statement.sha256 != is {
            return Err(Unverified::OtherFile { said: statement.sha256, is });
        }
        Ok(statement)
    }

    /// Verifies and returns the signed statement without the file. The comment has its own signature, and
    /// contains the hash of the file. The cost is independent of the file size.
    pub fn verify_statement(&self, signature: &Signature) -> Result<Statement, Unverified> {
        if !self.is_named_by(signature) {
            return Err(Unverified::ByAnother);
        }
        let said = [&signature.of_file[..], signature.comment.as_bytes()].concat();
        let key = UnparsedPublicKey::new(&ED25519, self.bytes);
        key.verify(&said, &signature.of_comment).map_err(|_| Unverified::Unfit)?;
        Ok(signature.claims()?)
    }
}
