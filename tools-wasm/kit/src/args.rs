//! Tool arguments: a JSON object that is read member by member, so that an error names the member, its value
//! and the accepted values.

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::Failure;

/// Maximum number of members. No tool has a tenth of it.
const MAX_MEMBERS: usize = 256;
/// Maximum length of a rejected value in an error message, in characters.
const SHOWN_CHARS: usize = 60;

/// Members of an arguments object. A `null` member counts as absent, because clients send `null` for optional
/// values.
#[derive(Debug)]
pub struct Args<'a> {
    members: Vec<(String, &'a RawValue)>,
}

impl<'a> Args<'a> {
    /// Parses the object. Empty text counts as `{}`.
    pub fn parse(json: &'a str) -> Result<Self, Failure> {
        if json.trim().is_empty() {
            return Ok(Self { members: Vec::new() });
        }
        let mut reader = serde_json::Deserializer::from_str(json);
        let members = reader
            .deserialize_map(Members)
            .and_then(|members| reader.end().map(|()| members))
            .map_err(|error| Failure::InvalidInput(format!("The arguments are not usable: {error}.")))?;
        Ok(Self { members })
    }

    fn raw(&self, name: &str) -> Option<&'a RawValue> {
        let (_, raw) = self.members.iter().find(|(key, _)| key == name)?;
        (raw.get() != "null").then_some(*raw)
    }

    /// Returns the string member `name`.
    pub fn string(&self, name: &str) -> Result<Option<String>, Failure> {
        let Some(raw) = self.raw(name) else { return Ok(None) };
        let is_text = raw.get().starts_with('"');
        let wanted = if is_text { "a string of valid Unicode" } else { "a string" };
        serde_json::from_str(raw.get()).map(Some).map_err(|_| wrong(name, wanted, raw))
    }

    /// Returns the string member `name` without surrounding whitespace, or `None` if it is blank.
    pub fn trimmed(&self, name: &str) -> Result<Option<String>, Failure> {
        let value = self.string(name)?.map(|text| text.trim().to_owned());
        Ok(value.filter(|text| !text.is_empty()))
    }

    /// Returns the integer member `name`, which must be between `min` and `max`. `5.0` is accepted because it
    /// is an integer in JSON Schema, and `"5"` because models often quote numbers.
    pub fn integer(&self, name: &str, min: i64, max: i64) -> Result<Option<i64>, Failure> {
        let Some(raw) = self.raw(name) else { return Ok(None) };
        let text = raw.get();
        let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).map_or(text, str::trim);
        let value = text.parse::<i64>().ok().or_else(|| whole(text));
        match value {
            Some(value) if (min..=max).contains(&value) => Ok(Some(value)),
            Some(_) => Err(wrong(name, &format!("between {min} and {max}"), raw)),
            None => Err(wrong(name, "an integer", raw)),
        }
    }
}

/// Returns the value of an integer that is written with a fraction or an exponent.
fn whole(text: &str) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let value = text.parse::<f64>().ok()?;
    let digit = text.as_bytes().last()?.is_ascii_digit();
    #[allow(clippy::cast_possible_truncation)] // integral and within ±2^53
    (digit && value.fract() == 0.0 && value.abs() <= EXACT).then_some(value as i64)
}

fn wrong(name: &str, expected: &str, raw: &RawValue) -> Failure {
    Failure::InvalidInput(format!("{name} must be {expected}, but was {}.", shown(raw.get())))
}

/// Formats a value for an error message: shortened and on one line.
pub fn shown(value: &str) -> String {
    let mut short: String = value.chars().take(SHOWN_CHARS).filter(|c| !c.is_control()).collect();
    if value.chars().nth(SHOWN_CHARS).is_some() {
        short.push('…');
    }
    short
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members: Self::Value = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if members.len() == MAX_MEMBERS {
                return Err(serde::de::Error::custom(format_args!("more than {MAX_MEMBERS} members")));
            }
            members.push((key, map.next_value()?));
        }
        // Sorting compares each name with few others. Names can be long.
        let mut names: Vec<_> = members.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(serde::de::Error::custom(format_args!("duplicate member {:?}", pair[0]))),
            None => Ok(members),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invalid<T: std::fmt::Debug>(result: Result<T, Failure>) -> String {
        match result {
            Err(Failure::InvalidInput(text)) => text,
            other => panic!("not refused: {other:?}"),
        }
    }

    #[test]
    fn members_are_read_by_name_and_null_is_absent() {
        let args =
            Args::parse(r#"{"a":" x ","n":null,"i":7,"f":5.0,"e":2e2,"s":"7","t":" -3 "}"#).expect("object");
        assert_eq!(args.string("a"), Ok(Some(" x ".to_owned())));
        assert_eq!(args.trimmed("a"), Ok(Some("x".to_owned())));
        assert_eq!(args.string("n"), Ok(None));
        assert_eq!(args.integer("i", 0, 9), Ok(Some(7)));
        assert_eq!(args.integer("f", 0, 9), Ok(Some(5)));
        assert_eq!(args.integer("e", 0, 900), Ok(Some(200)));
        assert_eq!(args.integer("s", 0, 9), Ok(Some(7)));
        assert_eq!(args.integer("t", -9, 9), Ok(Some(-3)));
        assert_eq!(args.integer("missing", 0, 9), Ok(None));
    }

    #[test]
    fn errors_name_the_member_and_the_value() {
        let args =
            Args::parse(r#"{"a":5,"i":"x7","e":"","f":1.5,"big":99999999999999999999}"#).expect("object");
        assert_eq!(invalid(args.string("a")), "a must be a string, but was 5.");
        assert_eq!(invalid(args.integer("i", 0, 9)), "i must be an integer, but was \"x7\".");
        assert_eq!(invalid(args.integer("e", 0, 9)), "e must be an integer, but was \"\".");
        assert_eq!(invalid(args.integer("f", 0, 9)), "f must be an integer, but was 1.5.");
        assert!(invalid(args.integer("big", 0, 9)).starts_with("big must be an integer"));
        let args = Args::parse(r#"{"i":10}"#).expect("object");
        assert_eq!(invalid(args.integer("i", 0, 9)), "i must be between 0 and 9, but was 10.");
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for json in ["[]", "5", "{", "{} {}", r#"{"a":1,"a":2}"#, r#"{"a":"\ud800"#] {
            invalid(Args::parse(json));
        }
        assert!(Args::parse("").is_ok());
    }

    #[test]
    fn an_object_has_a_bounded_number_of_members() {
        let object = |count: usize| {
            let members: Vec<_> = (0..count).map(|n| format!("\"m{n}\":0")).collect();
            format!("{{{}}}", members.join(","))
        };
        assert!(Args::parse(&object(MAX_MEMBERS)).is_ok());
        for count in [MAX_MEMBERS + 1, 1_000_000] {
            let said = invalid(Args::parse(&object(count)));
            assert!(said.contains("more than 256 members at"), "{said}");
        }
        let twice = object(MAX_MEMBERS - 1).replacen('{', "{\"m7\":1,", 1);
        assert!(invalid(Args::parse(&twice)).contains("duplicate member \"m7\""));
    }

    #[test]
    fn lone_surrogates_are_refused() {
        let args = Args::parse(r#"{"a":"\ud800"}"#).expect("object");
        invalid(args.string("a"));
    }

    #[test]
    fn long_values_are_shortened_in_errors() {
        let json = format!(r#"{{"i":"{}"}}"#, "é".repeat(500));
        let args = Args::parse(&json).expect("object");
        assert!(invalid(args.integer("i", 0, 9)).chars().count() < 120);
    }
}
