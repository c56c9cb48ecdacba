//! Shape of a JSON document: its members and their types, and arrays with their lengths. The elements of an
//! array are merged. The document is read in one pass, without a tree.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Maximum number of levels in the result.
const MAX_DEPTH: usize = 6;
/// Maximum number of members of an object in the result; others are counted.
const MAX_MEMBERS: usize = 40;
/// Maximum number of members of a complete shape.
const MAX_ALL_MEMBERS: usize = 200;
/// Maximum length of a member's name, in characters.
const MAX_NAME: usize = 60;

/// Describes a document's shape. Returns `None` for a single value and for invalid JSON.
pub(super) fn of(text: &str) -> Option<String> {
    let mut shape = Shape::default();
    let mut room = MAX_ALL_MEMBERS;
    let mut reader = serde_json::Deserializer::from_str(text);
    Walk { shape: &mut shape, room: &mut room, depth: 0 }.deserialize(&mut reader).ok()?;
    (shape.object.is_some() || shape.array.is_some()).then(|| {
        let mut out = String::new();
        shape.write(0, &mut out);
        out
    })
}

/// Values that occur at a position of the document.
#[derive(Debug, Default)]
struct Shape {
    /// Number of values at this position.
    count: usize,
    scalars: BTreeSet<Scalar>,
    object: Option<Members>,
    array: Option<Array>,
}

/// Type of a scalar, in the order in which types are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Scalar {
    String,
    Number,
    Boolean,
    Null,
}

impl Scalar {
    fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Null => "null",
        }
    }
}

#[derive(Debug, Default)]
struct Members {
    /// Number of objects at this position.
    count: usize,
    known: Vec<(String, Shape)>,
    /// Maximum number of members of an object.
    most: usize,
    /// Number of members that are not in `known`.
    others: usize,
}

#[derive(Debug, Default)]
struct Array {
    fewest: usize,
    most: usize,
    element: Box<Shape>,
}

struct Walk<'a> {
    shape: &'a mut Shape,
    room: &'a mut usize,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.shape.count += 1;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.shape.scalars.insert(Scalar::Null);
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.shape.scalars.insert(Scalar::Boolean);
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.shape.scalars.insert(Scalar::Number);
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        self.shape.scalars.insert(Scalar::Number);
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.shape.scalars.insert(Scalar::Number);
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        self.shape.scalars.insert(Scalar::String);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let is_first = self.shape.array.is_none();
        let array = self.shape.array.get_or_insert_default();
        let mut count = 0;
        if self.depth >= MAX_DEPTH {
            while elements.next_element::<IgnoredAny>()?.is_some() {
                count += 1;
            }
        } else {
            loop {
                let walk = Walk { shape: &mut array.element, room: self.room, depth: self.depth + 1 };
                if elements.next_element_seed(walk)?.is_none() {
                    break;
                }
                count += 1;
            }
        }
        array.fewest = if is_first { count } else { array.fewest.min(count) };
        array.most = array.most.max(count);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let known = self.shape.object.get_or_insert_default();
        known.count += 1;
        let mut count = 0;
        while let Some(name) = members.next_key::<String>()? {
            count += 1;
            match known.place(name, self.depth, self.room) {
                Some(shape) => {
                    members.next_value_seed(Walk { shape, room: self.room, depth: self.depth + 1 })?;
                }
                None => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        known.most = known.most.max(count);
        Ok(())
    }
}

impl Members {
    /// Returns the shape of a member, or `None` if there are too many members.
    fn place(&mut self, name: String, depth: usize, room: &mut usize) -> Option<&mut Shape> {
        if let Some(at) = self.known.iter().position(|(known, _)| *known == name) {
            return self.known.get_mut(at).map(|(_, shape)| shape);
        }
        if self.known.len() >= MAX_MEMBERS || depth >= MAX_DEPTH || *room == 0 {
            self.others += 1;
            return None;
        }
        *room -= 1;
        self.known.push((name, Shape::default()));
        self.known.last_mut().map(|(_, shape)| shape)
    }
}

impl Shape {
    /// Writes the types, followed by the members.
    fn write(&self, level: usize, out: &mut String) {
        self.write_types(out);
        let members = self.members();
        let Some(members) = members else { return };
        for (name, shape) in &members.known {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", level + 1));
            let mut chars = name.chars();
            out.extend(
                chars.by_ref().take(MAX_NAME).map(|c| if c.is_control() || c == '`' { ' ' } else { c }),
            );
            if chars.next().is_some() {
                out.push('…');
            }
            if shape.count < members.count {
                out.push('?');
            }
            out.push_str(": ");
            shape.write(level + 1, out);
        }
        if members.others > 0 {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", level + 1));
            let _ = write!(out, "… (up to {} members)", members.most);
        }
    }

    fn write_types(&self, out: &mut String) {
        let object = self.object.is_some().then_some("object");
        let names = object.into_iter().chain(self.scalars.iter().map(|scalar| scalar.name()));
        let mut any = false;
        if let Some(array) = &self.array {
            any = true;
            let _ = match (array.fewest, array.most) {
                (_, 0) => write!(out, "empty array"),
                (fewest, most) if fewest == most => write!(out, "array of {most}: "),
                (fewest, most) => write!(out, "array of {fewest} to {most}: "),
            };
            if array.most > 0 {
                array.element.write_types(out);
            }
        }
        for name in names {
            out.push_str(if any { " or " } else { "" });
            out.push_str(name);
            any = true;
        }
        if !any {
            out.push('…');
        }
    }

    /// Returns the members of the object, or of the objects in the array.
    fn members(&self) -> Option<&Members> {
        self.object.as_ref().or_else(|| self.array.as_ref()?.element.members())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_arrays_and_what_is_missing_in_some() {
        let text = r#"{"a":1,"list":[{"x":"s","y":[1,2]},{"x":null,"z":{}}],"e":[],"m":[[1],["a",2,3]]}"#;
        let wanted = "object\n  a: number\n  list: array of 2: object\n    x: string or null\n    y?: array of 2: number\n    z?: object\n  e: empty array\n  m: array of 2: array of 1 to 3: string or number";
        assert_eq!(of(text).as_deref(), Some(wanted));
        assert_eq!(of("1"), None);
        assert_eq!(of("{"), None);
    }

    #[test]
    fn a_shape_is_short_however_long_the_document() {
        let many: Vec<_> = (0..50_000).map(|n| format!("\"k{n}\":{{\"a{n}\":1}}")).collect();
        let shape = of(&format!("{{{}}}", many.join(","))).expect("a shape");
        assert!(shape.lines().count() < 300, "{shape}");
        assert!(shape.ends_with("… (up to 50000 members)"), "{shape}");
        let deep = format!("{}1{}", "[{\"a\":".repeat(60), "}]".repeat(60));
        assert!(of(&deep).is_some_and(|shape| shape.lines().count() < 10));
    }
}
