//! Converts values to JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use wasmtime::component::Val;

use crate::number::{from_f32, from_f64, from_s64, from_u64};
use crate::shape::{Field, Shape};

/// A value that does not match its shape. wasmtime checks values, so this indicates a bug here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the component returned {found}, which does not match its declared type")]
pub struct Unexpected {
    found: String,
}

impl Shape {
    /// Converts a value of this shape to JSON.
    pub fn write(&self, value: &Val) -> Result<Value, Unexpected> {
        Ok(match (self, value) {
            (Self::Bool, Val::Bool(value)) => (*value).into(),
            (Self::S8, Val::S8(value)) => (*value).into(),
            (Self::U8, Val::U8(value)) => (*value).into(),
            (Self::S16, Val::S16(value)) => (*value).into(),
            (Self::U16, Val::U16(value)) => (*value).into(),
            (Self::S32, Val::S32(value)) => (*value).into(),
            (Self::U32, Val::U32(value)) => (*value).into(),
            (Self::S64, Val::S64(value)) => from_s64(*value),
            (Self::U64, Val::U64(value)) => from_u64(*value),
            (Self::F32, Val::Float32(value)) => from_f32(*value),
            (Self::F64, Val::Float64(value)) => from_f64(*value),
            (Self::Char, Val::Char(value)) => value.to_string().into(),
            (Self::String | Self::Handle(_), Val::String(value)) => value.as_str().into(),
            (Self::Bytes(_), Val::List(values) | Val::FixedLengthList(values)) => bytes(values)?,
            (Self::List(item, _), Val::List(values) | Val::FixedLengthList(values)) => {
                Value::Array(values.iter().map(|value| item.write(value)).collect::<Result<_, _>>()?)
            }
            (Self::Map(key, value), Val::Map(entries)) => {
                let pair = |(k, v): &(Val, Val)| Ok(json!([key.write(k)?, value.write(v)?]));
                Value::Array(entries.iter().map(pair).collect::<Result<_, _>>()?)
            }
            (Self::Record(fields), Val::Record(values)) => record(fields, values)?,
            (Self::Tuple(shapes), Val::Tuple(values)) if shapes.len() == values.len() => {
                let items = shapes.iter().zip(values).map(|(shape, value)| shape.write(value));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            (Self::Variant(cases), Val::Variant(name, payload)) => variant(cases, name, payload.as_deref())?,
            (Self::Enum(_), Val::Enum(name)) => name.as_str().into(),
            (Self::Flags(_), Val::Flags(names)) => json!(names),
            (Self::Option(_), Val::Option(None)) => Value::Null,
            (Self::Option(some), Val::Option(Some(value))) if some.has_null() => {
                json!({ "some": some.write(value)? })
            }
            (Self::Option(some), Val::Option(Some(value))) => some.write(value)?,
            (Self::Result(ok, err), Val::Result(value)) => match value {
                Ok(value) => json!({ "ok": payload(ok.as_deref(), value.as_deref())? }),
                Err(value) => json!({ "err": payload(err.as_deref(), value.as_deref())? }),
            },
            (_, other) => return Err(unexpected(other)),
        })
    }
}

fn bytes(values: &[Val]) -> Result<Value, Unexpected> {
    let byte = |value: &Val| if let Val::U8(byte) = value { Ok(*byte) } else { Err(unexpected(value)) };
    let bytes = values.iter().map(byte).collect::<Result<Vec<_>, _>>()?;
    Ok(STANDARD.encode(bytes).into())
}

fn unexpected(value: &Val) -> Unexpected {
    Unexpected { found: format!("{value:?}").chars().take(80).collect() }
}

fn record(fields: &[Field], values: &[(String, Val)]) -> Result<Value, Unexpected> {
    let mut members = Map::new();
    for (field, (name, value)) in fields.iter().zip(values) {
        let value = field.shape.write(value)?;
        // An absent member has the same meaning as `null`.
        if !(value.is_null() && field.shape.has_null()) {
            members.insert(name.clone(), value);
        }
    }
    Ok(Value::Object(members))
}

fn variant(
    cases: &[(String, Option<Shape>)],
    name: &str,
    payload: Option<&Val>,
) -> Result<Value, Unexpected> {
    let shape = cases.iter().find(|(known, _)| known == name).and_then(|(_, shape)| shape.as_ref());
    Ok(match (shape, payload) {
        (Some(shape), Some(value)) => json!({ name: shape.write(value)? }),
        _ => name.into(),
    })
}

/// Converts the payload of a result; a missing payload becomes `null`.
pub(crate) fn payload(shape: Option<&Shape>, value: Option<&Val>) -> Result<Value, Unexpected> {
    match (shape, value) {
        (Some(shape), Some(value)) => shape.write(value),
        (None, None) => Ok(Value::Null),
        (_, Some(value)) => Err(unexpected(value)),
        (Some(_), None) => Err(Unexpected { found: "nothing".to_owned() }),
    }
}
