//! The members of a JSON object, borrowed from the line and not parsed further.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Maximum number of members, so that a linear search stays cheap.
pub const MAX_MEMBERS: usize = 256;

/// Members of an object in source order. A flaw of the object is stored separately, so that a request with
/// bad parameters is still a request.
#[derive(Debug, Clone, Default)]
pub struct Members<'a> {
    list: Vec<(Cow<'a, str>, &'a RawValue)>,
    flaw: Option<Flaw>,
}

/// Flaw of an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// A member appears twice.
    #[error("the member {0:?} appears twice")]
    Duplicate(String),
    /// The object has more than [`MAX_MEMBERS`].
    #[error("more than {MAX_MEMBERS} members")]
    TooMany,
    /// The value is an array.
    #[error("an array instead of an object")]
    Array,
}

impl<'a> Members<'a> {
    /// Returns the member of that name as raw JSON.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.list.iter().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// Returns a name that several members have. Sorting compares each name with few others: names can be long, and
    /// a comparison of each pair would take a time that is no longer linear in the length of the object.
    fn duplicate(&self) -> Option<&str> {
        let mut names: Vec<&str> = self.list.iter().map(|(name, _)| &**name).collect();
        names.sort_unstable();
        names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    }

    /// Returns the flaw, if there is one.
    pub fn flaw(&self) -> Option<&Flaw> {
        self.flaw.as_ref()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Members { list: Vec::with_capacity(4), flaw: None };
                while let Some(Key(key)) = map.next_key::<Key<'de>>()? {
                    let value = map.next_value()?;
                    if members.list.len() == MAX_MEMBERS {
                        members.flaw = Some(Flaw::TooMany);
                    } else {
                        members.list.push((key, value));
                    }
                }
                let duplicate = members.duplicate().map(|name| Flaw::Duplicate(name.to_owned()));
                members.flaw = members.flaw.or(duplicate);
                Ok(members)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Members<'de>, A::Error> {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Members { list: Vec::new(), flaw: Some(Flaw::Array) })
            }
        }
        deserializer.deserialize_any(Read)
    }
}

/// A name that borrows from the line unless it has escapes.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Members<'_> {
        serde_json::from_str(json).expect("JSON")
    }

    #[test]
    fn members_are_found_by_name_and_borrowed() {
        let json = r#"{"a":1,"b\u0063":[2, 3]}"#;
        let members = read(json);
        assert_eq!(members.get("bc").expect("there").get(), "[2, 3]");
        assert!(json.as_bytes().as_ptr_range().contains(&members.get("a").expect("there").get().as_ptr()));
        assert!(members.get("c").is_none());
        assert_eq!(members.flaw(), None);
    }

    #[test]
    fn flaws_are_kept() {
        assert_eq!(read(r#"{"a":1,"a":2}"#).flaw(), Some(&Flaw::Duplicate("a".to_owned())));
        assert_eq!(read("[1,{}]").flaw(), Some(&Flaw::Array));
        let many: Vec<_> = (0..=MAX_MEMBERS).map(|n| format!("\"m{n}\":0")).collect();
        assert_eq!(read(&format!("{{{}}}", many.join(","))).flaw(), Some(&Flaw::TooMany));
        let twice: Vec<_> = (0..MAX_MEMBERS).map(|n| format!("\"m{}\":0", n % 255)).collect();
        let twice = format!("{{{}}}", twice.join(","));
        assert_eq!(read(&twice).flaw(), Some(&Flaw::Duplicate("m0".to_owned())));
        assert!(serde_json::from_str::<Members<'_>>("5").is_err());
    }
}
