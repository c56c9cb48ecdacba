//! Types, as far as JSON can carry them.

use wasmtime::component::types::Type;

use crate::handle::{Handle, Resources};

/// A type of values that JSON can carry.
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
    /// A list of `u8`; how many, where that is fixed.
    Bytes(Option<u32>),
    /// Values of one shape; how many, where that is fixed.
    List(Box<Shape>, Option<u32>),
    Map(Box<Shape>, Box<Shape>),
    Record(Vec<Field>),
    Tuple(Vec<Shape>),
    /// Cases with their payload.
    Variant(Vec<(String, Option<Shape>)>),
    Enum(Vec<String>),
    Flags(Vec<String>),
    Option(Box<Shape>),
    Result(Option<Box<Shape>>, Option<Box<Shape>>),
    /// A resource of the component, as a text that stands for it.
    Handle(Handle),
}

/// A member of a record, or a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// As WIT spells it.
    pub name: String,
    /// What fits.
    pub shape: Shape,
}

/// Most types of a function, counted as often as they are used. A schema that clients take has fewer.
const MAX_PARTS: u32 = 4096;
/// Deepest nesting of a type. Parsers of clients refuse deeper schemas.
const MAX_DEPTH: u32 = 64;

/// A type that JSON cannot carry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unmappable {
    /// It means nothing outside of the component.
    #[error("{at} is {what}, which lives in the component and cannot be written as JSON")]
    Inside {
        /// Where it is: `parameter 1.name`.
        at: String,
        /// What it is, with an article.
        what: &'static str,
    },
    /// It can be written down in few bytes, and is too much to read.
    #[error("its types have more than {MAX_PARTS} parts in all")]
    Large,
    /// It is nested too deeply.
    #[error("its types are nested deeper than {MAX_DEPTH} levels")]
    Deep,
}

/// What the types of a function may still have. A type that is used twice in another, and that one twice in the
/// next, has as many parts as two to the power of its depth.
#[derive(Debug)]
pub(crate) struct Budget<'r> {
    parts: u32,
    depth: u32,
    resources: &'r Resources,
}

impl<'r> Budget<'r> {
    /// Of a function, of a component that has these resources.
    pub(crate) fn new(resources: &'r Resources) -> Self {
        Self { parts: MAX_PARTS, depth: MAX_DEPTH, resources }
    }
}

impl Shape {
    /// The shape of a component's type. `at` says where it is.
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

    /// Whether `null` is one of its values.
    pub(crate) fn has_null(&self) -> bool {
        matches!(self, Self::Option(_))
    }
}
