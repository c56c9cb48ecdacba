//! JSON without repeated names in an object. Two parsers could read such an object as different tokens or
//! keys.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Maximum number of characters of a name shown in an error.
const MAX_SHOWN_CHARS: usize = 40;

/// A JSON object in which no nested object repeats a name either.
#[derive(Debug, Default)]
pub(crate) struct Object(pub(crate) Map<String, Value>);

impl Object {
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        Self::read(bytes).ok()
    }

    /// Parses an object, with the reason for a failure.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        match serde_json::from_slice(bytes) {
            Ok(Unique(Value::Object(members))) => Ok(Self(members)),
            Ok(_) => Err("it is no JSON object".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }
}

/// A JSON value in which no object repeats a name.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Self)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut items: S) -> Result<Value, S::Error> {
        let mut list = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<Value, M::Error> {
        let mut object = Map::new();
        while let Some((name, Unique(value))) = members.next_entry::<String, Unique>()? {
            if object.contains_key(&name) {
                let shown: String = name.chars().take(MAX_SHOWN_CHARS).collect();
                return Err(M::Error::custom(format_args!("the name {shown:?} comes twice in an object")));
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}
