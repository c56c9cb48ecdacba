//! Keys of an issuer.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use scorpiox_policy::access::Algorithm;
use serde_json::{Map, Value};

use crate::jwt::claims::MAX_SHOWN_CHARS;
use crate::jwt::object::Object;
use crate::jwt::token::MAX_TRIED;

/// Maximum number of keys in a set. Issuers have a few.
const MAX_KEYS: usize = 100;
/// Size in bytes of a P-256 coordinate, and of an Ed25519 key.
const COORDINATE_BYTES: usize = 32;

/// Reason why a key set is unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    /// It is not a JSON Web Key Set.
    #[error("it is no JSON Web Key Set: {0}")]
    NoSet(String),
    /// Two keys have the same `kid`.
    #[error("two of its keys have the `kid` {0:?}")]
    Twice(String),
}

/// The key that signed a token, as the token names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningKey {
    /// `kid` of the token, if it has one.
    id: Option<String>,
    material: Material,
}

/// A key set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys(Vec<Key>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    id: Option<String>,
    material: Material,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Material {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl Keys {
    /// Parses a set. Keys for other purposes are skipped. A repeated member name, or two keys with the same
    /// `kid`, make the whole set unusable, because the intended one is ambiguous.
    pub fn parse(json: &[u8]) -> Result<Self, KeysError> {
        let set = Object::read(json).map_err(KeysError::NoSet)?;
        let keys = set.0.get("keys").and_then(Value::as_array);
        let keys = keys.ok_or_else(|| KeysError::NoSet("it has no list `keys`".to_owned()))?;
        if keys.len() > MAX_KEYS {
            return Err(KeysError::NoSet(format!("it has more than {MAX_KEYS} keys")));
        }
        let keys: Vec<_> = keys.iter().filter_map(Value::as_object).filter_map(Key::read).collect();
        let mut ids = BTreeSet::new();
        if let Some(twice) = keys.iter().filter_map(|key| key.id.as_deref()).find(|id| !ids.insert(*id)) {
            return Err(KeysError::Twice(twice.chars().take(MAX_SHOWN_CHARS).collect()));
        }
        Ok(Self(keys))
    }

    /// Returns `true` if the set has no signing key. An issuer revokes all keys that way.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `true` if a token that this key signed is still accepted by its signature.
    pub fn accept(&self, key: &SigningKey) -> bool {
        let meant = self.meant(key.id.as_deref(), key.material.algorithm());
        meant.iter().take(MAX_TRIED).any(|found| *found.0 == key.material)
    }

    /// Returns the keys of an algorithm that a token may be signed with: those with its `kid`, or all if it
    /// has none.
    pub(crate) fn meant(&self, id: Option<&str>, algorithm: Algorithm) -> Vec<PublicKey<'_>> {
        let is_meant = |key: &&Key| id.is_none() || key.id.as_deref() == id;
        let of_algorithm = |key: &&Key| key.material.algorithm() == algorithm;
        self.0.iter().filter(is_meant).filter(of_algorithm).map(|key| PublicKey(&key.material)).collect()
    }
}

impl Key {
    /// Parses a key. Returns `None` for a key that does not sign, or uses an unsupported algorithm.
    fn read(key: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| key.get(name).and_then(Value::as_str);
        let bytes = |name| URL_SAFE_NO_PAD.decode(text(name)?).ok();
        let coordinate = |name| bytes(name).filter(|bytes| bytes.len() == COORDINATE_BYTES);
        if key.contains_key("use") && text("use") != Some("sig") {
            return None;
        }
        if let Some(operations) = key.get("key_ops")
            && !operations.as_array()?.iter().any(|operation| operation == "verify")
        {
            return None;
        }
        let material = match (text("kty")?, text("crv")) {
            ("RSA", _) => {
                // Leading zeros, which some issuers write, are not part of the number.
                let number = |name| {
                    let bytes: Vec<u8> = bytes(name)?;
                    Some(bytes[bytes.iter().position(|byte| *byte != 0)?..].to_vec())
                };
                Material::Rsa { modulus: number("n")?, exponent: number("e")? }
            }
            ("EC", Some("P-256")) => Material::P256([vec![4], coordinate("x")?, coordinate("y")?].concat()),
            ("OKP", Some("Ed25519")) => Material::Ed25519(coordinate("x")?),
            _ => return None,
        };
        if key.contains_key("alg") && text("alg") != Some(material.algorithm().name()) {
            return None;
        }
        Some(Self { id: text("kid").map(str::to_owned), material })
    }
}

impl Material {
    const fn algorithm(&self) -> Algorithm {
        match self {
            Self::Rsa { .. } => Algorithm::Rs256,
            Self::P256(_) => Algorithm::Es256,
            Self::Ed25519(_) => Algorithm::EdDsa,
        }
    }
}

/// A key that is only used for its one algorithm.
pub(crate) struct PublicKey<'a>(&'a Material);

impl PublicKey<'_> {
    /// Returns the key as the key of a token with this `kid`.
    pub(crate) fn of_token(&self, id: Option<&str>) -> SigningKey {
        SigningKey { id: id.map(str::to_owned), material: self.0.clone() }
    }

    pub(crate) fn signed(&self, message: &[u8], signature: &[u8]) -> bool {
        match self.0 {
            Material::Rsa { modulus: n, exponent: e } => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
                .is_ok(),
            Material::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature).is_ok()
            }
            Material::Ed25519(key) => {
                UnparsedPublicKey::new(&ED25519, key).verify(message, signature).is_ok()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_that_are_for_something_else_are_passed_over() {
        let good = json!({ "kty": "OKP", "crv": "Ed25519", "x": x(7), "kid": "a" });
        let with = |name: &str, value: Value| {
            let mut key = good.clone();
            key[name] = value;
            key
        };
        let others = [
            with("use", json!("enc")),
            with("key_ops", json!(["encrypt"])),
            with("alg", json!("RS256")),
            with("crv", json!("X25519")),
            with("kty", json!("oct")),
            with("x", json!("AAAA")),
            json!("text"),
        ];
        for other in others {
            let only = json!({ "keys": [other] }).to_string();
            assert!(Keys::parse(only.as_bytes()).unwrap().is_empty(), "{only}");
            let both = json!({ "keys": [other, good] }).to_string();
            assert_eq!(Keys::parse(both.as_bytes()).unwrap().0.len(), 1, "{both}");
        }
    }

    fn x(byte: u8) -> String {
        URL_SAFE_NO_PAD.encode([byte; 32])
    }

    #[test]
    fn a_set_in_which_a_name_comes_twice_is_refused_as_a_whole() {
        let key = |more: &str| format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{}","kid":"a"{more}}}"#, x(7));
        let good = format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{}","kid":"b"}}"#, x(8));
        let set = |key: &str| Keys::parse(format!(r#"{{"keys":[{good},{key}]}}"#).as_bytes());
        assert_eq!(set(&key("")).unwrap().0.len(), 2);
        for (more, name) in [
            (&*format!(r#","x":"{}""#, x(9)), "x"),
            (r#","kid":"c""#, "kid"),
            (r#","use":"enc","use":"sig""#, "use"),
            // The same name with an escape.
            (r#","\u0078":"""#, "x"),
            // In a key that is skipped, and in members that are not read.
            (r#","use":"enc","alg":"a","alg":"b""#, "alg"),
            (r#","more":[{"deep":{"a":1,"a":2}}]"#, "a"),
        ] {
            let refused = set(&key(more)).unwrap_err().to_string();
            assert!(refused.contains(&format!("the name {name:?} comes twice")), "{more}: {refused}");
        }
        for twice in [
            format!(r#"{{"keys":[],"keys":[{good}]}}"#),
            format!(r#"{{"keys":[{good}],"\u006beys":[]}}"#),
            format!(r#"{{"keys":[{good}],"a":1,"a":1}}"#),
        ] {
            assert!(Keys::parse(twice.as_bytes()).is_err(), "{twice}");
        }
    }

    #[test]
    fn a_set_in_which_two_keys_have_one_kid_is_refused_as_a_whole() {
        let key = |kid: &str, byte| json!({ "kty": "OKP", "crv": "Ed25519", "x": x(byte), "kid": kid });
        let curve = json!({ "kty": "EC", "crv": "P-256", "x": x(1), "y": x(2), "kid": "a" });
        let set = |keys: &[&Value]| Keys::parse(json!({ "keys": keys }).to_string().as_bytes());
        for other in [&key("a", 8), &key("a", 7), &curve] {
            let refused = set(&[&key("a", 7), &key("b", 9), other]);
            assert_eq!(refused, Err(KeysError::Twice("a".to_owned())), "{other}");
        }
        // Keys without a `kid`, and an encryption key, cause no ambiguity.
        let mut nameless = key("a", 8);
        nameless.as_object_mut().unwrap().remove("kid");
        let mut encrypts = key("a", 8);
        encrypts["use"] = json!("enc");
        assert_eq!(set(&[&key("a", 7), &nameless, &nameless, &encrypts]).unwrap().0.len(), 3);
    }

    #[test]
    fn what_is_no_key_set_is_refused() {
        for text in ["", "[]", "{}", "{\"keys\":{}}"] {
            assert!(Keys::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
