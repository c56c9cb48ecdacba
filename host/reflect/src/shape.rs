//! Types, as far as JSON can carry them.

use wasmtime::component::types::Type;

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
}

/// A member of a record, or a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// As WIT spells it.
    pub name: String,
    /// What fits.
    pub shape: Shape,
}

/// A type that JSON cannot carry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at} is {what}, which lives in the component and cannot be written as JSON")]
pub struct Unmappable {
    /// Where it is: `parameter 1.name`.
    pub at: String,
    /// What it is, with an article.
    pub what: &'static str,
}

impl Shape {
    /// The shape of a component's type. `at` says where it is.
    pub fn of(ty: &Type, at: &str) -> Result<Self, Unmappable> {
        let boxed = |ty: &Type, step: &str| Self::of(ty, &format!("{at}{step}")).map(Box::new);
        let unmappable = |what| Err(Unmappable { at: at.to_owned(), what });
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
            Type::List(list) => Self::List(boxed(&list.ty(), "[]")?, None),
            Type::FixedLengthList(list) => Self::List(boxed(&list.ty(), "[]")?, Some(list.len())),
            Type::Map(map) => Self::Map(boxed(&map.key(), "[].key")?, boxed(&map.value(), "[].value")?),
            Type::Record(record) => Self::Record(
                record
                    .fields()
                    .map(|field| {
                        let shape = Self::of(&field.ty, &format!("{at}.{}", field.name))?;
                        Ok(Field { name: field.name.to_owned(), shape })
                    })
                    .collect::<Result<_, _>>()?,
            ),
            Type::Tuple(tuple) => Self::Tuple(
                tuple
                    .types()
                    .enumerate()
                    .map(|(index, ty)| Self::of(&ty, &format!("{at}[{index}]")))
                    .collect::<Result<_, _>>()?,
            ),
            Type::Variant(variant) => Self::Variant(
                variant
                    .cases()
                    .map(|case| {
                        let payload = case.ty.as_ref().map(|ty| Self::of(ty, &format!("{at}.{}", case.name)));
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
            Type::Own(_) | Type::Borrow(_) => return unmappable("a resource"),
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
