//! `Mcp-Param-*`: tool arguments repeated in headers, where proxies can read them.

use hyper::HeaderMap;
use scorpiox_mcp::RpcError;
use scorpiox_mcp::error::HEADER_MISMATCH;
use serde_json::Value;

use crate::request::encoded;

/// Member of a property's schema that names its header.
pub const MARK: &str = "x-mcp-header";
const PREFIX: &str = "mcp-param-";
/// Maximum depth of properties in the search.
const MAX_DEPTH: usize = 16;

/// Checks that the headers repeat the arguments as the tool's schema requires.
pub fn check(headers: &HeaderMap, schema: &Value, arguments: &Value) -> Result<(), RpcError> {
    let mut marked = Vec::new();
    find(schema, arguments, MAX_DEPTH, &mut marked);
    for (name, value) in marked {
        let wrong =
            |what: &str| RpcError::new(HEADER_MISMATCH, format!("the header Mcp-Param-{name} {what}"));
        let header = encoded::value(headers, &format!("{PREFIX}{}", name.to_ascii_lowercase()));
        let header = header.map_err(|encoded::Unusable| wrong("cannot be read, or comes twice"))?;
        match (value, header) {
            (Value::Null, None) => {}
            (Value::Null, Some(_)) => return Err(wrong("is there, and the argument is not")),
            (_, None) => return Err(wrong("is missing")),
            (value, Some(header)) if is_same(value, &header) => {}
            _ => return Err(wrong("says something else than the argument")),
        }
    }
    Ok(())
}

/// Finds the names of headers, each with the argument that it repeats.
fn find<'a>(schema: &'a Value, arguments: &'a Value, depth: usize, found: &mut Vec<(&'a str, &'a Value)>) {
    let properties = schema["properties"].as_object().filter(|_| depth > 0);
    for (name, property) in properties.into_iter().flatten() {
        let argument = &arguments[name];
        let is_plain = ["string", "integer", "boolean"].iter().any(|kind| property["type"] == *kind);
        match property[MARK].as_str().filter(|header| is_plain && is_name(header)) {
            Some(header) => found.push((header, argument)),
            None => find(property, argument, depth - 1, found),
        }
    }
}

/// Returns `true` for a valid header name.
fn is_name(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_token)
}

/// Compares an argument with a header. Numbers are compared numerically.
fn is_same(value: &Value, header: &str) -> bool {
    match value {
        Value::String(text) => text == header,
        Value::Bool(is_so) => header == if *is_so { "true" } else { "false" },
        Value::Number(number) => {
            let header: Option<Value> = serde_json::from_str(header).ok();
            header.is_some_and(|header| {
                header == *value || header.as_f64().is_some() && header.as_f64() == number.as_f64()
            })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn marked_arguments_are_repeated_in_headers() {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "count": { "type": "integer", "x-mcp-header": "Count" },
            "share": { "type": "number", "x-mcp-header": "Share" },
            "bad": { "type": "string", "x-mcp-header": "a b" },
            "inner": { "type": "object", "properties": { "dry": { "type": "boolean", "x-mcp-header": "Dry" } } },
        }});
        let arguments =
            json!({ "region": "é", "count": 42, "share": 1, "bad": "x", "inner": { "dry": true } });
        let headers = |pairs: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, value.parse().expect("a value"));
            }
            headers
        };
        let good =
            [("mcp-param-region", "=?base64?w6k=?="), ("mcp-param-count", "42.0"), ("mcp-param-dry", "true")];
        assert!(check(&headers(&good), &schema, &arguments).is_ok());
        for left_out in 0..good.len() {
            let mut some = good.to_vec();
            some.remove(left_out);
            assert!(check(&headers(&some), &schema, &arguments).is_err(), "{left_out}");
        }
        for (index, value) in [(0, "e"), (0, "=?base64?!?="), (1, "43"), (1, "\"42\""), (2, "True"), (2, "1")]
        {
            let mut some = good;
            some[index].1 = value;
            assert!(check(&headers(&some), &schema, &arguments).is_err(), "{value}");
        }
        let absent = json!({ "region": null });
        assert!(check(&headers(&[]), &schema, &absent).is_ok());
        assert!(check(&headers(&good[..1]), &schema, &absent).is_err(), "nobody said it in the body");
    }
}
