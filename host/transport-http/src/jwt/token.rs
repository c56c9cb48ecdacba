//! Verification of a token.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use scorpiox_policy::access::Algorithm;

use crate::jwt::claims::{Claims, Expected, MAX_SHOWN_CHARS};
use crate::jwt::keys::{Keys, SigningKey};
use crate::jwt::object::Object;

/// Maximum length of a token in bytes.
const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// Maximum number of keys tried for a token without a `kid`.
pub(crate) const MAX_TRIED: usize = 4;

/// Reason why a token is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JwtError {
    /// It is not a JWT.
    #[error("the token is no JWT")]
    NoJwt,
    /// It is unsigned, or its algorithm is not accepted.
    #[error("the token is signed with an algorithm that is not accepted, or not at all")]
    Algorithm,
    /// It has an unsupported header.
    #[error("the token has a header that is not understood")]
    Header,
    /// Its key is not in the set.
    #[error("the token is signed with a key that its issuer does not publish")]
    UnknownKey,
    /// The signature is wrong.
    #[error("the signature of the token is not its issuer's")]
    Signature,
    /// It is from another issuer.
    #[error("the token is of another issuer: its `iss` is {0:?}")]
    Issuer(String),
    /// It is for another audience.
    #[error("the token was issued for another server: its `aud` is {0}, and none of that is accepted")]
    Audience(String),
    /// It has expired.
    #[error("the token has expired")]
    Expired,
    /// It is not valid yet.
    #[error("the token is not valid yet")]
    NotYet,
    /// A required claim is missing.
    #[error("the token has no `{0}`")]
    Missing(&'static str),
    /// Its subject has the form of an approver's name.
    #[error("`sub` of the token begins like the name of an approver")]
    Approver,
    /// A claim has the wrong format.
    #[error("`{0}` of the token cannot be read")]
    Malformed(String),
}

impl JwtError {
    /// Returns the error for a token of an issuer that is not accepted.
    pub fn of_another(issuer: &str) -> Self {
        Self::Issuer(issuer.chars().take(MAX_SHOWN_CHARS).collect())
    }
}

/// Returns the unverified `iss` of a token, which selects the keys to verify it with. [`verify`] reads it
/// again after checking the signature.
pub fn named_issuer(token: &str) -> Result<String, JwtError> {
    let [_, payload, _] = parts(token)?;
    let payload = Object::parse(&decoded(payload)?).ok_or(JwtError::NoJwt)?;
    payload.text("iss").map(str::to_owned).ok_or(JwtError::Missing("iss"))
}

/// Splits a token into the encoded header, payload and signature.
fn parts(token: &str) -> Result<[&str; 3], JwtError> {
    if token.len() > MAX_TOKEN_BYTES {
        return Err(JwtError::NoJwt);
    }
    let mut parts = token.split('.');
    let found = [parts.next(), parts.next(), parts.next(), parts.next()];
    let [Some(header), Some(payload), Some(signature), None] = found else { return Err(JwtError::NoJwt) };
    Ok([header, payload, signature])
}

fn decoded(part: &str) -> Result<Vec<u8>, JwtError> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| JwtError::NoJwt)
}

/// Verifies a token and returns its claims.
pub fn verify(
    token: &str,
    keys: &Keys,
    algorithms: &[Algorithm],
    expected: &Expected<'_>,
) -> Result<Claims, JwtError> {
    verified(token, keys, algorithms, expected).map(|(claims, _)| claims)
}

/// Verifies a token and returns its claims, with the key that signed it.
pub fn verified(
    token: &str,
    keys: &Keys,
    algorithms: &[Algorithm],
    expected: &Expected<'_>,
) -> Result<(Claims, SigningKey), JwtError> {
    let [header, payload, signature] = parts(token)?;
    let signed = &token[..header.len() + 1 + payload.len()];
    let header = Object::parse(&decoded(header)?).ok_or(JwtError::NoJwt)?;
    let algorithm = header.text("alg").and_then(Algorithm::named);
    let algorithm =
        algorithm.filter(|algorithm| algorithms.contains(algorithm)).ok_or(JwtError::Algorithm)?;
    check_header(&header)?;
    let meant = keys.meant(header.text("kid"), algorithm);
    if meant.is_empty() {
        return Err(JwtError::UnknownKey);
    }
    let signature = decoded(signature)?;
    let found = meant.iter().take(MAX_TRIED).find(|key| key.signed(signed.as_bytes(), &signature));
    let key = found.ok_or(JwtError::Signature)?.of_token(header.text("kid"));
    let payload = Object::parse(&decoded(payload)?).ok_or(JwtError::NoJwt)?;
    Ok((Claims::read(&payload, expected)?, key))
}

/// Rejects tokens for other purposes and all critical headers (RFC 7515, section 4.1.11).
fn check_header(header: &Object) -> Result<(), JwtError> {
    let kinds = ["jwt", "at+jwt", "application/at+jwt", "application/jwt"];
    let is_token = match header.0.get("typ") {
        None => true,
        Some(kind) => kind.as_str().is_some_and(|kind| kinds.contains(&kind.to_ascii_lowercase().as_str())),
    };
    let names_key = header.0.get("kid").is_none_or(serde_json::Value::is_string);
    if is_token && names_key && !header.0.contains_key("crit") { Ok(()) } else { Err(JwtError::Header) }
}

#[cfg(test)]
mod tests;
