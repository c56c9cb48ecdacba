//! Exposes the functions of any component as tools.
//!
//! [`Shape`] is a type of the component model that JSON can represent. It determines the JSON Schema and the
//! conversion of values in both directions, so that the three always agree. The conversion is lossless:
//! values that some JSON clients cannot represent (large integers, infinities, nested options) have a special
//! notation, which the schema includes.
//!
//! | WIT | JSON |
//! | --- | --- |
//! | `u8` … `s32` | integer |
//! | `u64`, `s64` | integer; beyond 2⁵³ − 1 a string of digits, since many clients read numbers as doubles |
//! | `f32`, `f64` | number, or `"NaN"`, `"Infinity"`, `"-Infinity"` |
//! | `char` | string of one character |
//! | `list<u8>` | base64 string |
//! | other `list<t>`, `tuple<…>` | array |
//! | `record` | object |
//! | `option<t>` | absent or `null`; inside of another option `{"some": …}` |
//! | `enum` | string |
//! | `flags` | array of strings |
//! | `variant` | string for a case without payload, else `{"case": payload}` |
//! | `result<t, e>` | `{"ok": …}` or `{"err": …}`; as a function's result, a tool error |
//! | `map<k, v>` | array of `[key, value]` |
//! | `stream<u8>` as a function's result | base64 string |
//! | resource that the component defines | handle: `"counter-1"` |
//! | other resources, other streams, futures | none: the function cannot be a tool |

mod function;
mod handle;
mod number;
mod read;
mod room;
mod schema;
mod shape;
mod write;

pub use function::{Function, Outcome};
pub use handle::{Handle, Resources};
pub use read::{Mismatch, Path};
pub use room::{MAX_ARGUMENT_BYTES, parse_arguments};
pub use shape::{Field, Shape, Unmappable};
pub use write::Unexpected;

#[cfg(test)]
mod tests;
