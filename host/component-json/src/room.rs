//! Limit of the memory that a call's arguments take, as JSON and as values.
//!
//! Both forms are much larger than the text: `{}` can stand for a record with a hundred absent members.

use std::cell::Cell;

use serde_json::{Map, Value};
use wasmtime::component::Val;

use crate::read::{Mismatch, Path};

/// Maximum memory of a call's arguments, in bytes: once as JSON, and once as values.
pub const MAX_ARGUMENT_BYTES: usize = 128 * 1024 * 1024;

/// Memory of a member's name without its characters.
const NAME_BYTES: usize = size_of::<String>();
/// Memory of an object with one to eleven members: a node of the standard library's tree.
const OBJECT_BYTES: usize = 11 * (NAME_BYTES + size_of::<Value>());

/// Memory that is left for the values of a call.
pub(crate) struct Room(Cell<usize>);

impl Room {
    pub(crate) fn new() -> Self {
        Self(Cell::new(MAX_ARGUMENT_BYTES))
    }

    /// Reserves memory for `count` values.
    pub(crate) fn take_values(&self, count: usize, at: Path<'_>) -> Result<(), Mismatch> {
        self.take(count.saturating_mul(size_of::<Val>()), at)
    }

    /// Reserves memory for a name or a text.
    pub(crate) fn take_text(&self, text: &str, at: Path<'_>) -> Result<(), Mismatch> {
        self.take(NAME_BYTES + text.len(), at)
    }

    /// Reserves memory for the JSON in a text.
    pub(crate) fn take_json(&self, text: &str, at: Path<'_>) -> Result<(), Mismatch> {
        self.take(json_bytes(text), at)
    }

    fn take(&self, bytes: usize, at: Path<'_>) -> Result<(), Mismatch> {
        let left = self.0.get().checked_sub(bytes);
        self.0.set(left.ok_or_else(|| Mismatch::Large { at: at.to_string() })?);
        Ok(())
    }
}

/// Parses the arguments of a call. The text is measured before, so that it never takes much more memory than allowed.
pub fn parse_arguments(text: &str) -> Result<Map<String, Value>, String> {
    Room::new().take_json(text, Path::Root).map_err(|error| error.to_string())?;
    match serde_json::from_str(text).map_err(|error| error.to_string())? {
        Value::Object(members) => Ok(members),
        _ => Err("the arguments are not an object".to_owned()),
    }
}

/// Returns an upper bound of the memory that a text takes as JSON.
fn json_bytes(text: &str) -> usize {
    let mut bytes = text.len() + size_of::<Value>();
    let mut is_text = false;
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes += match byte {
            b'\\' if is_text => {
                rest.next();
                0
            }
            b'"' => {
                is_text = !is_text;
                0
            }
            _ if is_text => 0,
            b',' | b'[' => size_of::<Value>(),
            b'{' => OBJECT_BYTES,
            b':' => NAME_BYTES,
            _ => 0,
        };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Field, Function, Shape};

    fn function(shape: Shape) -> Function {
        Function::new(vec![Field { name: "x".to_owned(), shape }], None)
    }

    fn error(shape: Shape, text: &str) -> String {
        let arguments = parse_arguments(text).expect("JSON within the limit");
        function(shape).arguments(&arguments).expect_err("an error").to_string()
    }

    /// Returns the shape of a record with a hundred members that may be absent.
    fn sparse() -> Shape {
        let field =
            |n: usize| Field { name: format!("member-{n}"), shape: Shape::Option(Box::new(Shape::U8)) };
        Shape::Record((0..100).map(field).collect())
    }

    #[test]
    fn short_text_for_large_values_is_refused_before_they_are_made() {
        let records = format!("{{\"x\": [{}{{}}]}}", "{},".repeat(50_000));
        let told = error(Shape::List(Box::new(sparse()), None), &records);
        assert!(told.starts_with("x[") && told.contains("more than 128 MiB of memory"), "{told}");
        let bytes =
            format!("{{\"x\": \"{}\"}}", "AAAA".repeat(MAX_ARGUMENT_BYTES / size_of::<Val>() / 3 + 1));
        let told = error(Shape::Bytes(None), &bytes);
        assert!(told.starts_with("x: ") && told.contains("`list<u8>`"), "{told}");
    }

    #[test]
    fn json_is_measured_before_it_is_parsed() {
        for part in ["0,", "[],", "{},", "{\"a\":0},"] {
            let text = format!("{{\"x\": [{}0]}}", part.repeat(MAX_ARGUMENT_BYTES / size_of::<Value>()));
            let told = parse_arguments(&text).expect_err("an error");
            assert!(told.starts_with("the arguments: ") && told.contains("128 MiB"), "{part}: {told}");
        }
        // The JSON text of an array counts as the array.
        let inner = format!("[{}0]", "0,".repeat(MAX_ARGUMENT_BYTES / size_of::<Value>()));
        let told = error(Shape::List(Box::new(Shape::U8), None), &json!({ "x": inner }).to_string());
        assert!(told.starts_with("x: ") && told.contains("128 MiB"), "{told}");
    }

    #[test]
    fn large_arguments_within_the_limit_are_values() {
        let text = format!("{{\"x\": \"{}\"}}", ",[{:\\\"".repeat(2_000_000));
        let arguments = parse_arguments(&text).expect("a text counts by its length");
        assert!(function(Shape::String).arguments(&arguments).is_ok());
        let arguments =
            parse_arguments(&format!("{{\"x\": \"{}\"}}", "AAAA".repeat(1_000_000))).expect("JSON");
        assert!(function(Shape::Bytes(None)).arguments(&arguments).is_ok(), "3 MB of bytes");
    }

    #[test]
    fn what_is_measured_is_at_least_what_is_taken() {
        assert!(json_bytes("{\"a\": [1, 2]}") >= OBJECT_BYTES + NAME_BYTES + 3 * size_of::<Value>());
        assert_eq!(json_bytes("\",:[{\\\"\""), 8 + size_of::<Value>());
    }
}
