//! Credentials that approvers enter in a browser.

use scorpiox_policy::{Approver, Approvers, Sourced};
use scorpiox_signature::{PublicKey, SignError, generate, public_of, sign_text};

use crate::request::{Answer, Request};

/// Maximum length of a credential, in bytes. It is a secret key without a password.
const MAX_BYTES: usize = 512;

/// A credential: a secret key of an approver, on one line. It is not kept anywhere.
pub struct Credential {
    /// Text of the file of the key.
    file: String,
    public: PublicKey,
}

impl Credential {
    /// Creates a credential.
    ///
    /// # Errors
    ///
    /// Fails if the system provides no random numbers.
    pub fn generate() -> Result<Self, SignError> {
        let key = generate(None)?;
        Ok(Self { file: key.secret, public: key.public })
    }

    /// Reads a credential as a person enters it; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let line = text.trim();
        if line.len() > MAX_BYTES || line.contains(['\n', '\r']) {
            return None;
        }
        let file = format!("untrusted comment: credential\n{line}\n");
        let public = public_of(&file).ok()?;
        Some(Self { file, public })
    }

    /// Returns the line that a person enters.
    pub fn line(&self) -> &str {
        self.file.lines().nth(1).unwrap_or_default()
    }

    /// Returns the public key, which a policy trusts.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Returns the approver with this credential.
    pub fn approver<'a>(&self, approvers: &'a Approvers) -> Option<(&'a str, &'a Sourced<Approver>)> {
        approvers.iter().find(|(_, approver)| approver.value.credential.as_deref() == Some(&self.public))
    }

    /// Signs an answer to a request.
    ///
    /// # Errors
    ///
    /// Fails if the key is damaged.
    pub fn sign(&self, request: &Request, answer: &mut Answer) -> Result<(), SignError> {
        let statement = request.statement(&request.wanted, answer);
        let signature = sign_text(&self.file, None, &statement, "answer to an approval of scorpiox-code")?;
        answer.signature = Some(signature.text().to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_one_line_that_is_read_again() {
        let made = Credential::generate().expect("a key");
        let read = Credential::parse(&format!(" {}\n", made.line())).expect("a credential");
        assert!(read.public() == made.public() && read.line() == made.line());
        let protected = generate(Some("a password".to_owned())).expect("a key").secret;
        let protected = protected.lines().nth(1).expect("a key");
        let mut damaged = made.line().to_owned();
        damaged.replace_range(100..104, "AAAA");
        let twice = format!("{0}\n{0}", made.line());
        for text in ["", "token", protected, &damaged, &twice, &"A".repeat(5000), made.public().as_str()] {
            assert!(Credential::parse(text).is_none(), "{text}");
        }
    }
}
