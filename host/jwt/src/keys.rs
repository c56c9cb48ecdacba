//! The keys of an issuer.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use scorpiox_access::Algorithm;
use serde_json::Value;

use crate::object::Object;

/// Most keys of a set: issuers have a few.
const MAX_KEYS: usize = 100;
/// Bytes of one coordinate of P-256, and of an Ed25519 key.
const COORDINATE_BYTES: usize = 32;

/// Why a key set cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    /// It is no JSON Web Key Set.
    #[error("it is no JSON Web Key Set: {0}")]
    NoSet(&'static str),
}

/// A set of keys.
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
    /// Reads a set. Keys that are for something else are passed over.
    pub fn parse(json: &[u8]) -> Result<Self, KeysError> {
        let set: Value = serde_json::from_slice(json).map_err(|_| KeysError::NoSet("it is no JSON"))?;
        let keys =
            set.get("keys").and_then(Value::as_array).ok_or(KeysError::NoSet("it has no list `keys`"))?;
        if keys.len() > MAX_KEYS {
            return Err(KeysError::NoSet("it has more than 100 keys"));
        }
        Ok(Self(keys.iter().filter_map(Key::read).collect()))
    }

    /// Whether no token can be signed with any of them: an issuer that takes all back says so.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys that a token means: those of its `kid`, or all where it has none; of one algorithm.
    pub(crate) fn meant(&self, id: Option<&str>, algorithm: Algorithm) -> Vec<PublicKey<'_>> {
        let is_meant = |key: &&Key| id.is_none() || key.id.as_deref() == id;
        let of_algorithm = |key: &&Key| key.material.algorithm() == algorithm;
        self.0.iter().filter(is_meant).filter(of_algorithm).map(|key| PublicKey(&key.material)).collect()
    }
}

impl Key {
    /// None for one that signs nothing, or with something else.
    fn read(json: &Value) -> Option<Self> {
        let key = Object::parse(json.to_string().as_bytes())?;
        let bytes = |name| URL_SAFE_NO_PAD.decode(key.text(name)?).ok();
        let coordinate = |name| bytes(name).filter(|bytes| bytes.len() == COORDINATE_BYTES);
        if key.0.contains_key("use") && key.text("use") != Some("sig") {
            return None;
        }
        if let Some(operations) = key.0.get("key_ops")
            && !operations.as_array()?.iter().any(|operation| operation == "verify")
        {
            return None;
        }
        let material = match (key.text("kty")?, key.text("crv")) {
            ("RSA", _) => {
                // Leading zeros, which some write, are no part of the number.
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
        if key.0.contains_key("alg") && key.text("alg") != Some(material.algorithm().name()) {
            return None;
        }
        Some(Self { id: key.text("kid").map(str::to_owned), material })
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

/// A key, for the one algorithm that it is for.
pub(crate) struct PublicKey<'a>(&'a Material);

impl PublicKey<'_> {
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
        let x = URL_SAFE_NO_PAD.encode([7; 32]);
        let good = json!({ "kty": "OKP", "crv": "Ed25519", "x": x, "kid": "a" });
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

    #[test]
    fn what_is_no_key_set_is_refused() {
        for text in ["", "[]", "{}", "{\"keys\":{}}"] {
            assert!(Keys::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
