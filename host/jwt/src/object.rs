//! JSON objects in which no name comes twice: two readers of one that has such could see different tokens.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

/// An object.
#[derive(Debug, Default)]
pub(crate) struct Object(pub(crate) Map<String, Value>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Unique)
    }
}

struct Unique;

impl<'de> Visitor<'de> for Unique {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<Object, M::Error> {
        let mut object = Map::new();
        while let Some((name, value)) = members.next_entry::<String, Value>()? {
            if object.insert(name, value).is_some() {
                return Err(M::Error::custom("a name comes twice"));
            }
        }
        Ok(Object(object))
    }
}

impl Object {
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }
}
