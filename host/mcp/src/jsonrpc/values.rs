//! The number of values in JSON text.

/// Maximum number of values in the arguments of a call. Each takes some hundred bytes once it is parsed, so that a
/// body of the maximum size would take more memory than all bodies together.
pub const MAX_VALUES: usize = 1_000_000;

/// Returns `true` if valid JSON has more than `most` values and names, at any depth. An empty array or object counts as
/// if it had something in it.
pub fn has_more_than(json: &[u8], most: usize) -> bool {
    // Each value but the first follows one of these characters, and most texts have fewer of them.
    let marks = json.iter().filter(|byte| begins_value(**byte)).count();
    if marks < most {
        return false;
    }
    let (mut values, mut is_in_string, mut at) = (1, false, 0);
    while at < json.len() {
        match json[at] {
            b'\\' if is_in_string => at += 1,
            b'"' => is_in_string = !is_in_string,
            byte if !is_in_string && begins_value(byte) => values += 1,
            _ => {}
        }
        at += 1;
    }
    values > most
}

/// Returns `true` for characters before a value or a name.
const fn begins_value(byte: u8) -> bool {
    matches!(byte, b',' | b':' | b'[' | b'{')
}

#[cfg(test)]
mod tests {
    use super::has_more_than;

    #[test]
    fn values_are_counted_outside_of_strings() {
        for (json, count) in [
            ("0", 1),
            (r#""[,:{""#, 1),
            ("[1,2]", 3),
            (r#"{"a":[1,"\",,,\\",{}],"b,":2}"#, 9),
            (r#"["\\",1]"#, 3),
        ] {
            assert!(has_more_than(json.as_bytes(), count - 1), "{json}");
            assert!(!has_more_than(json.as_bytes(), count), "{json}");
        }
    }
}
