//! Converts JSON to values.

use std::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};
use wasmtime::component::Val;

use crate::number::{to_f64, to_integer};
use crate::room::{MAX_ARGUMENT_BYTES, Room};
use crate::shape::{Field, Shape};

/// Maximum number of characters of a wrong value that an error shows.
const SHOWN_CHARS: usize = 60;

/// Path of a value in the arguments: `filter.tags[3]`.
#[derive(Clone, Copy)]
pub enum Path<'a> {
    /// The arguments as a whole.
    Root,
    /// A member of an object.
    Member(&'a Path<'a>, &'a str),
    /// An item of an array.
    Item(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("the arguments"),
            Self::Member(Self::Root, name) => f.write_str(name),
            Self::Member(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// Reason why an argument does not match its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// The value has a different type or is out of range.
    #[error("{at}: expected {fits}, found {found}")]
    Wrong {
        /// Path of the value.
        at: String,
        /// Actual value.
        found: String,
        /// Description of the expected value, with an article.
        fits: String,
    },
    /// The value is missing.
    #[error("{at} is missing: expected {fits}")]
    Missing {
        /// Path of the value.
        at: String,
        /// Description of the expected value, with an article.
        fits: String,
    },
    /// The member is unknown.
    #[error("{at} is not known; expected {}", names(.known))]
    Unknown {
        /// Path of the member.
        at: String,
        /// Names of the known members.
        known: Vec<String>,
    },
    /// The values take too much memory.
    #[error(
        "{at}: the arguments take more than {} MiB of memory, where an item of a list takes at least {} bytes, so that a \
         `list<u8>` has at most {} bytes; pass less in a call, or the path of a file",
        MAX_ARGUMENT_BYTES / (1024 * 1024),
        size_of::<Val>(),
        MAX_ARGUMENT_BYTES / size_of::<Val>()
    )]
    Large {
        /// Path of the value that exceeds the limit.
        at: String,
    },
}

fn names(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

impl Shape {
    /// Converts JSON to a value of this shape. A string with the JSON text of an object or array counts as that
    /// object or array where nothing else fits, because models often send nested values that way.
    pub fn read(&self, value: &Value, at: Path<'_>) -> Result<Val, Mismatch> {
        self.read_within(value, at, &Room::new())
    }

    fn read_within(&self, value: &Value, at: Path<'_>, room: &Room) -> Result<Val, Mismatch> {
        room.take_values(1, at)?;
        match self.in_text(value, at, room)? {
            Some(inner) => self.read_as_it_is(&inner, at, room),
            None => self.read_as_it_is(value, at, room),
        }
    }

    /// Returns the object or array whose JSON text is in a string, unless a string is a value of this shape.
    fn in_text(&self, value: &Value, at: Path<'_>, room: &Room) -> Result<Option<Value>, Mismatch> {
        let Some(text) = value.as_str() else { return Ok(None) };
        let begins = |opening: char| text.trim_start().starts_with(opening);
        let is_meant = match self {
            Self::Record(_) | Self::Result(..) => begins('{'),
            Self::Variant(cases) => begins('{') && cases.iter().all(|(name, _)| name != text),
            Self::List(..) | Self::Tuple(_) | Self::Map(..) | Self::Flags(_) | Self::Bytes(_) => begins('['),
            // The value of an option has a shape of its own.
            Self::Option(some) => some.has_null() && begins('{'),
            _ => false,
        };
        if !is_meant {
            return Ok(None);
        }
        room.take_json(text, at)?;
        Ok(serde_json::from_str(text).ok())
    }

    fn read_as_it_is(&self, value: &Value, at: Path<'_>, room: &Room) -> Result<Val, Mismatch> {
        let wrong = || self.mismatch(value, at);
        Ok(match self {
            Self::Bool => Val::Bool(value.as_bool().ok_or_else(wrong)?),
            Self::S8 => Val::S8(integer(value).ok_or_else(wrong)?),
            Self::U8 => Val::U8(integer(value).ok_or_else(wrong)?),
            Self::S16 => Val::S16(integer(value).ok_or_else(wrong)?),
            Self::U16 => Val::U16(integer(value).ok_or_else(wrong)?),
            Self::S32 => Val::S32(integer(value).ok_or_else(wrong)?),
            Self::U32 => Val::U32(integer(value).ok_or_else(wrong)?),
            Self::S64 => Val::S64(integer(value).ok_or_else(wrong)?),
            Self::U64 => Val::U64(integer(value).ok_or_else(wrong)?),
            Self::F32 => Val::Float32(narrow(to_f64(value).ok_or_else(wrong)?).ok_or_else(wrong)?),
            Self::F64 => Val::Float64(to_f64(value).ok_or_else(wrong)?),
            Self::Char => Val::Char(one_char(value).ok_or_else(wrong)?),
            Self::String => {
                let text = value.as_str().ok_or_else(wrong)?;
                room.take_text(text, at)?;
                Val::String(text.to_owned())
            }
            Self::Handle(handle) => {
                let written = value.as_str().filter(|written| handle.number(written).is_some());
                Val::String(written.ok_or_else(wrong)?.to_owned())
            }
            Self::Bytes(length) => {
                let bytes =
                    bytes(value).filter(|bytes| length.is_none_or(|length| length as usize == bytes.len()));
                let bytes = bytes.ok_or_else(wrong)?;
                room.take_values(bytes.len(), at)?;
                let items = bytes.into_iter().map(Val::U8).collect();
                if length.is_some() { Val::FixedLengthList(items) } else { Val::List(items) }
            }
            Self::List(item, length) => {
                let values = value.as_array().ok_or_else(wrong)?;
                if length.is_some_and(|length| length as usize != values.len()) {
                    return Err(wrong());
                }
                let items = values.iter().enumerate();
                let items = items.map(|(index, value)| item.read_within(value, Path::Item(&at, index), room));
                let items = items.collect::<Result<_, _>>()?;
                if length.is_some() { Val::FixedLengthList(items) } else { Val::List(items) }
            }
            Self::Map(key, item) => {
                let entries = value.as_array().ok_or_else(wrong)?.iter().enumerate();
                let entries = entries
                    .map(|(index, entry)| read_entry((key, item), entry, Path::Item(&at, index), room));
                Val::Map(entries.collect::<Result<_, _>>()?)
            }
            Self::Record(fields) => {
                Val::Record(read_members(fields, value.as_object().ok_or_else(wrong)?, at, room)?)
            }
            Self::Tuple(shapes) => {
                let values = value.as_array().filter(|values| values.len() == shapes.len());
                let items = shapes.iter().zip(values.ok_or_else(wrong)?).enumerate();
                let items = items
                    .map(|(index, (shape, value))| shape.read_within(value, Path::Item(&at, index), room));
                Val::Tuple(items.collect::<Result<_, _>>()?)
            }
            Self::Variant(cases) => read_variant(cases, value, at, room)?.ok_or_else(wrong)?,
            Self::Enum(names) => Val::Enum(name_among(names, value).ok_or_else(wrong)?),
            Self::Flags(names) => {
                let items = value.as_array().ok_or_else(wrong)?;
                let flag = |item| {
                    let name = name_among(names, item).ok_or_else(wrong)?;
                    room.take_text(&name, at)?;
                    Ok(name)
                };
                Val::Flags(items.iter().map(flag).collect::<Result<_, _>>()?)
            }
            Self::Option(_) if value.is_null() => Val::Option(None),
            Self::Option(some) => {
                let value = if some.has_null() { member(value, "some").ok_or_else(wrong)? } else { value };
                Val::Option(Some(Box::new(some.read_within(value, at, room)?)))
            }
            Self::Result(ok, err) => Val::Result(match (member(value, "ok"), member(value, "err")) {
                (Some(value), _) => Ok(read_payload(ok.as_deref(), value, Path::Member(&at, "ok"), room)?),
                (_, Some(value)) => Err(read_payload(err.as_deref(), value, Path::Member(&at, "err"), room)?),
                _ => return Err(wrong()),
            }),
        })
    }

    pub(crate) fn mismatch(&self, value: &Value, at: Path<'_>) -> Mismatch {
        Mismatch::Wrong { at: at.to_string(), found: shown(value), fits: self.to_string() }
    }
}

/// Describes the expected value with an article, for error messages.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let integer = |f: &mut fmt::Formatter<'_>, least: i128, most: i128| {
            write!(f, "an integer from {least} to {most}")
        };
        match self {
            Self::Bool => f.write_str("true or false"),
            Self::S8 => integer(f, i8::MIN.into(), i8::MAX.into()),
            Self::U8 => integer(f, 0, u8::MAX.into()),
            Self::S16 => integer(f, i16::MIN.into(), i16::MAX.into()),
            Self::U16 => integer(f, 0, u16::MAX.into()),
            Self::S32 => integer(f, i32::MIN.into(), i32::MAX.into()),
            Self::U32 => integer(f, 0, u32::MAX.into()),
            Self::S64 => integer(f, i64::MIN.into(), i64::MAX.into()),
            Self::U64 => integer(f, 0, u64::MAX.into()),
            Self::F32 => f.write_str(r#"a number of single precision, "NaN", "Infinity" or "-Infinity""#),
            Self::F64 => f.write_str(r#"a number, "NaN", "Infinity" or "-Infinity""#),
            Self::Char => f.write_str("a text of one character"),
            Self::String => f.write_str("a text"),
            Self::Handle(handle) => handle.fmt(f),
            Self::Bytes(None) => f.write_str("bytes in base64"),
            Self::Bytes(Some(length)) => write!(f, "{length} bytes in base64"),
            Self::List(_, None) => f.write_str("an array"),
            Self::List(_, Some(length)) => write!(f, "an array of {length} items"),
            Self::Map(..) => f.write_str("an array of [key, value]"),
            Self::Record(fields) => {
                let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
                write!(f, "an object with the members {}", names.join(", "))
            }
            Self::Tuple(items) => write!(f, "an array of {} items", items.len()),
            Self::Variant(cases) => {
                let spelled = cases.iter().map(|(name, payload)| match payload {
                    None => format!("{name:?}"),
                    Some(_) => format!("{{{name:?}: …}}"),
                });
                write!(f, "one of {}", spelled.collect::<Vec<_>>().join(", "))
            }
            Self::Enum(names) => write!(f, "one of {}", names.join(", ")),
            Self::Flags(names) => write!(f, "an array of some of {}", names.join(", ")),
            Self::Option(some) if some.has_null() => write!(f, "null or {{\"some\": {some}}}"),
            Self::Option(some) => write!(f, "null or {some}"),
            Self::Result(..) => f.write_str(r#"{"ok": …} or {"err": …}"#),
        }
    }
}

fn integer<T: TryFrom<i128>>(value: &Value) -> Option<T> {
    T::try_from(to_integer(value)?).ok()
}

/// Converts to single precision; `None` if the value is too large.
fn narrow(value: f64) -> Option<f32> {
    #[allow(clippy::cast_possible_truncation, reason = "rounding is what the type is about")]
    let narrow = value as f32;
    (narrow.is_finite() || !value.is_finite()).then_some(narrow)
}

fn one_char(value: &Value) -> Option<char> {
    let mut chars = value.as_str()?.chars();
    chars.next().filter(|_| chars.next().is_none())
}

/// Decodes base64 with or without padding. Also accepts an array of numbers, which many models send.
fn bytes(value: &Value) -> Option<Vec<u8>> {
    const BASE64: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    if let Some(items) = value.as_array() {
        return items.iter().map(integer).collect();
    }
    BASE64.decode(value.as_str()?).ok()
}

fn name_among(names: &[String], value: &Value) -> Option<String> {
    let name = value.as_str()?;
    names.iter().find(|known| *known == name).cloned()
}

/// Returns the only member of an object, if it has this name.
fn member<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.as_object().filter(|members| members.len() == 1)?.get(name)
}

fn read_entry(
    (key, item): (&Shape, &Shape),
    entry: &Value,
    at: Path<'_>,
    room: &Room,
) -> Result<(Val, Val), Mismatch> {
    let Some([first, second]) = entry.as_array().map(Vec::as_slice) else {
        let fits = "an array of a key and a value".to_owned();
        return Err(Mismatch::Wrong { at: at.to_string(), found: shown(entry), fits });
    };
    let key = key.read_within(first, Path::Item(&at, 0), room)?;
    Ok((key, item.read_within(second, Path::Item(&at, 1), room)?))
}

/// Converts an object to all members of a record, or to all parameters.
pub(crate) fn read_members(
    fields: &[Field],
    members: &Map<String, Value>,
    at: Path<'_>,
    room: &Room,
) -> Result<Vec<(String, Val)>, Mismatch> {
    let is_known = |name: &String| fields.iter().any(|field| field.name == *name);
    if let Some(name) = members.keys().find(|name| !is_known(name)) {
        let known = fields.iter().map(|field| field.name.clone()).collect();
        return Err(Mismatch::Unknown { at: Path::Member(&at, name).to_string(), known });
    }
    let read = |field: &Field| {
        let at = Path::Member(&at, &field.name);
        room.take_text(&field.name, at)?;
        let value = match members.get(&field.name) {
            Some(value) => field.shape.read_within(value, at, room)?,
            None if field.shape.has_null() => {
                room.take_values(1, at)?;
                Val::Option(None)
            }
            None => return Err(Mismatch::Missing { at: at.to_string(), fits: field.shape.to_string() }),
        };
        Ok((field.name.clone(), value))
    };
    fields.iter().map(read).collect()
}

fn read_variant(
    cases: &[(String, Option<Shape>)],
    value: &Value,
    at: Path<'_>,
    room: &Room,
) -> Result<Option<Val>, Mismatch> {
    let case = |name: &str| cases.iter().find(|(known, _)| known == name);
    Ok(match value {
        Value::String(name) => {
            case(name).filter(|(_, payload)| payload.is_none()).map(|_| Val::Variant(name.clone(), None))
        }
        Value::Object(members) if members.len() == 1 => {
            let found = members.iter().next().and_then(|(name, value)| Some((case(name)?, value)));
            let Some(((name, Some(shape)), value)) = found else { return Ok(None) };
            let payload = shape.read_within(value, Path::Member(&at, name), room)?;
            Some(Val::Variant(name.clone(), Some(Box::new(payload))))
        }
        _ => None,
    })
}

fn read_payload(
    shape: Option<&Shape>,
    value: &Value,
    at: Path<'_>,
    room: &Room,
) -> Result<Option<Box<Val>>, Mismatch> {
    match shape {
        Some(shape) => Ok(Some(Box::new(shape.read_within(value, at, room)?))),
        None if value.is_null() => Ok(None),
        None => Err(Mismatch::Wrong { at: at.to_string(), found: shown(value), fits: "null".to_owned() }),
    }
}

/// Formats a value for an error, truncated.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= SHOWN_CHARS {
        return text;
    }
    text.chars().take(SHOWN_CHARS).chain(['…']).collect()
}
