//! Claims of a token.

use std::collections::BTreeSet;

use scorpiox_text::is_deceptive;
use serde_json::Value;

use crate::jwt::object::Object;
use crate::jwt::token::JwtError;

/// Maximum length of a subject in bytes. Longer ones are invalid.
const MAX_SUBJECT_BYTES: usize = 255;
/// Maximum number of audiences in an error, and of characters of each.
const MAX_SHOWN: usize = 3;
pub(crate) const MAX_SHOWN_CHARS: usize = 200;
/// Maximum number of groups or scopes that are read.
const MAX_WORDS: usize = 1000;

/// Requirements for a token.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// Issuer of the token.
    pub issuer: &'a str,
    /// Accepted audiences.
    pub audiences: &'a [String],
    /// Current time, in seconds since 1970.
    pub now: u64,
    /// Tolerated clock difference in seconds.
    pub clock_skew: u64,
    /// Claim with the groups of the subject.
    pub groups_claim: Option<&'a str>,
    /// Claim with the display name of the subject.
    pub name_claim: Option<&'a str>,
}

/// Verified claims of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// Subject of the token.
    pub subject: String,
    /// Display name of the subject, if the issuer provides a readable one.
    pub shown: Option<String>,
    /// Scopes of the token.
    pub scopes: BTreeSet<String>,
    /// Groups of the subject.
    pub groups: BTreeSet<String>,
    /// Expiry, in seconds since 1970.
    pub expires: u64,
}

impl Claims {
    pub(crate) fn read(payload: &Object, expected: &Expected<'_>) -> Result<Self, JwtError> {
        if payload.text("iss") != Some(expected.issuer) {
            return Err(JwtError::of_another(payload.text("iss").unwrap_or_default()));
        }
        let audiences = words(payload, "aud", |text| vec![text])?;
        if !audiences.iter().any(|audience| expected.audiences.contains(audience)) {
            return Err(JwtError::Audience(shown(audiences.iter().map(String::as_str))));
        }
        let expires = time(payload, "exp")?.ok_or(JwtError::Missing("exp"))?;
        if expires.saturating_add(expected.clock_skew) <= expected.now {
            return Err(JwtError::Expired);
        }
        for begins in ["nbf", "iat"] {
            if time(payload, begins)?.is_some_and(|begins| begins > expected.now + expected.clock_skew) {
                return Err(JwtError::NotYet);
            }
        }
        let subject = payload.text("sub").ok_or(JwtError::Missing("sub"))?;
        // Readers of an audit must be able to distinguish subjects.
        let is_unreadable = |c: char| c == '\n' || is_deceptive(c);
        let is_readable = subject.trim() == subject && !subject.contains(is_unreadable);
        if subject.is_empty() || subject.len() > MAX_SUBJECT_BYTES || !is_readable {
            return Err(JwtError::Malformed("sub".to_owned()));
        }
        // Issuers use either claim, each as a string or as a list.
        let split = |text: &str| text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let mut scopes = words(payload, "scope", |text| split(&text))?;
        scopes.extend(words(payload, "scp", |text| split(&text))?);
        let groups = match expected.groups_claim {
            Some(claim) => words(payload, claim, |text| vec![text])?,
            None => BTreeSet::new(),
        };
        // No decision depends on the display name, so an unreadable one is omitted.
        let shown = expected.name_claim.and_then(|claim| payload.text(claim)).map(str::trim);
        let is_shown = |name: &&str| {
            !name.is_empty() && name.len() <= MAX_SUBJECT_BYTES && !name.contains(is_unreadable)
        };
        let shown = shown.filter(is_shown).map(str::to_owned);
        Ok(Self { subject: subject.to_owned(), shown, scopes, groups, expires })
    }
}

/// Formats the unexpected values of a claim for an error.
fn shown<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let some = texts.into_iter().take(MAX_SHOWN);
    let some: Vec<String> = some.map(|text| text.chars().take(MAX_SHOWN_CHARS).collect()).collect();
    format!("{some:?}")
}

/// Reads a claim that is a string or a list of strings.
fn words(
    payload: &Object,
    name: &str,
    one: impl Fn(String) -> Vec<String>,
) -> Result<BTreeSet<String>, JwtError> {
    let malformed = || JwtError::Malformed(name.to_owned());
    match payload.0.get(name) {
        None => Ok(BTreeSet::new()),
        Some(Value::String(text)) => Ok(one(text.clone()).into_iter().take(MAX_WORDS).collect()),
        Some(Value::Array(list)) if list.len() <= MAX_WORDS => {
            list.iter().map(|word| word.as_str().map(str::to_owned).ok_or_else(malformed)).collect()
        }
        Some(_) => Err(malformed()),
    }
}

/// Reads a time in whole seconds. Some issuers write fractions.
fn time(payload: &Object, name: &str) -> Result<Option<u64>, JwtError> {
    let Some(value) = payload.0.get(name) else { return Ok(None) };
    let seconds = value.as_u64().or_else(|| {
        let seconds = value.as_f64().filter(|seconds| (0.0..1e12).contains(seconds))?;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is in the range of both"
        )]
        Some(seconds as u64)
    });
    seconds.map(Some).ok_or_else(|| JwtError::Malformed(name.to_owned()))
}
