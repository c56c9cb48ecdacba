//! Types that JSON can represent.

use wasmtime::component::types::Type;

use crate::handle::{Handle, Resources};

/// A type whose values JSON can represent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Shape {
    Bool,
    S8,
    U8,
    S16,
    U16,
    S32,
    U32,
    S64,
    U64,
    F32,
    F64,
    Char,
    String,
    /// A list of `u8`, with its length if that is fixed.
    Bytes(Option<u32>),
    /// A list of values of one shape, with its length if that is fixed.
    List(Box<Shape>, Option<u32>),
    Map(Box<Shape>, Box<Shape>),
    Record(Vec<Field>),
    Tuple(Vec<Shape>),
    /// Cases with their payloads.
    Variant(Vec<(String, Option<Shape>)>),
    Enum(Vec<String>),
    Flags(Vec<String>),
    Option(Box<Shape>),
    Result(Option<Box<Shape>>, Option<Box<Shape>>),
    /// A resource of the component, represented by a string.
    Handle(Handle),
}

/// A member of a record, or a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Name in WIT.
    pub name: String,
    /// Shape of the value.
    pub shape: Shape,
}

/// Maximum number of types in a function, counted for each use. Schemas that clients accept have fewer.
const MAX_PARTS: u32 = 4096;
/// Maximum nesting depth of a type. Clients' parsers reject deeper schemas.
const MAX_DEPTH: u32 = 64;

/// A type that JSON cannot represent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unmappable {
    /// The type is meaningful only inside the component.
    #[error("{at} is {what}, which lives in the component and cannot be written as JSON")]
    Inside {
        /// Position of the type: `parameter 1.name`.
        at: String,
        /// Description of the type, with an article.
        what: &'static str,
    },
    /// The types are short to declare, but too large when expanded.
    #[error("its types have more than {MAX_PARTS} parts in all")]
    Large,
    /// The types are nested too deeply.
    #[error("its types are nested deeper than {MAX_DEPTH} levels")]
    Deep,
}

/// Remaining budget for a function's types. Types that use the preceding type twice grow exponentially: the
/// number of parts is two to the power of the nesting depth.
#[derive(Debug)]
pub(crate) struct Budget<'r> {
    parts: u32,
    depth: u32,
    resources: &'r Resources,
}

impl<'r> Budget<'r> {
    /// Creates the budget for a function of a component with these resources.
    pub(crate) fn new(resources: &'r Resources) -> Self {
        Self { parts: MAX_PARTS, depth: MAX_DEPTH, resources }
    }
}

impl Shape {
    /// Converts a type of the component model to a shape. `at` is its position, for errors.
    pub(crate) fn of(ty: &Type, at: &str, budget: &mut Budget<'_>) -> Result<Self, Unmappable> {
        budget.parts = budget.parts.checked_sub(1).ok_or(Unmappable::Large)?;
        budget.depth = budget.depth.checked_sub(1).ok_or(Unmappable::Deep)?;
        let shape = Self::within(ty, at, budget)?;
        budget.depth += 1;
        Ok(shape)
    }

    fn within(ty: &Type, at: &str, budget: &mut Budget<'_>) -> Result<Self, Unmappable> {
        let mut boxed = |ty: &Type, step: &str| Self::of(ty, &format!("{at}{step}"), budget).map(Box::new);
        let unmappable = |what| Err(Unmappable::Inside { at: at.to_owned(), what });
        Ok(match ty {
            Type::Bool => Self::Bool,
            Type::S8 => Self::S8,
            Type::U8 => Self::U8,
            Type::S16 => Self::S16,
            Type::U16 => Self::U16,
            Type::S32 => Self::S32,
            Type::U32 => Self::U32,
            Type::S64 => Self::S64,
            Type::U64 => Self::U64,
            Type::Float32 => Self::F32,
            Type::Float64 => Self::F64,
            Type::Char => Self::Char,
            Type::String => Self::String,
            Type::List(list) if matches!(list.ty(), Type::U8) => Self::Bytes(None),
            Type::List(list) => Self::List(boxed(&list.ty(), "[]")?, None),
            Type::FixedLengthList(list) if matches!(list.ty(), Type::U8) => Self::Bytes(Some(list.len())),
            Type::FixedLengthList(list) => Self::List(boxed(&list.ty(), "[]")?, Some(list.len())),
            Type::Map(map) => Self::Map(boxed(&map.key(), "[].key")?, boxed(&map.value(), "[].value")?),
            Type::Record(record) => Self::Record(
                record
                    .fields()
                    .map(|field| {
                        let shape = Self::of(&field.ty, &format!("{at}.{}", field.name), budget)?;
                        Ok(Field { name: field.name.to_owned(), shape })
                    })
                    .collect::<Result<_, _>>()?,
            ),
            Type::Tuple(tuple) => Self::Tuple(
                tuple
                    .types()
                    .enumerate()
                    .map(|(index, ty)| Self::of(&ty, &format!("{at}[{index}]"), budget))
                    .collect::<Result<_, _>>()?,
            ),
            Type::Variant(variant) => Self::Variant(
                variant
                    .cases()
                    .map(|case| {
                        let at = format!("{at}.{}", case.name);
                        let payload = case.ty.as_ref().map(|ty| Self::of(ty, &at, budget));
                        Ok((case.name.to_owned(), payload.transpose()?))
                    })
                    .collect::<Result<_, _>>()?,
            ),
            Type::Enum(names) => Self::Enum(names.names().map(str::to_owned).collect()),
            Type::Flags(names) => Self::Flags(names.names().map(str::to_owned).collect()),
            Type::Option(option) => Self::Option(boxed(&option.ty(), "")?),
            Type::Result(result) => Self::Result(
                result.ok().map(|ty| boxed(&ty, ".ok")).transpose()?,
                result.err().map(|ty| boxed(&ty, ".err")).transpose()?,
            ),
            Type::Own(_) | Type::Borrow(_) => match budget.resources.of_type(ty) {
                Some(handle) => Self::Handle(handle),
                None => return unmappable("a resource"),
            },
            Type::Future(_) => return unmappable("a future"),
            Type::Stream(_) => return unmappable("a stream"),
            Type::ErrorContext => return unmappable("an error context"),
        })
    }

    /// Returns `true` if `null` is one of the values.
    pub(crate) fn has_null(&self) -> bool {
        matches!(self, Self::Option(_))
    }
}
