//! Signatures in the format of a `.minisig` file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::statement::{Statement, StatementError};

/// Suffix appended to the name of the signed file.
pub const SIGNATURE_SUFFIX: &str = ".minisig";

/// Maximum size of a signature; minisign's have about 300 bytes.
pub const MAX_SIGNATURE_BYTES: u64 = 4096;

const UNTRUSTED: &str = "untrusted comment: ";
const TRUSTED: &str = "trusted comment: ";
const HASHED: &[u8] = b"ED";
const LEGACY: &[u8] = b"Ed";

/// Parsed signature of a file, not yet verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    text: String,
    pub(crate) key_id: [u8; 8],
    pub(crate) of_file: [u8; 64],
    pub(crate) comment: String,
    pub(crate) of_comment: [u8; 64],
}

/// Error for a text that is not an acceptable signature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The text does not have the four lines of minisign.
    #[error("it is not a minisign signature: {0}; sign again, and copy the file whole")]
    Form(&'static str),
    /// Legacy signature over the file itself.
    #[error("it is of the old kind; sign it again with minisign 0.10 or newer")]
    Legacy,
}

impl Signature {
    /// Parses a signature of exactly four lines.
    pub fn parse(text: &str) -> Result<Self, SignatureError> {
        let form = SignatureError::Form;
        if text.len() as u64 > MAX_SIGNATURE_BYTES {
            return Err(form("it has more than 4096 bytes"));
        }
        let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
        let [untrusted, signature, trusted, of_comment] = lines[..] else {
            return Err(form("it does not have four lines"));
        };
        if !untrusted.starts_with(UNTRUSTED) {
            return Err(form("its first line is no untrusted comment"));
        }
        let comment = trusted.strip_prefix(TRUSTED).ok_or(form("its third line is no trusted comment"))?;
        let signature = decoded::<74>(signature).ok_or(form("its second line is no signature"))?;
        let of_comment = decoded::<64>(of_comment).ok_or(form("its fourth line is no signature"))?;
        let (kind, rest) = signature.split_at(2);
        let (key_id, signature) = rest.split_at(8);
        match kind {
            HASHED => {}
            LEGACY => return Err(SignatureError::Legacy),
            _ => return Err(form("its second line is of a kind that minisign does not know")),
        }
        let own = |bytes: &[u8]| bytes.try_into().map_err(|_| form("its second line is no signature"));
        Ok(Self {
            text: text.to_owned(),
            key_id: key_id.try_into().map_err(|_| form("its second line is no signature"))?,
            of_file: own(signature)?,
            comment: comment.to_owned(),
            of_comment,
        })
    }

    /// Returns the original text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Parses the comment. It is untrusted until the signature is verified.
    pub fn claims(&self) -> Result<Statement, StatementError> {
        Statement::parse(&self.comment)
    }
}

/// Decodes Base64 of exactly `N` bytes.
fn decoded<const N: usize>(text: &str) -> Option<[u8; N]> {
    STANDARD.decode(text).ok()?.try_into().ok()
}
