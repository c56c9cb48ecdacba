//! What a token says.

use std::collections::BTreeSet;

use scorpiox_text::line::is_unsafe;
use serde_json::Value;

use crate::object::Object;
use crate::token::JwtError;

/// Longest name of a subject, in bytes: longer ones name nobody.
const MAX_SUBJECT_BYTES: usize = 255;
/// Audiences that an error names, and characters of each.
const MAX_SHOWN: usize = 3;
pub(crate) const MAX_SHOWN_CHARS: usize = 200;
/// Most groups and scopes that are read.
const MAX_WORDS: usize = 1000;

/// What a token has to say.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// Who made it.
    pub issuer: &'a str,
    /// For whom it may be.
    pub audiences: &'a [String],
    /// Now, in seconds since 1970.
    pub now: u64,
    /// How far clocks may differ, in seconds.
    pub clock_skew: u64,
    /// The claim with the groups of its subject.
    pub groups_claim: Option<&'a str>,
    /// The claim with the name that people know its subject by.
    pub name_claim: Option<&'a str>,
}

/// What a token says of who shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// Who that is.
    pub subject: String,
    /// The name that people know it by, where the issuer says one that can be read.
    pub shown: Option<String>,
    /// What it is good for.
    pub scopes: BTreeSet<String>,
    /// The groups that its subject is in.
    pub groups: BTreeSet<String>,
    /// When it ends, in seconds since 1970.
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
        // Who reads an audit has to tell one from another.
        let is_readable = subject.trim() == subject && !subject.contains(is_unsafe);
        if subject.is_empty() || subject.len() > MAX_SUBJECT_BYTES || !is_readable {
            return Err(JwtError::Malformed("sub".to_owned()));
        }
        // Both are written by some issuer, and both as one text or as a list.
        let split = |text: &str| text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let mut scopes = words(payload, "scope", |text| split(&text))?;
        scopes.extend(words(payload, "scp", |text| split(&text))?);
        let groups = match expected.groups_claim {
            Some(claim) => words(payload, claim, |text| vec![text])?,
            None => BTreeSet::new(),
        };
        // Nothing is decided by it: one that cannot be read is left out.
        let shown = expected.name_claim.and_then(|claim| payload.text(claim)).map(str::trim);
        let is_shown =
            |name: &&str| !name.is_empty() && name.len() <= MAX_SUBJECT_BYTES && !name.contains(is_unsafe);
        let shown = shown.filter(is_shown).map(str::to_owned);
        Ok(Self { subject: subject.to_owned(), shown, scopes, groups, expires })
    }
}

/// What a token says in the place of what it should, for who looks for the reason.
fn shown<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let some = texts.into_iter().take(MAX_SHOWN);
    let some: Vec<String> = some.map(|text| text.chars().take(MAX_SHOWN_CHARS).collect()).collect();
    format!("{some:?}")
}

/// A claim that is a text or a list of texts.
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

/// A time in whole seconds: some write fractions.
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
