//! Arguments as each reader of JSON understands them.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Largest whole number up to which each number has a floating-point value of its own.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Maximum number of values in the arguments of a call, at all depths. A value takes up to a hundred times the memory
/// of its text.
const MAX_VALUES: usize = 100_000;

/// Parses the arguments of a call. Returns `None` for arguments that two readers could understand differently: an
/// object with two members of a name, or a number that does not fit. Also returns `None` for more than 100,000 values.
pub fn exact_arguments(text: &str) -> Option<Value> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = Reader { left: &Cell::new(MAX_VALUES) }.deserialize(&mut json).ok()?;
    json.end().ok().map(|()| value)
}

/// Reads values without ambiguities.
#[derive(Clone, Copy)]
struct Reader<'a> {
    /// Number of values that may follow.
    left: &'a Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let left = self.left.get().checked_sub(1).ok_or_else(|| D::Error::custom("too many values"))?;
        self.left.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).filter(|_| value.abs() < MAX_EXACT);
        number.map(Value::Number).ok_or_else(|| E::custom("a number does not fit"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = object.next_key::<String>()? {
            let value = object.next_value_seed(self)?;
            if members.insert(name, value).is_some() {
                return Err(A::Error::custom("two members have the same name"));
            }
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_readers_could_understand_differently_is_no_value() {
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"{"x":[{"a":1,"\u0061":2}]}"#,
            r#"{"a":12345678901234567890123}"#,
            r#"{"a":1e400}"#,
            "[",
        ] {
            assert_eq!(exact_arguments(text), None, "{text}");
        }
        for text in [r#"{"a":[1,-2,0.5,true,null,"é"],"A":{}}"#, "{}", r#"{"a":18446744073709551615}"#] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(exact_arguments(text), Some(expected), "{text}");
        }
        assert_eq!(exact_arguments("{} {}"), None);
    }

    #[test]
    fn values_are_counted() {
        let list = |count: usize| format!("[{}0]", "0,".repeat(count - 1));
        let object = |count: usize| {
            let members: Vec<_> = (0..count).map(|name| format!("\"{name}\":[]")).collect();
            format!("{{{}}}", members.join(","))
        };
        for text in [list(MAX_VALUES - 1), object(MAX_VALUES - 1)] {
            assert!(exact_arguments(&text).is_some());
        }
        for text in [list(MAX_VALUES), object(MAX_VALUES), list(8 << 20)] {
            assert!(exact_arguments(&text).is_none());
        }
        assert!(exact_arguments(&format!("[\"{}\"]", "a".repeat(8 << 20))).is_some());
    }
}
