//! Generates JSON Schema (2020-12) for shapes.

use serde_json::{Map, Value, json};

use crate::number::NOT_FINITE;
use crate::shape::{Field, Shape};

impl Shape {
    /// Returns the JSON Schema of values of this shape.
    pub fn schema(&self) -> Value {
        match self {
            Self::Bool => json!({ "type": "boolean" }),
            Self::S8 => integer(i8::MIN.into(), i8::MAX.into()),
            Self::U8 => integer(0, u8::MAX.into()),
            Self::S16 => integer(i16::MIN.into(), i16::MAX.into()),
            Self::U16 => integer(0, u16::MAX.into()),
            Self::S32 => integer(i32::MIN.into(), i32::MAX.into()),
            Self::U32 => integer(0, u32::MAX.into()),
            Self::S64 => json!({
                "type": ["integer", "string"], "minimum": i64::MIN, "maximum": i64::MAX, "pattern": "^-?[0-9]+$"
            }),
            Self::U64 => json!({
                "type": ["integer", "string"], "minimum": 0, "maximum": u64::MAX, "pattern": "^[0-9]+$"
            }),
            Self::F32 | Self::F64 => {
                let names: Vec<_> = NOT_FINITE.iter().map(|(name, _)| *name).collect();
                json!({ "anyOf": [{ "type": "number" }, { "enum": names }] })
            }
            Self::Char => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
            Self::String => json!({ "type": "string" }),
            Self::Handle(handle) => json!({
                "type": "string", "pattern": format!("^{}-[0-9]+$", handle.name), "description": handle.description()
            }),
            Self::Bytes(length) => bytes(*length),
            Self::List(item, None) => json!({ "type": "array", "items": item.schema() }),
            Self::List(item, Some(length)) => {
                json!({ "type": "array", "items": item.schema(), "minItems": length, "maxItems": length })
            }
            Self::Map(key, value) => {
                json!({ "type": "array", "items": tuple(&[key.schema(), value.schema()]) })
            }
            Self::Record(fields) => object(fields),
            Self::Tuple(items) => tuple(&items.iter().map(Self::schema).collect::<Vec<_>>()),
            Self::Variant(cases) => variant(cases),
            Self::Enum(names) => json!({ "type": "string", "enum": names }),
            Self::Flags(names) => {
                json!({ "type": "array", "items": { "type": "string", "enum": names }, "uniqueItems": true })
            }
            Self::Option(some) if some.has_null() => nullable(&member("some", &some.schema())),
            Self::Option(some) => nullable(&some.schema()),
            Self::Result(ok, err) => {
                let payload = |shape: &Option<Box<Self>>| {
                    shape.as_ref().map_or(json!({ "type": "null" }), |shape| shape.schema())
                };
                json!({ "anyOf": [member("ok", &payload(ok)), member("err", &payload(err))] })
            }
        }
    }
}

fn integer(minimum: i64, maximum: i64) -> Value {
    json!({ "type": "integer", "minimum": minimum, "maximum": maximum })
}

/// Returns the schema of base64 with padding: four characters for each group of up to three bytes.
fn bytes(length: Option<u32>) -> Value {
    let mut schema = json!({ "type": "string", "contentEncoding": "base64" });
    if let Some(length) = length {
        schema["maxLength"] = json!(u64::from(length).div_ceil(3) * 4);
    }
    schema
}

fn nullable(schema: &Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

/// Returns the schema of an object with a single member.
fn member(name: &str, schema: &Value) -> Value {
    json!({
        "type": "object", "properties": { name: schema }, "required": [name], "additionalProperties": false
    })
}

fn tuple(items: &[Value]) -> Value {
    let length = items.len();
    json!({ "type": "array", "prefixItems": items, "minItems": length, "maxItems": length })
}

/// Returns the schema of an object with these members. Members with an option type are not required.
pub(crate) fn object(fields: &[Field]) -> Value {
    let properties: Map<_, _> =
        fields.iter().map(|field| (field.name.clone(), field.shape.schema())).collect();
    let required: Vec<_> =
        fields.iter().filter(|field| !field.shape.has_null()).map(|field| field.name.as_str()).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn variant(cases: &[(String, Option<Shape>)]) -> Value {
    let plain: Vec<_> = cases.iter().filter(|(_, payload)| payload.is_none()).map(|(name, _)| name).collect();
    let mut schemas = Vec::new();
    if !plain.is_empty() {
        schemas.push(json!({ "type": "string", "enum": plain }));
    }
    for (name, payload) in cases {
        schemas.extend(payload.as_ref().map(|shape| member(name, &shape.schema())));
    }
    json!({ "anyOf": schemas })
}
